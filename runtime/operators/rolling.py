"""Loops over a Python ``range`` as one staged loop, where that gives what Python gives; else in Python, with a warning.

Whether it does is found by a trial: the body is traced once with a traced index, and what it wrote is undone. The trial
is abandoned if the body does anything that would not happen once for each iteration, or that tells a traced number from
Python's.
"""

from __future__ import annotations

import builtins
import dataclasses
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from autograph.backends.base import Backend, NotRollable
from autograph.runtime.errors import ConversionError, StagingError
from autograph.runtime.library_table import TABLE, full_name, is_library
from autograph.runtime.operators.iterables import UNROLLED_AT_MOST, as_staged, to_be_staged
from autograph.runtime.operators.journal import Journal
from autograph.runtime.operators.locations import is_internal, user_location, warn
from autograph.runtime.operators.loop_carry import LoopTrace
from autograph.runtime.operators.loop_state import CarryChanges, ForLoop
from autograph.runtime.operators.raises import ABSENCES, may_be_bound

_FRESH_ITERATORS = (builtins.zip, builtins.enumerate, builtins.map, builtins.filter, builtins.reversed)


class Rolling:
    """What the operators for loops do with long loops in Python.

    Needs ``backend``, ``journal`` and the methods of `Loops` from the object it is mixed into.
    """

    backend: Backend
    journal: Journal
    converter: Any
    for_loop: Callable[..., LoopTrace]
    traced_leaves: Callable[[Sequence[Callable[..., Any]]], list[Any]]

    def rolled(self, items: range, loop: ForLoop, python_only: str | None) -> tuple[range, str | None]:
        """Run a loop over a Python range as one staged loop, if that gives what Python gives.

        Returns:
          The items that are left for Python to run, and why: none if the loop was rolled.
        """
        if python_only is not None:
            return items, f"its body holds {python_only}, which tells a traced index from a Python int"
        try:
            if self._roll(items, loop, may_peel=True):
                return items[:0], None
            return items, None
        except _NeedsPeeling:
            pass
        except NotRollable as refusal:
            return items, str(refusal)
        loop.body(items[0])  # here, where what it raises has no other exception for its context
        items = items[1:]
        try:
            if self._roll(items, loop, may_peel=False):
                return items[:0], None
            return items, None
        except NotRollable as refusal:
            return items, str(refusal)

    def _roll(self, items: range, loop: ForLoop, may_peel: bool) -> bool:
        """False if the body does nothing with traced values.

        Raises:
          NotRollable: why it must run in Python.
        """
        staged = as_staged(to_be_staged(items), self.backend, force=True)
        assert staged is not None
        trace = self.for_loop(staged, dataclasses.replace(loop, may_peel=may_peel), from_python=True)
        try:
            with self.journal.rolling():
                trace.settle(may_peel=True)
            assert trace.spec is not None
            rolled = self.backend.rolled(trace.spec)
        except NotRollable:
            raise
        except CarryChanges as error:
            if may_peel:
                raise _NeedsPeeling from None
            raise NotRollable(why(error)) from None
        except ABSENCES as error:
            if may_peel and may_be_bound(error, loop.names):
                raise _NeedsPeeling from None
            raise NotRollable(why(error)) from None
        except Exception as error:
            raise NotRollable(why(error)) from None
        if rolled is None:
            return False
        trace.spec, trace.numbers = rolled.spec, rolled.numbers
        trace.emit()
        return True

    def check_once(self, called: Any, is_unconverted: bool) -> None:
        """See that a call in the body may run once in the place of many times.

        Raises:
          NotRollable: it may not.
        """
        reason = _why_not_once(called, self.converter, is_unconverted)
        if reason is not None:
            raise NotRollable(reason)

    def refusal(self, reason: str) -> StagingError:
        """The error for a loop that was to be one loop, and cannot be."""
        return StagingError(
            f"{user_location()}\n  This loop is to be one staged loop (unroll=False or a number), and must run in Python: {reason}.\n"
            "  Leave the option out, or change the body."
        )


class _NeedsPeeling(Exception):
    """The state has types before the loop that only its first iteration sees."""


class Watch:
    """Counts the iterations of a loop in Python, and sees whether late ones left something traced behind."""

    def __init__(self, operators: Rolling, functions: Sequence[Callable[..., Any]]) -> None:
        self.operators = operators
        self.functions = functions
        self.count = 0
        self.held: list[Any] | None = None

    def step(self) -> None:
        """Note that an iteration begins."""
        self.count += 1
        if self.count == UNROLLED_AT_MOST and self.operators.backend.is_tracing():
            self.held = self.operators.traced_leaves(self.functions)

    def warn(self, reason: str | None) -> None:
        """Warn, if it was a long loop that was recorded. ``reason``: why it is not one staged loop."""
        if self.held is None or self.count <= UNROLLED_AT_MOST:
            return
        before = set(map(id, self.held))
        if all(id(leaf) in before for leaf in self.operators.traced_leaves(self.functions)):
            return
        why = "" if reason is None else f" It was not made one loop: {reason}."
        warn(
            f"this loop ran in Python while tracing: the program holds its body {self.count} times.{why}\n  Loop over "
            "autograph.range, or let the body begin with autograph.set_loop_options(unroll=False); unroll=True accepts it as it "
            "is."
        )


def why(error: Exception) -> str:
    """Why a trial failed, in one line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if isinstance(error, StagingError) and len(lines) > 1:
        lines = lines[1:]  # the first says where
    if isinstance(error, CarryChanges):
        return " ".join(lines[:3]).rstrip(".")
    kind = type(error).__name__
    if kind == "TracerIntegerConversionError":
        return "it needs a Python int where a traced index would stand"
    text = lines[0].rstrip(".") if lines else ""
    return text if isinstance(error, StagingError) else f"{kind}: {text}"


# What may run once in the place of many times.


def _why_not_once(called: Any, converter: Any, is_unconverted: bool) -> str | None:
    """Why a call may not be run once in the place of many times; None if it may."""
    if isinstance(called, types.MethodType):
        if not isinstance(called.__func__, types.FunctionType):
            return _by_name(called)
        called = called.__func__
    if isinstance(called, types.FunctionType):
        return _of_function(called, converter, is_unconverted)
    if isinstance(called, types.BuiltinFunctionType):
        return _by_name(called)
    if isinstance(called, type):
        made = called.__init__  # type: ignore[misc]
        if is_library(called) or not isinstance(made, types.FunctionType):
            return _by_name(called) if is_library(called) else None
        return _of_function(made, converter, is_unconverted)
    method = getattr(type(called), "__call__", None)
    if isinstance(method, types.FunctionType) and not is_internal(method.__code__.co_filename):
        return _of_function(method, converter, is_unconverted)
    return _by_name(called)


def _of_function(function: types.FunctionType, converter: Any, is_unconverted: bool) -> str | None:
    if is_internal(function.__code__.co_filename):
        inner = function.__dict__.get("__wrapped__")
        return _of_function(inner, converter, False) if isinstance(inner, types.FunctionType) else None
    if is_library(function):
        return _by_name(function)
    if is_unconverted:
        return f"it calls {function.__qualname__}, which is not converted"
    try:
        found = converter.python_only(function)
    except ConversionError:
        return (
            None
            if function.__code__.co_filename == "<string>"
            else f"it calls {function.__qualname__}, which has no source"
        )
    return (
        None
        if found is None
        else f"{function.__qualname__} holds {found}, which tells a traced index from a Python int"
    )


def _by_name(called: Any) -> str | None:
    name = full_name(called)
    if TABLE.named(name).repeatable:
        return None
    module, _, function = name.rpartition(".")
    return f"it calls {function} of {module}, which may not be run once for all iterations"


def is_used_up(iterable: Any) -> bool:
    """Whether iterating over this may use up something that was there before."""
    return isinstance(iterable, Iterator) and not isinstance(iterable, _FRESH_ITERATORS)
