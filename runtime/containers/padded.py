"""`Padded`: the contents of a list of traced length, a buffer with a length."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import SingleDeviceSharding

from autograph.backends.base import LeafType
from autograph.runtime.containers.extents import Extent, exactly, most_of_slice
from autograph.runtime.errors import StagingError
from autograph.runtime.layouts.describe import anonymous, describe, unflatten
from autograph.runtime.layouts.kinds import LEAF, Layout, Object, Tree, leaves_of
from autograph.runtime.layouts.list_room import Room
from autograph.runtime.layouts.objects import is_frozen_kind, is_plain_object
from autograph.runtime.layouts.statement_variables import has_contents
from autograph.runtime.tracing.locations import user_location
from autograph.runtime.tracing.recording import JOINT


class _Elsewhere:
    __slots__ = ()

    def __repr__(self) -> str:
        return "<the elements of a list of traced length>"


# What a list has in the place of elements that one array holds.
ELSEWHERE: Any = _Elsewhere()

_NUMBERS = (bool, int, float, complex)


class Kind:
    """What every element of a list is like: how it is put together, and its leaves that are no arrays.

    Attributes: is_mutable (whether a list, dict or object is in it, that can be written to), holds_objects (whether any is).
    """

    def __init__(self, layout: Layout, statics: tuple[Any, ...]) -> None:
        self.layout = layout
        self.statics = statics
        self.is_mutable = _is_mutable(layout)
        self.holds_objects = _holds_objects(layout)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Kind)
            and self.layout == other.layout
            and len(self.statics) == len(other.statics)
            and all(map(_is_same_static, self.statics, other.statics))
        )

    def __hash__(self) -> int:
        return hash(self.layout)

    def __repr__(self) -> str:
        return _shown(self.layout, iter(["array" if s is ARRAY else str(s) for s in self.statics]))

    @property
    def is_watched(self) -> bool:
        """Whether it matters which element one is, to a write or to ``is``: while a program is traced."""
        return self.holds_objects and not JOINT.staging.is_plain(JOINT.staging.place())

    @property
    def is_array(self) -> bool:
        """Whether an element is one array."""
        return self.layout is LEAF and self.statics == (ARRAY,)

    def build(self, arrays: Sequence[Any]) -> Any:
        """The element that has these array leaves."""
        left = iter(arrays)
        return unflatten(self.layout, [next(left) if static is ARRAY else static for static in self.statics])


def _shown(layout: Layout, leaves: Iterator[str]) -> str:
    if layout is LEAF:
        return next(leaves)
    if isinstance(layout, Object):
        return f"{layout.kind.__name__}({', '.join(f'{n}={_shown(p, leaves)}' for n, p in zip(layout.names, layout.parts, strict=True))})"
    return str(unflatten(layout, [_Text(next(leaves)) for _ in leaves_of(layout)]))


class _Text(str):
    __slots__ = ()
    __repr__ = str.__str__


def _is_mutable(layout: Layout) -> bool:
    if isinstance(layout, Object):
        return not is_frozen_kind(layout.kind) or any(map(_is_mutable, layout.parts))
    is_own = isinstance(layout, Tree) and layout.kind in (list, dict)
    return is_own or any(map(_is_mutable, layout.parts))


def _holds_objects(layout: Layout) -> bool:
    is_own = isinstance(layout, Object) or (isinstance(layout, Tree) and layout.kind in (list, dict))
    return is_own or any(map(_holds_objects, layout.parts))


class _Array:
    __slots__ = ()

    def __repr__(self) -> str:
        return "array"


ARRAY = _Array()


def flatten_element(element: Any, is_array: Callable[[Any], bool]) -> tuple[Kind, list[Any]]:
    """The kind of an element, and its array leaves.

    Raises:
      StagingError: it holds a list of traced length.
    """
    layout, leaves = describe(element, opened=_as_list)
    statics = tuple(ARRAY if is_array(leaf) else leaf for leaf in leaves)
    return Kind(anonymous(layout), statics), [leaf for leaf, s in zip(leaves, statics, strict=True) if s is ARRAY]


def _as_list(value: Any) -> Any:
    """A list inside of an element, where its length is known, as Python's list."""
    if not has_contents(value):
        return value
    contents = value.contents()
    if not isinstance(contents, tuple):
        raise StagingError(
            f"{user_location()}\n  A list whose length is traced is appended to a list whose length is traced.\n  Append tuples or "
            "arrays of known size, or write into an array."
        )
    return value.resolve()


def has_mutable(element: Any) -> bool:
    """Whether this is, or has in it, a list, dict or object that can be written to; or cannot be an element."""
    try:
        return flatten_element(element, _is_array)[0].is_mutable
    except StagingError:
        return True


def _is_array(leaf: Any) -> bool:
    return isinstance(leaf, jax.Array | np.generic) or type(leaf) in _NUMBERS or _is_numeric(leaf)


def _is_numeric(leaf: Any) -> bool:
    return isinstance(leaf, np.ndarray) and leaf.dtype.kind in "biufcV"


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
        return (self.length, *self.buffers), (self.kind, self.capacity, self.reserved, self.extent)

    @classmethod
    def tree_unflatten(cls, facts: Any, children: Any) -> Padded:
        length, *buffers = children
        return cls(length, buffers, *facts)

    def __repr__(self) -> str:
        return f"<list of {self.length} of at most {self.capacity} elements {self.kind}>"

    @classmethod
    def holding(cls, elements: Sequence[Any]) -> Padded:
        """These elements, of which there is at least one."""
        kind, first = flatten_element(elements[0], _is_array)
        made = cls(
            0, [JOINT.staging.room_of(len(elements), JOINT.staging.type_of(a)) for a in first], kind, len(elements)
        )
        columns = [made._fitting(element) for element in elements]
        buffers = [jnp.stack([jnp.asarray(a) for a in column]) for column in zip(*columns, strict=True)]
        for element in elements:
            _note_given(kind, element)
        return cls(len(elements), buffers, kind, len(elements))

    def with_(self, **changes: Any) -> Padded:
        """The same with other attributes."""
        return Padded(**{**vars(self), **changes})

    def with_room(self, capacity: Any, reserved: bool | Room = False) -> Padded:
        """The same with room for ``capacity`` elements, at least as many as now."""
        more = capacity - self.capacity
        buffers = self.buffers
        if not (isinstance(more, int) and more == 0):
            buffers = tuple(jnp.concatenate([b, JOINT.staging.more_room(more, b)]) for b in buffers)
        return self.with_(buffers=buffers, capacity=capacity, reserved=reserved)

    def element(self, index: Any) -> Any:
        """The element at an index that is not negative."""
        return self.kind.build([buffer[index] for buffer in self.buffers])

    def elements(self, count: int) -> list[Any]:
        """The first so many elements."""
        columns = [_rows(buffer, count) for buffer in self.buffers]
        found = [self.kind.build([column[k] for column in columns]) for k in range(count)]
        return list(map(JOINT.operators.identities.elements.taken, found)) if self.kind.is_watched else found

    def appended(self, element: Any) -> Padded:
        """With one element more."""
        grown = self if self.reserved else self.with_room(self.capacity + 1)
        return grown.replaced(self.length, element).with_(length=self.length + 1, extent=self.extent.plus(1))

    def replaced(self, index: Any, element: Any) -> Padded:
        """With another element at an index that is not negative."""
        _note_given(self.kind, element)
        return self.rewritten(index, element)

    def rewritten(self, index: Any, element: Any) -> Padded:
        """The same, where the element at an index has been written."""
        buffers = []
        for buffer, leaf in zip(self.buffers, self._fitting(element), strict=True):
            dtype = jnp.result_type(buffer, leaf)
            buffers.append(buffer.astype(dtype).at[index].set(jnp.asarray(leaf, dtype)))
        return self.with_(buffers=buffers)

    def takes(self, element: Any, may_promote: bool) -> bool:
        """Whether this can hold such an element, without another type for all if it ``may_promote`` none."""
        try:
            leaves = self._fitting(element)
        except StagingError:
            return False
        return may_promote or all(
            jnp.result_type(leaf) == b.dtype for leaf, b in zip(leaves, self.buffers, strict=True)
        )

    def fits(self, kind: Kind, types: Sequence[LeafType]) -> bool:
        """Whether elements of this kind, whose leaves have these types, are like those held."""
        return self.kind == kind and [b.shape[1:] for b in self.buffers] == [tuple(t.shape) for t in types]

    def bounded_as(self, other: Padded) -> Padded:
        """The same, which may be as long as another."""
        return self.with_(extent=joined_extent(self, other))

    def starting(self, origin: object) -> Padded:
        """The same when a block begins: lengths are relative to that of now."""
        return self.with_(extent=Extent(origin=origin))

    def of_types(self, types: Sequence[LeafType]) -> Padded:
        """The same with buffers that take elements of these types as well."""
        buffers = [
            buffer.astype(jnp.promote_types(buffer.dtype, type.dtype))
            for buffer, type in zip(self.buffers, types, strict=True)
        ]
        return self.with_(buffers=tuple(buffers))

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
            reserved=indices.shape[0] == self.capacity and self.reserved,
        )

    def sliced(self, key: slice) -> Padded:
        """The elements of a slice, the bounds of which may be traced."""
        length, capacity = self.length, self.capacity
        count_at_most = most_of_slice(key, capacity)
        step = 1 if key.step is None else operator.index(key.step)

        def bound(value: Any, default: Any) -> Any:
            if value is None:
                return default
            value = value + jnp.where(value < 0, length, 0)
            return jnp.clip(value, 0, length) if step > 0 else jnp.clip(value, -1, length - 1)

        start = bound(key.start, 0 if step > 0 else length - 1)
        stop = bound(key.stop, length if step > 0 else -1)
        count = jnp.maximum(0, -((start - stop) // step) if step > 0 else (start - stop - step - 1) // -step)
        places = jnp.clip(start + step * jnp.arange(count_at_most), 0, capacity - 1)
        is_whole = key.start is None and key.stop is None and abs(step) == 1
        found = self.gathered(places, length if is_whole else count)
        return found if count_at_most is capacity else found.with_(extent=exactly(count_at_most))

    def with_last_at(self, place: Any, last: Any) -> Padded:
        """The last element, which is at this index, before that at ``place``."""
        order = jnp.arange(self.capacity)
        return self.gathered(jnp.where(order < place, order, jnp.where(order == place, last, order - 1)), self.length)

    def without(self, place: Any) -> Padded:
        """Without the element at an index; the length is as before."""
        order = jnp.arange(self.capacity)
        return self.gathered(jnp.minimum(jnp.where(order < place, order, order + 1), self.capacity - 1), self.length)

    def without_first(self) -> Padded:
        """Each element in the place before its own: a copy, where an index for each would be computed and checked."""
        return self.with_(buffers=tuple(jnp.concatenate([b[1:], b[:1]]) for b in self.buffers))

    def followed_by(self, other: Padded) -> Padded:
        """The elements of both."""
        check_kinds(self.kind, other.kind)
        whole = self if self.reserved else self.with_room(self.capacity + other.capacity)
        places = self.length + jnp.arange(other.capacity)
        places = jnp.where(jnp.arange(other.capacity) < other.length, places, whole.capacity)
        buffers = []
        for a, b in zip(whole.buffers, other.buffers, strict=True):
            _check_shapes(a.shape[1:], b.shape[1:])
            dtype = jnp.promote_types(a.dtype, b.dtype)
            buffers.append(a.astype(dtype).at[places].set(b.astype(dtype), mode="drop"))
        if isinstance(self.length, int) and not isinstance(other.length, int):
            extent = other.extent.plus(self.length)
        elif isinstance(other.length, int):
            extent = self.extent.plus(other.length)
        else:
            extent = self.extent.plus(other.extent.limit(other.capacity)).shortened()
        return whole.with_(length=self.length + other.length, buffers=buffers, extent=extent)

    def filled(self) -> Any:
        """For each place of the buffers, whether there is an element."""
        return jnp.arange(self.capacity) < self.length

    def stacked(self, beyond: Any = 0) -> Any:
        """The elements, each an array, in one array, with ``beyond`` in the places beyond the length."""
        if not self.kind.is_array:
            raise StagingError(
                f"{user_location()}\n  The elements of this list, {self.kind}, are not single arrays.\n  Append each part to its own list."
            )
        (buffer,) = self.buffers
        mask = jnp.reshape(self.filled(), (-1, *[1] * (buffer.ndim - 1)))
        return jnp.where(mask, buffer, jnp.asarray(beyond, buffer.dtype))

    def _fitting(self, element: Any) -> list[Any]:
        kind, leaves = flatten_element(element, _is_array)
        check_kinds(self.kind, kind)
        for buffer, leaf in zip(self.buffers, leaves, strict=True):
            _check_shapes(buffer.shape[1:], jnp.shape(leaf))
        return leaves


def _rows(buffer: Any, count: int) -> list[Any]:
    """The first rows of an array, each an array."""
    is_known = isinstance(buffer, jax.Array) and not isinstance(buffer, jax.core.Tracer)
    is_recorded = not JOINT.staging.is_plain(JOINT.staging.place())  # by a tape, say
    if (
        not is_known
        or is_recorded
        or buffer.dtype.kind not in "biufc"
        or not isinstance(buffer.sharding, SingleDeviceSharding)
    ):
        return [buffer[k] for k in range(count)]
    # An operation for each row takes a millisecond, and one program for all of them seconds to compile.
    on_host = np.asarray(buffer)
    rows = jax.device_put([on_host[k, ...] for k in range(count)], buffer.sharding if buffer.committed else None)
    return list(rows)


def _note_given(kind: Kind, element: Any) -> None:
    """Note that a list holds what an element holds now: writes to it would not be seen."""
    if kind.is_watched:
        JOINT.operators.identities.elements.given(element)


def are_alike(elements: Iterable[Any]) -> bool:
    """Whether these elements, none of which can be written to, can be in one `Padded`."""
    try:
        taken = [flatten_element(element, _is_array) for element in elements]
    except StagingError:
        return False
    if any(kind.is_mutable for kind, _ in taken):
        return False
    found = [(kind, list(map(np.shape, leaves))) for kind, leaves in taken]
    return all(each == found[0] for each in found)


def _is_same_static(one: Any, other: Any) -> bool:
    """Whether the leaves may stand for each other: objects that can be told apart may not, though they are equal."""
    return one is other or (type(one) is type(other) and not is_plain_object(one) and one == other)


def check_kinds(one: Kind, other: Kind) -> None:
    """``StagingError`` if elements of these kinds cannot be in one list of traced length."""
    if one != other:
        raise StagingError(
            f"{user_location()}\n  A list whose length is traced holds elements of different structure: {one} and {other}.\n"
            "  Append elements of one structure, or keep a list for each."
        )


def _check_shapes(one: Any, other: Any) -> None:
    if tuple(one) != tuple(other):
        raise StagingError(
            f"{user_location()}\n  A list whose length is traced holds arrays of different shapes: {tuple(one)} and {tuple(other)}.\n"
            "  Pad them to one shape, or write them into an autograph.TensorArray(max_size=…)."
        )


def chosen(condition: Any, one: Padded, other: Padded) -> Padded:
    """The one contents or the other, by a traced condition."""
    check_kinds(one.kind, other.kind)
    capacity = max(one.capacity, other.capacity)
    one, other = one.with_room(capacity), other.with_room(capacity)
    buffers = []
    for a, b in zip(one.buffers, other.buffers, strict=True):
        _check_shapes(a.shape[1:], b.shape[1:])
        buffers.append(jnp.where(condition, a, b))
    lengths = one.length, other.length
    is_known = all(isinstance(length, int) for length in lengths) and lengths[0] == lengths[1]
    length = lengths[0] if is_known else jnp.where(condition, *lengths)
    reserved = one.reserved or other.reserved
    return one.with_(length=length, buffers=buffers, reserved=reserved, extent=joined_extent(one, other))


def joined_extent(one: Padded, other: Padded) -> Extent:
    """How long a list may be that is one of two."""
    origin = one.extent.origin
    return one.extent.join(other.extent.relative_to(origin, other.capacity))


def _is_padded(part: Any) -> bool:
    return isinstance(part, Padded)


def as_padded(contents: Any) -> Padded | None:
    """A list's contents as `Padded`; None if there is no element to tell what they are like."""
    if isinstance(contents, Padded):
        return contents
    return Padded.holding(contents) if contents else None


def emptied(padded: Padded) -> Padded:
    """No elements, of the kind of these."""
    return padded.with_(length=0, extent=padded.extent.emptied())
