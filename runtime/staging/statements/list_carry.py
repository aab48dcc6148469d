"""How a staged loop carries the lists that its iterations change."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from autograph.backends.base import MISSING, Backend, NotRollable
from autograph.runtime.containers.element_kinds import NUMBERS, Kind
from autograph.runtime.containers.extents import Extent
from autograph.runtime.containers.padded import Padded, has_mutable
from autograph.runtime.containers.parts import Path, parts_of
from autograph.runtime.containers.tables import is_large, is_table, rows_of
from autograph.runtime.containers.traced_lists import TracedList
from autograph.runtime.errors import StagingError
from autograph.runtime.heap.elements import refused_write
from autograph.runtime.heap.holders import reached
from autograph.runtime.heap.journal import ContentsPlace, Place
from autograph.runtime.layouts.describe import is_leaf
from autograph.runtime.layouts.kinds import Row
from autograph.runtime.layouts.list_room import MOST_RESERVED, Room, refuse_growth
from autograph.runtime.layouts.statement_variables import UNBOUND, Variable
from autograph.runtime.staging.access.outside_lists import write_later
from autograph.runtime.staging.policy.loop_options import LoopOptions
from autograph.runtime.staging.statements.carry import Carry
from autograph.runtime.staging.statements.growing_lists import GrowingList
from autograph.runtime.staging.statements.list_growth import (
    ListEnd,
    ListKey,
    alone,
    contents_after,
    contents_made,
    contents_of_lists,
    exchanged,
    fitted,
    list_end,
    lists_in,
    needs_room,
    room_for,
    unbounded,
)
from autograph.runtime.staging.statements.loop_state import BodyEnd, Carried, references_in
from autograph.runtime.tracing.recording import LOCAL, births

_LARGE = 256  # numbers
_MAY_WIDEN = 3  # times, until the room of a list counts as having no bound


class ListCarry:
    """How a loop carries lists.

    A list that each iteration appends the same number of elements to, and none reads, gets them from buffers that
    are filled by the iteration's index. Any other whose length iterations change is carried as a buffer and a length.

    Args:
      checks: the operators.
    """

    def __init__(
        self,
        backend: Backend,
        checks: Any,
        carry: Carry,
        options: LoopOptions,
        from_python: bool,
    ) -> None:
        self.backend = backend
        self.checks = checks
        self.carry = carry
        self.options = options
        self.from_python = from_python
        self.tables: set[ListKey] = set()  # that are held in arrays from the start
        self._met: list[ListKey] = []  # those that an iteration was seen to read at a traced index
        self._refitted: list[
            tuple[TracedList, Any]
        ] = []  # what an iteration has left in other room, each with what it held

    def _bound(self) -> Any:
        """How often the loop runs at most; None if that is not known."""
        bound = self.carry.iterable.length if self.carry.iterable.limit is None else self.carry.iterable.limit
        return None if self.backend.is_traced(bound) else bound

    def _trips(self) -> int | None:
        """How often the loop runs, where that is known."""
        is_known = (
            isinstance(self.carry.iterable.length, int)
            and self.carry.iterable.limit is None
            and self.carry.test is None
        )
        return self.carry.iterable.length if is_known else None

    def carry_list(self, place: Place, ended: ListEnd) -> None:
        """Carry the contents of a list, with room for all that the iterations append."""
        self.carry.snapshot.add(place)
        self.carry.variables.append(place)
        self.carry.found.add(id(place))
        carried = self.carry.start(place)
        self.widen(carried, {(): ended})
        self.carry.carried.append(carried)

    def drop_elements(self) -> None:
        """Carry no longer by itself what is an element of a list that holds its elements by value from now on."""
        elements = {
            id(part)
            for carried in self.carry.carried
            for path, contents in self._entry_contents(carried).items()
            if (id(carried.variable), path) in self.carry.by_value and isinstance(contents, tuple)
            for element in contents
            for part in parts_of(element).values()
        }
        if elements:
            self.carry.variables[:] = [
                each for each in self.carry.variables if id(getattr(each, "owner", None)) not in elements
            ]
            self.carry.snapshot.drop(elements)
            known = set(map(id, self.carry.variables))
            self.carry.carried[:] = [carried for carried in self.carry.carried if id(carried.variable) in known]

    def refuse_plain(self, end: BodyEnd) -> None:
        """Refuse to lengthen lists that unconverted code made, whose reads cannot be seen.

        Raises:
          StagingError: naming the list.
        """
        for place in end.discovered:
            owner = getattr(place, "owner", None)
            if not isinstance(owner, list) or isinstance(owner, TracedList) or place.key not in end.growing:
                continue
            self._refuse_from_python()
            found = self.carry.snapshot.name_of(owner)
            name = "a list" if found is None else repr(found)
            error = StagingError(
                f"{self.carry.where}\n  The iterations of this staged loop append to {name}, a list that was not made in converted code: "
                "what their reads of it cannot be tracked.\n  Append to a copy that the function creates: items = list(items)."
            )
            write_later([owner], error)
            raise error

    def carry_growing(self, growing: GrowingList, ended: ListEnd | None) -> None:
        """Carry the buffers of a list that each iteration appends to, and does not read."""
        growing.end = ended
        self.carry.growing.append(growing)
        for slot in growing.slots:
            self.carry.snapshot.add(slot)
            self.carry.variables.append(slot)
            self.carry.carried.append(self.carry.start(slot))

    def _refuse_from_python(self) -> None:
        """Leave to Python a loop that it could run, and that lengthens a list which no arrays can hold yet."""
        if self.from_python:
            raise NotRollable("it appends to a list of lists or objects, or to one that unconverted code made")

    def growing_list(self, place: Any, appended: tuple[Any, ...]) -> GrowingList | None:
        """The list as one that grows by a known amount; None if it is not known how often the loop runs."""
        if not isinstance(self.carry.iterable.length, int) or self.carry.test is not None:
            return None
        if not self.from_python and isinstance(place.owner, TracedList) and any(map(has_mutable, appended)):
            return None
        return GrowingList(place, appended, self.carry.iterable.length, self.backend)

    def carry_read(self, end: BodyEnd) -> bool:
        """Carry the lists that an iteration appends to and asks something of; True if there are any such."""
        read = [growing for growing in self.carry.growing if id(growing.place.owner) in end.reads]
        for growing in read:
            self.carry.growing.remove(growing)
            slots = set(map(id, growing.slots))
            self.carry.variables[:] = [variable for variable in self.carry.variables if id(variable) not in slots]
            self.carry.carried[:] = [carried for carried in self.carry.carried if id(carried.variable) not in slots]
            growing.place.set(growing.entry)
            self.carry_list(growing.place, growing.end)
        return bool(read)

    def around(self, ended: ListEnd, inner: Sequence[ListCarry]) -> ListEnd:
        """What a list that these loops, innermost first, lengthen inside of this one is like after an iteration of this one."""
        extent, kind = ended.extent, ended.kind
        for loop in inner:
            bound = loop._bound()
            extent = Extent().after(extent, bound)
            if isinstance(kind, Kind):
                kind = kind.with_extents(functools.partial(_after, bound))
        given = [loop.options.maximum_length for loop in inner if loop.options.maximum_length is not None]
        return dataclasses.replace(ended, extent=extent, kind=kind, length=None, given=max(given, default=ended.given))

    def _room(self, name: str, given: int | None, least: Any, which: str = "") -> tuple[int, Room]:
        """The room for a list that iterations lengthen without a known bound, and has ``least`` elements.

        It is the list of this name, or one in its elements, ``which``.

        Raises:
          StagingError: the program could not be run again with more.
        """
        name += which
        given = given if self.options.maximum_length is None else self.options.maximum_length
        if given is not None:
            return (max(given, least) if isinstance(least, int) else given), Room(self.carry.where, name)
        rooms = None if LOCAL.frame is None else LOCAL.frame.rooms
        if rooms is None or not isinstance(least, int):
            if self._bound() is None:
                raise refuse_growth(self.carry.where, name)
            raise refuse_growth(
                self.carry.where, name, f"its iterations may append more than {MOST_RESERVED:,} elements"
            )
        return rooms.of(self.carry.where, name, least), Room(self.carry.where, name, rooms)

    # The lists in carried variables.

    def starts(self, carried: Carried, value: Any) -> dict[Path, Any]:
        """What the lists in a variable's value hold when an iteration begins; their lengths are relative to these from now on."""
        if isinstance(carried.variable, ContentsPlace):
            value = carried.variable.owner
            if not isinstance(value, TracedList):
                return {}
        elif is_leaf(value):
            return {}
        elif type(value) is list:
            return {(): tuple(value)}
        for path, part in lists_in(value, carried.references).items():
            held = part.contents()
            if isinstance(held, Padded):
                part.padded = held.starting((id(carried.variable), path))
            else:
                part.forget_peak()
        return contents_of_lists(value, carried.references)

    def fit(self, variable: Variable, starts: dict[Path, Any]) -> dict[Path, ListEnd]:
        """Enlarge the lists in a variable's value to the room of those it is carried with; what they are like."""
        value = variable.owner if isinstance(variable, ContentsPlace) else variable.get()
        is_reference = value is not UNBOUND and id(variable) in self.carry.refers
        closed = references_in(self.carry.described(variable, value)[1]) if is_reference else frozenset()
        lists = {} if value is UNBOUND or is_leaf(value) else lists_in(value, closed)
        if type(value) is list and () in starts and not isinstance(variable, ContentsPlace):
            lists = {(): TracedList(value, self.checks)}
            if isinstance(starts[()], Padded):
                variable.set(lists[()])
        found = {}
        for path, part in lists.items():
            key: ListKey = (id(variable), path)
            start = starts.get(path)
            if isinstance(start, Padded):
                part.check_room(start)
                before = part.contents()
                self._refitted.append((part, before))
                if isinstance(before, tuple):
                    part.set_contents(())  # which leads to what has just been made
                held = fitted(before, start)
                if held is not part.contents():
                    part.set_contents(held)
                    self.checks.journal.refresh()  # it holds what it held, in other room
            found[path] = list_end(part, start, key, self.backend)
        return found

    def undo(self) -> None:
        """Let the lists that `fit` has enlarged hold what they held: one from before the loop may be what a variable is bound to."""
        for part, before in reversed(self._refitted):
            part.set_contents(before)
        self._refitted.clear()

    def relate(self, end: BodyEnd) -> None:
        """Have one bound for the lists that an iteration leaves in each other's places."""
        carried = {id(each.variable): each for each in self.carry.carried if each.is_input}
        ended = [
            (variable, last) for variable, last in zip(end.variables, end.ends, strict=True) if last and last.lists
        ]
        if not (ended or end.lists):
            return
        ends = {(id(variable), path): found for variable, last in ended for path, found in last.lists.items()}
        entries = {
            (id(variable), path): contents
            for variable, _ in ended
            if id(variable) in carried
            for path, contents in self._contents_before(carried[id(variable)]).items()
        }
        related = exchanged(ends, entries)
        for variable, last in ended:
            last.lists.update({path: related[id(variable), path] for path in last.lists})
        end.lists.update({key: alone(found) for key, found in end.lists.items()})

    def widen(self, carried: Carried, ends: dict[Path, ListEnd]) -> bool:
        """Enlarge the lists of a variable to the room that an iteration has shown they need; True if they had less."""
        entries = self._contents_before(carried)
        value = carried.at_start()
        mine = self._contents_in(carried, value)
        # Those that only iterations make, as long as the first made them.
        for path in mine.keys() & ends.keys() - entries.keys():
            if ends[path].is_array or ends[path].length != len(mine[path]):
                mine[path] = entries[path] = ()
        mine |= {path: () for path, held in mine.items() if isinstance(held, Padded) and held.length is MISSING}
        wider = {}
        for path, ended in ends.items():
            if path in mine and path in entries:
                without_bound = functools.partial(self._room, carried.variable.name)
                room = room_for(entries[path], mine[path], ended, self._bound(), without_bound)
                if room is not None and carried.widened[path] >= _MAY_WIDEN:  # it becomes longer by a factor, say
                    ended = unbounded(ended, mine[path])
                    room = room_for(entries[path], mine[path], ended, self._bound(), without_bound)
                if room is not None:
                    if isinstance(mine[path], tuple) and (id(carried.variable), path) not in self.carry.by_value:
                        self.carry.by_value.add((id(carried.variable), path))
                        room.note_given(mine[path], getattr(carried.variable, "owner", None))
                    carried.widened[path] += 1
                    wider[path] = room
        if not wider:
            return False
        if self.from_python and not self._numbers_held_as_constants(carried.variable, entries, wider):
            if any(needs_room(entries[path], ends[path]) for path in wider):
                self._refuse_from_python()
            return False
        if isinstance(carried.variable, ContentsPlace):
            value = wider[()]
        elif type(value) is list:
            value = TracedList((), self.checks).holding(wider[()])
        else:
            lists = lists_in(value, carried.references)
            for path, room in wider.items():
                lists[path].set_contents(room)
        new = self.carry.start(carried.variable, value)
        # The new buffers bear no mark: whether the variable is bound is known from before.
        carried.layout = new.layout
        carried.start = [*new.start[:-1], carried.start[-1]]
        carried.types = [*new.types[:-1], carried.types[-1]]
        return True

    def _numbers_held_as_constants(
        self, variable: Variable, entries: dict[Path, Any], wider: dict[Path, Padded]
    ) -> bool:
        """Hold the numbers of lists that Python could read as constants, which tell what is computed from Python numbers alone.

        Returns:
          Whether all of the lists may be held as arrays: elements that are objects may be written by themselves.
        """
        for path, room in tuple(wider.items()):
            if not isinstance(entry := entries[path], tuple) or not entry:
                continue
            of_table = (id(variable), path) in self.tables
            if not of_table and any(map(has_mutable, entry)):
                return False
            rows = (rows_of(entry) or []) if of_table else [jax.tree.leaves(element) for element in entry]
            is_by_rows = of_table and len(room.buffers) == 1 and len(room.buffers[0].shape) == 2
            if not is_by_rows and any(len(row) != len(room.buffers) for row in rows):
                return False
            columns: list[Any] = [rows] if is_by_rows else list(zip(*rows, strict=True))
            if all(type(leaf) in NUMBERS for row in rows for leaf in row):
                pairs = zip(columns, room.buffers, strict=True)
                wider[path] = room.with_(buffers=tuple(_constant(column, buffer) for column, buffer in pairs))
        return True

    def meets(self, table: TracedList) -> bool:
        """Note a table that an iteration reads at a traced index; True if the loop carries its numbers one by one."""
        key = self._find(table)
        if key is None or key in self._met:
            return False
        self._met.append(key)
        return True

    def hold_met(self) -> None:
        """Carry the tables that have been met in arrays."""
        for key in self._met:
            if key not in self.tables:
                self._hold(key)

    def hold_large(self) -> None:
        """Carry large lists of numbers, and tables, in arrays from the start: one by one, the numbers would be operands of each trace."""
        known = births()
        if known is None or not known.holds_tables:
            return
        for carried in tuple(self.carry.carried):
            for path, contents in self._entry_contents(carried).items():
                if not (isinstance(contents, tuple) and is_large(contents, _LARGE)):
                    continue
                if rows_of(contents[:1]):
                    if self._other_names(carried, self._table(carried, path), contents):
                        continue
                    known.holds_one = True
                    self.tables.add((id(carried.variable), path))
                known.holds_early = True
                self._hold_in_arrays(carried, path, contents)

    def _find(self, owner: TracedList) -> ListKey | None:
        """Where the loop carries a list; None if it does not."""
        for carried in self.carry.carried:
            for path, part in self._lists_now(carried).items():
                if part is owner:
                    return id(carried.variable), path
        return None

    def _lists_now(self, carried: Carried) -> dict[Path, TracedList]:
        if isinstance(carried.variable, ContentsPlace):
            return {(): carried.variable.owner}
        value = carried.variable.get()
        return {} if value is UNBOUND or is_leaf(value) else lists_in(value, carried.references)

    def _hold(self, key: ListKey) -> None:
        """Carry a table in arrays, if it can be.

        Raises:
          StagingError: another name leads to a row of it.
        """
        carried = next(each for each in self.carry.carried if id(each.variable) == key[0])
        entry = self._entry_contents(carried).get(key[1])
        if isinstance(entry, tuple) and is_table(entry, 0):
            self._refuse_other_names(carried, self._table(carried, key[1]), entry)
            self.tables.add(key)
            self._hold_in_arrays(carried, key[1], entry)

    def _hold_in_arrays(self, carried: Carried, path: Path, entry: tuple[Any, ...]) -> None:
        owner = TracedList((), self.checks).holding(Padded.holding(entry, self._table(carried, path)))
        self.widen(carried, {path: list_end(owner, entry, (id(carried.variable), path), self.backend)})
        self.drop_elements()

    def _table(self, carried: Carried, path: Path) -> TracedList:
        if isinstance(carried.variable, ContentsPlace):
            owner: TracedList = carried.variable.owner
            return owner
        return lists_in(carried.entry, carried.references)[path]

    def _refuse_other_names(self, carried: Carried, table: TracedList, rows: tuple[Any, ...]) -> None:
        """See that nothing that the loop reaches leads to the rows of a table but this: a write by another name would not be seen in it.

        Raises:
          StagingError: something else does, and the trace cannot be made again with the rows apart.
        """
        if self._other_names(carried, table, rows):
            raise refused_write(self.carry.where)

    def _other_names(self, carried: Carried, table: TracedList, rows: tuple[Any, ...]) -> bool:
        """Whether anything that the loop reaches leads to a row of a table but this."""
        place = carried.variable if isinstance(carried.variable, ContentsPlace) else None
        peak = table.peak
        table.set_contents(())
        try:
            values = [each.entry for each in self.carry.carried if each.variable is not place]
            return bool(reached(set(map(id, rows)), [*values, *self.carry.snapshot.reachable_before(apart_from=place)]))
        finally:
            table.set_contents(rows)
            table.peak = peak

    def _entry_contents(self, carried: Carried) -> dict[Path, Any]:
        """What the lists in a variable held before the loop."""
        entry = carried.entry if carried.longer is UNBOUND else carried.longer
        return {} if entry is UNBOUND else self._contents_in(carried, entry)

    def _contents_before(self, carried: Carried) -> dict[Path, Any]:
        """As `_entry_contents`. Lists in arrays that only iterations make, where there was None say, held nothing."""
        now = self._contents_in(carried, carried.at_start())
        made = {path: () for path, contents in now.items() if isinstance(contents, Padded)}
        return made | self._entry_contents(carried)

    def _contents_in(self, carried: Carried, value: Any) -> dict[Path, Any]:
        """What the lists hold that a value of a variable is, or has in it."""
        if isinstance(carried.variable, ContentsPlace):
            return {(): value}
        return {(): tuple(value)} if type(value) is list else contents_of_lists(value, carried.references)

    def after(self, carried: Carried, value: Any) -> Any:
        """A variable's value after the loop, with what is known of its lists."""
        entries = self._entry_contents(carried)
        is_place = isinstance(carried.variable, ContentsPlace)
        for path, contents in self._contents_in(carried, value).items():
            if not isinstance(contents, Padded) or path not in carried.lists:
                continue
            after: Any
            if path in entries:
                ended = carried.lists[path]
                bound, trips, many = self._bound(), self._trips(), self.carry.iterable.extent
                after = contents_after(contents, entries[path], ended, bound, trips, many)
            else:
                after = contents_made(contents)
            if is_place:
                return after
            lists_in(value, carried.references)[path].set_contents(after)
        return value


def _constant(numbers: Sequence[Any], buffer: Any) -> np.ndarray[Any, Any]:
    """The numbers, or rows of numbers, as the first items of an array of the length and dtype of a buffer."""
    held = np.asarray(numbers, buffer.dtype)
    return np.concatenate([held, np.zeros((len(buffer) - len(held), *held.shape[1:]), buffer.dtype)])


def _after(bound: Any, _: Any, row: Row) -> Extent:
    """How long lists in elements may be after so many iterations that do what theirs says."""
    return Extent().after(row.extent, bound)
