"""Lists in converted code, and functions of `jax.numpy` for lists of traced length."""

from __future__ import annotations

import collections
import copy
import sys
from collections.abc import Callable, Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np

from autograph.backends.base import Backend
from autograph.backends.selected import STAGING
from autograph.runtime.containers.array_functions import array_overloads
from autograph.runtime.containers.element_kinds import ARRAY, Kind, flatten_element, is_array_leaf
from autograph.runtime.containers.extents import exactly
from autograph.runtime.containers.iterables import StagedItems, StagedRange, make_range
from autograph.runtime.containers.keyed_lists import KeyedList, part_of_tuples
from autograph.runtime.containers.lengths import is_count, is_integer
from autograph.runtime.containers.padded import Padded, has_mutable
from autograph.runtime.containers.padded_arrays import PaddedArray, is_open_array
from autograph.runtime.containers.sizes import is_symbolic_size
from autograph.runtime.containers.traced_deques import TracedDeque
from autograph.runtime.containers.traced_lists import (
    TracedList,
    as_items,
    is_array_list,
    is_traced_list,
)
from autograph.runtime.containers.traced_tuples import TracedTuple
from autograph.runtime.containers.transposed import Transposed
from autograph.runtime.effects.staged_raises import Raising
from autograph.runtime.effects.traced_texts import repeated_text
from autograph.runtime.errors import StagingError
from autograph.runtime.heap.in_trace import InTrace, Trace
from autograph.runtime.layouts.kinds import LEAF, Layout, Row, Tree
from autograph.runtime.layouts.one_of import OneOf, candidates_of, each, is_one_of, takes_branches
from autograph.runtime.layouts.optional import used
from autograph.runtime.layouts.statement_variables import items_of_sequence, value_of
from autograph.runtime.staging.builtins.traced_lengths import TracedLengths
from autograph.runtime.tracing.locations import user_location


class Columns(StagedItems):
    """What ``zip(*rows)`` gives of a list of traced length: these columns, or nothing where the list is empty."""

    def __init__(self, columns: list[Any], rows: TracedList) -> None:
        super().__init__((), "zip(*rows)")
        self.columns = columns
        self.rows = rows

    @property
    def parts(self) -> tuple[Any, ...]:
        """The list of the columns."""
        return (self.rows.as_list().holding(tuple(self.columns))[: self.size()],)

    def size(self) -> Any:
        """How many there are."""
        return jnp.where(self.rows.size() > 0, len(self.columns), 0)


class Lists(InTrace):
    """The operators for new lists.

    Args:
      checks: the operators.
      call: what to call in place of a function.
      refuse_hidden: of `OutsideLists`.
      lengths: of arrays and lists of a traced number of elements.
    """

    def __init__(
        self,
        backend: Backend,
        trace: Callable[[], Trace],
        checks: Any,
        *,
        call: Callable[[Any], Any],
        raising: Raising,
        refuse_hidden: Callable[[Any], None],
        lengths: TracedLengths,
    ) -> None:
        super().__init__(trace)
        self.backend = backend
        self.checks = checks
        self.call = call
        self.raising = raising
        self.refuse_hidden = refuse_hidden
        self.lengths = lengths

    def new_list(self, values: list[Any]) -> list[Any]:
        """A list that may come to grow, of values that no one else has: ``values`` itself outside of a trace, or if it is no plain list."""
        if type(values) is not list or STAGING.is_plain(STAGING.place()):
            return values
        made = TracedList(values, self.checks)
        self.journal.born(made)
        return made

    def extended(self, made: list[Any], items: Any, in_any_order: bool = False) -> list[Any]:
        """``[*made, *items]``, of a list that no one else has. ``in_any_order``: of which a set is made."""
        if STAGING.is_plain(STAGING.place()):
            made.extend(items)
            return made
        made = self.new_list(made)
        if in_any_order and isinstance(items, KeyedList):
            items = items.members()
        made.extend(items if is_array_list(items) else self.call(list)(items))
        return made

    def repeated(self, one: Any, other: Any) -> Any:
        """``one * other``, of which one is a list that is written out."""
        items, count = (one, other) if isinstance(one, list) else (other, one)
        count = value_of(count)
        if not self.backend.is_traced(count) or not isinstance(items, list):
            return self.new_list(one * other)
        if not is_integer(count):
            raise TypeError(f"can't multiply sequence by non-int of type '{self.backend.type_of(count)}'")
        if not is_traced_list(items) and not items:
            return self.new_list([])
        if is_symbolic_size(count) and not is_traced_list(items) and not any(map(has_mutable, items)):
            return self._repeated_in_turn(items, count)
        held: Any = items.contents() if isinstance(items, TracedList) and is_array_list(items) else None
        if any(map(has_mutable, items)) if held is None else held.kind.is_mutable:
            raise StagingError(
                f"{user_location()}\n  A list is repeated here a traced number of times, and has lists, dicts or objects in it that can be "
                "written to: all repetitions would be one.\n  Make one for each place: [[] for _ in range(n)]."
            )
        held = Padded.of(items) if held is None else held
        size, room = self.lengths.list_of_size(count * held.length, "[…] * n")
        made = TracedList((), self.checks)
        places = jnp.arange(room) % (held.length if isinstance(held.length, int) else jnp.maximum(held.length, 1))
        made.set_contents(held.gathered(places, size).with_(extent=exactly(room)))
        self.journal.born(made)
        return made

    def _repeated_in_turn(self, items: list[Any], count: Any) -> list[Any]:
        """Items repeated a symbolic number of times, by a loop that appends."""
        if len(items) == 1:
            return self.checks.reductions.listed(make_range(count), lambda _: items[0])
        given = self.new_list(items)
        return self.checks.reductions.listed(make_range(count * len(items)), lambda k: given[k % len(items)])

    def repeated_by_traced(self, one: Any, other: Any) -> Any:
        """``one * other``, of which one is a text or a tuple, and the other a traced number; ``NotImplemented`` of anything else."""
        items, count = (other, one) if self.backend.is_traced(one) else (one, other)
        if not self.backend.is_traced(count) or not is_count(count):
            return NotImplemented
        if type(items) is tuple:
            return self.call(tuple)(self.repeated([*items], count))
        if type(items) is not str and not (is_one_of(items) and {type(each) for each in candidates_of(items)} == {str}):
            return NotImplemented
        return self.raising.text_now(repeated_text, items, count)

    def unpacked(self, value: Any, before: int, after: int | None = None) -> Any:
        """The parts of ``value`` for a target with a star, so many of them ``before`` and ``after`` it; without a star, None."""
        if type(value := used(value)) is OneOf and takes_branches(value):
            return each(value, lambda one: tuple(self.call(iter)(self.unpacked(one, before, after))))
        if after is None:
            if isinstance(value, Columns):
                self._check_count(value.size(), before)
                return value.columns
            value = self.items_of(value)
            if not is_traced_list(value):
                return value
            self._check_count(value.size(), before)
            return tuple(value[k] for k in range(before))
        least, value = before + after, as_items(value)
        if not is_array_list(value):
            if not hasattr(type(value), "__iter__") and not hasattr(type(value), "__getitem__"):
                raise TypeError(f"cannot unpack non-iterable {type(value).__name__} object")
            value = self.call(list)(value)
        if not is_traced_list(value):
            items = list(value)
            if len(items) < least:
                raise ValueError(f"not enough values to unpack (expected at least {least}, got {len(items)})")
            last = len(items) - after
            return (*items[:before], self.new_list(items[before:last]), *items[last:])
        if self.raising.can_raise_later(ValueError):
            self._raise_unless_enough(value.size(), least, f"at least {least}")
        ends = [value[k] for k in range(before)], [value[k - after] for k in range(after)]
        return (*ends[0], value[before : -after or None], *ends[1])

    def unzipped(self, rows: Any) -> Any:
        """``zip(*rows)``: the columns of a list of tuples, whose length may be traced."""
        rows = self.items_of(rows)
        if not is_traced_list(rows):
            return self.call(zip)(*rows)
        held = _with_arrays_as_tuples(rows.contents())
        if not _is_tuple(held.kind.layout) and not _is_row(held.kind.layout):  # texts, say
            rows = self.checks.reductions.listed(rows, self.call(list))
            if not is_traced_list(rows):
                return self.call(zip)(*rows)
            held = rows.contents()
        rows.share()
        if _is_tuple(held.kind.layout):
            columns = (part_of_tuples(held, k) for k in range(len(held.kind.layout.parts)))
            return Columns([TracedTuple((), self.checks).holding(column) for column in columns], rows)
        if not _is_row(held.kind.layout):
            return self.call(zip)(*rows)  # refused
        made = StagedItems((self._transposed(held),), "zip(*rows)", advance=self.checks.builtins.advanced)
        self.journal.born(made)
        return made

    def _transposed(self, held: Padded) -> TracedList:
        """For lists of any length, the tuples of the items at one place each: as many as the shortest has items."""
        held = held.unreserved()
        row = held.kind.layout
        assert isinstance(row, Row)
        lengths, *leaves = held.kind.leaves(held.buffers)
        _, *items = held.kind.statics
        buffers = [jnp.swapaxes(leaf, 0, 1) for leaf, static in zip(leaves, items, strict=True) if static is ARRAY]
        count = jnp.min(jnp.where(held.filled(), lengths, row.capacity), initial=row.capacity)
        column = row.with_(kind=TracedTuple, capacity=held.capacity, extent=exactly(held.capacity))
        sizes = jnp.broadcast_to(held.length, (row.capacity,))
        columns = Padded(
            jnp.where(held.length > 0, count, 0), [sizes, *buffers], Kind(column, (ARRAY, *items)), row.capacity
        )
        return TracedList((), self.checks).holding(columns)

    def items_of(self, value: Any) -> Any:
        """What Python iterates by itself; a list, where it is an iterable of the program whose length is traced."""
        value = as_items(self.checks.absences.listed(self.checks.generators.iterated(value)))
        is_staged = isinstance(value, StagedItems | StagedRange) or is_open_array(value)
        return self.call(list)(value) if is_staged or self.checks.generators.source_of(value) is not None else value

    def _check_count(self, size: Any, count: int) -> None:
        """Raise, when the program runs, where a list has not this size.

        Raises:
          StagingError: the program cannot raise.
        """
        if not self.raising.can_raise_later(ValueError):
            raise StagingError(
                f"{user_location()}\n  A list is unpacked into {count} targets, and its length is known only at run time: a bare jax.jit "
                "around converted code cannot raise ValueError for another length.\n  Call the function through autograph.function, or "
                "unpack a slice or elements of it (a, b = items[0], items[1])."
            )
        self._raise_unless_enough(size, count, str(count))
        got = "{}" if sys.version_info < (3, 14) else "{}, got {}"
        many = f"too many values to unpack (expected {got})"
        self.raising.raise_unless(
            size <= count, lambda: self.checks.exception(ValueError, self.checks.text(many.format, count, size))
        )

    def _raise_unless_enough(self, size: Any, least: int, expected: str) -> None:
        few = f"not enough values to unpack (expected {expected}, got {{}})"
        self.raising.raise_unless(
            size >= least, lambda: self.checks.exception(ValueError, self.checks.text(few.format, size))
        )

    def new_row(self) -> Row:
        """The layout of an empty list that is in an element of another list."""
        return TracedList((), self.checks).row_of(())[0]

    def new_deque(self, iterable: Any = (), maxlen: int | None = None) -> Any:
        """``collections.deque(...)``, whose length may come to be traced."""
        if STAGING.is_plain(STAGING.place()):
            return collections.deque(iterable, maxlen)
        made = TracedDeque(self.items_of(iterable), maxlen, self.checks)
        self.journal.born(made)
        return made

    def overloads(self) -> Mapping[Any, Callable[..., Any]]:
        """What functions that copy lists, and those of `jax.numpy` that take lists, become."""
        padded: dict[str, Callable[..., Any]] = {
            "stack": _stacked,
            "column_stack": _as_columns,
            "vstack": _vertically,
            "hstack": _horizontally,
            "concatenate": _concatenated,
            "array": _as_array,
            "asarray": _as_array,
        }
        plain = {getattr(jnp, name): getattr(jnp, name) for name in padded}
        plain |= {getattr(np, name): array_overloads()[getattr(np, name)] for name in padded}
        stacking = {
            function: self._stacking(plain[function], padded[function.__name__], function in _TAKING_LISTS)
            for function in plain
        }
        return (
            {collections.deque: self.new_deque}
            | {function: self._copying(function) for function in (copy.copy, copy.deepcopy)}
            | stacking
        )

    def _copying(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *args, **kwargs: self.new_list(function(*args, **kwargs))

    def _stacking(self, plain: Callable[..., Any], padded: Callable[..., Any], of_lists: bool) -> Callable[..., Any]:
        def stack(arrays: Any, *args: Any, **kwargs: Any) -> Any:
            self.refuse_hidden(arrays)
            if isinstance(arrays, KeyedList):
                return plain(arrays.plain(), *args, **kwargs)  # raises
            if is_array_list(arrays):
                held = arrays.contents()
                rows = held.stacked(of_lists=of_lists)
                if isinstance(held.length, int):
                    return padded(rows[: held.length], lambda values: values, *args, **kwargs)
                return padded(rows, lambda values: PaddedArray.of(values, held.length), *args, **kwargs)
            if plain in (jnp.array, jnp.asarray) and any(map(is_traced_list, items_of_sequence(arrays) or ())):
                return array_overloads()[np.array](arrays, *args, **kwargs)
            return plain(arrays, *args, **kwargs)

        return stack

    def listed_rows(self, array: PaddedArray) -> list[Any]:
        """A list of the elements of an array of traced length."""
        kind, _ = flatten_element(0.0, lambda leaf: True)
        made = TracedList((), self.checks)
        made.set_contents(Padded(array.length, [array.values], kind, array.capacity))
        self.journal.born(made)
        return made


# What makes an array of the lists in a list too.
_TAKING_LISTS = (
    jnp.array,
    jnp.asarray,
    np.array,
    np.asarray,
    np.stack,
    np.vstack,
    np.hstack,
    np.column_stack,
    np.concatenate,
)
Make = Callable[[Any], Any]  # the result for an array of all elements, one after another along the first axis


def _stacked(rows: Any, make: Make, axis: int = 0, out: None = None, dtype: Any = None) -> Any:
    del out
    rows = rows.astype(rows.dtype if dtype is None else dtype)
    made = make(rows)
    if axis % rows.ndim == 1 and rows.ndim == 2 and isinstance(made, PaddedArray):
        return Transposed(made)
    if axis % rows.ndim:
        _refuse_axis(made, "stacked along another axis than the first")
        return jnp.moveaxis(rows, 0, axis)
    return made


def _as_columns(rows: Any, make: Make) -> Any:
    if rows.ndim == 1:
        rows = rows[:, None]
    return _stacked(rows, make, 1) if rows.ndim == 2 else _concatenated(rows, make, 1)


def _as_array(rows: Any, make: Make, dtype: Any = None, **_: Any) -> Any:
    return make(rows.astype(rows.dtype if dtype is None else dtype))


def _concatenated(rows: Any, make: Make, axis: int | None = 0, dtype: Any = None) -> Any:
    """The parts one after another; those beyond the length are last."""
    dtype = rows.dtype if dtype is None else dtype
    if axis is None:
        rows, axis = rows.reshape(rows.shape[0], -1), 0
    if rows.ndim < 2:
        raise ValueError("Zero-dimensional arrays cannot be concatenated.")
    made = make(rows)
    if axis % (rows.ndim - 1):
        _refuse_axis(made, "concatenated along another axis than the first")
        return jnp.concatenate(list(rows), axis, dtype=dtype)
    flat = rows.reshape(-1, *rows.shape[2:]).astype(dtype)
    return PaddedArray.of(flat, made.length * rows.shape[1]) if isinstance(made, PaddedArray) else flat


def _vertically(rows: Any, make: Make, dtype: Any = None) -> Any:
    if rows.ndim < 3:
        return make(jnp.reshape(rows, (rows.shape[0], -1)).astype(rows.dtype if dtype is None else dtype))
    return _concatenated(rows, make, 0, dtype)


def _horizontally(rows: Any, make: Make, dtype: Any = None) -> Any:
    if rows.ndim == 1:
        rows = rows[:, None]
    return _concatenated(rows, make, 0 if rows.ndim == 2 else 1, dtype)


def _refuse_axis(made: Any, what: str) -> None:
    if isinstance(made, PaddedArray):
        made._exact(f"one {what}")


def _is_tuple(layout: Layout) -> bool:
    """Whether this is a tuple, or a list of known length."""
    return isinstance(layout, Tree) and layout.kind in (tuple, list)


def _is_row(layout: Layout) -> bool:
    """Whether this is a list or tuple of any length."""
    return isinstance(layout, Row) and layout.kind in (TracedList, TracedTuple)


def _with_arrays_as_tuples(held: Padded) -> Padded:
    """A list of arrays as one of the tuples of what each holds along its first axis; any other as it is."""
    if held.kind.layout is not LEAF or len(held.buffers) != 1 or held.buffers[0].ndim < 2:
        return held
    held = held.unreserved()
    columns = list(jnp.moveaxis(held.buffers[0], 1, 0))
    kind, _ = flatten_element(tuple(jnp.zeros(column.shape[1:], column.dtype) for column in columns), is_array_leaf)
    return held.with_(kind=kind, buffers=columns)
