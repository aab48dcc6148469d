"""Deliver the exceptions of Python functions that a compiled program calls to the caller of the program.

XLA knows only their text, so they wait here, under a number. Where one device runs the program the text holds the
number, and the program ends there. Devices that work together wait for each other: were the one that calls Python to
end, the others would wait for ever, or until XLA ends the process. Where there are several devices the number is
therefore a result of the call, and what the program raises is an exception like any other (`raising.leave`).
"""

from __future__ import annotations

import itertools
import logging
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from autograph.runtime.effects.raise_sites import unheard
from autograph.runtime.errors import StagingError, describe_location
from autograph.runtime.tracing.locations import user_line
from autograph.runtime.tracing.recording import LOCAL

_KEPT = 64
_OF_ONE_PROCESS = 2**20  # numbers of failures


class CallFailed(Exception):
    """A call of Python in a compiled program raised an exception."""


class _Failures:
    """The exceptions of calls that failed, until whoever started the program asks for them; a bounded number."""

    def __init__(self) -> None:
        self._numbers = itertools.cycle(range(1, _OF_ONE_PROCESS))
        self._kept: OrderedDict[int, BaseException] = OrderedDict()
        self._lock = threading.Lock()

    def keep(self, error: BaseException) -> int:
        """The number, not 0, under which an exception is kept: another one in each process."""
        with self._lock:
            number = jax.process_index() * _OF_ONE_PROCESS + next(self._numbers)
            self._kept[number] = error
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return number

    def take(self, number: int) -> BaseException | None:
        return self._kept.pop(number, None)


FAILURES = _Failures()


def _is_no_failed_call(record: logging.LogRecord) -> bool:
    return not record.exc_info or not isinstance(record.exc_info[1], CallFailed)


# The caller gets the exception itself; JAX would also log ours, with a traceback of JAX's own.
logging.getLogger("jax._src.callback").addFilter(_is_no_failed_call)


def in_callback(call: Callable[..., Any]) -> Callable[..., Any]:
    """``call`` for a program that ends where it raises."""

    def run(*arrays: Any) -> Any:
        outer, LOCAL.in_callback = LOCAL.in_callback, True
        callers, LOCAL.callers = LOCAL.callers, None
        try:
            return call(*arrays)
        except BaseException as error:
            number = FAILURES.keep(error)
            raise CallFailed(f"[autograph call {number}] {type(error).__name__}: {error}") from None
        finally:
            LOCAL.in_callback, LOCAL.callers = outer, callers

    return run


def with_number(call: Callable[..., Any], types: Any) -> Callable[..., tuple[Any, Any]]:
    """``call`` with the number of its exception, or 0, before its result. Where it raised, the result is zeros of ``types``."""

    def run(*arrays: Any) -> tuple[Any, Any]:
        outer, LOCAL.in_callback = LOCAL.in_callback, True
        try:
            return np.int32(0), call(*arrays)
        except BaseException as error:
            zeros = jax.tree_util.tree_map(lambda type: np.zeros(type.shape, type.dtype), types)
            return np.int32(FAILURES.keep(error)), zeros
        finally:
            LOCAL.in_callback = outer

    return run


def cause_of(error: BaseException) -> BaseException | None:
    """The exception that ``error`` represents, if it is none of its own.

    That is the exception of a user's function that made a compiled program end with it, or what we said of a Variable
    that was handed to JAX, which makes a `TypeError` of that.
    """
    if type(error) is TypeError and isinstance(error.__cause__, StagingError):
        return error.__cause__
    found = re.search(r"\[autograph call (\d+)\]", str(error))
    return None if found is None else FAILURES.take(int(found[1]))


class FailedCall:
    """Whatever a call of Python raises at one line. See `backends.base.RaiseSite`; its value is the exception's number."""

    name = "an exception"
    is_check = False
    room = None
    types: Sequence[Any] = (jax.ShapeDtypeStruct((), np.int32),)

    is_caught = False

    def __init__(self, what: str) -> None:
        self._what, self._line = what, user_line()

    @property
    def where(self) -> str:
        return describe_location(*self._line)

    @property
    def refusal(self) -> str:
        return unheard(self.where, self.name)

    def __hash__(self) -> int:
        return hash((self._what, self._line))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FailedCall) and (self._what, self._line) == (other._what, other._line)

    def raise_with(self, values: Sequence[Any]) -> None:
        """Raise it; in a process that did not call Python, an exception that says where it is."""
        number = int(values[0])
        error = FAILURES.take(number)
        if error is None:
            raise RuntimeError(
                f"{self.where}\n  The {self._what} here raised an exception in process {number // _OF_ONE_PROCESS} of this job, which "
                "has it."
            )
        raise error
