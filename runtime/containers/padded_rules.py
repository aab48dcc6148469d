"""What the rules for functions of arrays of traced length are made with."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from autograph.runtime.containers.lengths import refused
from autograph.runtime.containers.padded_arrays import PaddedArray, elementwise
from autograph.runtime.containers.transposed import Transposed, as_rows, of_transposes

Rule = Callable[..., Any]


def is_padded(value: Any) -> bool:
    return isinstance(value, PaddedArray)


def is_leaf(value: Any) -> bool:
    return isinstance(value, PaddedArray | Transposed)


def as_padded_array(value: Any) -> PaddedArray:
    """An array as one of traced length, which may be known."""
    if isinstance(value, PaddedArray):
        return value
    value = jnp.asarray(value)
    return PaddedArray(value, value.shape[0])


def resolved(value: Any) -> Any:
    """The array of exact shape, where the length is known."""
    return value.resolve() if isinstance(value, PaddedArray) else value


def by_elements(function: Callable[..., Any]) -> Rule:
    """A function that works element by element in all of its arguments that are arrays."""

    @of_transposes
    def rule(*args: Any, **kwargs: Any) -> Any:
        leaves, treedef = jax.tree_util.tree_flatten((args, kwargs), is_leaf=is_leaf)
        arrays = [k for k, leaf in enumerate(leaves) if is_leaf(leaf) or isinstance(leaf, jax.Array | np.ndarray)]

        def of_arrays(*values: Any) -> Any:
            for k, value in zip(arrays, values, strict=True):
                leaves[k] = value
            given, named = jax.tree_util.tree_unflatten(treedef, leaves)
            return function(*given, **named)

        operands = [leaves[k] for k in arrays]
        if not any(isinstance(operand, Transposed) for operand in operands):
            return elementwise(of_arrays, *operands)
        return jax.tree_util.tree_map(Transposed, elementwise(of_arrays, *map(as_rows, operands)), is_leaf=is_padded)

    return rule


def in_first(function: Callable[..., Any]) -> Rule:
    """A function that works element by element in its first argument; the others stay as they are."""

    def rule(a: Any, *args: Any, **kwargs: Any) -> Any:
        if not is_padded(a) or any(map(is_leaf, jax.tree_util.tree_leaves((args, kwargs), is_leaf=is_leaf))):
            raise refused(f"`{function.__name__}` with this argument")
        return elementwise(lambda values: function(values, *args, **kwargs), a)

    return rule


def axes_of(a: PaddedArray, axis: Any) -> tuple[int, ...] | None:
    """The axes of a reduction, from 0 on; None for all."""
    if axis is None:
        return None
    axes = axis if isinstance(axis, tuple | list) else (axis,)
    return tuple(operator.index(each) % a.ndim for each in axes)


def is_over_first(a: PaddedArray, axis: Any) -> bool:
    axes = axes_of(a, axis)
    return axes is None or 0 in axes


def extreme_of(dtype: Any, least: bool) -> Any:
    if jnp.issubdtype(dtype, jnp.bool_):
        return not least
    if jnp.issubdtype(dtype, jnp.inexact):
        return -jnp.inf if least else jnp.inf
    info = jnp.iinfo(dtype)  # type: ignore[no-untyped-call]
    return info.min if least else info.max


def raveled(a: Any, order: str = "C") -> Any:
    if order not in "CA":
        raise refused("`ravel` in this order")
    rest = int(np.prod(a.values.shape[1:]))
    if a.ndim == 1:
        return a
    return PaddedArray.of(jnp.ravel(a.values), a.count.derived(("times", rest), lambda length: length * rest))


def zeroed(a: Any) -> Any:
    """The values with zeros beyond the length."""
    return jnp.where(a.filled(), a.values, jnp.zeros((), a.dtype))


def refuse(what: str) -> Any:
    """Raise that this is refused."""
    raise refused(what)


def rank(value: Any) -> int:
    """The number of dimensions of what may be an array of traced length."""
    return int(jnp.ndim(value.values if isinstance(value, PaddedArray) else value))
