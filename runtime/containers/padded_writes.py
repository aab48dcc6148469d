"""Writes to arrays of traced length: ``z[key] = v``, and ``z.at[key].add(v)``, which make another array."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp

from autograph.runtime.containers.lengths import check, is_same_count, refused, taken_by
from autograph.runtime.containers.padded_arrays import PaddedArray, aligned, is_mask, shown


class Writes:
    def __init__(self, array: PaddedArray) -> None:
        self._array = array

    def __getitem__(self, key: Any) -> _Written:
        return _Written(self._array, key)


class _Written:
    """``array.at[key]``."""

    def __init__(self, array: PaddedArray, key: Any) -> None:
        self._array, self._key = array, key

    def get(self) -> Any:
        return self._array[self._key]

    def set(self, values: Any) -> Any:
        return self._written("set", values, lambda _, new: new)

    def add(self, values: Any) -> Any:
        return self._written("add", values, operator.add)

    def subtract(self, values: Any) -> Any:
        return self._written("add", jnp.negative(jnp.asarray(values)), operator.add)

    def multiply(self, values: Any) -> Any:
        return self._written("multiply", values, operator.mul)

    mul = multiply

    def min(self, values: Any) -> Any:
        return self._written("min", values, jnp.minimum)

    def max(self, values: Any) -> Any:
        return self._written("max", values, jnp.maximum)

    def __getattr__(self, name: str) -> Any:
        raise refused(f"`.at[…].{name}`")

    def _written(self, name: str, new: Any, combine: Callable[[Any, Any], Any]) -> PaddedArray:
        array = self._array
        first, rest = array._split(self._key)
        old = array.values
        if isinstance(first, slice) or is_mask(first):
            if any(part is not None and not isinstance(part, slice | int) for part in rest):
                raise refused(f"a write at [{shown(self._key)}]")
            part = old[(slice(None), *rest)] if rest else old
            given = self._spread(first, part, new)
            covered = jnp.reshape(given[0], (-1, *[1] * (part.ndim - 1)))
            written = jnp.where(covered, jnp.asarray(combine(part, given[1])).astype(part.dtype), part)
            return PaddedArray.of(old.at[(slice(None), *rest)].set(written) if rest else written, array.count)
        place: Any
        if isinstance(first, PaddedArray):
            if isinstance(new, PaddedArray):
                (new, _), _ = aligned([new, first])
            place = jnp.where(jnp.ravel(first.filled()), array.place(first.values), array.capacity)
        else:
            place = array.place(jnp.asarray(first))
        if isinstance(new, PaddedArray):
            raise refused("a value of traced length, at an index of known size,")
        values = jnp.asarray(new).astype(old.dtype)
        return PaddedArray.of(getattr(old.at[(place, *rest)], name)(values, mode="drop"), array.count)

    def _spread(self, first: Any, part: Any, new: Any) -> tuple[Any, Any]:
        """Which rows are written, and the values for all rows."""
        array = self._array
        if isinstance(first, slice):
            start, step, count = taken_by(first, array.length)
            steps = jnp.arange(array.capacity) - start
            offset = steps // step
            covered = (steps % step == 0) & (offset >= 0) & (offset < count)
        else:
            (mask, _), _ = aligned([first, array])
            covered = mask & jnp.ravel(array.filled())
            offset, count = jnp.cumsum(covered) - 1, jnp.sum(covered)
        return covered, spread(new, offset, count, part.ndim)


def spread(new: Any, offset: Any, count: Any, ndim: int) -> Any:
    """What is assigned to a part of an array of so many dimensions: for each of its rows the one at ``offset``, of ``count``."""
    if not isinstance(new, PaddedArray):
        new = jnp.asarray(new)
        if new.ndim < ndim or new.shape[0] == 1:
            return new
        new = PaddedArray(new, new.shape[0])
    elif new.ndim < ndim:
        raise refused("a value of traced length, in a dimension other than the first,")
    error = ValueError("could not broadcast input array: another number of values than elements to assign to")
    if not is_same_count(new.count, count):
        check((new.length == count) | (new.length == 1), error)
    place = jnp.where(jnp.asarray(new.length) == 1, 0, jnp.clip(offset, 0, max(new.capacity - 1, 0)))
    if not new.capacity:
        return jnp.zeros((1, *new.values.shape[1:]), new.dtype)
    return new.values[place]
