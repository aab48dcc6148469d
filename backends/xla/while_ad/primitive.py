"""The primitives ``while``, a differentiable loop, and ``while_recorded``, which keeps its states."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from autograph.backends.xla import jax_compat
from autograph.backends.xla.branches import cond
from autograph.backends.xla.dependence import moving_of, split
from autograph.backends.xla.jax_compat import ClosedJaxpr, no_tangent, replay, strong, varying_everywhere
from autograph.backends.xla.tracing import INTEGER, as_weak_as, conform, leading, mapped, merge, on_mesh, only, trace
from autograph.backends.xla.while_ad.checkpoints import Plan
from autograph.backends.xla.while_ad.exits import by_test
from autograph.backends.xla.while_ad.program import LoopProgram, close
from autograph.backends.xla.while_ad.rows import Rows

loop_p = jax_compat.new_primitive("while")


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
    `checkpoints`). A loop with effects (prints, callbacks) is `jax.lax.while_loop` itself, and has no reverse mode.
    """
    values = list(map(jnp.asarray, start))
    closed = close(step, goes_on, values, bound, slots)
    if closed is None:
        # XLA on CPU crashes on a loop with callbacks in it whose test it finds to be false: it is not to look.
        test = varying_everywhere(lambda carry: jax.lax.optimization_barrier(goes_on(carry)))
        last: list[Any] = jax.lax.while_loop(test, varying_everywhere(step), varying_everywhere(lambda: values)())
        return last
    program, consts = closed
    early = by_test(program, values)
    if early is None:
        return bind_loop(program, consts, values)
    carry = early.whole(values, bind_loop(early.program, *early.operands(consts, values)))
    last = cond(
        program.goes_on(consts, carry),
        lambda: program.step(consts, carry),
        lambda: conform(carry, program.carry_avals),
    )
    return as_weak_as(last, program.carry_avals)


def bind_loop(program: LoopProgram, consts: Sequence[Any], start: Sequence[Any]) -> list[Any]:
    """Run ``program``: the last carry."""
    start = conform(start, program.carry_avals)
    operands = jax_compat.vary_alike([*consts, *start])
    return loop_p.bind(*operands, program=program, cond_jaxpr=program.test, body_jaxpr=program.body)


def _run_on(platform: str, *, program: LoopProgram, **_: Any) -> Callable[..., list[Any]]:
    return program.form_on(platform)


def _loop_types(*_: Any, program: LoopProgram, **__: Any) -> list[Any]:
    return program.carry_avals


def _loop_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, program: LoopProgram, **_: Any) -> Any:
    consts, start = program.split(primals)
    const_tangents, carry_tangents = program.split(tangents)
    moving_consts = moving_of(const_tangents)
    moving = program.closure(moving_consts, moving_of(carry_tangents), smoothly=True)
    if not any(moving):
        outputs = bind_loop(program, consts, start)
        return outputs, list(map(no_tangent, outputs))
    derivative = program.derivative(moving_consts, moving)
    outputs = bind_loop(
        derivative,
        [*consts, *only(const_tangents, moving_consts)],
        [*start, *map(jax_compat.as_array, only(carry_tangents, moving))],
    )
    assert derivative.tangents is not None
    last, last_tangents = derivative.tangents.split_results(outputs)
    return last, merge(list(map(no_tangent, last)), moving, last_tangents)


def _loop_batch(axis: Any, operands: Sequence[Any], dims: Sequence[Any], *, program: LoopProgram, **_: Any) -> Any:
    consts, start = program.split([dim is not None for dim in dims])
    batch = Batch(axis, program, consts, start)
    values, start_values = program.split(leading(operands, dims))
    outputs = bind_loop(batch.program, values, batch.spread(start_values, start, batch.carry))
    return as_weak_as(outputs, program.carry_avals), lane_dims(batch.carry)


# The loop that keeps states.

record_p = jax_compat.new_primitive("while_recorded")


def bind_states(
    program: LoopProgram, consts: Sequence[Any], start: Sequence[Any], rows: Rows, plan: Plan
) -> tuple[list[Any], list[Any]]:
    start = conform(start, program.carry_avals)
    outputs = record_p.bind(*consts, *start, program=program, rows=rows, plan=plan)
    last, states = split(outputs, len(start))
    return last, states


def _run_record(*operands: Any, program: LoopProgram, rows: Rows, plan: Plan) -> list[Any]:
    last, states = record(program, *program.split(operands), rows, plan)
    return [*last, *states]


def record(
    program: LoopProgram, consts: list[Any], start: list[Any], rows: Rows, plan: Plan
) -> tuple[list[Any], list[Any]]:
    """Run the loop: its last carry; how many steps there were, a number that the rows go by, and the rows."""
    start = conform(start, program.carry_avals)

    def some(carry: list[Any]) -> list[Any]:
        return [carry[k] for k in rows.kept]

    last, states = plan.record(
        lambda carry: program.goes_on(consts, carry),
        lambda carry: program.step(consts, carry),
        start,
        lambda carry: rows.of(consts, some(carry)),
        rows.first(some(start)),
    )
    return last, states.leaves


def _record_types(*_: Any, program: LoopProgram, rows: Rows, plan: Plan) -> list[Any]:
    carry = program.carry_avals
    stack = [jax_compat.stacked(plan.rows, aval) for aval in (*(strong(carry[k]) for k in rows.kept), *rows.residuals)]
    return [*carry, INTEGER, INTEGER, *map(on_mesh, stack)]


def _record_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, program: LoopProgram, **params: Any) -> Any:
    """The states count as constants: whoever differentiates a sweep in its consts and start keeps states of its own."""
    last, moved = _loop_jvp(primals, tangents, program=program)
    _, states = split(record_p.bind(*primals, program=program, **params), len(last))
    return [*last, *states], [*moved, *map(no_tangent, states)]


def _record_batch(
    axis: Any,
    operands: Sequence[Any],
    dims: Sequence[Any],
    *,
    program: LoopProgram,
    rows: Rows,
    plan: Plan,
) -> Any:
    consts, start = program.split([dim is not None for dim in dims])
    batch = Batch(axis, program, consts, start)
    values, start_values = program.split(leading(operands, dims))
    start_values = batch.spread(start_values, start, batch.carry)
    some = [batch.carry[k] for k in rows.kept]
    row_dims = [1 if lane else None for lane in rows.dependents(consts, some)]
    rows = rows.batched(axis, consts, some)
    if not batch.tested:
        last, states = bind_states(batch.program, values, start_values, rows, plan)
        return [*last, *states], [*lane_dims(batch.carry), None, None, *row_dims]
    counts = jnp.zeros(axis.size, jnp.int32)
    last, (_, shift, *stack) = bind_states(batch.counted(), values, [*start_values, counts], rows, plan)
    return [*last, shift, *stack], [*lane_dims(batch.carry), 0, None, *row_dims]


# Batches.


class Batch:
    """A program for a batch: which of its consts and carry have a leading axis, and whether lanes end by themselves."""

    def __init__(self, axis: Any, program: LoopProgram, consts: Sequence[bool], start: Sequence[bool]) -> None:
        self.axis, self.base = axis, program
        self.consts = tuple(consts)
        self.carry = program.closure(consts, start, smoothly=False)
        self.tested = program.is_tested(consts, self.carry)
        if self.tested:
            self.carry = (True,) * len(self.carry)
        self.program = program.batched(axis, self.consts, self.carry, self.tested)

    def counted(self) -> LoopProgram:
        """The program with one more carry: how many steps each lane has run."""
        program = self.program
        counts = jax_compat.stacked(self.axis.size, INTEGER)
        avals = [*program.body.in_avals, counts]

        def counting(body: ClosedJaxpr) -> ClosedJaxpr:
            def run(*operands: Any) -> list[Any]:
                *others, counts = operands
                active = self.truth(*program.split(others))
                return [*replay(body, *others), counts + active.astype(counts.dtype)]

            return trace(run, avals)

        return LoopProgram(
            counting(program.body),
            trace(lambda *operands: replay(program.test, *operands[:-1]), avals),
            program.consts,
            program.bound,
            program.slots,
            lambda: counting(program.smooth),
        )

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


def lane_dims(flags: Sequence[bool]) -> list[Any]:
    return [0 if flag else None for flag in flags]


jax_compat.define(loop_p, types=_loop_types, run_on=_run_on, jvp=_loop_jvp, batch=_loop_batch)
jax_compat.define(record_p, types=_record_types, run=_run_record, jvp=_record_jvp, batch=_record_batch)
