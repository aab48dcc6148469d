"""Raise `IndexError` at run time for indices that are out of range, with ``check_bounds``."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import jax.numpy as jnp
import numpy as np

from autograph.backends.base import Backend
from autograph.runtime.containers.array_functions import array_overloads
from autograph.runtime.containers.sizes import is_symbolic_size
from autograph.runtime.effects.staged_raises import Raising


class Bounds:
    """Checks of the indices that a program reads and writes at.

    Args:
      raising: how an error is raised when the program runs.
    """

    def __init__(self, backend: Backend, raising: Raising) -> None:
        self._backend = backend
        self._raising = raising

    def check(self, target: Any, key: Any, is_write: bool = False) -> None:
        """Raise `IndexError`, when the program runs if need be, where ``target[key]`` does not exist.

        Args:
          target: an array, a list, a tuple or a range.
          is_write: whether it is to be written.
        """
        if isinstance(target, list | tuple | range):
            if self._backend.is_traced(key):
                kind = "list" if isinstance(target, list) else "tuple" if isinstance(target, tuple) else "range object"
                text = f"{kind} assignment index out of range" if is_write else f"{kind} index out of range"
                self._check(key, len(target), lambda number: text)
            return
        for axis, index in _positions(key, len(target.shape)):
            self._check_axis(index, target.shape, axis)

    def _check_axis(self, index: Any, shape: Sequence[Any], axis: int) -> None:
        size = shape[axis]
        if is_symbolic_size(size):
            size = jnp.asarray(size)
        make = functools.partial(_out_of_bounds, axis)
        self._check(index, size, lambda number: self._raising.text(make, number, size))

    def _check(self, index: Any, size: Any, text: Callable[[Any], Any]) -> None:
        index = index if self._backend.is_array(index) else np.asarray(index)
        if not np.issubdtype(index.dtype, np.integer) or 0 in index.shape:
            return
        fits = (index >= -size) & (index < size)
        if not self._backend.is_traced(fits):
            fits = np.asarray(fits)
            if not fits.all():
                raise IndexError(text(int(np.ravel(index)[np.argmin(np.ravel(fits))])))
            return
        first = jnp.ravel(index)[jnp.argmin(jnp.ravel(fits))] if index.ndim else index
        self._raising.raise_unless(
            jnp.all(fits), lambda: self._raising.exception(IndexError, text(first)), is_check=True
        )

    def at(self, reference: Any, target: Any, key: Any) -> CheckedUpdate:
        """``target.at[key]``, which is ``reference``, checked where it is used."""
        return CheckedUpdate(reference, lambda: self.check(target, key))

    def overloads(self) -> Mapping[Any, Callable[..., Any]]:
        """JAX's and NumPy's functions that take positions, checked."""
        known = array_overloads()
        return {function: self._checked(known.get(function, function), function.__name__) for function in _functions()}

    def method(self, method: Any) -> Any:
        """A method of an array that takes positions, checked; None for any other."""
        array = method.__self__
        if self._backend.is_array(array) and method == array.take:
            return functools.partial(self._checked(jnp.take, "take"), array)
        return None

    def _checked(self, function: Any, name: str) -> Callable[..., Any]:
        names, default = _TAKE_POSITIONS[name]

        @functools.wraps(function, updated=())
        def call(*args: Any, **kwargs: Any) -> Any:
            given = dict(zip(names, args, strict=False)) | kwargs
            if given.get("mode") is None and set(names[:2]) <= given.keys():
                shape, axis = jnp.shape(given[names[0]]), given.get("axis", default)
                if axis is None:
                    shape, axis = (math.prod(shape),), 0
                if -len(shape) <= axis < len(shape):
                    self._check_axis(given[names[1]], shape, axis % len(shape))
            return function(*args, **kwargs)

        return call


class CheckedUpdate:
    """``array.at[index]``, the methods of which check the index first, unless a ``mode`` says what becomes of one that is out
    of range.
    """

    def __init__(self, reference: Any, check: Callable[[], None]) -> None:
        self._reference = reference
        self._check = check

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._reference, name)
        if not callable(method):
            return method

        @functools.wraps(method, updated=())
        def update(*args: Any, **kwargs: Any) -> Any:
            if kwargs.get("mode") is None:
                self._check()
            return method(*args, **kwargs)

        return update


def takes_positions(called: Any) -> bool:
    """Whether this is a function of JAX's or NumPy's that takes positions in an array."""
    return getattr(called, "__name__", None) in _TAKE_POSITIONS and any(called is each for each in _functions())


def _functions() -> list[Any]:
    return [getattr(module, name) for module in (jnp, np) for name in _TAKE_POSITIONS]


def _positions(key: Any, rank: int) -> Iterator[tuple[int, Any]]:
    """The axis and the index of each part of a key that is one or more positions."""
    parts = key if isinstance(key, tuple) else (key,)
    used = sum(map(_axes_of, parts))
    if used > rank:
        return  # JAX refuses it
    axis = 0
    for part in parts:
        if part is ...:
            axis += rank - used
            continue
        axes = _axes_of(part)
        if axes == 1 and not _is_mask(part) and not _is_slice(part):
            yield axis, part
        axis += axes


def _axes_of(part: Any) -> int:
    """How many dimensions of an array a part of a key takes."""
    if part is None or part is ...:
        return 0
    return np.ndim(part) if _is_mask(part) else 1


def _is_mask(part: Any) -> bool:
    return (
        isinstance(part, bool)
        or getattr(part, "dtype", None) == np.bool_
        or (isinstance(part, list) and bool(part) and np.asarray(part).dtype == np.bool_)
    )


def _is_slice(part: Any) -> bool:
    return isinstance(part, slice) or not (np.isscalar(part) or hasattr(part, "dtype") or isinstance(part, list))


def _out_of_bounds(axis: int, number: Any, size: Any) -> str:
    return f"index {number} is out of bounds for axis {axis} with size {size}"


# Of each function its parameters, the first two of which are the array and the positions, and the axis without one given.
_TAKE_POSITIONS: Mapping[str, tuple[tuple[str, ...], int | None]] = MappingProxyType(
    {
        "take": (("a", "indices", "axis", "out", "mode"), None),
        "put": (("a", "ind", "v", "mode"), None),
        "take_along_axis": (("arr", "indices", "axis", "mode"), -1),
        "put_along_axis": (("arr", "indices", "values", "axis"), None),
    }
)
