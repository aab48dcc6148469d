"""Who still holds an object: the variables of the user's running functions, and what they lead to."""

from __future__ import annotations

import collections
import contextlib
import functools
import gc
import inspect
import itertools
import sys
import types
from collections.abc import Collection, Iterable, Iterator
from typing import Any

import jax
import numpy as np

from autograph.runtime.library_table import is_library
from autograph.runtime.operators.liveness import read_anywhere, read_from
from autograph.runtime.operators.locations import is_internal, is_of_jax, is_of_library
from autograph.runtime.operators.state import contents_of_cells

_AT_MOST = 200_000  # to find whether a write may be made, which is seldom asked
_AT_MOST_REACHED = 5_000
_NUMBERS = frozenset([int, float, complex, bool, str, bytes, type(None)])
_DATA_MODULES = frozenset(
    [
        "builtins",
        "collections",
        "functools",
        "itertools",
        "types",
        "operator",
        "weakref",
        "argparse",
        "_collections_abc",
    ]
)
_NO_DATA = (jax.Array, np.ndarray, np.generic, str, bytes, int, float, complex, type, types.ModuleType, types.CodeType)


class TooFar(Exception):
    """There is more to search than can be searched."""


class Search:
    """Looks for objects, by their identity, in what values lead to.

    Attributes: found (the objects met, each with the name of the variable that leads to it).
    """

    def __init__(self, wanted: Collection[int], at_most: int) -> None:
        self.wanted = wanted
        self.at_most = at_most
        self.found: dict[int, tuple[Any, str]] = {}
        self._seen: set[int] = set()

    def follow(self, roots: Iterable[tuple[Any, str]]) -> None:
        """Search from variables: their values and names.

        Raises:
          TooFar: not all could be searched.
        """
        pending = collections.deque(roots)
        while pending and len(self.found) < len(self.wanted):
            value, name = pending.popleft()
            if type(value) in _NUMBERS or id(value) in self._seen or isinstance(value, _NO_DATA):
                continue
            self._seen.add(id(value))
            if len(self._seen) > self.at_most:
                raise TooFar
            if id(value) in self.wanted:
                self.found[id(value)] = value, name
            parts = itertools.islice(parts_held(value), self.at_most)
            pending.extend((part, name) for part in parts if type(part) not in _NUMBERS)


def holder(wanted: Collection[int]) -> tuple[int, str] | None:
    """One of the objects that the user's running functions may still reach, and the variable that leads to it."""
    search = Search(wanted, _AT_MOST)
    for roots in _frames():
        try:
            search.follow(roots)
        except TooFar:
            return next(iter(wanted)), "a variable"
        if search.found:
            (key, (_, name)) = next(iter(search.found.items()))
            return key, name
    return None


def reached(wanted: Collection[int], values: Iterable[Any]) -> dict[int, Any]:
    """Those of the objects that the values lead to, by their identity."""
    search = Search(wanted, _AT_MOST_REACHED)
    with contextlib.suppress(TooFar):
        search.follow((value, "") for value in values)
    return {key: value for key, (value, _) in search.found.items()}


def parts_held(value: Any) -> Iterable[Any]:
    """What an object refers to, as far as it is the user's data."""
    if isinstance(value, list):
        return list.__iter__(value)
    if isinstance(value, tuple | set | frozenset | collections.deque):
        return value
    if isinstance(value, dict):
        return [*value, *value.values(), *(vars(value).values() if hasattr(value, "__dict__") else ())]
    if isinstance(value, types.FunctionType):
        return _held_by_function(value)
    if isinstance(value, types.MethodType):
        return (value.__self__, value.__func__)
    if isinstance(value, types.BuiltinFunctionType):
        return () if isinstance(value.__self__, types.ModuleType) else (value.__self__,)
    if isinstance(value, types.CellType):
        return contents_of_cells((value,))
    if isinstance(value, functools.partial):
        return (value.func, value.args, value.keywords)
    if isinstance(value, types.GeneratorType | types.CoroutineType):
        frame = value.gi_frame if isinstance(value, types.GeneratorType) else value.cr_frame
        return () if frame is None else variables_of(frame).values()
    kind = type(value)
    inner = getattr(value, "__wrapped__", None) if is_library(kind) and callable(value) else None
    if inner is not None:
        return (inner,)
    if getattr(kind, "__module__", None) in _DATA_MODULES or not is_library(kind):
        return [part for part in gc.get_referents(value) if not isinstance(part, type)]
    return jax.tree_util.tree_leaves(value, is_leaf=lambda part: part is not value)


def variables_of(frame: types.FrameType) -> dict[str, Any]:
    """The local variables of a frame, those of the functions around it included."""
    held = frame.f_locals
    found = dict(held)
    is_copy = type(held) is dict and frame.f_code.co_flags & inspect.CO_OPTIMIZED
    if is_copy and sys.getrefcount(held) <= 3:  # beside the frame's, this function's and the argument: the user's own
        held.clear()  # the frame would keep it, and what is in it
    return found


def _frames() -> Iterator[list[tuple[Any, str]]]:
    """What each running function may still read, innermost first."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        code, older = frame.f_code, frame.f_back
        if is_internal(code.co_filename):
            values = variables_of(frame).values()
            yield [(value, "the sequence of a loop") for value in values if isinstance(value, Iterator)]
        elif not is_of_jax(code.co_filename) and not is_of_library(code.co_filename):
            names = read_anywhere(code) if _runs_again(code, older) else read_from(code, frame.f_lasti)
            yield _read(sorted(names | _outliving(frame)), frame)
        frame = older


def _outliving(frame: types.FrameType) -> set[str]:
    """The variables of a function that others may read when it has returned: globals, and those of functions that have.

    Of its arguments, objects, which its caller may hold; lists and dicts are taken apart when a trace begins.
    """
    code, held = frame.f_code, variables_of(frame)
    found = {name for name in _globals_of(code) if name not in held and name in frame.f_globals}
    if frame.f_back is not None and is_internal(frame.f_back.f_code.co_filename):
        arguments = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        found |= {name for name in arguments if name in held and not isinstance(held[name], list | dict | tuple)}
    for name in read_anywhere(code).intersection(code.co_freevars):
        around = frame.f_back
        while around is not None and name not in around.f_code.co_cellvars:
            around = around.f_back
        if around is None:
            found.add(name)
    return found


def _read(names: Collection[str], frame: types.FrameType) -> list[tuple[Any, str]]:
    held = variables_of(frame)
    scope = frame.f_globals
    found = [(held[name], name) for name in names if name in held]
    return found + [(scope[name], name) for name in names if name not in held and name in scope]


def _runs_again(code: types.CodeType, caller: types.FrameType | None) -> bool:
    """Whether this is a block that stands for many iterations, or a function that JAX may call more than once."""
    if caller is None:
        return False
    filename = caller.f_code.co_filename
    return is_of_jax(filename) or (is_internal(filename) and "loop" in code.co_name)


def _held_by_function(function: types.FunctionType) -> Iterator[Any]:
    yield from contents_of_cells(function.__closure__)
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()
    if "__wrapped__" in function.__dict__:
        yield function.__dict__["__wrapped__"]
    if not is_library(function):
        yield from (
            function.__globals__[name] for name in _globals_of(function.__code__) if name in function.__globals__
        )


@functools.lru_cache(512)
def _globals_of(code: types.CodeType) -> frozenset[str]:
    inner = (_globals_of(part) for part in code.co_consts if isinstance(part, types.CodeType))
    return frozenset(code.co_names).union(*inner)
