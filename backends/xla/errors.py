"""Programs that give the error that they come upon, instead of raising it.

XLA cannot raise. Whoever emits a program with the operation ``raise_if`` (see `raising`) turns it, by `collected`,
into one that gives the code and the values that the exception carries as further results. The first error counts.
After it no ``while`` goes on, and nothing is printed or called.

A branch or a loop of ours is so turned where it is emitted, and the operation goes on outside of it. So it passes
through ``vmap``, ``grad`` and every statement as data does.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Literal, jaxprs_in_params

from autograph.backends.base import LeafType, LoopSpec, Output, RaiseSite, Traced
from autograph.backends.xla.branches import cond as branch_of
from autograph.backends.xla.dependence import scan_counts
from autograph.backends.xla.leaf_types import as_struct
from autograph.backends.xla.parts import evaluate_equations
from autograph.backends.xla.raising import RAISES, find_sites, raise_if, sites_in, split_payloads
from autograph.backends.xla.while_ad.primitive import bind_loop
from autograph.backends.xla.while_ad.program import Program, trace
from autograph.runtime.errors import StagingError

_CODE = LeafType((), np.dtype(np.int32))
_BOOL = LeafType((), np.dtype(np.bool_))


def collected(program: Any, operands: Sequence[Any]) -> tuple[list[Any], Any, list[list[Any]], list[RaiseSite]]:
    """Run a recorded program: its results, the code of the first error, the values of each site, and the sites."""
    errors = Errors(sites_in([program]))
    outputs = _evaluate(program.jaxpr, program.consts, operands, errors)
    code, *values = errors.values()
    return outputs, code, split_payloads(values, errors.sites), errors.sites


class Errors:
    """The error state at one point of a program.

    Attributes:
      sites: what may be raised.
      code: the number of the first error or 0; None as long as there can have been none.
    """

    def __init__(self, sites: Sequence[RaiseSite], values: Sequence[Any] | None = None) -> None:
        self.sites = list(sites)
        self.code: Any = None
        self._held: list[list[Any]] = [[np.zeros(t.shape, t.dtype) for t in site.types] for site in sites]
        if values is not None:
            self.install(values)

    def install(self, values: Sequence[Any]) -> None:
        """Take over the state of another point."""
        self.code, *held = values
        self._held = split_payloads(held, self.sites)

    def values(self) -> list[Any]:
        """The state as arrays."""
        return [np.int32(0) if self.code is None else self.code, *(v for payload in self._held for v in payload)]

    def types(self) -> list[LeafType]:
        return [_CODE, *(LeafType(tuple(t.shape), t.dtype) for site in self.sites for t in site.types)]

    @property
    def is_clear(self) -> Any:
        """Whether there has been none so far."""
        return self.code == 0

    def note(self, code: Any, values: Sequence[Any], sites: Sequence[RaiseSite]) -> None:
        """Let this error count, if it is one and the first."""
        numbers = np.array([0, *(self.sites.index(site) + 1 for site in sites)], np.int32)
        known = not isinstance(code, jax.core.Tracer)
        new = numbers[int(code)] if known else jnp.asarray(numbers)[code]
        if self.code is None:
            first, self.code = True, new
        else:
            first = self.code == 0
            self.code = jnp.where(first, new, self.code)
        for number, payload in zip(numbers[1:], split_payloads(values, sites), strict=True):
            held = self._held[number - 1]
            here = first if len(sites) == 1 else first & (new == number)
            self._held[number - 1] = [
                v if here is True else jnp.where(here, v, h) for v, h in zip(payload, held, strict=True)
            ]


def _evaluate(jaxpr: Any, consts: Sequence[Any], operands: Sequence[Any], errors: Errors) -> list[Any]:
    """Evaluate a jaxpr from an error state on; leave the state after it."""
    known: dict[Any, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
    known.update(zip(jaxpr.invars, operands, strict=True))

    def value(atom: Any) -> Any:
        return atom.val if isinstance(atom, Literal) else known[atom]

    harmless: list[Any] = []
    for equation in jaxpr.eqns:
        if RAISES in equation.effects:
            rule = _RAISING.get(equation.primitive.name, _refused)
        elif errors.code is not None and _must_not_run_after(equation):
            rule = _callback if _calls_python(equation) else _RAISING.get(equation.primitive.name, _natively)
        else:
            harmless.append(equation)
            continue
        evaluate_equations(harmless, known)
        harmless = []
        results = rule(equation, [value(atom) for atom in equation.invars], errors)
        known.update(zip(equation.outvars, results, strict=True))
    evaluate_equations(harmless, known)
    return [value(atom) for atom in jaxpr.outvars]


def _calls_python(equation: Any) -> bool:
    inner = any(True for _ in jaxprs_in_params(equation.params))
    return bool(equation.effects) and not inner


def _must_not_run_after(equation: Any) -> bool:
    """Whether the equation, run after an error, could be seen, or have no end."""
    return bool(equation.effects) or _may_not_end(equation)


def _may_not_end(equation: Any) -> bool:
    return equation.primitive.name.startswith("while") or any(
        _may_not_end(inner) for jaxpr in jaxprs_in_params(equation.params) for inner in jaxpr.eqns
    )


# Rules for equations that hold others: (equation, operands, errors) -> results.


def _raise(equation: Any, operands: Sequence[Any], errors: Errors) -> list[Any]:
    code, *values = operands
    errors.note(code, values, equation.params["sites"])
    return []


def _inline(equation: Any, operands: Sequence[Any], errors: Errors) -> list[Any]:
    params = equation.params
    closed = params["jaxpr"] if "jaxpr" in params else params["call_jaxpr"]
    return _evaluate(closed.jaxpr, closed.consts, operands, errors)


def _cond(equation: Any, operands: Sequence[Any], errors: Errors) -> list[Any]:
    index, *rest = operands
    start = errors.values()

    def branch(closed: Any) -> Callable[[], list[Any]]:
        def run() -> list[Any]:
            own = Errors(errors.sites, start)
            outputs = _evaluate(closed.jaxpr, closed.consts, rest, own)
            return [*outputs, *_as_arrays(own)]

        return run

    branches = [branch(closed) for closed in equation.params["branches"]]
    if "choice" in equation.params:
        values = branch_of(index, branches[1], branches[0])
    else:
        values = jax.lax.switch(index, branches) if len(branches) > 2 else jax.lax.cond(index != 0, *branches[::-1])
    return _taken(values, len(equation.outvars), errors)


def _scan(equation: Any, operands: Sequence[Any], errors: Errors) -> list[Any]:
    params = equation.params
    (count, carried), closed = scan_counts(equation), params["jaxpr"]
    consts, start, arrays = operands[:count], operands[count : count + carried], operands[count + carried :]

    def body(carry: Any, slices: Any) -> Any:
        values, state = carry
        own = Errors(errors.sites, state)
        outputs = _evaluate(closed.jaxpr, closed.consts, [*consts, *values, *slices], own)
        return (outputs[:carried], _as_arrays(own)), outputs[carried:]

    options = {key: params[key] for key in ("length", "reverse", "unroll")}
    (last, state), stacked = jax.lax.scan(body, (list(start), _as_arrays(errors)), list(arrays), **options)
    errors.install(state)
    return [*last, *stacked]


def _while(equation: Any, operands: Sequence[Any], errors: Errors) -> list[Any]:
    params = equation.params
    if "program" in params:
        return _own_while(equation, operands, errors)
    first, second = params["cond_nconsts"], params["body_nconsts"]
    test, body = params["cond_jaxpr"], params["body_jaxpr"]
    if RAISES in test.effects:
        return _refused(equation, operands, errors)
    test_consts, body_consts = operands[:first], operands[first : first + second]

    def truth(values: Sequence[Any], state: Sequence[Any]) -> Any:
        return _evaluate(test.jaxpr, test.consts, [*test_consts, *values], Errors(errors.sites, state))[0]

    def goes_on(carry: Any) -> Any:
        values, state = carry
        return jnp.any(truth(values, state)) & (state[0] == 0)

    def step(carry: Any) -> Any:
        values, state = carry
        own = Errors(errors.sites, state)
        new = _evaluate(body.jaxpr, body.consts, [*body_consts, *values], own)
        lanes = test.out_avals[0].ndim  # of a loop that was mapped; each lane ends by itself
        if lanes:
            active = truth(values, state)
            new = [
                jnp.where(active.reshape(active.shape + (1,) * (old.ndim - lanes)), value, old)
                for value, old in zip(new, values, strict=True)
            ]
        return new, _as_arrays(own)

    start = list(operands[first + second :])
    last, state = jax.lax.while_loop(goes_on, step, (start, _as_arrays(errors)))
    errors.install(state)
    return list(last)


def _own_while(equation: Any, operands: Sequence[Any], errors: Errors) -> list[Any]:
    """A loop of ours, which holds no ``raise_if``: it does not start after an error."""
    program: Program = equation.params["program"]
    if equation.primitive.name != "while":
        return _natively(equation, operands, errors)
    avals = [*program.const_avals, jax.typeof(np.bool_(True)), *program.carry_avals]

    def without_flag(closed: Any, operands: Sequence[Any]) -> list[Any]:
        values = [*operands[: program.consts], *operands[program.consts + 1 :]]
        return list(jax.core.eval_jaxpr(closed.jaxpr, closed.consts, *values))

    body = trace(lambda *values: without_flag(program.body, values), avals)
    test = trace(lambda *values: [without_flag(program.test, values)[0] & values[program.consts]], avals)
    smooth = (
        None if program.smooth is program.body else lambda: trace(lambda *v: without_flag(program.smooth, v), avals)
    )
    guarded = Program(body, test, program.consts + 1, program.bound, program.slots, smooth)
    consts, start = program.split(operands)
    return bind_loop(guarded, [*consts, errors.is_clear], start)


def _checkpoint(equation: Any, operands: Sequence[Any], errors: Errors) -> list[Any]:
    jaxpr = equation.params["jaxpr"]

    def run(state: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
        own = Errors(errors.sites, state)
        return [*_evaluate(jaxpr, (), operands, own), *_as_arrays(own)]

    options = {key: equation.params[key] for key in ("prevent_cse", "policy") if key in equation.params}
    values = jax.checkpoint(run, **options)(_as_arrays(errors), list(operands))
    return _taken(values, len(equation.outvars), errors)


def _callback(equation: Any, operands: Sequence[Any], errors: Errors) -> list[Any]:
    """A print or a call of Python, which an error before it prevents, unless it puts something in order."""
    function = getattr(equation.params.get("callback"), "callback_func", None)
    if getattr(function, "runs_always", False):
        return _natively(equation, operands, errors)
    types = [var.aval for var in equation.outvars]

    def run() -> list[Any]:
        return _natively(equation, operands, errors)

    return list(jax.lax.cond(errors.is_clear, run, lambda: [jnp.zeros(t.shape, t.dtype) for t in types]))


def _natively(equation: Any, operands: Sequence[Any], _: Errors) -> list[Any]:
    known = {
        atom: operand for atom, operand in zip(equation.invars, operands, strict=True) if not isinstance(atom, Literal)
    }
    evaluate_equations([equation], known)
    return [known.get(var) for var in equation.outvars]


def _refused(equation: Any, _: Sequence[Any], __: Errors) -> list[Any]:
    found: dict[RaiseSite, None] = {}
    for inner in jaxprs_in_params(equation.params):
        find_sites(inner, found)
    site = next(iter(found))
    raise StagingError(
        f"{site.where}\n  {site.name} is raised under a traced condition here, inside a JAX {equation.primitive.name!r}, through which "
        "no error can be carried.\n  Check before it or after it, or return a flag."
    )


_RAISING: dict[str, Callable[[Any, Sequence[Any], Errors], list[Any]]] = {
    "raise_if": _raise,
    "jit": _inline,
    "pjit": _inline,
    "closed_call": _inline,
    "eval_jaxpr": _inline,
    "cond": _cond,
    "scan": _scan,
    "while": _while,
    "while_recorded": _natively,
    "checkpoint": _checkpoint,
    "remat2": _checkpoint,
}


def _as_arrays(errors: Errors) -> list[Any]:
    return [jnp.asarray(v, t.dtype) for v, t in zip(errors.values(), errors.types(), strict=True)]


def _taken(values: Sequence[Any], count: int, errors: Errors) -> list[Any]:
    errors.install(values[count:])
    return list(values[:count])


# Staged statements.


def staged_cond(
    emit: Callable[[Any, Any, Any], list[Any]],
    predicate: Any,
    branches: Sequence[tuple[Traced, Sequence[Any]]],
    types: Sequence[LeafType],
) -> list[Any]:
    """Emit a conditional whose branches may raise; the operation goes on after it."""
    sites = sites_in(traced.program for traced, _ in branches)
    if not sites:
        return emit(predicate, branches, types)
    state_types = Errors(sites).types()

    def pure(traced: Traced, leaves: Sequence[Any]) -> tuple[Traced, Sequence[Any]]:
        program = jax.make_jaxpr(partial(_with_state, traced.program, sites))()
        before = len(traced.program.jaxpr.outvars)
        state = [Output(before + k, type) for k, type in enumerate(state_types)]
        return Traced(program, (*traced.leaves, *state)), [*leaves, *state]

    values = emit(predicate, [pure(*branch) for branch in branches], [*types, *state_types])
    code, *carried = values[len(types) :]
    raise_if(code, split_payloads(carried, sites), sites)
    return values[: len(types)]


def _with_state(program: Any, sites: Sequence[RaiseSite]) -> list[Any]:
    errors = Errors(sites)
    return [*_evaluate(program.jaxpr, program.consts, (), errors), *errors.values()]


def staged_loop(emit: Callable[[LoopSpec], list[Any]], spec: LoopSpec) -> list[Any]:
    """Emit a loop whose body may raise: the error is carried, and ends it. The operation goes on after it."""
    sites = sites_in([spec.body.program])
    if spec.test is not None and (tested := sites_in([spec.test.program])):
        raise StagingError(
            f"{tested[0].where}\n  {tested[0].name} is raised under a traced condition here, in the test of a staged "
            "loop.\n  Raise it in the loop's body."
        )
    if not sites:
        return emit(spec)
    types = Errors(sites).types()
    head, count, outputs = spec.inputs, len(types), len(spec.body.program.jaxpr.outvars)
    state = [Output(outputs + k, type) for k, type in enumerate(types)]

    def pure(traced: Traced, finish: Callable[[list[Any], Errors], list[Any]]) -> Any:
        def run(*operands: Any) -> list[Any]:
            errors = Errors(sites, operands[head : head + count])
            inner = traced.program
            values = _evaluate(inner.jaxpr, inner.consts, [*operands[:head], *operands[head + count :]], errors)
            return finish(values, errors)

        taken = [LeafType(tuple(a.shape), a.dtype, bool(a.weak_type)) for a in traced.program.in_avals]
        return jax.make_jaxpr(run)(*map(as_struct, [*taken[:head], *types, *taken[head:]]))

    test = spec.test
    if test is not None:
        (truth,) = test.leaves

        def goes_on(values: list[Any], errors: Errors) -> list[Any]:
            return [(values[truth.index] if isinstance(truth, Output) else truth) & errors.is_clear]

        test = Traced(pure(test, goes_on), (Output(0, _BOOL),))
    body = pure(spec.body, lambda values, errors: [*values, *_as_arrays(errors)])
    start = list(zip(Errors(sites).values(), types, strict=True))
    values = emit(
        dataclasses.replace(
            spec,
            body=Traced(body, (*spec.body.leaves, *state)),
            test=test,
            carry=[*spec.carry[:head], *start, *spec.carry[head:]],
            inputs=head + count,
            results=[*spec.results[:head], *state, *spec.results[head:]],
        )
    )
    code, *carried = values[head : head + count]
    raise_if(code, split_payloads(carried, sites), sites)
    return [*values[:head], *values[head + count :]]
