"""How a staged loop carries the identity of containers and objects.

Each is a stand-in while the body is traced. One that iterations leave in its place is the one from before the loop,
and gets what the loop makes of it. Any other becomes a new one, of which `Identities` learns what it may be. An
iteration that writes to a stand-in which another name may lead to is refused, if that name is read.
"""

from __future__ import annotations

import collections
import itertools
from collections.abc import Hashable, Iterator, Sequence
from typing import Any

from autograph.backends.base import Backend, Output, Traced
from autograph.runtime.containers.parts import WHOLE, Path, parts_of, placed
from autograph.runtime.containers.traced_lists import TracedList
from autograph.runtime.heap.elements import element_marks, refused_element, refused_write
from autograph.runtime.heap.holders import reached, within_reach
from autograph.runtime.heap.identities import Identities, Marks, described, refused, refused_question, refused_read
from autograph.runtime.heap.journal import AttributePlace, ContentsPlace, Journal, Region
from autograph.runtime.heap.unknown import Reason
from autograph.runtime.layouts.describe import is_leaf
from autograph.runtime.layouts.statement_variables import UNBOUND
from autograph.runtime.staging.statements.body_containers import BodyContainers
from autograph.runtime.staging.statements.carry import Carry
from autograph.runtime.staging.statements.joined_parts import EndParts, made_anew
from autograph.runtime.staging.statements.loop_state import BodyAliasing, BodyEnd, Carried, Key


class PartCarry:
    """What a loop does to the identity of containers and objects.

    Attributes:
      shared: containers that have several names, one of which iterations write through: they are their own stand-ins.
      replaced: the places that iterations put another container in: at the start of a later one it is not that of
        before the loop.
      aliasing: what the last trace of the body said.
      unknown: the containers that iterations may have written, each with the error for a read.
      _raw, _marks: what each container of the state may be when an iteration ends, and when it begins (see `Identities`).
      _pairs: the places that may hold one container when an iteration begins.
      _fresh, _count: the marks of containers that iterations make, and how many places have each mark.
      _made, _new: the containers that are new after the loop: by what they were and became, and by place.
      _test: the loop's test as a program.
    """

    def __init__(self, backend: Backend, journal: Journal, identities: Identities, carry: Carry) -> None:
        self.backend = backend
        self.journal = journal
        self.identities = identities
        self.carry = carry
        self.shared: dict[int, Any] = {}
        self.replaced: set[Key] = set()
        self.aliasing = BodyAliasing()
        self.unknown: list[tuple[Any, Reason]] = []
        self._raw: dict[Key, Marks] = {}
        self._marks: dict[Key, set[Hashable]] = {}
        self._pairs: set[frozenset[Key]] = set()
        self._fresh: set[Hashable] = set()
        self._count: collections.Counter[Hashable] = collections.Counter()
        self._made: dict[Any, Any] = {}
        self._new: dict[Key, Any] = {}
        self._test: Traced | None = None

    def with_parts(self, carried: Carried, value: Any, stand_ins: BodyContainers, region: Region) -> Any:
        """The stand-in for a variable's value, its containers those that they represent where several names share them."""
        variable = carried.variable
        if isinstance(variable, ContentsPlace | AttributePlace):
            stand_ins.watch(variable.owner)
        if isinstance(variable, ContentsPlace) or is_leaf(value):
            return value
        entries = {} if carried.entry is UNBOUND else parts_of(carried.entry)
        position = self.carry.position(variable)

        def container_for(path: Path, part: Any) -> tuple[Any, bool]:
            entry = entries.get(path)
            if id(entry) not in self.shared or type(entry) is not type(part) or not isinstance(part, list | dict):
                return part, True
            if (position, path) in self.replaced:
                return part, True
            region.install(entry)
            return entry, True

        if self.shared:
            value = placed(value, container_for)
        for path, part in parts_of(value, carried.references).items():
            entry = entries.get(path)
            if part is not entry:
                region.add_made(part)
            if part is not entry or id(part) in self.shared or isinstance(part, WHOLE):
                stand_ins.add((position, path), part, entry, (position, path) in self.replaced)
        return value

    def share(self, end: BodyEnd) -> bool:
        """Let containers that iterations write to, and other names lead to, represent themselves; True if that is new."""
        aliasing = end.aliasing
        replaced = {key for key in aliasing.entries if key not in aliasing.kept} - self.replaced
        self.replaced |= replaced
        again = any(id(aliasing.entries[key]) in self.shared or key in aliasing.mistaken for key in replaced)
        written = {id(aliasing.entries[key]) for key in aliasing.changed if key in aliasing.entries}
        written |= {id(place.owner) for place in end.discovered if isinstance(place, ContentsPlace)}
        places: collections.Counter[int] = collections.Counter()
        found: dict[int, Any] = {}
        for key, entry in aliasing.entries.items():
            if id(entry) in written and id(entry) not in self.shared and isinstance(entry, list | dict):
                places[id(entry)] += 1
                if key in aliasing.kept:
                    found[id(entry)] = entry
        alone = [entry for entry in found if places[entry] == 1]
        if alone:
            with self.carry.emptied():
                others = reached(alone, self.carry.snapshot.reachable())
            for lonely in set(alone) - others.keys():
                del found[lonely]
        lists = aliasing.views.values()  # a write to an element is one to its list, whatever names that has
        for key, entry in aliasing.entries.items():
            if id(entry) in lists and id(entry) not in self.shared and key in aliasing.kept:
                found[id(entry)] = entry
        self.shared |= found
        return again or bool(found)

    def check(self, end: BodyEnd, test: Traced | None) -> None:
        """Refuse writes to containers that other names may lead to, at the fixed point.

        Raises:
          StagingError: naming the write and the other name.
        """
        self.aliasing, self._test = end.aliasing, test
        self._name_marks()
        for one, other, asked_at in self.aliasing.asked:
            if self._are_one(one, other, self._pairs):
                raise refused_question(asked_at, self.carry.where)
        owners = self._owners_written()
        self._check_elements(end, owners)
        if not end.aliasing.changed and not owners and not end.made_unknown:
            return
        with self.carry.emptied():
            for owner, reason in end.made_unknown:
                self._take_unknown(owner, reason)
            for key, line in end.aliasing.changed.items():
                self._check_write(end, key, line)
            for owner in owners:
                self._check_outer_write(end, owner)

    def _check_elements(self, end: BodyEnd, owners: Sequence[Any]) -> None:
        """Refuse writes to what may be an element of a list (see `Elements`) from an earlier iteration.

        Raises:
          StagingError: naming the write.
        """
        aliasing, identities = end.aliasing, self.identities
        marks = {key: element_marks(found) for key, found in self._marks.items()}
        for key, entry in aliasing.entries.items():
            if id(entry) in aliasing.views.values() and (id(entry) not in self.shared or key in self.replaced):
                raise refused_write(self.carry.where)
        for key in aliasing.given:
            for mark in marks.get(key, ()):
                identities.elements.share(mark)
            if key not in aliasing.entries:
                continue
            if key in aliasing.kept:  # the next iteration may append it again
                identities.elements.given_again(aliasing.entries[key])
            else:  # the first iteration
                identities.elements.given(aliasing.entries[key])
        for key, line in aliasing.changed.items():
            if marks.get(key) or (key in aliasing.given and key in aliasing.kept):
                raise refused_write(line or self.carry.where)
        for owner in owners:
            if element_marks(identities.marks_of(id(owner))) and id(owner) not in aliasing.views:
                raise refused_write(end.aliasing.lines.get(id(owner)) or self.carry.where)
        for key, found in marks.items():
            if found & aliasing.elements_written and key in aliasing.of:
                for other in self._read_among(end, [key]):
                    line = identities.elements.line_of_write(found & aliasing.elements_written)
                    raise refused_element(line)(f"{self.carry.variables[other].name!r} refers to")

    def _name_marks(self) -> None:
        """Find what each container of the state may be at the start of an iteration."""
        aliasing, identities = self.aliasing, self.identities
        found = {key: set(identities.marks_of(id(e)) or {id(e)}) for key, e in aliasing.entries.items()}
        raw: dict[Key, Marks] = {
            (k, path): self._at_end(ends.ids[path], marks)
            for k, ends in aliasing.ends.items()
            for path, marks in ends.marks.items()
        }
        for key in raw:
            found.setdefault(key, set())
        outer = {id(entry): entry for entry in aliasing.entries.values()}
        known = outer.keys() | aliasing.keys.keys()
        missing = {mark for marks in raw.values() for mark in marks if isinstance(mark, int)} - known
        outer |= identities.those_of(missing)
        if missing - outer.keys():
            outer |= reached(missing - outer.keys(), self.carry.snapshot.reachable())
        fresh: dict[Hashable, Hashable] = {}

        def settled(mark: Hashable) -> set[Hashable]:
            if isinstance(mark, int) and mark in aliasing.keys:
                return set().union(*(found[key] for key in aliasing.keys[mark] if key in found))
            if not isinstance(mark, int) or mark in outer:
                return {mark}
            if mark not in fresh:
                fresh[mark] = identities.new_mark()
            return {fresh[mark]}

        changes = True
        while changes:
            changes = False
            for key, marks in raw.items():
                if key in aliasing.kept:
                    continue
                new = found[key].union(*map(settled, marks))
                if new != found[key]:
                    found[key], changes = new, True
        self._marks = found
        self._raw = raw
        self._pairs = self._find_pairs()
        self._fresh = set(fresh.values())
        self._count = collections.Counter(mark for marks in found.values() for mark in marks)
        for mark in {mark for key, marks in found.items() if key not in aliasing.kept for mark in marks}:
            if mark in outer:
                identities.own_mark(outer[mark])

    def _at_end(self, key: int, marks: Marks) -> Marks:
        """The marks of what an iteration leaves in a place: a stand-in is what is in its own place at the start, whatever that may be."""
        return element_marks(marks) | {key} if key in self.aliasing.keys else marks

    def _find_pairs(self) -> set[frozenset[Key]]:
        """The places that may hold one container at the start of some iteration."""
        keys = list(self._marks)
        may_be = [
            (one, other)
            for one, other in itertools.combinations(keys, 2)
            if not self._marks[one].isdisjoint(self._marks[other])
        ]
        found = {frozenset(pair) for pair in may_be if self._begin_as_one(*pair)}
        changes = True
        while changes:
            changes = False
            for one, other in may_be:
                if frozenset([one, other]) not in found and self._end_as_one(one, other, found):
                    found.add(frozenset([one, other]))
                    changes = True
        return found

    def _begin_as_one(self, one: Key, other: Key) -> bool:
        first, second = self.aliasing.entries.get(one), self.aliasing.entries.get(other)
        if first is None or second is None:
            return False
        identities = self.identities
        marks = [identities.marks_of(id(entry)) or frozenset([id(entry)]) for entry in (first, second)]
        return not marks[0].isdisjoint(marks[1]) and not identities.are_apart(id(first), id(second))

    def _end_as_one(self, one: Key, other: Key, pairs: set[frozenset[Key]]) -> bool:
        if frozenset([one, other]) in self.aliasing.apart:
            return False
        return any(self._are_one(a, b, pairs) for a in self._raw.get(one, ()) for b in self._raw.get(other, ()))

    def _are_one(self, one: Hashable, other: Hashable, pairs: set[frozenset[Key]]) -> bool:
        """Whether two marks at the end of an iteration may be of one container."""
        if one == other:
            return True
        firsts, seconds = (self.aliasing.keys.get(mark, []) if isinstance(mark, int) else [] for mark in (one, other))
        if firsts and seconds:
            return any(frozenset([a, b]) in pairs for a in firsts for b in seconds)
        if firsts or seconds:
            mark = other if firsts else one
            return any(mark in self._marks.get(key, ()) for key in firsts or seconds)
        return False

    def _owners_written(self) -> list[Any]:
        """Containers and objects outside of the variables that iterations write to."""
        owners = [growing.place.owner for growing in self.carry.growing]
        for carried in self.carry.carried:
            place = carried.variable
            changes = any(result is not None for result in carried.results)
            if changes and isinstance(place, ContentsPlace | AttributePlace):
                owners.append(place.owner)
        return owners

    def _check_write(self, end: BodyEnd, key: Key, line: str | None) -> None:
        entry = end.aliasing.entries.get(key)
        name = self.carry.variables[key[0]].name
        others = [other for other in end.aliasing.of if frozenset([key, other]) in self._pairs]
        others = [other for other in others if end.aliasing.of[other] != end.aliasing.of[key]]
        for other in self._read_among(end, [other for other in others if not self._is_exact(key, other)]):
            raise self._conflict(entry, line, name, self.carry.variables[other].name)
        kept = key in end.aliasing.kept
        for held in self.identities.others(frozenset(self._marks.get(key, ())), entry if kept else None):
            if not kept or not self.identities.know_each_other(entry, held):
                self._take_unknown(held, self._reason(entry, line, name))

    def _is_exact(self, one: Key, other: Key) -> bool:
        """Whether the body's writes to what is in one of two places are writes to the other, where the two are one."""
        aliasing = self.aliasing
        if not {one, other} <= aliasing.kept & aliasing.entries.keys():
            return False
        return self.identities.know_each_other(aliasing.entries[one], aliasing.entries[other])

    def _reason(self, part: Any, line: str | None, name: str | None) -> Reason:
        where = self.identities.chosen_at(part) or self.carry.where
        return refused_read(described(part), line or self.carry.where, where, name)

    def _take_unknown(self, owner: Any, reason: Reason) -> None:
        """Let what a container holds be unknown after the loop."""
        if within_reach({id(owner)}, self.carry.snapshot.reachable()):
            raise reason("the loop's body refers to by another name")
        self.unknown.append((owner, reason))

    def spread_unknowns(self) -> None:
        for owner, reason in self.unknown:
            if not self.journal.make_unknown(owner, reason):
                raise reason("another variable refers to")

    def _check_outer_write(self, end: BodyEnd, owner: Any) -> None:
        line = end.aliasing.lines.get(id(owner))
        marks = self.identities.marks_of(id(owner)) or frozenset([id(owner)])
        others = [
            key for key, part in end.aliasing.of.items() if part != id(owner) and marks & self._marks.get(key, set())
        ]
        others = [key for key in others if not self._knows(key, owner)]
        for other in self._read_among(end, others):
            raise self._conflict(owner, line, None, self.carry.variables[other].name)
        for held in self.identities.others(marks, owner):
            if not self.identities.know_each_other(owner, held):
                self._take_unknown(held, self._reason(owner, line, None))

    def _knows(self, key: Key, owner: Any) -> bool:
        """Whether it is known when what is in this place, in any iteration, is another container."""
        aliasing = self.aliasing
        is_kept = key in aliasing.kept and key in aliasing.entries
        return is_kept and self.identities.know_each_other(aliasing.entries[key], owner)

    def _read_among(self, end: BodyEnd, keys: Sequence[Key]) -> Iterator[int]:
        """Those of the variables that an iteration reads."""
        read = self._read_variables(end) if keys else set()
        for key in keys:
            if key[0] in read or isinstance(end.aliasing.entries.get(key), WHOLE):
                yield key[0]

    def _conflict(self, part: Any, line: str | None, name: str | None, other: str) -> Exception:
        return refused(described(part), line or self.carry.where, self.carry.where, f"{other!r} refers to", name)

    def _read_variables(self, end: BodyEnd) -> set[int]:
        """The variables whose values an iteration, or the test, reads, or passes on to others, or to other places of theirs."""
        used, passed = self.backend.operands_used(end.traced)
        if self._test is not None:
            tested, outputs = self.backend.operands_used(self._test)
            used |= tested | set(outputs.values())
        spans = {k: each.span for k, each in enumerate(end.ends) if each is not None}
        found, operands = set(), itertools.count()
        for carried in self.carry.carried:
            if not carried.is_input:
                continue
            position = self.carry.position(carried.variable)
            places = [None if type is None else next(operands) for type in carried.types]
            mine = {operand for operand in places if operand is not None}
            kept = dict(enumerate(places, spans[position].start)) if position in spans else {}
            moved = {
                passed.get(leaf.index)
                for k, leaf in enumerate(end.traced.leaves)
                if isinstance(leaf, Output) and (k not in kept or passed.get(leaf.index) != kept[k])
            }
            # Of what has no leaves, an empty list say, nothing shows whether it is read.
            if not mine or mine & (used | moved):
                found.add(position)
        return found

    def all_kept(self, carried: Carried) -> bool:
        """Whether the loop leaves a variable the containers that it had."""
        position = self.carry.position(carried.variable)
        return all(key in self.aliasing.kept for key in self.aliasing.of if key[0] == position)

    def placed_after(self, carried: Carried, value: Any) -> Any:
        """A variable's value after the loop, with the containers that it had where iterations leave them."""
        if isinstance(carried.variable, ContentsPlace):
            if id(carried.variable.owner) in self.aliasing.moved:
                carried.variable.owner.moves += 1
            return value
        if is_leaf(value):
            return value
        position, aliasing = self.carry.position(carried.variable), self.aliasing
        ends = aliasing.ends.get(position)

        references = carried.references

        def container_for(path: Path, part: Any) -> tuple[Any, bool]:
            key = (position, path)
            entry = aliasing.entries.get(key)
            if id(part) in references:
                return part, False
            if key in aliasing.kept and entry is not None:
                if part is not entry and isinstance(entry, list | dict):
                    self.journal.touch(ContentsPlace(entry))
                if isinstance(entry, TracedList):
                    entry.moves += 1
                if self.identities.marks_of(id(entry)) is not None:
                    self._set_apart(key, entry)
                return entry, part is not entry
            pair = (id(entry) if entry is not None else None, None if ends is None else ends.ids.get(path))
            if entry is not None and pair[1] is not None and pair in self._made:
                return self._made[pair], True
            part = self._made[pair] = made_anew(part, self.journal)
            marks = self._marks.get(key, set())
            if any(self._count[mark] > 1 or mark not in self._fresh for mark in marks):
                surely = self._surely(ends, path) if carried.is_result and ends is not None else ()
                when = {mark: True if mark in surely else None for mark in marks}
                result_of = carried.variable if carried.is_result else None
                self.identities.relate(part, when, self.carry.where, result_of=result_of)
                self._set_apart(key, part)
            return part, True

        return placed(value, container_for)

    def _surely(self, ends: EndParts, path: Path) -> set[Hashable]:
        """The marks of those from before the loop that what the last iteration leaves here surely is."""
        aliasing, marks = self.aliasing, ends.surely.get(path, frozenset())
        found = {mark for mark in marks if mark not in aliasing.keys}
        for places in (places for mark, places in aliasing.keys.items() if mark in marks):
            for place in places:
                if place in aliasing.kept and place in aliasing.entries:
                    conditions = self.identities.conditions_of(id(aliasing.entries[place]))
                    found |= {mark for mark, condition in conditions.items() if condition is True}
        return found

    def _set_apart(self, key: Key, part: Any) -> None:
        """Note which of the other containers after the loop this one is not."""
        for other, made in self._new.items():
            if made is not part and frozenset([key, other]) not in self._pairs:
                self.identities.set_apart(id(part), id(made))
        self._new[key] = part
