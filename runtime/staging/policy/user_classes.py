"""Find the special methods and properties of user classes that conversion changes.

Calls of these stand nowhere in the program, so the expressions that lead to them have to become operator calls. That
is done where such a class can be expected, and nowhere else: in a function whose module, or a module that it uses,
has one.
"""

from __future__ import annotations

import abc
import dis
import functools
import itertools
import sys
import threading
import types
import weakref
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Generic, Protocol

from autograph.runtime.code.code_names import class_attribute, codes_in
from autograph.runtime.code.library_table import is_library
from autograph.runtime.heap.reach import augments
from autograph.runtime.layouts.statement_variables import contents_of_cells
from autograph.runtime.state.module import Module

_BINARY = types.MappingProxyType(
    {
        **{
            "+": "add",
            "-": "sub",
            "*": "mul",
            "@": "matmul",
            "/": "truediv",
            "//": "floordiv",
            "%": "mod",
            "**": "pow",
        },
        **{"<<": "lshift", ">>": "rshift", "&": "and", "|": "or", "^": "xor"},
    }
)
_COMPARISONS = types.MappingProxyType({"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne"})
_APPLIED: Mapping[str, frozenset[str]] = types.MappingProxyType(
    {symbol: frozenset([f"__{name}__", f"__r{name}__"]) for symbol, name in _BINARY.items()}
    | {f"{symbol}=": frozenset([f"__{name}__", f"__r{name}__", f"__i{name}__"]) for symbol, name in _BINARY.items()}
    | {symbol: frozenset(f"__{name}__" for name in _COMPARISONS.values()) for symbol in _COMPARISONS}
    | {
        "UNARY_NEGATIVE": frozenset(["__neg__"]),
        "UNARY_INVERT": frozenset(["__invert__"]),
        "[]": frozenset(["__getitem__"]),
        "BINARY_SUBSCR": frozenset(["__getitem__"]),
    }
)
SPECIAL = frozenset(name for names in _APPLIED.values() for name in names) | {"__pos__", "__abs__"}
_WRITES = frozenset(
    code
    for name, code in dis.opmap.items()
    if name.startswith(("STORE_ATTR", "STORE_SUBSCR", "STORE_SLICE", "DELETE_ATTR", "DELETE_SUBSCR"))
    or name in ("STORE_GLOBAL", "DELETE_GLOBAL")
)
_BRANCHES = frozenset(
    code
    for name, code in dis.opmap.items()
    if "JUMP" in name or name in ("FOR_ITER", "UNARY_NOT", "CONTAINS_OP", "IS_OP")
)
# What Python's own containers, and texts, do with values of the trace. Not in special methods: all operators around would be calls.
_READS = frozenset(["BINARY_SUBSCR", "BINARY_SLICE", "FORMAT_VALUE", "FORMAT_SIMPLE", "FORMAT_WITH_SPEC", "[]"])
_CALLS = frozenset(code for name, code in dis.opmap.items() if "CALL" in name)
_SHARED = frozenset(dis.opmap[name] for name in ("STORE_DEREF", "DELETE_DEREF"))
_MUTATING = frozenset(
    [
        "append",
        "extend",
        "insert",
        "remove",
        "pop",
        "clear",
        "sort",
        "reverse",
        "update",
        "popitem",
        "setdefault",
        "add",
    ]
    + ["discard", "appendleft", "popleft"]
)
# Converted code calls these itself, where it meets them.
_CALLED = frozenset(
    ["__init__", "__new__", "__post_init__", "__call__", "__enter__", "__exit__", "__set__", "__get__", "__delete__"]
    + ["__setattr__", "__delattr__", "__setitem__", "__delitem__", "__getitem__", "__len__", "__bool__", "__contains__"]
    + ["__init_subclass__", "__class_getitem__", "__set_name__", "__prepare__"]
)


# What users' classes derive from that have no other users' class among their bases, beside the classes of libraries that their
# module has by name, or as `library.Module`.
_ROOTS = (object, Module, abc.ABC, Generic, Protocol, list, dict, tuple, set)


class DefinedClasses:
    """The classes that derive from those at the root alone, by the module that defines them.

    Each is looked at once, and not held. ``__subclasses__`` has them in the order of definition, so those that have
    come since are behind the last one that is known.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: defaultdict[type, list[weakref.ref[type]]] = defaultdict(list)
        self._by_module: defaultdict[str, list[weakref.ref[type]]] = defaultdict(list)

    def of(self, modules: Iterable[str], roots: Iterable[type] = _ROOTS) -> list[type]:
        """Those of these modules that are still there."""
        with self._lock:
            for root in roots:
                self._look(root, self._known[root])
            found = [each for name in modules for each in self._by_module.get(name, ())]
        return [kind for each in found if (kind := each()) is not None]

    def _look(self, root: type, known: list[weakref.ref[type]]) -> None:
        defined: list[type] = type.__subclasses__(root)
        while known and known[-1]() is None:
            known.pop()
        if len(known) > 2 * len(defined):  # most of them are gone
            known.clear()
            for of_module in self._by_module.values():
                kinds = [(each, each()) for each in of_module]
                of_module[:] = [each for each, kind in kinds if kind is not None and root not in kind.__bases__]
        last = known[-1]() if known else None
        since = [*itertools.takewhile(lambda kind: kind is not last, reversed(defined))]
        for kind in reversed(since):
            reference = weakref.ref(kind)
            known.append(reference)
            self._by_module[kind.__module__].append(reference)


CLASSES = DefinedClasses()


def classes_around(function: types.FunctionType) -> list[type]:
    """The classes of a function's module and of those that it uses, those inside functions included, as far as they derive
    from `_roots` or from a class that is found."""
    modules = _modules(function)
    spaces = _namespaces(function, modules)
    pending = [kind for kind in CLASSES.of(modules, _roots(spaces)) if not _is_of_another(kind, spaces)]
    for space in spaces:
        members = list(space.values())
        pending += [kind for kind in members if isinstance(kind, type) and kind.__module__ in modules]
    found: dict[int, type] = {}
    while pending:
        kind = pending.pop()
        if id(kind) not in found:
            found[id(kind)] = kind
            more: list[type] = type.__subclasses__(kind)
            pending += [each for each in more if each.__module__ not in modules or not _is_of_another(each, spaces)]
    return list(found.values())


def _namespaces(function: types.FunctionType, modules: Iterable[str]) -> list[dict[str, Any]]:
    """Those of the function, of the functions that it may call by name, and of these modules."""
    values = (function, *function.__globals__.values(), *contents_of_cells(function.__closure__))
    found = [value.__globals__ for value in values if type(value) is types.FunctionType]
    found += [vars(sys.modules[name]) for name in modules if name in sys.modules]
    return list({id(space): space for space in found}.values())


def _roots(spaces: Iterable[dict[str, Any]]) -> list[type]:
    """What the users' classes of these namespaces may derive from."""
    values = [value for space in spaces for value in list(space.values())]
    values += [vars(value).get("Module") for value in values if isinstance(value, types.ModuleType)]
    found = [value for value in values if isinstance(value, type) and value is not type and is_library(value)]
    return list(dict.fromkeys([*_ROOTS, *found]))


def _is_of_another(kind: type, spaces: Iterable[dict[str, Any]]) -> bool:
    """Whether a class is of none of these namespaces, whatever its module is called: of code that ran before under that name."""
    functions = [value for value in vars(kind).values() if type(value) is types.FunctionType]
    own = [value for value in functions if value.__module__ == kind.__module__ and not is_library(value)]
    return bool(own) and not any(value.__globals__ is space for value in own for space in spaces)


def operator_methods(function: types.FunctionType, classes: Iterable[type]) -> frozenset[str]:
    """Names of the special methods and properties of the users' classes around ``function`` that conversion changes.

    Those with control flow, those that write to something, and those that call what may do either.
    """
    if function.__globals__.get("__name__") in sys.stdlib_module_names:
        return SPECIAL  # it meets objects of any class
    members = dict(_members(classes))
    needed = {
        key for key, method in members.items() if _is_cached(key) or _is_changed(method.__code__, key[1] in SPECIAL)
    }
    applied = {key: _applied(method.__code__) for key, method in members.items() if key not in needed} if needed else {}
    found = {name for _, name in needed}
    while more := {key for key, names in applied.items() if names & found}:  # they lead to others
        found |= {name for _, name in more}
        applied = {key: names for key, names in applied.items() if key not in more}
    return frozenset(found)


def writes_unseen(classes: Iterable[type]) -> bool:
    """Whether a class has a special method that writes to something, and that Python calls by itself: to show an object, to
    hash or compare it in a container, to find an attribute."""
    for kind in classes:
        for name, method in vars(kind).items():
            if type(method) is not types.FunctionType or is_library(method):
                continue
            if name.startswith("__") and name.endswith("__") and name not in _CALLED:
                if _may_write(method, kind, frozenset()):
                    return True
    return False


def is_stranger(value: Any, function: types.FunctionType) -> bool:
    """Whether an object's operators, properties or other special methods write, and ``function`` was converted without a
    thought of its class, which is defined in none of the modules around it."""
    kind = type(value)
    if is_library(kind):
        return False
    is_of_name = kind.__module__ == function.__globals__.get("__name__")
    if is_of_name and not _is_of_another(kind, [function.__globals__]):
        return False
    if not _writes_by_itself(kind):
        return False
    modules = _modules(function)
    return kind.__module__ not in modules or _is_of_another(kind, _namespaces(function, modules))


def _writes_by_itself(kind: type) -> bool:
    for base in kind.__mro__:
        for name, method in () if is_library(base) else vars(base).items():
            method = method.fget if isinstance(method, property) else method
            is_special = name.startswith("__") and name.endswith("__") and name not in _CALLED - SPECIAL
            is_implicit = is_special or isinstance(vars(base)[name], property)
            if is_implicit and type(method) is types.FunctionType and _may_write(method, kind, frozenset()):
                return True
    return False


def _may_write(function: types.FunctionType, kind: type, seen: frozenset[types.CodeType]) -> bool:
    """Whether the function, or what it calls by name, writes to anything but its own variables."""
    code = function.__code__
    if code in seen or is_library(function):
        return False
    if _writes(code):
        return True
    scope = dict(zip(code.co_freevars, contents_of_cells(function.__closure__), strict=False))
    for name in {name for part in codes_in(code) for name in (*part.co_names, *part.co_freevars)}:
        for called in (scope.get(name, function.__globals__.get(name)), class_attribute(kind, name)):
            if type(called) is types.FunctionType and _may_write(called, kind, seen | {code}):
                return True
            if name in _MUTATING and class_attribute(kind, name) is None:
                return True
    return False


def _modules(function: types.FunctionType) -> frozenset[str]:
    """The names of the function's module, and of those that its globals and its closure come from."""
    found = {function.__globals__.get("__name__")}
    for value in (*function.__globals__.values(), *contents_of_cells(function.__closure__)):
        kind = type(value)
        if kind is types.FunctionType:
            found.add(value.__module__)
        elif isinstance(value, types.ModuleType):
            found.add(value.__name__)
        else:
            found.add(value.__module__ if isinstance(value, type) else kind.__module__)
    return frozenset(
        name for name in found if isinstance(name, str) and not is_library(types.SimpleNamespace(__module__=name))
    )


def _members(classes: Iterable[type]) -> Iterator[tuple[tuple[type, str], types.FunctionType]]:
    for kind in classes:
        for name, value in vars(kind).items():
            if isinstance(value, property):
                value = value.fget
            elif isinstance(value, functools.cached_property):
                value = value.func
            elif type(value) is not types.FunctionType:
                value = class_attribute(type(value), "__get__")  # of a descriptor
            elif name not in SPECIAL and name != "__getattr__":
                continue
            if type(value) is types.FunctionType and not is_library(value):
                yield (kind, name), value


def _is_cached(key: tuple[type, str]) -> bool:
    return isinstance(vars(key[0]).get(key[1]), functools.cached_property)


@functools.lru_cache(4096)
def _is_changed(code: types.CodeType, is_operator: bool) -> bool:
    """Whether conversion changes the meaning of the code."""
    if _writes(code) or any(not (_BRANCHES | _CALLS).isdisjoint(part.co_code[::2]) for part in codes_in(code)):
        return True
    instructions = (each for part in codes_in(code) for each in dis.get_instructions(part))
    return not is_operator and any(not _READS.isdisjoint((each.opname, each.argrepr)) for each in instructions)


@functools.lru_cache(4096)
def _writes(code: types.CodeType) -> bool:
    """Whether the code itself writes to anything but its own variables."""
    for part in codes_in(code):
        operations = part.co_code[::2]
        if not _WRITES.isdisjoint(operations):
            return True
        if augments(part):
            return True
        if part.co_freevars and not _SHARED.isdisjoint(operations):
            stores = (each.argval for each in dis.get_instructions(part) if each.opcode in _SHARED)
            if any(name in part.co_freevars for name in stores):
                return True
    return False


def _applied(code: types.CodeType) -> set[str]:
    """The names of special methods and of attributes that this code's operators and reads may lead to."""
    found: set[str] = set()
    for part in codes_in(code):
        found.update(part.co_names)
        for instruction in dis.get_instructions(part):
            symbol = instruction.argrepr.removeprefix("bool(").removesuffix(")")
            found |= _APPLIED.get(symbol, frozenset()) if instruction.opname in ("BINARY_OP", "COMPARE_OP") else set()
            found |= _APPLIED.get(instruction.opname, frozenset())
    return found
