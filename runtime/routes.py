"""The quick way from a call's arguments to its program, by their Python types; `jax.jit`'s own cache compares
the arrays.

A route says, for arguments of some types, which are arrays, and what key the rest make. What has no route
(frozen sets, dataclasses, values with an equality of their own) goes the long way, by `runtime.signature`, at
every call.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import jax

from autograph.runtime.generated import unpacker
from autograph.runtime.signature import (
    dictionary_key_types,
    is_array_leaf,
    is_array_like,
    is_record,
)
from autograph.runtime.static_values import BY_VALUE, SIMPLE, has_no_equality, weak_reference

Values = Sequence[Any]


class Route:
    """How arguments of certain types find their program.

    Attributes:
      entry: the program's entry, where there are only arrays.
      entries: else the entries by `key`.
      key: what Python values among the arguments are told apart by.
      arrays: the arrays among the arguments.
      nested: where arguments are containers, how to find their leaves, and the route for those.
    """

    __slots__ = ("arrays", "entries", "entry", "key", "nested")

    def __init__(
        self,
        key: Callable[[Values], Any] | None = None,
        arrays: Callable[[Values], Values] | None = None,
        nested: Nested | None = None,
    ) -> None:
        self.entry: Any = None
        self.entries: dict[Any, Any] = {}
        self.key = key
        self.arrays = arrays
        self.nested = nested

    def set(self, values: Values, entry: Any) -> None:
        """Lead arguments like these to this entry."""
        if self.key is None:
            self.entry = entry
        else:
            self.entries[self.key(values)] = entry


class Nested:
    """The routes for arguments of some types that hold others: by their structure, and the types of their
    leaves.
    """

    __slots__ = ("_by_structure", "_familiar")

    def __init__(self) -> None:
        self._by_structure: dict[Any, Route] = {}
        self._familiar: list[tuple[Callable[[Values], Values | None], tuple[type, ...], Route]] = []

    def find(self, values: tuple[Any, ...]) -> tuple[Route | None, Values]:
        """The route for these arguments, and their leaves."""
        for leaves_of, types, route in self._familiar:
            leaves = leaves_of(values)
            if leaves is not None and tuple(map(type, leaves)) == types:
                return route, leaves
        found, treedef = jax.tree_util.tree_flatten(values)
        return self._by_structure.get((treedef, tuple(map(type, found)))), found

    def add(self, values: tuple[Any, ...], entry: Any) -> None:
        """Lead arguments like these to this entry."""
        leaves, treedef = jax.tree_util.tree_flatten(values)
        types = tuple(map(type, leaves))
        route = self._by_structure.get((treedef, types)) or _route(leaves)
        if route is None:
            return
        route.set(leaves, entry)
        is_new = (treedef, types) not in self._by_structure
        self._by_structure[treedef, types] = route
        if is_new and len(self._familiar) < _FAMILIAR:
            leaves_of = unpacker(values)
            if leaves_of is not None:
                self._familiar = [*self._familiar, (leaves_of, types, route)]


_FAMILIAR = 4


def add_route(routes: dict[tuple[type, ...], Route], values: tuple[Any, ...], entry: Any) -> None:
    """Lead calls with values like these to this entry from now on, if there is a route for them."""
    types = tuple(map(type, values))
    if all(value is None or (jax.tree_util.all_leaves([value]) and not is_record(value)) for value in values):
        route = routes.get(types) or _route(values)
        if route is not None:
            route.set(values, entry)
            routes[types] = route
        return
    if any(is_record(leaf) for leaf in jax.tree_util.tree_leaves(values)) or dictionary_key_types(values):
        return
    outer = routes.setdefault(types, Route(nested=Nested()))
    assert outer.nested is not None
    outer.nested.add(values, entry)


def _route(values: Values) -> Route | None:
    arrays = [k for k, value in enumerate(values) if is_array_leaf(value)]
    statics = [k for k, value in enumerate(values) if value is not None and k not in set(arrays)]
    if not statics and len(arrays) == len(values):
        return Route()
    parts = [_key_part(values[k]) for k in statics]
    if any(part is None for part in parts):
        return None
    if all(type(values[k]) in SIMPLE for k in statics):
        key: Callable[[Values], Any] = operator.itemgetter(*statics) if statics else _nothing
    elif len(statics) == 1 and parts[0] is not None:
        (position,), only = statics, parts[0]

        def key(values: Values) -> Any:
            return only(values[position])

    else:
        pairs = [(k, part) for k, part in zip(statics, parts, strict=True) if part is not None]

        def key(values: Values) -> Any:
            return tuple([part(values[k]) for k, part in pairs])

    return Route(key, _picker(arrays))


def _key_part(value: Any) -> Callable[[Any], Any] | None:
    """What this Python value is told apart by, among those of its type; None if that takes longer."""
    kind = type(value)
    if kind in SIMPLE:
        return _itself
    if kind is float:
        return _float_key
    if kind in BY_VALUE:
        return BY_VALUE[kind]
    if has_no_equality(kind) and kind not in (set, slice) and not is_array_like(value):
        # When the object goes, whoever holds it weakly clears the routes, before its id can be another's.
        return id if weak_reference(value) is not None else None
    return None


def _itself(value: Any) -> Any:
    return value


def _float_key(value: float) -> Any:
    """Zeros are told apart by sign, and nan is equal to itself; the rest need no text."""
    return value if value and value == value else value.hex()


def _nothing(values: Values) -> Any:
    return None


def _picker(positions: Sequence[int]) -> Callable[[Values], Values]:
    if not positions:
        return lambda values: ()
    if list(positions) == list(range(positions[0], positions[-1] + 1)):
        part = slice(positions[0], positions[-1] + 1)
        return operator.itemgetter(part)
    picker: Callable[[Values], Values] = operator.itemgetter(*positions)
    return picker
