"""Keys of arrays: which of them take a view, what they take and what an array is when they have been written at."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from autograph.runtime.state.array_operators import plain
from autograph.runtime.state.rearrangements import Rearrangement
from autograph.runtime.state.spans import Span, has_span
from autograph.runtime.tracing.language import LANGUAGE


def part_of(whole: Any, key: Any) -> Any:
    """What a key takes of an array."""
    if isinstance(key, Rearrangement):
        return key.taken(whole)
    if has_span(key):
        return LANGUAGE.operators.slices.read_window(jnp.asarray(whole), key)
    return (jnp.asarray(whole) if _is_traced_key(key) else whole)[key]


def with_part(whole: Any, key: Any, part: Any) -> Any:
    """An array with ``part`` at ``key``, in the array's dtype, as NumPy assigns."""
    if isinstance(key, Rearrangement):
        return key.put(whole, part)
    if isinstance(whole, np.ndarray) and not isinstance(part, jax.Array) and not _is_traced_key(key):
        new = whole.copy()
        new[key] = part
        return new
    whole = jnp.asarray(whole)
    part = jnp.asarray(part).astype(whole.dtype)
    return LANGUAGE.operators.slices.write_window(whole, key, part) if has_span(key) else whole.at[key].set(part)


def is_view(key: Any) -> bool:
    """Whether NumPy returns a view of a known shape for this key: it is made of integers and slices."""
    return all(map(_is_basic, key)) if isinstance(key, tuple) else _is_basic(key)


def is_view_of_one(key: Any) -> bool:
    """Whether what this key takes is a view of one element, and not the element, where it is without dimensions: ``x[0, ...]``."""
    return any(part is ... for part in (key if isinstance(key, tuple) else (key,)))


def is_number(part: Any) -> bool:
    """Whether a part of a key is an integer, traced or not."""
    if isinstance(part, bool | np.bool_) or part is None or isinstance(part, slice | str):
        return False
    dtype = getattr(part, "dtype", None)
    return isinstance(part, int) or (dtype is not None and np.ndim(part) == 0 and np.issubdtype(dtype, np.integer))


def plain_key(key: Any) -> Any:
    """A key without Variables."""
    return tuple(map(plain, key)) if isinstance(key, tuple) else plain(key)


def static_key(key: Any) -> tuple[Any, ...]:
    """A key of integers and slices that takes as many elements, without traced numbers."""
    parts = key if isinstance(key, tuple) else (key,)
    return tuple(
        slice(0, part.width, part.step) if isinstance(part, Span) else 0 if is_number(plain(part)) else part
        for part in parts
    )


def shape_of(shape: tuple[int, ...], key: Any) -> tuple[int, ...]:
    """The shape of what a key of integers and slices takes of an array."""
    fixed = static_key(key)
    used = sum(part is not None and part is not ... for part in fixed)
    if used > len(shape) or 0 in shape:
        return tuple(jax.eval_shape(lambda a: a[fixed], jax.ShapeDtypeStruct(shape, np.int32)).shape)
    return np.broadcast_to(np.int8(0), shape)[fixed].shape


def _is_traced_key(key: Any) -> bool:
    return any(isinstance(part, jax.Array | Span) for part in (key if isinstance(key, tuple) else (key,)))


def _is_basic(part: Any) -> bool:
    if isinstance(part, Span):
        return part.size is not None
    if isinstance(part, slice):
        return all(each is None or isinstance(each, int | np.integer) for each in (part.start, part.stop, part.step))
    return part is None or part is ... or is_number(plain(part))
