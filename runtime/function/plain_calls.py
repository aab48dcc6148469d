"""Detect calls with plain Python values only, for which the unconverted function can run.

Converted code asks at every statement whether a value is traced. Where no argument is an array, where the code reads
nothing that could lead to one, and where what it calls is such code too, there is nothing to ask: from numbers, texts
and containers of them Python makes nothing else. What the code reads is looked at once, and compared at every call;
what is not known to be harmless is not.
"""

from __future__ import annotations

import dis
import inspect
import math
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

_NUMBERS = frozenset({bool, int, float, complex, str, bytes, type(None)})
_CONTAINERS = (list, tuple, dict, set, frozenset)
# Of more items the look at them would take longer than many a call.
_MOST_ITEMS = 1024
_DEEPEST = 4
# So often the code is looked at again, as what it reads has changed.
_MOST_LOOKS = 8
_MISSING = object()


class PlainCalls:
    """The calls of one function that run as it is written.

    ``is_outside()``: whether there is no trace, in which Python values take part in what is recorded. ``original(function)``: the
    function as it is written, of one that `autograph.convert` has returned; else None.
    """

    def __init__(
        self, function: types.FunctionType, is_outside: Callable[[], bool], original: Callable[[Any], Any]
    ) -> None:
        self._function, self._is_outside, self._original = function, is_outside, original
        self._looks = 0
        self._reads: _Reads | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_looks": 0, "_reads": None}  # another process has other variables

    def take(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
        """Whether a call with these arguments is one."""
        if self._looks > _MOST_LOOKS or not all(map(_is_plain, args)) or not all(map(_is_plain, kwargs.values())):
            return False
        if not self._is_outside():
            return False
        if self._reads is None or not self._reads.still_hold():
            self._look()
        return self._reads is not None

    def _look(self) -> None:
        self._looks += 1
        found = _Reads(self._original)
        self._reads = found if found.add(self._function) else None
        if self._reads is None:
            self._looks = _MOST_LOOKS + 1


def _is_plain(value: Any, depth: int = 0) -> bool:
    """Whether a value is a number or a text, or a container of some of them."""
    kind = type(value)
    if kind in _NUMBERS or kind is range:
        return True
    if kind not in _CONTAINERS or len(value) > _MOST_ITEMS or depth > _DEEPEST:
        return False
    if kind is dict and not _NUMBERS.issuperset(map(type, value)):
        return False
    items = value.values() if kind is dict else value
    return _NUMBERS.issuperset(map(type, items)) or all(_is_plain(item, depth + 1) for item in items)


@dataclass(frozen=True)
class _Global:
    """A variable of a module, or of Python's own, and what it was."""

    names: dict[str, Any]
    name: str
    value: Any

    def holds(self) -> bool:
        return self.names.get(self.name, _MISSING) is self.value


@dataclass(frozen=True)
class _Cell:
    """A variable of a function around, and what it was."""

    cell: types.CellType
    value: Any

    def holds(self) -> bool:
        return _contents(self.cell) is self.value


@dataclass(frozen=True)
class _Code:
    """A function's code and defaults."""

    function: types.FunctionType
    code: types.CodeType
    defaults: Any
    by_name: Any

    def holds(self) -> bool:
        function = self.function
        return (
            function.__code__ is self.code
            and function.__defaults__ is self.defaults
            and function.__kwdefaults__ is self.by_name
        )


class _Reads:
    """All that a function, and those that it calls, read from outside."""

    def __init__(self, original: Callable[[Any], Any]) -> None:
        self._original = original
        self._found: list[Any] = []
        self._functions: set[types.FunctionType] = set()

    def still_hold(self) -> bool:
        return all(read.holds() for read in self._found)

    def add(self, function: types.FunctionType) -> bool:
        """Whether the function reads nothing but plain values, and functions of which that is so."""
        if function in self._functions:
            return True
        self._functions.add(function)
        code = function.__code__
        self._found.append(_Code(function, code, function.__defaults__, function.__kwdefaults__))
        defaults = (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())
        if not all(type(value) in _NUMBERS for value in defaults):
            return False
        for cell in function.__closure__ or ():
            value = _contents(cell)
            self._found.append(_Cell(cell, value))
            if not self._is_known(value):
                return False
        outer = frozenset(code.co_freevars)
        return all(self._allows(instruction, function, outer) for instruction in _instructions(code))

    def _allows(self, instruction: dis.Instruction | None, function: types.FunctionType, outer: frozenset[str]) -> bool:
        if instruction is None or instruction.opname in _REFUSED:
            return False
        if instruction.opname in ("STORE_DEREF", "DELETE_DEREF"):
            return instruction.argval not in outer
        if instruction.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            return instruction.argval in _ATTRIBUTES
        return instruction.opname not in ("LOAD_GLOBAL", "LOAD_NAME") or self._global(function, instruction.argval)

    def _global(self, function: types.FunctionType, name: str) -> bool:
        names, own = function.__globals__, function.__builtins__
        value = names.get(name, _MISSING)
        self._found.append(_Global(names, name, value))
        if value is not _MISSING:
            return self._is_known(value)
        value = own.get(name, _MISSING)
        self._found.append(_Global(own, name, value))
        return _is_harmless(value)

    def _is_known(self, value: Any) -> bool:
        if type(value) in _NUMBERS or value is math or _is_harmless(value):
            return True
        if type(value) is tuple:
            return all(type(item) in _NUMBERS for item in value)
        if type(value) is not types.FunctionType:
            return False
        written = self._original(value)
        return self.add(value if written is None else written)


def _contents(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # it is empty yet
        return _MISSING


def _instructions(code: types.CodeType) -> Iterator[dis.Instruction | None]:
    """The instructions of code and of the expressions in it; None where it makes what does not just run."""
    if code.co_flags & (inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR | inspect.CO_ITERABLE_COROUTINE):
        yield None
    yield from dis.get_instructions(code)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            if constant.co_name not in _EXPRESSIONS:
                yield None  # a function that may be called later, with an array
            yield from _instructions(constant)


def _is_harmless(value: Any) -> bool:
    """Whether this is a function or a class of Python's own that makes plain values of plain values."""
    if isinstance(value, type) and issubclass(value, Exception):
        return value.__module__ == "builtins"
    return any(value is each for each in _HARMLESS)


# What Python compiles to functions of their own, and nobody else can call.
_EXPRESSIONS = frozenset({"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"})
_REFUSED = frozenset(
    {
        "STORE_GLOBAL",
        "DELETE_GLOBAL",
        "STORE_ATTR",
        "DELETE_ATTR",
        "STORE_NAME",
        "IMPORT_NAME",
        "IMPORT_STAR",
        "LOAD_BUILD_CLASS",
        "LOAD_SUPER_ATTR",
        "LOAD_SUPER_METHOD",
        "LOAD_CLASSDEREF",
        "LOAD_FROM_DICT_OR_DEREF",
        "LOAD_FROM_DICT_OR_GLOBALS",
        "LOAD_LOCALS",
    }
)
_HARMLESS = (
    *(range, len, abs, min, max, sum, int, float, bool, complex, str, bytes, list, tuple, dict, set, frozenset),
    *(enumerate, zip, reversed, sorted, any, all, map, filter, round, divmod, pow, ord, chr, repr, isinstance, slice),
    *(bin, hex, oct, iter, next, hash),
    *(value for name, value in vars(math).items() if not name.startswith("_") and callable(value)),
)
# What numbers, texts, containers, iterators of them, and `math`, are asked for; nothing that leads to frames or modules.
_ATTRIBUTES = frozenset(
    name
    for kind in (*_NUMBERS, *_CONTAINERS, range, slice, math)
    for name in dir(kind)
    if not name.startswith("__") and name not in ("format", "format_map")
)
