"""The lengths and capacities of the lists in a staged loop's carry."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from autograph.backends.base import Backend, LeafType
from autograph.backends.selected import STAGING
from autograph.runtime.containers.element_kinds import Kind, Where, flatten_element, join_kinds
from autograph.runtime.containers.extents import UNBOUNDED, Extent, at_most, exactly
from autograph.runtime.containers.iterables import UNROLLED_AT_MOST
from autograph.runtime.containers.padded import Padded, as_seen, emptied
from autograph.runtime.containers.parts import Path, parts_of
from autograph.runtime.containers.traced_lists import TracedList
from autograph.runtime.errors import StagingError
from autograph.runtime.layouts.kinds import Row
from autograph.runtime.layouts.list_room import MOST_RESERVED, Room

ListKey = tuple[int, Path]  # a list of the state: the variable, by identity, and where in its value


@dataclass(frozen=True)
class ListEnd:
    """A list after one iteration, without what may not outlive the trace.

    Attributes:
      kind: what its elements are like, and how long the lists in them may be, relative to the longest before; None if there are no
        elements, or the error that says why they cannot be one array.
      types: the types of an element's array leaves.
      extent: how long it may be, relative to its length before, and to those of the lists that iterations may leave in its place.
      length: its length, None if that is traced.
      is_array: whether one array holds its elements.
      given: the room that a directive of a loop inside sets.
      places: the lists whose places iterations leave one another's contents in, if this is one of several.
    """

    kind: Kind | StagingError | None
    types: tuple[LeafType, ...]
    extent: Extent
    length: int | None
    is_array: bool = False
    given: int | None = None
    places: Places | None = None


@dataclass(frozen=True)
class Places:
    """The places of several lists that iterations exchange, or leave longer instead of another.

    Attributes: most (how long the longest is before the loop), entry (how long any of them is then, relative to what a loop around
      begins with).
    """

    most: Any
    entry: Extent


def list_end(owner: TracedList, start: Any, key: ListKey, backend: Backend) -> ListEnd:
    """What a list is like now that began the iteration with the contents ``start`` (None: it was not there)."""
    contents = owner.contents()
    if isinstance(contents, Padded):
        whole = [backend.type_of(buffer) for buffer in contents.buffers]
        types = tuple(STAGING.row_type(t) for t in whole if t is not None)
        extent = contents.extent
        if isinstance(start, tuple):
            extent = contents.extent.since(len(start))
        elif isinstance(start, Padded):
            extent = _ended(contents.extent, start.extent, key)
        if owner.most is not None:
            extent = at_most(owner.most)
        length = contents.length if isinstance(contents.length, int) else None
        before = start.kind.rows() if isinstance(start, Padded) else {}

        def extent_of_row(where: Where, row: Row) -> Extent:
            found = row.extent if where not in before else _ended(row.extent, before[where].extent, (key, where))
            return found.absolute(lambda origin: origin == (key, where))

        kind = contents.kind.with_extents(extent_of_row)
        return ListEnd(kind, types, extent, length, True)
    extent = exactly(len(contents))
    if isinstance(start, tuple):
        extent = Extent().plus(owner.peak - len(start)).plus(len(contents) - owner.peak)
    if owner.most is not None:
        extent = at_most(owner.most)
    if not contents:
        return ListEnd(None, (), extent, 0)
    try:
        kind, leaves = flatten_element(contents[-1], lambda leaf: backend.type_of(leaf) is not None)
    except StagingError as error:
        return ListEnd(StagingError(*error.args), (), extent, len(contents))
    found = [backend.type_of(leaf) for leaf in leaves]
    return ListEnd(kind, tuple(t for t in found if t is not None), extent, len(contents))


def _ended(extent: Extent, start: Extent, key: object) -> Extent:
    """How long what a list is at the end of an iteration may be, where it began with the extent ``start``."""
    own = next((origin for origin in start.rooms if origin.key == key), None)
    return extent if own is None else extent.ended(own)


def alone(end: ListEnd) -> ListEnd:
    """The same of a list that is not carried yet, relative to its own length only."""
    return dataclasses.replace(end, extent=end.extent.absolute(lambda origin: False))


def exchanged(ends: dict[ListKey, ListEnd], entries: dict[ListKey, Any]) -> dict[ListKey, ListEnd]:
    """What iterations make of lists, with one bound for all those that they leave in each other's places.

    Args:
      ends: what an iteration leaves instead of each. entries: what each holds before the loop.
    """
    found, groups = dict(ends), {key: {key} for key in ends}
    for key, end in ends.items():
        extent = end.extent.absolute(lambda origin: origin in ends and origin in entries)
        found[key] = dataclasses.replace(end, extent=extent)
        for other in (each for each in ends if each in {origin.key for origin in extent.origins}):
            group = groups[key] | groups[other]
            groups.update(dict.fromkeys(group, group))
    for key, group in groups.items():
        known = [each for each in group if each in entries]
        if len(known) > 1:
            extent = functools.reduce(Extent.join, [found[each].extent for each in known])
            most = [_before(entries[each]) for each in known]
            if any(each != most[0] for each in most) and not all(isinstance(each, int) for each in most):
                most, extent = [_before(entries[key])], UNBOUNDED
            entry = functools.reduce(Extent.join, [_extent_before(entries[each]) for each in known])
            ends = {**ends, key: dataclasses.replace(found[key], extent=extent, places=Places(max(most), entry))}
        else:
            ends = {**ends, key: found[key]}
    return ends


def _before(entry: Any) -> Any:
    """How many elements a list has at most before a loop."""
    return entry.extent.limit(entry.capacity) if isinstance(entry, Padded) else len(entry)


def _extent_before(entry: Any) -> Extent:
    return entry.extent if isinstance(entry, Padded) else exactly(len(entry))


def lists_in(value: Any, closed: frozenset[int]) -> dict[Path, TracedList]:
    """The lists of a value that may come to have a traced length, by the way that leads to each (see `parts_of`)."""
    return {path: part for path, part in parts_of(value, closed).items() if isinstance(part, TracedList)}


def contents_of_lists(value: Any, closed: frozenset[int]) -> dict[Path, Any]:
    """What they hold."""
    return {path: part.contents() for path, part in lists_in(value, closed).items()}


def needs_room(entry: Any, end: ListEnd) -> bool:
    """Whether a loop must carry the list as a buffer: iterations change its length."""
    return not isinstance(entry, Padded) and end.length != len(entry)


WithoutBound = Callable[[int | None, Any, str], tuple[int, Room]]


def room_for(entry: Any, current: Any, end: ListEnd, bound: Any, without_bound: WithoutBound) -> Padded | None:
    """Contents for a list to begin the loop with, in room for all that ``bound`` iterations (None: not known) leave in it.

    Args:
      entry: what it holds before the loop. current: what it was carried with, or `entry`.
      end: what an iteration made of it.
      without_bound: how much room it, or a list in its elements, has where there is no bound: by what is given, how much it needs at
        least, and how the message writes which list it is.

    Returns:
      None where ``current`` is such contents.

    Raises:
      StagingError: iterations lengthen the list, their number has no bound, and there can be no room; or its elements cannot be one
        array.
    """
    room = _room_of_list(entry, current, end, bound, without_bound)
    if room is None and (not isinstance(current, Padded) or not isinstance(end.kind, Kind)):
        return None
    found = current if room is None else room
    if isinstance(end.kind, Kind):
        found = found if found.fits(end.kind, end.types) else found.joined(end.kind, end.types)
        found = found.rows_as(_rows_in_room(entry, current, found, end, bound, without_bound))
    return None if room is None and found.kind == current.kind else found


def _rows_in_room(
    entry: Any, current: Any, found: Padded, end: ListEnd, bound: Any, without_bound: WithoutBound
) -> dict[Where, Row]:
    """The lists in the elements of a list, in room for all that the iterations leave in them."""
    assert isinstance(end.kind, Kind)
    if not found.kind.rows():
        return {}
    none = found.kind.without_rooms()
    before = _rows_among(as_seen(entry), none, found.types)
    now = before if current is entry else _rows_among(as_seen(current), none, found.types)
    ends = join_kinds(none, found.types, end.kind, end.types).kind.rows()
    wider = {}
    for where, row in found.kind.rows().items():
        if before[where].reserved:
            wider[where] = before[where]
        elif isinstance(now[where].reserved, Room):
            wider[where] = now[where]
        else:
            capacity = _room_by_bound(ends[where].extent, before[where].capacity, bound)
            reserved: bool | Room = ends[where].extent.now.rise > 0
            if capacity is None:
                capacity, reserved = without_bound(end.given, row.capacity, "[…]" * (1 + where.count(1)))
            wider[where] = row.with_(capacity=max(capacity, now[where].capacity), reserved=reserved)
    return wider


def _room_by_bound(extent: Extent, before: Any, bound: Any) -> Any:
    """The room for a list of ``before`` elements after ``bound`` iterations; None where that is not known, or too much to reserve."""
    capacity = extent.room(before, bound)
    return None if isinstance(capacity, int) and capacity > max(MOST_RESERVED, before) else capacity


def _rows_among(held: Padded | None, like: Kind, types: Sequence[LeafType]) -> dict[Where, Row]:
    """The lists in the elements of a list, in the places where those of this kind have some."""
    return like.rows() if held is None else join_kinds(held.kind, held.types, like, types).kind.rows()


def _room_of_list(entry: Any, current: Any, end: ListEnd, bound: Any, without_bound: WithoutBound) -> Padded | None:
    if isinstance(entry, Padded):
        if entry.reserved or not (current.reserved or end.extent.grows or end.places):
            return None
    elif isinstance(current, tuple) and end.length == len(entry) and not end.is_array:
        return None
    before = _before(entry) if end.places is None else end.places.most
    if isinstance(current, Padded) and isinstance(current.reserved, Room):
        return None
    capacity = _room_by_bound(end.extent, before, bound)
    room: bool | Room = True
    if capacity is None:
        capacity, room = without_bound(end.given, before, "")
    if isinstance(current, Padded) and current.reserved and _is_at_most(capacity, current.capacity):
        return None
    padded = as_seen(entry)
    if isinstance(end.kind, StagingError):
        raise end.kind
    if padded is None:
        assert end.kind is not None
        padded = Padded(0, _empty(end.types), end.kind, 0)
    elif end.kind is not None and padded.fits(end.kind, end.types):
        padded = padded.of_types(end.types)
    if not _is_at_most(capacity, padded.capacity):
        padded = padded.with_room(capacity)
    elif not _is_at_most(1, padded.capacity):
        padded = padded.with_room(1)
    return padded.with_(reserved=room)


def unbounded(end: ListEnd, current: Any) -> ListEnd:
    """The same, of a list that has been found to become longer, or lists in it, in each iteration by more than can be told."""
    held = as_seen(current)
    if held is None or not isinstance(end.kind, Kind):
        return dataclasses.replace(end, extent=UNBOUNDED)
    rows = held.kind.rows()

    def extent_of(where: Where, row: Row) -> Extent:
        room = row.extent.room(0, 1)
        return row.extent if where in rows and room is not None and room <= rows[where].capacity else UNBOUNDED

    is_settled = isinstance(current, Padded) and current.reserved and not end.extent.grows
    return dataclasses.replace(
        end, extent=end.extent if is_settled else UNBOUNDED, kind=end.kind.with_extents(extent_of)
    )


def _is_at_most(one: Any, other: Any) -> bool:
    known = isinstance(one, int) and isinstance(other, int)
    return one <= other if known else bool(one == other)


def fitted(contents: Any, like: Padded) -> Padded:
    """The contents of a list in the room of ``like``, whether that is enough or not.

    Raises:
      StagingError: the elements are of another structure or shape.
    """
    if isinstance(contents, tuple):
        if not contents:
            return emptied(like)
        contents = Padded.holding(contents)
    if contents.capacity is not like.capacity and contents.capacity != like.capacity:
        fits = _is_at_most(contents.capacity, like.capacity)
        contents = contents.with_room(like.capacity) if fits else contents.within(like.capacity)
    if contents.kind != like.kind:
        contents = _of_kind(contents, like)
    return contents if contents.reserved == like.reserved else contents.with_(reserved=like.reserved)


def _of_kind(contents: Padded, like: Padded) -> Padded:
    """The contents in elements as ``like`` has, if these can hold them but for the room of lists in them."""
    whole = like.joined(contents.kind, contents.types)
    rows, extents = like.kind.rows(), contents.kind.rows()
    if whole.rows_as(rows).kind != like.kind:
        return contents
    held = contents.as_elements_of(whole).rows_as(rows)
    return held.with_(kind=held.kind.with_extents(lambda where, row: _extent_of(where, row, extents)))


def _extent_of(where: Where, row: Row, known: dict[Where, Row]) -> Extent:
    return known[where].extent if where in known else exactly(row.capacity)


def _empty(types: Sequence[LeafType]) -> list[Any]:
    return list(map(STAGING.no_rows, types))


def contents_made(held: Padded) -> Padded:
    """What a list holds after a loop that has made it, where there was none before."""
    rows = held.kind.rows().items()
    kind = held.kind.with_rows({where: _without_promise(row) for where, row in rows})
    return held.with_(kind=kind, reserved=False, extent=exactly(held.capacity))


def _without_promise(row: Row) -> Row:
    return row.with_(reserved=False, extent=exactly(row.capacity))


def contents_after(held: Padded, entry: Any, end: ListEnd, bound: Any, trips: int | None, many: Extent | None) -> Any:
    """What a list holds after a loop, where it held ``entry`` before.

    The room that the loop reserved is nobody's promise any more. A list of known length is Python's again, but for long
    ones, and for a list of lists or objects: one by one, its elements would be none that later loops may write.

    Args:
      end: what one iteration makes of it. bound: how many there are at most. trips: how many there are; each None if not known.
      many: how long the list is that it goes over, if it is one.
    """
    is_held = isinstance(entry, Padded)
    before = entry.kind.rows() if is_held else {}
    extent = _extent_before(entry) if end.places is None else end.places.entry
    ends = end.kind.rows() if isinstance(end.kind, Kind) else {}

    def row_after(where: Where, row: Row) -> Row:
        first = before.get(where)
        if first is None or where not in ends:
            return _without_promise(row)
        return row.with_(reserved=first.reserved, extent=first.extent.after(ends[where].extent, bound, trips))

    held = held.with_(
        kind=held.kind.with_rows({where: row_after(where, row) for where, row in held.kind.rows().items()})
    )
    length, more = entry.length if is_held else len(entry), end.extent.net_of(trips) if end.places is None else None
    if isinstance(length, int) and more is not None:
        held = held.with_(length=max(0, length + more))
        if (
            not held.kind.is_watched
            and held.length * max(map(math.prod, held.kind.depths()), default=1) <= UNROLLED_AT_MOST
        ):
            return tuple(held.elements(held.length))
    return held.with_(reserved=is_held and entry.reserved, extent=extent.after(end.extent, bound, trips, many))
