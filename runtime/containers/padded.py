"""`Padded`: the contents of a list of traced length, a buffer with a length."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import SingleDeviceSharding

from autograph.backends.base import LeafType
from autograph.backends.selected import STAGING
from autograph.runtime.containers.element_kinds import (
    ARRAY,
    NUMBERS,
    JoinedKinds,
    Kind,
    Where,
    flatten_element,
    is_array_leaf,
    join_kinds,
)
from autograph.runtime.containers.extents import Extent, exactly, most_of_slice
from autograph.runtime.containers.lengths import taken_by
from autograph.runtime.errors import StagingError
from autograph.runtime.layouts.kinds import LEAF, Layout, Row
from autograph.runtime.layouts.list_room import Room
from autograph.runtime.layouts.statement_variables import value_of
from autograph.runtime.tracing.language import LANGUAGE
from autograph.runtime.tracing.locations import user_location


class _Elsewhere:
    __slots__ = ()

    def __repr__(self) -> str:
        return "<the elements of a list of traced length>"


# What a list has instead of elements that one array holds.
ELSEWHERE: Any = _Elsewhere()


# As which numbers are promoted whose type is weak.
_SCALARS: Mapping[str, type] = MappingProxyType({"i": int, "f": float, "c": complex})


def has_mutable(element: Any) -> bool:
    """Whether this is, or has in it, a list, dict or object that can be written to; or cannot be an element."""
    try:
        return flatten_element(element, is_array_leaf)[0].is_mutable
    except StagingError:
        return True


@jax.tree_util.register_pytree_node_class
class Padded:
    """The contents of a list whose length is traced. Never changed: each change makes another.

    Attributes:
      length: how many elements there are.
      buffers: for each array leaf of an element, all of them one after another; what is beyond the length is arbitrary.
      kind: what the elements are like.
      capacity: for how many there is room.
      reserved: whether that is room for all that will be appended: True, or the `Room` that may prove too small.
      extent: how long it may be.
    """

    def __init__(
        self,
        length: Any,
        buffers: Sequence[Any],
        kind: Kind,
        capacity: Any,
        reserved: bool | Room = False,
        extent: Extent | None = None,
    ) -> None:
        self.length = length
        self.buffers = tuple(buffers)
        self.kind = kind
        self.capacity = capacity
        self.reserved = reserved
        self.extent = exactly(capacity) if extent is None else extent

    def tree_flatten(self) -> tuple[tuple[Any, ...], Any]:
        facts = self.kind, self.capacity, self.reserved, self.extent
        if isinstance(self.length, int):
            return self.buffers, (self.length, *facts)
        return (self.length, *self.buffers), (None, *facts)

    @classmethod
    def tree_unflatten(cls, facts: Any, children: Any) -> Padded:
        known, *others = facts
        length, buffers = (children[0], children[1:]) if known is None else (known, children)
        return cls(length, buffers, *others)

    def __repr__(self) -> str:
        return f"<list of {self.length} of at most {self.capacity} elements {self.kind}>"

    @classmethod
    def holding(cls, elements: Sequence[Any], owner: Any = None) -> Padded:
        """These elements, of which there is at least one; ``owner`` is the list, if it holds them already."""
        made = cls.of(elements)
        made.note_given(elements, owner)
        return made

    def note_given(self, elements: Iterable[Any], owner: Any = None) -> None:
        """Note that a list holds what these elements hold now: writes to them would not be seen."""
        for element in elements if self.kind.is_watched else ():
            LANGUAGE.operators.identities.elements.given(element, owner)

    @classmethod
    def of(cls, elements: Sequence[Any]) -> Padded:
        """What `holding` returns, of a list that is asked only what it would hold."""
        if all(map(is_array_leaf, elements)) and type_of_all(elements) is not None:
            kind, _ = flatten_element(elements[0], is_array_leaf)
            return cls(len(elements), [stacked(elements)], kind, len(elements))
        taken = [flatten_element(element, is_array_leaf) for element in elements]
        made = cls(0, [STAGING.no_rows(STAGING.type_of(a)) for a in taken[0][1]], taken[0][0], 0)
        last = taken[0][0], types_of(taken[0][1])
        for kind, leaves in taken[1:]:
            found = kind, types_of(leaves)
            if found != last or kind.rows():  # to join the same again changes at most how long rows may be
                made = made.joined(*found)
            last = found
        columns = [made.as_held(kind, leaves) for kind, leaves in taken]
        buffers = [stacked(column) for column in zip(*columns, strict=True)]
        return cls(len(elements), buffers, made.kind, len(elements))

    @property
    def types(self) -> list[LeafType]:
        """The types of the array leaves of an element."""
        return [STAGING.row_type(STAGING.type_of(buffer)) for buffer in self.buffers]

    def _join(self, kind: Kind, types: Sequence[LeafType]) -> JoinedKinds | None:
        """The join of the kind of what is held with another; None if they are one, whatever the dtypes."""
        return None if self.fits(kind, types) else join_kinds(self.kind, self.types, kind, types)

    def joined(self, kind: Kind, types: Sequence[LeafType]) -> Padded:
        """The same, which can hold elements of this kind as well.

        Raises:
          StagingError: the elements cannot be in one list.
        """
        joined = self._join(kind, types)
        if joined is None:
            return self.of_types(types).with_(kind=self.kind.bounded_as(kind))
        return self.with_(kind=joined.kind, buffers=tuple(joined.left(self.buffers, self.capacity)))

    def as_held(self, kind: Kind, leaves: Sequence[Any], *lead: Any) -> list[Any]:
        """The array leaves of elements as those of the elements held, which are of this kind, too."""
        joined = self._join(kind, types_of(leaves, len(lead)))
        return list(leaves) if joined is None else joined.right(leaves, *lead)

    def as_elements_of(self, other: Padded) -> Padded:
        """The same with elements as those of another list, which can hold them."""
        return self.with_(kind=other.kind, buffers=tuple(other.as_held(self.kind, self.buffers, self.capacity)))

    def read(self, are_constant: bool = False) -> Padded:
        """The same with the texts in its elements as their characters, where those are known when the program runs.

        ``are_constant``: those as well that are constants in all that holds none of another kind.
        """
        if not (are_constant or self.kind.is_unread):
            return self
        joined = join_kinds(self.kind, self.types, self.kind, self.types, reads=True)
        return self.with_(kind=joined.kind, buffers=tuple(joined.left(self.buffers, self.capacity)))

    def rows_as(self, rows: dict[Where, Row]) -> Padded:
        """The same with other room in the lists in its elements, for fewer items where that is less."""
        rows = {where: row for where, row in rows.items() if where in self.kind.rows()}
        kind = self.kind.with_rows(rows)
        buffers = [_in_rooms(buffer, rooms) for buffer, rooms in zip(self.buffers, kind.depths(), strict=True)]
        return self.with_(kind=kind, buffers=tuple(buffers))

    def longest(self) -> dict[Where, Any]:
        """How many items the longest of the lists in its elements has, in each place where there are some."""
        found: dict[Where, Any] = {}
        left = iter(self.kind.leaves(self.buffers))
        _longest(self.kind.layout, (), left, self.filled(), found)
        return found

    def with_(self, **changes: Any) -> Padded:
        """The same with other attributes."""
        return Padded(**{**vars(self), **changes})

    def with_room(self, capacity: Any, reserved: bool | Room = False) -> Padded:
        """The same with room for ``capacity`` elements, at least as many as now."""
        more = capacity - self.capacity
        buffers = self.buffers
        if not (isinstance(more, int) and more == 0):
            buffers = tuple(jnp.concatenate([b, STAGING.more_room(more, b)]) for b in buffers)
        return self.with_(buffers=buffers, capacity=capacity, reserved=reserved)

    def element(self, index: Any) -> Any:
        """The element at an index that is not negative."""
        return self.kind.build([row_at(buffer, index) for buffer in self.buffers])

    def unreserved(self) -> Padded:
        """The same for another list, of which nothing is promised."""
        kind = self.kind.with_rows(
            {where: row.with_(reserved=False, extent=exactly(row.capacity)) for where, row in self.kind.rows().items()}
        )
        return self.with_(kind=kind, reserved=False, extent=self.extent.copied())

    def elements(self, count: int) -> list[Any]:
        """The first so many elements."""
        columns, kind = [_rows(buffer, count) for buffer in self.buffers], self.unreserved().kind
        found = [kind.build([column[k] for column in columns]) for k in range(count)]
        return list(map(LANGUAGE.operators.identities.elements.taken, found)) if self.kind.is_watched else found

    def appended(self, element: Any) -> Padded:
        """With one element more."""
        grown = self if self.reserved else self.with_room(self.capacity + 1)
        return grown.replaced(self.length, element).with_(length=self.length + 1, extent=self.extent.plus(1))

    def exchanged(self, one: Any, other: Any) -> Padded:
        """The same with two elements in each other's place."""
        places = jnp.stack([jnp.asarray(one), jnp.asarray(other)])
        return self.with_(buffers=tuple(b.at[places].set(b[places[::-1]]) for b in self.buffers))

    def replaced(self, index: Any, element: Any) -> Padded:
        """With another element at an index that is not negative."""
        found = self.rewritten(index, element)
        found.note_given([element])
        return found

    def rewritten(self, index: Any, element: Any) -> Padded:
        """The same, where the element at an index that is not negative has been written."""
        buffers = []
        kind, leaves = flatten_element(element, is_array_leaf)
        whole = self.joined(kind, types_of(leaves))
        for buffer, leaf in zip(whole.buffers, whole.as_held(kind, leaves), strict=True):
            buffers.append(with_row(buffer, index, leaf, wrap_negative_indices=False))
        return whole.with_(buffers=buffers)

    def takes(self, element: Any, may_promote: bool) -> bool:
        """Whether this can hold such an element, without another type for all if it ``may_promote`` none."""
        try:
            kind, leaves = flatten_element(element, is_array_leaf)
            if not self.fits(kind, types_of(leaves)):
                return may_promote and bool(self.joined(kind, types_of(leaves)))
        except StagingError:
            return False
        return may_promote or all(
            jnp.result_type(leaf) == b.dtype for leaf, b in zip(leaves, self.buffers, strict=True)
        )

    def fits(self, kind: Kind, types: Sequence[LeafType]) -> bool:
        """Whether elements of this kind, whose leaves have these types, are like those held."""
        return self.kind == kind and all(
            b.shape[1:] == tuple(t.shape) and (b.dtype == t.dtype or _is_number(b) and _is_number(t))
            for b, t in zip(self.buffers, types, strict=True)
        )

    def bounded_as(self, other: Padded) -> Padded:
        """The same, which may be as long as another."""
        return self.with_(extent=self.extent.join(other.extent), kind=self.kind.bounded_as(other.kind))

    def starting(self, origin: object) -> Padded:
        """The same when a block begins: lengths are relative to those of now."""
        kind = self.kind.with_extents(lambda where, row: Extent.starting((origin, where), row.capacity))
        return self.with_(extent=Extent.starting(origin, self.capacity), kind=kind)

    def of_types(self, types: Sequence[LeafType]) -> Padded:
        """The same with buffers that take elements of these types as well."""
        return self.with_(buffers=tuple(_taking(b, type) for b, type in zip(self.buffers, types, strict=True)))

    def within(self, capacity: int) -> Padded:
        """The same in less room, which must be enough."""
        return self.with_(capacity=capacity, buffers=tuple(buffer[:capacity] for buffer in self.buffers))

    def gathered(self, indices: Any, length: Any) -> Padded:
        """The elements at these indices; so many of them count, not more than there are."""
        return self.with_(
            length=length,
            extent=self.extent if length is self.length else self.extent.shortened(),
            buffers=tuple(b[indices] for b in self.buffers),
            capacity=indices.shape[0],
        )

    def sliced(self, key: slice) -> Padded:
        """The elements of a slice, the bounds of which may be traced."""
        length, capacity = self.length, self.capacity
        count_at_most = most_of_slice(key, capacity)
        start, step, count = taken_by(key, length)
        places = jnp.clip(start + step * jnp.arange(count_at_most), 0, capacity - 1)
        is_whole = key.start is None and key.stop is None and isinstance(step, int) and abs(step) == 1
        found = self.gathered(places, length if is_whole else count)
        return found if count_at_most is capacity else found.with_(extent=exactly(count_at_most))

    def places_of(self, key: slice) -> tuple[Any, Any]:
        """Where a slice without a step begins and ends, the end not before the beginning."""

        def place(bound: Any) -> Any:
            return jnp.clip(bound + jnp.where(bound < 0, self.length, 0), 0, self.length)

        start = 0 if key.start is None else place(key.start)
        return start, self.length if key.stop is None else jnp.maximum(start, place(key.stop))

    def spliced(self, start: Any, stop: Any, new: Padded | None) -> Padded:
        """With other elements, none where that is None, instead of those between these indices."""
        added, more = (0, 0) if new is None else (new.length, new.capacity)
        capacity = self.capacity if self.reserved else self.capacity + more
        order, after = jnp.arange(capacity), start + added
        places = jnp.where(order < start, order, order - added + (stop - start))
        if new is None:
            whole = self
        else:
            whole = self.joined(new.kind, new.types)
            theirs = new.as_elements_of(whole).buffers
            pairs = zip(whole.buffers, theirs, strict=True)
            whole = whole.with_(
                buffers=[jnp.concatenate([a, STAGING.retyped(b, STAGING.type_of(a))]) for a, b in pairs]
            )
            places = jnp.where((order >= start) & (order < after), self.capacity + order - start, places)
        extent = self.extent.plus(added if isinstance(added, int) else new.extent.limit(more) if new else 0).shortened()
        places = jnp.clip(places, 0, self.capacity + more - 1)
        found = whole.gathered(places, self.length - (stop - start) + added)
        return found.with_(extent=extent, reserved=self.reserved)

    def with_every(self, start: Any, step: Any, count: int | jax.Array, new: Padded) -> Padded:
        """With other elements at the places of a slice with a step, so many."""
        whole = self.joined(new.kind, new.types)
        pairs = zip(whole.buffers, new.as_elements_of(whole).buffers, strict=True)
        buffers = [jnp.concatenate([a, STAGING.retyped(b, STAGING.type_of(a))]) for a, b in pairs]
        is_taken, number = self._every(start, step, count)
        places = jnp.where(is_taken, self.capacity + jnp.minimum(number, new.capacity - 1), jnp.arange(self.capacity))
        return whole.with_(buffers=buffers).gathered(places, self.length).with_(reserved=self.reserved)

    def without_every(self, start: Any, step: Any, count: int | jax.Array) -> Padded:
        """Without the elements at the places of a slice with a step, so many."""
        return self.filtered(self.filled() & ~self._every(start, step, count)[0])

    def _every(self, start: Any, step: Any, count: int | jax.Array) -> tuple[Any, Any]:
        """For each place whether it is one of those of a slice with a step, so many, and which."""
        away = jnp.arange(self.capacity) - start
        number = away // step
        return (away % step == 0) & (number >= 0) & (number < count), number

    def filtered(self, keep: Any) -> Padded:
        """The elements in the places where ``keep`` is true, in their order."""
        order = jnp.argsort(~keep, stable=True)
        return self.gathered(order, jnp.sum(keep & self.filled()))

    def with_last_at(self, index: Any, last: Any) -> Padded:
        """The last element, which is at the index ``last``, where `list.insert` puts it at the other index."""
        if isinstance(index, int) and index == 0:
            moved = (jnp.concatenate([b[-1:], b[:-1]]).at[0].set(row_at(b, last)) for b in self.buffers)
            return self.with_(buffers=tuple(moved))
        place = jnp.clip(index + jnp.where(index < 0, last, 0), 0, last)
        order = jnp.arange(self.capacity)
        return self.gathered(jnp.where(order < place, order, jnp.where(order == place, last, order - 1)), self.length)

    def without(self, place: Any) -> Padded:
        """Without the element at an index; the length is as before."""
        order = jnp.arange(self.capacity)
        return self.gathered(jnp.minimum(jnp.where(order < place, order, order + 1), self.capacity - 1), self.length)

    def without_first(self, condition: Any = None) -> Padded:
        """Each element in the place before its own, if a condition holds. In a loop such arrays become rings (`backends/xla/rings.py`)."""
        moved = [jnp.concatenate([b[1:], b[:1]]) for b in self.buffers]
        if condition is not None:
            moved = [jnp.where(condition, after, b) for after, b in zip(moved, self.buffers, strict=True)]
        return self.with_(buffers=tuple(moved))

    def followed_by(self, other: Padded) -> Padded:
        """The elements of both."""
        mine = self.joined(other.kind, other.types)
        return mine._followed_by(other.as_elements_of(mine))

    def _followed_by(self, other: Padded) -> Padded:
        whole = self if self.reserved else self.with_room(self.capacity + other.capacity)
        places = self.length + jnp.arange(other.capacity)
        places = jnp.where(jnp.arange(other.capacity) < other.length, places, whole.capacity)
        buffers = []
        for a, b in zip(whole.buffers, other.buffers, strict=True):
            buffers.append(a.at[places].set(STAGING.retyped(b, STAGING.type_of(a)), mode="drop"))
        if isinstance(self.length, int) and not isinstance(other.length, int):
            extent = self.extent.becoming(other.extent.plus(self.length))
        elif isinstance(other.length, int):
            extent = self.extent.plus(other.length)
        else:
            extent = self.extent.plus(other.extent.limit(other.capacity)).shortened()
        return whole.with_(length=self.length + other.length, buffers=buffers, extent=extent)

    def filled(self) -> Any:
        """For each place of the buffers, whether there is an element."""
        return jnp.arange(self.capacity) < self.length

    def stacked(self, beyond: Any = 0, of_lists: bool = False) -> Any:
        """The elements, each an array, in one array, with ``beyond`` in the places beyond the length.

        ``of_lists``: they may be lists and tuples of such, which are arrays then, as to NumPy.
        """
        if self.kind.is_place:
            return self.values().stacked(beyond)
        buffer = self.buffers[0] if self.kind.is_array else None
        if of_lists and not self.kind.rows():
            buffer = _as_one_array(self.kind.build(self.buffers))
        if buffer is None:
            raise StagingError(
                f"{user_location()}\n  The elements of this list, {self.kind}, are not single arrays.\n  Append each part to its own list."
            )
        mask = jnp.reshape(self.filled(), (-1, *[1] * (buffer.ndim - 1)))
        return jnp.where(mask, buffer, jnp.asarray(beyond, buffer.dtype))

    def number(self, found: Any) -> Any:
        """What is computed of the elements, each of which is an array: a number of Python's if they are, or are truth values."""
        if self.kind.is_place:
            return self.values().number(found)
        (type,) = self.types
        is_python = type.weak_type or type.dtype == np.bool_
        return STAGING.retyped(found, replace(STAGING.type_of(found), weak_type=True)) if is_python else found

    def values(self) -> Padded:
        """The same with what the places among the elements hold now, where each element is one or a value."""
        if not self.kind.is_place:
            return self

        def value(*leaves: Any) -> Any:
            return jnp.asarray(value_of(self.kind.build(leaves)))

        if self.buffers:
            found = jax.vmap(value)(*self.buffers)
        else:
            found = jnp.broadcast_to(value(), (self.capacity, *jnp.shape(value())))
        return self.with_(kind=Kind(LEAF, (ARRAY,)), buffers=(found,))


def _as_one_array(columns: Any) -> Any:
    """The array of elements that lists and tuples of columns stand for; None if there is none."""
    if not isinstance(columns, list | tuple):
        return columns if isinstance(columns, jax.Array) else None
    parts = [_as_one_array(part) for part in columns]
    shapes = {None if part is None else part.shape for part in parts}
    return jnp.stack(parts, 1) if len(shapes) == 1 and None not in shapes else None


def types_of(leaves: Sequence[Any], lead: int = 0) -> list[LeafType]:
    """The types of the array leaves of an element; of several, along so many first axes."""
    found = list(map(STAGING.type_of, leaves))
    for _ in range(lead):
        found = list(map(STAGING.row_type, found))
    return found


def type_of_all(leaves: Sequence[Any]) -> LeafType | None:
    """The type that all leaves, of which there is at least one, have; None if they differ."""
    if _number_class(leaves) is not None:  # tables are written as thousands of them, and to ask each takes long
        ends = (0, min(leaves), max(leaves)) if type(leaves[0]) is int else leaves[:1]
        if len(found := set(map(STAGING.type_of, ends))) == 1:
            return found.pop()
    found = set(map(STAGING.type_of, leaves))
    return found.pop() if len(found) == 1 else None


def _number_class(leaves: Sequence[Any]) -> type | None:
    """The class of Python's numbers that all leaves are of; None if there is none."""
    classes = set(map(type, leaves))
    found = classes.pop()
    return found if not classes and found in NUMBERS else None


def stacked(leaves: Sequence[Any]) -> Any:
    """Leaves of one shape one after another, of the type that all promote to: numbers of Python's as one constant."""
    if _number_class(leaves) is not None and (found := type_of_all(leaves)) is not None:
        made = jnp.asarray(np.asarray(leaves, found.dtype))
        return STAGING.weak(made) if found.weak_type else made
    return jnp.stack(list(map(jnp.asarray, leaves)))


def _in_rooms(buffer: Any, rooms: Sequence[int]) -> Any:
    """An array whose axes after the first have these sizes."""
    for axis, capacity in enumerate(rooms, 1):
        more = capacity - buffer.shape[axis]
        if more > 0:
            buffer = jnp.pad(buffer, [(0, more if k == axis else 0) for k in range(buffer.ndim)])
        elif more < 0:
            buffer = buffer[(slice(None),) * axis + (slice(capacity),)]
    return buffer


def _longest(layout: Layout, where: Where, leaves: Iterator[Any], counts: Any, found: dict[Where, Any]) -> None:
    """Find the greatest length of lists in elements, of those that count."""
    if not layout.parts:
        for _ in range(layout.count):
            next(leaves)
        return
    for k, part in enumerate(layout.parts):
        if isinstance(layout, Row) and k == 0:
            lengths = jnp.where(counts, next(leaves), 0)
            found[where] = jnp.max(lengths, initial=0)
            counts = jnp.arange(layout.capacity) < lengths[..., None]
        else:
            _longest(part, (*where, k), leaves, counts, found)


def _is_number(typed: Any) -> bool:
    """Whether what has this dtype is promoted with others: a random key is not."""
    return isinstance(typed.dtype, np.dtype)


def _taking(buffer: Any, type: LeafType) -> Any:
    """A buffer of a type that takes elements of this type as well: of a weak one if both are Python's numbers."""
    mine = STAGING.type_of(buffer)
    dtype = mine.dtype
    if dtype != type.dtype:
        dtype = jnp.result_type(mine.dtype, _SCALARS.get(type.dtype.kind, type.dtype) if type.weak_type else type.dtype)
    return STAGING.retyped(buffer, replace(mine, dtype=dtype, weak_type=mine.weak_type and type.weak_type))


def with_row(buffer: Any, index: Any, row: Any, **options: Any) -> Any:
    """A buffer, of a type that takes this row as well, with it at an index. The options are those of JAX's."""
    whole = _taking(buffer, STAGING.type_of(row))
    return whole.at[index].set(STAGING.retyped(jnp.asarray(row), STAGING.type_of(whole)), **options)


def row_at(buffer: Any, index: Any) -> Any:
    """The row of an array at an index that is not negative: a traced one is not compared with zero again."""
    return buffer[index] if isinstance(index, int) else buffer.at[index].get(wrap_negative_indices=False)


def _rows(buffer: Any, count: int) -> list[Any]:
    """The first rows of an array, each an array."""
    is_known = isinstance(buffer, jax.Array) and not isinstance(buffer, jax.core.Tracer)
    is_recorded = not STAGING.is_plain(STAGING.place())  # by a tape, say
    if (
        not is_known
        or is_recorded
        or getattr(buffer.dtype, "kind", None) not in tuple("biufc")  # keys of random numbers have none
        or not isinstance(buffer.sharding, SingleDeviceSharding)
    ):
        return [buffer[k] for k in range(count)]
    # An operation for each row takes a millisecond, and one program for all of them seconds to compile.
    on_host = np.asarray(buffer)
    rows = jax.device_put([on_host[k, ...] for k in range(count)], buffer.sharding if buffer.committed else None)
    return list(rows)


def chosen(condition: Any, one: Padded, other: Padded) -> Padded:
    """The one contents or the other, by a traced condition."""
    one = one.joined(other.kind, other.types)
    other = other.as_elements_of(one)
    capacity = max(one.capacity, other.capacity)
    one, other = one.with_room(capacity), other.with_room(capacity)
    buffers = []
    for a, b in zip(one.buffers, other.buffers, strict=True):
        buffers.append(jnp.where(condition, a, b))
    lengths = one.length, other.length
    is_known = all(isinstance(length, int) for length in lengths) and lengths[0] == lengths[1]
    length = lengths[0] if is_known else jnp.where(condition, *lengths)
    reserved = one.reserved or other.reserved
    return one.with_(length=length, buffers=buffers, reserved=reserved, extent=one.extent.join(other.extent))


def _is_padded(part: Any) -> bool:
    return isinstance(part, Padded)


def as_padded(contents: Any) -> Padded | None:
    """A list's contents as `Padded`; None if there is no element to tell what they are like."""
    if isinstance(contents, Padded):
        return contents
    return Padded.holding(contents) if contents else None


def as_seen(contents: Any) -> Padded | None:
    """The same of a list that is asked only what it would hold."""
    return contents if isinstance(contents, Padded) else Padded.of(contents) if contents else None


def emptied(padded: Padded) -> Padded:
    """No elements, of the kind of these."""
    return padded.with_(length=0, extent=padded.extent.emptied())
