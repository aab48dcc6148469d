"""Find the globals, closure variables and attributes that the code of a function reads."""

from __future__ import annotations

import contextlib
import dis
import functools
import re
import types
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jax

from autograph.runtime.code.forwarding import Forwarding
from autograph.runtime.code.library_table import is_library

OPERATORS = "ag__"  # what converted code calls the operators by
# Functions that are handed an object, and read attributes of it that the code does not name.
_OF_WHOLE_OBJECTS = frozenset(
    ["__dict__", "vars", "dir", "getmembers", "asdict", "astuple", "replace", "copy", "deepcopy", "tree_map", "tree"]
)

Pattern = tuple[str, ...]
"""What a name contains; nothing of one that may be any."""

ANY: Pattern = ()
BY_TEXT = frozenset(["getattr", "hasattr", "attrgetter", "methodcaller", "__getattribute__"])
_LOADS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR")
_FORMATS = re.compile("%[^a-zA-Z%]*[a-zA-Z%]")
# What an instruction of an expression may be for the stack to be followed through it.
_STRAIGHT = (
    "LOAD_",
    "BINARY_",
    "UNARY_",
    "BUILD_",
    "COMPARE_",
    "FORMAT_",
    "CONVERT_",
    "CALL",
    "PRECALL",
    "PUSH_NULL",
    "KW_NAMES",
)


@dataclass(frozen=True)
class Names:
    """The names that a piece of code takes from outside, by where from and whether it assigns them.

    Attributes: texts (its constants that could be names), used (the names read to more than count, as ``n += 1`` does),
      computed (what the names of attributes contain that it computes), globals_read, globals_stored, free_read, free_stored,
      attributes_read, attributes_stored.
    """

    globals_read: frozenset[str]
    globals_stored: frozenset[str]
    free_read: frozenset[str]
    free_stored: frozenset[str]
    attributes_read: frozenset[str]
    attributes_stored: frozenset[str]
    texts: frozenset[str]
    used: frozenset[str]
    computed: frozenset[Pattern]


_OPERATIONS = types.MappingProxyType(
    {
        "globals_read": ("LOAD_GLOBAL", "LOAD_NAME"),
        "globals_stored": ("STORE_GLOBAL", "DELETE_GLOBAL"),
        "free_read": ("LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF"),
        "free_stored": ("STORE_DEREF", "DELETE_DEREF"),
        "attributes_read": ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR"),
        "attributes_stored": ("STORE_ATTR", "DELETE_ATTR"),
    }
)
_KIND_OF = types.MappingProxyType(
    {operation: kind for kind, operations in _OPERATIONS.items() for operation in operations}
)
_CONSTANTS = ("LOAD_CONST", "LOAD_SMALL_INT")


def codes_in(code: types.CodeType) -> Iterator[types.CodeType]:
    """The code, and that of the functions and expressions in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes_in(constant)


@functools.lru_cache(maxsize=1024)
def names_in(code: types.CodeType) -> frozenset[str]:
    """The names of globals and attributes in the code, and in that within it, whatever is done with them."""
    return frozenset(name for part in codes_in(code) for name in part.co_names)


PlaceOfCode = tuple[str, int, str]
"""The file, first line and name of a function, which the code that is made of it by conversion has too."""


def place_of(code: types.CodeType) -> PlaceOfCode:
    """Where the function of this code is defined."""
    return code.co_filename, code.co_firstlineno, code.co_name


@functools.lru_cache(maxsize=1024)
def names_of(code: types.CodeType, left_out: frozenset[PlaceOfCode] = frozenset()) -> Names:
    """The names of a code object and of those within it, but for functions that are defined in some places."""
    found: dict[str, set[Any]] = {kind: set() for kind in _OPERATIONS}
    found["used"] = set()
    instructions = [each for each in dis.get_instructions(code) if each.opname not in ("SWAP", "CACHE")]
    for number, instruction in enumerate(instructions):
        kind = _KIND_OF.get(instruction.opname)
        if kind is not None:
            found[kind].add(instruction.argval)
            if not _counts(instructions[number : number + 4]):
                found["used"].add(instruction.argval)
    found["texts"] = set(_texts(code.co_consts))
    found["computed"] = set(patterns_of(instructions))
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType) and place_of(constant) not in left_out:
            inner = names_of(constant, left_out)
            for kind, names in found.items():
                names |= getattr(inner, kind)
    # What is local to the function, or to one within it, is not from outside.
    for kind in ("free_read", "free_stored"):
        found[kind] &= set(code.co_freevars)
    return Names(**{kind: frozenset(names) for kind, names in found.items()})


def _counts(instructions: list[dis.Instruction]) -> bool:
    """Whether the first of these reads a name, and the others add a constant to it and assign it; or the first assigns."""
    kinds = [_KIND_OF.get(each.opname, "") for each in instructions]
    if kinds[0].endswith("_stored"):
        return True
    return (
        len(instructions) == 4
        and instructions[1].opname in _CONSTANTS
        and instructions[2].opname == "BINARY_OP"
        and instructions[2].argrepr.endswith("=")
        and kinds[3] == kinds[0].replace("_read", "_stored")
        and instructions[3].argval == instructions[0].argval
    )


def _texts(constants: tuple[Any, ...]) -> Iterator[str]:
    for constant in constants:
        if isinstance(constant, str) and constant.isidentifier():
            yield constant
        elif isinstance(constant, tuple | frozenset):
            yield from _texts(tuple(constant))


# The names of attributes that code computes: ``getattr(self, f"layer{k}")``.


def patterns_of(instructions: Sequence[dis.Instruction]) -> Iterator[Pattern]:
    """What each name that is computed, and given to one of `BY_TEXT`, contains. One that is written out is a constant of the code."""
    for number, instruction in enumerate(instructions):
        if instruction.opname in _LOADS and instruction.argval in BY_TEXT:
            for name in _names_given(instructions, number):
                if type(name) is tuple:
                    yield name


def _names_given(instructions: Sequence[dis.Instruction], start: int) -> Sequence[str | Pattern]:
    """The names that the call of a function gets which this instruction loads: a text that is written out, or a pattern."""
    function = instructions[start].argval
    stack: list[str | Pattern] = [ANY] * 3  # what is there already, as much as the instruction may take
    first = 0
    for number, instruction in enumerate(instructions[start:]):
        count = instruction.arg or 0
        if instruction.opname in ("PRECALL", "CALL") and len(stack) - count == first:
            given = stack[first:]
            if function == "attrgetter":
                return given
            place = {"methodcaller": 0, "__getattribute__": count - 1}.get(function, 1)
            return given[place : place + 1] or [ANY]
        if not instruction.opname.startswith(_STRAIGHT):
            break  # a jump, or an assignment: the name may come from anywhere
        size = len(stack) + dis.stack_effect(instruction.opcode, instruction.arg, jump=False)
        made = _made(instruction, stack)
        if size <= first:
            break
        del stack[size - 1 :]
        stack += [ANY] * (size - 1 - len(stack)) + [made]
        if number == 0 or (number == 1 and instruction.opname == "PUSH_NULL"):
            first = size
    return [ANY]


def _made(instruction: dis.Instruction, stack: Sequence[str | Pattern]) -> str | Pattern:
    """What an instruction leaves on the stack, as far as it is a text."""
    operation, value = instruction.opname, instruction.argval
    if operation == "LOAD_CONST" and type(value) is str:
        return value
    if operation == "BUILD_STRING" or (operation == "BINARY_OP" and instruction.argrepr == "+"):
        count = value if operation == "BUILD_STRING" else 2
        return tuple(part for each in stack[-count:] for part in ([each] if type(each) is str else each))
    if operation == "BINARY_OP" and instruction.argrepr == "%" and type(stack[-2]) is str:
        return tuple(part for part in _FORMATS.split(stack[-2]) if part)
    return ANY


def is_of(name: str, patterns: frozenset[Pattern] | set[Pattern]) -> bool:
    """Whether a name may be one of those."""
    return any(all(part in name for part in pattern) for pattern in patterns)


class Readers:
    """Functions that a call may run, as far as they are the user's, and the names that they read together.

    Attributes:
      left_out: where the functions are defined that are not looked at.
      globals: by identity, each namespace with the names read of it.
      stored_globals: each name that is assigned, with the identity of its namespace.
      cells: by identity, each closure variable that is read, with its name.
      stored_cells: the identities of those that are assigned.
      stored_attributes: the names of the attributes that are assigned.
      used: the names that are read to more than count.
    """

    def __init__(self, base: Readers | None = None, left_out: frozenset[PlaceOfCode] = frozenset()) -> None:
        """Start with the names, not the globals and closure variables, of ``base``."""
        self.left_out: frozenset[PlaceOfCode] = left_out if base is None else base.left_out
        self.globals: dict[int, tuple[dict[str, Any], set[str]]] = {}
        self.cells: dict[int, tuple[types.CellType, str]] = {}
        self.stored_globals: set[tuple[int, str]] = set() if base is None else set(base.stored_globals)
        self.stored_cells: set[int] = set() if base is None else set(base.stored_cells)
        self.stored_attributes: set[str] = set() if base is None else set(base.stored_attributes)
        self.used: set[str] = set() if base is None else set(base.used)
        self._attributes: set[str] = set() if base is None else set(base._attributes)
        self._globals: set[str] = set() if base is None else set(base._globals)
        self._texts: set[str] = set() if base is None else set(base._texts)
        self._computed: set[Pattern] = set() if base is None else set(base._computed)
        self._seen: set[Any] = set() if base is None else set(base._seen)

    def __len__(self) -> int:
        return len(self._seen)

    @property
    def reads_all(self) -> bool:
        """Whether attributes are read that no function names."""
        used = self._attributes | self._globals
        return not used.isdisjoint(_OF_WHOLE_OBJECTS) or self.computes_any

    @property
    def computes_any(self) -> bool:
        """Whether the code computes the name of an attribute, of which nothing is written out."""
        return ANY in self._computed

    @property
    def attributes(self) -> set[str]:
        """The names of the attributes that are read, of whatever object."""
        by_text = not BY_TEXT.isdisjoint(self._attributes) or not BY_TEXT.isdisjoint(self._globals)
        return self._attributes | self._texts if by_text else self._attributes

    def computed(self, names: Iterable[Any]) -> set[str]:
        """Those of these names that the code may compute, of an attribute that it reads, from others that it writes out."""
        patterns = self._computed - {ANY}
        return {name for name in names if type(name) is str and is_of(name, patterns)} if patterns else set()

    def only_counts(self, name: str, value: Any) -> bool:
        """Whether nothing is done with a number but to add to it."""
        return type(value) in (int, float) and name not in self.used and not self.reads_all and not self._is_text(name)

    def _is_text(self, name: str) -> bool:
        return name in self._texts or is_of(name, self._computed)

    def add(self, value: Any) -> None:
        """Take in the functions that calling this object runs, and the functions among the globals and closure variables that they read.

        What else these hold is not looked at here: who does so begins again for each function that is found by that.
        """
        pending = [value]
        while pending:
            for function in user_functions(pending.pop()):
                cells = function.__closure__ or ()
                key = (function.__code__, id(function.__globals__), *map(id, cells))
                if key not in self._seen and place_of(function.__code__) not in self.left_out:
                    self._seen.add(key)
                    names = names_of(function.__code__, self.left_out)
                    self._add(function, names, cells)
                    pending += _functions_read(function, names, cells)

    def _add(self, function: types.FunctionType, names: Names, cells: tuple[types.CellType, ...]) -> None:
        namespace = function.__globals__
        _, reads = self.globals.setdefault(id(namespace), (namespace, set()))
        reads |= names.globals_read
        self.stored_globals |= {(id(namespace), name) for name in names.globals_stored}
        for name, cell in zip(function.__code__.co_freevars, cells, strict=True):
            if name in names.free_read:
                self.cells[id(cell)] = cell, name
            if name in names.free_stored:
                self.stored_cells.add(id(cell))
        self.stored_attributes |= names.attributes_stored
        self.used |= names.used
        self._attributes |= names.attributes_read
        self._globals |= names.globals_read
        self._texts |= names.texts
        self._computed |= names.computed


def _functions_read(
    function: types.FunctionType, names: Names, cells: tuple[types.CellType, ...]
) -> list[types.FunctionType]:
    """The functions that a function reads by their names."""
    namespace = function.__globals__
    found = [namespace.get(name) for name in names.globals_read if not name.startswith("__")]
    for name, cell in zip(function.__code__.co_freevars, cells, strict=True):
        if name in names.free_read:
            with contextlib.suppress(ValueError):  # not yet bound
                found.append(cell.cell_contents)
    return [value for value in found if type(value) is types.FunctionType]


def is_partial(value: Any) -> bool:
    """Whether this is a function with some of its arguments, and none that forwards calls."""
    return isinstance(value, functools.partial) and not isinstance(value, Forwarding)


def user_functions(value: Any) -> Iterator[types.FunctionType]:
    """The functions of the user's that calling this object runs, or reading it as an attribute of a class."""
    for _ in range(16):  # a chain of wrappers, which might be a ring
        if isinstance(value, types.FunctionType) and not is_library(value):
            yield value
        elif isinstance(value, types.MethodType | classmethod | staticmethod):
            value = value.__func__
            continue
        elif isinstance(value, functools.cached_property) or is_partial(value):
            value = value.func
            continue
        elif isinstance(value, property):
            for function in (value.fget, value.fset):
                yield from user_functions(function)
            return
        elif not callable(value) or isinstance(value, type | jax.Array):
            return
        elif not hasattr(value, "__wrapped__") and not is_library(value):
            value = getattr(type(value), "__call__", None)  # noqa: B004  the function itself is wanted
            continue
        value = getattr(value, "__dict__", {}).get("__wrapped__")


def class_attribute(kind: type, name: str) -> Any:
    """What the class or a base of it defines under this name, as it stands there: nothing is called to find it."""
    for base in type.mro(kind) if kind is type else kind.__mro__:
        if name in base.__dict__:
            return base.__dict__[name]
    return None
