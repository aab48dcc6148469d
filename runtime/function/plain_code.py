"""Tell from functions and classes whether they make nothing but plain values of plain values."""

from __future__ import annotations

import abc
import collections
import dis
import enum
import functools
import inspect
import math
import os
import sys
import types
import typing
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from autograph.runtime.code.generated import defined
from autograph.runtime.code.library_table import is_library, is_library_name
from autograph.runtime.function.plain_values import NUMBERS, OnlyPlain, Parts, parts_of_instances

_MISSING = object()


class PlainCode:
    """Functions and classes that make nothing but plain values of plain values, and what they read from outside."""

    def __init__(self, original: Callable[[Any], Any]) -> None:
        self._original = original
        self._known: set[Any] = set()
        self._parts: dict[type, Parts] = {}
        self._refused: weakref.WeakSet[Any] = weakref.WeakSet()
        self._makes_functions, self._stores = False, False
        self._attributes: set[str] = set()
        self._modules: list[types.ModuleType] = []
        self._environment: dict[str, Any] = {}
        self._tests: list[str] = []
        self._sources: dict[str, None] = {}
        self._compiled: Callable[[], tuple[Any, ...] | None] | None = None

    def _copy(self) -> PlainCode:
        made = PlainCode(self._original)
        made._known, made._parts, made._refused = set(self._known), dict(self._parts), self._refused
        made._attributes, made._modules = set(self._attributes), [*self._modules]
        made._makes_functions, made._stores = self._makes_functions, self._stores
        made._environment, made._tests, made._sources = dict(self._environment), [*self._tests], dict(self._sources)
        return made

    # What is asked at each call.

    def values(self) -> tuple[Any, ...] | None:
        """The values that are read from outside, as they are now; None if a function or a class is another."""
        if self._compiled is None:
            tests = f"        if {' or '.join(self._tests)}: return None\n" if self._tests else ""
            source = (
                f"def values():\n    try:\n{tests}        return ({''.join(f'{each}, ' for each in self._sources)})\n"
            )
            source += "    except (AttributeError, KeyError, ValueError): return None\n"
            self._compiled = defined(source, self._environment, "values")
        return self._compiled()

    def knowing(self, values: Sequence[Any]) -> PlainCode | None:
        """This, if the values lead to plain ones only; with more classes, if they lead to classes not met before; or None."""
        missing: list[Any] = []

        def parts_of(kind: type) -> Parts | None:
            if kind not in self._parts:
                missing.append(kind)
            return self._parts.get(kind)

        def knows(value: Any) -> bool:
            if value in self._known or _is_harmless(value):
                return True
            missing.append(value)
            return False

        if OnlyPlain(parts_of, knows).of(values):
            return self
        if not missing or missing[0] in self._refused:
            return None
        more = self._copy()
        if more._add_callable(missing[0]) and more.is_kept_in:
            return more
        self._refused.add(missing[0])
        return None

    def keeps(self, result: Any) -> bool:
        """Whether a call that has ended with this result leaves no function behind that it has made."""
        return not self._makes_functions or self.knowing((result,)) is self  # else it runs again, which nothing tells

    @property
    def is_kept_in(self) -> bool:
        """Whether no function that a call makes can outlast it but in its result."""
        return not (self._makes_functions and self._stores)

    # What is looked at once.

    def _add_callable(self, value: Any) -> bool:
        if isinstance(value, type):
            return self._add_class(value)
        return isinstance(value, types.FunctionType) and self.add_function(value)

    def add_function(self, function: Any) -> bool:
        """Whether a function is such a one, and all that it calls."""
        if function in self._known:
            return True
        self._known.add(function)
        known = self._name(function)
        if function.__dict__:
            self._sources[f"{known}.__dict__"] = None
        else:
            self._tests.append(f"{known}.__dict__")
        written = self._original(function)
        if written is not None:
            return self.add_function(written)
        code = function.__code__
        self._tests.append(
            f"{known}.__code__ is not {self._name(code)} or {known}.__defaults__ is not {self._name(function.__defaults__)} "
            f"or {known}.__kwdefaults__ is not {self._name(function.__kwdefaults__)}"
        )
        self._sources |= dict.fromkeys(f"{self._name(value)}" for value in function.__defaults__ or ())
        self._sources |= dict.fromkeys(f"{self._name(value)}" for value in (function.__kwdefaults__ or {}).values())
        if code.co_flags & inspect.CO_GENERATOR:  # which may be run later, as functions that are made
            self._makes_functions = True
        cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
        return all(self._allows(instruction, function, cells) for instruction in _instructions(code))

    def _allows(
        self, instruction: dis.Instruction | None, function: types.FunctionType, cells: Mapping[str, types.CellType]
    ) -> bool:
        if instruction is None or instruction.opname in _REFUSED:
            return False
        kind, name = instruction.opname, instruction.argval
        if kind == "LOAD_CONST" and isinstance(name, types.CodeType) and name.co_name not in _EXPRESSIONS:
            self._makes_functions = True
        if kind in _STORES or (kind == "STORE_DEREF" and name in cells) or (kind in _BY_NAME and name in _STORING):
            self._stores = True
        if kind in _BY_NAME:
            if name in _LEAD_ELSEWHERE or (name.startswith("__") and name not in _ATTRIBUTES):
                return False
            if name in self._attributes:
                return True
            self._attributes.add(name)
            return all([self._add_part(module, name) for module in self._modules])
        if kind == "IMPORT_NAME":
            return name in _SAFE
        if kind in ("LOAD_DEREF", "LOAD_CLASSDEREF") and name in cells:
            return self._cell(cells[name])
        return kind not in ("LOAD_GLOBAL", "LOAD_NAME") or self._global(function, name)

    def _global(self, function: types.FunctionType, name: str) -> bool:
        names, own = function.__globals__, function.__builtins__
        if name in names:
            return self._add(names[name], f"{self._name(names)}[{name!r}]")
        value = own.get(name, _MISSING)
        self._tests.append(f"{name!r} in {self._name(names)}")
        if value is _MISSING:
            return False
        self._tests.append(f"{self._name(own)}.get({name!r}) is not {self._name(value)}")
        return _is_harmless(value)

    def _cell(self, cell: types.CellType) -> bool:
        try:
            value = cell.cell_contents
        except ValueError:  # it is empty yet
            return False
        return self._add(value, f"{self._name(cell)}.cell_contents")

    def _add(self, value: Any, source: str) -> bool:
        """Take in what a variable holds: a function, a class or a module once, anything else again at each call."""
        if isinstance(value, types.FunctionType | type | types.ModuleType | types.BuiltinFunctionType):
            self._tests.append(f"{source} is not {self._name(value)}")
            if isinstance(value, types.ModuleType):
                return self._add_module(value)
            return _is_harmless(value) or self._add_callable(value)
        self._sources[source] = None
        return True

    def _add_module(self, module: types.ModuleType) -> bool:
        """Whether a module is the user's, or one of the standard library's that are known."""
        if module.__name__ in _SAFE and _is_standard(module):
            self._stores = self._stores or module.__name__ == "random"  # whose numbers are others the next time
            return True
        if type(module) is not types.ModuleType or is_library_name(module.__name__):
            return False
        if module in self._modules:
            return True
        self._modules.append(module)
        return all([self._add_part(module, name) for name in sorted(self._attributes)])

    def _add_part(self, module: types.ModuleType, name: str) -> bool:
        """Take in what a module has by a name that the code may ask it for."""
        own = f"{self._name(module)}.__dict__"
        if name in vars(module):
            return self._add(vars(module)[name], f"{own}[{name!r}]")
        self._tests.append(f"{name!r} in {own}")
        return True

    def _add_class(self, kind: type) -> bool:
        """Whether a class is a user's, with such functions only."""
        if kind in self._known:
            return True
        if type(kind) not in _METACLASSES or is_library(kind):
            return False
        self._known.add(kind)
        self._parts[kind] = parts_of_instances(kind)
        self._tests.append(f"{self._name(kind)}.__mro__ is not {self._name(kind.__mro__)}")
        for each in kind.__mro__:
            if each in _BASES or (issubclass(each, Exception) and each.__module__ == "builtins"):
                continue
            if is_library(each) or "__getattribute__" in vars(each) or not self._add_namespace(each):
                return False
        return True

    def _add_namespace(self, kind: type) -> bool:
        own = f"{self._name(kind)}.__dict__"
        self._tests.append(f"len({own}) != {len(vars(kind))}")
        for name, part in vars(kind).items():
            if name in _OF_CLASSES:
                continue
            if isinstance(part, types.FunctionType | classmethod | staticmethod | property | functools.cached_property):
                self._tests.append(f"{own}[{name!r}] is not {self._name(part)}")
                if not all(map(self._is_plain_function, _functions_of(part))):
                    return False
            elif not isinstance(part, _FIELDS):
                if not self._add(part, f"{own}[{name!r}]"):
                    return False
        return True

    def _is_plain_function(self, function: Any) -> bool:
        if not isinstance(function, types.FunctionType):
            return False
        is_made = function.__globals__.get("__name__", "").startswith("namedtuple_")
        return is_made or _is_harmless(function) or self.add_function(function)

    def _name(self, value: Any) -> str:
        """What the source calls an object, which is kept, and so its id is no other's."""
        name = f"known{id(value)}"
        self._environment[name] = value
        return name


def _functions_of(part: Any) -> list[Any]:
    """The functions of what a class has under a name."""
    if isinstance(part, property):
        return [each for each in (part.fget, part.fset, part.fdel) if each is not None]
    if isinstance(part, functools.cached_property):
        return [part.func]
    return [part.__func__ if isinstance(part, classmethod | staticmethod) else part]


def _instructions(code: types.CodeType) -> Iterator[dis.Instruction | None]:
    """The instructions of code and of the expressions in it; None where it makes what does not just run."""
    if code.co_flags & (inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR | inspect.CO_ITERABLE_COROUTINE):
        yield None
    yield from dis.get_instructions(code)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _instructions(constant)


def _is_harmless(value: Any) -> bool:
    """Whether this is a function or a class of Python's own that makes plain values of plain values."""
    if isinstance(value, type) and issubclass(value, Exception) and value.__module__ == "builtins":
        return True
    if isinstance(value, types.FunctionType | type):
        # `functools.wraps` copies the module of what it wraps to the wrapper; where its code is from, its globals say.
        module = value.__module__ if isinstance(value, type) else value.__globals__.get("__name__")
        # What one closes over may be a function of the user's.
        is_open = (
            isinstance(value, types.FunctionType) and value.__closure__ is not None and module not in _SELF_CONTAINED
        )
        if module in _SAFE and not is_open and _is_standard(sys.modules.get(module)):
            return True
    elif isinstance(value, types.BuiltinFunctionType):
        if getattr(value, "__module__", None) in _SAFE_BUILTINS:
            return True
    return value is NotImplemented or value is ... or any(value is each for each in _HARMLESS)


def _is_standard(module: Any) -> bool:
    """Whether a module is the standard library's, and not one of the user's by the same name."""
    filename = getattr(module, "__file__", None)
    return filename is None or (filename.startswith(_STANDARD) and "site-packages" not in filename)


_STANDARD = os.path.dirname(os.__file__) + os.sep
# What Python compiles to functions of their own, and nothing else can call.
_EXPRESSIONS = frozenset({"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"})
_REFUSED = frozenset(
    {
        "STORE_NAME",
        "IMPORT_STAR",
        "LOAD_BUILD_CLASS",
        "LOAD_FROM_DICT_OR_DEREF",
        "LOAD_FROM_DICT_OR_GLOBALS",
        "LOAD_LOCALS",
    }
)
_BY_NAME = frozenset(
    {"LOAD_ATTR", "LOAD_METHOD", "STORE_ATTR", "DELETE_ATTR", "LOAD_SUPER_ATTR", "LOAD_SUPER_METHOD", "IMPORT_FROM"}
)
# What may put a function where it outlasts the call that makes it, or makes a second run of the call another.
_STORES = frozenset(
    {"STORE_ATTR", "STORE_SUBSCR", "STORE_SLICE", "STORE_GLOBAL", "DELETE_ATTR", "DELETE_SUBSCR", "RAISE_VARARGS"}
)
_STORING = frozenset(
    name
    for kind in (list, dict, set, collections.deque, collections.OrderedDict, collections.Counter)
    for name in dir(kind)
    if not any(name in dir(other) for other in (frozenset, tuple, str))
    and name not in ("keys", "values", "items", "get")
) | frozenset(
    ["heappush", "heappop", "heappushpop", "heapreplace", "heapify", "insort", "insort_left", "insort_right"]
    + ["__setattr__", "__delattr__"]
)
# Modules whose functions and classes make plain values of plain values, and call only what they are given.
_SAFE = frozenset(
    ["math", "cmath", "heapq", "bisect", "random", "collections", "itertools", "operator", "functools", "string", "re"]
    + ["json", "copy", "datetime", "time", "statistics", "fractions", "decimal", "textwrap", "numbers", "enum", "abc"]
    + ["dataclasses", "typing", "reprlib"]
)
_SELF_CONTAINED = ("reprlib", "dataclasses", "collections")  # their closures hold what belongs to one class
_SAFE_BUILTINS = frozenset(
    ["math", "cmath", "_heapq", "_bisect", "_collections", "itertools", "_operator", "_functools", "_random", "time"]
)
# What stands in a class for slots, and for the items of a named tuple.
_FIELDS = (types.MemberDescriptorType, types.GetSetDescriptorType, type(inspect.FullArgSpec.args))
_METACLASSES = frozenset({type, abc.ABCMeta, enum.EnumMeta})
_BASES = frozenset(
    {object, list, tuple, dict, set, frozenset, int, float, str, collections.deque, collections.OrderedDict}
    | {abc.ABC, typing.Generic, enum.Enum, enum.IntEnum, enum.Flag, enum.IntFlag, enum.ReprEnum, BaseException}
)
# What every class has, and no code of the user's reads.
_OF_CLASSES = frozenset(
    [
        "__module__",
        "__qualname__",
        "__doc__",
        "__dict__",
        "__weakref__",
        "__annotations__",
        "__slots__",
        "__match_args__",
    ]
    + [
        "__dataclass_fields__",
        "__dataclass_params__",
        "__orig_bases__",
        "__parameters__",
        "__abstractmethods__",
        "_abc_impl",
    ]
    + [
        "__firstlineno__",
        "__static_attributes__",
        "__annotate__",
        "__annotate_func__",
        "__annotations_cache__",
        "__hash__",
    ]
    + ["__classcell__", "__type_params__", "__orig_class__"]
    + [
        "_member_names_",
        "_member_map_",
        "_value2member_map_",
        "_unhashable_values_",
        "_hashable_values_",
        "_new_member_",
    ]
    + ["_member_type_", "_value_repr_", "_use_args_", "_generate_next_value_", "__new_member__"]
)
_HARMLESS = (
    *(range, len, abs, min, max, sum, int, float, bool, complex, str, bytes, list, tuple, dict, set, frozenset),
    *(enumerate, zip, reversed, sorted, any, all, map, filter, round, divmod, pow, ord, chr, repr, isinstance, slice),
    *(bin, hex, oct, iter, next, hash, object, super, type, issubclass, callable, hasattr, format, bytearray),
    *(property, ascii, id),
    *(value for name, value in vars(math).items() if not name.startswith("_") and callable(value)),
)
# Attributes that begin like Python's own and lead to nothing else; of others those do not that are named so.
_ATTRIBUTES = frozenset(
    name
    for kind in (*NUMBERS, list, tuple, dict, set, frozenset, Exception)
    for name in dir(kind)
    if name not in dir(object)
) | frozenset(
    [
        "__init__",
        "__setattr__",
        "__delattr__",
        "__name__",
        "__class__",
        "__eq__",
        "__ne__",
        "__lt__",
        "__le__",
        "__gt__",
        "__ge__",
    ]
)
_LEAD_ELSEWHERE = frozenset(
    [
        "gi_frame",
        "cr_frame",
        "ag_frame",
        "tb_frame",
        "f_back",
        "f_globals",
        "f_locals",
        "f_builtins",
        "f_code",
        "gi_code",
    ]
    + [
        "modules",
        "import_module",
        "sys",
        "os",
        "builtins",
        "gc",
        "inspect",
        "types",
        "weakref",
        "threading",
        "_os",
        "_sys",
    ]
    + ["format", "format_map", "func_globals", "attrgetter", "methodcaller"]
)
