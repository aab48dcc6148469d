"""The signature of a call: which leaves are arrays, and by which Python values the program is specialised.

Arrays are told apart by `jax.jit`'s own cache (shape, dtype, weak type, sharding). The rest, a call's *static* part, is a key made
here: Python values by type and value, other objects by identity, held weakly; containers by structure.
"""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

ARRAY_TYPES = (jax.Array, np.ndarray, np.generic, jax.ShapeDtypeStruct)


@dataclass(frozen=True)
class StaticLeaf:
    """A leaf that is part of the signature. Equal if of one type and value (``0.0`` and ``-0.0``, ``1`` and ``True`` differ)."""

    key: Any
    value: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StaticLeaf) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def get(self) -> Any:
        """The value; ``ReferenceError`` if it was held weakly and is gone."""
        if not isinstance(self.value, weakref.ref):
            return self.value
        value = self.value()
        if value is None:
            raise ReferenceError("an argument that this program was made for no longer exists")
        return value


class IdentityKey:
    """Stands for an object in a key: equal for the same living object only."""

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


@dataclass(frozen=True)
class CallSignature:
    """The static part of a call: how the arguments nest, and each leaf's value (None at an array)."""

    treedef: Any
    statics: tuple[StaticLeaf | None, ...]

    def arguments(self, arrays: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The positional and keyword arguments with these arrays in their places."""
        pending = iter(arrays)
        leaves = [next(pending) if static is None else static.get() for static in self.statics]
        return jax.tree_util.tree_unflatten(self.treedef, leaves)


def static_leaf(value: Any) -> StaticLeaf:
    """The key of one Python value."""
    kind = type(value)
    if kind is float:
        return StaticLeaf((kind, value.hex()), value)
    if kind is complex:
        return StaticLeaf((kind, value.real.hex(), value.imag.hex()), value)
    if kind in (int, bool, str, bytes, type(None)):
        return StaticLeaf((kind, value), value)
    if kind.__eq__ is object.__eq__ or kind.__hash__ is None:
        try:
            reference = weakref.ref(value)
        except TypeError:
            return StaticLeaf((kind, id(value)), value)
        return StaticLeaf(IdentityKey(reference), reference)
    return StaticLeaf((kind, value), value)


class Arguments:
    """Brings calls of one function into canonical form: positional where the function takes them so, defaults filled in."""

    def __init__(self, function: Callable[..., Any], skip_first: bool = False) -> None:
        try:
            signature = inspect.signature(function)
        except (TypeError, ValueError):
            self.signature = None
            return
        parameters = list(signature.parameters.values())
        self.signature: inspect.Signature | None = signature.replace(parameters=parameters[skip_first:])
        self.names = tuple(self.signature.parameters)
        self._plain = all(
            p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in self.signature.parameters.values()
        )

    def canonical(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The same call, spelled one way. ``TypeError`` as Python raises it if the function cannot be called so."""
        if self.signature is None or (self._plain and not kwargs and len(args) == len(self.names)):
            return args, dict(kwargs)
        bound = self.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return bound.args, dict(sorted(bound.kwargs.items()))

    def split(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[CallSignature, list[Any]]:
        """The signature of a call, and its arrays."""
        leaves, treedef = jax.tree_util.tree_flatten(self.canonical(args, kwargs))
        arrays = [leaf for leaf in leaves if isinstance(leaf, ARRAY_TYPES)]
        statics = tuple(None if isinstance(leaf, ARRAY_TYPES) else static_leaf(leaf) for leaf in leaves)
        return CallSignature(treedef, statics), arrays
