"""The lengths and capacities of the lists in a staged loop's carry."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from autograph.backends.base import Backend, LeafType
from autograph.runtime.containers.extents import Extent, at_most, exactly
from autograph.runtime.containers.padded import Kind, Padded, as_padded, check_kinds, emptied, flatten_element
from autograph.runtime.containers.parts import Path, parts_of
from autograph.runtime.containers.traced_lists import TracedList
from autograph.runtime.errors import StagingError
from autograph.runtime.layouts.list_room import Room
from autograph.runtime.tracing.recording import JOINT

ListKey = tuple[int, Path]  # a list of the state: the variable, by identity, and where in its value


@dataclass(frozen=True)
class ListEnd:
    """A list after one iteration, without what may not outlive the trace.

    Attributes:
      kind: what its elements are like; None if there are none, or the error that says why they cannot be one array.
      types: the types of an element's array leaves.
      extent: how long it may be, relative to its length before.
      length: its length, None if that is traced.
      is_array: whether one array holds its elements.
      given: the room that a directive of a loop inside gives.
    """

    kind: Kind | StagingError | None
    types: tuple[LeafType, ...]
    extent: Extent
    length: int | None
    is_array: bool = False
    given: int | None = None


def list_end(owner: TracedList, start: Any, key: ListKey, backend: Backend) -> ListEnd:
    """What a list is like now that began the iteration with the contents ``start`` (None: it was not there)."""
    contents = owner.contents()
    if isinstance(contents, Padded):
        whole = [backend.type_of(buffer) for buffer in contents.buffers]
        types = tuple(JOINT.staging.row_type(t) for t in whole if t is not None)
        extent = contents.extent.relative_to(key, contents.capacity)
        if isinstance(start, tuple):
            extent = contents.extent.since(len(start))
        if owner.most is not None:
            extent = dataclasses.replace(at_most(owner.most), origin=extent.origin)
        length = contents.length if isinstance(contents.length, int) else None
        return ListEnd(contents.kind, types, extent, length, True)
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


def lists_in(value: Any) -> dict[Path, TracedList]:
    """The lists of a value that may come to have a traced length, by the way that leads to each."""
    return {path: part for path, part in parts_of(value).items() if isinstance(part, TracedList)}


def contents_of_lists(value: Any) -> dict[Path, Any]:
    """What they hold."""
    return {path: part.contents() for path, part in lists_in(value).items()}


def needs_room(entry: Any, end: ListEnd) -> bool:
    """Whether a loop must carry the list as a buffer: iterations change its length."""
    return not isinstance(entry, Padded) and end.length != len(entry)


def room_for(
    entry: Any, current: Any, end: ListEnd, bound: Any, without_bound: Callable[[int | None, Any], tuple[int, Room]]
) -> Padded | None:
    """Contents for a list to begin the loop with, in room for all that ``bound`` iterations (None: not known) leave in it.

    Args:
      entry: what it holds before the loop. current: what it was carried with, or `entry`.
      end: what an iteration made of it.
      without_bound: how much room it has, by what is given and how much it needs at least, where there is no bound.

    Returns:
      None where ``current`` is such contents.

    Raises:
      StagingError: iterations lengthen the list, their number has no bound, and there can be no room; or its elements cannot be one
        array.
    """
    if isinstance(entry, Padded):
        if entry.reserved or not (current.reserved or end.extent.grows):
            return None
        before = entry.extent.limit(entry.capacity)
    else:
        before = len(entry)
        if isinstance(current, tuple) and end.length == before and not end.is_array:
            return None
    if isinstance(current, Padded) and isinstance(current.reserved, Room):
        return None
    capacity = end.extent.room(before, bound)
    room: bool | Room = True
    if capacity is None:
        capacity, room = without_bound(end.given, before)
    if isinstance(current, Padded) and current.reserved and _is_at_most(capacity, current.capacity):
        return None
    padded = as_padded(entry)
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
        check_kinds(like.kind, contents.kind)
    if contents.capacity is not like.capacity and contents.capacity != like.capacity:
        fits = _is_at_most(contents.capacity, like.capacity)
        contents = contents.with_room(like.capacity) if fits else contents.within(like.capacity)
    return contents if contents.reserved == like.reserved else contents.with_(reserved=like.reserved)


def _empty(types: Sequence[LeafType]) -> list[Any]:
    return [JOINT.staging.room_of(0, type) for type in types]


def contents_after(held: Padded, entry: Any, body: Extent, bound: Any, trips: int | None, limit: int) -> Any:
    """What a list holds after a loop, where it held ``entry`` before.

    The room that the loop reserved is nobody's promise any more. A list of known length is Python's again, but for long
    ones, of more than ``limit`` elements.

    Args:
      body: what one iteration does to the length. bound: how many there are at most. trips: how many there are; each None if not known.
    """
    is_held = isinstance(entry, Padded)
    length, more = entry.length if is_held else len(entry), body.net_of(trips)
    if isinstance(length, int) and more is not None:
        held = held.with_(length=max(0, length + more))
        if held.length <= limit:
            return tuple(held.elements(held.length))
    before = entry.extent if is_held else exactly(len(entry))
    return held.with_(reserved=is_held and entry.reserved, extent=before.after(body, bound, trips))
