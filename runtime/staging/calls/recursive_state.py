"""`CarriedState`: the outside state that a recursive function writes, as an argument and a result of each call."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn, TypeVar

import jax
import jax.numpy as jnp

from autograph.backends.base import MISSING, Backend, LeafType
from autograph.backends.selected import STAGING
from autograph.runtime.containers.extents import UNBOUNDED, Extent, exactly
from autograph.runtime.containers.padded import Padded
from autograph.runtime.containers.parts import parts_of
from autograph.runtime.containers.traced_lists import TracedList
from autograph.runtime.errors import StagingError
from autograph.runtime.heap.identities import Identities
from autograph.runtime.heap.journal import MUTABLE_CONTAINERS, ContentsPlace, Journal, Place
from autograph.runtime.heap.places import holds_list
from autograph.runtime.layouts.buffers import known_length
from autograph.runtime.layouts.describe import describe, typed, unflatten
from autograph.runtime.layouts.join import Joiner
from autograph.runtime.layouts.kinds import BUFFERS, NOTHING, Array, Layout, Row, Seq, Static, leaves_of
from autograph.runtime.layouts.list_room import Room, RoomInRecursion
from autograph.runtime.layouts.mismatches import sides
from autograph.runtime.layouts.sides import injected
from autograph.runtime.layouts.statement_variables import UNBOUND
from autograph.runtime.staging.statements.list_growth import ListEnd, ListKey, fitted, list_end, room_for
from autograph.runtime.tracing.locations import user_location
from autograph.runtime.tracing.recording import LOCAL

ListT = TypeVar("ListT", Padded, Row)


@dataclasses.dataclass
class _Carried:
    """A place that is written.

    Attributes:
      entry: the layout of what it held before the first call; layout: of what it holds in all calls so far.
      start: what it holds when the call that is being traced begins; None outside of one.
    """

    place: Place
    entry: Layout
    layout: Layout
    start: Any = None


class CarriedState:
    """The Variables, variables, attributes and contents of containers that a function writes.

    A list whose length differs between calls is carried as a loop carries it, as a buffer and a length. How deep the calls nest
    is not known, so its room may prove too small.

    Attributes:
      refs: the stand-ins of the Variables.
      is_changed: whether a value has been found that the layouts so far do not hold.
    """

    def __init__(self, backend: Backend, journal: Journal, name: str, where: str) -> None:
        """``where``: the line of the outermost call: the functions that call each other in it share the room of a list."""
        self._backend, self._journal, self._name, self._where = backend, journal, name, where
        self.refs: list[Any] = []
        self._carried: list[_Carried] = []
        self.is_changed = False
        self._before: set[int] = set()
        self._identities: Identities | None = None

    def add_refs(self, refs: Sequence[Any]) -> None:
        """Take in the stand-ins of Variables that are written."""
        for ref in refs:
            if not any(ref is other for other in self.refs):
                self.refs.append(ref)
                self.is_changed = True

    def add(self, place: Place) -> None:
        """Take in a place that is written, and holds now what it held before the call."""
        if self.carries(place):
            return
        layout = self._typed(place, *self._described(place, self._held(place)))
        self._carried.append(_Carried(place, layout, layout))
        self.is_changed = True

    def carries(self, place: Place) -> bool:
        """Whether this place is known to be written."""
        return any(place.key == carried.place.key for carried in self._carried)

    @property
    def count(self) -> int:
        """How many Variables and places are written."""
        return len(self.refs) + len(self._carried)

    def types(self) -> list[LeafType]:
        """Those of the arrays that a call is given, and gives back."""
        leaves = [leaf for carried in self._carried for leaf in leaves_of(carried.layout)]
        arrays = [leaf.type for leaf in leaves if isinstance(leaf, Array)]
        return [*(LeafType(tuple(ref.shape), ref.dtype) for ref in self.refs), *arrays]

    def values(self) -> list[Any]:
        """These arrays, as they are now. Where the layouts do not hold them, they are widened: see `is_changed`."""
        found = [STAGING.read(ref) for ref in self.refs]
        for carried in self._carried:
            self._refuse_rebound(carried)
            found += self._values(carried)
        return found

    def _values(self, carried: _Carried) -> list[Any]:
        place = carried.place
        value = self._held(place)
        if (owner := _list_of(place)) is not None:
            value = self._in_room(carried, owner, value)
        layout, leaves = self._described(place, value)
        joiner = Joiner(self._backend)
        joined = joiner.join(place.name, carried.layout, self._typed(place, layout, leaves))
        if joiner.mismatches:
            raise StagingError(
                f"{user_location()}\n  {self._name!r} calls itself under a traced condition, and leaves {place.name} with "
                f"different types.\n"
                f"{sides(joiner.mismatches, 'in one call', 'in another')}\n  XLA needs one type: keep its shape and structure."
            )
        if joined.layout != carried.layout:
            carried.layout, self.is_changed = joined.layout, True
        every = zip(injected(joined.right, leaves), leaves_of(joined.layout), strict=True)
        return [
            self._backend.zeros(kind.type) if leaf is MISSING else jnp.asarray(leaf, kind.type.dtype)
            for leaf, kind in every
            if isinstance(kind, Array)
        ]

    def begin(self, arrays: Sequence[Any]) -> None:
        """Write these arrays, which a call was given, and trace from now on what becomes of them."""
        self._journal.check_unreported()
        for carried, value in zip(self._carried, self._write_refs(arrays), strict=True):
            if isinstance(value, Padded):
                value = value.starting(_key(carried.place))
            self._journal.write(carried.place, value)
            carried.start = value
        self._journal.refresh()

    def end(self) -> None:
        """Forget what was traced last."""
        for carried in self._carried:
            carried.start = None
        self._identities = None

    def settle(self, arrays: Sequence[Any]) -> None:
        """Write these arrays, which a call gives back."""
        self._journal.check_unreported()
        for carried, value in zip(self._carried, self._write_refs(arrays), strict=True):
            place = carried.place
            self._journal.write(place, _after_call(value, place.get()) if isinstance(value, Padded) else value)
        self._journal.refresh()

    def _write_refs(self, arrays: Sequence[Any]) -> list[Any]:
        """Write the Variables. Returns the values of the places, of the other arrays."""
        for ref, value in zip(self.refs, arrays, strict=False):
            STAGING.write(ref, value)
        pending: Iterator[Any] = iter(arrays[len(self.refs) :])
        return [
            UNBOUND
            if carried.layout is NOTHING
            else unflatten(
                carried.layout,
                [leaf.value if isinstance(leaf, Static) else next(pending) for leaf in leaves_of(carried.layout)],
            )
            for carried in self._carried
        ]

    def note_before(self, before: set[int], identities: Identities) -> None:
        """Note which containers, by their identities, there are when the call that is being traced begins."""
        self._before, self._identities = before, identities

    def _refuse_rebound(self, carried: _Carried) -> None:
        """Refuse a variable or attribute that a call binds to another container of those before it: it would get a copy."""
        if self._identities is None or isinstance(carried.place, ContentsPlace):
            return
        others = self._before - {id(part) for part in parts_of(carried.start).values()}
        for part in parts_of(self._held(carried.place)).values():
            is_other = not others.isdisjoint(self._identities.conditions_of(id(part)))
            if is_other and isinstance(part, MUTABLE_CONTAINERS):
                raise StagingError(
                    f"{user_location()}\n  {self._name!r} calls itself under a traced condition, and binds {carried.place.name} to a "
                    f"{type(part).__name__} that was there before the call: which one it is, is known only at run time.\n"
                    f"  Bind a copy (list(…), dict(…)), or the number of the one that is meant."
                )

    # The contents of lists.

    def _in_room(self, carried: _Carried, owner: TracedList, contents: Any) -> Any:
        """What a list holds, in the room that it is carried with, which is enlarged if it has to be."""
        entry, current = self._like(carried.entry), self._like(carried.layout)
        room = room_for(
            entry, current, self._list_end(carried, owner, entry), None, self._room_without_bound(carried.place)
        )
        if room is not None:
            carried.layout, self.is_changed = self._typed(carried.place, *self._described(carried.place, room)), True
            current = room
        if not isinstance(current, Padded):
            return contents
        owner.check_room(current)
        return fitted(contents, current)

    def _list_end(self, carried: _Carried, owner: TracedList, entry: Any) -> ListEnd:
        """What a list is like that is given to a call, or left by one."""
        key = _key(carried.place)
        end = list_end(owner, carried.start, key, self._backend)
        before = entry.length if isinstance(entry, Padded) else len(entry)
        is_as_long = end.length is not None and isinstance(before, int) and end.length == before
        grows = end.extent.absolute(lambda origin: origin == key).grows
        return dataclasses.replace(end, extent=UNBOUNDED if grows and not is_as_long else Extent())

    def _room_without_bound(self, place: Place) -> Any:
        def room(given: int | None, least: Any, which: str) -> tuple[int, Room]:
            del given
            found = RoomInRecursion(self._where, place.name + which, function=self._name)
            rooms = None if LOCAL.frame is None else LOCAL.frame.rooms
            if rooms is None or not isinstance(least, int):
                raise found.refused("only an autograph.function can be run again with a larger capacity")
            return rooms.of(self._where, found.name, least), dataclasses.replace(found, rooms=rooms)

        return room

    def _like(self, layout: Layout) -> Any:
        """A value of a layout, of no matter which numbers: constants, as an operation may follow a call in tail position."""
        with jax.ensure_compile_time_eval():
            leaves = [
                self._backend.zeros(leaf.type) if isinstance(leaf, Array) else leaf.value  # type: ignore[attr-defined]
                for leaf in leaves_of(layout)
            ]
        return unflatten(layout, leaves)

    def refuse_arguments(self, copied: Mapping[int, Any]) -> None:
        """Refuse a call that is given copies of these containers, if what they hold is state."""
        if any(id(getattr(carried.place, "owner", None)) in copied for carried in self._carried):
            self.refuse_argument(user_location())

    def refuse_argument(self, where: str) -> NoReturn:
        """Refuse a write to an argument."""
        error = StagingError(
            f"{where}\n  {self._name!r} calls itself under a traced condition, and writes to a list or dict that it is given as an "
            "argument.\n  Make the list before the first call, which all calls pass on, or let a variable around the function hold it."
        )
        error._is_of_argument = True
        raise error

    def _held(self, place: Place) -> Any:
        value = place.get()
        is_result = getattr(place, "is_result", False)  # and read only where it is set
        if is_result and value is not UNBOUND and parts_of(value):
            raise StagingError(
                f"{user_location()}\n  {self._name!r} calls itself under a traced condition, and a `return` of a list, dict or object in a "
                "loop over what it yields ends it.\n  Assign the value to a variable that has one before the loop, `break`, and return "
                "it after the loop."
            )
        if value is UNBOUND and not is_result:
            raise StagingError(
                f"{user_location()}\n  {self._name!r} calls itself under a traced condition, and sets {place.name}, which has no "
                "value before the call.\n  Assign one."
            )
        return value

    def _described(self, place: Place, value: Any) -> tuple[Layout, list[Any]]:
        if value is UNBOUND:
            return NOTHING, []
        is_contents = isinstance(place, ContentsPlace)
        return describe(value, is_contents, is_contents and holds_list(place, value))

    def _typed(self, place: Place, layout: Layout, leaves: Sequence[Any]) -> Layout:
        """The layout with the types of these leaves. The length of a list is a number that may be known in all calls."""
        types = list(map(self._backend.type_of, leaves))
        if (
            _list_of(place) is not None
            and isinstance(layout, Seq)
            and layout.role == BUFFERS
            and known_length(layout.kind) is None
            and isinstance(leaves[0], int)
        ):
            types[0] = None
        return typed(layout, leaves, types)


def _list_of(place: Place) -> TracedList | None:
    """The list whose contents this is, if it may have a traced length."""
    owner = place.owner if isinstance(place, ContentsPlace) else None
    return owner if isinstance(owner, TracedList) else None


def _key(place: Place) -> ListKey:
    return id(place), ()


def _after_call(held: Padded, before: Any) -> Padded:
    """The contents of a list that a call gives back, of which what was known ``before`` the call is known."""
    rows = before.kind.rows() if isinstance(before, Padded) else {}
    after = {where: _as_known(row, rows.get(where)) for where, row in held.kind.rows().items()}
    held = held.with_(kind=held.kind.with_rows(after))
    return _as_known(held, before if isinstance(before, Padded) else None)


def _as_known(held: ListT, before: Padded | Row | None) -> ListT:
    """A list, or one in its elements, as long as before the call, or as its room allows where a call may lengthen it."""
    most = exactly(held.capacity)
    if before is None:
        return held.with_(reserved=False, extent=most)
    extent = before.extent
    if isinstance(held.reserved, Room):
        extent = extent.plus(math.inf)
    elif held.capacity > before.capacity:
        extent = extent.becoming(extent.join(most))
    return held.with_(reserved=before.reserved, extent=extent)
