"""Attributes: those of Python's numbers that arrays lack, of traced numbers, and what says that there is none."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from autograph.runtime.layouts.perhaps import read


def _bits(value: Any) -> Any:
    """The magnitude of an integer, in bits."""
    if not jnp.issubdtype(value.dtype, jnp.integer) and value.dtype != bool:
        raise AttributeError(f"'{value.dtype.name}' object has no attribute 'bit_length'")
    value = value.astype(int) if value.dtype == bool else value
    return jnp.abs(value).astype(f"uint{8 * value.dtype.itemsize}")


def _bit_length(value: Any) -> Callable[[], Any]:
    bits = _bits(value)

    def call() -> Any:
        below = bits  # with all bits set below the highest
        for shift in (1, 2, 4, 8, 16, 32)[: (8 * bits.dtype.itemsize).bit_length() - 1]:
            below = below | (below >> shift)
        return jnp.bitwise_count(below).astype(int)

    return call


def _bit_count(value: Any) -> Callable[[], Any]:
    bits = _bits(value)
    return lambda: jnp.bitwise_count(bits).astype(int)


def _is_integer(value: Any) -> Callable[[], Any]:
    return lambda: jnp.isfinite(value) & (jnp.floor(value) == value)


def _integer(value: Any, name: str) -> Any:
    if not jnp.issubdtype(value.dtype, jnp.integer) and value.dtype != bool:
        raise AttributeError(f"'{value.dtype.name}' object has no attribute {name!r}")
    return value.astype(int) if value.dtype == bool else value


def _numerator(value: Any) -> Any:
    return _integer(value, "numerator")


def _denominator(value: Any) -> Any:
    return jnp.ones_like(_integer(value, "denominator"))


OF_TRACED_NUMBERS: Mapping[str, Callable[[Any], Any]] = types.MappingProxyType(
    {
        "bit_length": _bit_length,
        "bit_count": _bit_count,
        "is_integer": _is_integer,
        "numerator": _numerator,
        "denominator": _denominator,
    }
)
"""By name, what a traced number has for it."""


def python_number(value: Any) -> Any:
    """A number of the class that a traced number of Python's has; None for what is none."""
    if not is_traced_number(value) or not jax.typeof(value).weak_type:
        return None
    return np.zeros((), value.dtype).item()


def is_traced_number(value: Any) -> bool:
    """Whether this is a traced number, or Boolean."""
    return isinstance(value, jax.core.Tracer) and not np.ndim(value)


def attribute_of(value: Any, name: str) -> Any:
    """An attribute of a value.

    Raises:
      AttributeError: it has none; of a traced number in the words that Python has for a number, as what a block does where it runs.
    """
    try:
        return read(getattr(value, name))
    except AttributeError:
        if not is_traced_number(value):
            raise
        number = python_number(value)
        kind = "jax.Array" if number is None else type(number).__name__
        raise AttributeError(f"{kind!r} object has no attribute {name!r}", name=name) from None
