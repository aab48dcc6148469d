"""`Births`: where the sets and dicts of a program are made, and which of them have elements or keys that only run time knows.

A set is Python's own, and so is a dict, until the program adds a traced element, or writes to a traced key. That cannot be made
good in what is there: the trace ends with `KeysAtRunTime`, and is made again, in which what that expression makes is a
`TracedSet` or a `TracedDict` from the start.

A list of many lists is held in arrays once a traced index reads it. Where that is refused, as another name leads to one of the
lists, the trace is made again, too, in which they stay apart. So it is where paths lengthen a list from outside, in which the
program writes that when it runs, as `Feature.LISTS` has it do. And so it is where objects that lead to each other, nodes, are chosen
by a condition as others are, and where a trace is refused that has chosen objects: see `layouts.references`.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from autograph.backends.thread import LOCAL
from autograph.runtime.errors import StagingError
from autograph.runtime.tracing.locations import user_location

Line = tuple[str, int]
Site = tuple[str, int, int]  # an expression by its line and column
_EMPTY: Mapping[str, str] = MappingProxyType({"dict": "{}"})


class TraceAgain(BaseException):
    """Ends a trace that is to be made again, knowing more. No handler of the program's is for it.

    Attributes:
      is_for_caller: whether it is the caller of the program that makes the trace again.
    """

    is_for_caller = False

    def refusal(self) -> Exception:
        """The error where the trace cannot be made again."""
        raise NotImplementedError


class KeysAtRunTime(TraceAgain):
    """What an expression makes has elements, or keys, that are known only at run time.

    Attributes:
      sites: the expressions.
    """

    def __init__(self, sites: set[Site], what: str) -> None:
        super().__init__(what)
        self.sites = sites
        self._refusal = (
            f"{user_location()}\n  {what}, which the program must know when it makes that: but it has printed, called Python or "
            "assigned a Variable before this, so it cannot be traced again here.\n  Call the function through autograph.function."
        )

    def refusal(self) -> StagingError:
        return StagingError(self._refusal)


class ListsApart(TraceAgain):
    """Lists in a list cannot be held in arrays."""

    def __init__(self, refusal: StagingError) -> None:
        super().__init__(str(refusal))
        self._refusal = refusal

    def refusal(self) -> StagingError:
        return self._refusal


class NodesChosen(TraceAgain):
    """A condition chooses objects by their attributes where that would be wrong, or is refused."""

    def __init__(self, kinds: Iterable[type], refusal: StagingError) -> None:
        super().__init__(str(refusal))
        self.kinds = frozenset(kinds)
        self._refusal = refusal

    def refusal(self) -> StagingError:
        return self._refusal


class WrittenLater(TraceAgain):
    """Lists from outside the function are to be written when the program runs.

    Attributes: owners.
    """

    def __init__(self, owners: Iterable[Any], refusal: StagingError) -> None:
        super().__init__(str(refusal))
        self.owners = tuple(owners)
        self._refusal = refusal

    def refusal(self) -> StagingError:
        return self._refusal


class OperatorsAsked(TraceAgain):
    """Python's own operator was given what it does not know as traced: two tuples, or an int that no array can hold.

    Attributes:
      line: the file and the line where it is, in a function that is to ask the operators of the trace.
    """

    def __init__(self, line: Line, refusal: Callable[[], Exception]) -> None:
        super().__init__(f"an operator at {line}")
        self.line = line
        self._refusal = refusal

    def refusal(self) -> Exception:
        return self._refusal()


class ArraysHeld(TraceAgain):
    """A write to an array has to be seen through other names than that which it is written by.

    In the trace that is made again, the arrays that NumPy makes, and those among the arguments, are places (`state.given_arrays`).
    """

    def __init__(self, refusal: Exception) -> None:
        super().__init__(str(refusal))
        self._refusal = refusal

    def refusal(self) -> Exception:
        return self._refusal


class Births:
    """What one trace knows of the sets and dicts that it makes, and of the classes whose objects lead to each other.

    Attributes:
      leading: the classes whose objects were seen to lead to others of the same class.
      chosen: the classes of objects that may be one of several.
      holds_tables: whether lists of many lists may be held in arrays. holds_one: whether one is.
      holds_early: whether a large list is, or table, before a traced index has read it.
    """

    def __init__(self) -> None:
        self.holds_tables = True
        self.holds_one = False
        self.holds_early = False
        self.leading: set[type] = set()
        self.chosen: set[type] = set()
        self._keyed: set[Site] = set()
        self._later: dict[int, Any] = {}
        self._made: dict[int, tuple[Any, frozenset[Site]]] = {}

    def note(self, made: Any, site: Site) -> None:
        """Note that a set or dict has been made there; a frozenset may be made in several places."""
        _, known = self._made.get(id(made), (made, frozenset()))
        self._made[id(made)] = (made, known | {site})

    def stands_for(self, other: Any, *made: Any) -> None:
        """Note that ``other`` is in the place of a set or dict, or of one of several."""
        if made and all(map(self.knows, made)):
            self._made[id(other)] = (other, frozenset().union(*(self._made[id(each)][1] for each in made)))

    def is_keyed(self, site: Site) -> bool:
        """Whether what is made there has elements or keys that are known only at run time."""
        return site in self._keyed

    def knows(self, owner: Any) -> bool:
        """Whether this set or dict was made in the trace."""
        return id(owner) in self._made

    def differ(self, *values: Any) -> None:
        """Make the trace again if one of these, which paths of a traced condition leave in one place, is a set or Counter made in it."""
        for value in values:
            if type(value) in (set, frozenset, Counter) and self.knows(value) and all(map(can_be_element, value)):
                self.end_trace(value, f"A traced condition selects one of several {type(value).__name__}s")

    def dict_differs(self, keys: list[Any], is_alike: Callable[[dict[Any, Any]], bool]) -> None:
        """Make the trace again if it has made a dict like one with these keys, where a path leaves one with traced keys."""
        sites = {
            site for made, sites in self._made.values() if isinstance(made, dict) and is_alike(made) for site in sites
        }
        if sites and all(map(can_be_element, keys)):
            raise KeysAtRunTime(sites, "A traced condition selects one of several dicts")

    def end_trace(self, owner: Any, what: str) -> None:
        """Make the trace again, in which ``owner`` has such elements or keys.

        Args:
          what: what has shown that it has, a sentence without its end.

        Raises:
          StagingError: it was not made in the trace.
        """
        if self.knows(owner):
            raise KeysAtRunTime(set(self._made[id(owner)][1]), what)
        # One that a statement has made of several: of them one cannot be told.
        alike = {
            site
            for made, sites in self._made.values()
            if type(made) is type(owner) and all(map(_is_number, made))
            for site in sites
        }
        if alike and all(map(_is_number, owner)):
            raise KeysAtRunTime(alike, what)
        kind = type(owner).__name__
        raise StagingError(
            f"{user_location()}\n  {what}. This {kind} was not made in converted code, or has texts as keys, so the program cannot make "
            f"another in its place.\n  Make one for the traced keys in the function: {_EMPTY.get(kind, f'{kind}()')}."
        )

    def refuse_tables(self, refusal: StagingError) -> None:
        """Make the trace again, in which lists in lists stay apart, if some are held in arrays."""
        if self.holds_one:
            raise ListsApart(refusal)

    def write_later(self, owners: Iterable[Any], refusal: StagingError) -> None:
        """Make the trace again, in which these lists from outside are written when the program runs, if they are not already."""
        if fresh := [owner for owner in owners if not self.is_written_later(owner)]:
            raise WrittenLater(fresh, refusal)

    def is_written_later(self, owner: Any) -> bool:
        """Whether this is such a list."""
        return id(owner) in self._later

    def link(self, kinds: Iterable[type], refusal: StagingError) -> None:
        """Make the trace again, in which the objects of these classes are references.

        Raises:
          StagingError: they are already.
        """
        if LOCAL.linked.issuperset(kinds):
            raise refusal
        raise NodesChosen(kinds, refusal)

    def linkable(self) -> frozenset[type]:
        """The classes whose objects a trace that is refused has chosen as others are, and would choose otherwise as references."""
        return frozenset(self.leading | self.chosen) - LOCAL.linked

    def learn(self, found: TraceAgain) -> None:
        """Begin again, knowing more."""
        self.holds_one = self.holds_early = False
        if isinstance(found, ArraysHeld):
            if LOCAL.places:
                raise found.refusal() from None
            LOCAL.places = True
            self._made.clear()
            return
        if isinstance(found, NodesChosen):
            LOCAL.linked |= found.kinds
            self._made.clear()
            return
        if isinstance(found, WrittenLater):
            self._later |= {id(owner): owner for owner in found.owners}
            self._made.clear()
            return
        if isinstance(found, ListsApart | OperatorsAsked):
            self.holds_tables = self.holds_tables and not isinstance(found, ListsApart)
            self._made.clear()
            return
        assert isinstance(found, KeysAtRunTime)
        if found.sites <= self._keyed:
            raise found.refusal() from None
        self._keyed |= found.sites
        self._made.clear()


def _is_number(value: Any) -> bool:
    return type(value) in (bool, int, float) or (isinstance(value, tuple) and all(map(_is_number, value)))


def can_be_element(value: Any) -> bool:
    """Whether a list of traced length can hold this, and a set."""
    if isinstance(value, tuple):
        return all(map(can_be_element, value))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return all(can_be_element(getattr(value, field.name)) for field in dataclasses.fields(value))
    return type(value) in (bool, int, float, str)
