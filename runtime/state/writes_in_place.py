"""Writes to arrays in place: of a function with ``out=``, say, into a place, and what is refused of a value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp

from autograph.runtime.errors import StagingError
from autograph.runtime.state.chosen_arrays import place_of, places_in
from autograph.runtime.state.given_arrays import LocalArray, base_of, is_given
from autograph.runtime.tracing.caller_arrays import will_write
from autograph.runtime.tracing.language import LANGUAGE
from autograph.runtime.tracing.locations import user_location
from autograph.runtime.tracing.recording import LOCAL, hold_arrays


def note_write(target: Any, refusal: Exception) -> None:
    """Note a write to a place that is to be refused if only the caller of what is traced could see it."""
    for place in map(base_of, places_in(target)):
        if LOCAL.repeated is not None and isinstance(place, LocalArray):
            LOCAL.repeated.note_write(place, refusal)


def in_place(target: Any, new: Callable[[Any], Any], what: str) -> None:
    """Let an array hold what ``new`` returns for it.

    Raises:
      StagingError: it is a value, which nothing can change.
    """
    target = place_of(target)
    if is_given(target):
        target.become(new(jnp.asarray(target.value)).astype(target._type.dtype))
    else:
        will_write(target)
    refusal = StagingError(
        f"{user_location()}\n  {what} writes into an array in place: JAX arrays are immutable, and arrays that a function makes of traced "
        "values are such.\n  Bind a new array to the variable."
    )
    note_write(target, refusal)
    if not is_given(target):
        hold_arrays(refusal)
        LANGUAGE.operators.will_augment(target)  # which takes one from outside as an input
        raise refusal
