"""Find functions that may call themselves, from the names in their code."""

from __future__ import annotations

import dis
import functools
import types
from collections.abc import Iterator
from typing import Any

from autograph.runtime.code.code_names import codes_in
from autograph.runtime.code.library_table import is_library
from autograph.runtime.tracing.locations import is_internal

_LOOKED_AT = 200  # functions


def may_call_itself(function: types.FunctionType, owner: Any) -> bool:
    """Whether the names in a function, and in the functions of the user's that these lead to, lead back to it."""
    wanted = function.__name__
    seen: set[types.CodeType] = set()
    pending: list[Any] = [function]
    while pending and len(seen) < _LOOKED_AT:
        each = pending.pop()
        if each.__code__ in seen:
            continue
        seen.add(each.__code__)
        if wanted == "__call__" and _calls_first_argument(each.__code__):
            return True
        variables, attributes = _names(each.__code__)
        values = [(name, _variable(each, name)) for name in variables]
        values += [(name, getattr(type(owner), name, None)) for name in attributes]
        for name, value in values:
            found = function_in(value)
            # A decorator may have put another function in its place, of its name.
            if name == wanted and (found is None or found.__qualname__ == function.__qualname__):
                return True
            if found is not None and place_of(found) == place_of(function):
                return True
            if found is not None and not is_library(found):
                pending.append(found)
    return False


def place_of(function: types.FunctionType) -> tuple[str, int, str]:
    """What a function and its converted form have in common."""
    code = function.__code__
    return code.co_filename, code.co_firstlineno, code.co_name


@functools.lru_cache(maxsize=4096)
def _names(code: types.CodeType) -> tuple[frozenset[str], frozenset[str]]:
    """The names that a function's code looks up: of variables, and of attributes of its first argument or of variables around it.

    An attribute of anything else (``self.layer.forward``) is another object's: where that is the same one in the end, its calls are
    followed.
    """
    owner = code.co_varnames[:1]
    variables: set[str] = set()
    attributes: set[str] = set()
    for inner in codes_in(code):
        variables.update(inner.co_freevars, inner.co_cellvars)
        before: Any = None
        for instruction in dis.get_instructions(inner):
            if not instruction.opname.startswith(_ATTRIBUTE):
                if instruction.opname.startswith(("LOAD_GLOBAL", "LOAD_NAME")):
                    variables.add(instruction.argval)
            elif before is not None and before.opname.startswith("LOAD") and not before.opname.startswith(_ATTRIBUTE):
                if not before.opname.startswith("LOAD_FAST") or _last(before.argval) in owner:
                    attributes.add(instruction.argval)
            before = instruction
    return frozenset(variables), frozenset(attributes)


@functools.lru_cache(maxsize=4096)
def _calls_first_argument(code: types.CodeType) -> bool:
    """Whether converted code of a method calls the object itself: ``ag__.call(self)``."""
    if not code.co_argcount:
        return False
    for inner in codes_in(code):
        instructions = list(dis.get_instructions(inner))
        for one, two, three in zip(instructions, instructions[1:], instructions[2:], strict=False):
            is_call = one.argval == "call" and _last(two.argval) == code.co_varnames[0]
            if is_call and not three.opname.startswith((*_ATTRIBUTE, "BINARY_SUBSCR")):
                return True
    return False


_ATTRIBUTE = ("LOAD_ATTR", "LOAD_METHOD")


def _last(name: Any) -> Any:
    """What an instruction loads last: one that loads two variables names both."""
    return name[-1] if isinstance(name, tuple) and name else name


def _variable(function: types.FunctionType, name: str) -> Any:
    """What a variable around a function, or a global, holds; None if that is not known."""
    for variable, cell in cells_of(function):
        if variable == name:
            try:
                return cell.cell_contents
            except ValueError:
                return None
    if any(name in inner.co_cellvars for inner in codes_in(function.__code__)):
        return None  # a variable that is not there before the function runs
    return function.__globals__.get(name)


def function_in(value: Any) -> types.FunctionType | None:
    """The function of the user's that a value runs, if it does."""
    value = getattr(value, "python_function", value) if is_internal_class(type(value)) else value
    if isinstance(value, types.MethodType):
        value = value.__func__
    if isinstance(value, types.FunctionType) and is_internal(value.__code__.co_filename):
        value = value.__dict__.get("__wrapped__")
    return value if isinstance(value, types.FunctionType) else None


def is_internal_class(kind: type) -> bool:
    """Whether this is a class of this package."""
    return kind.__module__.startswith("autograph.")


def cells_of(function: types.FunctionType) -> Iterator[tuple[str, types.CellType]]:
    return zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
