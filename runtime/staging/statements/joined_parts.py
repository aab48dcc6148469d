"""The identity of containers and objects after a staged conditional: unchanged, new, or one of several.

A list that both branches leave in a place is that list still. Where they leave two, the place gets a third, and
`Identities` learns which it may be.
"""

from __future__ import annotations

import collections
import copy
from collections.abc import Collection, Hashable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from autograph.runtime.containers.parts import WHOLE, Path, parts_of, placed
from autograph.runtime.heap.elements import element_marks
from autograph.runtime.heap.holders import reached
from autograph.runtime.heap.identities import Condition, Identities, Marks, all_of, any_of, evaluated
from autograph.runtime.heap.journal import MUTABLE_CONTAINERS, AttributePlace, ContentsPlace, Journal
from autograph.runtime.layouts.objects import attributes_of, is_plain_object
from autograph.runtime.layouts.statement_variables import Variable


class EndParts:
    """The containers and objects of a value at the end of a block, by their identities: they must not outlive its trace.

    Attributes: ids, marks (see `Identities`), surely (the marks of those that it is on every path), apart (those that it never
      is, by their identities); by path.
    """

    def __init__(self, value: Any, identities: Identities) -> None:
        self.ids: dict[Path, int] = {}
        self.marks: dict[Path, Marks] = {}
        self.surely: dict[Path, Marks] = {}
        self.apart: dict[Path, frozenset[int]] = {}
        for path, part in parts_of(value).items():
            self.ids[path] = id(part)
            conditions = identities.conditions_of(id(part))
            self.marks[path] = frozenset(conditions)
            self.surely[path] = frozenset(mark for mark, condition in conditions.items() if condition is True)
            # Writes to objects that lead to each other are found by which may be one: what the block knows of them stays in it.
            self.apart[path] = frozenset() if is_plain_object(part) else identities.apart_from(id(part))

    def left_by(self, value: Any, written: Mapping[Any, EndParts]) -> EndParts:
        """These parts of ``value``, with what a branch that has ``written`` to attributes and containers in it has left there."""
        for path, part in parts_of(value).items() if written else ():
            if self.ids.get(path) != id(part):
                continue  # the branch has put another in its place
            for name in attributes_of(part) if is_plain_object(part) else (None,):
                place = ContentsPlace(part) if name is None else AttributePlace(part, name)
                if (inside := written.get(place.key)) is not None:
                    self._replace(path if name is None else (*path, name), inside, name is None)
        return self

    def _replace(self, path: Path, inside: EndParts, is_contents: bool) -> None:
        n = len(path) + is_contents
        for name in ("ids", "marks", "surely", "apart"):
            own, new = getattr(self, name), getattr(inside, name)
            kept = {each: found for each, found in own.items() if len(each) < n or each[: len(path)] != path}
            setattr(
                self, name, kept | {(*path, *rest): found for rest, found in new.items() if len(rest) >= is_contents}
            )


def made_anew(part: Any, journal: Journal) -> Any:
    """A container or object in a result that is none of those before the statement, as one that the program has just made."""
    if isinstance(part, WHOLE):
        part = copy.copy(part)
    if isinstance(part, MUTABLE_CONTAINERS) or is_plain_object(part):
        journal.born(part)
    return part


Ends = tuple["EndParts | None", "EndParts | None"]
When = dict[Hashable, Condition]
# A container at the end of a branch, when it is which, and what it never is.
Side = tuple[int, When, frozenset[int]] | None


class JoinedParts:
    """Finds for each container in the results of a conditional which one it is.

    Args:
      ends: of each result, on both paths.
      returned: by number, the variables of those that hold what is returned; they are read only where they are set.
      surely: of these, those that one path alone sets.
    """

    def __init__(
        self,
        identities: Identities,
        journal: Journal,
        where: str,
        predicate: Any,
        ends: Iterable[Ends],
        returned: Mapping[int, Variable] = MappingProxyType({}),
        surely: Collection[int] = (),
    ) -> None:
        self.identities = identities
        self.predicate = predicate
        self._opposite = lambda: ~predicate
        self.journal = journal
        self.where = where
        self.ends = list(ends)
        self._returned, self._surely = returned, surely
        self._outer: dict[int, Any] = {}
        self._fresh: dict[Hashable, Hashable] = {}
        self._count: collections.Counter[Hashable] = collections.Counter()
        self._placed: dict[Any, Any] = {}
        self._related: list[tuple[Any, list[Side]]] = []
        self._evaluated: dict[Any, Any] = {}

    def resolve(self, known: dict[int, Any], reachable: Iterable[Any]) -> None:
        """Find the containers that were there before the statement: those known, and what its code can reach.

        Raises:
          StagingError: one path leaves a container whose contents do not show what the program writes to it, and the other another.
        """
        self._refuse_hidden()
        sides = [side for pair in self.ends for side in pair if side is not None]
        wanted = {mark for side in sides for marks in side.marks.values() for mark in marks if isinstance(mark, int)}
        wanted.update(key for side in sides for key in side.ids.values())
        self._outer = self.identities.those_of(wanted) | {key: known[key] for key in wanted if key in known}
        missing = wanted - self._outer.keys()
        if missing:
            self._outer |= reached(missing, reachable)
        for pair in self.ends:
            for side, end in enumerate(pair):
                for marks in () if end is None else end.marks.values():
                    self._count.update(self._settled(marks, side))

    def _refuse_hidden(self) -> None:
        if not (hidden := self.journal.hidden):
            return
        for one, other in self.ends:
            if one is None or other is None:
                continue
            for path in one.ids.keys() | other.ids.keys():
                pair = one.ids.get(path), other.ids.get(path)
                if pair[0] != pair[1] and (found := next((key for key in pair if key in hidden), None)) is not None:
                    raise hidden[found][1]()

    def is_outer(self, part: Any) -> bool:
        """Whether a container or object in a result was there before the statement."""
        return id(part) in self._outer

    def kept(self, count: int) -> set[int]:
        """The containers from before that are in one place on both paths, among the first results, and come with them.

        What belongs to an object that is the result on both paths does not: the object is one leaf then. Nor does what
        a set or deque holds, which is one leaf always.
        """
        found: set[int] = set()
        for one, other in self.ends[:count]:
            if one is None or other is None:
                continue
            same = {path for path, key in one.ids.items() if other.ids.get(path) == key and key in self._outer}
            objects = {path for path in same if is_plain_object(self._outer[one.ids[path]])}
            whole = {path for path in same if isinstance(self._outer[one.ids[path]], WHOLE)}
            found |= {one.ids[p] for p in same - whole if not any(p[:n] in objects for n in range(len(p)))}
        return found

    def _settled(self, marks: Marks, side: int) -> set[Hashable]:
        """The marks of one branch, those of containers that it made its own."""
        return {self._settled_mark(mark, side) for mark in marks}

    def _settled_mark(self, mark: Hashable, side: int) -> Hashable:
        if not isinstance(mark, int) or mark in self._outer:
            return mark
        if (side, mark) not in self._fresh:
            self._fresh[side, mark] = self.identities.new_mark()
        return self._fresh[side, mark]

    def place(self, value: Any, k: int) -> Any:
        """The ``k``-th result with the containers in it that belong there."""
        sides = self.ends[k]

        def container_for(path: Path, part: Any) -> tuple[Any, bool]:
            keys = [None if end is None else end.ids.get(path) for end in sides]
            if keys[0] is not None and keys[0] == keys[1] and keys[0] in self._outer:
                target = self._outer[keys[0]]
                if target is not part and isinstance(target, list | dict):
                    self.journal.touch(ContentsPlace(target))
                if self.identities.marks_of(id(target)) is not None:
                    self._set_apart(target, self._sides(sides, path))
                return target, target is not part
            if (
                is_plain_object(part) and self._outer.get(id(part)) is part
            ):  # one of several, there before the statement
                return part, False
            names = [key if key is None or key in self._outer else (side, key) for side, key in enumerate(keys)]
            pair = tuple(names)
            if pair in self._placed and None not in pair:
                return self._placed[pair], True
            part = self._placed[pair] = made_anew(part, self.journal)
            self._relate(part, self._sides(sides, path), self._returned.get(k), k in self._surely)
            return part, True

        return placed(value, container_for)

    def list_of(self, place: Any, k: int) -> Any:
        """The list that the ``k``-th result is on both paths, or whose contents it is, where it was there before; None else."""
        if isinstance(place, ContentsPlace):
            return place.owner
        ids = {None if end is None else end.ids.get(()) for end in self.ends[k]}
        return self._outer.get(ids.pop() or 0) if len(ids) == 1 else None

    def _sides(self, ends: Ends, path: Path) -> list[Side]:
        return [
            None
            if end is None or path not in end.ids
            else (end.ids[path], self._when(end, path, side), end.apart[path])
            for side, end in enumerate(ends)
        ]

    def _when(self, end: EndParts, path: Path, side: int) -> When:
        """When a container at the end of a branch is which of those that it may be; what the branch knew of that is gone."""
        key = end.ids[path]
        if key in self._outer:
            here: When = dict.fromkeys(element_marks(end.marks[path]))
            return here | dict(self.identities.conditions_of(key))
        marks = end.marks[path]
        return {self._settled_mark(mark, side): True if mark in end.surely[path] else None for mark in marks}

    def _relate(self, part: Any, sides: list[Side], result_of: Variable | None, is_surely_it: bool) -> None:
        """Note what a new container may be: on each path, another container and the marks of that.

        ``is_surely_it``: on the other path it is never read.
        """
        one, other = ({} if side is None else side[1] for side in sides)
        marks = one.keys() | other.keys()
        if not any(self._is_shared(mark) for mark in marks):
            return
        for mark in marks:
            if mark in self._outer:
                self.identities.own_mark(self._outer[mark])
        when = {mark: self._either(self._held(one, mark), self._held(other, mark)) for mark in marks}
        if is_surely_it:
            when = {mark: self._held(one or other, mark) for mark in marks}
        # With a mark of its own, one condition says whether what is chosen later is this, whatever this may be.
        self.identities.relate(part, when | {id(part): True}, self.where, result_of=result_of)
        self._set_apart(part, sides)

    def _set_apart(self, part: Any, sides: list[Side]) -> None:
        """Note which of the other results, and of what was there before, a container is not, on either path."""
        for other, others in self._related:
            if other is not part and all(
                a is None or b is None or _differ(a, b) for a, b in zip(sides, others, strict=True)
            ):
                self.identities.set_apart(id(part), id(other))
        self._related.append((part, sides))
        ends = [side for side in sides if side is not None]
        for key in self.identities.those_of({key for end in ends for key in end[2]}):
            marks = self.identities.conditions_of(key).keys()
            if key != id(part) and all(key in end[2] or marks.isdisjoint(end[1]) for end in ends):
                self.identities.set_apart(id(part), key)

    def _held(self, when: When, mark: Hashable) -> Condition:
        """The condition for a mark, computed here: of a chain of choices, each would be computed again for all that follow."""
        return evaluated(self.identities.is_it(mark, when), self._evaluated)

    def _either(self, on_true: Condition, on_false: Condition) -> Condition:
        """One condition or another, by the predicate."""
        if on_true is True and on_false is True:
            return True
        return any_of(all_of(self.predicate, on_true), all_of(self._opposite, on_false))

    def _is_shared(self, mark: Hashable) -> bool:
        """Whether a container with this mark may be another one."""
        return self._count[mark] > 1 or not (isinstance(mark, tuple) and mark in self._fresh.values())


def _differ(one: tuple[int, When, frozenset[int]], other: tuple[int, When, frozenset[int]]) -> bool:
    return one[1].keys().isdisjoint(other[1]) or other[0] in one[2]
