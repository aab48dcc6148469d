"""Programs in which lists, dicts, sets and objects have several names."""

from collections.abc import Callable
from typing import Any

PROGRAMS: list[Callable[[Any], Any]] = []
HAZARDS: list[tuple[Callable[[Any], Any], str]] = []
OUTSIDE: list[Callable[[Any], Any]] = []


class Box:
    """An object with these attributes."""

    def __init__(self, v=0, w=None, items=None, a=None, b=None):
        self.v = v
        self.w = w
        self.items = items
        self.a = a
        self.b = b


def program(function):
    """A program that stages."""
    PROGRAMS.append(function)
    return function


def outside(function):
    """A program that writes to what may be a list from outside of it."""
    OUTSIDE.append(function)
    return function


def hazard(other):
    """A program that writes to what may be another: the one that a variable ``refers to``, say, or ``the function returns``.

    The comment ``writes`` is on the line that does, ``chooses`` on the statement that decides whether ``other`` sees it.
    """

    def add(function):
        HAZARDS.append((function, other))
        return function

    return add
