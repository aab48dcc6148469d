"""Checkpointing of loop states for reverse mode: some states are kept, the others are recomputed.

The number of iterations is known only when the loop has ended. States are kept in a fixed number of rows: every one at
first; when the rows are full, only those that begin a block, and when they are full again, of blocks twice as long,
and so on (the simplest, equidistant form of dynamic checkpointing: Wang, Moin, Iaccarino, "Minimal repetition dynamic
checkpointing algorithm for unsteady adjoint calculation", SIAM J. Sci. Comput. 31, 2009). On the way back the number
of steps is known, and a block is run again into rows set aside for that: at once where they hold all of it, else
split at the binomial point (Griewank, Walther, "Algorithm 799: revolve", ACM TOMS 26, 2000). With R rows, a loop of
up to R steps runs nothing again, one of up to about R*R/4 steps each step again, and each further repetition
multiplies the reach by about R/4.

No state is ever moved: `_Rows` gives each step a row such that, whenever fewer stay, those that stay keep theirs, and
the others' are taken next. So recording is one loop: the loop's own operations and one number to compute. All this
serves compile time: XLA on CPU compiles nearly every operation that stands outside the smallest loops as a kernel of
its own, at some 10 ms each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

# Rows when the number of steps has no bound: as many as fit these bytes, within these limits.
_BYTES = 16 << 20
_FEWEST, _MOST = 64, 4096
# A loop with a bound keeps all of its states if they fit these.
_BOUNDED_BYTES = 64 << 20

_REPEATS = 8


@dataclass(frozen=True)
class Plan:
    """How many states are kept (a power of two, unless it is all), and whether that is surely all of them."""

    count: int
    surely_all: bool

    @classmethod
    def of(cls, state: Sequence[Any], bound: int | None, slots: int | None) -> Plan:
        """For states of these types, of a loop with at most ``bound`` steps; ``slots`` is how many the user wants kept."""
        size = sum(map(size_in_bytes, state))
        if not size:
            return cls(1, True)  # steps that need nothing of it but their number
        if slots is not None:
            count = max(slots, 1)
        elif bound is not None and bound * size <= _BOUNDED_BYTES:
            count = bound
        else:
            count = max(_FEWEST, min(_MOST, _BYTES // size))
            count = count * 9 // 8  # of the power of two that it only just misses it is to be that
        if bound is not None and bound <= count:
            return cls(max(bound, 1), True)
        return cls(1 << (max(8, count).bit_length() - 1), False)

    def has_room(self, row: Sequence[Any]) -> bool:
        """Whether as many rows of these types are not too much."""
        return self.count * sum(map(size_in_bytes, row)) <= (_BOUNDED_BYTES if self.surely_all else _BYTES)

    @property
    def rows(self) -> int:
        return self.count if self.surely_all else self.count + _spare(self.count)

    def record(
        self,
        goes_on: Callable[[list[Any]], Any],
        step: Callable[[list[Any]], list[Any]],
        start: list[Any],
        row_of: Callable[[list[Any]], list[Any]],
        first: Sequence[Any],
    ) -> tuple[list[Any], Record]:
        """Run the loop; return its last carry and, of its states, what ``row_of`` says (``first`` is of its types)."""
        stack = [_rows_like(value, self.rows) for value in first]
        record = _record_all if self.surely_all else _record_some
        return record(goes_on, step, start, row_of, stack, self.count)

    def sweep(
        self,
        again: Again,
        back: Callable[[list[Any], Any, Any], Any],
        states: Record,
        final: Any,
    ) -> Any:
        """``final = back(row, number, final)`` for every row of a recorded run, from the last to the first."""
        if self.surely_all:
            return _sweep_all(back, states, final)
        return _sweep_some(again, back, states, final, self.count)


def size_in_bytes(aval: Any) -> int:
    """The size of an array of this type; a dimension that is not known while tracing counts as 1,024."""
    itemsize = getattr(aval.dtype, "itemsize", 8)
    return itemsize * math.prod(size if isinstance(size, int) else 1024 for size in aval.shape)


class Again(NamedTuple):
    """How iterations are run again: ``step`` goes on from a state with its number, and ``row_of`` it is what is kept.

    A row begins with the values of the state, ``size`` of them.
    """

    step: Callable[[list[Any], Any], list[Any]]
    row_of: Callable[[list[Any]], list[Any]]
    size: int


class Record:
    """The states of one run: ``steps`` in all, every ``1 << shift``-th in ``kept``."""

    def __init__(self, steps: Any, shift: Any, kept: list[Any]) -> None:
        self.steps, self.shift, self.kept = steps, shift, kept

    @property
    def leaves(self) -> list[Any]:
        return [self.steps, self.shift, *self.kept]


def _record_all(
    goes_on: Any, step: Any, start: list[Any], row_of: Any, stack: list[Any], _: int
) -> tuple[list[Any], Record]:
    def one_step(state: Any) -> Any:
        steps, carry, stack = state
        return steps + 1, step(carry), _put(stack, row_of(carry), steps)

    zero = jnp.int32(0)
    steps, last, stack = jax.lax.while_loop(lambda state: goes_on(state[1]), one_step, (zero, start, stack))
    return last, Record(steps, zero, stack)


def _record_some(
    goes_on: Any, step: Any, start: list[Any], row_of: Any, stack: list[Any], count: int
) -> tuple[list[Any], Record]:
    rows = _Rows(count)

    def one_step(state: Any) -> Any:
        steps, carry, stack = state
        begins = steps & ((1 << rows.shift(steps)) - 1) == 0
        row = jnp.where(begins, rows.of_step(steps), count)  # a spare one, for what is not kept
        return steps + 1, step(carry), _put(stack, row_of(carry), row)

    steps, last, stack = jax.lax.while_loop(lambda state: goes_on(state[1]), one_step, (jnp.int32(0), start, stack))
    return last, Record(steps, rows.shift(steps - 1), stack)


def _spare(count: int) -> int:
    """How many rows there are for what is run again, after ``count`` for what is kept."""
    return max(count // 4, min(count, 16))


class _Rows:
    """Which of ``count`` rows, ``1 << bits`` in number, a state is in.

    Of the first ``count`` steps each has the row of its number. From then on a state is kept of every ``1 << shift``-th
    step only, with ``shift`` such that these fill the rows at most; step k, in digits k0, k1 to the base
    ``count``, has row k0 + k1. As k0 is a multiple of ``1 << shift`` and k1 is less than that, no two have the
    same. Steps of three digits have a last digit of zero by then, and the row of what is left without it.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self.bits = count.bit_length() - 1
        self.first_shift = _spare(count).bit_length() - 1

    def shift(self, step: Any) -> Any:
        """At this step, every ``1 << shift``-th is kept."""
        return jnp.where(step < self.count, 0, jnp.maximum(_length(step) - self.bits, self.first_shift))

    def of_step(self, step: Any) -> Any:
        """The row of a step whose state is kept."""
        digits = jnp.maximum(jax.lax.div(_length(step) - 1, jnp.int32(self.bits)) - 1, 0)
        step = step >> (digits * self.bits)
        return (step & (self.count - 1)) + (step >> self.bits)


def _length(number: Any) -> Any:
    """How many binary digits it has."""
    return 32 - jax.lax.clz(number)


def _sweep_all(back: Any, states: Record, final: Any) -> Any:
    return _back_from(states.steps - 1, -1, 0, back, states.kept, final)


def _back_from(last: Any, before: Any, first: Any, back: Any, stack: list[Any], final: Any) -> Any:
    """Over the states in the rows from ``last`` down to the one after ``before``; row 0 would have the number ``first``."""

    def one_step(state: Any) -> Any:
        row, value = state
        return row - 1, back(_get(stack, row), row + first, value)

    return jax.lax.while_loop(lambda state: state[0] > before, one_step, (last, final))[1]


# What a loop counts, as one array: XLA compiles one kernel for it, where numbers by themselves would be one each.


class _Numbers(NamedTuple):
    """Where the way back stands.

    Attributes:
      left: so many states are still to come, the last of them next.
      newest: the newest state that is there, by its step.
      row: where that is.
      used: so many spare rows hold states to go on from.
      run: so many states up to the newest follow on each other, in as many rows.
      puts, target, stride: while a gap is filled: so many states are still to be put, the next in this row, and each
        so many rows after the one before.
    """

    left: Any
    newest: Any
    row: Any
    used: Any
    run: Any
    puts: Any
    target: Any
    stride: Any

    @classmethod
    def of(cls, packed: Any) -> _Numbers:
        return cls(*(packed[k] for k in range(len(cls._fields))))

    @property
    def packed(self) -> Any:
        return jnp.stack([jnp.asarray(number, jnp.int32) for number in self])


def _sweep_some(again: Again, back: Any, states: Record, final: Any, count: int) -> Any:
    shift = states.shift
    positions = jnp.zeros(_spare(count), jnp.int32)  # by which step, as far as spare rows hold states to go on from

    # Little stands in the outer loop, and all that fills gaps in a loop of its own: where no state is missing, that is
    # never entered, and XLA on CPU takes the few operations left as a sequence, without handing them to its threads.
    def one_round(state: Any) -> Any:
        (left, used), positions, stack, value = state
        begin = (left - 1) >> shift << shift
        kept = _Rows(count).of_step(begin)
        numbers = _Numbers(
            left,
            jnp.where(used == 0, begin, _get([positions], used - 1)[0]),
            jnp.where(used == 0, kept, count + used - 1),
            used,
            jnp.where(shift == 0, left, 1),
            *(0, 0, 0),
        )
        packed, positions, stack = jax.lax.while_loop(
            lambda state: _Numbers.of(state[0]).newest != _Numbers.of(state[0]).left - 1,
            lambda state: _fill(again, state, count),
            (numbers.packed, positions, stack),
        )
        numbers = _Numbers.of(packed)
        first = numbers.newest - numbers.row
        value = _back_from(numbers.row, numbers.row - numbers.run, first, back, stack, value)
        left, used = numbers.left - numbers.run, jnp.maximum(numbers.used - numbers.run, 0)
        return jnp.stack([left, used]), positions, stack, value

    state = (jnp.stack([states.steps, jnp.int32(0)]), positions, states.kept, final)
    return jax.lax.while_loop(lambda state: state[0][0] > 0, one_round, state)[-1]


def _fill(again: Again, state: Any, count: int) -> Any:
    """Run from the newest state towards the last one: all the way if the spare rows hold what comes between."""
    packed, positions, stack = state
    before = _Numbers.of(packed)
    first = jnp.maximum(before.used - 1, 0)  # the spare row of the newest state, if all are kept
    gap = before.left - 1 - before.newest
    free = _spare(count) - 1 - first
    fills = gap <= free
    distance = jnp.where(fills, gap, _split(gap, free))
    target = jnp.where(fills, first, before.used)
    stride = fills.astype(jnp.int32)
    used = target + gap * stride + 1
    after = _Numbers(
        before.left,
        before.newest + distance,
        count + used - 1,
        used,
        jnp.where(fills, gap + 1, 1),
        distance + 1,
        count + target,
        stride,
    )

    def forward(state: Any) -> Any:
        packed, carry, stack = state
        now = _Numbers.of(packed)
        stack = _put(stack, again.row_of(carry), now.target)
        carry = again.step(carry, now.newest + 1 - now.puts)
        return now._replace(puts=now.puts - 1, target=now.target + now.stride).packed, carry, stack

    start = _get(stack[: again.size], before.row)
    packed, _, stack = jax.lax.while_loop(
        lambda state: _Numbers.of(state[0]).puts > 0, forward, (after.packed, start, stack)
    )
    (positions,) = _put([positions], [after.newest], before.used)
    return packed, positions, stack


def _split(gap: Any, free: Any) -> Any:
    """How far to run before the next state is kept, where ``gap`` steps lie ahead and ``free`` rows are left.

    The number of steps that so many rows reach if none is run more than n times, for the last n that reaches too few. No
    loop, which would take longer to compile than all that is around it; with more than `_REPEATS` repetitions, a
    fraction near the best one.
    """
    rows = free.astype(jnp.float32)
    ahead = gap.astype(jnp.float32)
    distance = reach = jnp.float32(1)
    for repeats in range(1, _REPEATS + 1):
        distance = jnp.where(reach < ahead, reach, distance)
        reach = reach * (rows + repeats) / repeats
    distance = jnp.where(reach < ahead, ahead * _REPEATS / (rows + _REPEATS), distance)
    return jnp.where(free == 1, gap, jnp.clip(distance.astype(jnp.int32), 1, gap))


def _rows_like(value: Any, count: int) -> Any:
    return jnp.broadcast_to(jnp.asarray(value)[None], (count, *jnp.shape(value)))


def _put(stack: Sequence[Any], values: Sequence[Any], row: Any) -> list[Any]:
    return [
        jax.lax.dynamic_update_index_in_dim(rows, value, row, 0, allow_negative_indices=False)
        for rows, value in zip(stack, values, strict=True)
    ]


def _get(stack: Sequence[Any], row: Any) -> list[Any]:
    return [jax.lax.dynamic_index_in_dim(rows, row, 0, keepdims=False, allow_negative_indices=False) for rows in stack]
