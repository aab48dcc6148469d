"""The primitive ``while_reversed``: the reverse sweep over the states of a loop, from the last to the first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from autograph.backends.xla import jax_compat
from autograph.backends.xla.dependence import dependents, moving_of, requirements, split
from autograph.backends.xla.jax_compat import ClosedJaxpr, replay, strong
from autograph.backends.xla.linear import LinearMap
from autograph.backends.xla.linear import linear_p as _linear_p
from autograph.backends.xla.tracing import (
    choose,
    conform,
    jvp,
    leading,
    lifted,
    mapped,
    one_for_all,
    only,
    trace,
    vjp,
    zeros,
)
from autograph.backends.xla.while_ad.primitive import (
    Batch,
    bind_loop,
    lane_dims,
    record,
)
from autograph.backends.xla.while_ad.program import LoopProgram, Tangents
from autograph.backends.xla.while_ad.rows import RowSweep

# The reverse pass.

sweep_p = jax_compat.new_primitive("while_reversed")


class Sweep:
    """A step over the states of a loop, from the last to the first: (consts, state, value) -> (summands, value).

    Attributes:
      program: the loop whose states they are.
      step: the step, linear in value.
      sums: how many summands each step returns; their sums over all steps come out.
      tangents: for the derivative of another sweep, that sweep and the layout of its program's derivative.
      over_rows: the same over rows that have been recorded.
    """

    def __init__(
        self,
        program: LoopProgram,
        step: ClosedJaxpr,
        sums: int,
        tangents: tuple[Sweep, Tangents] | None = None,
        over_rows: RowSweep | None = None,
    ) -> None:
        self.program, self.step, self.sums, self.tangents = program, step, sums, tangents
        self._over_rows = over_rows

    def __repr__(self) -> str:
        return f"Sweep({self.program}, sums={self.sums})"

    @classmethod
    def over(
        cls, program: LoopProgram, step: Callable[..., tuple[list[Any], list[Any]]], values: Sequence[Any]
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

    def with_parts(self, part: Callable[[Any], Any]) -> Sweep:
        """The same of other sizes: ``part`` returns what a program, or another part, is then."""
        tangents = self.tangents and (part(self.tangents[0]), self.tangents[1].with_parts(part))
        return Sweep(part(self.program), part(self.step), self.sums, tangents, part(self.over_rows))

    @property
    def over_rows(self) -> RowSweep:
        if self._over_rows is None:
            self._over_rows = RowSweep.of(self.program, self.step)
        return self._over_rows

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

    def spread(
        self, consts: Sequence[bool], carry: Sequence[bool], value: Sequence[bool], smoothly: bool
    ) -> tuple[list[bool], list[bool]]:
        """Which sums and values come to depend on the marked consts, carry (a closure) and values."""
        value = list(value)
        while True:
            after = dependents(self.step.jaxpr, [*consts, *carry, *value], smoothly=smoothly)
            sums, before = split(after, self.sums)
            grown = [a or b for a, b in zip(before, value, strict=True)]
            if grown == value:
                return sums, value
            value = grown

    def dependents(self, inputs: Sequence[bool], smoothly: bool, params: dict[str, Any]) -> list[bool]:
        """Which results of an equation that runs this sweep depend on the marked operands."""
        consts, start, value, states = self.split(inputs)
        if smoothly:
            carry = self.program.closure(consts, start, smoothly=True)
        else:
            ended, start = self.marked(start, states)
            carry = self.program.closure(consts, start, smoothly=False)
            if ended or self.program.is_tested(consts, carry):
                return [True] * (self.sums + len(value))
        sums, value = self.spread(consts, carry, value, smoothly)
        return [*sums, *value]

    def marked(self, start: Sequence[bool], states: Sequence[bool]) -> tuple[bool, list[bool]]:
        """Whether lanes end by themselves, and which of the carry is marked at the start or in the rows."""
        marked = list(start)
        if not states:
            return False, marked
        own = self.over_rows
        numbers, row = split(states, 2 + own.extras)
        if any(row[len(own.rows.kept) :]):
            marked = [True] * len(marked)
        for k, mark in zip(own.rows.kept, row, strict=False):
            marked[k] = marked[k] or mark
        return any(numbers), marked

    def derivative(self, consts: tuple[bool, ...], carry: tuple[bool, ...]) -> Sweep:
        program = self.program.derivative(consts, carry)
        tangents = program.tangents
        assert tangents is not None
        values = [strong(aval) for aval in self.value_avals]
        marked = (*consts, *carry, *(True for _ in values))

        def step(*operands: Any) -> list[Any]:
            c, dc, x, dx, y, dy = split(operands, len(consts), sum(consts), len(carry), sum(carry), len(values))
            outputs, moved = jvp(lambda *operands: replay(self.step, *operands), [*c, *x, *y], marked, [*dc, *dx, *dy])
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
) -> tuple[list[Any], list[Any]]:
    """The sums and the first value. Without ``states`` (see `RowSweep.run`) the loop is run first, to have them."""
    start = conform(start, sweep.program.carry_avals)
    value = conform(value, sweep.value_avals)
    outputs = sweep_p.bind(*consts, *start, *value, *states, sweep=sweep)
    sums, first = split(outputs, sweep.sums)
    return sums, first


def _run_sweep(*operands: Any, sweep: Sweep) -> list[Any]:
    consts, start, value, states = sweep.split(operands)
    own = sweep.over_rows
    if not states:
        _, states = record(sweep.program, consts, start, own.rows, own.plan)
    sums = [zeros(aval) for aval in sweep.sum_avals]
    value = conform(value, sweep.value_avals)
    sums, first = own.run(sums, value, consts, states)
    return [*sums, *first]


def _sweep_types(*_: Any, sweep: Sweep, **__: Any) -> list[Any]:
    return [*sweep.sum_avals, *sweep.value_avals]


def _sweep_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, sweep: Sweep, **__: Any) -> Any:
    consts, start, value, _ = sweep.split(primals)
    const_tangents, carry_tangents, value_tangents, _ = sweep.split(tangents)
    moving_consts = moving_of(const_tangents)
    moving = sweep.program.closure(moving_consts, moving_of(carry_tangents), smoothly=True)
    derivative = sweep.derivative(moving_consts, moving)
    sums, first = bind_sweep(
        derivative,
        [*consts, *only(const_tangents, moving_consts)],
        [*start, *map(jax_compat.as_array, only(carry_tangents, moving))],
        [*value, *map(jax_compat.as_array, value_tangents)],
    )
    (sums, moved_sums), (first, moved_first) = split(sums, sweep.sums), split(first, len(value))
    return [*sums, *first], [*moved_sums, *moved_first]


def _sweep_batch(axis: Any, operands: Sequence[Any], dims: Sequence[Any], *, sweep: Sweep) -> Any:
    consts, start, value, states = sweep.split([dim is not None for dim in dims])
    const_dims, start_dims, value_dims, state_dims = sweep.split(dims)
    const_values, start_values, values, state_values = sweep.split(operands)
    ended, marked_start = sweep.marked(start, states)
    batch = Batch(axis, sweep.program, consts, marked_start)
    own_ends = ended or batch.tested
    sum_flags, value_flags = sweep.spread(
        batch.consts, batch.carry, [flag or own_ends for flag in value], smoothly=False
    )
    sum_flags = [flag or own_ends for flag in sum_flags]
    over_rows: RowSweep | None = None
    new_states: list[Any] = []
    if states and (ended or not batch.tested):
        over_rows, new_states = _batch_rows(axis, sweep, consts, state_values, state_dims, value_flags, sum_flags)
    new = Sweep(batch.program, _batch_step(axis, sweep, batch, value_flags, sum_flags), sweep.sums, over_rows=over_rows)
    sums, first = bind_sweep(
        new,
        leading(const_values, const_dims),
        batch.spread(leading(start_values, start_dims), start, batch.carry),
        batch.spread(leading(values, value_dims), value, value_flags),
        new_states,
    )
    return [*sums, *first], lane_dims([*sum_flags, *value_flags])


def _batch_step(
    axis: Any, sweep: Sweep, batch: Batch, value_flags: Sequence[bool], sum_flags: Sequence[bool]
) -> ClosedJaxpr:
    """The step for a batch, on its whole state."""
    step = sweep.step
    flags = [*batch.consts, *batch.carry]
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

    return trace(strong_run, avals)


def _batch_rows(
    axis: Any,
    sweep: Sweep,
    consts: Sequence[bool],
    states: Sequence[Any],
    dims: Sequence[Any],
    value_flags: Sequence[bool],
    sum_flags: Sequence[bool],
) -> tuple[RowSweep, list[Any]]:
    """The sweep over the rows of a batch, and those rows.

    Lanes have numbers of steps of their own where they end by themselves, and where they come out of a conditional that
    some did not take.
    """
    own = sweep.over_rows
    (steps, shift), extras, rows = split(states, 2, own.extras)
    (steps_dim, shift_dim), extra_dims, row_dims = split(dims, 2, own.extras)
    ends = any(dim is not None for dim in dims[: 2 + own.extras])
    extra_flags = [dim is not None for dim in extra_dims]
    row_flags = [ends or dim is not None for dim in row_dims]
    over_rows = own.batched(axis, [*consts, *extra_flags, *row_flags], value_flags, [*sum_flags, *value_flags], ends)
    new_extras = leading(extras, extra_dims)
    if ends:
        counts = steps if steps_dim is not None else jnp.broadcast_to(steps, axis.size)
        new_extras, steps = [*new_extras, counts], jnp.max(steps)
    if shift_dim is not None:
        shift = jnp.max(shift)
    new_rows = []
    for stack, dim, mark in zip(rows, row_dims, row_flags, strict=True):
        if dim is not None:
            stack = jnp.moveaxis(stack, dim, 1)
        elif mark:
            stack = jnp.broadcast_to(stack[:, None], (stack.shape[0], axis.size, *stack.shape[1:]))
        new_rows.append(stack)
    return over_rows, [steps, shift, *new_extras, *new_rows]


def _sweep_partial_eval(trace: Any, *tracers: Any, sweep: Sweep) -> Any:
    if sweep.tangents is not None:
        base, tangents = sweep.tangents
        value_count = len(base.value_avals)
        consts, dc, start, dx, value, dy = split(
            tracers, len(tangents.consts), sum(tangents.consts), len(tangents.carry), sum(tangents.carry), value_count
        )
        moving = [*dc, *dx, *dy]
        if jax_compat.are_known([*consts, *start, *value]) and not jax_compat.are_known(moving):
            fixed = jax_compat.known_values([*consts, *start, *value])
            sums, first = bind_sweep(
                base, jax_compat.known_values(consts), jax_compat.known_values(start), jax_compat.known_values(value)
            )
            later = jax_compat.left_for_later(
                trace, _linear_p, [*fixed, *moving], dict(function=_SweepTangent(sweep), fixed=len(fixed))
            )
            later_sums, later_first = split(later, base.sums)
            return [*sums, *later_sums, *first, *later_first]
    return jax_compat.left_for_later(trace, sweep_p, tracers, dict(sweep=sweep))


def _sweep_known_part(equation: Any, unknown: Sequence[bool]) -> tuple[Any, list[bool]] | None:
    sweep, inputs = equation.params["sweep"], equation.invars
    if sweep.tangents is None:
        return None
    base, tangents = sweep.tangents
    values = len(base.value_avals)
    consts, _, start, _, value, _ = split(
        range(len(inputs)),
        len(tangents.consts),
        sum(tangents.consts),
        len(tangents.carry),
        sum(tangents.carry),
        values,
    )
    fixed = [*consts, *start, *value]
    if any(unknown[k] for k in fixed):
        return None
    sums, _, first, _ = split(equation.outvars, base.sums, base.sums, values)
    known = jax_compat.equation_like(equation, sweep_p, dict(sweep=base), [inputs[k] for k in fixed], [*sums, *first])
    return known, [False] * base.sums + [True] * base.sums + [False] * values + [True] * values


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
        nothing = [zeros(aval) for aval in only(self.base.program.carry_avals, self.tangents.carry)]
        sweep, kept = second
        whole = [*start, *w_first]
        sums, first = bind_sweep(sweep, [*consts, *w_sums], [whole[k] for k in kept], [*nothing, *value])
        return [*sums, *first[: len(nothing)], *dy]

    def _programs(self) -> tuple[LoopProgram, tuple[Sweep, tuple[int, ...]]]:
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
                first = [zeros(aval) for aval in values]
                outputs, pull = jax.vjp(lambda *value: replay(base.step, *consts, *carry, *value), *first)
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
        loop = LoopProgram(
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

            outputs, pull = vjp(both, [*consts, *carry], marked)
            found = pull(conform([*u, *w_sums, *w], map(jax.typeof, outputs)))
            sums, u = split(found, sum(tangents.consts))
            return sums, [*u, *outputs[moved + base.sums :]]

        return loop, Sweep.over(loop, step, [*only(carry_avals, tangents.carry), *values])


jax_compat.define(sweep_p, types=_sweep_types, run=_run_sweep, jvp=_sweep_jvp, batch=_sweep_batch)
jax_compat.define_partial_evaluation(sweep_p, _sweep_partial_eval, _sweep_known_part)
