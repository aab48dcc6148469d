"""`ChosenVariable`: the Variable that a value is which is one of several, or of values: it is read and assigned as each of them is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, Self

from autograph.runtime.layouts.one_of import OneOf, candidates_of, each_purely
from autograph.runtime.state.assignable import Assignable


class References(Protocol):
    """What is asked of the operators for references."""

    def value(self, chosen: OneOf, /) -> Any:
        """What the candidate holds now."""

    def change(self, chosen: OneOf, new: Callable[[Any], Any], /) -> None:
        """Assign to the candidate what ``new`` returns for it."""


class ChosenVariable(Assignable):
    """Reads select among what the candidates hold where they are made, and assignments are masked writes to each.

    Args:
      chosen: the value. references: the operators.
    """

    __slots__ = ("_chosen", "_references")

    def __init__(self, chosen: OneOf, references: References) -> None:
        self._chosen = chosen
        self._references = references

    @property
    def value(self) -> Any:
        """What the candidate holds now."""
        return self._references.value(self._chosen)

    @property
    def shape(self) -> Any:
        """The shape that all candidates have."""
        return self._common("shape")

    @property
    def dtype(self) -> Any:
        """The dtype that all candidates have, or that of the value selected among them."""
        return self._common("dtype")

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def name(self) -> Any:
        """The name of the candidate."""
        return each_purely(self._chosen, lambda one: one.name)

    @property
    def trainable(self) -> Any:
        """Whether the candidate is trainable."""
        return each_purely(self._chosen, lambda one: one.trainable)

    def _common(self, name: str) -> Any:
        found = [getattr(one, name, None) for one in candidates_of(self._chosen)]
        return found[0] if all(each == found[0] for each in found) else getattr(self.value, name)

    def _change(self, new: Callable[[Any], Any]) -> Self:
        self._references.change(self._chosen, new)
        return self._chosen  # type: ignore[return-value]
