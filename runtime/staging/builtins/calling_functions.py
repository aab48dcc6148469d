"""Functions of NumPy's that go over parts of arrays, some by functions of the user's, as Python functions that are converted in turn."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from autograph.backends.base import Backend
from autograph.runtime.errors import StagingError
from autograph.runtime.state.array_operators import plain
from autograph.runtime.state.chosen_arrays import places_in
from autograph.runtime.tracing.locations import user_location


class CallingFunctions:
    """What is called in place of such functions where arrays are traced.

    Args:
      convert: makes the converted form of a function.
    """

    def __init__(self, backend: Backend, convert: Callable[[Any], Callable[..., Any]]) -> None:
        self._backend = backend
        self._convert = convert

    def overloads(self) -> Mapping[Any, Callable[..., Any]]:
        """For each of these functions, one that takes traced arrays."""
        twins: dict[Any, Callable[..., Any]] = {
            np.piecewise: _piecewise,
            np.apply_along_axis: _apply_along_axis,
            np.apply_over_axes: _apply_over_axes,
            np.fromiter: _fromiter,
            np.lib.stride_tricks.sliding_window_view: _sliding_window_view,
        }
        return {function: self._overload(function, twin) for function, twin in twins.items()}

    def vectorized(self, called: np.vectorize) -> Callable[..., Any]:
        """What to call in place of a `numpy.vectorize`."""

        def call(*args: Any, **kwargs: Any) -> Any:
            if self._backend.is_eager():
                return called(*args, **kwargs)
            if called.signature is not None or called.excluded or kwargs:
                raise StagingError(
                    f"{user_location()}\n  `numpy.vectorize` with `signature`, `excluded` or arguments by keyword is refused in a trace.\n"
                    "  Write a loop, or jax.vmap of the function."
                )
            return self._convert(_vectorized)(called.pyfunc, called.otypes, *map(plain, args))

        return call

    def _overload(self, function: Callable[..., Any], twin: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function, updated=())
        def call(*args: Any, **kwargs: Any) -> Any:
            if self._backend.is_eager():
                return function(*args, **kwargs)
            if twin is _sliding_window_view and (kwargs.get("writeable") or any(map(places_in, args[:1]))):
                raise StagingError(
                    f"{user_location()}\n  `sliding_window_view` of an array that is written in place, or with `writeable`, is refused: "
                    "writes are not visible through it.\n  Take it of a copy, x.copy()."
                )
            return self._convert(twin)(*args, **kwargs)

        return call


def _piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    x = np.asarray(x)
    if isinstance(condlist, list | tuple):
        is_one = x.ndim > 0 and not isinstance(condlist[0], list) and np.ndim(condlist[0]) == 0
    else:
        is_one = np.ndim(condlist) < (2 if x.ndim else 1)
    conditions = [condlist] if is_one else condlist
    masks = [np.ravel(np.broadcast_to(np.asarray(each, dtype=bool), x.shape)) for each in conditions]
    if len(funclist) == len(masks) + 1:
        masks.append(~np.any(np.stack(masks), axis=0))
    elif len(funclist) != len(masks):
        raise ValueError(
            f"with {len(masks)} condition(s), either {len(masks)} or {len(masks) + 1} functions are expected"
        )
    elements = np.ravel(x)
    found = np.zeros(elements.shape, x.dtype)
    for mask, function in zip(masks, funclist, strict=True):
        if not callable(function):
            found = np.where(mask, np.asarray(function).astype(x.dtype), found)
        elif np.any(mask):  # a function of none is not called
            found[mask] = function(elements[mask], *args, **kw)
    return np.reshape(found, x.shape)


def _apply_along_axis(func1d: Any, axis: Any, arr: Any, *args: Any, **kwargs: Any) -> Any:
    moved = np.moveaxis(np.asarray(arr), axis, -1)
    rows = np.reshape(moved, (-1, moved.shape[-1]))
    results = np.asarray([func1d(row, *args, **kwargs) for row in rows])
    results = np.reshape(results, (*moved.shape[:-1], *results.shape[1:]))
    first = moved.ndim - 1
    added = results.ndim - first
    start = axis if axis >= 0 else axis + moved.ndim
    return np.moveaxis(results, tuple(range(first, results.ndim)), tuple(range(start, start + added)))


def _apply_over_axes(func: Any, a: Any, axes: Any) -> Any:
    found = np.asarray(a)
    count = found.ndim
    for axis in axes if np.iterable(axes) else (axes,):
        place = axis + count if axis < 0 else axis
        reduced = func(found, place)
        if np.ndim(reduced) != count:
            reduced = np.expand_dims(reduced, place)
        if np.ndim(reduced) != count:
            raise ValueError("function is not returning an array of the correct shape")
        found = reduced
    return found


def _fromiter(iter: Any, dtype: Any, count: Any = -1) -> Any:  # noqa: A002 as NumPy's
    items = list(iter)
    if count >= 0:
        if len(items) < count:
            raise ValueError(f"iterator too short: Expected {count} but iterator had only {len(items)} items.")
        items = items[:count]
    return np.asarray(items, dtype=dtype)


def _sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> Any:
    found = np.asarray(x)
    sizes = tuple(window_shape) if np.iterable(window_shape) else (window_shape,)
    axes = tuple(range(found.ndim)) if axis is None else tuple(axis) if np.iterable(axis) else (axis,)
    if len(sizes) != len(axes):
        raise ValueError("window_shape and axis must have the same length, which is that of x.shape without an axis")
    if any(size < 0 for size in sizes):
        raise ValueError("`window_shape` cannot contain negative values")
    axes = tuple(each + found.ndim if each < 0 else each for each in axes)
    for size, each in zip(sizes, axes, strict=True):
        if found.shape[each] < size:
            raise ValueError("window shape cannot be larger than input array shape")
        places = np.arange(found.shape[each] - size + 1)[:, None] + np.arange(size)
        found = np.moveaxis(np.take(found, places, axis=each), each + 1, -1)
    return found


def _vectorized(function: Any, otypes: Any, *args: Any) -> Any:
    arrays = np.broadcast_arrays(*args)
    shape = arrays[0].shape
    results = [function(*each) for each in zip(*[np.ravel(array) for array in arrays], strict=True)]
    if isinstance(results[0], tuple):
        parts = [np.reshape(np.asarray([each[k] for each in results]), shape) for k in range(len(results[0]))]
        if otypes is not None:
            parts = [part.astype(dtype) for part, dtype in zip(parts, otypes, strict=True)]
        return tuple(parts)
    found = np.reshape(np.asarray(results), shape)
    return found if otypes is None else found.astype(otypes[0])


def is_vectorized(called: Any) -> bool:
    """Whether this is a `numpy.vectorize`."""
    return type(called) is np.vectorize
