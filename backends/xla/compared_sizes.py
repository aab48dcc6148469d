"""Comparisons of symbolic sizes by ``==``, which JAX answers also where it does not know."""

from __future__ import annotations

import os
import sys
import types
from collections.abc import Collection
from typing import Any

import jax
from jax import export

import autograph.backends
import autograph.runtime.errors
from autograph.backends.xla import jax_compat
from autograph.runtime.errors import place_of


def is_symbolic_size(value: Any) -> bool:
    """Whether a size is symbolic: no int, but a number that is known only at run time."""
    return bool(export.is_symbolic_dim(value))


def undecided_sizes() -> Collection[tuple[str, int]]:
    """See `backends.base.Staging`."""
    watch = _current_watch()
    return () if watch is None else watch.undecided()


def forget_compared_sizes() -> None:
    """See `backends.base.Staging`."""
    if (watch := _current_watch()) is not None:
        watch.forget()


def _current_watch() -> EqualityWatch | None:
    watch = getattr(sys.getprofile(), "__self__", None)
    return watch if isinstance(watch, EqualityWatch) else None


class EqualityWatch:
    """Sees the user's code compare symbolic sizes by ``==``.

    `jax.export` answers False where it cannot know, as hashing needs; ``if n == 3`` would take the wrong
    branch silently.
    """

    def __init__(self) -> None:
        self._codes: dict[Any, None] = {}
        self._seen: list[tuple[Any, Any, tuple[str, int]]] = []
        self._before: Any = None

    def __enter__(self) -> EqualityWatch:
        kind = jax_compat.symbolic_size_class()
        self._codes = dict.fromkeys((kind.__eq__.__code__, kind.__ne__.__code__)) if _is_python(kind) else {}
        self._before = sys.getprofile()
        sys.setprofile(self._event)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(self._before)

    def _event(self, frame: types.FrameType, event: str, _: Any) -> None:
        if event != "call" or frame.f_code not in self._codes or frame.f_back is None:
            return
        caller = _asking(frame.f_back)
        if not caller.f_code.co_filename.startswith(OTHERS):
            first, second = (frame.f_locals[name] for name in frame.f_code.co_varnames[:2])
            self._seen.append((first, second, (caller.f_code.co_filename, caller.f_lineno)))

    def undecided(self) -> set[tuple[str, int]]:
        """The lines of comparisons that could have turned out either way."""
        return {line for first, second, line in self._seen if _may_be_equal(first, second)}

    def forget(self) -> None:
        """Nothing has been compared: what has been traced so far is traced again."""
        self._seen = []

    def check(self) -> None:
        """Raise if a comparison could have turned out either way."""
        for first, second, line in self._seen:
            if _may_be_equal(first, second):
                raise ValueError(f"whether {first} equals {second} depends on the size ({place_of(*line)})")


def _asking(frame: types.FrameType) -> types.FrameType:
    """The frame that compares: ``frame``, or where it is the ``==`` of a dataclass, or an operator of converted code, what called it."""
    while frame.f_back is not None and (
        (frame.f_code.co_filename == "<string>" and frame.f_code.co_name == "__eq__")
        or frame.f_code.co_filename.startswith(OWN)
    ):
        frame = frame.f_back
    return frame


def _is_python(kind: type) -> bool:
    return isinstance(kind.__eq__, types.FunctionType) and isinstance(kind.__ne__, types.FunctionType)


def _may_be_equal(first: Any, second: Any) -> bool:
    """Whether two different sizes can be equal. What is no size at all cannot."""
    if not isinstance(second, int) and not is_symbolic_size(second):
        return False
    try:
        difference = first - second
    except ValueError:  # they are of two traces, which only caches compare, where two hashes are alike
        return False
    if not is_symbolic_size(difference):
        return False  # known: both always equal, or never
    try:
        return not (difference > 0 or difference < 0)
    except jax.errors.InconclusiveDimensionOperation:
        return True


def _folders(*modules: Any) -> tuple[str, ...]:
    return tuple(os.path.join(os.path.dirname(os.path.abspath(str(module.__file__))), "") for module in modules)


# JAX asks with care, and our own code asks the user's questions nowhere but in operators.
OTHERS = _folders(jax, jax.numpy, autograph.backends)
OWN = _folders(autograph.runtime.errors)
