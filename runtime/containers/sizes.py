"""Symbolic sizes of arrays (`jax.export`'s dimensions): one trace serves all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from autograph.backends.base import Backend


def is_symbolic_size(value: Any) -> bool:
    """Whether this is a size that is known only at run time (`jax.export`'s symbolic dimensions): no array, but JAX
    makes one of it.
    """
    kind = type(value)
    is_of_jax = hasattr(kind, "__jax_array__") and kind.__module__.startswith(
        "jax."
    )  # no choice, which looks like what it chooses
    return is_of_jax and not hasattr(value, "shape") and hasattr(kind, "__floordiv__")


def is_of_symbolic_size(value: Any, backend: Backend) -> bool:
    """Whether this is a traced array with a symbolic first dimension, which Python cannot iterate over."""
    return backend.is_traced(value) and value.ndim > 0 and is_symbolic_size(value.shape[0])


def is_size(length: Any) -> bool:
    """Whether arrays can have this length."""
    return isinstance(length, int) or is_symbolic_size(length)


def may_be_zero(size: Any) -> bool:
    """Whether this is a symbolic size, of which JAX does not know that it is at least one."""
    if not is_symbolic_size(size):
        return False
    try:
        return not size >= 1
    except jax.errors.InconclusiveDimensionOperation:
        return True


def shorter(a: Any, b: Any) -> Any:
    """The smaller of two lengths: a size, if it is known which one that is."""
    if not (is_size(a) and is_size(b)):
        return jnp.minimum(a, b)
    try:
        return min(a, b)
    except jax.errors.InconclusiveDimensionOperation:
        return jnp.minimum(jnp.asarray(a), jnp.asarray(b))


def at_most(size: Any, number: int) -> Any:
    """The smaller of a size and a number; of a symbolic size, of which that is not known, the number."""
    try:
        return min(size, number)
    except jax.errors.InconclusiveDimensionOperation:
        return number


def holds_sizes(*values: Any) -> bool:
    """Whether a symbolic size is an item of one of these, such as a shape."""
    return any(isinstance(value, tuple | list) and any(map(is_symbolic_size, value)) for value in values)


def compared_sizes(symbol: str, plain: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    """A comparison with a symbolic size; a traced one where it depends on the size."""
    try:
        if symbol not in ("==", "!="):
            return plain(left, right)
        differs = bool(left < right) or bool(left > right)  # JAX answers `==` also where it does not know
    except jax.errors.InconclusiveDimensionOperation:
        return plain(*(jnp.asarray(each) if is_symbolic_size(each) else each for each in (left, right)))
    except (TypeError, jax.errors.ConcretizationTypeError):  # beside what is no number, or traced
        return plain(left, right)
    return differs is (symbol == "!=")
