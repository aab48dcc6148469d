"""The functions that library code is given."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

from autograph.runtime.heap.list_outputs import as_argument
from autograph.runtime.layouts.statement_variables import items_of_sequence


def each_function(convert: Callable[[Any], Any], values: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments of a call, with each function among them, and among the items of a list or tuple, converted."""
    return tuple(
        convert(value) if items_of_sequence(value) is None else _each_member(convert, value) for value in values
    )


def _each_member(convert: Callable[[Any], Any], values: Any) -> Any:
    """The list or tuple itself, which its receiver may change or compare, unless it holds a function."""
    converted = [convert(value) for value in values]
    unchanged = all(new is old for new, old in zip(converted, values, strict=True))
    return values if unchanged else tuple(converted) if type(values) is tuple else converted


def returning_plain_lists(convert: Callable[[Any], Any], function: Any) -> Any:
    """A function as ``convert`` returns it, whose results have Python's lists instead of those of the trace."""
    converted = convert(function)
    if type(function) not in (types.FunctionType, types.MethodType, functools.partial):
        return converted
    return functools.wraps(converted, updated=())(lambda *args, **kwargs: as_argument(converted(*args, **kwargs)))


def is_transform(called: Any) -> bool:
    """Whether this is a function of JAX's own, as against a user's function that JAX has transformed."""
    while hasattr(called, "__wrapped__"):
        called = called.__wrapped__
    return isinstance(called, types.FunctionType) and called.__globals__.get("__name__", "").startswith("jax.")
