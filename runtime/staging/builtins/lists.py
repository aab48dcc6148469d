"""Lists in converted code, and builtins and functions of `jax.numpy` for lists of traced length."""

from __future__ import annotations

import builtins
import collections
import functools
import operator
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from autograph.backends.base import Backend
from autograph.backends.selected import STAGING
from autograph.runtime.containers.array_functions import array_overloads
from autograph.runtime.containers.element_kinds import flatten_element
from autograph.runtime.containers.element_order import order_of
from autograph.runtime.containers.extents import exactly
from autograph.runtime.containers.iterables import is_symbolic_size
from autograph.runtime.containers.keyed_lists import KeyedList
from autograph.runtime.containers.orderings import error_of_empty, is_better, nan_never_better
from autograph.runtime.containers.padded import Padded, has_mutable
from autograph.runtime.containers.padded_arrays import PaddedArray
from autograph.runtime.containers.traced_deques import TracedDeque
from autograph.runtime.containers.traced_lists import (
    EmptyListError,
    TracedList,
    as_items,
    is_array_list,
    is_traced_list,
)
from autograph.runtime.errors import StagingError
from autograph.runtime.heap.in_trace import InTrace
from autograph.runtime.layouts.kinds import Row
from autograph.runtime.layouts.optional import Optional, held_in
from autograph.runtime.layouts.statement_variables import value_of
from autograph.runtime.tracing.locations import user_location


class Lists(InTrace):
    """The operator for new lists. Needs ``backend`` and ``journal`` from the object it is mixed into."""

    backend: Backend
    refuse_pending: Callable[[Any], None]
    raise_unless: Callable[..., None]
    can_raise_later: Callable[..., bool]
    with_converted_functions: Callable[[Any], Any]
    call: Callable[[Any], Any]
    lengths: Any
    for_stmt: Callable[..., None]
    if_stmt: Callable[..., Any]
    if_exp: Callable[..., Any]
    or_: Callable[..., Any]
    is_none: Callable[[Any], Any]

    def new_list(self, values: list[Any]) -> list[Any]:
        """A list that may come to grow, of values that no one else has: ``values`` itself outside of a trace, or if it is no plain list."""
        if type(values) is not list or STAGING.is_plain(STAGING.place()):
            return values
        made = TracedList(values, self)
        self.journal.born(made)
        return made

    def extended(self, made: list[Any], items: Any) -> list[Any]:
        """``[*made, *items]``, of a list that no one else has."""
        if STAGING.is_plain(STAGING.place()):
            made.extend(items)
            return made
        made = self.new_list(made)
        made.extend(items if is_array_list(items) else self.call(list)(items))
        return made

    def repeated(self, one: Any, other: Any) -> Any:
        """``one * other``, of which one is a list that is written out."""
        items, count = (one, other) if isinstance(one, list) else (other, one)
        count = value_of(count)
        if not self.backend.is_traced(count) or is_symbolic_size(count) or not isinstance(items, list):
            return one * other
        if jnp.ndim(count) or not jnp.issubdtype(jnp.result_type(count), jnp.integer):
            raise TypeError(f"can't multiply sequence by non-int of type '{self.backend.type_of(count)}'")
        if any(map(has_mutable, items)):
            raise StagingError(
                f"{user_location()}\n  A list is repeated here a traced number of times, and has lists, dicts or objects in it that can be "
                "written to: all repetitions would be one.\n  Make one for each place: [[] for _ in range(n)]."
            )
        size, room = self.lengths.list_of_size(count * len(items), "[…] * n")
        held = Padded.of(items)
        made = TracedList((), self)
        places = jnp.arange(room) % len(items)
        made.set_contents(held.gathered(places, size).with_(extent=exactly(room)))
        self.journal.born(made)
        return made

    def unpacked(self, value: Any, before: int, after: int) -> tuple[Any, ...]:
        """The parts of ``value`` for a target with a star, so many of them ``before`` and ``after`` it."""
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
        if self.can_raise_later(ValueError):
            got = "got 0" if least == 1 else "got fewer"
            error = ValueError(f"not enough values to unpack (expected at least {least}, {got})")
            self.raise_unless(value.size() >= least, error)
        ends = [value[k] for k in range(before)], [value[k - after] for k in range(after)]
        return (*ends[0], value[before : -after or None], *ends[1])

    def new_row(self) -> Row:
        """The layout of an empty list that is in an element of another list."""
        return TracedList((), self).row_of(())[0]

    def new_deque(self, iterable: Any = (), maxlen: int | None = None) -> Any:
        """``collections.deque(...)``, whose length may come to be traced."""
        if STAGING.is_plain(STAGING.place()):
            return collections.deque(iterable, maxlen)
        made = TracedDeque(iterable, maxlen, self)
        self.journal.born(made)
        return made

    def list_overloads(self) -> Mapping[Any, Callable[..., Any]]:
        """What functions of `jax.numpy` that take lists become."""
        padded: dict[str, Callable[..., Any]] = {
            "stack": _stacked,
            "vstack": _vertically,
            "hstack": _horizontally,
            "concatenate": _concatenated,
            "array": _as_array,
            "asarray": _as_array,
        }
        plain = {getattr(jnp, name): getattr(jnp, name) for name in padded}
        plain |= {getattr(np, name): array_overloads()[getattr(np, name)] for name in padded}
        stacking = {function: self._stacking(plain[function], padded[function.__name__]) for function in plain}
        return (
            {collections.deque: self.new_deque}
            | stacking
            | {function: self._of_known_lengths(function) for function in _TREE_FUNCTIONS}
        )

    def _stacking(self, plain: Callable[..., Any], padded: Callable[..., Any]) -> Callable[..., Any]:
        def stack(arrays: Any, *args: Any, **kwargs: Any) -> Any:
            self.refuse_pending(arrays)
            if isinstance(arrays, KeyedList):
                return plain(arrays.plain(), *args, **kwargs)  # raises
            if is_array_list(arrays):
                held = arrays.contents()
                rows = held.stacked()
                if isinstance(held.length, int):
                    return padded(rows[: held.length], lambda values: values, *args, **kwargs)
                return padded(rows, lambda values: PaddedArray.of(values, held.length), *args, **kwargs)
            return plain(arrays, *args, **kwargs)

        return stack

    def _of_known_lengths(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function on pytrees, to which a list of traced length is its array and its length."""
        convert = self.with_converted_functions(function)

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            given = jax.tree_util.tree_leaves((args, kwargs), is_leaf=_is_padded)
            padded = [part for part in given if _is_padded(part) and not isinstance(getattr(part, "length", 0), int)]
            if padded:
                raise StagingError(
                    f"{user_location()}\n  `{function.__name__}` is called with {padded[0]!r}, whose length is traced: it would treat "
                    "the padding and the length as elements.\n  Write a loop over the elements."
                )
            return convert(*args, **kwargs)

        return call

    def listed_rows(self, array: PaddedArray) -> list[Any]:
        """A list of the elements of an array of traced length."""
        kind, _ = flatten_element(0.0, lambda leaf: True)
        made = TracedList((), self)
        made.set_contents(Padded(array.length, [array.values], kind, array.capacity))
        self.journal.born(made)
        return made

    def reduced(self, name: str, values: TracedList, key: Any = None, **default: Any) -> Any:
        """``sum``, ``max`` … of a list of traced length. ``default`` may hold their result for an empty one."""
        if key is not None:
            return self._best_by_key(name, values, key, **default)
        held: Padded = values.contents()
        if name == "any":
            return jnp.any(held.stacked().astype(bool))
        if name == "all":
            return jnp.all(held.stacked(1).astype(bool))
        if name == "sum":
            return held.stacked().sum(0)
        if not default and self.can_raise_later(ValueError):
            self.raise_unless(held.length > 0, error_of_empty(getattr(builtins, name)))
        if not held.kind.is_array:
            best = values.element(order_of(held, name == "max")[0])
            return self.if_exp(held.length > 0, lambda: best, lambda: default["default"]) if default else best
        rows = held.stacked()
        if rows.ndim != 1:
            raise TypeError(f"{name} of arrays that are not scalars; apply it to the stacked array")
        first = rows[0] if held.capacity else None
        if first is None:
            if default:
                return default["default"]
            raise EmptyListError(*error_of_empty(getattr(builtins, name)).args)
        reduce = jnp.max if name == "max" else jnp.min
        found = reduce(nan_never_better(jnp.where(held.filled(), rows, first)))
        return jnp.where(held.length > 0, found, default["default"]) if default else found

    def _best_by_key(self, name: str, values: TracedList, key: Any, **default: Any) -> Any:
        """``max`` or ``min`` by a key, in a loop over the elements: as a user would write it."""
        compare = operator.gt if name == "max" else operator.lt
        best: Any = None
        best_key: Any = None

        def body(value: Any) -> None:
            nonlocal best, best_key
            its_key = self.call(key)(value)

            def keep() -> None:
                nonlocal best, best_key
                best, best_key = value, its_key

            is_first = self.is_none(best_key)
            wins = self.or_(is_first, lambda: is_better(its_key, best_key, compare), is_test=True)
            self.if_stmt(wins, keep, None, ("best", "best_key"))

        if not default and self.can_raise_later(ValueError):
            self.raise_unless(values.contents().length > 0, error_of_empty(getattr(builtins, name)))
        self.for_stmt(values, body, ("best", "best_key"))
        if default:
            return self.if_exp(self.is_none(best_key), lambda: default["default"], lambda: best)
        return held_in(best) if type(best) is Optional else best


Make = Callable[[Any], Any]  # the result for an array of all elements, one after another along the first axis


def _stacked(rows: Any, make: Make, axis: int = 0, out: None = None, dtype: Any = None) -> Any:
    del out
    rows = rows.astype(rows.dtype if dtype is None else dtype)
    made = make(rows)
    if axis % rows.ndim:
        _refuse_axis(made, "stacked along another axis than the first")
        return jnp.moveaxis(rows, 0, axis)
    return made


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


def _is_padded(part: Any) -> bool:
    return isinstance(part, Padded | PaddedArray)


_TREE_FUNCTIONS = (
    *(jax.tree.map, jax.tree.leaves, jax.tree.flatten, jax.tree.reduce, jax.tree.all, jax.tree.structure),
    *(jax.tree_util.tree_map, jax.tree_util.tree_leaves, jax.tree_util.tree_flatten, jax.tree_util.tree_reduce),
    *(jax.tree_util.tree_all, jax.tree_util.tree_structure),
)


def _refuse_axis(made: Any, what: str) -> None:
    if isinstance(made, PaddedArray):
        made._exact(f"one {what}")
