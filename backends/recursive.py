"""The interface between operators and backend for functions that call themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True)
class FunctionBody:
    """A function that calls itself under a traced condition, or is called by one that it calls.

    Attributes:
      traced: the `Traced` program of (operands…) → leaves.
      operands: their types.
      results: those leaves that a call returns.
      types: their types, of which all calls' results are.
    """

    traced: Any
    operands: Sequence[Any]
    results: Sequence[Any]
    types: Sequence[Any]


@dataclass(frozen=True)
class RecursionSpec:
    """A call of a function that calls itself.

    Attributes:
      functions: by what `Backend.recursive_call` was given for each, all that call each other.
      entry: which is called; operands: with what.
      depth: how many calls may be under way at once, by how many bytes each takes; it is not asked where none takes any.
      limit: how many calls in tail position may follow one another; None for any number.
    """

    functions: Mapping[Any, FunctionBody]
    entry: Any
    operands: Sequence[Any]
    depth: Callable[[int], int]
    limit: int | None


class Recursions(Protocol):
    """The part of `Backend` for functions that call themselves."""

    def recursive_call(self, function: Any, operands: Sequence[Any], types: Sequence[Any]) -> list[Any]:
        """Record a call of ``function``, which is being traced, with operands that are arrays: its results, of these types.

        ``function`` has a ``name``, and a user's line, ``where``, for messages.
        """

    def functions_called(self, traced: Any) -> list[Any]:
        """The functions of which `recursive_call` has recorded calls in a program."""

    def closes_over(self, traced: Any, place: Any) -> bool:
        """Whether a program is closed over values that were traced at a place, or within it (see `Staging`)."""

    def recursion(self, spec: RecursionSpec) -> tuple[list[Any], Any]:
        """Call a function that calls itself: its results, and whether it has come to an end within its bounds."""
