"""`ChosenArray`: the array that a value is which is one of several, of which some are places (`given_arrays`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, Protocol, Self

import numpy as np

from autograph.runtime.errors import StagingError
from autograph.runtime.layouts.one_of import OneOf, candidates_of, code_of, one_of
from autograph.runtime.state.array_keys import part_of
from autograph.runtime.state.given_arrays import EITHER, PlaceOfArray, cannot_hold, is_given, kind_of
from autograph.runtime.tracing.language import LANGUAGE
from autograph.runtime.tracing.locations import user_location
from autograph.runtime.tracing.recording import hold_arrays


class References(Protocol):
    """What is asked of the operators for references."""

    def value(self, chosen: OneOf, /) -> Any:
        """What the candidate holds now."""

    def become(self, chosen: OneOf, value: Any, /) -> None:
        """Let the candidate hold an array."""


class ChosenArray(PlaceOfArray):
    """A read selects among what the candidates hold where it is made, and a write is a masked write to each.

    Args:
      chosen: the value. references: the operators.
    """

    __slots__ = ("_chosen", "_references")

    def __init__(self, chosen: OneOf, references: References) -> None:
        object.__setattr__(self, "_chosen", chosen)
        object.__setattr__(self, "_references", references)

    @property
    def value(self) -> Any:
        """What the candidate holds now."""
        return self._references.value(self._chosen)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape that all candidates have."""
        return np.shape(candidates_of(self._chosen)[0])

    @property
    def dtype(self) -> Any:
        """The dtype that all candidates have, or that of the array selected among them."""
        found = [each.dtype for each in candidates_of(self._chosen)]
        return found[0] if all(each == found[0] for each in found) else self.value.dtype

    @property
    def kind(self) -> Any:
        """The class of the candidate in Python."""
        found = [kind_of(each) for each in candidates_of(self._chosen)]
        return found[0] if all(each is found[0] for each in found) else one_of(found, code_of(self._chosen))

    def become(self, value: Any) -> None:
        """Let the candidate hold this array, of the same shape and dtype, from now on."""
        self._references.become(self._chosen, value)

    def _change(self, new: Callable[[Any], Any]) -> Self:
        self.become(self._fitted(new(self)))
        return self._itself()

    def _itself(self) -> Any:
        return self._chosen

    def _viewed(self, key: Any, shape: tuple[int, ...]) -> Any:
        """The view of the candidate, or that part of one that is a value: of JAX's, in a trace in which NumPy's are places."""
        candidates = candidates_of(self._chosen)
        if not all(map(is_given, candidates)):
            hold_arrays(cannot_hold())
        views = [each._viewed(key, shape) if is_given(each) else part_of(each, key) for each in candidates]
        return OneOf(views, code_of(self._chosen))


def place_of(value: Any) -> Any:
    """The place that a value is: itself, or the one of several arrays of which some are places; any other value as it is."""
    is_chosen = type(value) is OneOf and any(map(is_given, candidates_of(value)))
    return LANGUAGE.operators.references.variable(value) if is_chosen else value


def places_in(value: Any) -> tuple[Any, ...]:
    """The places that a value may be."""
    value = value._chosen if isinstance(value, ChosenArray) else value
    return tuple(filter(is_given, candidates_of(value) if type(value) is OneOf else (value,)))


def refuse_values() -> NoReturn:
    """Make the trace again, in which all arrays of NumPy's are places, where a write would have to be one to a value.

    Raises:
      StagingError: they are already, and the value is one of JAX's.
    """
    hold_arrays(cannot_hold())
    raise StagingError(f"{user_location()}\n  {EITHER}")
