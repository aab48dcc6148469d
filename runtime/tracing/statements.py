"""The statements staged in a trace: loops with their carries, branches, and remarks.

Records name places in the user's source and types; none holds a traced value. A `Graph` shows them beside the
program.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from autograph.backends.base import LeafType
from autograph.backends.thread import LOCAL

Place = tuple[str, int, str]  # file, line, function


@dataclass(frozen=True)
class CarriedVariable:
    """One variable of a staged loop.

    Attributes:
      name: as the user writes it.
      before: the types that it has before the loop, types: those that it is carried with; none where it is unbound.
      reasons: why it is carried, and so.
    """

    name: str
    before: tuple[LeafType, ...]
    types: tuple[LeafType, ...]
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class StagedLoop:
    """A staged loop.

    Attributes:
      carried: what it carries.
      fixed: the variables that it reads and no iteration changes.
      trips: the trip count, as text.
    """

    place: Place
    carried: tuple[CarriedVariable, ...]
    fixed: tuple[str, ...]
    trips: str


@dataclass(frozen=True)
class StagedBranch:
    """A staged conditional: what comes out of it, each with its types."""

    place: Place
    results: tuple[tuple[str, tuple[LeafType, ...]], ...]


@dataclass(frozen=True)
class Remark:
    """What was said of a line while it was traced: a loop that runs in Python, and why."""

    place: Place
    text: str


Record = StagedLoop | StagedBranch | Remark


class Statements:
    """The records of one program, in the order in which they were made, and those of the programs that it calls."""

    def __init__(self) -> None:
        self._records: dict[Record, None] = {}
        self._called: dict[int, Statements] = {}

    def add(self, record: Record) -> None:
        """Take a record down; one that says the same as another is one."""
        self._records[record] = None

    def include(self, called: Statements) -> None:
        """Show those of a program that this one calls as well."""
        if called is not self:
            self._called[id(called)] = called

    def __iter__(self) -> Iterator[Record]:
        seen: dict[int, Statements] = {}
        pending = [self]
        while pending:
            found = pending.pop()
            if id(found) not in seen:
                seen[id(found)] = found
                yield from list(found._records)
                pending += found._called.values()


def is_taken_down() -> bool:
    """Whether a program is recorded that somebody may look at."""
    return LOCAL.frame is not None


def take_down(record: Record) -> None:
    """Add to the records of the program that is recorded."""
    if LOCAL.frame is not None:
        LOCAL.frame.statements.add(record)
