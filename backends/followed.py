"""`Followed`: the values of a trace that are arrays of its caller's, for as long as nothing writes to them.

Arrays are values in a program. One that the function writes in place has to be a place, so that all names see the write, and so does
the caller. A trace begins with all of them as values, and follows these through loops and branches. See `tracing.caller_arrays`.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from autograph.backends.selected import STAGING
from autograph.backends.thread import LOCAL


class Followed:
    """The values of a trace that are arrays of the caller's.

    Attributes:
      program: the program that is traced, which keeps the numbers of those that are written (``writes``).
      awaited: the numbers of those whose writes the caller is to see.
      is_called: whether a call has said which these are.

    Args:
      arrays: the inputs that are followed, each with its number.
    """

    def __init__(self, program: Any, arrays: Iterable[tuple[int, Any]], awaited: Container[int]) -> None:
        self.program, self.awaited, self.is_called = program, awaited, False
        self._numbers: dict[int, tuple[Any, int]] = {id(array): (array, number) for number, array in arrays}
        self._read: dict[int, tuple[Any, str]] = {}

    def number_of(self, value: Any) -> int | None:
        """The number of the array that this value is; None if it is none."""
        known = self._numbers.get(id(value))
        return None if known is None else known[1]

    def place_of(self, value: Any) -> str | None:
        """The name of the argument, a place by now, of which this value has been read; None if there is none."""
        known = self._read.get(id(value))
        return None if known is None else known[1]

    def note(self, new: Any, old: Any) -> bool:
        """Note that ``new`` is now what ``old`` was; whether ``old`` was one of them."""
        if (number := self.number_of(old)) is not None:
            self._numbers[id(new)] = new, number
        elif (name := self.place_of(old)) is not None:
            self._read[id(new)] = new, name
        return number is not None or self.place_of(old) is not None

    def note_read(self, value: Any, name: str) -> None:
        """Note that a value has been read of a place, an argument of this name."""
        self._read[id(value)] = value, name

    def counts(self) -> tuple[int, int]:
        """How many values are known; see `forget`."""
        return len(self._numbers), len(self._read)

    def forget(self, counts: tuple[int, int], is_done: Callable[[Any], bool]) -> None:
        """Forget the values that have come since, in a trace that has ended."""
        tables: tuple[dict[int, Any], ...] = (self._numbers, self._read)
        for known, count in zip(tables, counts, strict=True):
            for key, (value, _) in list(known.items())[count:]:
                if is_done(value):
                    del known[key]


def follow(new: Sequence[Any], old: Sequence[Any]) -> None:
    """Note that each of ``new`` is now what that of ``old`` was, or a view of it."""
    if LOCAL.followed is None:
        return
    for one, other in zip(new, old, strict=False):
        while other is not None and not LOCAL.followed.note(one, other):
            other = STAGING.viewed(other)


def is_followed_anew(values: Sequence[Any], known: Iterable[Sequence[Any]]) -> bool:
    """Whether one of some values is an array of the caller's, and none of the known ones in its place is."""
    if LOCAL.followed is None:
        return False
    number_of = LOCAL.followed.number_of
    of_callers = {k for k, value in enumerate(values) if number_of(value) is not None}
    return not of_callers.issubset(k for each in known for k, old in enumerate(each) if number_of(old) is not None)


@contextmanager
def calling_for(numbers: Sequence[int]) -> Iterator[None]:
    """Run a program for a call that is to write into its arrays of these numbers."""
    outer, LOCAL.callers = LOCAL.callers, numbers
    try:
        yield
    finally:
        LOCAL.callers = outer


@contextmanager
def following(program: Any, arrays: Sequence[Any], places: Container[int]) -> Iterator[None]:
    """Trace a program, whose inputs these are; those of some numbers are places already."""
    every = range(len(arrays))
    chosen = [(number, arrays[number]) for number in every if number not in places]
    followed = Followed(program, chosen, every if LOCAL.callers is None else LOCAL.callers)
    followed.is_called = LOCAL.callers is not None
    outer, LOCAL.followed = LOCAL.followed, followed
    callers, LOCAL.callers = LOCAL.callers, None
    try:
        yield
    finally:
        LOCAL.followed, LOCAL.callers = outer, callers
