"""`tolist` and `item` of arrays of which only the run knows the elements: what stands for Python's numbers in a trace."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from autograph.backends.selected import STAGING
from autograph.runtime.tracing.language import LANGUAGE


def taking_out(method: types.MethodType) -> Callable[..., Any] | None:
    """What to call in place of a method of a traced array that returns Python's numbers; None if it is another."""
    array: Any = method.__self__
    if method == array.tolist:
        return functools.partial(as_lists, array)
    return functools.partial(item_of, array) if method == array.item else None


def as_lists(array: Any) -> Any:
    """``array.tolist()``."""
    if not isinstance(array, jax.core.Tracer):
        return array.tolist()
    return LANGUAGE.operators.new_list(list(map(as_lists, array))) if array.ndim else _number(array)


def item_of(array: Any, *index: Any) -> Any:
    """``array.item(*index)``.

    Raises:
      ValueError: it has not one element, and no index says which it is.
    """
    if not isinstance(array, jax.core.Tracer) and not any(isinstance(k, jax.core.Tracer) for k in index):
        return array.item(*index)
    if index:
        place = index if len(index) > 1 else index[0]
        whole = array if isinstance(place, tuple) else jnp.ravel(array)
        return _number(LANGUAGE.operators.get_item(whole, place))
    if array.size != 1:
        raise ValueError("can only convert an array of size 1 to a Python scalar")
    return _number(array.reshape(()))


def as_numbers(values: Any) -> Any:
    """An array as the one of Python's numbers that its elements are."""
    return values.astype(jnp.result_type(_kind(values.dtype)))


def _number(array: Any) -> Any:
    kind = _kind(array.dtype)
    return array if kind is bool else STAGING.number(array, kind)


def _kind(dtype: Any) -> type:
    if jnp.issubdtype(dtype, jnp.bool_):
        return bool
    return int if jnp.issubdtype(dtype, jnp.integer) else float if jnp.issubdtype(dtype, jnp.floating) else complex
