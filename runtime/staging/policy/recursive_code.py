"""Find functions that may call themselves, from the names in their code."""

from __future__ import annotations

import contextlib
import dis
import functools
import graphlib
import types
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from autograph.runtime.code.code_names import OPERATORS, codes_in
from autograph.runtime.code.library_table import is_library
from autograph.runtime.layouts.optional import possible_values
from autograph.runtime.tracing.locations import is_block, is_internal

Place = tuple[types.CodeType, int, str]
Written = Callable[[types.CodeType], types.CodeType]
_LOOKED_AT = 1000  # functions


class CallGraph:
    """Which functions may call themselves in one trace.

    What a search finds of the functions that it meets is kept, so that all the functions of a program together take one.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[Place, type], tuple[types.FunctionType, set[types.FunctionType]]] = {}

    def may_call_itself(self, function: types.FunctionType, owner: Any, written: Written = lambda code: code) -> bool:
        """Whether the names in a function, and in the functions of the user's that these lead to, lead back to it.

        Args:
          written: the code that the user wrote from that which it has been rewritten to.
        """
        place_of = _Places(written)
        known = self._known.get((place_of(function), type(owner)))
        if known is not None:
            met, functions = known
            if _closes_over_same(function, met) and _functions(_called(met, owner)) == functions:
                return False
        found = _search(function, owner, place_of)
        if found is None:
            return True
        self._known |= {(place_of(met), type(owner)): (met, functions) for met, functions in found}
        return False


class _Places:
    """What a function has in common with its converted form, and with no other: its code, as written, and its globals."""

    def __init__(self, written: Written) -> None:
        self._written = written

    def __call__(self, function: types.FunctionType) -> Place:
        return self._written(function.__code__), id(function.__globals__), function.__code__.co_name


def _search(
    function: types.FunctionType, owner: Any, place_of: _Places
) -> list[tuple[types.FunctionType, set[types.FunctionType]]] | None:
    """The functions met that do not call themselves, with those that their names lead to; None if this one may."""
    # A function that defines another of its name means that one by it.
    wanted, sought = None if _defines(function, function.__name__) else function.__name__, place_of(function)
    met: dict[Place, tuple[types.FunctionType, set[types.FunctionType]]] = {}
    named: defaultdict[str, set[Place | None]] = defaultdict(set)
    pending = [function]
    while pending and len(met) < _LOOKED_AT:
        each = pending.pop()
        if place_of(each) in met:
            continue
        if wanted == "__call__" and _calls_first_argument(each.__code__):
            return None
        called = _called(each, owner)
        for name, found in called:
            # A decorator may have put another function in its place, of its name.
            if name == wanted and (found is None or found.__qualname__ == function.__qualname__):
                return None
            if found is not None and place_of(found) == sought:
                return None
            named[name].add(None if found is None else place_of(found))
        functions = _functions(called)
        met[place_of(each)] = each, functions
        pending += functions
    if pending:
        return []
    edges = {place: set(map(place_of, functions)) for place, (_, functions) in met.items()}
    apart = _without_cycle(edges) | _without_cycle(_reversed(edges))
    # A name that leads elsewhere as well may represent the function under a decorator.
    return [met[place] for place in apart if place[2] != "__call__" and named[place[2]] <= {place}]


def _defines(function: types.FunctionType, name: str) -> bool:
    """Whether a function of this name is defined in a function, and no argument of it has the name."""
    code = function.__code__
    arguments = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return name not in arguments and any(
        inner.co_name == name for inner in codes_in(code) if inner is not code and not is_block(inner)
    )


def _without_cycle(edges: Mapping[Place, set[Place]]) -> set[Place]:
    """The nodes from which no cycle can be reached."""
    sorter = graphlib.TopologicalSorter(edges)
    with contextlib.suppress(graphlib.CycleError):  # all that is before the cycles can be had nevertheless
        sorter.prepare()
    found: set[Place] = set()
    while sorter.is_active():
        ready = sorter.get_ready()
        found.update(ready)
        sorter.done(*ready)
    return found


def _reversed(edges: Mapping[Place, set[Place]]) -> dict[Place, set[Place]]:
    found: dict[Place, set[Place]] = {place: set() for place in edges}
    for place, others in edges.items():
        for other in others:
            found[other].add(place)
    return found


def _called(function: types.FunctionType, owner: Any) -> list[tuple[str, types.FunctionType | None]]:
    """The names that a function looks up, each with every function of the user's that it may lead to, if it does."""
    variables, attributes = _names(function.__code__)
    values = [(name, _variable(function, name)) for name in variables]
    values += [(name, getattr(type(owner), name, None)) for name in attributes]
    return [(name, found) for name, value in values for found in (functions_in(value) or (None,))]


def _functions(called: Iterable[tuple[str, types.FunctionType | None]]) -> set[types.FunctionType]:
    return {found for _, found in called if found is not None and not is_library(found)}


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
                of = _last(before.argval)
                if of in owner or not (before.opname.startswith("LOAD_FAST") or of == OPERATORS):
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


def _closes_over_same(one: types.FunctionType, other: types.FunctionType) -> bool:
    """Whether a function and its converted form have the variables around them in common."""
    cells = dict(cells_of(one))
    return all(cells.get(name) is cell for name, cell in cells_of(other))


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


def functions_in(value: Any) -> list[types.FunctionType]:
    """The functions of the user's that a value may run: each of those that it is one of."""
    return [found for each in possible_values(value) if (found := function_in(each)) is not None]


def function_in(value: Any) -> types.FunctionType | None:
    """The function of the user's that a value runs, if it does."""
    if is_internal_class(type(value)) and hasattr(type(value), "python_function"):
        value = value.python_function
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


def cells_around(function: types.FunctionType) -> set[int]:
    """The identities of the variables around a function, and around the functions that these hold."""
    found: set[int] = set()
    pending = [function]
    while pending:
        for _, cell in cells_of(pending.pop()):
            if id(cell) not in found:
                found.add(id(cell))
                with contextlib.suppress(ValueError):  # it holds nothing yet
                    pending += functions_in(cell.cell_contents)
    return found
