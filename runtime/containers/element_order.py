"""Equality and order of the elements of lists of traced length, all at once: as Python compares them one by one."""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Iterable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from autograph.runtime.containers.differing_kinds import DifferentKinds
from autograph.runtime.containers.element_kinds import Kind, KnownLength, flatten_element, is_array_leaf
from autograph.runtime.containers.padded import Padded, row_at, types_of
from autograph.runtime.errors import StagingError
from autograph.runtime.layouts.kinds import ABSENT, Constants, Layout, Maybe, Object, Row, Tree
from autograph.runtime.layouts.objects import compared_fields
from autograph.runtime.layouts.statement_variables import value_of
from autograph.runtime.layouts.text_kinds import holds_text_kind, is_text_kind, is_text_of_codes
from autograph.runtime.tracing.locations import user_location

_Sides = tuple[Layout, Iterator[Any], Iterator[Any]]  # of a part, its leaves in two values


def equal_to(held: Padded, value: Any) -> Any:
    """For each place of a list, whether its element equals this value. What is beyond the length equals nothing."""
    kind, leaves = flatten_element(value_of(value), is_array_leaf)
    if kind.is_unread:
        one = Padded.of([value]).read()
        kind, leaves = one.kind, [row_at(buffer, 0) for buffer in one.buffers]
    held, kind = _comparable(held), kind.with_plain_tuples()
    try:
        whole = held.joined(kind, types_of(leaves))
    except DifferentKinds:
        _check_unlike(held.kind, kind)
        return jnp.zeros(held.capacity, bool)
    mine, others = (iter(whole.kind.leaves(each)) for each in (whole.buffers, whole.as_held(kind, leaves)))
    return held.filled() & _equal(whole.kind.layout, mine, others, 1)


def are_equal(one: Padded, other: Padded) -> Any:
    """Whether two lists have equal elements, and as many."""
    alike = _alike(one, other)
    if alike is None:
        return (one.length == 0) & (other.length == 0)
    capacity = max(each.capacity for each in alike)
    one, other = (each.with_room(capacity) for each in alike)
    mine, others = (iter(each.kind.leaves(each.buffers)) for each in (one, other))
    same = _equal(one.kind.layout, mine, others, 1) | ~one.filled()
    return (one.length == other.length) & jnp.all(same)


def equal_pairs(one: Padded, other: Padded) -> Any:
    """For each place of ``other``, in rows, and each of ``one``, whether their elements are equal. What is beyond a length equals none."""
    shape = (other.capacity, one.capacity)
    alike = _alike(one, other)
    if alike is None:
        return jnp.zeros(shape, bool)
    one, other = alike
    mine = [leaf[None] if hasattr(leaf, "ndim") else leaf for leaf in one.kind.leaves(one.buffers)]
    others = [leaf[:, None] if hasattr(leaf, "ndim") else leaf for leaf in one.kind.leaves(other.buffers)]
    same = _equal(one.kind.layout, iter(mine), iter(others), 2)
    return jnp.broadcast_to(same, shape) & other.filled()[:, None] & one.filled()


def in_order(one: Padded, other: Padded) -> tuple[Any, Any]:
    """Whether a list comes before another, and whether they are equal."""
    one, other = _comparable(one), _comparable(other)
    whole = one.joined(other.kind, other.types)
    other = other.as_elements_of(whole)
    capacity = max(whole.capacity, other.capacity, 1)
    whole, other = whole.with_room(capacity), other.with_room(capacity)
    mine, others = (iter(each.kind.leaves(each.buffers)) for each in (whole, other))
    before, same = _ordered(whole, whole.kind.layout, mine, others, 1)
    return _by_items(before, same, one.length, other.length, capacity)


def order_of(held: Padded, reverse: Any) -> Any:
    """The places of the elements in their order, equal ones in the order they have; last, the places beyond the length."""
    if isinstance(reverse, jax.core.Tracer):
        return jnp.where(reverse, order_of(held, True), order_of(held, False))
    held = held.values()
    if held.kind.is_array and held.buffers[0].ndim == 1:
        order = jnp.argsort(held.buffers[0], stable=True, descending=reverse)
    else:
        before, same = _compared(held)
        before = before.T if reverse else before
        places = jnp.arange(held.capacity)
        first = before | (same & (places[:, None] < places))
        order = jnp.argsort(jnp.sum(first & held.filled()[:, None], 0), stable=True)
    return order[jnp.argsort(~held.filled()[order], stable=True)]


def places_in_order(held: Padded) -> Any:
    """For each element, of which all places have one, how many come before it in their order."""
    before, _ = _compared(held)
    return jnp.sum(before, 0)


def _compared(held: Padded) -> tuple[Any, Any]:
    """For each two elements, whether the first comes before the second, and whether they are equal."""
    held = _comparable(held)
    leaves = held.kind.leaves(held.buffers)
    mine = [leaf[:, None] if hasattr(leaf, "ndim") else leaf for leaf in leaves]
    others = [leaf[None] if hasattr(leaf, "ndim") else leaf for leaf in leaves]
    found: tuple[Any, Any] = _ordered(held, held.kind.layout, iter(mine), iter(others), 2)
    shape = (held.capacity, held.capacity)
    return jnp.broadcast_to(found[0], shape), jnp.broadcast_to(found[1], shape)


def _alike(one: Padded, other: Padded) -> tuple[Padded, Padded] | None:
    """Two lists as lists of one layout; None if no element of one can equal one of the other."""
    one, other = _comparable(one), _comparable(other)
    try:
        one = one.joined(other.kind, other.types)
    except DifferentKinds:
        _check_unlike(one.kind, other.kind)
        return None
    return one, other.as_elements_of(one)


def _check_unlike(*kinds: Kind) -> None:
    """Refuse to compare elements that have no layout in common, and may be equal: there are texts, or a class says what is equal.

    Raises:
      StagingError: there are such.
    """
    if all(kind.holds_texts() for kind in kinds) and any(holds_text_kind(kind.layout) for kind in kinds):
        raise _refused_texts()
    for kind in kinds:
        if any(map(_says_what_is_equal, _classes_in(kind.layout))):
            raise _refused_objects()
        if any(_says_what_is_equal(type(leaf)) for leaf in kind.statics if not isinstance(leaf, KnownLength)):
            raise _refused_objects()


def _classes_in(layout: Layout) -> Iterator[type]:
    if isinstance(layout, Object):
        yield layout.kind
    if isinstance(layout, Constants):
        yield from map(type, layout.candidates)
    for part in layout.parts:
        yield from _classes_in(part)


def _says_what_is_equal(kind: type) -> bool:
    """Whether an object of this class may be equal to one of another class."""
    asked: Any = kind.__eq__
    is_plain = asked is object.__eq__ or kind.__module__ == "builtins"
    return not is_plain and compared_fields(kind, "__eq__") is None


def _refused_objects() -> StagingError:
    return StagingError(
        f"{user_location()}\n  Objects in lists are compared here, and the length of a list is traced.\n"
        "  Compare what they hold: their attributes, or tuples of these."
    )


def _refused_texts() -> StagingError:
    """The error for texts in lists that are compared with what may be equal, and is held in another way."""
    return StagingError(
        f"{user_location()}\n  Strings of traced values in a list whose length is traced are compared here with strings that are made in "
        "another way.\n  Compare them one by one, in a loop over the list."
    )


def _comparable(held: Padded) -> Padded:
    held = held.values().read()
    return held.with_(kind=held.kind.with_plain_tuples())


def _equal(layout: Layout, mine: Iterator[Any], others: Iterator[Any], lead: int) -> Any:
    """Where values of one layout are equal, along the first so many axes."""
    if isinstance(layout, Object):
        fields = _fields(layout, "__eq__", mine, others)
        if fields is None:
            raise _refused_objects()
        return functools.reduce(operator.and_, (_equal(*sides, lead) for sides in fields), True)
    if is_text_kind(layout) and not is_text_of_codes(layout):
        raise _refused_texts()
    if isinstance(layout, Row):
        length, other_length = next(mine), next(others)
        items = _equal(layout.item, mine, others, lead + 1)
        beyond = jnp.arange(layout.capacity) >= jnp.asarray(length)[..., None]
        return (length == other_length) & jnp.all(items | beyond, -1)
    if isinstance(layout, Maybe):
        held = _equal(layout.inner, mine, others, lead)
        present, other_present = next(mine), next(others)
        return (present == other_present) & (held | ~jnp.asarray(present))
    if layout.parts:
        found: Any = True
        for part in layout.parts:
            found = _equal(part, mine, others, lead) & found
        return found
    if not layout.count:
        return True
    one, other = next(mine), next(others)
    if not is_array_leaf(one):
        return True  # the same on both sides, or they would have no join
    same = one == other
    return jnp.all(same, tuple(range(lead, same.ndim))) if same.ndim > lead else same


def _ordered(held: Padded, layout: Layout, mine: Iterator[Any], others: Iterator[Any], lead: int) -> tuple[Any, Any]:
    """Where values come before others, and where they are equal."""
    if isinstance(layout, Row):
        return _rows_ordered(held, layout, mine, others, lead)
    if isinstance(layout, Constants):
        code, other_code = next(mine), next(others)
        try:
            ranks = np.argsort(np.array(sorted(range(len(layout.candidates)), key=layout.candidates.__getitem__)))
        except TypeError:
            raise _without_order(held) from None
        table = jnp.asarray(ranks)
        return table[code] < table[other_code], code == other_code
    parts: Iterable[_Sides] | None = None
    if is_text_of_codes(layout) or (isinstance(layout, Tree) and layout.kind in (tuple, list)):
        parts = ((part, mine, others) for part in layout.parts)
    elif isinstance(layout, Object):
        parts = _fields(layout, "__lt__", mine, others)
    if parts is not None:
        before: Any = False
        same: Any = True
        for sides in parts:
            less, equal = _ordered(held, *sides, lead)
            before, same = before | (same & less), same & equal
        return before, same
    one = next(mine) if layout.count == 1 and not layout.parts else None
    if layout is not held.kind.layout and (layout is ABSENT or not (one is None or is_array_leaf(one))):
        if layout.count:
            next(others)
        return False, True  # the same in both tuples, which is not asked for its order
    if layout is ABSENT or one is None or not is_array_leaf(one) or one.ndim != lead:
        raise _without_order(held)
    other = next(others)
    return one < other, one == other


def _fields(layout: Object, method: str, mine: Iterator[Any], others: Iterator[Any]) -> list[_Sides] | None:
    """The fields of which a dataclass makes this method, with their leaves on both sides; None if it makes none."""
    fields = compared_fields(layout.kind, method)
    if fields is None:
        return None
    sides: dict[str, _Sides] = {}
    for name, part in zip(layout.names, layout.parts, strict=True):
        left, right = (list(itertools.islice(leaves, part.count)) for leaves in (mine, others))
        sides[name] = part, iter(left), iter(right)
    return [sides[name] for name in fields]


def _rows_ordered(held: Padded, row: Row, mine: Iterator[Any], others: Iterator[Any], lead: int) -> tuple[Any, Any]:
    length, other_length = next(mine), next(others)
    if not row.item.count and not row.item.parts:
        return jnp.zeros_like(length < other_length), length == other_length
    before, same = _ordered(held, row.item, mine, others, lead + 1)
    return _by_items(before, same, length, other_length, row.capacity)


def _by_items(before: Any, same: Any, length: Any, other_length: Any, capacity: int) -> tuple[Any, Any]:
    """Where lists come before others, and where they are equal, from the same of their items, along the last axis."""
    shorter = jnp.minimum(length, other_length)
    goes_on = same & (jnp.arange(capacity) < shorter[..., None])
    first = jnp.sum(jnp.cumprod(goes_on, -1), -1)  # the first place where they differ, or one ends
    before = jnp.broadcast_to(before, goes_on.shape)
    here = jnp.take_along_axis(before, jnp.minimum(first, capacity - 1)[..., None], -1)[..., 0]
    ended = first >= shorter
    return jnp.where(ended, length < other_length, here), ended & (length == other_length)


def _without_order(held: Padded) -> StagingError:
    return StagingError(
        f"{user_location()}\n  A list whose length is traced is sorted here, and its elements, {held.kind}, have no order while tracing.\n"
        "  Sort numbers, texts, or tuples and lists of these."
    )
