"""Find what values refer to, and what code can reach."""

from __future__ import annotations

import collections
import contextlib
import contextvars
import dis
import functools
import itertools
import sys
import threading
import types
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

import jax
import numpy as np

from autograph.runtime.code.code_names import codes_in, names_in
from autograph.runtime.code.library_table import TABLE, is_library, is_library_name
from autograph.runtime.containers.padded import Padded
from autograph.runtime.containers.referring_kinds import constants_of
from autograph.runtime.heap.object_graph import VIEWS, in_pytree, within_iterator
from autograph.runtime.heap.places import MUTABLE_CONTAINERS as _CONTAINERS
from autograph.runtime.heap.reach import FUNCTIONS_IN, own_namespace, slots_held
from autograph.runtime.layouts.one_of import OneOf, candidates_of
from autograph.runtime.layouts.references import is_reference
from autograph.runtime.layouts.statement_variables import contents_of_cells

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
        "_thread",
    ]
)
# Of these, objects without attributes hold nothing of the user's, but for those that are looked into.
_WITHOUT_DATA = frozenset(
    [
        *("builtins", "types", "typing", "_thread", "functools", "operator", "itertools", "collections", "weakref"),
        *("re", "datetime", "decimal", "fractions", "random", "_random", "io", "_io", "abc", "_abc", "enum"),
        *("jax", "jaxlib", "numpy", "ml_dtypes"),
    ]
)
_ARRAYS_AND_TEXTS = (jax.Array, np.ndarray, np.generic, str, bytes, int, float, complex, types.CodeType)
_NO_DATA = (*_ARRAYS_AND_TEXTS, type, types.ModuleType)
_IMPORT_NAME = dis.opmap["IMPORT_NAME"]


class TooFar(Exception):
    """There is more to search than can be searched."""


class Search:
    """Looks for objects, by their identity, in what values lead to.

    Args:
      parts: what an object leads to.
      closed: the classes of objects that lead to nothing.

    Attributes: found (the objects met, by their identities).
    """

    def __init__(
        self,
        wanted: Collection[int],
        at_most: int,
        parts: Callable[[Any], Iterable[Any]] | None = None,
        closed: tuple[type, ...] = _NO_DATA,
    ) -> None:
        self.wanted = wanted
        self.at_most = at_most
        self._parts = parts or parts_held
        self._closed = closed
        self.found: dict[int, Any] = {}
        self._seen: set[int] = set()

    def follow(self, roots: Iterable[Any]) -> None:
        """Search from these values.

        Raises:
          TooFar: not all could be searched.
        """
        pending = collections.deque(roots)
        while pending and len(self.found) < len(self.wanted):
            value = pending.popleft()
            if type(value) in _NUMBERS or id(value) in self._seen or isinstance(value, self._closed):
                continue
            self._seen.add(id(value))
            if len(self._seen) > self.at_most:
                raise TooFar
            if id(value) in self.wanted:
                self.found[id(value)] = value
            parts = itertools.islice(self._parts(value), self.at_most)
            pending.extend(part for part in parts if type(part) not in _NUMBERS)


def reached(wanted: Collection[int], values: Iterable[Any]) -> dict[int, Any]:
    """Those of the objects that the values lead to, by their identity."""
    search = Search(wanted, _AT_MOST_REACHED)
    with contextlib.suppress(TooFar):
        search.follow(values)
    return search.found


def within_reach(wanted: Collection[int], roots: Iterable[Any]) -> Collection[int]:
    """Those of the objects that code can reach from values and functions; all, where that is too much to search."""
    search = Search(wanted, _AT_MOST, _parts_in_reach, _ARRAYS_AND_TEXTS)
    try:
        search.follow(roots)
    except TooFar:
        return wanted
    return search.found.keys()


def there_before(owners: Iterable[Any], made: Collection[int], roots: Iterable[Any]) -> set[int]:
    """The identities of the owners of places that were there before a block that has written these.

    Of references the block knows those that it has made: others may be the elements of what a loop is over, which nothing else leads to.

    Args:
      made: the identities of what the block has made. roots: what leads to all else that was there, if the block can reach it.
    """
    known = {id(owner): owner for owner in owners if owner is not None}
    found = {key for key, owner in known.items() if is_reference(owner) and key not in made}
    wanted = known.keys() - found
    return found.union(within_reach(wanted, roots)) if wanted else found


def references_beyond(values: Iterable[Any], known: Collection[int], roots: Iterable[Any]) -> list[Any]:
    """The references among values that are neither known, by identity, nor within reach from these: the block that ended made them."""
    found = {id(value): value for value in values if is_reference(value) and id(value) not in known}
    reach = within_reach(found.keys(), roots) if found else ()
    return [value for key, value in found.items() if key not in reach]


def _parts_in_reach(value: Any) -> Iterable[Any]:
    """`parts_held`, what classes and modules hold, and the variables around functions."""
    kind = type(value)  # what a proxy says that it is, in `__class__`, it is not
    if issubclass(kind, types.ModuleType):
        held = [part for name, part in list(vars(value).items()) if not name.startswith("__")]
        return held if not is_library_name(value.__name__) else [part for part in held if isinstance(part, _CONTAINERS)]
    if issubclass(kind, type):
        return () if is_library(value) else [*vars(value).values(), *value.__bases__]
    if kind is types.FunctionType and not is_library(value):
        modules = (sys.modules.get(name) for name in _imported_by(value.__code__))
        variables = value.__closure__ or ()
        return [*variables, *parts_held(value), *(module for module in modules if module is not None)]
    held = list(parts_held(value))
    if not is_library(kind):
        return [*held, kind]
    if held or kind in FUNCTIONS_IN or TABLE.of(kind).pure:
        return held
    return attributes_held(value) or _seen_through(value)


def _seen_through(value: Any) -> tuple[Any, ...]:
    """Nothing, which an object of a library's holds.

    Raises:
      TooFar: nobody can say.
    """
    if type(value).__module__.partition(".")[0] not in _WITHOUT_DATA:
        raise TooFar
    return ()


def parts_held(value: Any) -> Iterable[Any]:
    """What an object refers to, as far as it is the user's data."""
    if value.__class__ is not type(value):  # it says the class of what it stands for, whose attributes it has not
        return attributes_held(value)
    if isinstance(value, list):
        return [*list.__iter__(value), *attributes_held(value)]
    if isinstance(value, tuple | set | frozenset | collections.deque):
        return [*value, *attributes_held(value)]
    if isinstance(value, dict):
        return [*value, *value.values(), *attributes_held(value)]
    if isinstance(value, types.MappingProxyType):
        return value.values()
    if isinstance(value, VIEWS):
        return (value.mapping,)
    if isinstance(value, Iterator) and type(value).__module__ in ("builtins", "itertools"):
        return _parts_of_iterator(value)
    if isinstance(value, weakref.ref):
        return (value(),)
    if isinstance(value, contextvars.ContextVar):
        with contextlib.suppress(LookupError):
            return (value.get(),)
        return ()
    if isinstance(value, types.FunctionType):
        return _held_by_function(value)
    if isinstance(value, types.BuiltinFunctionType):
        return () if isinstance(value.__self__, types.ModuleType) else (value.__self__,)
    if isinstance(value, types.CellType):
        return contents_of_cells((value,))
    if isinstance(value, types.CoroutineType):
        return within_iterator(value)
    kind = type(value)
    if kind is OneOf:
        return candidates_of(value)
    if kind is Padded:
        return [*in_pytree(value), *constants_of(value.kind)]
    if kind in FUNCTIONS_IN:
        return [getattr(value, name) for name in FUNCTIONS_IN[kind]]
    inner = getattr(value, "__wrapped__", None) if is_library(kind) and callable(value) else None
    if inner is not None:
        return (inner,)
    if getattr(kind, "__module__", None) in _DATA_MODULES or not is_library(kind):
        return attributes_held(value)
    return in_pytree(value)


def _parts_of_iterator(value: Any) -> Iterable[Any]:
    if isinstance(value, itertools.count):
        return ()
    if type(value).__module__ == "itertools":
        raise TooFar  # nothing says what it holds
    return within_iterator(value)


def attributes_held(value: Any) -> list[Any]:
    """What the attributes of an object hold, those in slots as well, whatever its class makes of reading them."""
    namespace = vars(value) if isinstance(value, threading.local) else own_namespace(value)
    return [*([] if namespace is None else [namespace]), *slots_held(value).values()]


def _held_by_function(function: types.FunctionType) -> Iterator[Any]:
    yield from contents_of_cells(function.__closure__)
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()
    if is_library(function):
        if "__wrapped__" in function.__dict__:
            yield function.__dict__["__wrapped__"]
    else:
        yield from function.__dict__.values()
        yield from (function.__globals__[name] for name in names_in(function.__code__) if name in function.__globals__)


@functools.lru_cache(512)
def _imported_by(code: types.CodeType) -> frozenset[str]:
    # Few functions import, and to list instructions is slow. Where no byte is this operation there is none.
    importing = (part for part in codes_in(code) if _IMPORT_NAME in part.co_code[::2])
    instructions = (each for part in importing for each in dis.get_instructions(part))
    return frozenset(each.argval for each in instructions if each.opname == "IMPORT_NAME")
