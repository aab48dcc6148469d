"""`Rooms`: the capacities of lists without a known bound, and of the stacks of recursive functions.

XLA's sizes are fixed, so such a list begins with room for some elements. A program that runs out of it ends with
`OutOfRoom`: nothing it did counts, it is recorded again with room for four times as many, and run again. Where that cannot
be done, since the program prints or is part of another transform, a bound is asked for.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from autograph.runtime.errors import StagingError

AT_FIRST = 64
MOST_RESERVED = 2**24  # elements, by a bound: few programs that may append more do
_GROWTH = 4  # each time is a compilation: where many elements are needed, few of them
_REMEDY = "Make autograph.set_loop_options(maximum_length=…) the first statement of its body, or use an autograph.TensorArray(max_size=…)."
_ARRAY = "Write to an array of the maximum length, and count the elements."
_LIMIT = "Bound its depth: decorate it with autograph.recursion_limit(…)."


@dataclass(frozen=True)
class Room:
    """Room for a list that may prove too small.

    Attributes:
      where: the line of the loop that lengthens the list; name: the list's name.
      rooms: whose it is; None for a bound that the user sets.
      is_of_calls: whether it is no list, but the calls under way of the function of that name, which calls itself there.
    """

    where: str
    name: str
    rooms: Rooms | None = field(default=None, compare=False, repr=False)
    is_of_calls: bool = False

    def outgrown(self, capacity: Any) -> Exception:
        """The exception for a list that is to be longer than this."""
        if self.rooms is None:
            return IndexError(
                f"{self.where}\n  {self.name!r} exceeds its maximum_length of {capacity} elements.\n  Increase maximum_length."
            )
        if self.is_of_calls:
            return OutOfRoom(
                f"{self.where}\n  {self.name!r} exceeds its capacity of {capacity} nested calls, and this program "
                f"cannot be run again with a larger one.\n  {_LIMIT}",
                self,
                capacity,
            )
        return OutOfRoom(
            f"{self.where}\n  {self.name!r} exceeds its capacity of {capacity} elements, and this program cannot be run again with "
            f"a larger one.\n  {_REMEDY}",
            self,
            capacity,
        )

    def refused(self, why: str) -> StagingError:
        """The error where there can be no more room."""
        if self.is_of_calls:
            return StagingError(
                f"{self.where}\n  {self.name!r} calls itself under a traced condition, and {why}.\n  {_LIMIT}"
            )
        return StagingError(*refuse_growth(self.where, self.name, why).args)


@dataclass(frozen=True)
class RoomInRecursion(Room):
    """Room for a list that the calls of a recursive function lengthen.

    Attributes: function (its name).
    """

    function: str = ""

    def outgrown(self, capacity: Any) -> Exception:
        return OutOfRoom(
            f"{self.where}\n  {self.name!r} exceeds its capacity of {capacity} elements, and this program cannot be run again with "
            f"a larger one.\n  {_ARRAY}",
            self,
            capacity,
        )

    def refused(self, why: str) -> StagingError:
        return StagingError(
            f"{self.where}\n  {self.function!r} calls itself under a traced condition and changes the length of {self.name!r}, and "
            f"{why}.\n  {_ARRAY}"
        )


class OutOfRoom(StagingError):
    """A list has outgrown the room that its program has for it. Whoever can runs the program again with more."""

    def __init__(self, text: str, room: Room, capacity: int) -> None:
        super().__init__(text)
        self.room = room
        self.capacity = capacity


class Rooms:
    """The room for each list of one program.

    Attributes:
      version: how often any of them, or of those of programs that this one calls, has grown.
      asked: those that the last recording asked for, by the loop's line and the list's name.
    """

    def __init__(self, at_first: dict[tuple[str, str], int]) -> None:
        """``at_first``: what others like this one needed, kept up to date."""
        self._at_first = at_first
        self._sizes: dict[tuple[str, str], int] = {}
        self._grown = 0
        self._inner: weakref.WeakSet[Rooms] = weakref.WeakSet()
        self._lock = threading.Lock()
        self.asked: dict[tuple[str, str], int] = {}

    @property
    def version(self) -> int:
        return sum(rooms._grown for rooms in self._all())

    def _all(self) -> set[Rooms]:
        found, pending = set(), [self]
        while pending:
            rooms = pending.pop()
            if rooms not in found:
                found.add(rooms)
                pending += list(rooms._inner)
        return found

    def uses(self, inner: Rooms) -> None:
        """Note that the program calls that of ``inner``."""
        if inner is not self:
            self._inner.add(inner)

    def of(self, where: str, name: str, least: int, at_first: int = AT_FIRST) -> int:
        """How many elements a list has room for, ``least`` of which it has."""
        key = (where, name)
        size = self._sizes.get(key) or self._at_first.get(key, at_first)
        self._sizes[key] = size
        self.asked[key] = max(size, least)
        return max(size, least)

    def has_grown(self, room: Room) -> bool:
        """Whether this has once been too small."""
        key = (room.where, room.name)
        return (self._sizes.get(key) or self._at_first.get(key, AT_FIRST)) > AT_FIRST

    def grow(self, error: OutOfRoom) -> bool:
        """Make room for four times as many elements; False if the list is of another program."""
        rooms = error.room.rooms
        if rooms is None or rooms not in self._all():
            return False
        key = (error.room.where, error.room.name)
        with rooms._lock:
            if rooms._sizes.get(key, 0) <= error.capacity:
                rooms._sizes[key] = rooms._at_first[key] = _GROWTH * error.capacity
                rooms._grown += 1
        return True


class GrowthUnknown(StagingError):
    """A list grows in a loop of which it is not known how often it runs."""


def refuse_growth(
    where: str, name: str, why: str = "the number of its iterations is not known while tracing"
) -> GrowthUnknown:
    """The error for a list that grows by an amount that is not known, where nothing can be run again."""
    return GrowthUnknown(
        f"{where}\n  This staged loop appends to {name!r}, and {why}.\n  {_REMEDY} An autograph.function without "
        "prints and callbacks needs no bound."
    )


def refuse_to_run_again(sites: Iterable[Any], reason: str) -> None:
    """Refuse what runs out of room in a program that runs once for a ``reason``, of whose `RaiseSite`s it may be one.

    Raises:
      StagingError: it is. Checks of what is likely to fit are no refusal.
    """
    for room in (site.room for site in sites if site.room is not None and not site.is_check):
        why = f"{reason}, so it cannot be run again with a larger capacity"
        raise room.refused(why)
