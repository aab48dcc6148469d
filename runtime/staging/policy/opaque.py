"""Calls of unconverted code in staged statements: compare reachable objects to find the writes."""

from __future__ import annotations

import contextlib
import functools
import operator
import types
from collections.abc import Callable, Iterable
from typing import Any

import jax
import numpy as np

from autograph.runtime.code.array_facts import facts_of
from autograph.runtime.code.code_names import class_attribute
from autograph.runtime.code.library_table import TABLE, full_name, is_library
from autograph.runtime.errors import StagingError
from autograph.runtime.heap.in_trace import InTrace, Trace
from autograph.runtime.heap.places import MUTABLE_CONTAINERS, ContentsPlace
from autograph.runtime.heap.reach import AT_MOST, Reach, TooMuch, augments, values_used
from autograph.runtime.layouts.statement_variables import has_contents
from autograph.runtime.staging.policy.user_classes import is_stranger
from autograph.runtime.staging.policy.wrappers import CACHE
from autograph.runtime.tracing.locations import is_internal, user_location

_AT_MOST_AT_ONCE = 2_000  # objects, outside of staged statements, where most calls write nothing
_WITHOUT_CODE = (
    *(types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType, types.MethodWrapperType),
    *(types.ClassMethodDescriptorType, operator.attrgetter, operator.itemgetter, operator.methodcaller),
)


class OpaqueCalls(InTrace):
    """The part of the operator for calls that sees what unconverted code writes.

    Args:
      trace: of which the journal is told of the writes.
      is_converted: whether a function is what a conversion has made.
      writes_unseen: whether methods that write, and that nothing in the program calls, may run in a converted function.
    """

    def __init__(
        self,
        trace: Callable[[], Trace],
        is_converted: Callable[[types.FunctionType], bool],
        writes_unseen: Callable[[types.FunctionType], bool],
    ) -> None:
        super().__init__(trace)
        self._has_been_converted = is_converted
        self._writes_unseen = writes_unseen

    def reporting(self, called: Any, found: Callable[..., Any]) -> Callable[..., Any]:
        """``found``, what is to run in place of ``called``, such that the writes it makes are reported."""
        if isinstance(called, np.ufunc) or full_name(called).startswith("numpy."):
            return self._with_output(called, found)
        if self._is_opaque(called, found):
            return self._compared(called, found)
        function = called.__func__ if isinstance(called, types.MethodType) else called
        if isinstance(function, types.FunctionType) and function.__code__.co_argcount and self._is_converted(found):
            return self._meeting(function, found)
        return found

    def watched(self, called: Any, found: Callable[..., Any], made: Callable[..., Any]) -> Callable[..., Any]:
        """``made``, what runs in place of ``called`` by way of ``found``, outside of all staged statements: only traced values may
        not be left in what was there before."""
        return self._compared(called, made) if self._is_opaque(called, found) else made

    def _meeting(self, function: types.FunctionType, found: Callable[..., Any]) -> Callable[..., Any]:
        """A converted function that may be given what its conversion did not think of: objects of classes from elsewhere
        whose methods write, and arrays that ``array += 1`` writes to."""
        augmented = augments(function.__code__)

        @functools.wraps(found, updated=())
        def call(*args: Any, **kwargs: Any) -> Any:
            given = (*args, *kwargs.values())
            if any(is_stranger(value, function) for value in given):
                return self._compared(function, found, lambda _: ())(*args, **kwargs)
            arrays = [value for value in given if isinstance(value, np.ndarray)] if augmented else ()
            if not arrays:
                return found(*args, **kwargs)
            reach = Reach(arrays)
            try:
                return found(*args, **kwargs)
            finally:
                reach.check_arrays()

        return call

    def block(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A block of a staged statement, such that the writes it makes are reported."""
        is_seen = not isinstance(function, types.FunctionType) or not self._writes_unseen(function)
        return function if is_seen else self._compared(function, function, values_used)

    def _compared(
        self, called: Any, found: Callable[..., Any], roots: Callable[[Any], Iterable[Any]] = lambda called: (called,)
    ) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            given = (*args, *kwargs.values())
            reach = None
            if self.journal.compares:
                try:
                    reach = Reach((*roots(called), *given))
                except TooMuch:
                    raise _too_much(called) from None
            elif self.journal.watch is not None and _are_traced(given):  # it may leave a traced value
                with contextlib.suppress(TooMuch):
                    reach = Reach((*roots(called), *given), _AT_MOST_AT_ONCE, sees_arrays=False)
            if reach is None:
                return found(*args, **kwargs)
            try:
                return found(*args, **kwargs)
            finally:
                for place, held in reach.changes():
                    self.journal.note(place, held)

        is_function = isinstance(found, types.FunctionType | types.MethodType)  # libraries ask for their signatures
        return functools.wraps(found, updated=())(call) if is_function else call

    def _with_output(self, called: Any, found: Callable[..., Any]) -> Callable[..., Any]:
        """A function of NumPy's, which writes to an array only where it is given one to write to."""
        compared = self._compared(called, found)
        if not TABLE.of(called).pure:
            return compared
        inputs, facts = called.nin if isinstance(called, np.ufunc) else None, facts_of(full_name(called))
        owner = getattr(called, "__self__", None)
        given = (owner,) if isinstance(owner, np.ndarray) else ()

        def call(*args: Any, **kwargs: Any) -> Any:
            writes = [*facts.written((*given, *args), kwargs)] or (inputs is not None and len(args) > inputs)
            return (compared if writes else found)(*args, **kwargs)

        return call

    def _is_opaque(self, called: Any, found: Any) -> bool:
        """Whether this may write to what was there before, without a report."""
        kind = type(called)
        if kind is functools.partial or has_contents(getattr(called, "__self__", None)):
            return False
        if kind is types.MethodType and isinstance(called.__func__, types.FunctionType):
            return self._is_opaque_method(called, found)
        if kind is types.FunctionType:
            return not self._is_converted(found) and not is_internal(called.__code__.co_filename) and _may_write(called)
        if isinstance(called, type):
            return found is called and _is_opaque_class(called)
        if isinstance(called, _WITHOUT_CODE):  # in whose place an operator runs that reports, if one does
            return found is called and _may_write(called)
        if kind is CACHE:  # what it does beside computing happens once, its author says
            return False
        return not self._is_converted(found) and _may_write(called)

    def _is_opaque_method(self, called: types.MethodType, found: Any) -> bool:
        owner, function = called.__self__, called.__func__
        if isinstance(owner, MUTABLE_CONTAINERS) and is_library(function):
            self.journal.touch(ContentsPlace(owner))  # a `Counter`, say
        return not self._is_converted(found) and not is_internal(function.__code__.co_filename) and _may_write(function)

    def _is_converted(self, found: Any) -> bool:
        """Whether this is converted code, where all writes are reported."""
        function = found.__func__ if isinstance(found, types.MethodType) else found
        if not isinstance(function, types.FunctionType) or not self._has_been_converted(function):
            return False
        return not self._writes_unseen(function)


def _are_traced(given: Iterable[Any]) -> bool:
    """Whether some of these are traced values, or containers of such."""
    return any(isinstance(part, jax.core.Tracer) for value in given for part in _held(value))


def _held(value: Any) -> Iterable[Any]:
    if has_contents(value):
        return list.__iter__(value)
    if isinstance(value, list | tuple | set):
        return value
    return (*value.values(), *value) if isinstance(value, dict) else (value,)


def _may_write(called: Any) -> bool:
    return not TABLE.of(called).pure


def _is_opaque_class(cls: type) -> bool:
    """Whether making an instance may run code of the user's that is not converted, or write to anything else."""
    if is_library(cls):
        return _may_write(cls)
    if TABLE.of(cls).pure:
        return False
    methods = [class_attribute(cls, name) for name in ("__init__", "__new__", "__post_init__")]
    made = [method.__func__ if isinstance(method, staticmethod) else method for method in methods]
    functions = [method for method in made if isinstance(method, types.FunctionType)]
    is_own = type(cls).__call__ is not type.__call__ and not is_library(type(cls))
    return is_own or any(not _is_generated(function) for function in functions)


def _is_generated(function: types.FunctionType) -> bool:
    """Whether this is a method that `dataclasses` or `collections.namedtuple` has made, and that only stores."""
    return function.__code__.co_filename.startswith("<") or is_library(function)


def _too_much(called: Any) -> StagingError:
    name = full_name(called)
    return StagingError(
        f"{user_location()}\n  {name} is not converted, and is called in a staged statement: to find what it "
        f"writes, all that it can reach is compared before and after the call, more than {AT_MOST:,} objects.\n"
        f"  If it has no side effects, declare that: autograph.register_library({name!r}, pure=True). Otherwise call it "
        "before the statement, or through autograph.py_function."
    )
