"""Python values in a signature: by type and value, or by identity with a weak reference."""

from __future__ import annotations

import types
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograph.runtime.code.forwarding import BoundForwarding, WeakBound


@dataclass(frozen=True, eq=False)
class StaticLeaf:
    """A Python value that is part of the signature; equal to another by `key` (``0.0`` and ``-0.0``, ``1``
    and ``True`` differ).
    """

    key: Any
    value: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StaticLeaf) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def holds(self, value: Any) -> bool:
        """Whether this is the value, the very object."""
        return (self.value() if isinstance(self.value, weakref.ref) else self.value) is value

    def in_tree(self) -> Any:
        """What represents it among the leaves of arguments."""
        return self.get()

    def get(self) -> Any:
        """The value; ``ReferenceError`` if it was held weakly and is gone."""
        if not isinstance(self.value, weakref.ref):
            return set(self.value) if type(self.value) is set else self.value
        value = self.value()
        if value is None:
            raise ReferenceError("an argument that this program was made for no longer exists")
        return value


class WholeArgument:
    """Holds an argument so that it is one leaf, whatever it is."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        return repr(self.value)

    def leaf(self) -> StaticLeaf:
        """The key of the argument, by its type, equality and hash, and the argument."""
        leaf = static_leaf(self.value)
        return _WholeLeaf(leaf.key, leaf.value, type(self))


@dataclass(frozen=True, eq=False)
class _WholeLeaf(StaticLeaf):
    holder: type[WholeArgument]

    def in_tree(self) -> Any:
        return self.holder(self.get())


class IdentityKey:
    """Represents an object in a key: equal for the same living object only."""

    __slots__ = ("_hash", "_reference")

    def __init__(self, reference: weakref.ref[Any]) -> None:
        self._reference = reference
        self._hash = id(reference())

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, IdentityKey):
            return False
        mine = self._reference()
        return self is other or (mine is not None and mine is other._reference())


# What a value of exactly this type is distinguished by, within its type.
BY_VALUE: Mapping[type, Callable[[Any], Any]] = types.MappingProxyType(
    {
        float: float.hex,
        complex: lambda value: (value.real.hex(), value.imag.hex()),
        **dict.fromkeys((int, bool, str, bytes), lambda value: value),
    }
)
# Of these the value itself will do as a key.
SIMPLE = frozenset({int, bool, str, bytes})


def static_leaf(value: Any) -> StaticLeaf:
    """The key of one Python value, and the value."""
    kind = type(value)
    by_value = BY_VALUE.get(kind)
    if by_value is not None:
        return StaticLeaf((kind, by_value(value)), value)
    if kind is set or kind is frozenset:
        return StaticLeaf((kind, frozenset(static_leaf(item).key for item in value)), kind(value))
    if kind is slice:
        parts = (value.start, value.stop, value.step)
        return StaticLeaf((kind, *(static_leaf(part).key for part in parts)), value)
    if kind is types.MethodType:
        return _method_leaf(value, value.__self__, value.__func__, weakref.WeakMethod)
    if isinstance(value, BoundForwarding):
        return _method_leaf(value, value.instance, value.func, WeakBound)
    if by_identity(value):
        reference = weak_reference(value)
        if reference is None:
            return StaticLeaf((kind, id(value)), value)
        return StaticLeaf(IdentityKey(reference), reference)
    return StaticLeaf((kind, value), value)


def by_identity(value: Any) -> bool:
    """Whether the value is distinguished by which object it is: it has no equality of its own, or no hash."""
    if has_no_equality(type(value)):
        return True
    try:
        hash(value)
    except TypeError:
        return True
    return False


def has_no_equality(kind: Any) -> bool:
    """Whether instances of a type are equal to none but themselves, or cannot be keys."""
    return kind.__eq__ is object.__eq__ or kind.__hash__ is None


def weak_reference(value: Any) -> weakref.ref[Any] | None:
    """A weak reference, or None where the type allows none (``__slots__`` without ``__weakref__``)."""
    try:
        return weakref.ref(value)
    except TypeError:
        return None


def _method_leaf(method: Any, instance: Any, function: Any, weakly: Callable[[Any], weakref.ref[Any]]) -> StaticLeaf:
    """A bound method is a new object each time it is looked up: the instance and the function make it out."""
    kind = type(method)
    if weak_reference(instance) is None or weak_reference(function) is None:
        return StaticLeaf((kind, id(instance), id(function)), method)
    return StaticLeaf((kind, IdentityKey(weakref.ref(instance)), static_leaf(function).key), weakly(method))


def describe_static(value: Any) -> str:
    """A value as a message names it: ``Python int 3``.

    >>> describe_static(3), describe_static(None)
    ('Python int 3', 'None')
    """
    if isinstance(value, weakref.ref):
        value = value()
        if value is None:
            return "an object that is gone"
    if value is None:
        return "None"
    text = repr(value)
    text = text if len(text) <= 60 else text[:57] + "..."
    module = type(value).__module__
    return f"Python {type(value).__name__} {text}" if module == "builtins" else f"{type(value).__name__} {text}"


def identity_leaf(value: Any) -> StaticLeaf:
    """The leaf of an object that is no other, whatever it is equal to."""
    reference = weakref.ref(value)
    return StaticLeaf(IdentityKey(reference), reference)


def array_content(array: np.ndarray[Any, Any]) -> tuple[Any, Any, bytes]:
    """All that a NumPy array holds now, to be compared by `differs_from`."""
    return array.shape, array.dtype, array.tobytes()


def differs_from(array: np.ndarray[Any, Any], content: tuple[Any, Any, bytes]) -> bool:
    """Whether a NumPy array holds something else than it did."""
    shape, dtype, data = content
    return array.shape != shape or array.dtype != dtype or array.tobytes() != data
