"""`Reach`: what a block's code can reach and may write without a report, compared with itself when the block has run.

Converted code reports its writes to the `Journal`. Library code, ``with`` statements on a user's objects, descriptors and
``setattr`` do not.
"""

from __future__ import annotations

import collections
import functools
import types
from collections.abc import Iterable, Iterator
from typing import Any

import jax
import numpy as np

from autograph.runtime.errors import StagingError
from autograph.runtime.operators.libraries import is_library
from autograph.runtime.operators.locations import user_location
from autograph.runtime.operators.state import contents_of_cells, has_contents

CONTAINERS = (list, dict, set, collections.deque, bytearray)
_DEPTH = 3
_AT_MOST = 200
_LONG = 64
_LARGE = 1 << 20
_WALKED = frozenset(["collections", "types", "weakref", "argparse"])  # libraries whose objects are the user's data


class Reach:
    """The contents of containers and the attributes of objects that functions' variables lead to, as they are now."""

    def __init__(self, values: Iterable[Any]) -> None:
        self._containers: list[tuple[Any, Any]] = []
        self._objects: list[tuple[Any, dict[str, Any]]] = []
        self._arrays: list[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]] = []
        self._seen: set[int] = set()
        for value in values:
            self._walk(value, _DEPTH)

    def _walk(self, value: Any, depth: int) -> None:
        if id(value) in self._seen or depth == 0 or len(self._seen) > _AT_MOST or isinstance(value, jax.Array | type):
            return
        if isinstance(value, np.ndarray):
            if value.nbytes <= _LARGE and value.dtype != object:
                self._seen.add(id(value))
                self._arrays.append((value, value.copy()))
            return
        if isinstance(value, memoryview):
            self._walk(value.obj, depth)
            return
        if isinstance(value, types.FunctionType):
            if value.__dict__.get("__autograph_do_not_convert__"):
                return  # its user has asked that it takes effect while tracing
            self._seen.add(id(value))
            for part in (*contents_of_cells(value.__closure__), *(value.__defaults__ or ())):
                self._walk(part, depth - 1)
            return
        if isinstance(value, tuple):
            for part in value[:_LONG]:
                self._walk(part, depth)
            return
        if isinstance(value, CONTAINERS):
            self._seen.add(id(value))
            held = contents(value)
            self._containers.append((value, held))
            parts = tuple(held.values()) if isinstance(held, dict) else held
            if isinstance(parts, tuple) and len(parts) <= _LONG and not isinstance(value, bytearray):
                for part in parts:
                    self._walk(part, depth - 1)
        attributes = getattr(value, "__dict__", None)
        if type(attributes) is dict and _is_data(value):
            self._seen.add(id(value))
            self._objects.append((value, dict(attributes)))
            for part in list(attributes.values())[:_LONG]:
                self._walk(part, depth - 1)

    def containers(self) -> Iterator[tuple[Any, Any]]:
        """Containers, and what they held."""
        yield from self._containers

    def changed_attributes(self) -> Iterator[tuple[Any, str, Any, bool]]:
        """Attributes that hold something else than before: object, name, what it held, whether it held anything."""
        for owner, old in self._objects:
            now = vars(owner)
            for name in [*old, *(name for name in now if name not in old)]:
                if now.get(name, _NOTHING) is not old.get(name, _NOTHING):
                    yield owner, name, old.get(name), name in old

    def check_arrays(self) -> None:
        """`StagingError` if a NumPy array was written in place; it gets back what it held."""
        for array, old in self._arrays:
            if not np.array_equal(array, old, equal_nan=array.dtype.kind in "fc"):
                array[...] = old
                raise StagingError(
                    f"{user_location()}\n  A NumPy array is written in place inside this staged statement, which would happen "
                    "once, while tracing.\n  Make it a JAX array (jnp.asarray) and assign what the operation gives, or "
                    "write to its items: x[i] = v."
                )


_NOTHING = object()


def contents(owner: Any) -> Any:
    """A copy of what a container holds: a tuple for sequences and sets, a dict for mappings, ordered if that is;
    what a `TracedList` calls its contents.
    """
    if has_contents(owner):
        return owner.contents()
    if isinstance(owner, collections.OrderedDict):
        return collections.OrderedDict(owner)
    return dict(owner) if isinstance(owner, dict) else tuple(owner)


def is_cache(owner: Any, name: str) -> bool:
    """Whether the attribute is where a `functools.cached_property` keeps its value."""
    return isinstance(getattr(type(owner), name, None), functools.cached_property)


def _is_data(value: Any) -> bool:
    """Whether this is an object of a user's class, or of a library's class for users' data."""
    if isinstance(value, types.ModuleType | types.MethodType):
        return False
    module = getattr(type(value), "__module__", "")
    return not is_library(type(value)) or str(module).partition(".")[0] in _WALKED
