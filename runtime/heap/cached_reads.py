"""Refuse the first read of a cached property in a staged statement where the cached value could leak."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autograph.runtime.errors import StagingError
from autograph.runtime.heap.places import AttributePlace, ContentsPlace, Place
from autograph.runtime.heap.reach import namespace_of


class CachedRead:
    """A cached property that a block has read, and computed.

    Attributes:
      owner: the object.
      name: the property's.
      names: what its code reads, as far as that can be told: names of attributes among others.
      where: the line that reads.
    """

    def __init__(self, owner: Any, name: str, names: Sequence[str], where: str) -> None:
        self.owner = owner
        self.name = name
        self.names = frozenset(names)
        self.where = where

    def depends_on(self, place: Place) -> bool:
        """Whether a write to this place may change what the property comes to."""
        if isinstance(place, AttributePlace):
            return place.owner is self.owner and place.attribute in self.names
        if isinstance(place, ContentsPlace):
            attributes = namespace_of(self.owner)
            return any(attributes.get(name) is place.owner for name in self.names)
        return False

    def check(self, place: Place) -> None:
        """Refuse a write that would change what the property comes to when it is computed again."""
        if self.depends_on(place):
            raise cached_refusal(
                self.where, self.owner, self.name, f"it is computed from {place.name!r}, which is written"
            )


def cached_refusal(where: str, owner: Any, name: str, why: str) -> StagingError:
    """The error for a cached property whose first read in a staged statement could be told from later ones."""
    return StagingError(
        f"{where}\n  {type(owner).__name__}.{name} is a cached property, and may be computed inside a staged "
        f"statement: whether it is, is known only at run time, and {why}.\n"
        "  Read it once before the statement, or make it a method."
    )
