"""`CarryMemory`: remember the carries of nested loops for the next trace of the outer loop.

An inner loop that begins as it did in the trace before begins with the layouts that it ended with: its body need not
find again that None becomes a value, say. `WrittenByLoops` does the same for the next trace of a recursive function, which is
traced until what it returns and writes is known.
"""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from autograph.runtime.heap.places import ContentsPlace, Place
from autograph.runtime.heap.unknown import is_unknown
from autograph.runtime.layouts.kinds import Maybe, Static, leaves_of

_PLAIN = (bool, int, float, complex, str, bytes, type(None))
# For each loop from the outermost on: its code, the how-manieth of that in its iteration, and whether its variables are references.
Position = tuple[tuple[Any, int, bool], ...]


class CarryMemory:
    """What was carried, by the position of a loop and the name of a variable. Lives as long as the outermost loop's trace."""

    def __init__(self) -> None:
        self._known: dict[tuple[Position, str], tuple[Maybe, Maybe]] = {}
        self._opened: set[tuple[Position, str]] = set()
        self._references: dict[Position, frozenset[str]] = {}

    def note(self, position: Position, name: str, before: Maybe, after: Maybe) -> None:
        """Note that a variable which was ``before`` when a loop began is carried as ``after``."""
        if all(not isinstance(leaf, Static) or type(leaf.value) in _PLAIN for leaf in leaves_of(after)):
            self._known[position, name] = before, after

    def find(self, position: Position, name: str, before: Maybe) -> Maybe | None:
        """How a variable is carried that was ``before``, as it was noted last."""
        known = self._known.get((position, name))
        return known[1] if known is not None and known[0] == before else None

    def open(self, position: Position, name: str) -> None:
        """Note that the objects in a variable are unpacked."""
        self._opened.add((position, name))

    def opens(self, position: Position, name: str) -> bool:
        """Whether that was noted."""
        return (position, name) in self._opened

    def refer(self, position: Position, names: Iterable[str]) -> None:
        """Note that these variables of a loop say which object from before the loop they hold: none if that does not help."""
        self._references[position] = frozenset(names)

    def references(self, position: Position) -> frozenset[str] | None:
        """Those that were noted last; None if it was not asked."""
        return self._references.get(position)

    def forget(self, position: Position) -> None:
        """Forget what is known of the loops in one."""

        def is_inner(other: Position) -> bool:
            return len(other) > len(position) and all(a[:2] == b[:2] for a, b in zip(position, other, strict=False))

        self._known = {key: known for key, known in self._known.items() if not is_inner(key[0])}
        self._opened = {key for key in self._opened if not is_inner(key[0])}
        self._references = {key: names for key, names in self._references.items() if not is_inner(key)}


class Positions:
    """Numbers the loops in one iteration of a loop that is at ``around``."""

    def __init__(self, around: Position) -> None:
        self._around = around
        self._count: collections.Counter[Any] = collections.Counter()

    def next(self, code: Any) -> Position:
        """The position of the next loop with this code."""
        self._count[code] += 1
        return (*self._around, (code, self._count[code], False))


class WrittenByLoops:
    """What the loops in a recursive function write, by the code of their bodies.

    Args:
      carries: whether a place is state that its calls are given, and give back.
    """

    def __init__(self, carries: Callable[[Place], bool]) -> None:
        self._carries = carries
        self._known: dict[Any, dict[Any, tuple[Place, Any]]] = {}

    def note(self, code: Any, place: Place, end: Any) -> None:
        """Note that a loop writes a place, and what an iteration leaves in it."""
        self._known.setdefault(code, {})[place.key] = place, end

    def of(self, code: Any) -> Mapping[Any, tuple[Place, Any]]:
        """The state that a loop writes, by the keys of the places, and what an iteration leaves in each; none that cannot be read now."""
        return {
            key: (place, end)
            for key, (place, end) in self._known.get(code, {}).items()
            if self._carries(place) and not (isinstance(place, ContentsPlace) and is_unknown(place.owner))
        }
