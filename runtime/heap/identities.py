"""`Identities`: which containers and objects may alias when the program runs.

Where a traced condition chooses between two lists, XLA chooses between what they hold: the result is a third list.
As long as nobody writes to them, the three cannot be told from what Python gives. A write to one that another name
would see is refused.

Each container that takes part has marks. A list that was there before has its own; one that was chosen has those of
all that it may be. Two that have a mark in common may be one.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from autograph.runtime.containers.parts import parts_of
from autograph.runtime.errors import StagingError
from autograph.runtime.heap.holders import holder
from autograph.runtime.heap.reach import CONTAINERS, contents, same
from autograph.runtime.layouts.objects import is_frozen, is_plain_object
from autograph.runtime.tracing.locations import user_location

Marks = frozenset[Hashable]


@dataclass(frozen=True)
class Choice:
    """What a traced index chose among.

    Attributes: key (the index), candidates (what is there), block (the region that was being traced).
    """

    key: Any
    candidates: Sequence[Any]
    block: Any


@dataclass
class _Known:
    """A container or object.

    Attributes:
      part: itself; kept, so that no other gets its identity.
      marks: what it may be.
      where: the statement that chose; empty for one that was there before.
      same_as: the one whose stand-in it is.
      held: its contents, as they were when last looked at; None if they may change unreported.
      choice: what a traced index chose it among, if one did.
    """

    part: Any
    marks: Marks
    where: str = ""
    same_as: Any = None
    held: Any = None
    choice: Choice | None = None


class Identities(threading.local):
    """What is known of the containers of the program that this thread traces."""

    def __init__(self) -> None:
        self._known: dict[int, _Known] = {}
        self._writes: dict[int, str | None] = {}
        self._through: dict[int, str] = {}
        self._apart: set[frozenset[int]] = set()
        self._serial = itertools.count()

    def clear(self) -> None:
        """Forget all: the program has been traced."""
        self._known.clear()
        self._writes.clear()
        self._through.clear()
        self._apart.clear()

    @property
    def any(self) -> bool:
        """Whether writes are to be checked."""
        return bool(self._known or self._writes)

    def inside(self) -> frozenset[Any]:
        """What is known when a block begins."""
        return frozenset(self._known) | {("watched", key) for key in self._writes}

    def leave(self, before: frozenset[Any]) -> None:
        """Forget what a block has made known: its values must not outlive its trace."""
        for key in [key for key in self._known if key not in before]:
            del self._known[key]
        for key in [key for key in self._writes if ("watched", key) not in before]:
            del self._writes[key]
            self._through.pop(key, None)
        self._apart = {pair for pair in self._apart if pair <= self._known.keys()}

    def new_mark(self) -> Hashable:
        """A mark that nothing has."""
        return ("new", next(self._serial))

    def marks_of(self, key: int) -> Marks | None:
        """The marks of the container with this identity; None if it takes part in nothing."""
        known = self._known.get(key)
        return None if known is None else known.marks

    def those_of(self, keys: Iterable[int]) -> dict[int, Any]:
        """Those containers of these identities that take part."""
        return {key: self._known[key].part for key in keys if key in self._known}

    def chosen_at(self, part: Any) -> str:
        """The statement that made a container what may be several; empty if none did."""
        known = self._known.get(id(part))
        return "" if known is None else known.where

    def own_mark(self, part: Any) -> Marks:
        """The marks of a container that was there before."""
        return self._entry(part).marks

    def _entry(self, part: Any) -> _Known:
        known = self._known.get(id(part))
        if known is None:
            known = self._known[id(part)] = _Known(part, frozenset([id(part)]), held=_held_by(part))
        return known

    def relate(self, part: Any, marks: Iterable[Hashable], where: str, same_as: Any = None) -> None:
        """Note what a new container may be, and the statement that made it so."""
        if not is_frozen(part):
            self._known[id(part)] = _Known(part, frozenset(marks), where=where, same_as=same_as, held=_held_by(part))

    def set_apart(self, one: int, other: int) -> None:
        """Note that two containers, though each may be the same third, are never one."""
        self._apart.add(frozenset([one, other]))

    def are_apart(self, one: int, other: int) -> bool:
        """Whether that has been noted."""
        return frozenset([one, other]) in self._apart

    def looked_up(self, value: Any, candidates: Sequence[Any], key: Any, block: Any) -> None:
        """Note that a new value, of the candidates' structure, is one of them, which a traced index chose."""
        found = parts_of(value)
        if not found:
            return
        columns = [parts_of(candidate) for candidate in candidates]
        for path, part in found.items():
            originals = [column[path] for column in columns]
            self.relate(part, frozenset().union(*map(self.own_mark, originals)), user_location())
            if id(part) in self._known:
                self._known[id(part)].choice = Choice(key, originals, block)

    def choice_of(self, part: Any) -> Choice | None:
        """What a traced index chose a container among, if one did."""
        known = self._known.get(id(part))
        return None if known is None else known.choice

    @contextmanager
    def writing_through(self, part: Any) -> Iterator[None]:
        """Surrounds a write to a container and to all that it may be, one after another."""
        known = self._known.pop(id(part))
        try:
            yield
        finally:
            self._known[id(part)] = known
            for each in (part, *(known.choice.candidates if known.choice else ())):
                self._entry(each).held = _held_by(each)

    def watch(self, part: Any) -> None:
        """Keep the line of the first write to a container."""
        self._writes.setdefault(id(part), None)

    def line_of_write(self, part: Any) -> str | None:
        """The line that first wrote to a container, if that is watched and was reported."""
        return self._writes.get(id(part))

    def line_of_write_through(self, part: Any) -> str | None:
        """The line that first wrote to another container, chosen by a traced condition, that may be this watched one."""
        return self._through.get(id(part))

    def check(self, part: Any, attribute: str | None = None) -> None:
        """Refuse a write to a container or object that another name would have to see.

        Raises:
          StagingError: naming the statement that chose.
        """
        if id(part) in self._writes and self._writes[id(part)] is None:
            self._writes[id(part)] = user_location()
        known = self._known.get(id(part))
        if known is None:
            return
        for key in known.marks:
            if isinstance(key, int) and key in self._writes and key != id(part):
                self._through.setdefault(key, user_location())
        self.check_held(known.marks, part, part, user_location(), attribute=attribute)
        for each in (known, *self._others(known.marks, part)):
            each.held = None  # nobody is left to mind

    def check_held(
        self,
        marks: Marks,
        part: Any,
        excepted: Any,
        line: str,
        where: str = "",
        attribute: str | None = None,
        name: str | None = None,
    ) -> None:
        """Refuse a write at ``line`` to a container with these marks, if one that it may be is held, ``excepted`` apart."""
        others = self._others(marks, excepted)
        found = holder({id(other.part) for other in others}) if others else None
        if found is not None:
            chosen = self.chosen_at(part) or where or self._known[found[0]].where
            raise refused(part, line, chosen, repr(found[1]), attribute, name)

    def _others(self, marks: Marks, part: Any) -> list[_Known]:
        known = self._known.get(id(part))
        original = None if known is None else known.same_as
        return [
            other
            for other in self._known.values()
            if other.part is not part
            and other.part is not original
            and (original is None or other.same_as is not original)
            and not marks.isdisjoint(other.marks)
            and not self.are_apart(id(part if original is None else original), _identity(other))
        ]

    def refresh(self) -> None:
        """Take what the containers hold now for what they are to hold: a staged statement has written to them."""
        for known in self._known.values():
            if known.held is not None:
                known.held = _held_by(known.part)

    def check_unreported(self) -> None:
        """Refuse writes that were not reported, to containers that another may have to see.

        Raises:
          StagingError: naming the statement that chose; where the write was is not known.
        """
        for known in list(self._known.values()):
            if known.held is None or not (others := self._others(known.marks, known.part)):
                continue
            now = contents(known.part)
            if not same(now, known.held):
                where = known.where or next((other.where for other in others if other.where), "")
                known.held = None
                raise _unreported(known.part, where)


def _identity(known: _Known) -> int:
    return id(known.part if known.same_as is None else known.same_as)


def _held_by(part: Any) -> Any:
    return contents(part) if isinstance(part, CONTAINERS) else None


def refused(part: Any, line: str, where: str, other: str, attribute: str | None, name: str | None) -> StagingError:
    """The error for a write at ``line`` to a container that may be the one that ``other`` leads to."""
    kind = type(part).__name__ if is_plain_object(part) else _kind_of(part)
    subject = f"{kind}.{attribute} of an object" if attribute is not None else f"{_article(kind)} {kind}"
    named = "" if name is None else f", {name!r},"
    choice = f", in the statement at {where}" if where else ""
    return StagingError(
        f"{line}\n  This writes {subject}{named} that a traced condition chose{choice}. It may be the one that {other} refers "
        f"to, so whether {other} sees the write is known only at run time.\n  Write to a copy (list(…), dict(…), "
        "copy.copy), write before the choice, or write in its branches."
    )


def _unreported(part: Any, where: str) -> StagingError:
    return StagingError(
        f"{where}\n  This statement chooses a {_kind_of(part)} by a traced condition, and one of its candidates is "
        "written later, by an operator like += or by a library. Which other names must see that write is known only at run "
        "time.\n  Choose a copy (list(…), dict(…), copy.copy), or write before the choice."
    )


def _article(kind: str) -> str:
    return "an" if kind[0] in "AEIOUaeiou" else "a"


def _kind_of(part: Any) -> str:
    return "list" if isinstance(part, list) else type(part).__name__
