"""`Identities`: which containers and objects may alias when the program runs.

Where a traced condition chooses between two lists, XLA chooses between what they hold: the result is a third list, one of
whose candidates it is. A write to one of the three is a masked write to the others, where the condition is known; where it
is not (iterations chose), what the others hold is `Unknown` from then on.

Each container that takes part has marks, each with the condition under which it is that container. A list that was there
before has its own; one that was chosen has those of all that it may be. Two that have a mark in common may be one.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from autograph.runtime.containers.parts import parts_of
from autograph.runtime.errors import StagingError
from autograph.runtime.heap.elements import Elements, element_marks, refused_write
from autograph.runtime.heap.journal import Journal
from autograph.runtime.heap.reach import CONTAINERS, contents, same
from autograph.runtime.heap.unknown import holds_unknown, is_unknown
from autograph.runtime.layouts.objects import is_plain_object
from autograph.runtime.layouts.references import is_reference
from autograph.runtime.layouts.statement_variables import UNBOUND, Variable, class_name
from autograph.runtime.tracing.locations import user_location
from autograph.runtime.tracing.recording import births

Marks = frozenset[Hashable]
Question = tuple[Any, Any, str]  # two containers or objects, and the line that asks whether they are one
Given = tuple[Any, Marks, Any]  # what a path has made an element, the marks that it got, and what else is known of it


# Whether a container is a certain one: known, traced, or computed where it is asked for; None if nothing says so.
Condition = Any


@dataclass
class _Known:
    """A container or object.

    Attributes:
      part: itself; kept, so that no other gets its identity.
      when: what it may be, and under which condition it is that.
      where: the statement that chose; empty for one that was there before.
      stands_for: the one from before a loop in whose place its body finds it.
      is_replaced: whether iterations put another there: in a later one it is not that, or not surely.
      held: its contents, as they were when last looked at; None if they may change unreported.
      check: what a write to it checks first.
      is_used: whether its conditions have decided what a write or a comparison does.
      result_of: the variable of what is returned, which nothing reads before that, if a statement made it for that.
    """

    part: Any
    when: Mapping[Hashable, Condition]
    where: str = ""
    stands_for: Any = None
    is_replaced: bool = False
    held: Any = None
    check: Callable[[], None] | None = None
    is_used: bool = False
    result_of: Variable | None = None

    @property
    def marks(self) -> Marks:
        return frozenset(self.when)

    @property
    def same_as(self) -> Any:
        """The one that it is in each iteration."""
        return None if self.is_replaced else self.stands_for


@dataclass(frozen=True)
class Before:
    """What was known when a block began.

    Attributes:
      elements: what took part, by identity: its marks as an element of lists, and what else is known of it as one.
      watched: whose writes are noted, by identity.
    """

    elements: Mapping[int, tuple[Marks, Any]]
    watched: frozenset[int]


_NOTHING = Before(MappingProxyType({}), frozenset())


@dataclass(frozen=True)
class Alias:
    """A container that may be the one that is written.

    Attributes:
      part: itself.
      condition: when it is; True or traced. None if nothing says so.
      where: the statement that chose.
      is_checked: whether the loop whose body is being traced refuses what nothing says: it stands in the body for one from
        before, or is one in whose place iterations put others.
    """

    part: Any
    condition: Any
    where: str
    is_checked: bool


class Identities:
    """What is known of the containers of the program that one thread traces.

    Attributes:
      elements: those that are elements of lists of traced length.
      asked: what was found not to be one, with the line, where nothing was known of either: in a loop that may be the
        first iteration's answer.
    """

    def __init__(self, journal: Journal) -> None:
        self.elements = Elements(self._mark, self.marks_of, journal)
        self.asked: list[Question] = []
        self._known: dict[int, _Known] = {}
        self._writes: dict[int, str | None] = {}
        self._through: dict[int, str] = {}
        self._apart: dict[int, set[int]] = {}
        self._chosen: set[int] = set()
        self._serial = itertools.count()

    @property
    def any(self) -> bool:
        """Whether writes are to be checked."""
        return bool(self._known or self._writes)

    def enter(self) -> Before:
        """What is known when a block, or a path, begins."""
        elements = {key: (element_marks(known.marks), self.elements.member(key)) for key, known in self._known.items()}
        return Before(elements, frozenset(self._writes))

    def leave(self, before: Before | None) -> None:
        """Forget what a block has made known: its values must not outlive its trace."""
        before = before or _NOTHING
        for key in [key for key in self._known if key not in before.elements]:
            known = self._known[key]
            if self.elements.lasts(known.part):
                known.when = {mark: when if when is True else None for mark, when in known.when.items()}
            else:
                del self._known[key]
                self.elements.forget(key)
        for key in [key for key in self._writes if key not in before.watched]:
            del self._writes[key]
            self._through.pop(key, None)
        self._apart = {key: others & self._known.keys() for key, others in self._apart.items() if key in self._known}
        self._chosen &= self._known.keys()

    def knew(self, before: Before | None, part: Any) -> bool:
        """Whether a container or object took part when a block began."""
        return before is not None and id(part) in before.elements

    def take_elements(self, before: Before | None) -> list[Given]:
        """What a path has made an element of a list, of what was there before it: on the other path it is none."""
        before = before or _NOTHING
        found = []
        for key, known in self._known.items():
            marks, member = before.elements.get(key, (frozenset(), None))
            new, now = element_marks(known.marks) - marks, self.elements.member(key)
            if new or now is not member:
                found.append((known.part, new, now))
                known.when = {mark: condition for mark, condition in known.when.items() if mark not in new}
                self.elements.restore(key, member)
        return found

    def give_elements(self, given: Iterable[Given]) -> None:
        """Note after a conditional what its paths have made elements."""
        for part, marks, member in given:
            known = self._entry(part)
            known.when = {**known.when, **dict.fromkeys(marks)}
            if member is not None:
                self.elements.given_on_a_path(part, member)

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
            known = self._known[id(part)] = _Known(part, {id(part): True}, held=_held_by(part))
            _note_chosen(part)
        return known

    def _mark(self, part: Any, mark: Hashable) -> None:
        """Note that a container, and so each that may be one with it, may have this mark."""
        known = self._entry(part)
        may_be_several = not self._chosen.isdisjoint(self._known)
        others = self._others(known.marks - element_marks(known.marks), part) if may_be_several else []
        for each in (known, *others):
            each.when = {**each.when, mark: None}

    def conditions_of(self, key: int) -> Mapping[Hashable, Condition]:
        """When the container with this identity is which of those that it may be."""
        known = self._known.get(key)
        return {key: True} if known is None else known.when

    def relate(
        self,
        part: Any,
        when: Mapping[Hashable, Condition],
        where: str,
        check: Callable[[], None] | None = None,
        result_of: Variable | None = None,
    ) -> None:
        """Note what a new container may be, under which conditions, and the statement that made it so.

        Args:
          check: is called before each write to it.
          result_of: the variable of what is returned, if only that holds it.
        """
        self._known[id(part)] = _Known(part, dict(when), where, held=_held_by(part), check=check, result_of=result_of)
        self._chosen.add(id(part))

    @contextmanager
    def unset(self, variables: Sequence[Variable]) -> Iterator[None]:
        """Surround a block that runs only where these variables, of what is returned, were not set: they have no value there.

        What the other paths returned is none of what the block writes to.
        """
        values = [variable.get() for variable in variables]
        hidden: list[_Known] = []
        for variable, value in zip(variables, values, strict=True):
            results = [id(part) for part in parts_of(value).values() if self.are_results([id(part)], variable)]
            hidden += map(self._known.pop, results)
            variable.set(UNBOUND)
        try:
            yield
        finally:
            self._known.update((id(known.part), known) for known in hidden)
            for variable, value in zip(variables, values, strict=True):
                variable.set(value)

    def are_results(self, keys: Iterable[int], variable: Variable) -> bool:
        """Whether the containers of these identities were made for this variable of what is returned, and only it holds them."""
        made_for = [None if known is None else known.result_of for known in map(self._known.get, keys)]
        return all(each is not None and each.key == variable.key for each in made_for)

    def stand_in(self, part: Any, entry: Any, is_replaced: bool) -> None:
        """Note what a container in a loop's body may be, in the place of ``entry``, which ``is_replaced`` by iterations or not."""
        when = self.conditions_of(id(entry))
        when = {**(dict.fromkeys(when) if is_replaced else when), id(part): True}
        self._known[id(part)] = _Known(part, when, self.chosen_at(entry), entry, is_replaced, _held_by(part))
        self._chosen.add(id(part))

    def set_apart(self, one: int, other: int) -> None:
        """Note that two containers, though each may be the same third, are never one."""
        self._apart.setdefault(one, set()).add(other)
        self._apart.setdefault(other, set()).add(one)

    def are_apart(self, one: int, other: int) -> bool:
        """Whether that has been noted."""
        return other in self._apart.get(one, ())

    def apart_from(self, key: int) -> frozenset[int]:
        """The containers that are never one with that of this identity, though both may be the same third."""
        return frozenset(self._apart.get(key, ()))

    def looked_up(
        self, value: Any, candidates: Sequence[Any], is_that: Callable[[int], Any], check: Callable[[], None]
    ) -> None:
        """Note that a new value, of the candidates' structure, is one of them.

        Args:
          is_that: when it is the candidate of this number.
          check: is called before each write to it.
        """
        found = parts_of(value)
        if not found:
            return
        columns = [parts_of(candidate) for candidate in candidates]
        for path, part in found.items():
            when: dict[Hashable, Condition] = {}
            for column in columns:
                self.own_mark(column[path])
                when |= dict.fromkeys(self.conditions_of(id(column[path])), False)
            for number, column in enumerate(columns):
                conditions = self.conditions_of(id(column[path]))
                for mark, so_far in when.items():
                    is_it = all_of(functools.partial(is_that, number), self.is_it(mark, conditions))
                    when[mark] = any_of(so_far, is_it)
            self.relate(part, when, user_location(), check=check)

    def reordered(self, values: Sequence[Any], before: Sequence[Any]) -> None:
        """Note that values are those ``before``, in an order that is traced: of what was not one, nothing has become one."""
        now, then = ([parts_of(value) for value in side] for side in (values, before))
        for path in set(now[0]).intersection(*now, *then) if now else ():
            news, olds = ([id(parts[path]) for parts in side] for side in (now, then))
            pairs = itertools.combinations(olds, 2)
            if all(a != b and (self.are_apart(a, b) or self._are_disjoint(a, b)) for a, b in pairs):
                for one, other in itertools.combinations(news, 2):
                    self.set_apart(one, other)

    def _are_disjoint(self, one: int, other: int) -> bool:
        return self.conditions_of(one).keys().isdisjoint(self.conditions_of(other))

    def is_it(self, mark: Hashable, when: Mapping[Hashable, Condition]) -> Condition:
        """Whether a container with these conditions is the one with this mark, which may itself be one of several."""
        if mark in when:
            return when[mark]
        known = self._known.get(mark) if isinstance(mark, int) else None
        return False if known is None else _are_one(known.when, when)

    def watch(self, part: Any) -> None:
        """Keep the line of the first write to a container."""
        self._writes.setdefault(id(part), None)

    def line_of_write(self, part: Any) -> str | None:
        """The line that first wrote to a container, if that is watched and was reported."""
        return self._writes.get(id(part))

    def line_of_write_through(self, part: Any) -> str | None:
        """The line that first wrote to another container, chosen by a traced condition, that may be this watched one."""
        return self._through.get(id(part))

    def note_write(self, part: Any) -> None:
        """Report a write to a container or object, before it is made."""
        if id(part) in self._writes and self._writes[id(part)] is None:
            self._writes[id(part)] = user_location()
        known = self._known.get(id(part))
        if known is None:
            return
        self.elements.check_write(part)
        if known.check is not None:
            known.check()
        for key in known.marks:
            if isinstance(key, int) and key in self._writes and key != id(part):
                self._through.setdefault(key, user_location())

    def note_contents(self, part: Any) -> None:
        """Take what a container holds now for what it is to hold: a reported write has been made."""
        known = self._known.get(id(part))
        if known is not None:
            known.held = _held_by(part)

    def held_otherwise(self, part: Any, before: Any) -> None:
        """Take what a container holds now for what it held ``before``: the same elements in another form."""
        known = self._known.get(id(part))
        if known is not None and known.held is not None and same(before, known.held):
            known.held = _held_by(part)

    def aliases(self, part: Any) -> list[Alias]:
        """What may be one with a container that is written, those left out that stand-ins represent."""
        known = self._known.get(id(part))
        if known is None:
            return []
        elements = element_marks(known.marks)
        stand_ins = [each for each in self._known.values() if each.stands_for is not None]
        represented = {id(each.same_as) for each in stand_ins}
        replaced = {id(each.stands_for) for each in stand_ins if each.is_replaced and id(each.part) in known.marks}
        others = [other for other in self._others(known.marks, part) if id(other.part) not in represented]
        for each in (known, *others):
            each.is_used = each.is_used or bool(others)
        found: dict[Any, Any] = {}
        return [
            Alias(
                other.part,
                evaluated(_are_one(known.when, other.when), found),
                known.where or other.where,
                other.stands_for is not None or id(other.part) in replaced,
            )
            for other in others
            if elements.isdisjoint(other.marks) or self.elements.may_see(other.part, part)
        ]

    def take_part(self, values: Iterable[Any]) -> bool:
        """Whether one of these may be another container or object."""
        return bool(self._known) and any(id(each) in self._known for each in values)

    def are_one(self, one: Any, other: Any) -> Condition:
        """When two containers or objects are one: known or traced; None if nothing says so."""
        if is_reference(one) or is_reference(other):
            return one is other
        known, another = self._known.get(id(one)), self._known.get(id(other))
        if one is other or known is None or another is None:
            if one is not other and may_change(one) and may_change(other):
                self._note_asked([one, *self._may_be(known)], [other, *self._may_be(another)])
            return one is other
        if _identity(known) == _identity(another):
            known.is_used = another.is_used = True
            return True
        if self.are_apart(id(one), id(other)):
            condition: Condition = False
        else:
            condition = evaluated(_are_one(known.when, another.when))
            self._note_asked(self._may_be(known), self._may_be(another))
        for each in (known, another):
            each.is_used = each.is_used or condition is not False
        return condition

    def _note_asked(self, ones: Iterable[Any], others: Sequence[Any]) -> None:
        """Note that none of these was taken to be one of the others."""
        self.asked += [(one, other, user_location()) for one in ones for other in others if one is not other]

    def _may_be(self, known: _Known | None) -> list[Any]:
        """Those that take part and that a container may be; none of one that does not take part itself."""
        return [] if known is None else [*self.those_of(mark for mark in known.when if isinstance(mark, int)).values()]

    def has_decided(self, part: Any) -> bool:
        """Whether a condition under which a container is another has decided what a write or a comparison does."""
        known = self._known.get(id(part))
        return known is not None and known.is_used and any(known.when[mark] is not None for mark in known.when)

    def others(self, marks: Marks, excepted: Any) -> list[Any]:
        """The containers that may be one with those of these marks, ``excepted`` apart."""
        return [other.part for other in self._others(marks, excepted)]

    def know_each_other(self, one: Any, other: Any) -> bool:
        """Whether it is known when two containers are one."""
        return _are_one(self.conditions_of(id(one)), self.conditions_of(id(other))) is not None

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
            if known.held is None or is_unknown(known.part):
                continue
            now = contents(known.part)
            if same(now, known.held) or holds_unknown(known.part, now):
                continue
            if element_marks(known.marks):
                raise refused_write(user_location())
            others = self._others(known.marks, known.part)
            if others:
                where = known.where or next((other.where for other in others if other.where), "")
                known.held = None
                raise _unreported(known.part, where)


def all_of(one: Condition, other: Condition) -> Condition:
    """Both conditions."""
    if one is False or other is False:
        return False
    if one is None or other is None:
        return None
    if one is True or other is True:
        return other if one is True else one
    return _Combined(operator.and_, one, other)


def any_of(one: Condition, other: Condition) -> Condition:
    """Either condition."""
    if one is True or other is True:
        return True
    if one is None or other is None:
        return None
    if one is False or other is False:
        return other if one is False else one
    return _Combined(operator.or_, one, other)


@dataclass(frozen=True, eq=False)
class _Combined:
    """Two conditions combined, which others may share."""

    combine: Callable[[Any, Any], Any]
    one: Condition
    other: Condition


def evaluated(condition: Condition, found: dict[Any, Any] | None = None) -> Any:
    """The condition in the block that is being traced.

    Args:
      found: those that have been evaluated there, each once: many are part of others, by exponentially many paths.
    """
    if not callable(condition) and not isinstance(condition, _Combined):
        return condition
    found = {} if found is None else found
    if condition not in found:
        if isinstance(condition, _Combined):
            value = condition.combine(evaluated(condition.one, found), evaluated(condition.other, found))
        else:
            value = condition()
        found[condition] = value
    return found[condition]


def _are_one(one: Mapping[Hashable, Condition], other: Mapping[Hashable, Condition]) -> Condition:
    found: Condition = False
    for mark in one.keys() & other.keys():
        both = all_of(one[mark], other[mark])
        if both is not None and (one[mark] is True or other[mark] is True):
            return both  # one of them surely is that container: the other is it, or it is not
        found = any_of(found, both)
    return found


def _identity(known: _Known) -> int:
    return id(known.part if known.same_as is None else known.same_as)


def _held_by(part: Any) -> Any:
    return contents(part) if isinstance(part, CONTAINERS) and not is_unknown(part) else None


def described(part: Any, attribute: str | None = None) -> str:
    """What is written, in an error's words: a container, or an attribute of an object."""
    kind = class_name(part)
    is_named = attribute is not None and not hasattr(type(part), "__autograph_is_plain__")
    return f"{kind}.{attribute} of an object" if is_named else f"{_article(kind)} {kind}"


def refused(subject: str, line: str, where: str, other: str, name: str | None = None) -> StagingError:
    """The error for a write at ``line`` to a container that may be the one that ``other``, as the user knows that.

    Args:
      subject: what is written (see `described`).
      where: the statement that chose; empty if none did.
      name: the variable that is written.
    """
    named = "" if name is None else f", {name!r},"
    choice = f", in the statement at {where}" if where else ""
    return StagingError(
        f"{line}\n  This writes {subject}{named} that a traced condition selected{choice}. It may be the one that {other}, so "
        "whether the write is visible there is known only at run time.\n  Write to a copy (list(…), dict(…), "
        "copy.copy), write before the selection, or write in its branches."
    )


def refused_read(subject: str, line: str, where: str, name: str | None = None) -> Callable[[str], StagingError]:
    """The error for what a write at ``line`` may have changed, by what that is to the user (see `refused`)."""
    return lambda other: refused(subject, line, where, other, name)


def _unreported(part: Any, where: str) -> StagingError:
    return StagingError(
        f"{where}\n  This statement chooses a {class_name(part)} by a traced condition, and one of its candidates is "
        "written later, by an operator like += or by a library. Which other names must see that write is known only at run "
        "time.\n  Choose a copy (list(…), dict(…), copy.copy), or write before the choice."
    )


def refused_question(line: str, where: str) -> StagingError:
    """The error for ``is`` at ``line``, of what the statement ``where`` chooses."""
    return StagingError(
        f"{line}\n  This tests whether two lists, dicts or objects are identical. The statement at {where} selected "
        "one of them, and which one is known only at run time.\n  Compare their contents, or select a number and compare that."
    )


def may_change(part: Any) -> bool:
    """Whether a value is what it is by its identity: a container or object that can be written."""
    return isinstance(part, CONTAINERS) or is_plain_object(part)


def _note_chosen(part: Any) -> None:
    if is_plain_object(part) and (known := births()) is not None:
        known.chosen.add(type(part))


def _article(kind: str) -> str:
    return "an" if kind[0] in "AEIOUaeiou" else "a"
