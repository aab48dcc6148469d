"""Writes to NumPy arrays of the caller's in a trace.

The first write to one, as a value, ends the trace with `ArraysWritten`. It is made again with a place for that array
(`state.given_arrays`), which all names see, and the caller gets the contents of.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from autograph.backends.selected import STAGING
from autograph.backends.thread import LOCAL
from autograph.runtime.errors import StagingError
from autograph.runtime.tracing.births import TraceAgain
from autograph.runtime.tracing.locations import user_location
from autograph.runtime.tracing.recording import hold_arrays


class ArraysWritten(TraceAgain):
    """A trace writes in place to an array that its caller has, or depends on which of the caller's arrays are NumPy's.

    Attributes:
      program: the program that is traced.
      number: that of the array among its inputs; None if none is written.
    """

    is_for_caller = True

    def __init__(self, program: Any, number: int | None) -> None:
        super().__init__("the caller's arrays are written in place, or told apart by their kinds")
        self.program, self.number = program, number


def number_of(value: Any) -> int | None:
    """The number of the caller's array that a value is, or is a view of."""
    found = None
    while LOCAL.followed is not None and value is not None and found is None:
        found, value = LOCAL.followed.number_of(value), STAGING.viewed(value)
    return found


def will_write(target: Any) -> None:
    """Report that something writes in place to an array.

    Raises:
      ArraysWritten: it is an array of the caller's, who is to see that.
      ArraysHeld: it is a view of a place, which it is not known to be.
      StagingError: likewise, and the trace cannot be made again.
    """
    followed = LOCAL.followed
    seen = target.values if followed is not None and hasattr(type(target), "__autograph_rows__") else target
    while followed is not None and seen is not None:
        if (number := followed.number_of(seen)) is not None:
            followed.program.writes.add(number)
            if number in followed.awaited:
                raise ArraysWritten(followed.program, number)
            return
        if (name := followed.place_of(seen)) is not None:
            refusal = StagingError(
                f"{user_location()}\n  This writes to a view of the argument {name!r}, made by another operation than an index of known "
                f"length: in the program it is an array of its own, and {name!r} would keep its contents.\n"
                f"  Write to {name!r} itself, by an index; or to a copy, x = x.copy()."
            )
            hold_arrays(refusal)
            raise refusal
        seen = STAGING.viewed(seen)


def may_be_numpys() -> bool:
    """Whether ``x += v`` of an array whose kind the trace has not kept may write to one of NumPy's, in place.

    Raises:
      ArraysWritten: the caller has given arrays of NumPy's, and the trace was not told so.
    """
    followed, known = LOCAL.followed, LOCAL.repeated
    if followed is not None and not followed.program.tells_numpys:
        followed.program.tells_numpys = True
        if followed.is_called and followed.awaited:
            raise ArraysWritten(followed.program, None)
    return known is not None and known.has_numpys


def is_awaited(value: Any) -> bool:
    """Whether a value is an array of the caller's, who is to see what is written to it."""
    number = number_of(value)
    return number is not None and number in LOCAL.followed.awaited


@contextmanager
def writing_place() -> Iterator[None]:
    """Make the new contents of a place, by writing to what has been read of it."""
    outer, LOCAL.followed = LOCAL.followed, None
    try:
        yield
    finally:
        LOCAL.followed = outer
