"""Calls of Python's functions with arguments that they do not take raise Python's errors, whatever runs in their place."""

from __future__ import annotations

import functools
import re
import types
from collections.abc import Callable, Mapping
from typing import Any

from autograph.runtime.tracing.locations import is_internal

_OF_BINDING = re.compile(r"[\w.<>]+\(\) (missing|takes|got)\b")


def with_python_errors(overloads: Mapping[Any, Callable[..., Any]]) -> dict[Any, Callable[..., Any]]:
    """The overloads, by function, such that arguments which one has no parameters for are given to the function itself."""
    return {function: _binding_as(function, overload) for function, overload in overloads.items()}


def _binding_as(function: Callable[..., Any], overload: Callable[..., Any]) -> Callable[..., Any]:
    if not isinstance(overload, types.FunctionType | types.MethodType):
        return overload

    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return overload(*args, **kwargs)
        except TypeError as error:
            if not _is_of_binding(error):
                raise
        return function(*args, **kwargs)

    functools.update_wrapper(call, overload)
    call.__wrapped__ = getattr(overload, "__wrapped__", overload)  # type: ignore[attr-defined]
    return call


def _is_of_binding(error: TypeError) -> bool:
    """Whether Python raised this for the arguments of one of our functions, before it ran."""
    if not _OF_BINDING.match(str(error)):
        return False
    traceback = error.__traceback__
    while traceback is not None and is_internal(traceback.tb_frame.f_code.co_filename):
        traceback = traceback.tb_next
    return traceback is None
