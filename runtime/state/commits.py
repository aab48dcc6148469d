"""Read or write the values of several Variables atomically.

Each is one step of the interpreter's, between whose parts neither another thread nor an interrupt runs: none sees
some of a call's updates and not the others.
"""

from __future__ import annotations

import itertools
import operator
import threading
from collections.abc import Sequence
from typing import Any

_VALUE = operator.attrgetter("_value")
_NAME = itertools.repeat("_value")


GIVEN_AWAY: Any = object()  # the value of a Variable while a call that takes its memory runs


class Commits:
    """What all Variables have in common, since a program reads and writes several.

    Attributes:
      number: how many times Variables have been given new values.
      busy: how many times locks of Variables are held now, and functions are recorded; and once more as soon as some program
        gives arrays away. A program that holds no lock (`State.function`) asks nothing else before it begins, and takes what
        it has read for overtaken if this is not zero after it: whoever holds a lock may have read, too, and is to write.
      give_arrays_away: whether some program gives the arrays of Variables away: values that were read may be gone then.
    """

    def __init__(self) -> None:
        self.give_arrays_away = False
        self.lock = threading.Lock()
        self.number = 0
        self.busy = 0

    def begin_to_give_away(self) -> None:
        """Some program is to give arrays away."""
        with self.lock:
            if not self.give_arrays_away:
                self.give_arrays_away = True
                self.busy += 1


COMMITS = Commits()


class VariableLock:
    """Keeps other threads from a Variable between reading and writing it; a thread may enter it again.

    Attributes: lock (what is held).
    """

    __slots__ = ("lock",)

    def __init__(self) -> None:
        self.lock = threading.RLock()

    def __enter__(self) -> None:
        self.lock.acquire()
        COMMITS.busy += 1

    def __exit__(self, *_: object) -> None:
        COMMITS.busy -= 1
        self.lock.release()


def values_of(variables: Sequence[Any]) -> list[Any]:
    """The present value of each Variable."""
    return list(map(_VALUE, variables))


def commit(variables: Sequence[Any], values: Sequence[Any]) -> None:
    """Set each Variable to its new value."""
    with COMMITS.lock:
        COMMITS.number += 1
        any(map(setattr, variables, _NAME, values))  # each returns None


def shared_values_of(variables: Sequence[Any]) -> list[Any]:
    """`values_of` for someone who keeps them: no call takes their memory from now on."""
    while True:
        number = COMMITS.number
        values = [variable._shared() for variable in variables]
        if COMMITS.number == number:
            return values
