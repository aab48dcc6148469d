"""Refuse calls in staged statements that advance an iterator, a file or a random generator of Python."""

from __future__ import annotations

import io
import random
import types
from typing import Any, NoReturn

import numpy as np

from autograph.runtime.errors import StagingError
from autograph.runtime.tracing.locations import user_location

_OF_FILES = frozenset(
    ["write", "writelines", "read", "readline", "readlines", "read1", "readinto", "seek", "truncate", "close"]
)
_OF_GENERATORS = frozenset(["send", "throw", "close", "__next__", "__anext__", "asend", "athrow", "aclose"])
_LOOKS = frozenset(["getstate", "get_state", "spawn"])
_METHODS = (types.BuiltinMethodType, types.MethodType, types.MethodWrapperType)
_SHARED = frozenset([id(random.random.__self__), id(np.random.randn.__self__)])  # type: ignore[attr-defined]


def check_not_advanced(called: Any, repeats: bool) -> None:
    """`StagingError` if ``called``, in a staged statement, would advance something, once and while tracing.

    Numbers of the shared sources of `random` and `numpy.random` are drawn while tracing everywhere; here only where
    one is to serve for all iterations (``repeats``).
    """
    if not isinstance(called, _METHODS):
        return
    owner, name = called.__self__, called.__name__
    if isinstance(owner, io.IOBase) and name in _OF_FILES:
        raise _refusal(f"`{name}` of a file", "happens", "Use autograph.print (it takes an output_stream)")
    is_users = isinstance(called, types.MethodType) and isinstance(called.__func__, types.FunctionType)
    if name in _OF_GENERATORS and not is_users and (name == "__next__" or isinstance(owner, types.GeneratorType)):
        raise _refusal(f"`{name}` of an iterator", "advances it", "Call it before the statement")
    is_random = isinstance(owner, random.Random | np.random.Generator | np.random.RandomState) and name not in _LOOKS
    if is_random and (repeats or id(owner) not in _SHARED):
        refuse_draw(name)


def refuse_draw(name: str) -> NoReturn:
    """Raise `StagingError` of a method of a random number generator."""
    raise _refusal(f"`{name}` of a random number generator", "draws", "Use autograph.random or jax.random")


def _refusal(what: str, does: str, remedy: str) -> StagingError:
    return StagingError(
        f"{user_location()}\n  {what} inside a staged statement {does} once, while tracing, and not on each execution.\n"
        f"  {remedy}, or call it through autograph.py_function."
    )
