"""`jax.grad` of functions that assign Variables: the tangents of assigned values."""

from __future__ import annotations

from typing import Any

from autograph.backends.selected import STAGING
from autograph.runtime.state.variable_errors import VariableErrors


class AssignedDerivatives(VariableErrors):
    """A value with a derivative, beside the stored value, for as long as the differentiation runs that it is of.

    Reads return it until then, and so derivatives go through assignments. What stays in the Variable has none.
    """

    __slots__ = ("_moving",)

    _moving: tuple[Any, Any] | None  # where it was assigned, and the value

    def _moving_value(self, place: Any, frame: Any) -> Any:
        """The value with its derivative; None if there is none for a read here, in the recording ``frame``."""
        if self._moving is None or self._is_aside(frame):
            return None
        where, value = self._moving
        if place is where:
            return value
        if STAGING.is_within(place, where):
            raise self._differentiated()
        self._moving = None
        return None

    def _without_derivative(self, place: Any, value: Any, frame: Any) -> Any:
        """``value`` as it is stored."""
        if self._is_aside(frame):
            return value
        self._moving = None
        if not STAGING.is_differentiated(value, place):
            return value
        if not STAGING.is_directly_in(place, None if frame is None else frame.place):
            raise self._differentiated()  # one derivative of several would be kept
        self._moving = place, value
        return STAGING.without_derivative(value)

    def _is_aside(self, frame: Any) -> bool:
        """Whether the recording is of a function called in the differentiation: it knows stand-ins, and no values."""
        return self._moving is not None and frame is not None and STAGING.is_within(frame.place, self._moving[0])
