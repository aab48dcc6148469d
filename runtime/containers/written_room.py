"""The room of a `TensorArray` of dynamic size whose writes nothing bounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from autograph.runtime.errors import StagingError
from autograph.runtime.layouts.list_room import OutOfRoom, Room
from autograph.runtime.tracing.language import LANGUAGE
from autograph.runtime.tracing.recording import LOCAL

_REMEDY = "Pass max_size= to the TensorArray, or the size= that it has in the end."


@dataclass(frozen=True)
class WrittenRoom(Room):
    """Room for a TensorArray that is written at indices of which nothing is known while tracing.

    Attributes: name (the variable that holds it).
    """

    def outgrown(self, capacity: Any) -> Exception:
        text = f"{self.where}\n  {self.name!r}, a TensorArray, is written beyond its capacity of {capacity} elements"
        if self.rooms is None:
            return IndexError(f"{text}.\n  {_REMEDY}")
        return OutOfRoom(
            f"{text}, and this program cannot be run again with a larger one.\n  {_REMEDY}", self, capacity
        )

    def refused(self, why: str) -> StagingError:
        return StagingError(
            f"{self.where}\n  {self.name!r}, a TensorArray of dynamic size, is written at indices that are not known while tracing, and "
            f"{why}.\n  {_REMEDY}"
        )


@dataclass(frozen=True)
class Reserved:
    """Room for so many elements, and whose it is."""

    capacity: Any
    room: WrittenRoom

    def check(self, count: Any) -> None:
        """See that there is room for ``count`` elements, when the program runs if need be."""
        if not isinstance(count, jax.core.Tracer):
            if count > self.capacity:
                raise self.room.outgrown(self.capacity)
            return
        fits = count <= jnp.asarray(self.capacity)
        LANGUAGE.operators.raise_unless(fits, self.room.outgrown(self.capacity), is_check=True)


def reserved(where: str, name: str, least: Any) -> Reserved:
    """Room for at least so many elements: as many as the program has come to need.

    Raises:
      StagingError: the program cannot say when it has written more.
    """
    rooms = None if LOCAL.frame is None or not isinstance(least, int) else LOCAL.frame.rooms
    room = WrittenRoom(where, name, rooms)
    if not LANGUAGE.operators.can_raise_later(OutOfRoom):
        raise room.refused("only an autograph.function can be run again with a larger capacity")
    return Reserved(least if rooms is None else rooms.of(where, name, least, at_first=least), room)
