"""Which methods that Python calls by itself (operators', properties') users' classes have that conversion changes.

Calls of these stand nowhere in the program, so the expressions that lead to them have to become operator calls. That is
done where such a class can be expected, and nowhere else: in a function whose module, or a module that it uses, has one.
"""

from __future__ import annotations

import dis
import functools
import sys
import types
from collections.abc import Iterable, Iterator

from autograph.runtime.operators.library_table import is_library
from autograph.runtime.operators.operations import class_attribute
from autograph.runtime.operators.state import contents_of_cells

_BINARY = {"+": "add", "-": "sub", "*": "mul", "@": "matmul", "/": "truediv", "//": "floordiv", "%": "mod", "**": "pow"}
_BINARY |= {"<<": "lshift", ">>": "rshift", "&": "and", "|": "or", "^": "xor"}
_COMPARISONS = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne"}
_APPLIED = {symbol: {f"__{name}__", f"__r{name}__"} for symbol, name in _BINARY.items()}
_APPLIED |= {f"{symbol}=": {*_APPLIED[symbol], f"__i{name}__"} for symbol, name in _BINARY.items()}
_APPLIED |= {symbol: {f"__{name}__" for name in _COMPARISONS.values()} for symbol in _COMPARISONS}
_APPLIED |= {
    "UNARY_NEGATIVE": {"__neg__"},
    "UNARY_INVERT": {"__invert__"},
    "[]": {"__getitem__"},
    "BINARY_SUBSCR": {"__getitem__"},
}
SPECIAL = frozenset(name for names in _APPLIED.values() for name in names) | {"__pos__", "__abs__"}
_TOLD = ("JUMP", "CALL", "STORE_ATTR", "STORE_SUBSCR", "STORE_SLICE", "STORE_GLOBAL", "DELETE_ATTR", "DELETE_SUBSCR")
_CONVERTED = frozenset(
    code
    for name, code in dis.opmap.items()
    if any(part in name for part in _TOLD) or name in ("FOR_ITER", "UNARY_NOT", "CONTAINS_OP", "DELETE_GLOBAL")
)


def operator_methods(function: types.FunctionType) -> frozenset[str]:
    """Names of the special methods and properties of the users' classes around ``function`` that conversion changes.

    Those with control flow, those that write to something, and those that call what may do either.
    """
    if function.__globals__.get("__name__") in sys.stdlib_module_names:
        return SPECIAL  # it meets objects of any class
    members = dict(_members(_classes(_modules(function))))
    needed = {key for key, method in members.items() if _is_cached(key) or _is_changed(method.__code__)}
    applied = {key: _applied(method.__code__) for key, method in members.items() if key not in needed} if needed else {}
    found = {name for _, name in needed}
    while more := {key for key, names in applied.items() if names & found}:  # they lead to others
        found |= {name for _, name in more}
        applied = {key: names for key, names in applied.items() if key not in more}
    return frozenset(found)


def _modules(function: types.FunctionType) -> frozenset[str]:
    """The names of the function's module, and of those that its globals and its closure come from."""
    found = {function.__globals__.get("__name__")}
    for value in (*function.__globals__.values(), *contents_of_cells(function.__closure__)):
        if isinstance(value, types.ModuleType):
            found.add(value.__name__)
        else:
            kind = value if isinstance(value, type | types.FunctionType) else type(value)
            found.add(kind.__module__)
    return frozenset(
        name for name in found if isinstance(name, str) and not is_library(types.SimpleNamespace(__module__=name))
    )


def _classes(modules: frozenset[str]) -> Iterator[type]:
    """The classes defined in these modules, those inside functions included, as far as they derive from `object` or from
    a class that is found."""
    pending = [kind for kind in type.__subclasses__(object) if kind.__module__ in modules]
    for name in modules:
        members = list(vars(sys.modules.get(name, types)).values()) if name in sys.modules else []
        pending += [kind for kind in members if isinstance(kind, type) and kind.__module__ in modules]
    seen = set()
    while pending:
        kind = pending.pop()
        if id(kind) not in seen:
            seen.add(id(kind))
            pending += type.__subclasses__(kind)
            yield kind


def _members(classes: Iterable[type]) -> Iterator[tuple[tuple[type, str], types.FunctionType]]:
    for kind in classes:
        for name, value in vars(kind).items():
            if isinstance(value, property):
                value = value.fget
            elif isinstance(value, functools.cached_property):
                value = value.func
            elif type(value) is not types.FunctionType:
                value = class_attribute(type(value), "__get__")  # of a descriptor
            elif name not in SPECIAL:
                continue
            if type(value) is types.FunctionType and not is_library(value):
                yield (kind, name), value


def _is_cached(key: tuple[type, str]) -> bool:
    return isinstance(vars(key[0]).get(key[1]), functools.cached_property)


def _is_changed(code: types.CodeType) -> bool:
    """Whether conversion gives the code another meaning."""
    for part in _codes(code):
        if not _CONVERTED.isdisjoint(part.co_code[::2]):
            return True
        for instruction in dis.get_instructions(part):
            is_shared = instruction.opname in ("STORE_DEREF", "DELETE_DEREF") and instruction.argval in part.co_freevars
            if is_shared or (instruction.opname == "BINARY_OP" and instruction.argrepr.endswith("=")):
                return True
    return False


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _applied(code: types.CodeType) -> set[str]:
    """The names of special methods and of attributes that this code's operators and reads may lead to."""
    found: set[str] = set()
    for part in _codes(code):
        found.update(part.co_names)
        for instruction in dis.get_instructions(part):
            symbol = instruction.argrepr.removeprefix("bool(").removesuffix(")")
            found |= _APPLIED.get(symbol, set()) if instruction.opname in ("BINARY_OP", "COMPARE_OP") else set()
            found |= _APPLIED.get(instruction.opname, set())
    return found
