"""The states of a loop for its gradient: some kept while it runs forward, the others run again on the way back.

While the loop is running nobody knows how long it will be. States are kept in a fixed number of rows: every one at
first; when the rows are full, those of every fourth step stay, then of every eighth, and so on, at most half of the
rows being in use (the simplest, equidistant form of dynamic checkpointing: Wang, Moin, Iaccarino, "Minimal repetition
dynamic checkpointing algorithm for unsteady adjoint calculation", SIAM J. Sci. Comput. 31, 2009). On the way back the
number of steps is known, and a gap between two states is filled by running it again: at once where the free rows hold
all of it, else split at the binomial point (Griewank, Walther, "Algorithm 799: revolve", ACM TOMS 26, 2000). With R
rows, a loop of up to R steps runs nothing again, one of up to about R*R/8 steps each step once more, and each further
repetition multiplies the reach by about R/2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from autograph.backends.xla_programs import Program

# Rows when the number of steps has no bound: as many as fit these bytes, within these limits.
_BYTES = 16 << 20
_FEWEST, _MOST = 64, 4096
# A loop with a bound keeps all of its states if they fit these.
_BOUNDED_BYTES = 64 << 20

_FIRST_SHIFT = 2  # from every state to every fourth


@dataclass(frozen=True)
class Plan:
    """How many states are kept, and whether that is surely all of them."""

    count: int
    surely_all: bool

    @classmethod
    def of(cls, program: Program) -> Plan:
        size = sum(_bytes(aval) for aval in program.carry_avals)
        bound = program.bound
        if program.slots is not None:
            count = max(program.slots, 1)
        elif bound is not None and bound * size <= _BOUNDED_BYTES:
            count = bound
        else:
            count = max(_FEWEST, min(_MOST, _BYTES // max(size, 1)))
        if bound is not None and bound <= count:
            return cls(max(bound, 1), True)
        return cls(max(8, count // 4 * 4), False)

    @property
    def rows(self) -> int:
        return self.count if self.surely_all else self.count + 1  # one more, for what is not kept

    def record(
        self,
        goes_on: Callable[[list[Any]], Any],
        step: Callable[[list[Any]], list[Any]],
        start: list[Any],
        kept: Sequence[int],
    ) -> tuple[list[Any], Record]:
        """Run the loop; return its last carry and its states, as far as ``kept`` of them are needed."""
        stack = [_rows_like(start[k], self.rows) for k in kept]
        record = _record_all if self.surely_all else _record_some
        return record(goes_on, step, start, kept, stack, self.count)

    def sweep(
        self,
        step: Callable[[list[Any]], list[Any]],
        back: Callable[[list[Any], Any], Any],
        states: Record,
        final: Any,
    ) -> Any:
        """``final = back(state, final)`` for every state of a recorded run, from the last to the first."""
        if self.surely_all:
            return _sweep_all(back, states, final)
        return _sweep_some(step, back, states, final, self.count)


def _bytes(aval: Any) -> int:
    itemsize = getattr(aval.dtype, "itemsize", 8)
    return itemsize * math.prod(size if isinstance(size, int) else 1024 for size in aval.shape)


class Record:
    """The states of one run: ``steps`` in all, every ``1 << shift``-th in ``kept``."""

    def __init__(self, steps: Any, shift: Any, kept: list[Any]) -> None:
        self.steps, self.shift, self.kept = steps, shift, kept

    @property
    def leaves(self) -> list[Any]:
        return [self.steps, self.shift, *self.kept]


def _record_all(
    goes_on: Any, step: Any, start: list[Any], kept: Sequence[int], stack: list[Any], _: int
) -> tuple[list[Any], Record]:
    def one_step(state: Any) -> Any:
        steps, carry, stack = state
        return steps + 1, step(carry), _put(stack, [carry[k] for k in kept], steps)

    zero = jnp.int32(0)
    steps, last, stack = jax.lax.while_loop(lambda state: goes_on(state[1]), one_step, (zero, start, stack))
    return last, Record(steps, zero, stack)


def _record_some(
    goes_on: Any, step: Any, start: list[Any], kept: Sequence[int], stack: list[Any], count: int
) -> tuple[list[Any], Record]:
    def one_round(state: Any) -> Any:
        _, steps, shift, carry, stack = state  # the first time none: every state is kept, and nothing else done
        wider = jnp.where(shift == 0, _FIRST_SHIFT, 1)
        moves = jnp.where(steps > 0, count // 4, 0)
        stack = jax.lax.fori_loop(0, moves, lambda row, stack: _put(stack, _get(stack, row << wider), row), stack)
        shift = jnp.where(steps > 0, shift + wider, shift)
        limit = jnp.where(shift == 0, count, (count // 2) << shift)
        mask = (1 << shift) - 1

        def one_step(state: Any) -> Any:
            steps, carry, stack = state
            row = jnp.where(steps & mask == 0, steps >> shift, count)
            return steps + 1, step(carry), _put(stack, [carry[k] for k in kept], row)

        steps, carry, stack = jax.lax.while_loop(
            lambda state: (state[0] < limit) & goes_on(state[1]), one_step, (steps, carry, stack)
        )
        return goes_on(carry), steps, shift, carry, stack

    zero = jnp.int32(0)
    state = (jnp.bool_(True), zero, zero, start, stack)
    _, steps, shift, last, stack = jax.lax.while_loop(lambda state: state[0], one_round, state)
    return last, Record(steps, shift, stack)


def _sweep_all(back: Any, states: Record, final: Any) -> Any:
    return _back_from(states.steps - 1, -1, back, states.kept, final)


def _back_from(last: Any, before: Any, back: Any, stack: list[Any], final: Any) -> Any:
    """Over the states in the rows from ``last`` down to the one after ``before``."""

    def one_step(state: Any) -> Any:
        row, value = state
        return row - 1, back(_get(stack, row), value)

    return jax.lax.while_loop(lambda state: state[0] > before, one_step, (last, final))[1]


def _sweep_some(step: Any, back: Any, states: Record, final: Any, count: int) -> Any:
    used = (states.steps + (1 << states.shift) - 1) >> states.shift
    positions = jnp.arange(count + 1, dtype=jnp.int32) << states.shift
    run = jnp.where(states.shift == 0, states.steps, 1)  # so many states up to the last one follow on each other

    # Little stands in the outer loop, and all that fills gaps in a loop of its own: where no state is missing, that is
    # never entered, and XLA on CPU takes the few operations left as a sequence, without handing them to its threads.
    def one_round(state: Any) -> Any:
        last, used, run, positions, stack, value = state
        (newest,) = _get([positions], used - 1)
        state = newest == last, used, run, positions, stack
        _, used, run, positions, stack = jax.lax.while_loop(
            lambda state: ~state[0], lambda state: _fill(step, last, state, count), state
        )
        value = _back_from(used - 1, used - 1 - run, back, stack, value)
        return last - run, used - run, jnp.int32(1), positions, stack, value

    state = (states.steps - 1, used, run, positions, states.kept, final)
    return jax.lax.while_loop(lambda state: state[0] >= 0, one_round, state)[-1]


def _fill(step: Any, last: Any, state: Any, count: int) -> Any:
    """Run from the newest state towards the state ``last``: all the way if the free rows hold what comes between."""
    _, used, run, positions, stack = state
    (newest,) = _get([positions], used - 1)
    gap = last - newest
    free = count + 1 - used
    fills = gap <= free
    distance = jnp.where(fills, gap, _split(gap, free))

    def forward(index: Any, state: Any) -> Any:
        carry, stack = state
        carry = step(carry)
        return carry, _put(stack, carry, used + jnp.where(fills, index, 0))

    _, stack = jax.lax.fori_loop(0, distance, forward, (_get(stack, used - 1), stack))
    (positions,) = _put([positions], [newest + distance], used)
    return fills, used + jnp.where(fills, gap, 1), jnp.where(fills, gap + 1, run), positions, stack


def _split(gap: Any, free: Any) -> Any:
    """How far to run before the next state is kept, where ``gap`` steps lie ahead and ``free`` rows are left."""
    rows = free.astype(jnp.float32)

    def longer(state: Any) -> Any:
        repeats, reach, _ = state
        return repeats + 1, reach * (rows + repeats + 1) / (repeats + 1), reach

    start = (jnp.float32(0), jnp.float32(1), jnp.float32(1))
    _, _, before = jax.lax.while_loop(lambda state: state[1] < gap + 1, longer, start)
    return jnp.clip(before.astype(jnp.int32), 1, gap)


def _rows_like(value: Any, count: int) -> Any:
    return jnp.broadcast_to(jnp.asarray(value)[None], (count, *jnp.shape(value)))


def _put(stack: Sequence[Any], values: Sequence[Any], row: Any) -> list[Any]:
    return [
        jax.lax.dynamic_update_index_in_dim(rows, value, row, 0, allow_negative_indices=False)
        for rows, value in zip(stack, values, strict=True)
    ]


def _get(stack: Sequence[Any], row: Any) -> list[Any]:
    return [jax.lax.dynamic_index_in_dim(rows, row, 0, keepdims=False, allow_negative_indices=False) for rows in stack]
