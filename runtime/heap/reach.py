"""`Reach`: the objects that unconverted code can reach, compared before and after a call to find its writes.

Converted code reports its writes to the `Journal`. Library code, functions that are not converted, descriptors and
what else Python calls by itself do not.
"""

from __future__ import annotations

import dis
import functools
import hashlib
import types
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, NoReturn

import jax
import numpy as np

from autograph.runtime.code.code_names import OPERATORS, codes_in, names_in
from autograph.runtime.code.library_table import is_library
from autograph.runtime.errors import StagingError
from autograph.runtime.heap.places import MUTABLE_CONTAINERS, AttributePlace, ContentsPlace, Place, contents
from autograph.runtime.layouts.objects import error_attributes
from autograph.runtime.layouts.one_of import OneOf, candidates_of
from autograph.runtime.layouts.statement_variables import (
    UNBOUND,
    CellVariable,
    GlobalVariable,
    contents_of_cells,
    has_contents,
)
from autograph.runtime.tracing.locations import user_location
from autograph.runtime.tracing.recording import hold_arrays

__all__ = ["CONTAINERS", "Reach", "TooMuch", "contents"]

CONTAINERS = MUTABLE_CONTAINERS
AT_MOST = 100_000
_COPIED = 1 << 20  # bytes of an array; of a larger one a digest tells whether it was written
_WALKED = frozenset(["collections", "types", "weakref", "argparse"])  # libraries whose objects are the user's data
_SCALARS = frozenset([int, float, complex, bool, str, bytes, type(None), type(...), range, slice, types.CodeType])
_CLOSED = (jax.Array, np.generic, types.ModuleType, types.FrameType, types.GeneratorType, types.CoroutineType)
_STORES = ("STORE_DEREF", "STORE_GLOBAL")
_OPERATION, _IN_PLACE = dis.opmap["BINARY_OP"], 13  # from that argument on, the operations are augmented assignments
FUNCTIONS_IN = types.MappingProxyType(
    {
        property: ("fget", "fset", "fdel"),
        staticmethod: ("__func__",),
        classmethod: ("__func__",),
        functools.cached_property: ("func",),
        functools.partialmethod: ("func", "args", "keywords"),
        functools.partial: ("func", "args", "keywords"),
        types.MethodType: ("__self__", "__func__"),
    }
)


class TooMuch(Exception):
    """There are more objects than can be compared."""


class Reach:
    """What may be written of all that some values lead to, as it is now.

    Values lead to what they hold, to their classes, and by way of functions to closures and globals, as far as these are
    the user's.

    Args:
      at_most: how many objects.
      sees_arrays: whether writes to NumPy arrays are to be found.

    Raises:
      TooMuch: they lead to more objects.
    """

    def __init__(self, values: Iterable[Any], at_most: int = AT_MOST, sees_arrays: bool = True) -> None:
        self._at_most = at_most
        self._sees_arrays = sees_arrays
        self._containers: list[tuple[Any, Any]] = []
        self._objects: list[tuple[Any, dict[str, Any]]] = []
        self._variables: list[tuple[CellVariable | GlobalVariable, Any]] = []
        self._arrays: list[tuple[np.ndarray[Any, Any], Any]] = []
        self._slots: dict[type, Collection[str]] = {}
        self._seen: dict[int, Any] = {}  # itself, so that no other gets its identity
        self._walk(values)

    def _walk(self, values: Iterable[Any]) -> None:
        pending = [value for value in values if type(value) not in _SCALARS]
        while pending:
            value = pending.pop()
            if id(value) in self._seen or isinstance(value, _CLOSED):
                continue
            self._seen[id(value)] = value
            if len(self._seen) > self._at_most:
                raise TooMuch
            pending += [part for part in self._parts(value) if type(part) not in _SCALARS]

    def _parts(self, value: Any) -> Iterable[Any]:
        """What the value leads to; what of it may be written is noted."""
        kind = type(value)
        if kind is OneOf:  # which says that it is of its candidates' class
            return candidates_of(value)
        if isinstance(value, np.ndarray):
            return self._array(value)
        if kind is types.FunctionType:
            return self._function(value)
        if kind in FUNCTIONS_IN:
            return [getattr(value, name) for name in FUNCTIONS_IN[kind]]
        if isinstance(value, types.BuiltinFunctionType):
            return (value.__self__,)
        if isinstance(value, memoryview):
            return (value.obj,)
        if isinstance(value, type):
            return () if is_library(value) else self._class(value)
        found: list[Any] = []
        if isinstance(value, MUTABLE_CONTAINERS):
            held = contents(value)
            self._containers.append((value, held))
            found += _held_in(held)
        elif isinstance(value, tuple | frozenset):
            found += value
        elif isinstance(value, types.MappingProxyType):
            found += value.values()
        if not is_data(value):
            return [*found, value.__wrapped__] if hasattr(kind, "cache_info") else found
        self._note(value, attributes := self._attributes(value))
        return [*found, *attributes.values(), kind]

    def _note(self, owner: Any, attributes: dict[str, Any]) -> None:
        self._objects.append((owner, attributes))

    def _attributes(self, value: Any) -> dict[str, Any]:
        """A copy of what the object itself holds, in slots as well."""
        kind = type(value)
        names = self._slots.get(kind)
        if names is None:
            names = self._slots[kind] = _slots_of(kind)
        return _in_slots(value, names) | error_attributes(value) | namespace_of(value)

    def _function(self, function: types.FunctionType) -> Iterable[Any]:
        if function.__dict__.get("__autograph_do_not_convert__"):
            return ()  # its user has asked that it takes effect while tracing
        self._note(function, dict(function.__dict__))
        code, cells = function.__code__, function.__closure__ or ()
        found = [*contents_of_cells(cells), *(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
        found += function.__dict__.values()
        for name, cell in zip(code.co_freevars, cells, strict=True):
            variable = CellVariable(name, cell)
            self._variables.append((variable, variable.get()))
        if not is_library(function):
            namespace = function.__globals__
            for name in names_in(code):
                if name in namespace:
                    self._variables.append((GlobalVariable(name, namespace), namespace[name]))
                    found.append(namespace[name])
        return found

    def _class(self, kind: type) -> Iterable[Any]:
        attributes = _class_attributes(kind)
        self._note(kind, attributes)
        return [*vars(kind).values(), *kind.__bases__, type(kind)]

    def _array(self, array: np.ndarray[Any, Any]) -> Iterable[Any]:
        if array.flags.writeable and self._sees_arrays:
            self._arrays.append((array, array.copy() if array.nbytes <= _COPIED else _digest(array)))
        return array.ravel().tolist() if array.dtype == object else ()

    def changes(self) -> Iterator[tuple[Place, Any]]:
        """The places that hold something else than before, each with what it held."""
        for owner, held in self._containers:
            place = ContentsPlace(owner)
            if not same(place.get(), held):
                yield place, held
        for owner, attributes in self._objects:
            now = _class_attributes(owner) if isinstance(owner, type) else self._attributes(owner)
            for name in [*attributes, *(name for name in now if name not in attributes)]:
                if now.get(name, UNBOUND) is not attributes.get(name, UNBOUND):
                    written = AttributePlace(owner, name)
                    yield written, attributes.get(name, written.inherited)
        for variable, value in self._variables:
            if variable.get() is not value:
                yield variable, value
        self.check_arrays()

    def check_arrays(self) -> None:
        """`StagingError` if a NumPy array was written in place; it gets back what it held."""
        for array, old in self._arrays:
            if isinstance(old, bytes):
                is_same = _digest(array) == old
            elif array.dtype == object:
                is_same = all(a is b for a, b in zip(array.ravel().tolist(), old.ravel().tolist(), strict=True))
            else:
                is_same = np.array_equal(array, old, equal_nan=array.dtype.kind in "fc")
            if not is_same:
                if not isinstance(old, bytes):
                    array[...] = old
                refuse_array_written()


def refuse_array_written() -> NoReturn:
    """Make the trace again, in which arrays are places, as an array of NumPy's is written in place in a staged statement.

    Raises:
      ArraysHeld: it can be made again.
      StagingError: it cannot, or has been.
    """
    refusal = StagingError(
        f"{user_location()}\n  A NumPy array is written in place inside this staged statement, which would happen "
        "once, while tracing.\n  Make it a JAX array (jnp.asarray) and assign what the operation returns, or "
        "write to its items: x[i] = v."
    )
    hold_arrays(refusal)
    raise refusal


def values_used(function: types.FunctionType) -> Iterator[Any]:
    """What the variables hold that a function has from outside, the operators of converted code left out."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    yield from contents_of_cells(cell for name, cell in cells if name != OPERATORS)
    for name in names_in(function.__code__):
        if name in function.__globals__:
            yield function.__globals__[name]


def uses_constants_only(functions: Iterable[Callable[..., Any]]) -> bool:
    """Whether all that functions have from outside, beside Python's builtins, is constants, containers of such, and functions like them."""
    return constants_used(functions) is not None


def constants_used(values: Iterable[Any]) -> list[Any] | None:
    """The containers and functions that functions and containers lead to, themselves among them; None if not all is constants."""
    found: list[Any] = list(values)
    seen = set(map(id, found))
    for value in found:  # which gets longer
        parts = _parts_of_constant(value)
        if parts is None:
            return None
        if _SCALARS.issuperset(map(type, parts)):
            continue
        new = [part for part in parts if type(part) not in _SCALARS and id(part) not in seen]
        seen.update(map(id, new))
        found += new
    return found


def may_be_written(value: Any) -> bool:
    """Whether this is a container that can be written, or a function that binds variables of others."""
    if type(value) is not types.FunctionType:
        return type(value) not in (tuple, frozenset)
    stored = (
        each for code in codes_in(value.__code__) for each in dis.get_instructions(code) if each.opname in _STORES
    )
    return any(each.opname == "STORE_GLOBAL" or each.argval in value.__code__.co_freevars for each in stored)


def _parts_of_constant(value: Any) -> Collection[Any] | None:
    """What a container has in it, or a function uses; None for what may be no constant."""
    if type(value) is types.FunctionType:
        return list(values_used(value))
    if has_contents(value):
        held = value.contents()
        return held if type(held) is tuple else None
    if type(value) is dict:
        return [*value, *value.values()]
    return value if type(value) in (list, tuple, set, frozenset) else None


def augments(code: types.CodeType) -> bool:
    """Whether the code has an augmented assignment."""
    operations = zip(code.co_code[::2], code.co_code[1::2], strict=True)
    return any(operation == _OPERATION and argument >= _IN_PLACE for operation, argument in operations)


def same(new: Any, old: Any) -> bool:
    """Whether a place holds what it held: the same object, or contents of the same objects."""
    if new is old:
        return True
    if isinstance(new, tuple) and isinstance(old, tuple):
        return _all_same(new, old)
    if isinstance(new, dict) and isinstance(old, dict):  # nothing is looked up: that may call methods of its keys
        return _all_same(new.keys(), old.keys()) and _all_same(new.values(), old.values())
    return False


def _all_same(new: Collection[Any], old: Collection[Any]) -> bool:
    return len(new) == len(old) and all(a is b for a, b in zip(new, old, strict=True))


def is_data(value: Any) -> bool:
    """Whether this is an object of a user's class, or of a library's class for users' data."""
    kind = type(value)
    return (
        not is_library(kind)
        or issubclass(kind, BaseException)
        or str(getattr(kind, "__module__", "")).partition(".")[0] in _WALKED
    )


def namespace_of(value: Any) -> dict[str, Any]:
    """The ``__dict__`` of an object, whatever its class makes of reading attributes; empty if it has none."""
    found = own_namespace(value)
    return {} if found is None else found


def own_namespace(value: Any) -> dict[str, Any] | None:
    """The ``__dict__`` of an object, as `namespace_of`; None if it has none."""
    try:
        found = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return None
    return found if type(found) is dict else None


def slots_held(value: Any) -> dict[str, Any]:
    """What the slots of an object hold."""
    return _in_slots(value, _slots_of(type(value))) | error_attributes(value)


def _in_slots(value: Any, names: Iterable[str]) -> dict[str, Any]:
    return {name: held for name in names if (held := _slot(value, name)) is not UNBOUND}


def _held_in(held: Any) -> Iterable[Any]:
    if isinstance(held, dict):
        return [*held.values(), *held]
    return held if isinstance(held, tuple) else ()


def _class_attributes(kind: type) -> dict[str, Any]:
    return {name: value for name, value in vars(kind).items() if not (name.startswith("__") and name.endswith("__"))}


def _slots_of(kind: type) -> Collection[str]:
    members = [pair for base in kind.__mro__ for pair in vars(base).items()]
    names = [name for name, held in members if type(held) is types.MemberDescriptorType]
    return [
        name for name in names if not name.endswith("offset__")
    ]  # a compiled function's, where Python finds its code


def _slot(value: Any, name: str) -> Any:
    try:
        return object.__getattribute__(value, name)
    except AttributeError:
        return UNBOUND


def _digest(array: np.ndarray[Any, Any]) -> bytes:
    flat: Any = np.ascontiguousarray(array).reshape(-1)
    return hashlib.blake2b(flat.view(np.uint8), digest_size=16).digest()
