"""Convert functions when converted code calls them, and functions passed as arguments."""

from __future__ import annotations

import builtins
import collections
import contextlib
import copy
import dataclasses
import functools
import types
from collections.abc import Callable, Mapping
from typing import Any

import jax
import numpy as np
from jax.experimental import io_callback

from autograph.backends.base import Backend
from autograph.runtime.code.code_names import class_attribute
from autograph.runtime.code.library_table import TABLE, goes_over_trees, is_library, is_of_pytrees
from autograph.runtime.containers.array_functions import function_of_method, has_twin
from autograph.runtime.containers.iterables import to_be_staged
from autograph.runtime.containers.traced_lists import TracedList
from autograph.runtime.containers.traced_tuples import TracedTuple
from autograph.runtime.effects.callbacks import numpy_function, py_function
from autograph.runtime.effects.called_later import note_called_later, note_called_now, nothing_called_now
from autograph.runtime.effects.raise_sites import refusing_tracers_shown
from autograph.runtime.effects.raising import current, through_control_flow
from autograph.runtime.effects.written_state import refuse_written_state
from autograph.runtime.errors import ArgumentsChanged, ConversionError, PartOfTrace, StagingError
from autograph.runtime.heap.in_trace import InTrace, Trace
from autograph.runtime.heap.journal import ContentsPlace
from autograph.runtime.heap.leaked_tracers import hold
from autograph.runtime.heap.list_outputs import as_argument
from autograph.runtime.heap.object_graph import traced_part
from autograph.runtime.heap.places import MUTABLE_CONTAINERS, is_mutating_method
from autograph.runtime.layouts.objects import is_plain_object
from autograph.runtime.layouts.one_of import OneOf, is_one_of, takes_branches
from autograph.runtime.layouts.optional import Optional, used
from autograph.runtime.layouts.references import is_linked
from autograph.runtime.layouts.statement_variables import has_contents
from autograph.runtime.staging.access.lookups import MethodOfEach
from autograph.runtime.staging.builtins.calling_functions import is_vectorized
from autograph.runtime.staging.builtins.library_functions import is_getter
from autograph.runtime.staging.calls.class_calls import has_source
from autograph.runtime.staging.calls.given_functions import each_function, is_transform, returning_plain_lists
from autograph.runtime.staging.calls.other_operators import OtherOperators
from autograph.runtime.staging.policy.advancing_calls import check_not_advanced
from autograph.runtime.staging.policy.loop_options import set_loop_options
from autograph.runtime.staging.policy.wrappers import CACHE
from autograph.runtime.state.array_elements import taking_out
from autograph.runtime.state.given_arrays import LocalArray, is_given
from autograph.runtime.state.local_arrays import in_library, is_numpys, makes_arrays, making_places
from autograph.runtime.tracing.locations import is_internal, user_location
from autograph.runtime.tracing.recording import LOCAL, is_in_trace

_CONTROL_FLOW = frozenset(["cond", "switch", "while_loop", "fori_loop"])
_CALLING_AT_RUN_TIME: frozenset[Any] = frozenset([jax.pure_callback, io_callback, jax.debug.callback])
# Of those that are given dicts and objects of which only some paths have set a key or an attribute.
_ARRAYS = (jax.core.Tracer, jax.Array, np.ndarray, LocalArray)
_GENERATORS = (np.random.Generator, np.random.RandomState)
_COPYING = (copy.copy, copy.deepcopy, dataclasses.replace, getattr, setattr, id, dict, collections.Counter, type)
_KNOWING_METHODS = frozenset(
    [
        *("get", "pop", "setdefault", "update", "popitem", "__contains__", "clear", "copy", "keys", "values", "items"),
        *("append", "appendleft", "insert", "move_to_end"),
    ]
)
_UNCONVERTED = "__autograph_do_not_convert__"


class Calls(InTrace):
    """The operator for calls.

    Args:
      operators: all others; they are asked for when something is called, as most of them need this one.
    """

    def __init__(self, backend: Backend, trace: Callable[[], Trace], operators: OtherOperators) -> None:
        super().__init__(trace)
        self.backend = backend
        self._operators = operators

    def call(self, called: Any) -> Any:
        """What to call in place of ``called``: its converted form, or itself."""
        if type(called) is OneOf:
            return self._operators.constants.called(called)
        if type(called) is Optional:
            return lambda *args, **kwargs: self.call(used(called))(*args, **kwargs)
        if type(called) is MethodOfEach:
            return called.call
        if self.backend.is_eager():
            return self._called(called)
        if LOCAL.places and makes_arrays(called):
            return making_places(called, in_library(self._callable(called)))
        if LOCAL.places and is_library(called) and not isinstance(called, type):
            return in_library(self._callable(called))
        if LOCAL.repeated is not None and is_numpys(called):
            LOCAL.repeated.has_numpys = True
        return self._callable(called)

    def decorator(self, called: Any) -> Any:
        """What to call in place of a decorator: one of a library gets the function itself, which it may mark."""
        return called if is_library(called) else self.call(called)

    def _callable(self, called: Any) -> Any:
        """What to call in a trace."""
        found = self._called(called)
        made = self._operators.recursion.of(called, found)
        if called is jax.debug.breakpoint:
            return made  # it looks at the frame that calls it, which is to be the user's
        made = self._operators.constants.taking_constants(called, self._operators.lengths.taking(called, made))
        is_users = isinstance(called, types.FunctionType | types.MethodType | type) and not is_library(called)
        if not is_users and goes_over_trees(called):
            made = self._operators.trees.taking(called, made)
        if not is_users and (self.journal.hidden or isinstance(getattr(called, "__self__", None), list)):
            made = self._operators.outside.refusing_hidden(called, made)
        if LOCAL.has_perhaps or not is_users:
            made = self._operators.absences.taking(called, made, is_users or self._knows_absences(called))
        if not is_users:
            made = refusing_tracers_shown(called, made)
        if self.journal.watch is None or self.journal.is_open:
            return made
        return self._operators.opaque.watched(called, found, made)

    def _knows_absences(self, called: Any) -> bool:
        """Whether a function that is not the user's may be given dicts and objects that may lack something."""
        owner = getattr(called, "__self__", None)
        if has_contents(owner) or (
            isinstance(called, types.BuiltinMethodType) and isinstance(owner, MUTABLE_CONTAINERS)
        ):
            return called.__name__ in _KNOWING_METHODS
        if (
            is_getter(called)
            or type(owner) is collections.Counter
            or (type(owner) is str and getattr(called, "__name__", None) == "join")
        ):
            return True
        is_builtin = getattr(called, "__module__", None) == "builtins" and called is not hash
        return (is_builtin and _found(self._operators.overloads, called) is not None) or any(
            called is each for each in _COPYING
        )

    def _called(self, called: Any) -> Any:
        if self.journal.is_rolling:
            self._operators.loops.rolling.check_once(
                called, not self._operators.recursive or getattr(called, _UNCONVERTED, False)
            )
        if self.journal.is_open:
            check_not_advanced(called, self.journal.repeats)
            return self._operators.opaque.reporting(called, self.converted(called))
        return self.converted(called)

    def converted(self, called: Any) -> Any:
        if LOCAL.repeated is not None and isinstance(owner := getattr(called, "__self__", None), _ARRAYS):
            methods = self._operators.array_methods
            return methods.writing(called, owner) or methods.with_out(called, owner, self._other(called))
        if LOCAL.repeated is not None and isinstance(owner, _GENERATORS) and called.__name__ == "shuffle":
            return self._operators.array_methods.shuffle(called)
        return self._other(called)

    def _other(self, called: Any) -> Any:
        """What to call in place of anything but a method of an array."""
        kind = type(called)
        if kind is types.FunctionType:
            return self._operators.overloads.get(called) or self._function(called)
        if kind is types.MethodType:
            return self._method(called)
        if kind is types.BuiltinFunctionType or kind is type:
            if is_mutating_method(called):
                if (later := self._operators.outside.at_run_time(called.__self__, called.__name__)) is not None:
                    return later
                if self.journal.is_interested:
                    self.journal.touch(ContentsPlace(called.__self__))
                return self._operators.aliased.around(called.__self__, self._builtin(called))
            return self._builtin(called)
        if kind is functools.partial:
            return functools.partial(
                self._called(called.func),
                *each_function(self.convert_function, called.args) if is_library(called.func) else called.args,
                **called.keywords,
            )
        if kind is CACHE:
            return self._operators.wrappers.cached(called)
        if is_getter(called) and not self.backend.is_eager():
            return self._operators.library.getting(called)
        if kind in (types.MethodDescriptorType, types.WrapperDescriptorType):
            if called.__objclass__ is str and not self.backend.is_eager():
                return self._operators.texts.unbound(called)
            return self._operators.writes.unbound(called)
        if kind is types.MethodWrapperType:
            return self._operators.writes.special(called)
        if issubclass(kind, type):  # of the object itself nothing is asked: a proxy would answer for another
            return self._builtin(called)
        return self._object(called)

    def without_names(self, names: Any, made: tuple[str, ...]) -> Any:
        """What ``locals()``, ``vars()`` or ``dir()`` returned, less the names that conversion made."""
        if type(names) is dict:
            for name in made:
                names.pop(name, None)
        elif type(names) is list:
            names[:] = [name for name in names if name not in made]
        return names

    def convert_function(self, function: Any) -> Any:
        """A function handed to library code, converted if it is the user's; anything else as it is."""
        if type(function) in (types.FunctionType, types.MethodType):
            return self._operators.recursion.of(function, self._called(function))
        if type(function) is functools.partial or is_getter(function):
            return self._called(function)
        return self._builtin(function) if type(function) is types.BuiltinFunctionType else function

    def _function(self, function: types.FunctionType) -> Any:
        note_called_now(function)
        if function.__dict__.get(_UNCONVERTED):
            return function
        known = TABLE.of(function)
        stops = bool(current().catches)
        if (
            known.convert
            and self._operators.recursive
            and (converted := self._operators.converter.known(function, stops)) is not None
        ):
            return converted
        if self._operators.converter.is_converted(function):
            return function
        if is_internal(function.__code__.co_filename):
            if function is set_loop_options:
                self._operators.loops.misplaced_loop_options()
            is_conversion = "__wrapped__" in function.__dict__  # what `convert` returned
            return function if is_conversion else self.with_converted_functions(function)
        if not known.convert:
            if has_twin(function):
                return self._operators.overloads[function]
            made = (
                self._operators.wrappers.dispatched(function)
                or self._operators.wrappers.managing(function)
                or self._operators.logs.deferred(function)
                or self._operators.bars.instead_of(function)
                or self._operators.library.instead_of(function)
            )
            if made or not known.calls:
                return made or function
            return self.with_converted_functions(
                self._operators.transformed.around(function) if self._operators.recursive else function
            )
        if not self._operators.recursive:
            return function
        try:
            return self._operators.converter.convert(function, stops)
        except ConversionError:
            if has_source(function):
                raise
            return function  # made without source (a dataclass's methods, say): it runs as it is

    def _method(self, method: types.MethodType) -> Any:
        function = method.__func__
        if type(function) is CACHE:
            return types.MethodType(self._operators.wrappers.cached(function), method.__self__)
        if isinstance(method.__self__, jax.core.Tracer) and (taken := taking_out(method)) is not None:
            return taken
        if self._operators.bounds is not None and (checked := self._operators.bounds.method(method)) is not None:
            return checked
        if (of_arrays := function_of_method(method)) is not None:
            return functools.partial(self.call(of_arrays), method.__self__)
        if not isinstance(function, types.FunctionType):
            return _found(self._operators.overloads, method) or self._method_of_object(method)
        if has_contents(method.__self__):
            return self._list_method(method)
        if type(method.__self__) is collections.Counter:
            if (made := self._operators.keys.counter_method(method)) is not None:
                return made
        if (bar := self._operators.bars.instead_of(method)) is not None:
            return bar
        converted = self._function(function)
        if converted is function:
            return self._operators.logs.deferred(method) or method
        return types.MethodType(converted, method.__self__)

    def _method_of_object(self, method: types.MethodType) -> Any:
        """A method that is no plain function, such as one under `jax.jit`."""
        function: Any = method.__func__
        if not self._operators.recursive or not is_library(type(function)) or getattr(function, _UNCONVERTED, False):
            return method
        made = self._operators.transformed.of(function)
        return method if made is function else types.MethodType(made, method.__self__)

    def _list_method(self, method: types.MethodType) -> Any:
        if is_mutating_method(method):
            owner: Any = method.__self__
            if not self.journal.is_open:
                owner.forget_peak()
            self.journal.touch(ContentsPlace(owner))
            return self._operators.aliased.around(owner, method)
        return method

    def _builtin(self, called: Any) -> Any:
        if (overload := _found(self._operators.overloads, called)) is not None:
            return overload
        if isinstance(called, type):
            classes = self._operators.classes
            return classes.of_references(called) if is_linked(called) else classes.of(called)
        if isinstance(called.__self__, dict) and (method := self._operators.keys.dict_method(called)) is not None:
            return method
        if isinstance(called.__self__, dict) and (method := self._operators.absences.method(called)) is not None:
            return method
        if type(called.__self__) in (set, frozenset) and not self.backend.is_eager():
            return self._operators.keys.set_method(called)
        if (
            called.__name__ in ("index", "count")
            and type(called.__self__) in (list, tuple)
            and not self.backend.is_eager()
        ):
            kind = TracedTuple if type(called.__self__) is tuple else TracedList
            return getattr(kind(called.__self__, self._operators), called.__name__)
        if called.__name__ in ("index", "count") and type(called.__self__) is range and not self.backend.is_eager():
            return getattr(to_be_staged(called.__self__), called.__name__)
        if (
            called.__name__ in ("sort", "copy", "remove")
            and type(called.__self__) is list
            and not self.backend.is_eager()
        ):
            return functools.partial(getattr(self, f"_{called.__name__}"), called.__self__)
        if called.__name__ == "get" and isinstance(called.__self__, dict) and not self.backend.is_eager():
            return functools.partial(self._operators.lookups.get_of_dict, called.__self__)
        if called.__name__ == "join" and type(called.__self__) is str and not self.backend.is_eager():
            return functools.partial(self._operators.builtins.joined, called)
        if type(called.__self__) is str and not self.backend.is_eager():
            return self._operators.texts.method(called)
        if called.__name__ in ("insert", "pop") and type(called.__self__) is list:
            return self._operators.writes.at_any_index(called)
        return called

    def _sort(self, items: list[Any], *, key: Any = None, reverse: bool = False) -> None:
        found = self._operators.orderings.ordered(tuple(items), key, reverse)
        if found is None:
            items.sort(key=key and self.call(key), reverse=reverse)
        else:
            items[:] = found

    def _remove(self, items: list[Any], value: Any) -> None:
        try:
            items.remove(value)
        except jax.errors.TracerBoolConversionError:
            refusal = StagingError(
                f"{user_location()}\n  An item of a list from outside the function is removed, and only run time knows which one it is.\n"
                "  Remove it from a list that the function makes: items = list(items)."
            )
            hold(items, refusal)
            raise

    def _copy(self, items: list[Any]) -> list[Any]:
        return self._operators.lists.new_list(items.copy())

    def _object(self, called: Any) -> Any:
        kind = type(called)
        if is_library(kind):
            if (overload := _found(self._operators.overloads, called)) is not None:
                return overload
            if is_vectorized(called):
                return self._operators.calling.vectorized(called)
            if not callable(called):
                return called
            is_kept = not self._operators.recursive or getattr(called, _UNCONVERTED, False)
            made = self.with_converted_functions(called if is_kept else self._operators.transformed.around(called))
            return _inlined_if_it_shares_state(called, made) if hasattr(kind, "python_function") else made
        method = class_attribute(kind, "__call__")
        if type(method) is types.FunctionType:
            converted = self._function(method)
            if converted is not method:
                return types.MethodType(converted, called)
        elif self._operators.recursive and hasattr(type(method), "__get__") and is_library(type(method)):
            made = self._operators.transformed.of(method)  # `__call__` under `jax.jit`, say
            return called if made is method else made.__get__(called, kind)
        return called

    def with_converted_functions(self, called: Any) -> Any:
        """Library code called with the user's functions among its arguments converted."""
        if not _calls_its_arguments(called):
            return called
        is_of_jax = is_transform(called)
        takes_tree = TABLE.of(called).takes_tree
        takes_pytrees = is_of_jax or is_of_pytrees(called) or type(called).__module__.startswith("jax.")
        is_of_jax_at_run_time = isinstance(called, types.FunctionType) and called in _CALLING_AT_RUN_TIME
        calls_at_run_time = is_of_jax_at_run_time or called is py_function or called is numpy_function
        convert = self.convert_function
        if is_of_jax:  # which compares the structures of results and operands
            convert = functools.partial(returning_plain_lists, convert)

        @functools.wraps(called, updated=())
        def call(*args: Any, **kwargs: Any) -> Any:
            if is_of_jax_at_run_time:
                callback = args[0] if args else kwargs.get("callback")
                refuse_written_state(callback, called.__name__)
                note_called_later(callback)
            if takes_pytrees:  # to which a list is not what a subclass of it is
                args = tuple(map(as_argument, args))
                kwargs = {key: as_argument(value) for key, value in kwargs.items()}
            tree, args = (args[:1], args[1:]) if takes_tree else ((), args)
            if is_of_jax and not takes_tree and args and not isinstance(args[0], type):
                args = (self._object_converted(args[0]), *args[1:])
            with nothing_called_now() if calls_at_run_time else contextlib.nullcontext():
                args = tree + each_function(convert, args)
                kwargs = {key: convert(value) for key, value in kwargs.items()}
            if is_of_jax and called.__name__ in _CONTROL_FLOW:
                return through_control_flow(lambda: called(*args, **kwargs))
            return called(*args, **kwargs)

        return call

    def _object_converted(self, value: Any) -> Any:
        """A callable object instead of a function, as its converted ``__call__``."""
        method = getattr(type(value), "__call__", None)
        return self._object(value) if isinstance(method, types.FunctionType) and not is_library(type(value)) else value


def _is_of_trace(argument: Any) -> bool:
    """Whether a program of its own cannot have this argument: an array that is written in place, an object that conditions chose, or one
    that leads to traced values."""
    if is_one_of(argument):
        return takes_branches(argument)
    return is_given(argument) or (is_plain_object(argument) and traced_part(argument, "") is not None)


def _leaves(called: Any, args: Any, kwargs: Any) -> list[Any]:
    """What a call of a `Function` is given, the object that it is a method of among it."""
    instance = getattr(called.python_function, "__self__", None)
    return jax.tree_util.tree_leaves((instance, args, kwargs), is_leaf=is_one_of)


def _inlined_if_it_shares_state(called: Any, made: Callable[..., Any]) -> Callable[..., Any]:
    """A `Function`, which a trace calls as ``made``: a part of the trace if it changes its arguments in place, returns objects, or
    reads what is of the trace through objects.
    """

    def call(*args: Any, **kwargs: Any) -> Any:
        if not is_in_trace():
            around, LOCAL.called = LOCAL.called, None
        elif called.is_part_of_traces or any(map(_is_of_trace, _leaves(called, args, kwargs))):
            return called._as_part()(*args, **kwargs)
        else:
            around, LOCAL.called = LOCAL.called, called
        try:
            return made(*args, **kwargs)
        except PartOfTrace:
            inlined = called._as_part()
        except ArgumentsChanged as error:
            if error.inlined is None or error.called != called.python_function:  # of a function that it calls
                raise
            inlined = error.inlined
        finally:
            LOCAL.called = around
        return inlined(*args, **kwargs)

    return call


def _calls_its_arguments(called: Any) -> bool:
    """Whether this library function or object may call functions that it is given."""
    return bool(TABLE.of(called).calls)


def mark_unconverted(function: Any) -> None:
    """Make converted code call ``function`` as it is."""
    setattr(function, _UNCONVERTED, True)


def _found(overloads: Mapping[Any, Callable[..., Any]], called: Any) -> Callable[..., Any] | None:
    try:
        return overloads.get(called)
    except TypeError:  # it has no hash
        return None


def is_plain(called: Any) -> bool:
    """Whether a call of this object needs no operator, whatever its arguments."""
    if isinstance(called, type | types.BuiltinFunctionType) and called.__module__ == "builtins":
        return called not in OVERLOADED
    if has_twin(called) or getattr(called, "__module__", None) == "_operator":
        return False
    module = getattr(called, "__module__", None) or getattr(type(called), "__module__", "")
    if not isinstance(module, str):
        return False
    if isinstance(getattr(called, "__self__", None), np.random.RandomState):
        return False
    if called_by_name := getattr(called, "__name__", ""):
        module = f"{module}.{called_by_name}"
    return bool(TABLE.named(module).plain)


# Builtins that mean something else, or take functions, when values are traced.
OVERLOADED = frozenset(
    getattr(builtins, name)
    for name in [
        *("bytearray", "bytes", "iter", "chr", "ord", "bin", "oct", "hex", "round", "print", "isinstance"),
        *("range", "enumerate", "zip", "reversed", "map", "filter", "sorted", "max", "min", "any"),
        *("all", "int", "float", "complex", "bool", "len", "list", "tuple", "next", "set", "frozenset"),
        *("dict", "sum", "type", "str", "repr", "ascii", "format", "hash", "getattr", "setattr"),
        *("delattr", "hasattr", "callable", "issubclass", "id"),
    ]
)
