"""`Count`: the number of elements of arrays of traced length, and what is refused or checked where it is known only at run time."""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from autograph.backends.selected import STAGING
from autograph.runtime.containers.sizes import at_most
from autograph.runtime.errors import StagingError
from autograph.runtime.tracing.language import LANGUAGE
from autograph.runtime.tracing.locations import user_location
from autograph.runtime.tracing.recording import LOCAL


def is_integer(value: Any) -> bool:
    """Whether a number, or an array, is one integer."""
    return jnp.ndim(value) == 0 and bool(jnp.issubdtype(jnp.result_type(value), jnp.integer))


def is_count(value: Any) -> bool:
    """Whether a number, or an array, says how often to repeat something: an integer, or a truth value."""
    return is_integer(value) or (jnp.ndim(value) == 0 and jnp.result_type(value) == np.bool_)


class Count:
    """How many elements arrays have: those that surely have as many share one.

    Attributes:
      value: the number, an integer scalar.
      places: of what a mask takes, where these are.
    """

    def __init__(self, value: Any, places: Any = None) -> None:
        self.value = value
        self.places = places
        self._derived: list[tuple[Any, Any, Count]] = []

    def derived(self, key: Any, make: Callable[[Any], Any]) -> Count:
        """The count that ``make`` returns for this one; the same one for the same key."""
        here = STAGING.place()
        for place, known, count in self._derived:
            if place is here and known == key:
                return count
        made = Count(make(self.value))
        self._derived.append((here, key, made))
        return made

    def less(self, number: int) -> Count:
        """Of so many elements less."""
        return self if number == 0 else self.derived(number, lambda value: jnp.maximum(value - number, 0))

    def note(self, capacity: int, of: Any = None) -> Any:
        """Remember, for as long as it lives, that ``of``, or else the number, represents this count. Returns the number."""
        of = self.value if of is None else of
        if not isinstance(of, jax.core.Tracer):
            return self.value
        key, known = id(of), LOCAL.counts
        entry = (weakref.ref(of, lambda _: known.pop(key, None)), weakref.ref(self), capacity, STAGING.place())
        known[key] = entry
        return self.value


def count_of(value: Any) -> tuple[Count, int] | None:
    """The count that this number or mask was noted to represent, and the most that it can be; None if it was not."""
    entry = LOCAL.counts.get(id(value))
    if entry is None or entry[0]() is not value:
        return None
    count = entry[1]()
    is_number = getattr(value, "ndim", 1) == 0 and value.dtype != np.bool_
    if count is None or entry[3] is not STAGING.place():
        if not is_number:
            return None
        count = Count(value)
    return count, entry[2]


def counted_in(mask: Any) -> Count:
    """How many elements of a flat mask are true, with their places; beyond them, the first's."""
    size = mask.shape[0]
    position = jnp.cumsum(mask)
    count = position[-1] if size else jnp.zeros((), int)
    places = jnp.zeros(size, position.dtype).at[jnp.where(mask, position - 1, size)].set(jnp.arange(size), mode="drop")
    return Count(count, jnp.where(jnp.arange(size) < count, places, places[:1]))


def refused(what: str) -> StagingError:
    """The error for what an array of traced length cannot be used for."""
    return StagingError(
        f"{user_location()}\n  The length of this array is known only when the program runs, and {what} is not supported for such an "
        "array.\n  Elementwise functions, reductions, sorting, indices, slices and loops are. Or keep all elements and mask what does "
        "not count: jnp.where(mask, x, 0). Or return the array from an autograph.function, which makes it exact."
    )


def different_shapes(one: Any, other: Any) -> BaseException:
    """NumPy's error for shapes that do not go together, of which the first sizes may be traced."""
    operators = LANGUAGE.operators

    def text(*sizes: Any) -> str:
        shapes = [(int(sizes[0]), *one[1:]), (int(sizes[1]), *other[1:])]
        shown = ("(" + ",".join(map(str, shape)) + (",)" if len(shape) == 1 else ")") for shape in shapes)
        return f"operands could not be broadcast together with shapes {' '.join(shown)} "

    error: BaseException = operators.exception(ValueError, operators.text(text, one[0], other[0]))
    return error


def check(condition: Any, error: BaseException | Callable[[], BaseException], is_needed: bool = True) -> None:
    """Raise where a condition is false when the program runs.

    Raises:
      StagingError: the program cannot raise, and what follows would be wrong: it ``is_needed``.
    """
    if not isinstance(condition, jax.core.Tracer):
        if not condition:
            raise error if isinstance(error, BaseException) else error()
        return
    operators = LANGUAGE.operators
    if operators.can_raise_later(type(error) if isinstance(error, BaseException) else ValueError):
        operators.raise_unless(condition, error, is_check=not is_needed)
    elif is_needed:
        raise StagingError(
            f"{user_location()}\n  This combines two arrays whose lengths are known only at run time. If the lengths differ, this is an "
            "error, which a bare jax.jit cannot raise.\n  Assign the mask or the slice to a variable, and use it for both; "
            "or compile with autograph.function."
        )


def taken_by(key: slice, length: Any) -> tuple[Any, Any, Any]:
    """Where a slice, of which each part may be traced, begins in so many elements, its step, and how many of them it takes."""
    step = 1 if key.step is None else key.step if isinstance(key.step, jax.core.Tracer) else operator.index(key.step)

    def by_direction(forward: Any, backward: Any) -> Any:
        if isinstance(step, int):
            return forward if step > 0 else backward
        return jnp.where(step > 0, forward, backward)

    def bound(value: Any, default: Any) -> Any:
        if value is None:
            return default
        value = value + jnp.where(jnp.asarray(value) < 0, length, 0)
        return jnp.clip(value, by_direction(0, -1), by_direction(length, length - 1))

    start = bound(key.start, by_direction(0, length - 1))
    stop = bound(key.stop, by_direction(length, -1))
    steps = by_direction(-((start - stop) // step), (start - stop - step - 1) // -step)
    return start, step, jnp.maximum(0, steps)


def most_taken(key: slice, capacity: int) -> int:
    """How many elements a slice, whose bounds may be traced, takes at most of so many."""
    start, stop = (part if part is None or type(part) is int else ... for part in (key.start, key.stop))
    if isinstance(key.step, jax.core.Tracer):
        return capacity
    step = 1 if key.step is None else operator.index(key.step)
    if step < 0:
        return capacity
    most = capacity
    if stop is None and start is not None and start is not ... and start < 0:
        most = at_most(capacity, -start)
    elif isinstance(stop, int) and isinstance(start, int | None) and (start or 0) >= 0 and stop >= 0:
        most = at_most(capacity, max(0, stop - (start or 0)))
    elif isinstance(stop, int) and stop >= 0:
        most = at_most(capacity, stop)
    return -(-most // step)


def is_same_count(one: Count, other: Any) -> bool:
    """Whether a count surely is this number, or that of this count."""
    value = other.value if isinstance(other, Count) else other
    if one is other or one.value is value:
        return True
    return isinstance(one.value, int) and isinstance(value, int) and one.value == value


def changes_length() -> StagingError:
    """The error for a loop over a list that it makes longer or shorter."""
    return StagingError(
        f"{user_location()}\n  This loop goes over a list that it makes longer or shorter at run time, or writes to and rebinds: "
        "Python's loop would go over what the list has then.\n  Loop over a copy (list(items)), or over indices: while k < len(items)."
    )


def unknown_number() -> StagingError:
    """The error for what needs the number of a list's items while tracing."""
    return StagingError(
        f"{user_location()}\n  Python needs the number of these items here (for the arguments of a call, or in code that is not "
        "converted), but it is known only at run time.\n  Use an index, a slice, a loop or a target with a star (first, *rest = "
        "items), or make an array of the items (jnp.stack). Of a dict, make a list of the keys first: list(d)."
    )
