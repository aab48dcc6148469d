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


class Commits:
    """What all Variables have in common, since a program reads and writes several.

    Attributes:
      number: how many times Variables have been given new values.
      give_arrays_away: whether some program gives the arrays of Variables away: values that were read may be gone then.
    """

    def __init__(self) -> None:
        self.give_arrays_away = False
        self.lock = threading.Lock()
        self.number = 0


COMMITS = Commits()


def values_of(variables: Sequence[Any]) -> list[Any]:
    """The present value of each Variable."""
    return list(map(_VALUE, variables))


def commit(variables: Sequence[Any], values: Sequence[Any]) -> None:
    """Give each Variable its new value."""
    with COMMITS.lock:
        COMMITS.number += 1
        any(map(setattr, variables, _NAME, values))  # each gives None


def commit_unless_overtaken(
    variables: Sequence[Any], values: Sequence[Any], since: int, read: Sequence[Any], seen: Sequence[Any]
) -> bool:
    """`commit`, if the Variables that were ``read`` still hold what was ``seen``; else False, and nothing is done.

    ``since`` is the `Commits.number` of before they were read.
    """
    with COMMITS.lock:
        if COMMITS.number != since and not all(map(operator.is_, values_of(read), seen)):
            return False
        COMMITS.number += 1
        any(map(setattr, variables, _NAME, values))
    return True
