"""`WritesOfAttempt`: what the body of a ``try`` statement writes, which a handler may have to see or take back."""

from __future__ import annotations

from typing import Any

from autograph.runtime.heap.places import Place


class WritesOfAttempt:
    """What the body of a ``try`` statement has written so far, wherever.

    Attributes:
      before: place and old value, by key.
      born: what it has made, by identity.
      stands_for: by identity, what represents a container or an object in a loop's body, and that.
    """

    def __init__(self) -> None:
        self.before: dict[Any, tuple[Place, Any]] = {}
        self.born: dict[int, Any] = {}
        self.stands_for: dict[int, tuple[Any, Any]] = {}

    def note(self, place: Place, held: Any) -> None:
        self.before.setdefault(place.key, (place, held))

    def real(self, owner: Any) -> Any:
        """What an object or a container represents, before all loops."""
        while (known := self.stands_for.get(id(owner))) is not None and known[1] is not owner:
            owner = known[1]
        return owner
