"""Views of a whole array that no index takes: its axes in another order, another shape, its elements elsewhere, a part of each number.

Each stands in place of the key of a `given_arrays.ArrayView`, takes the view of an array and puts one back into it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


class Rearrangement:
    """Base class: what of an array a view takes, where no index takes it."""

    def taken(self, whole: Any) -> jax.Array:
        """The view of an array."""
        raise NotImplementedError

    def put(self, whole: Any, part: Any) -> jax.Array:
        """The array with ``part`` where the view is."""
        raise NotImplementedError

    def dtype_of(self, whole: Any) -> Any:
        """The dtype of the view of an array with this one."""
        return whole

    def strided(self, whole: np.ndarray) -> np.ndarray:
        """An array with the shape and strides that NumPy's view of ``whole`` has, as far as they are known."""
        raise NotImplementedError


@dataclass(frozen=True)
class Order(Rearrangement):
    """The order of dimensions. Attributes: axes (those of the whole array)."""

    axes: tuple[int, ...]

    def taken(self, whole: Any) -> jax.Array:
        return jnp.transpose(whole, self.axes)

    def put(self, whole: Any, part: Any) -> jax.Array:
        return jnp.transpose(part, np.argsort(self.axes).tolist())

    def strided(self, whole: np.ndarray) -> np.ndarray:
        return np.transpose(whole, self.axes)


@dataclass(frozen=True)
class NewShape(Rearrangement):
    """A shape with as many elements."""

    shape: tuple[int, ...]

    def taken(self, whole: Any) -> jax.Array:
        return jnp.reshape(whole, self.shape)

    def put(self, whole: Any, part: Any) -> jax.Array:
        return jnp.reshape(part, jnp.shape(whole))

    def strided(self, whole: np.ndarray) -> np.ndarray:
        return whole.reshape(self.shape)


@dataclass(frozen=True)
class Positions(Rearrangement):
    """Elements by where they are in the flat array. Attributes: shape (of the view), indices (the bytes of 32-bit integers)."""

    shape: tuple[int, ...]
    indices: bytes

    def taken(self, whole: Any) -> jax.Array:
        return jnp.ravel(whole)[self._array()]

    def put(self, whole: Any, part: Any) -> jax.Array:
        return jnp.ravel(whole).at[self._array()].set(part).reshape(jnp.shape(whole))

    def strided(self, whole: np.ndarray) -> np.ndarray:
        """Of elements that may be anywhere: there is no view of another shape."""
        return np.zeros([2 * size for size in self.shape], np.int8)[(slice(None, None, 2),) * len(self.shape)]

    def _array(self) -> np.ndarray:
        return np.frombuffer(self.indices, np.int32).reshape(self.shape)


@dataclass(frozen=True)
class Component(Rearrangement):
    """The real or the imaginary parts of complex numbers. Attributes: name."""

    name: str

    def taken(self, whole: Any) -> jax.Array:
        return jnp.real(whole) if self.name == "real" else jnp.imag(whole)

    def put(self, whole: Any, part: Any) -> jax.Array:
        numbers = jnp.asarray(whole)
        parts = numbers.view(numbers.real.dtype).reshape((*numbers.shape, 2))
        parts = parts.at[..., 0 if self.name == "real" else 1].set(part)
        return parts.reshape((*numbers.shape[:-1], -1)).view(numbers.dtype)

    def dtype_of(self, whole: Any) -> Any:
        return np.zeros((), whole).real.dtype

    def strided(self, whole: np.ndarray) -> np.ndarray:
        return getattr(whole.astype(np.complex64), self.name)


@dataclass(frozen=True)
class Bits(Rearrangement):
    """The bytes of all elements as another dtype. Attributes: name (that of the dtype)."""

    name: str

    def taken(self, whole: Any) -> jax.Array:
        return jnp.asarray(whole).view(self.name)

    def put(self, whole: Any, part: Any) -> jax.Array:
        return part.view(jnp.asarray(whole).dtype)

    def dtype_of(self, whole: Any) -> Any:
        return np.dtype(self.name)

    def strided(self, whole: np.ndarray) -> np.ndarray:
        return whole


def rearranged(strided: np.ndarray, rearrange: Callable[[np.ndarray], Any]) -> Any:
    """What a function of NumPy's that only moves elements returns for an array of this shape and these strides.

    Returns:
      The `Rearrangement` of a view, a list or tuple of these where the function returns several, and None for a copy.
    """
    indices = np.arange(strided.size, dtype=np.int32).reshape(strided.shape)

    def found(part: np.ndarray, like: np.ndarray) -> Rearrangement | None:
        if not np.shares_memory(like, strided):
            return None
        flat = np.ravel(part)
        if flat.size == indices.size and (flat[1:] > flat[:-1]).all():
            return NewShape(part.shape)
        return Positions(part.shape, np.ascontiguousarray(part).tobytes())

    result, likes = rearrange(indices), rearrange(strided)
    if isinstance(result, list | tuple):
        return type(result)(map(found, result, likes))
    return found(result, likes)
