"""A record of the operations that run, for `GradientTape`. Operations still compute ordinary values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from autograph.backends.xla import jax_compat
from autograph.backends.xla.jax_compat import ClosedJaxpr, Kind, in_trace, is_literal, replay
from autograph.backends.xla.parts import evaluate_equations
from autograph.runtime.errors import StagingError


class TapeTrace(jax_compat.RecordingTrace):
    """Runs each operation in the trace around it, and keeps what it was, by the identity of its operands and results.

    Attributes:
      entries: for each operation, how to do it again, its operands and its results.
      is_paused: whether operations are run and not kept.
      copies: by where they are, the arrays of NumPy's that were operands, and what they held first.
    """

    def __init__(self, parent: Any) -> None:
        super().__init__(parent)
        self.entries: list[tuple[Any, Any, Sequence[Any], Sequence[Any]]] = []
        self.is_paused = False
        self.copies: dict[tuple[Any, ...], tuple[np.ndarray, np.ndarray]] = {}

    def copy_of(self, array: np.ndarray) -> Any:
        """What represents an array of NumPy's in the record; None if nothing does."""
        return self.copies.get(_memory(array), (None, None))[1]

    def _kept(self, operand: Any) -> Any:
        """An operand as it is now: an array of NumPy's may be written to before the derivative is taken."""
        if not isinstance(operand, np.ndarray):
            return operand
        kept = self.copies.get(_memory(operand))
        if kept is not None and kept[1].tobytes() == operand.tobytes():
            return kept[1]
        copy = operand.copy()
        if kept is None:
            self.copies[_memory(operand)] = operand, copy  # the first keeps the memory from being another array's
        return copy

    def on_stage(self, value: Any, staged: Any) -> None:
        # Kept in a pause too: the stage of a source is what later operations know it by.
        self.entries.append(("stage", lambda same: [same], [self._kept(value)], [staged]))

    def on_operation(self, primitive: Any, operands: Sequence[Any], params: Mapping[str, Any]) -> Any:
        if self.is_paused:
            with in_trace(self.parent_trace):
                return primitive.bind(*operands, **params)
        is_call = jax_compat.kind_of(primitive) is Kind.CALL
        effects = jax_compat.has_inner_effects(params)
        if effects and is_call:  # its parts one by one, so that effects are not done again
            with in_trace(self):
                return replay(_called(params), *operands)
        with in_trace(self.parent_trace):
            results = primitive.bind(*operands, **params)
            outputs = list(results) if primitive.multiple_results else [results]
            given = set(
                map(id, operands)
            )  # of which stop_gradient returns one as it is, while results are distinguished by identity
            outputs = [jnp.array(output) if id(output) in given else output for output in outputs]
        what = (
            "effects"
            if effects or jax_compat.is_call_of_python(primitive)
            else _STATE.get(jax_compat.kind_of(primitive), "operation")
        )
        closed = _called(params) if is_call else None
        constants = [] if closed is None else list(_constants_of(closed).values())

        def again(*values: Any) -> list[Any]:
            if closed is not None and constants:
                instead = dict(zip(map(id, constants), values[len(operands) :], strict=True))
                return _evaluated(closed, values[: len(operands)], instead)
            redone = primitive.bind(*values, **params)
            return list(redone) if primitive.multiple_results else [redone]

        # What a compiled function closes over is an operand as well.
        self.entries.append((what, again, list(map(self._kept, [*operands, *constants])), outputs))
        return outputs if primitive.multiple_results else outputs[0]

    def on_ruled_call(self, call: Callable[..., Any], operands: Sequence[Any]) -> Any:
        """A call with a derivative of its own, as a program that keeps it."""
        with in_trace(self.parent_trace):
            program = jax.make_jaxpr(call)(*operands)
            outputs = replay(program, *operands)
        if not self.is_paused:
            self.entries.append(("call", partial(replay, program), list(map(self._kept, operands)), outputs))
        return outputs


def _memory(array: np.ndarray) -> tuple[Any, ...]:
    """The identity that two views of the same data share. JAX passes on views of NumPy arrays, not the arrays themselves."""
    return array.__array_interface__["data"][0], array.shape, array.strides, array.dtype


_STATE = MappingProxyType({Kind.READ: "read", Kind.WRITE: "write"})


def _constants_of(closed: Any) -> dict[int, Any]:
    """The floating-point arrays that a program and those it calls close over, by their identity."""
    found = {id(const): const for const in closed.consts if jnp.issubdtype(jnp.result_type(const), jnp.inexact)}
    for equation in closed.jaxpr.eqns:
        if jax_compat.kind(equation) is Kind.CALL:
            found |= _constants_of(_called(equation.params))
    return found


def _called(params: Mapping[str, Any]) -> ClosedJaxpr:
    program = jax_compat.called(params)
    assert program is not None
    return program


def _evaluated(closed: Any, operands: Sequence[Any], instead: dict[int, Any]) -> list[Any]:
    """What a program returns, with other arrays instead of those it closes over."""
    known = {var: instead.get(id(const), const) for var, const in jax_compat.constants_of(closed).items()}
    known |= dict(zip(closed.jaxpr.invars, operands, strict=True))

    def value(atom: Any) -> Any:
        return atom.val if is_literal(atom) else known[atom]

    for equation in closed.jaxpr.eqns:
        if jax_compat.kind(equation) is Kind.CALL:
            made = _evaluated(_called(equation.params), list(map(value, equation.invars)), instead)
            known |= dict(zip(equation.outvars, made, strict=True))
        else:
            evaluate_equations([equation], known)
    return list(map(value, closed.jaxpr.outvars))


class XlaTape:
    """See `backends.base.Tape`."""

    def __init__(self) -> None:
        self._trace: Any = None
        self._entered: Any = None

    def start(self) -> None:
        before, self._trace = self._trace, TapeTrace(jax_compat.current_trace())
        if before is not None:
            self._trace.entries, self._trace.copies = before.entries, before.copies
        self._entered = in_trace(self._trace)
        self._entered.__enter__()

    def stop(self) -> None:
        self._entered.__exit__(None, None, None)
        self._trace.parent_trace = None

    def pause(self, is_paused: bool) -> None:
        self._trace.is_paused = is_paused

    def forget(self) -> None:
        self._trace.entries.clear()
        self._trace.copies.clear()

    def known_as(self, array: Any) -> Any:
        return self._trace.copy_of(array) if isinstance(array, np.ndarray) else array

    def first_value(self, stand_in: Any) -> Any:
        for name, _, operands, outputs in self._trace.entries:
            if name in ("read", "write") and operands[0] is stand_in:
                return outputs[0] if name == "read" else None
        return None

    def reaches(self, targets: Sequence[Any], source: Any) -> bool:
        return any(self._replay([source], [None], target, dry=True) is not None for target in targets)

    def gradient(
        self, targets: Sequence[Any], sources: Sequence[Any], values: Sequence[Any], weights: Sequence[Any]
    ) -> list[Any]:
        def pure(inputs: Sequence[Any]) -> Any:
            total: Any = 0.0
            for target, weight in zip(targets, weights, strict=True):
                value = self._replay(sources, inputs, target)
                value = target if value is None else value
                total = total + jnp.sum(value if weight is None else value * weight)
            return total

        return list(jax.grad(pure)(list(values)))

    def jacobian(self, target: Any, sources: Sequence[Any], values: Sequence[Any], is_batch: bool) -> list[Any]:
        def pure(inputs: Sequence[Any]) -> Any:
            value = self._replay(sources, inputs, target)
            return jnp.sum(value, 0) if is_batch else value

        return list(jax.jacrev(pure)(list(values)))

    def _replay(self, sources: Sequence[Any], inputs: Sequence[Any], target: Any, dry: bool = False) -> Any:
        """The target as a function of the sources, by doing again what depends on them; None if it does not."""
        known = {id(source): value for source, value in zip(sources, inputs, strict=True)}
        for name, again, operands, outputs in list(self._trace.entries):
            if name == "read":
                if id(operands[0]) in known:
                    known.setdefault(id(outputs[0]), known[id(operands[0])])
                continue
            if name == "write":
                ref, new = operands[:2]
                if id(ref) in known:
                    known[id(outputs[0])] = known[id(ref)]
                if id(new) in known or id(ref) in known:
                    known[id(ref)] = known.get(id(new), new)
                continue
            if not any(id(operand) in known for operand in operands):
                continue
            if name == "effects":
                if outputs and any(jnp.issubdtype(output.dtype, jnp.inexact) for output in outputs):
                    raise StagingError(
                        "the tape's block holds a call or a loop with effects (a print, py_function, a Variable written by "
                        "jax.lax code) that the target may depend on. Use autograph.value_and_grad there."
                    )
                continue
            if dry:
                made = [None] * len(outputs)
            else:
                made = again(*(known.get(id(operand), operand) for operand in operands))
            for output, value in zip(outputs, made, strict=True):
                if id(output) not in {id(source) for source in sources}:
                    known[id(output)] = value
        return (known[id(target)] if not dry else True) if id(target) in known else None
