"""The input of a page: the records of a program, its traces, and the traced source."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from autograph.runtime.signatures.retrace import Difference
from autograph.runtime.tracing.statements import Record


class Listing(Protocol):
    """The lines of one function of the user's, and of its rewritten form (see `autograph._listing.Listing`)."""

    @property
    def name(self) -> str: ...

    @property
    def file(self) -> str: ...

    @property
    def first(self) -> int: ...

    @property
    def source(self) -> Sequence[str]: ...

    @property
    def converted(self) -> Sequence[tuple[str, int | None]]: ...


@dataclass(frozen=True)
class View:
    """What is known of a program beside the program.

    Attributes:
      records: what was staged while it was traced.
      traces: how often its function was traced; retraces: what differed, for the traces after the first.
      listings: the source of the function, and of those that hold some lines (file and number).
    """

    records: Callable[[], Iterable[Record]]
    traces: Callable[[], int]
    retraces: Callable[[], Sequence[tuple[int, Sequence[Difference]]]]
    listings: Callable[[Iterable[tuple[str, int]]], Sequence[Listing]]
