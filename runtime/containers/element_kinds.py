"""`Kind`: what the elements of a list of traced length are like, and the join of two kinds.

A list of traced length holds arrays with one row for each element, so all of its elements have one layout. It is the join
of theirs, as of what the branches of a conditional leave: None and a number are a `Maybe`, texts that differ are
`Constants`, and lists that differ in length are a `Row`, which has room for some items and a length, as the list around it
has. The room of rows grows as that of lists does: a row is one more list that a loop lengthens, the longest of all rows
tells how much, and where no bound is known the program begins with some and is run again with more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from autograph.backends.base import MISSING, LeafType
from autograph.backends.large_ints import is_far_beyond
from autograph.backends.selected import STAGING
from autograph.runtime.containers.differing_kinds import differing_structure, differing_types
from autograph.runtime.containers.extents import Bound, Extent, exactly
from autograph.runtime.containers.shown_kinds import shown_kind
from autograph.runtime.containers.spelled_texts import Spelled, Written, is_unread, spelled_texts
from autograph.runtime.errors import StagingError
from autograph.runtime.layouts.describe import anonymous, describe, unflatten, with_leaves
from autograph.runtime.layouts.join import Joiner
from autograph.runtime.layouts.kinds import (
    LEAF,
    NOTHING,
    Alternatives,
    Array,
    Layout,
    Object,
    Row,
    Static,
    Tree,
    leaves_of,
    rooms_of,
)
from autograph.runtime.layouts.objects import is_frozen_kind, is_plain_object
from autograph.runtime.layouts.one_of import renumbered
from autograph.runtime.layouts.paths import Path, worded
from autograph.runtime.layouts.references import is_variable
from autograph.runtime.layouts.sides import Given, Joined, Renumbered, Side, Source, Types
from autograph.runtime.layouts.statement_variables import has_contents
from autograph.runtime.layouts.text_kinds import is_text_kind, is_text_layout
from autograph.runtime.tracing.language import LANGUAGE

NUMBERS = (bool, int, float, complex)
_ARRAYS = (jax.Array, np.generic)
_OPENED_AT_MOST = 8  # items of a list of known length, each with an array of its own where they are alike

Where = tuple[int, ...]  # which part of which part


class _Array:
    __slots__ = ()

    def __repr__(self) -> str:
        return "array"


ARRAY = _Array()


class Kind:
    """What every element of a list is like: how it is put together, and its leaves that are no arrays.

    Attributes:
      is_mutable: whether a list, dict or object is in it, that can be written to; holds_objects: whether any is.
      is_unread: whether a text is in it of which it tells only what it is made of.
    """

    def __init__(self, layout: Layout, statics: tuple[Any, ...]) -> None:
        self.layout = _with_statics(layout, statics)
        self.statics = statics
        self.is_mutable = any(map(_is_mutable, _apart_from_texts(layout)))
        self.holds_objects = any(map(_is_object, _apart_from_texts(layout)))
        self.is_unread = is_unread(layout)

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
        return shown_kind(self.layout, iter(["array" if s is ARRAY else str(s) for s in self.statics]))

    @property
    def is_watched(self) -> bool:
        """Whether it matters which element one is, to a write or to ``is``: while a program is traced."""
        return self.holds_objects and not STAGING.is_plain(STAGING.place())

    @property
    def is_array(self) -> bool:
        """Whether an element is one array."""
        return self.layout is LEAF and self.statics == (ARRAY,)

    @property
    def is_place(self) -> bool:
        """Whether an element is a place that holds an array: a Variable, an array written in place, or one of several such and values."""
        if isinstance(self.layout, Object):
            return hasattr(self.layout.kind, "__autograph_value__")
        is_one = self.layout is LEAF or isinstance(self.layout, Alternatives)
        return is_one and any(map(is_variable, self.statics))

    def build(self, arrays: Sequence[Any]) -> Any:
        """The element that has these array leaves."""
        return unflatten(self.layout, self.leaves(arrays), new_list=LANGUAGE.operators.new_list)

    def leaves(self, arrays: Sequence[Any]) -> list[Any]:
        """All leaves of the element that has these array leaves."""
        left = iter(arrays)
        return [next(left) if static is ARRAY else static for static in self.statics]

    def rows(self) -> dict[Where, Row]:
        """The lists of any length in an element."""
        return dict(_rows_of(self.layout, ()))

    def with_rows(self, rows: dict[Where, Row]) -> Kind:
        """The same with others in these places, which differ in their room only."""
        return Kind(_placed(self.layout, (), rows), self.statics) if rows else self

    def with_extents(self, extent: Callable[[Where, Row], Extent]) -> Kind:
        """The same, with what ``extent`` says of how long the lists in an element may be."""
        return self.with_rows({where: row.with_(extent=extent(where, row)) for where, row in self.rows().items()})

    def without_rooms(self) -> Kind:
        """The same, of whose lists nothing is known."""
        nothing = Extent(Bound(), Bound(), 0)
        return self.with_rows(
            {where: row.with_(capacity=0, reserved=False, extent=nothing) for where, row in self.rows().items()}
        )

    def bounded_as(self, other: Kind) -> Kind:
        """The same, whose lists may be as long as those of another of this layout."""
        theirs = other.rows()

        def extent(where: Where, row: Row) -> Extent:
            joined: Extent = row.extent.join(theirs[where].extent)
            return joined

        return self.with_extents(extent)

    def holds_texts(self) -> bool:
        """Whether a text is in it, or is the element."""
        return any(map(is_text_layout, _within(self.layout))) or any(type(each) is str for each in self.statics)

    def with_plain_tuples(self) -> Kind:
        """The same, as comparisons see it: a named tuple is equal to the tuple of its items."""
        return Kind(_with_plain_tuples(self.layout), self.statics)

    def depths(self) -> list[tuple[int, ...]]:
        """For each array leaf the room of the lists that it lies in, outer ones first."""
        return [rooms for rooms, static in zip(rooms_of(self.layout), self.statics, strict=True) if static is ARRAY]


def _rows_of(layout: Layout, where: Where) -> Iterator[tuple[Where, Row]]:
    if isinstance(layout, Row):
        yield where, layout
    for k, part in enumerate(layout.parts):
        yield from _rows_of(part, (*where, k))


def _placed(layout: Layout, where: Where, rows: dict[Where, Row]) -> Layout:
    if not layout.parts:
        return layout
    parts = [_placed(part, (*where, k), rows) for k, part in enumerate(layout.parts)]
    return rows[where].with_(parts=parts) if where in rows else layout.with_parts(parts)


def _with_plain_tuples(layout: Layout) -> Layout:
    if not layout.parts:
        return layout
    parts = tuple(map(_with_plain_tuples, layout.parts))
    if isinstance(layout, Tree) and isinstance(layout.kind, jax.tree_util.PyTreeDef):
        if hasattr(layout.kind.node_data()[0], "_fields"):
            return Tree(tuple, range(len(parts)), parts)
    return layout.with_parts(parts)


def _with_statics(layout: Layout, statics: Sequence[Any]) -> Layout:
    """The layout, its rows with what the leaves of their items are."""
    if not layout.parts:
        return layout
    parts, first = [], 0
    for part in layout.parts:
        parts.append(_with_statics(part, statics[first : first + part.count]))
        first += part.count
    return (
        layout.with_(parts=parts, statics=tuple(statics[1:])) if isinstance(layout, Row) else layout.with_parts(parts)
    )


def _within(layout: Layout) -> Iterator[Layout]:
    yield layout
    for part in layout.parts:
        yield from _within(part)


def _apart_from_texts(layout: Layout) -> Iterator[Layout]:
    """What is in a layout; not the lists of code points, which nobody writes to."""
    if not is_text_kind(layout):
        yield layout
        for part in layout.parts:
            yield from _apart_from_texts(part)


def _is_object(layout: Layout) -> bool:
    return isinstance(layout, Object | Row) or (isinstance(layout, Tree) and layout.kind in (list, dict))


def _is_mutable(layout: Layout) -> bool:
    return _is_object(layout) and not (isinstance(layout, Object) and is_frozen_kind(layout.kind))


def flatten_element(element: Any, is_array: Callable[[Any], bool]) -> tuple[Kind, list[Any]]:
    """The kind of an element, and its array leaves."""
    layout, leaves = describe(element, opened=_as_list)
    statics = tuple(ARRAY if leaf is ARRAY or is_array(leaf) else leaf for leaf in leaves)
    return Kind(anonymous(layout), statics), [leaf for leaf, s in zip(leaves, statics, strict=True) if s is ARRAY]


def _as_list(value: Any) -> Any:
    """A list inside of an element: as Python's list, where its length is known and not great, or the layout and leaves of a `Row`."""
    if not has_contents(value):
        return value
    contents, is_list = value.contents(), value.most is None and value.stands_for is list
    if isinstance(contents, tuple):
        is_opened = is_list and (len(contents) <= _OPENED_AT_MOST or not are_alike(contents))
        return list(contents) if is_opened else value.row_of(contents)
    if is_list and isinstance(contents.length, int) and contents.length <= _OPENED_AT_MOST:
        return value.resolve()
    return value.row_of(contents)


class KnownLength(int):
    """The length of a list in an element, where it is known: it is part of the kind."""


def are_alike(elements: Iterable[Any]) -> bool:
    """Whether these elements, none of which can be written to, can be in one `Padded`."""
    elements = tuple(elements)
    if all(map(is_array_leaf, elements)):
        return len(set(map(_shape, elements))) == 1
    try:
        taken = [flatten_element(element, is_array_leaf) for element in elements]
    except StagingError:
        return False
    if any(kind.is_mutable for kind, _ in taken):
        return False
    found = [(kind, list(map(_shape, leaves))) for kind, leaves in taken]
    return all(each == found[0] for each in found)


def is_array_leaf(leaf: Any) -> bool:
    """Whether a leaf of an element is an array."""
    return (type(leaf) in NUMBERS and not is_far_beyond(leaf)) or isinstance(leaf, _ARRAYS) or _is_numeric(leaf)


def _is_numeric(leaf: Any) -> bool:
    return isinstance(leaf, np.ndarray) and leaf.dtype.kind in "biufcV"


def _shape(leaf: Any) -> tuple[Any, ...]:
    return getattr(leaf, "shape", ())


def _is_same_static(one: Any, other: Any) -> bool:
    """Whether the leaves may represent each other: objects that can be distinguished may not, though they are equal."""
    may_equal = type(one) is type(other) and not is_plain_object(one) and not is_variable(one)
    return one is other or (may_equal and one == other)


# The join.


@dataclass(frozen=True)
class _InRoom:
    """The leaf of a list that has got room for so many items."""

    of: Any
    capacity: int


@dataclass(frozen=True)
class _Stacked:
    """The leaf of each item of a list of known length, in room for so many."""

    of: tuple[Any, ...]
    capacity: int


class _KindJoiner(Joiner):
    """Joins layouts of elements: lists that differ in length have a join, too, and so have texts that are made differently.

    Attributes: reads (whether texts are to be read, so that their layouts tell their characters).
    """

    def __init__(self, types: Types, reads: bool = False) -> None:
        super().__init__(types)
        self.reads = reads

    def _join(self, left: Side, right: Side, path: Path) -> Layout:
        a, b = left.layout, right.layout
        is_row = isinstance(a, Row) or isinstance(b, Row)
        if _is_list(a) and _is_list(b) and (is_row or len(a.parts) != len(b.parts)):
            return self._join_in_room(left, right, path)
        if (texts := spelled_texts(left, right, self.reads)) is not None:
            return self._join_texts(*texts, path)
        return super()._join(left, right, path)

    def _are_of_two_kinds(self, a: Layout, b: Layout) -> bool:
        if is_text_layout(a) and is_text_layout(b):  # which have no join as their characters
            return not (is_text_kind(a) and is_text_kind(b) and a.kind == b.kind)  # type: ignore[attr-defined]
        return super()._are_of_two_kinds(a, b)

    def _have_one_text(self, a: Layout, b: Layout) -> bool:
        return spelled_texts(Side(a, 0), Side(b, 0), self.reads) is not None

    def _join_texts(self, left: Spelled, right: Spelled, path: Path) -> Layout:
        """Two texts as the lists of their code points."""
        joiner = _KindJoiner(self.types, self.reads)
        joined = joiner.join(worded(path), left.layout, right.layout)
        if joiner.mismatches:
            return self._differ()
        for one, other in zip(joined.left, joined.right, strict=True):
            self._add(_placed_at(one, left.sources), _placed_at(other, right.sources))
        return joined.layout

    def _join_in_room(self, left: Side, right: Side, path: Path) -> Layout:
        sides = left, right
        rows = [side.layout for side in sides if isinstance(side.layout, Row)]
        is_other = len(rows) == 1 and (rows[0].facts is not None or rows[0].kind.stands_for is not list)
        if is_other or len({(row.kind, row.facts) for row in rows}) > 1:
            return self._differ()
        item: Layout = NOTHING
        for side in sides:
            for part in _items(side):
                joined = self._joined(item, part.layout)
                if joined is None:
                    return self._differ()
                item = joined.layout
        capacities = [_capacity(side.layout) for side in sides]
        capacity = max(capacities)
        lengths = _lengths(sides)
        length = self._join_leaves(lengths[0][0], lengths[0][1], lengths[1][0], lengths[1][1], path)
        found = [self._sources_of(side, item, capacity) for side in sides]
        for one, other in zip(*found, strict=True):
            self._add(one, other)
        extents = [
            s.layout.extent if isinstance(s.layout, Row) else exactly(c) for s, c in zip(sides, capacities, strict=True)
        ]
        like: Row = rows[0] if rows else LANGUAGE.operators.new_row()
        return like.with_(
            capacity=capacity,
            reserved=next((row.reserved for row in rows if row.reserved), False),
            extent=extents[0].join(extents[1]),
            parts=(length, item),
        )

    def _joined(self, item: Layout, other: Layout) -> Joined | None:
        """The join of the layouts of two items; None if they have none."""
        joiner = _KindJoiner(self.types, self.reads)
        joined = joiner.join(self._whole[0], item, other)
        self.mismatches += joiner.mismatches
        return None if joiner.mismatches else joined

    def _sources_of(self, side: Side, item: Layout, capacity: int) -> list[Any]:
        """For each leaf of an item, where that stands of the lists of one side."""
        columns = []
        for part in _items(side):
            joined = self._joined(item, part.layout)
            assert joined is not None
            columns.append(
                [_placed_at(source, range(part.start, part.start + part.layout.count)) for source in joined.right]
            )
        if isinstance(side.layout, Row):
            return [_InRoom(source, capacity) for source in columns[0]]
        if not columns:
            return [_Stacked((), capacity) for _ in range(item.count)]
        return [_Stacked(sources, capacity) for sources in zip(*columns, strict=True)]


def _is_list(layout: Layout) -> bool:
    return isinstance(layout, Row) or (isinstance(layout, Tree) and layout.kind is list)


def _items(side: Side) -> list[Side]:
    parts = side.parts()
    return parts[1:] if isinstance(side.layout, Row) else parts


def _capacity(layout: Layout) -> int:
    return layout.capacity if isinstance(layout, Row) else len(layout.parts)


def _lengths(sides: Sequence[Side]) -> list[tuple[Layout, Source]]:
    """The lengths of two lists, as numbers where they are not known to be one."""
    found: list[tuple[Layout, Source]] = [
        (side.parts()[0].layout, side.start)
        if isinstance(side.layout, Row)
        else (Static(KnownLength(len(side.layout.parts))), Given(len(side.layout.parts)))
        for side in sides
    ]
    if found[0][0] == found[1][0] and isinstance(found[0][0], Static):
        return found
    return [
        (Array(STAGING.type_of(np.int32(0))), Given(np.int32(layout.value)))
        if isinstance(layout, Static)
        else (layout, source)
        for layout, source in found
    ]


def _placed_at(source: Any, leaves: Sequence[Any]) -> Any:
    """What one side has in a place, given by its leaves: by what it has in the place of each of these instead."""
    if isinstance(source, int):
        return leaves[source]
    if isinstance(source, Renumbered | _InRoom):
        return replace(source, of=_placed_at(source.of, leaves))
    if isinstance(source, _Stacked | Written):
        return replace(source, of=tuple(_placed_at(each, leaves) for each in source.of))
    return source


@dataclass(frozen=True)
class JoinedKinds:
    """The join of two kinds. Attributes: kind, types (of the array leaves of an element)."""

    kind: Kind
    types: tuple[LeafType, ...]
    _sides: tuple[Kind, Kind]
    _sources: tuple[Sequence[Any], Sequence[Any]]

    def left(self, arrays: Sequence[Any], *lead: Any) -> list[Any]:
        """The array leaves of elements of the first kind as those of this one. Before the axes of an element are those of ``lead``."""
        return self._of(0, arrays, lead)

    def right(self, arrays: Sequence[Any], *lead: Any) -> list[Any]:
        """The same of the second."""
        return self._of(1, arrays, lead)

    def _of(self, side: int, arrays: Sequence[Any], lead: tuple[Any, ...]) -> list[Any]:
        leaves = self._sides[side].leaves(arrays)
        sources = [s for s, static in zip(self._sources[side], self.kind.statics, strict=True) if static is ARRAY]
        found = []
        for source, type, rooms in zip(sources, self.types, self.kind.depths(), strict=True):
            shape = type.shape[len(rooms) :]
            made = _evaluated(source, leaves, lead, rooms, shape, type.dtype)
            found.append(STAGING.retyped(made, type))
        return found


def _evaluated(
    source: Any,
    leaves: Sequence[Any],
    lead: tuple[Any, ...],
    rooms: tuple[int, ...],
    shape: tuple[Any, ...],
    dtype: Any,
) -> Any:
    """The array that stands in one place: with the axes ``lead``, one for each list around it, and those of an item."""
    if isinstance(source, int):
        return jnp.asarray(leaves[source])
    if isinstance(source, Given):
        whole = (*lead, *rooms, *shape)
        return (
            jnp.zeros(whole, dtype) if source.value is MISSING else jnp.broadcast_to(jnp.asarray(source.value), whole)
        )
    if isinstance(source, Renumbered):
        return renumbered(_evaluated(source.of, leaves, lead, rooms, shape, dtype), source.table)
    axis = len(lead)
    if isinstance(source, Written):
        around = lead[:-1] if source.is_list else lead
        return source.make(*[_evaluated(each, leaves, around, (), (), None) for each in source.of])
    if isinstance(source, _InRoom):
        found = _evaluated(source.of, leaves, (*lead, source.capacity), rooms[1:], shape, dtype)
    elif not source.of:
        return jnp.zeros((*lead, *rooms, *shape), dtype)
    else:
        parts = [_evaluated(each, leaves, lead, rooms[1:], shape, dtype) for each in source.of]
        found = jnp.stack([jnp.broadcast_to(part.astype(dtype), parts[0].shape) for part in parts], axis)
    more = source.capacity - found.shape[axis]
    return jnp.pad(found, [(0, more if k == axis else 0) for k in range(found.ndim)]) if more > 0 else found


def join_kinds(
    one: Kind, types: Sequence[LeafType], other: Kind, other_types: Sequence[LeafType], reads: bool = False
) -> JoinedKinds:
    """The join of two kinds, the array leaves of whose elements have these types. ``reads``: as of `_KindJoiner`.

    Raises:
      StagingError: there is none.
    """
    joiner = _KindJoiner(LANGUAGE.operators.backend, reads)
    joined = joiner.join("an element", _typed(one, types), _typed(other, other_types))
    differing = [
        each
        for each in joiner.mismatches
        if not each.is_structure and isinstance(each.left, Array) and isinstance(each.right, Array)
    ]
    if differing and len(differing) == len([each for each in joiner.mismatches if not each.is_structure]):
        raise differing_types(differing[0].left.type, differing[0].right.type)  # type: ignore[attr-defined]
    if joiner.mismatches:
        raise differing_structure(str(one), str(other))
    leaves = list(leaves_of(joined.layout))
    statics = tuple(
        ARRAY if isinstance(leaf, Array) else leaf.value for leaf in leaves if isinstance(leaf, Array | Static)
    )
    if len(statics) != len(leaves):
        raise differing_structure(str(one), str(other))
    kind = Kind(with_leaves(joined.layout, iter([LEAF] * len(leaves))), statics)
    found = [leaf.type for leaf in leaves if isinstance(leaf, Array)]
    whole = [replace(t, shape=(*rooms, *t.shape)) for t, rooms in zip(found, kind.depths(), strict=True)]
    return JoinedKinds(kind, tuple(whole), (one, other), (joined.left, joined.right))


def _typed(kind: Kind, types: Sequence[LeafType]) -> Layout:
    left = iter(zip(types, kind.depths(), strict=True))
    leaves: list[Layout] = []
    for static in kind.statics:
        if static is ARRAY:
            type, rooms = next(left)
            for _ in rooms:
                type = STAGING.row_type(type)
            leaves.append(Array(type))
        else:
            leaves.append(Static(static))
    return with_leaves(kind.layout, iter(leaves))
