"""A ``while`` that differentiates, in both modes and to any order, and costs what `jax.lax.while_loop` costs where it does not.

Three primitives, each closed under ``jvp`` and ``vmap``:

- ``while`` (`loop_p`) runs a `Program`. Its forward derivative is the ``while`` of carry and tangents together.
- ``while_recorded`` (`record_p`) also keeps states on the way (`xla_checkpoints`).
- ``while_reversed`` (`sweep_p`) runs a step over those states from the last to the first: with the step that pulls
  cotangents back through one iteration, it is the reverse pass.

A reverse pass is linear in the cotangents, and that is all that second derivatives need: with body ``f`` and step
``s`` on cotangents ``y``, the transpose of the sweep's tangent is a sweep again, over the states of the loop of ``x`` and ``w``, where ``w`` is
pushed forward by the transpose of ``s`` (`_SweepTangent`). So no reverse pass is ever differentiated operation by operation, and
the gradient of a gradient keeps no more states than a gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr, Primitive, new_jaxpr_eqn
from jax.interpreters import ad, batching, mlir
from jax.interpreters import partial_eval as pe

from autograph.backends.xla_checkpoints import Plan, Record
from autograph.backends.xla_linear import LinearMap
from autograph.backends.xla_linear import linear_p as _linear_p
from autograph.backends.xla_programs import (
    Program,
    Tangents,
    choose,
    close,
    conform,
    dependents,
    is_smooth,
    lifted,
    mapped,
    merge,
    no_tangent,
    one_for_all,
    only,
    pulled,
    pushed,
    replay,
    requirements,
    split,
    strong,
    trace,
)

# The loop.

loop_p = Primitive("while")
loop_p.multiple_results = True


def while_loop(
    goes_on: Callable[[list[Any]], Any],
    step: Callable[[list[Any]], list[Any]],
    start: Sequence[Any],
    *,
    bound: int | None = None,
    slots: int | None = None,
) -> list[Any]:
    """`jax.lax.while_loop` on a list, with a reverse mode.

    Never more than ``bound`` steps are run, if that is known. Gradients keep at most ``slots`` states (default: see
    `xla_checkpoints`). A loop with effects (prints, callbacks) is `jax.lax.while_loop` itself, and has no reverse mode.
    """
    start = list(map(jnp.asarray, start))
    closed = close(step, goes_on, start, bound, slots)
    if closed is None:
        return list(jax.lax.while_loop(goes_on, step, start))
    program, consts = closed
    return bind_loop(program, consts, start)


def bind_loop(program: Program, consts: Sequence[Any], start: Sequence[Any]) -> list[Any]:
    """Run ``program``: the last carry."""
    start = conform(start, program.carry_avals)
    return loop_p.bind(
        *consts, *start, program=program, cond_jaxpr=program.test, body_jaxpr=program.body
    )


def _run_loop(*operands: Any, program: Program, **_: Any) -> list[Any]:
    return program.run(*program.split(operands))


@loop_p.def_abstract_eval
def _loop_types(*_: Any, program: Program, **__: Any) -> list[Any]:
    return program.carry_avals


def _loop_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, program: Program, **_: Any) -> Any:
    consts, start = program.split(primals)
    const_tangents, carry_tangents = program.split(tangents)
    moving_consts = _moving(const_tangents)
    moving = program.closure(moving_consts, _moving(carry_tangents), smoothly=True)
    if not any(moving):
        outputs = bind_loop(program, consts, start)
        return outputs, list(map(no_tangent, outputs))
    derivative = program.derivative(moving_consts, moving)
    outputs = bind_loop(
        derivative,
        [*consts, *only(const_tangents, moving_consts)],
        [*start, *map(ad.instantiate_zeros, only(carry_tangents, moving))],
    )
    assert derivative.tangents is not None
    last, last_tangents = derivative.tangents.split_results(outputs)
    return last, merge(list(map(no_tangent, last)), moving, last_tangents)


def _loop_batch(
    axis: Any, operands: Sequence[Any], dims: Sequence[Any], *, program: Program, **_: Any
) -> Any:
    consts, start = program.split([dim is not None for dim in dims])
    batch = _Batch(axis, program, consts, start)
    values, start_values = program.split(_leading(operands, dims))
    outputs = bind_loop(batch.program, values, batch.spread(start_values, start, batch.carry))
    return outputs, _dims(batch.carry)


def _loop_partial_eval(trace: Any, *tracers: Any, program: Program, **params: Any) -> Any:
    """Where values are known and tangents are not: run and record now, leave a linear map of the tangents for later."""
    tangents = program.tangents
    if tangents is None or not any(tracer.is_known() for tracer in tracers):
        return trace.default_process_primitive(loop_p, tracers, dict(program=program, **params))
    consts, const_tangents, start, carry_tangents = tangents.split(tracers)
    if not _all_known([*consts, *start]) or _all_known([*const_tangents, *carry_tangents]):
        return trace.default_process_primitive(loop_p, tracers, dict(program=program, **params))
    consts, start = _values(consts), _values(start)
    reverse = Reverse.of(tangents)
    last, states = bind_record(reverse, consts, start)
    later = trace.default_process_primitive(
        _linear_p,
        [*consts, *start, *states, *const_tangents, *carry_tangents],
        dict(function=_LoopTangent(reverse), fixed=len(consts) + len(start) + len(states)),
    )
    return [*last, *later]


def _loop_partial_eval_custom(_: Any, unknown: Sequence[bool], held: Sequence[bool], equation: Any) -> Any:
    """The same within a jaxpr that is rematerialised: the values now, values and tangents together later."""
    program = equation.params["program"]
    inputs, results = equation.invars, equation.outvars
    needed = [atom for atom, h in zip(inputs, held, strict=True) if not hasattr(atom, "val") and not h]
    tangents = program.tangents
    if not any(unknown):
        return equation, equation, [False] * len(results), [True] * len(results), needed
    if tangents is not None:
        consts, _, start, _ = tangents.split(range(len(inputs)))
        if not any(unknown[k] for k in (*consts, *start)):
            base = tangents.program
            params = dict(program=base, cond_jaxpr=base.test, body_jaxpr=base.body)
            last = results[: len(start)]
            known = new_jaxpr_eqn(
                [inputs[k] for k in (*consts, *start)], last, loop_p, params, equation.effects, equation.source_info
            )
            later = [False] * len(last) + [True] * (len(results) - len(last))
            return known, equation, later, [True] * len(results), needed
    return None, equation, [True] * len(results), [True] * len(results), needed


class _LoopTangent(LinearMap):
    """(consts, start, states; tangents of consts and start) -> tangents of the last carry."""

    def __init__(self, reverse: Reverse) -> None:
        self.reverse = reverse
        tangents = reverse.tangents
        self.results = only(map(strong, tangents.program.carry_avals), tangents.carry)

    def apply(self, fixed: list[Any], moving: list[Any]) -> list[Any]:
        tangents = self.reverse.tangents
        program = tangents.program
        consts, start, _ = split(fixed, program.consts, len(program.carry_avals))
        const_tangents, carry_tangents = split(moving, sum(tangents.consts))
        derivative = program.derivative(tangents.consts, tangents.carry)
        outputs = bind_loop(derivative, [*consts, *const_tangents], [*start, *carry_tangents])
        return tangents.split_results(outputs)[1]

    def transpose(self, fixed: list[Any], cotangents: list[Any]) -> list[Any]:
        program = self.reverse.tangents.program
        consts, start, states = split(fixed, program.consts, len(program.carry_avals))
        reverse = self.reverse
        sums, first = bind_sweep(
            reverse.sweep, consts, reverse.part(start), cotangents, states, Plan.of(reverse.sweep.program)
        )
        return [*sums, *first]


# The loop that keeps states.

record_p = Primitive("while_recorded")
record_p.multiple_results = True


class Reverse:
    """The reverse pass of a program with respect to marked operands: the sweep, and which of the carry it must see."""

    def __init__(self, tangents: Tangents, sweep: Sweep, kept: tuple[int, ...]) -> None:
        self.tangents, self.sweep, self.kept = tangents, sweep, kept

    @classmethod
    def of(cls, tangents: Tangents) -> Reverse:
        made = tangents.__dict__.get("reverse")
        if made is None:
            made = tangents.__dict__["reverse"] = cls._make(tangents)
        return made

    @classmethod
    def _make(cls, tangents: Tangents) -> Reverse:
        program = tangents.program
        marked = (*tangents.consts, *tangents.carry)

        def pull(consts: list[Any], carry: list[Any], cotangents: list[Any]) -> tuple[list[Any], list[Any]]:
            def moving(*operands: Any) -> list[Any]:
                return only(replay(program.smooth, *operands), tangents.carry)

            outputs, back = pulled(moving, [*consts, *carry], marked)
            found = back(conform(cotangents, map(jax.typeof, outputs)))
            sums, before = split(found, sum(tangents.consts))
            return sums, before

        return cls(tangents, *Sweep.over(program, pull, only(program.carry_avals, tangents.carry)))

    def part(self, carry: Sequence[Any]) -> list[Any]:
        return [carry[k] for k in self.kept]


def bind_record(reverse: Reverse, consts: Sequence[Any], start: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Run the program; its last carry, and the states that the reverse pass takes."""
    program = reverse.tangents.program
    return _bind_record(program, consts, start, reverse.kept, Plan.of(reverse.sweep.program))


def _bind_record(
    program: Program, consts: Sequence[Any], start: Sequence[Any], kept: Sequence[int], plan: Plan
) -> tuple[list[Any], list[Any]]:
    start = conform(start, program.carry_avals)
    outputs = record_p.bind(
        *consts, *start, program=program, kept=tuple(kept), plan=plan
    )
    last, states = split(outputs, len(start))
    return last, states


def _run_record(*operands: Any, program: Program, kept: Sequence[int], plan: Plan) -> list[Any]:
    consts, start = program.split(operands)
    last, states = plan.record(
        lambda carry: program.goes_on(consts, carry),
        lambda carry: program.step(consts, carry),
        conform(start, program.carry_avals),
        kept,
    )
    return [*last, *states.leaves]


@record_p.def_abstract_eval
def _record_types(*_: Any, program: Program, kept: Sequence[int], plan: Plan) -> list[Any]:
    integer = jax.typeof(jnp.int32(0))
    carry = program.carry_avals
    stack = [jax.extend.core.unmapped_aval(plan.rows, 0, strong(carry[k])) for k in kept]
    return [*carry, strong(integer), strong(integer), *stack]


def _record_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, program: Program, **params: Any) -> Any:
    """The states count as constants: whoever differentiates a sweep in its consts and start keeps states of its own."""
    last, moved = _loop_jvp(primals, tangents, program=program)
    _, states = split(record_p.bind(*primals, program=program, **params), len(last))
    return [*last, *states], [*moved, *map(no_tangent, states)]


def _record_batch(
    axis: Any,
    operands: Sequence[Any],
    dims: Sequence[Any],
    *,
    program: Program,
    kept: Sequence[int],
    plan: Plan,
) -> Any:
    consts, start = program.split([dim is not None for dim in dims])
    batch = _Batch(axis, program, consts, start)
    values, start_values = program.split(_leading(operands, dims))
    start_values = batch.spread(start_values, start, batch.carry)
    last, states = _bind_record(batch.program, values, start_values, kept, plan)
    return [*last, *states], [
        *_dims(batch.carry),
        None,
        None,
        *(1 if batch.carry[k] else None for k in kept),
    ]


# The reverse pass.

sweep_p = Primitive("while_reversed")
sweep_p.multiple_results = True


class Sweep:
    """A step over the states of a loop, from the last to the first: (consts, state, value) -> (summands, value).

    Attributes:
      program: the loop whose states they are.
      step: the step, linear in value.
      sums: how many summands each step gives; their sums over all steps come out.
      tangents: for the derivative of another sweep, that sweep and the layout of its program's derivative.
    """

    def __init__(
        self, program: Program, step: ClosedJaxpr, sums: int, tangents: tuple[Sweep, Tangents] | None = None
    ) -> None:
        self.program, self.step, self.sums, self.tangents = program, step, sums, tangents

    def __repr__(self) -> str:
        return f"Sweep({self.program}, sums={self.sums})"

    @classmethod
    def over(
        cls, program: Program, step: Callable[..., tuple[list[Any], list[Any]]], values: Sequence[Any]
    ) -> tuple[Sweep, tuple[int, ...]]:
        """The sweep over what the step needs of the carry, and which of the carry that is."""
        values = [strong(aval) for aval in values]
        count = len(program.carry_avals)
        sums = 0

        def whole(*operands: Any) -> list[Any]:
            nonlocal sums
            consts, carry, value = split(operands, program.consts, count)
            summands, before = step(consts, carry, value)
            sums = len(summands)
            return [*summands, *conform(before, values)]

        traced = trace(whole, [*program.const_avals, *program.carry_avals, *values])
        needed = requirements(traced.jaxpr, [True] * len(traced.jaxpr.outvars))[program.consts :][:count]
        kept = program.kept(k for k, mark in enumerate(needed) if mark)
        if len(kept) == count:
            return cls(program, traced, sums), kept
        part = program.restricted(kept)

        def partial(*operands: Any) -> list[Any]:
            consts, some, value = split(operands, program.consts, len(kept))
            return replay(traced, *consts, *program.filled(kept, some), *value)

        return cls(part, trace(partial, [*part.const_avals, *part.carry_avals, *values]), sums), kept

    @property
    def sum_avals(self) -> list[Any]:
        return [strong(aval) for aval in self.step.out_avals[: self.sums]]

    @property
    def value_avals(self) -> list[Any]:
        return list(self.step.in_avals[len(self.program.body.in_avals) :])

    def split(self, operands: Sequence[Any]) -> tuple[list[Any], list[Any], list[Any], list[Any]]:
        """Consts, start, value, states."""
        consts, start, value, states = split(
            operands, self.program.consts, len(self.program.carry_avals), len(self.value_avals)
        )
        return consts, start, value, states

    def back(self, consts: list[Any], state: list[Any], value: list[Any]) -> tuple[list[Any], list[Any]]:
        summands, before = split(replay(self.step, *consts, *state, *value), self.sums)
        return conform(summands, self.sum_avals), conform(before, self.value_avals)

    def derivative(self, consts: tuple[bool, ...], carry: tuple[bool, ...]) -> Sweep:
        program = self.program.derivative(consts, carry)
        tangents = program.tangents
        assert tangents is not None
        values = [strong(aval) for aval in self.value_avals]
        marked = (*consts, *carry, *(True for _ in values))

        def step(*operands: Any) -> list[Any]:
            c, dc, x, dx, y, dy = split(
                operands, len(consts), sum(consts), len(carry), sum(carry), len(values)
            )
            outputs, moved = pushed(
                lambda *operands: replay(self.step, *operands), [*c, *x, *y], marked, [*dc, *dx, *dy]
            )
            summands, before = split(outputs, self.sums)
            moved_summands, moved_before = split(moved, self.sums)
            return [*summands, *moved_summands, *conform([*before, *moved_before], [*values, *values])]

        traced = trace(step, [*program.const_avals, *program.carry_avals, *values, *values])
        return Sweep(program, traced, 2 * self.sums, (self, tangents))


def bind_sweep(
    sweep: Sweep,
    consts: Sequence[Any],
    start: Sequence[Any],
    value: Sequence[Any],
    states: Sequence[Any] = (),
    plan: Plan | None = None,
) -> tuple[list[Any], list[Any]]:
    """The sums and the first value. Without ``states``, kept by ``plan``, the loop is run first, to have them."""
    start = conform(start, sweep.program.carry_avals)
    value = conform(value, sweep.value_avals)
    outputs = sweep_p.bind(*consts, *start, *value, *states, sweep=sweep, plan=plan)
    sums, first = split(outputs, sweep.sums)
    return sums, first


def _run_sweep(*operands: Any, sweep: Sweep, plan: Plan | None) -> list[Any]:
    consts, start, value, states = sweep.split(operands)
    program = sweep.program
    if plan is not None:
        recorded = Record(states[0], states[1], states[2:])
    else:
        plan = Plan.of(program)
        _, recorded = plan.record(
            lambda carry: program.goes_on(consts, carry),
            lambda carry: program.step(consts, carry),
            conform(start, program.carry_avals),
            range(len(start)),
        )

    def back(state: list[Any], final: Any) -> Any:
        sums, value = final
        summands, value = sweep.back(consts, state, value)
        return [a + b for a, b in zip(sums, summands, strict=True)], value

    sums = [jnp.zeros(aval.shape, aval.dtype) for aval in sweep.sum_avals]
    value = conform(value, sweep.value_avals)
    sums, first = plan.sweep(lambda carry: program.step(consts, carry), back, recorded, (sums, value))
    return [*sums, *first]


@sweep_p.def_abstract_eval
def _sweep_types(*_: Any, sweep: Sweep, **__: Any) -> list[Any]:
    return [*sweep.sum_avals, *sweep.value_avals]


def _sweep_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, sweep: Sweep, **_: Any) -> Any:
    consts, start, value, _ = sweep.split(primals)
    const_tangents, carry_tangents, value_tangents, _ = sweep.split(tangents)
    moving_consts = _moving(const_tangents)
    moving = sweep.program.closure(moving_consts, _moving(carry_tangents), smoothly=True)
    derivative = sweep.derivative(moving_consts, moving)
    sums, first = bind_sweep(
        derivative,
        [*consts, *only(const_tangents, moving_consts)],
        [*start, *map(ad.instantiate_zeros, only(carry_tangents, moving))],
        [*value, *map(ad.instantiate_zeros, value_tangents)],
    )
    (sums, moved_sums), (first, moved_first) = split(sums, sweep.sums), split(first, len(value))
    return [*sums, *first], [*moved_sums, *moved_first]


def _sweep_batch(
    axis: Any, operands: Sequence[Any], dims: Sequence[Any], *, sweep: Sweep, plan: Plan | None
) -> Any:
    consts, start, value, states = sweep.split([dim is not None for dim in dims])
    const_dims, start_dims, value_dims, state_dims = sweep.split(dims)
    const_values, start_values, values, state_values = sweep.split(operands)
    in_states = [*states[2:]] if states else [False] * len(start)
    batch = _Batch(axis, sweep.program, consts, [a or b for a, b in zip(start, in_states, strict=True)])
    step = sweep.step
    flags = [*batch.consts, *batch.carry]
    value_flags = [flag or batch.tested for flag in value]
    while True:
        after = dependents(step.jaxpr, [*flags, *value_flags], smoothly=False)
        sum_flags, grown = split(after, sweep.sums)
        grown = [a or b for a, b in zip(grown, value_flags, strict=True)]
        if grown == value_flags:
            break
        value_flags = grown
    sum_flags = [flag or batch.tested for flag in sum_flags]
    marked = [*flags, *value_flags]
    lanes = mapped(lambda *operands: replay(step, *operands), axis, marked, [*sum_flags, *value_flags])

    def run(*operands: Any) -> list[Any]:
        if not batch.tested:
            return lanes(*operands)
        consts, carry, value = split(operands, sweep.program.consts, len(batch.carry))
        active = batch.truth(consts, carry)
        found = lanes(*one_for_all(active, [*consts, *carry], flags), *value)
        summands, before = split(found, sweep.sums)
        return [*choose(active, summands, list(map(jnp.zeros_like, summands))), *choose(active, before, value)]

    avals = [lifted(aval, axis, mark) for aval, mark in zip(step.in_avals, marked, strict=True)]
    count = len(avals) - len(value_flags)

    def strong_run(*operands: Any) -> list[Any]:
        summands, before = split(run(*operands), sweep.sums)
        return [*summands, *conform(before, avals[count:])]

    new = Sweep(batch.program, trace(strong_run, avals), sweep.sums)
    new_states = []
    if states:
        # One count for all lanes. It comes in lanes out of a conditional that some of them did not take, as zero.
        new_states = [jnp.max(s) if dim is not None else s for s, dim in zip(state_values[:2], state_dims[:2])]
        for rows, dim, mark in zip(state_values[2:], state_dims[2:], batch.carry, strict=True):
            if dim is not None:
                rows = jnp.moveaxis(rows, dim, 1)
            elif mark:
                rows = jnp.broadcast_to(rows[:, None], (rows.shape[0], axis.size, *rows.shape[1:]))
            new_states.append(rows)
    sums, first = bind_sweep(
        new,
        _leading(const_values, const_dims),
        batch.spread(_leading(start_values, start_dims), start, batch.carry),
        batch.spread(_leading(values, value_dims), value, value_flags),
        new_states,
        plan,
    )
    return [*sums, *first], _dims([*sum_flags, *value_flags])


def _sweep_partial_eval(trace: Any, *tracers: Any, sweep: Sweep, plan: Plan | None) -> Any:
    if sweep.tangents is not None:
        base, tangents = sweep.tangents
        value_count = len(base.value_avals)
        consts, dc, start, dx, value, dy = split(
            tracers, len(tangents.consts), sum(tangents.consts), len(tangents.carry), sum(tangents.carry), value_count
        )
        moving = [*dc, *dx, *dy]
        if _all_known([*consts, *start, *value]) and not _all_known(moving):
            fixed = _values([*consts, *start, *value])
            now = split(fixed, len(consts), len(start))
            sums, first = bind_sweep(base, *now)
            later = trace.default_process_primitive(
                _linear_p, [*fixed, *moving], dict(function=_SweepTangent(sweep), fixed=len(fixed))
            )
            later_sums, later_first = split(later, base.sums)
            return [*sums, *later_sums, *first, *later_first]
    return trace.default_process_primitive(sweep_p, tracers, dict(sweep=sweep, plan=plan))


def _sweep_partial_eval_custom(_: Any, unknown: Sequence[bool], held: Sequence[bool], equation: Any) -> Any:
    sweep = equation.params["sweep"]
    inputs, results = equation.invars, equation.outvars
    needed = [atom for atom, h in zip(inputs, held, strict=True) if not hasattr(atom, "val") and not h]
    count = len(results)
    if not any(unknown):
        return equation, equation, [False] * count, [True] * count, needed
    if sweep.tangents is not None:
        base, tangents = sweep.tangents
        values = len(base.value_avals)
        consts, _, start, _, value, _ = split(
            range(len(inputs)), len(tangents.consts), sum(tangents.consts), len(tangents.carry), sum(tangents.carry), values
        )
        fixed = [*consts, *start, *value]
        if not any(unknown[k] for k in fixed):
            sums, _, first, _ = split(results, base.sums, base.sums, values)
            known = new_jaxpr_eqn(
                [inputs[k] for k in fixed], [*sums, *first], sweep_p, dict(sweep=base, plan=None), equation.effects,
                equation.source_info,
            )
            later = [False] * base.sums + [True] * base.sums + [False] * values + [True] * values
            return known, equation, later, [True] * count, needed
    return None, equation, [True] * count, [True] * count, needed


class _SweepTangent(LinearMap):
    """(consts, start, value; their tangents) -> tangents of the sums and of the first value."""

    def __init__(self, sweep: Sweep) -> None:
        assert sweep.tangents is not None
        self.sweep = sweep
        self.base, self.tangents = sweep.tangents
        self.results = [*self.base.sum_avals, *map(strong, self.base.value_avals)]

    def _fixed(self, fixed: list[Any]) -> tuple[list[Any], list[Any], list[Any]]:
        consts, start, value = split(fixed, len(self.tangents.consts), len(self.tangents.carry))
        return consts, start, value

    def apply(self, fixed: list[Any], moving: list[Any]) -> list[Any]:
        consts, start, value = self._fixed(fixed)
        dc, dx, dy = split(moving, sum(self.tangents.consts), sum(self.tangents.carry))
        sums, first = bind_sweep(self.sweep, [*consts, *dc], [*start, *dx], [*value, *dy])
        return [*sums[self.base.sums :], *first[len(value) :]]

    def transpose(self, fixed: list[Any], cotangents: list[Any]) -> list[Any]:
        consts, start, value = self._fixed(fixed)
        w_sums, w_first = split(cotangents, self.base.sums)
        loop, second = self._programs()
        outputs = bind_loop(loop, [*consts, *w_sums], [*start, *w_first])
        dy = outputs[len(start) :]
        zeros = [jnp.zeros(aval.shape, aval.dtype) for aval in only(self.base.program.carry_avals, self.tangents.carry)]
        sweep, kept = second
        whole = [*start, *w_first]
        sums, first = bind_sweep(sweep, [*consts, *w_sums], [whole[k] for k in kept], [*zeros, *value])
        return [*sums, *first[: len(zeros)], *dy]

    def _programs(self) -> tuple[Program, tuple[Sweep, tuple[int, ...]]]:
        """The loop of states and ``w``, and the sweep over it, in which the cotangents of states follow the values."""
        base, tangents = self.base, self.tangents
        program = base.program
        n_consts, n_carry = program.consts, len(program.carry_avals)
        values, sum_avals = [strong(a) for a in base.value_avals], base.sum_avals
        carry_avals = [strong(a) for a in program.carry_avals]

        def parts(operands: Sequence[Any]) -> list[list[Any]]:
            return split(operands, n_consts, base.sums, n_carry)

        def make_body(step: ClosedJaxpr) -> Callable[..., list[Any]]:
            def body(*operands: Any) -> list[Any]:
                consts, w_sums, carry, w = parts(operands)
                zeros = [jnp.zeros(aval.shape, aval.dtype) for aval in values]
                outputs, pull = jax.vjp(lambda *value: replay(base.step, *consts, *carry, *value), *zeros)
                pushed_on = pull(conform([*w_sums, *w], map(jax.typeof, outputs)))
                return conform([*replay(step, *consts, *carry), *pushed_on], [*carry_avals, *values])

            return body

        def test(*operands: Any) -> list[Any]:
            consts, _, carry, _ = parts(operands)
            return replay(program.test, *consts, *carry)

        avals = [*map(strong, program.const_avals), *sum_avals, *carry_avals, *values]
        smooth = None
        if program.smooth is not program.body:
            smooth = lambda: trace(make_body(program.smooth), avals)  # noqa: E731
        loop = Program(
            trace(make_body(program.body), avals),
            trace(test, avals),
            n_consts + base.sums,
            program.bound,
            program.slots,
            smooth,
        )
        marked = (*tangents.consts, *tangents.carry)
        moved = sum(tangents.carry)

        def step(consts: list[Any], carry: list[Any], value: list[Any]) -> tuple[list[Any], list[Any]]:
            consts, w_sums = split(consts, n_consts)
            carry, w = split(carry, n_carry)
            u, y = split(value, moved)

            def both(*operands: Any) -> list[Any]:
                after = only(replay(program.smooth, *operands), tangents.carry)
                return [*after, *replay(base.step, *operands, *y)]

            outputs, pull = pulled(both, [*consts, *carry], marked)
            found = pull(conform([*u, *w_sums, *w], map(jax.typeof, outputs)))
            sums, u = split(found, sum(tangents.consts))
            return sums, [*u, *outputs[moved + base.sums :]]

        return loop, Sweep.over(loop, step, [*only(carry_avals, tangents.carry), *values])


# Batches.


class _Batch:
    """A program for a batch: which of its consts and carry have a leading axis, and whether lanes end by themselves."""

    def __init__(self, axis: Any, program: Program, consts: Sequence[bool], start: Sequence[bool]) -> None:
        self.axis, self.base = axis, program
        self.consts = tuple(consts)
        self.carry = program.closure(consts, start, smoothly=False)
        self.tested = dependents(program.test.jaxpr, [*consts, *self.carry], smoothly=False)[0]
        if self.tested:
            self.carry = (True,) * len(self.carry)
        self.program = program.batched(axis, self.consts, self.carry, self.tested)

    def spread(self, values: Sequence[Any], have: Sequence[bool], want: Sequence[bool]) -> list[Any]:
        """``values`` with a leading axis where one is wanted and there is none."""
        return [
            jnp.broadcast_to(value, (self.axis.size, *jnp.shape(value))) if w and not h else value
            for value, h, w in zip(values, have, want, strict=True)
        ]

    def truth(self, consts: Sequence[Any], carry: Sequence[Any]) -> Any:
        """Which lanes go on."""
        test = mapped(
            lambda *operands: replay(self.base.test, *operands), self.axis, (*self.consts, *self.carry), (True,)
        )
        return test(*consts, *carry)[0]


def _leading(values: Sequence[Any], dims: Sequence[Any]) -> list[Any]:
    return [value if dim is None else jnp.moveaxis(value, dim, 0) for value, dim in zip(values, dims, strict=True)]


def _dims(flags: Sequence[bool]) -> list[Any]:
    return [0 if flag else None for flag in flags]


def _moving(tangents: Sequence[Any]) -> tuple[bool, ...]:
    return tuple(type(tangent) is not ad.Zero and is_smooth(jax.typeof(tangent)) for tangent in tangents)


def _all_known(tracers: Sequence[Any]) -> bool:
    return all(tracer.is_known() for tracer in tracers)


def _values(tracers: Sequence[Any]) -> list[Any]:
    return [tracer.pval.get_known() for tracer in tracers]


def _register(primitive: Primitive, run: Callable[..., list[Any]], jvp: Any, batch: Any) -> None:
    primitive.def_impl(
        lambda *operands, **params: jax.jit(lambda *operands: run(*operands, **params))(*operands)
    )
    ad.primitive_jvps[primitive] = jvp
    batching.fancy_primitive_batchers[primitive] = batch
    mlir.register_lowering(primitive, mlir.lower_fun(run, multiple_results=True))


_register(loop_p, _run_loop, _loop_jvp, _loop_batch)
_register(record_p, _run_record, _record_jvp, _record_batch)
_register(sweep_p, _run_sweep, _sweep_jvp, _sweep_batch)
pe.custom_partial_eval_rules[loop_p] = _loop_partial_eval
pe.custom_partial_eval_rules[sweep_p] = _sweep_partial_eval
pe.partial_eval_jaxpr_custom_rules[loop_p] = _loop_partial_eval_custom
pe.partial_eval_jaxpr_custom_rules[sweep_p] = _sweep_partial_eval_custom
