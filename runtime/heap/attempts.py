"""`WritesOfAttempt`: what the body of a ``try`` statement writes, which a handler may have to see or take back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from autograph.runtime.heap.places import Place


class WritesOfAttempt:
    """What the body of a ``try`` statement has written so far, wherever.

    Attributes:
      before: place and old value, by key.
      born: what it has made, by identity.
      lasting: the identities of the owners of these places that it has not made, in the order of the writes.
      stands_for: by identity, what represents a container or an object in a loop's body, and that.
    """

    def __init__(self) -> None:
        self.before: dict[Any, tuple[Place, Any]] = {}
        self.born: dict[int, Any] = {}
        self.lasting: dict[int, None] = {}
        self.stands_for: dict[int, tuple[Any, Any]] = {}
        self._places: dict[int, list[tuple[int, Place]]] = {}

    def note(self, place: Place, held: Any) -> None:
        """See a write to a place that held this before."""
        key = place.key
        if key in self.before:
            return
        owner = id(getattr(place, "owner", None))
        self._places.setdefault(owner, []).append((len(self.before), place))
        self.before[key] = (place, held)
        if owner not in self.born:
            self.lasting[owner] = None

    def bear(self, owner: Any) -> None:
        """See that an object has just been made."""
        self.born[id(owner)] = owner
        self.lasting.pop(id(owner), None)

    def places_of(self, owners: Iterable[int]) -> list[Place]:
        """The places written of the objects of these identities, in the order of the first writes."""
        found = [each for owner in dict.fromkeys(owners) for each in self._places.get(owner, ())]
        return [place for _, place in sorted(found, key=lambda each: each[0])]

    def real(self, owner: Any) -> Any:
        """What an object or a container represents, before all loops."""
        while (known := self.stands_for.get(id(owner))) is not None and known[1] is not owner:
            owner = known[1]
        return owner
