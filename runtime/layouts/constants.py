"""Constants: the Python values, other than numbers, of which a traced condition may choose one (`one_of.OneOf`)."""

from __future__ import annotations

import enum
import types
from collections.abc import Sequence
from typing import Any

import numpy as np

from autograph.runtime.layouts.functions import is_same_function

_ARRAY_LIBRARIES = frozenset(["jax", "jaxlib", "numpy"])


def sort_of_constant(value: Any) -> Any:
    """What a constant can be chosen with: its class, or ``callable``; None for what is no constant.

    Constants are strings, bytes, members of an `enum.Enum`, dtypes, classes, functions, methods of objects and each ``object()``: what a
    program may hold and nobody can change. Numbers are arrays where they differ.

    >>> sort_of_constant("open"), sort_of_constant(len), sort_of_constant(float), sort_of_constant(1)
    (<class 'str'>, 'callable', 'callable', None)
    """
    kind = type(value)
    if issubclass(kind, enum.Enum) or kind in (str, bytes, object):
        return kind
    if issubclass(kind, np.dtype):
        return np.dtype
    return "callable" if _is_function(value, kind) else None


def _is_function(value: Any, kind: type) -> bool:
    """Whether this is a class, a function, or a method: with nothing that may change but what it refers to."""
    if kind is types.FunctionType or issubclass(kind, type):
        return True
    if kind is types.MethodType and isinstance(value.__func__, types.FunctionType):
        return True  # of an object, as a function may have one in its closure
    if kind is types.BuiltinFunctionType or kind is types.MethodType:  # methods of objects among them
        owner = value.__self__
        return owner is None or isinstance(owner, types.ModuleType) or sort_of_constant(owner) not in (None, "callable")
    is_of_arrays = kind.__module__.partition(".")[0] in _ARRAY_LIBRARIES
    return is_of_arrays and callable(value) and hasattr(value, "__name__") and not hasattr(value, "dtype")


def is_same_constant(one: Any, other: Any) -> bool:
    """Whether either may represent the other."""
    if one is other or is_same_function(one, other):
        return True
    if type(one) is not type(other) or type(one) not in (str, bytes):
        methods = (types.BuiltinFunctionType, types.MethodType)  # of one string, say, or of one member of an enum
        return type(one) in methods and bool(one == other)
    return bool(one == other)


def place_of(constant: Any, candidates: Sequence[Any]) -> int | None:
    """Which of these a constant is; None if it is none."""
    return next((k for k, candidate in enumerate(candidates) if is_same_constant(candidate, constant)), None)


def is_of_other(sort: Any) -> bool:
    """Whether constants of this sort are numbers or texts, too: members of an `enum.IntEnum`, which equal some."""
    return (
        isinstance(sort, type) and issubclass(sort, enum.Enum) and issubclass(sort, int | str | bytes | float | complex)
    )
