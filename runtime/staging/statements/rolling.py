"""Stage large loops that Python could unroll, if the result is the same. Otherwise unroll them, with a warning.

Whether it does is found by a trial: the body is traced once, as that of a staged loop, with a traced index and traced
numbers, and what it wrote is undone. The trial is abandoned if the body does anything that would not happen once for
each iteration, or that tells a traced number from Python's. If the loop is small, Python runs it.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from autograph.backends.base import Backend, NotRollable
from autograph.runtime.code.library_table import TABLE, full_name, is_library
from autograph.runtime.containers.iterables import UNROLLED_AT_MOST, as_staged, to_be_staged
from autograph.runtime.containers.iterators import Iterated
from autograph.runtime.effects.absences import ABSENCES, may_be_bound
from autograph.runtime.effects.raising import attempting
from autograph.runtime.errors import ConversionError, StagingError
from autograph.runtime.heap.copies import Copies, PerhapsKnown
from autograph.runtime.heap.in_trace import InTrace, Trace
from autograph.runtime.heap.reach import uses_constants_only
from autograph.runtime.staging.policy.opaque import OpaqueCalls
from autograph.runtime.staging.statements.loop_carry import LoopTrace
from autograph.runtime.staging.statements.loop_state import CarryChanges, ForLoop, WhileLoop, may_become_traced
from autograph.runtime.tracing.births import ListsApart
from autograph.runtime.tracing.locations import is_internal, user_location

# So often a loop by a test of Python numbers runs at most, if it is one loop; Python would record it for many minutes.
_MANY = 1_000_000
PythonOnly = Callable[[types.FunctionType], str | None]


class Rolling(InTrace):
    """What the operators for loops do with large loops in Python.

    Args:
      python_only: what in a function, if anything, shows whether a number is Python's or traced.
      truth: of `Conditionals`.
      for_loop: of `Loops`.
    """

    def __init__(
        self,
        backend: Backend,
        trace: Callable[[], Trace],
        opaque: OpaqueCalls,
        python_only: PythonOnly,
        truth: Callable[[Any], Any],
        for_loop: Callable[..., LoopTrace],
    ) -> None:
        self.backend = backend
        super().__init__(trace)
        self.opaque = opaque
        self.python_only = python_only
        self.truth = truth
        self.for_loop = for_loop

    def records_nothing(self, loop: ForLoop | WhileLoop) -> bool:
        """Whether a loop that Python can run in a trace works on constants only, so that there is nothing to try."""
        if loop.options.is_one_loop:
            return False
        return self.journal.copies.are_empty or uses_constants_only(loop.functions)

    def may_be_rolled(self, items: Any, loop: ForLoop) -> bool:
        """Whether a loop may make the program so large that it is worth a trial."""
        if loop.options.unroll is not None or type(items) is not range:
            return loop.options.is_one_loop
        if len(items) > UNROLLED_AT_MOST:
            return True
        if len(items) < 2:
            return False
        copies = self.journal.copies.within(len(items))
        if copies.is_few() or not may_become_traced(self.backend, loop.functions):
            return False
        known = copies.sizes.get(loop.code)
        return known is None or (isinstance(known, int) and copies.is_large(known))

    def rolled(self, items: range, loop: ForLoop, copies: Copies, python_only: str | None) -> tuple[range, str | None]:
        """Run a loop over a Python range as one staged loop, if that returns what Python returns.

        Returns:
          The items that are left for Python to run, and why: none if the loop was rolled.
        """
        if python_only is not None:
            return items, tells(python_only)
        try:
            if self._roll(items, loop, copies, may_peel=True):
                return items[:0], None
            return items, None
        except _NeedsPeeling as error:
            perhaps = error.perhaps
        except NotRollable as refusal:
            return items, str(refusal)
        with self.journal.copying(copies):
            loop.body(items[0])  # here, where what it raises has no other exception for its context
        copies.peeled, items = 1, items[1:]
        if perhaps is not None and perhaps.line not in copies.traced:
            return items, why(perhaps)
        try:
            if self._roll(items, loop, copies, may_peel=False):
                return items[:0], None
            return items, None
        except NotRollable as refusal:
            return items, str(refusal)

    def _roll(self, items: range, loop: ForLoop, copies: Copies, may_peel: bool) -> bool:
        """False if the body does nothing with traced values, the loop is small, or it needs lists apart that Python may tell apart.

        Raises:
          NotRollable: why it must run in Python.
        """
        staged = as_staged(to_be_staged(items), self.backend, force=True)
        assert staged is not None
        trace = self.for_loop(staged, dataclasses.replace(loop, may_peel=may_peel), from_python=True)
        surely = loop.options.is_one_loop or len(items) > UNROLLED_AT_MOST
        try:
            return self._emit_rolled(trace, loop, copies, surely)
        except NotRollable:
            raise
        except ListsApart:
            if surely:
                raise
            return False
        except CarryChanges as error:
            if may_peel:
                raise _NeedsPeeling() from None
            raise NotRollable(why(error)) from None
        except PerhapsKnown as error:
            if may_peel:
                raise _NeedsPeeling(error) from None
            raise NotRollable(why(error)) from None
        except ABSENCES as error:
            if may_peel and may_be_bound(error, loop.names):
                raise _NeedsPeeling() from None
            raise NotRollable(why(error)) from None
        except Exception as error:
            raise NotRollable(why(error)) from None

    def _emit_rolled(self, trace: LoopTrace, loop: ForLoop | WhileLoop, copies: Copies, surely: bool) -> bool:
        """Settle a loop on trial and emit it, if it is large or it ``surely`` is to be one loop."""
        copies.staged = {}
        with self.journal.rolling(), attempting(), self.journal.copying(copies):
            trace.settle(may_peel=True)
        spec = trace.spec
        assert spec is not None
        size = copies.size_of(self.backend.operations(spec.body))
        copies.sizes[loop.code] = size
        if not surely and not copies.is_large(size):
            return False
        rolled = self.backend.rolled(spec)
        if rolled is None:
            return False
        outer = self.journal.copies
        outer.staged[loop.code] = copies.count // outer.count * size
        trace.spec, trace.numbers = rolled.spec, rolled.numbers
        trace.emit()
        return True

    def rolled_by_its_test(
        self,
        trace: LoopTrace | None,
        loop: ForLoop | WhileLoop,
        again: Callable[[int, bool], LoopTrace],
        python_only: str | None,
    ) -> Trial:
        """Run a loop whose test is of Python numbers as one staged loop, if it is large and that returns what Python returns.

        Args:
          trace: the loop as it was traced to learn that; None if nothing came of it.
          again: begins to trace it as one that Python can run, that runs so many times, and whose test writes, if it does.

        Raises:
          NotRollable: why it must run in Python.
        """
        if python_only is not None:
            raise NotRollable(tells(python_only))
        if trace is None:
            test = loop.test
            assert test is not None
            trace = again(_MANY, False)
            with self.journal.rolling(), attempting():
                trace.settle(may_peel=True)
                trace.end_by(lambda: self.truth(self.opaque.block(test)()))
            if not trace.test_is_static():
                raise NotRollable("its test is traced")
            if trace.test_writes:
                raise NotRollable("its test writes")
        spec = trace.spec
        assert spec is not None
        iterations = self.backend.iterations(spec)
        if iterations is None:
            return Trial(False)
        if not 0 < iterations < _MANY:
            raise NotRollable(f"it runs {iterations:,} times or more")
        copies = self.journal.copies.within(iterations)
        surely = iterations > UNROLLED_AT_MOST
        is_large = surely or copies.is_large(self.backend.operations(spec.body))
        is_staged = is_large and self._emit_rolled(again(iterations, trace.test_writes), loop, copies, surely)
        return Trial(is_staged, iterations=iterations)

    def check_once(self, called: Any, is_unconverted: bool) -> None:
        """See that a call in the body may run once instead of many times.

        Raises:
          NotRollable: it may not.
        """
        reason = _why_not_once(called, self.python_only, is_unconverted)
        if reason is not None:
            raise NotRollable(reason)

    def refusal(self, reason: str) -> StagingError:
        """The error for a loop that was to be one loop, and cannot be."""
        return StagingError(
            f"{user_location()}\n  unroll=False (or an int) requires one staged loop, but Python must execute this "
            f"loop: {reason}.\n"
            "  Omit the option, or change the body."
        )


@dataclass(frozen=True)
class Trial:
    """What came of the attempt to stage a loop that Python may be able to run.

    Attributes:
      is_staged: whether it has been staged.
      reason: why not, if it is not for its being small.
      iterations: how often Python will run it, if that is known.
      may_settle: whether it may be staged once its first iteration has run by itself.
    """

    is_staged: bool
    reason: str | None = None
    iterations: int = 1
    may_settle: bool = False


class _NeedsPeeling(Exception):
    """The state has types before the loop that only its first iteration sees.

    Attributes: perhaps (else, why the loop must run in Python if that iteration knows what is asked for).
    """

    def __init__(self, perhaps: PerhapsKnown | None = None) -> None:
        super().__init__()
        self.perhaps = perhaps


def tells(python_only: str) -> str:
    """Why a loop cannot be one loop that holds what shows whether a number is traced."""
    return f"its body contains {python_only}, which distinguishes a traced index from a Python int"


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


# What may run once instead of many times.


def _why_not_once(called: Any, python_only: PythonOnly, is_unconverted: bool) -> str | None:
    """Why a call may not be run once instead of many times; None if it may."""
    if isinstance(called, types.MethodType):
        if not isinstance(called.__func__, types.FunctionType):
            return _by_name(called)
        called = called.__func__
    if isinstance(called, types.FunctionType):
        return _of_function(called, python_only, is_unconverted)
    if isinstance(called, types.BuiltinFunctionType):
        return _by_name(called)
    if isinstance(called, type):
        made = called.__init__  # type: ignore[misc]
        if is_library(called) or not isinstance(made, types.FunctionType):
            return _by_name(called) if is_library(called) else None
        return _of_function(made, python_only, is_unconverted)
    method = getattr(type(called), "__call__", None)
    if isinstance(method, types.FunctionType) and not is_internal(method.__code__.co_filename):
        return _of_function(method, python_only, is_unconverted)
    return _by_name(called)


def _of_function(function: types.FunctionType, python_only: PythonOnly, is_unconverted: bool) -> str | None:
    if is_internal(function.__code__.co_filename):
        inner = function.__dict__.get("__wrapped__")
        return _of_function(inner, python_only, False) if isinstance(inner, types.FunctionType) else None
    if is_library(function):
        return _by_name(function)
    if is_unconverted:
        return f"it calls {function.__qualname__}, which is not converted"
    try:
        found = python_only(function)
    except ConversionError:
        return (
            None
            if function.__code__.co_filename == "<string>"
            else f"it calls {function.__qualname__}, which has no source"
        )
    return (
        None
        if found is None
        else f"{function.__qualname__} contains {found}, which distinguishes a traced index from a Python int"
    )


def _by_name(called: Any) -> str | None:
    name = full_name(called)
    if TABLE.named(name).repeatable:
        return None
    module, _, function = name.rpartition(".")
    return f"it calls {function} of {module}, which may not be run once for all iterations"


def is_used_up(iterable: Any) -> bool:
    """Whether iterating over this may consume something that was there before."""
    return isinstance(iterable, Iterator) and not (isinstance(iterable, Iterated) and iterable.is_of_here())
