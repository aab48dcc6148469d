"""Find what a function that runs with the program writes to the state of the function that is traced.

The program contains what that state was at trace time: what reads it after the call would not see the write, and the next
call would find what this one has left.
"""

from __future__ import annotations

import dis
import functools
import types
from collections.abc import Callable, Iterator
from typing import Any

import jax

from autograph.runtime.code.code_names import codes_in, names_of
from autograph.runtime.code.library_table import is_library
from autograph.runtime.errors import StagingError
from autograph.runtime.heap.places import is_mutating_method
from autograph.runtime.layouts.optional import possible_functions
from autograph.runtime.layouts.statement_variables import CellVariable, has_contents
from autograph.runtime.tracing.locations import user_location
from autograph.runtime.tracing.recording import births, is_recording

# The operators that write to a part of their first argument.
_WRITING = frozenset(["set_item", "update_item", "del_item", "set_attr", "update_attr", "del_attr"])
_ATTRIBUTES = frozenset(["LOAD_ATTR", "LOAD_METHOD"])


def refuse_written_state(function: Any, caller: str) -> None:
    """`StagingError` if a function that ``caller`` calls at run time writes to variables or containers of one that is traced."""
    if not is_recording():
        return
    while not isinstance(function, types.FunctionType | types.MethodType | types.BuiltinMethodType):
        function = getattr(function, "func", None) or getattr(function, "__wrapped__", None)
        if function is None:
            return
    found = next(_written(function, frozenset()), None)
    if found is None:
        return
    raise StagingError(
        f"{user_location()}\n  {found} is written by {function.__qualname__.rpartition('.')[2]}, which {caller} calls when the program "
        f"runs. It belongs to the function that is traced, in which a later read has its value at trace time.\n  Return the "
        "value from the function that is called, or write to an object from outside the traced function."
    )


def _written(function: Any, seen: frozenset[types.CodeType]) -> Iterator[str]:
    """What the function writes, as messages name it: variables of the functions that are traced, and containers that these hold."""
    function = getattr(function, "__wrapped__", function)
    if isinstance(function, types.BuiltinMethodType) or has_contents(getattr(function, "__self__", None)):
        if is_mutating_method(function) and _is_of_trace(function.__self__):
            yield f"A {_kind(function.__self__)}"
        return
    function = getattr(function, "__func__", function)
    if not isinstance(function, types.FunctionType) or is_library(function) or function.__code__ in seen:
        return
    code = function.__code__
    stored = names_of(code).free_stored
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        value = CellVariable(name, cell).get()
        if functions := possible_functions(value):
            for each in functions:
                yield from _written(each, seen | {code})
        elif _is_of_trace(value) and (name in stored or _writes_to(code, name, value)):
            yield repr(name)


def _is_of_trace(value: Any) -> bool:
    """Whether what is traced has certainly made this: a traced value, or a container of a program."""
    made = (known := births()) is not None and known.knows(value)
    return made or has_contents(value) or isinstance(value, jax.core.Tracer)


def _writes_to(code: types.CodeType, name: str, value: Any) -> bool:
    """Whether the code writes to what a variable holds: to an item or attribute, or by a method."""
    return any(_is_write(value, operator, path) for operator, path in _uses(code, name))


def _is_write(value: Any, operator: str | None, path: tuple[str, ...]) -> bool:
    """Whether an operation on ``value.a.b``, or a call of it, may write to the value."""
    if operator in _WRITING:
        return True
    read: Callable[..., Any] = object.__getattribute__
    for attribute in path:
        try:
            value = read(value, attribute)
        except AttributeError:
            return False
    is_method = isinstance(value, types.BuiltinMethodType) or has_contents(getattr(value, "__self__", None))
    return is_method and is_mutating_method(value)


@functools.lru_cache(maxsize=1024)
def _uses(code: types.CodeType, name: str) -> frozenset[tuple[str | None, tuple[str, ...]]]:
    """How the code uses what a variable holds: the attribute loaded before it, of an operator say, and the path of those after it."""
    found = set()
    for part in codes_in(code):
        instructions = [each for each in dis.get_instructions(part) if each.opname not in ("CACHE", "PUSH_NULL")]
        for number, each in enumerate(instructions):
            loaded = each.argval[-1] if isinstance(each.argval, tuple) and each.argval else each.argval
            if loaded != name or not each.opname.startswith(("LOAD_DEREF", "LOAD_FAST")):
                continue
            before = instructions[number - 1] if number else each
            path = []
            for after in instructions[number + 1 :]:
                if after.opname not in _ATTRIBUTES:
                    break
                path.append(after.argval)
            found.add((before.argval if before.opname in _ATTRIBUTES else None, tuple(path)))
    return frozenset(found)


def _kind(value: Any) -> str:
    return "list" if has_contents(value) else type(value).__name__
