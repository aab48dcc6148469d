"""`Selections`: what was selected among values, by the number of the candidate, so that one question has one answer.

A test of `node.next` says something of what a second read of it, in a branch of the test, returns.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from autograph.runtime.heap.journal import Journal


@dataclass(frozen=True)
class _Selection:
    """A value, selected in a block. Attributes: of (the number, and what it was selected among: kept, for their identities)."""

    value: Any
    block: Any
    of: tuple[Any, Mapping[int, Any]]


class Selections:
    """Those of the program that one thread traces. Observes the journal: nothing outlives the block that it was selected in."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._known: dict[Hashable, _Selection] = {}

    def find(self, code: Any, held: Mapping[int, Any]) -> _Selection | None:
        """What was selected among these by this number, where that is known."""
        found = self._known.get(_key(code, held))
        return found if found is not None and self._journal.is_around(found.block) else None

    def note(self, code: Any, held: Mapping[int, Any], value: Any) -> None:
        """Note what has been selected."""
        self._known[_key(code, held)] = _Selection(value, self._journal.here(), (code, dict(held)))

    def enter(self) -> dict[Hashable, _Selection]:
        return dict(self._known)

    def leave(self, before: dict[Hashable, _Selection] | None) -> None:
        self._known = dict(before or {})

    def take_elements(self, before: Any) -> list[Any]:
        return []

    def give_elements(self, given: Iterable[Any]) -> None:
        """Nothing is an element here."""

    def check_unreported(self) -> None:
        """Values are read anew each time."""

    def refresh(self) -> None:
        """Values are read anew each time."""


def _key(code: Any, held: Mapping[int, Any]) -> Hashable:
    return id(code), tuple((number, id(value)) for number, value in held.items())
