"""The Python values that a traced function reads from outside: when one changes, the function is traced
again.

Looked at are the globals and closure variables that the function reads, and that the user's functions it
calls read in turn; of a method, the attributes of its instance as well. Of these, Python scalars, short
lists, tuples, sets and dicts of them, functions, arrays and datasets are *guarded*: the identity of each is compared
at every call (some 25 to 40 ns each), a container's content too. What the code itself assigns is left alone, for
the trace changes it. Other objects, and their attributes, are not looked into.
"""

from __future__ import annotations

import contextlib
import dis
import functools
import threading
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from autograph.runtime.dataset import Dataset
from autograph.runtime.generated import identity_check
from autograph.runtime.operators.library_table import is_library
from autograph.runtime.recording import LOCAL
from autograph.runtime.static_values import static_leaf

_SCALARS = (bool, int, float, complex, str, bytes, type(None))
_CONTAINERS = (list, tuple, set, frozenset, dict)
_DATA = (jax.Array, np.ndarray, np.generic, Dataset)
_LONGEST = 64  # a longer container is data, and comparing it at every call would be felt
_MISSING = object()

Instance = Callable[[], Any]
Namespace = dict[str, Any] | Callable[[], dict[str, Any]]


class Captures:
    """What one function reads from outside, as it was when last looked at.

    Attributes:
      labels: what each guarded value is called.
      key: what they are told apart by; equal for values that need no new trace.
      values: the values themselves, in the order of the labels.
    """

    def __init__(self, function: Callable[..., Any], instance: Instance | None) -> None:
        self._function = function
        self._instance = instance
        self._tracing = threading.Condition()
        self._tracers: list[int] = []  # the threads that trace the function now
        self._written: dict[int, Any] = {}
        self.refresh()

    @contextlib.contextmanager
    def being_traced(self) -> Iterator[None]:
        """While the function is traced, by this thread: what the trace itself changes it also `refresh`es."""
        with self._tracing:
            self._tracers.append(threading.get_ident())
        outer, LOCAL.written = LOCAL.written, {}
        try:
            yield
        finally:
            outer |= LOCAL.written
            LOCAL.written = outer
            with self._tracing:
                self._tracers.remove(threading.get_ident())
                self._tracing.notify_all()

    def leave_out(self, containers: dict[int, Any]) -> None:
        """Guard these no longer: programs write them (`Feature.LISTS`)."""
        if containers:
            self._written |= containers
            self.refresh()

    def wait_for_traces(self) -> None:
        """Wait until no other thread traces the function; not if this one does, which it would wait for."""
        with self._tracing:
            self._tracing.wait_for(lambda: not self._tracers or threading.get_ident() in self._tracers)

    def refresh(self) -> Any:
        """Look again at everything, and return the key."""
        sources = _Sources(self._instance)
        sources.add(self._function)
        namespaces = [(names, namespace) for names, namespace in sources.guarded(self._written) if names]
        cells = [
            (cell, name)
            for key, (cell, name) in sources.cells.items()
            if key not in sources.stored_cells
            and _is_guarded(_content(cell))
            and id(_content(cell)) not in self._written
        ]
        environment: dict[str, Any] = {}
        reads: list[tuple[str, Any]] = []
        for number, (names, namespace) in enumerate(namespaces):
            environment[f"namespace{number}"] = namespace
            # An instance's attributes are asked for each time: holding them might keep it alive.
            source, now = (
                (f"namespace{number}", namespace)
                if isinstance(namespace, dict)
                else (f"namespace{number}()", namespace())
            )
            reads += [(f"{source}[{name!r}]", now[name]) for name in names]
        for number, (cell, _) in enumerate(cells):
            environment[f"cell{number}"] = cell
            reads.append((f"cell{number}.cell_contents", cell.cell_contents))
        self._replaced = identity_check(reads, environment)
        names = [name for names, _ in namespaces for name in names] + [name for _, name in cells]
        values = [value for _, value in reads]
        self._contents = [(value, _content_of(value)) for value in values if type(value) in (list, set, dict)]
        # What is compared at every call: True if any guarded value is another object than it was, or has
        # other content.
        self.changed = self._other_content if self._contents else self._replaced
        self.labels, self.values = names, [_copied(value) for value in values]
        self.key = tuple(_key(value) for value in values)
        return self.key

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing that could change."""
        return not self.labels

    def _other_content(self) -> bool:
        return self._replaced() or any(_content_of(value) != content for value, content in self._contents)


class _Sources:
    """Collects where a function, and those it calls, read names from."""

    def __init__(self, instance: Instance | None) -> None:
        self.instance = instance
        self.globals: dict[int, tuple[dict[str, Any], set[str], set[str]]] = {}
        self.cells: dict[int, tuple[types.CellType, str]] = {}
        self.attributes: set[str] = set()
        self.stored_cells: set[int] = set()
        self.stored_attributes: set[str] = set()
        self._seen: set[types.CodeType] = set()

    def add(self, function: Any) -> None:
        for plain in _user_functions(function):
            if plain.__code__ in self._seen:
                continue
            self._seen.add(plain.__code__)
            names = _names(plain.__code__)
            self._add_globals(plain.__globals__, names)
            self._add_cells(plain, names)
            self._add_methods(names)

    def guarded(self, written: dict[int, Any]) -> Iterator[tuple[list[str], Namespace]]:
        """Names whose values are guarded, by the namespace that they are looked up in."""
        for namespace, reads, stored in self.globals.values():
            kept = sorted(n for n in reads - stored if _is_guarded(namespace[n]) and id(namespace[n]) not in written)
            yield kept, namespace
        attributes = _attributes(self.instance)
        kept = sorted(
            n
            for n in self.attributes - self.stored_attributes
            # A function among an instance's attributes may hold the instance, which must stay free to go.
            if _is_guarded(value := attributes.get(n, _MISSING)) and not callable(value)
        )
        yield kept, functools.partial(_attributes, self.instance)

    def _add_globals(self, namespace: dict[str, Any], names: _Names) -> None:
        present = {name for name in names.globals_read if name in namespace}
        _, reads, stored = self.globals.setdefault(id(namespace), (namespace, set(), set()))
        reads |= present
        stored |= names.globals_stored
        for name in present:
            self.add(namespace[name])

    def _add_cells(self, function: types.FunctionType, names: _Names) -> None:
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            if name in names.free_stored:
                self.stored_cells.add(id(cell))
            elif name in names.free_read:
                self.cells[id(cell)] = cell, name
                self.add(_content(cell))

    def _add_methods(self, names: _Names) -> None:
        self.attributes |= names.attributes_read
        self.stored_attributes |= names.attributes_stored
        if self.instance is None:
            return
        for name in names.attributes_read:
            self.add(getattr(type(self.instance()), name, None))


def _user_functions(value: Any) -> Iterator[types.FunctionType]:
    """The functions of the user's that calling this object runs."""
    for _ in range(16):  # a chain of wrappers, which might be a ring
        if isinstance(value, types.FunctionType) and not is_library(value):
            yield value
        elif isinstance(value, types.MethodType):
            value = value.__func__
            continue
        elif isinstance(value, functools.partial):
            value = value.func
            continue
        elif not callable(value) or isinstance(value, type | jax.Array):
            return
        elif not hasattr(value, "__wrapped__") and not is_library(value):
            value = getattr(type(value), "__call__", None)  # noqa: B004  the function itself is wanted
            continue
        value = getattr(value, "__dict__", {}).get("__wrapped__")


@dataclass(frozen=True)
class _Names:
    """The names that a piece of code takes from outside, by where from and whether it assigns them."""

    globals_read: frozenset[str]
    globals_stored: frozenset[str]
    free_read: frozenset[str]
    free_stored: frozenset[str]
    attributes_read: frozenset[str]
    attributes_stored: frozenset[str]


_OPERATIONS = {
    "globals_read": ("LOAD_GLOBAL", "LOAD_NAME"),
    "globals_stored": ("STORE_GLOBAL", "DELETE_GLOBAL"),
    "free_read": ("LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF"),
    "free_stored": ("STORE_DEREF", "DELETE_DEREF"),
    "attributes_read": ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR"),
    "attributes_stored": ("STORE_ATTR", "DELETE_ATTR"),
}


@functools.lru_cache(maxsize=1024)
def _names(code: types.CodeType) -> _Names:
    found: dict[str, set[str]] = {
        kind: {i.argval for i in dis.get_instructions(code) if i.opname in operations}
        for kind, operations in _OPERATIONS.items()
    }
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            inner = _names(constant)
            for kind, names in found.items():
                names |= getattr(inner, kind)
    for kind in (
        "free_read",
        "free_stored",
    ):  # what is local to the function, or to one within it, is not from outside
        found[kind] &= set(code.co_freevars)
    return _Names(**{kind: frozenset(names) for kind, names in found.items()})


def _attributes(instance: Instance | None) -> dict[str, Any]:
    return getattr(instance(), "__dict__", {}) if instance is not None else {}


def _content(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return _MISSING


def _is_guarded(value: Any) -> bool:
    if type(value) in _SCALARS:
        return True
    if type(value) in _CONTAINERS:
        items = [*value.keys(), *value.values()] if isinstance(value, dict) else value
        return len(items) <= _LONGEST and all(type(item) in _SCALARS for item in items)
    if isinstance(value, types.FunctionType):
        return not is_library(value)
    return isinstance(value, _DATA) and not isinstance(value, jax.core.Tracer)


def _copied(value: Any) -> Any:
    """A container as it is now, for what it was to be known when it has changed."""
    return type(value)(value) if type(value) in (list, set, dict) else value


def _content_of(value: Any) -> Any:
    items = [*value.keys(), *value.values()] if isinstance(value, dict) else list(value)
    return items, list(map(type, items))


def _key(value: Any) -> Any:
    if isinstance(value, dict):
        return dict, tuple((_key(k), _key(v)) for k, v in value.items())
    if type(value) in (list, tuple):
        return type(value), tuple(map(_key, value))
    return static_leaf(value).key
