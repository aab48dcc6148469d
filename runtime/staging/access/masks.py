"""Writes through boolean masks, alone or among other indices, as selects over whole arrays.

How many elements a traced mask takes is only known when the program runs, so nothing is gathered: ``a[mask, 1] = v``
takes the part ``a[:, 1]``, and chooses in it between ``v`` and what was there. Where the values are as many as the
mask takes, each goes to its place by the count of the mask before it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from autograph.backends.base import Backend
from autograph.runtime.containers.lengths import count_of, refused
from autograph.runtime.containers.padded_arrays import PaddedArray, taken_by_mask
from autograph.runtime.containers.padded_writes import spread
from autograph.runtime.effects.staged_raises import Raising
from autograph.runtime.errors import StagingError
from autograph.runtime.tracing.locations import user_location


@dataclass(frozen=True)
class Taken:
    """What ``array[key]`` was before an augmented assignment, where its size may be traced: all of the array."""

    array: Any


class Masks:
    """The operators for masks."""

    def __init__(self, backend: Backend, raising: Raising) -> None:
        self.backend = backend
        self.raising = raising

    def write_mask(
        self, array: Any, key: Any, value: Any, combine: Callable[[Any, Any], Any], before: Any = None
    ) -> Any:
        """``array`` with ``combine(part, value)`` where ``key`` takes it; ``value`` has the shape of that part by then.

        The part is one of ``before``, the array as it was when it was read, where that is given.

        Raises:
          StagingError: the key holds a second mask or an array of positions.
          ValueError: as NumPy's, when the program runs: the values are not as many as the mask takes.
        """
        mask, basic, first, leads = self._split(array, key)
        part = array if basic is None else array[basic]
        value = value if isinstance(value, PaddedArray) else jnp.asarray(value)
        aligned = self._aligned(value, mask, part, first, 0 if leads else first)
        chosen = jnp.reshape(mask, (1,) * first + mask.shape + (1,) * (part.ndim - first - mask.ndim))
        read = part if before is None else before if basic is None else before[basic]
        new = jnp.where(chosen, jnp.asarray(combine(read, aligned)).astype(array.dtype), part)
        return new if basic is None else array.at[basic].set(new)

    def read(self, array: Any, key: Any) -> Any:
        """``array[key]``, an array of traced length.

        Raises:
          StagingError: what the mask takes would not be the first dimension of it.
        """
        mask, basic, first, leads = self._split(array, key)
        part = array if basic is None else array[basic]
        if first and not leads:
            raise refused("an array with a traced length in a dimension other than the first")
        return taken_by_mask(jnp.moveaxis(part, range(first, first + mask.ndim), range(mask.ndim)), mask)

    def _split(self, array: Any, key: Any) -> tuple[Any, Any, int, bool]:
        """The mask; the key with full slices in its place, or None if that is all; how many dimensions of that part
        come before the mask's; and whether NumPy puts what the mask takes first of all.
        """
        if not isinstance(key, tuple):
            return key, None, 0, False
        used = sum(getattr(part, "ndim", 0) if _is_mask(part) else part is not None and part is not ... for part in key)
        basic: list[Any] = []
        mask, first, after_integer, after_slice, leads = None, 0, False, False, False
        for part in key if any(part is ... for part in key) else (*key, ...):
            if _is_mask(part):
                if mask is not None:
                    raise self._mixed(array, "two masks", "Combine them into one of the array's shape with &")
                mask, first = part, sum(map(_keeps_axis, basic))
                leads = leads or (after_integer and after_slice)
                basic += [slice(None)] * part.ndim
            elif part is ...:
                basic += [slice(None)] * (array.ndim - used)
                after_slice = after_slice or (after_integer or mask is not None) and array.ndim > used
            elif part is None or isinstance(part, slice):
                basic.append(part)
                after_slice = after_slice or after_integer or mask is not None
            elif np.ndim(part) == 0:
                basic.append(part)
                leads = leads or (after_slice and (after_integer or mask is not None))
                after_integer = True
            else:
                raise self._mixed(
                    array, "a mask and an array of positions", "Write jnp.where(mask, new, a) into those positions"
                )
        assert mask is not None
        return mask, tuple(basic), first, leads

    def _aligned(self, value: Any, mask: Any, part: Any, first: int, axis: int) -> Any:
        """The value, which has the shape that NumPy's ``array[key]`` would have, spread over all of ``part``.

        ``axis`` is where that shape has the dimension of what the mask takes.
        """
        if isinstance(value, PaddedArray):
            if axis:
                raise refused("a value of traced length, in a dimension other than the first,")
            position = jnp.cumsum(jnp.ravel(mask)) - 1
            known = count_of(mask)
            count = jnp.sum(mask) if known is None or not position.size else known[0].value
            rows = spread(value, position, count, part.ndim - mask.ndim + 1)
            rows = jnp.broadcast_to(rows, (mask.size, *rows.shape[1:]))
            return jnp.moveaxis(
                rows.reshape((*mask.shape, *rows.shape[1:])), range(mask.ndim), range(first, first + mask.ndim)
            )
        rank = part.ndim - mask.ndim + 1
        extra = value.ndim - rank
        if extra > 0 and any(size != 1 for size in value.shape[:extra]):
            raise ValueError(
                f"shape mismatch: value array of shape {value.shape} could not be broadcast to a mask's part"
            )
        value = value.reshape((1,) * max(0, -extra) + value.shape[max(0, extra) :])
        count = value.shape[axis]
        places = range(first, first + mask.ndim)
        if count == 1:
            return jnp.expand_dims(jnp.squeeze(value, axis), tuple(places))
        error = ValueError(f"{count} values are assigned through a mask that selects another number of elements")
        if self.backend.is_traced(mask):
            self.raising.raise_unless(jnp.sum(mask) == count, error)
        elif np.sum(mask) != count:
            raise error
        position = jnp.cumsum(jnp.ravel(mask)) - 1
        found = jnp.take(value, jnp.clip(position.reshape(mask.shape), 0, max(count - 1, 0)), axis=axis)
        return jnp.moveaxis(found, range(axis, axis + mask.ndim), places)

    def _mixed(self, array: Any, what: str, remedy: str) -> StagingError:
        return StagingError(
            f"{user_location()}\n  This writes into a {self.backend.type_of(array)} by {what}, and how many "
            f"elements a traced mask selects is known only at run time.\n  {remedy}."
        )


def has_mask(key: Any) -> bool:
    """Whether a key is a boolean array, or has one in it."""
    return any(map(_is_mask, key)) if type(key) is tuple else _is_mask(key)


def _is_mask(part: Any) -> bool:
    return getattr(part, "dtype", None) == np.bool_


def _keeps_axis(part: Any) -> bool:
    return part is None or isinstance(part, slice)
