"""Staged statements whose blocks use Variables or may raise.

Their state goes in and comes out beside what the statement carries itself, so what is emitted touches none; writes
and ``raise_if`` go on after it. So both pass through ``vmap``, ``grad`` and every statement as data does.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from autograph.backends.base import LeafType, LoopSpec, Output, Traced
from autograph.backends.exceptions import RaiseSite
from autograph.backends.xla import jax_compat
from autograph.backends.xla.discharge import Cell, evaluate
from autograph.backends.xla.errors import Errors, split_payloads
from autograph.backends.xla.leaf_types import as_struct
from autograph.backends.xla.raising import raise_if, sites_in
from autograph.backends.xla.receivers import unless_thrown, written_unless_thrown
from autograph.backends.xla.stand_ins import stand_ins
from autograph.backends.xla.tracing import explicit_sharding, trace
from autograph.runtime.errors import StagingError

_BOOL = LeafType((), np.dtype(np.bool_))


class _Touched:
    """What programs touch: stand-ins, those of them that they write, and what they may raise."""

    def __init__(self, programs: Sequence[Any]) -> None:
        found = stand_ins(programs)
        self.refs = [ref for ref, _ in found]
        self.written = [ref for ref, is_written in found if is_written]
        self.sites: list[RaiseSite] = sites_in(programs)

    def __bool__(self) -> bool:
        return bool(self.refs or self.sites)

    def run(
        self, program: Any, operands: Sequence[Any], values: Sequence[Any], errors: Errors
    ) -> tuple[list[Any], dict[int, Any]]:
        """The results of a program, and what its stand-ins hold after it, by their ids."""
        cells = {id(ref): Cell(value) for ref, value in zip(self.refs, values, strict=True)}
        results = evaluate(program, operands, cells, errors)
        return results, {key: cell.value for key, cell in cells.items()}

    def raise_if(self, values: Sequence[Any]) -> None:
        """Raise what a statement has raised, of which these values are the state."""
        if self.sites:
            code, *held = values
            raise_if(code, split_payloads(held, self.sites), self.sites)

    def write(self, refs: Sequence[Any], values: Sequence[Any]) -> None:
        for ref, value in zip(refs, values, strict=True):
            jax_compat.write_ref(ref, written_unless_thrown(value, partial(jax_compat.of_ref, ref)))


def staged_cond(
    emit: Callable[[Any, Any, Any], list[Any]],
    predicate: Any,
    branches: Sequence[tuple[Traced, Sequence[Any]]],
    types: Sequence[LeafType],
) -> list[Any]:
    """Emit a conditional whose branches may touch state: what they write or raise comes out as further results."""
    touched = _Touched([traced.program for traced, _ in branches])
    if not touched:
        return unless_thrown(lambda: emit(predicate, branches, types), [traced.program for traced, _ in branches])
    start = list(map(jax_compat.of_ref, touched.refs))
    state_types = [*map(_type, touched.written), *Errors(touched.sites).types()]

    def pure(traced: Traced, leaves: Sequence[Any]) -> tuple[Traced, Sequence[Any]]:
        def run() -> list[Any]:
            errors = Errors(touched.sites)
            results, after = touched.run(traced.program, (), start, errors)
            return [*results, *(after[id(ref)] for ref in touched.written), *errors.values()]

        program = jax_compat.recorded(run, ())
        before = len(traced.program.jaxpr.outvars)
        state = [Output(before + k, type) for k, type in enumerate(state_types)]
        return Traced(program, (*traced.leaves, *state)), [*leaves, *state]

    values = unless_thrown(lambda: emit(predicate, [pure(*branch) for branch in branches], [*types, *state_types]))
    last = len(types) + len(touched.written)
    touched.write(touched.written, values[len(types) : last])
    touched.raise_if(values[last:])
    return values[: len(types)]


def staged_loop(emit: Callable[[LoopSpec], list[Any]], spec: LoopSpec) -> list[Any]:
    """Emit a loop whose body and test may touch state: it is carried, and an error ends the loop."""
    touched = _Touched([spec.body.program] + ([spec.test.program] if spec.test is not None else []))
    if spec.test is not None and (tested := sites_in([spec.test.program])):
        raise StagingError(
            f"{tested[0].where}\n  {tested[0].name} is raised under a traced condition here, in the test of a staged "
            "loop.\n  Raise it in the loop's body."
        )
    if not touched:
        return unless_thrown(lambda: emit(spec))
    lifted = _Lifted(spec, touched)
    values = unless_thrown(lambda: emit(lifted.spec))
    state = values[spec.inputs : lifted.last]
    count = len(touched.refs)
    changed = [(ref, value) for ref, value in zip(touched.refs, state, strict=False) if id(ref) in lifted.places]
    touched.write([ref for ref, _ in changed], [value for _, value in changed])
    touched.raise_if(state[count:])
    return [*values[: spec.inputs], *values[lifted.last :]]


class _Lifted:
    """A loop that carries its state, after what iterations see of its own carry.

    Attributes:
      spec: the loop.
      places: by the id of each stand-in that the body writes, its value after an iteration.
      last: where the state ends in the carry.
    """

    def __init__(self, spec: LoopSpec, touched: _Touched) -> None:
        self._of, self._touched = spec, touched
        clear = Errors(touched.sites)
        self._types = [*map(_type, touched.refs), *clear.types()]
        self.last = spec.inputs + len(self._types)
        outputs = len(spec.body.program.jaxpr.outvars)
        self.places = {id(ref): Output(outputs + k, _type(ref)) for k, ref in enumerate(touched.written)}
        first = outputs + len(touched.written)
        noted = [Output(first + k, type) for k, type in enumerate(clear.types())]
        start = [*map(jax_compat.of_ref, touched.refs), *clear.values()]
        self.spec = dataclasses.replace(
            spec,
            body=Traced(
                self._pure(spec.body, self._end, is_clear=spec.test is not None),
                (*spec.body.leaves, *self.places.values(), *noted),
            ),
            test=None if spec.test is None else self._test(spec.test),
            carry=[*spec.carry[: spec.inputs], *zip(start, self._types, strict=True), *spec.carry[spec.inputs :]],
            inputs=self.last,
            results=[
                *spec.results[: spec.inputs],
                *(self.places.get(id(ref)) for ref in touched.refs),
                *noted,
                *spec.results[spec.inputs :],
            ],
        )

    def _pure(
        self, traced: Traced, finish: Callable[[list[Any], dict[int, Any], Errors], list[Any]], is_clear: bool = False
    ) -> Any:
        """A program of the lifted loop; ``finish`` says its results, of those of the original and the state after it.

        ``is_clear``: it does not run after an error, which the loop's test sees.
        """
        head, count = self._of.inputs, len(self._touched.refs)

        def run(*operands: Any) -> list[Any]:
            state = operands[head : self.last]
            errors = Errors(self._touched.sites, None if is_clear else state[count:])
            values = [*operands[:head], *operands[self.last :]]
            results, after = self._touched.run(traced.program, values, state[:count], errors)
            return finish(results, after, errors)

        own = [
            LeafType(tuple(a.shape), a.dtype, bool(getattr(a, "weak_type", False)), explicit_sharding(a))
            for a in traced.program.in_avals
        ]
        return trace(run, list(map(as_struct, [*own[:head], *self._types, *own[head:]])))

    def _end(self, results: list[Any], after: dict[int, Any], errors: Errors) -> list[Any]:
        return [*results, *(after[key] for key in self.places), *errors.arrays()]

    def _test(self, test: Traced) -> Traced:
        if not self._touched.sites:
            return Traced(self._pure(test, lambda results, *_: results), test.leaves)
        (truth,) = test.leaves

        def goes_on(results: list[Any], _: dict[int, Any], errors: Errors) -> list[Any]:
            return [(results[truth.index] if isinstance(truth, Output) else truth) & errors.is_clear]

        return Traced(self._pure(test, goes_on), (Output(0, _BOOL),))


def _type(ref: Any) -> LeafType:
    return LeafType(tuple(ref.shape), ref.dtype)
