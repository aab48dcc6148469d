"""`RaiseSite` and `Received`: the interface between operators and backend for exceptions raised at run time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol


class RaiseSite(Protocol):
    """One exception that a program may raise. Hashable; equal for what raises the same at the same line.

    Attributes:
      types: of the values that it carries, each with ``shape`` and ``dtype``.
      name: the exception's class, for messages.
      where: the user's line, for messages.
      is_check: whether a program that cannot raise may do without.
      is_caught: whether a handler of the program catches it.
      refusal: what is said where nothing checks for the exception.
      room: the room in the program that has proved too small, if it is that; else None.
    """

    @property
    def refusal(self) -> str: ...

    @property
    def room(self) -> Any: ...

    @property
    def is_check(self) -> bool: ...

    @property
    def is_caught(self) -> bool: ...

    @property
    def types(self) -> Sequence[Any]: ...

    @property
    def name(self) -> str: ...

    @property
    def where(self) -> str: ...

    def raise_with(self, values: Sequence[Any]) -> None:
        """Raise it, with these values."""


class Received(Protocol):
    """The first exception of those that are received.

    Attributes: code (its number from 1, 0 where there is none, None where there can have been none), sites, payloads (as
      `Staging.raise_if` takes them).
    """

    code: Any
    sites: list[RaiseSite]

    @property
    def payloads(self) -> list[list[Any]]: ...
