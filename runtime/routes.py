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

from autograph.runtime.generated import MISSED, Block, dispatcher, flat_block, float_key, itself, nested_block
from autograph.runtime.signature import (
    dictionary_key_types,
    is_array_leaf,
    is_array_like,
    is_record,
)
from autograph.runtime.static_values import BY_VALUE, SIMPLE, has_no_equality, weak_reference

Values = Sequence[Any]
KeyPart = Callable[[Any], Any]


class Route:
    """How arguments of certain types find their program.

    Attributes:
      entry: the program's entry, where there are only arrays.
      entries: else the entries by `key`.
      key: what Python values among the arguments are told apart by.
      arrays: the arrays among the arguments.
      statics: where `key` finds them; None for those without.
      parts: what each of them is told apart by.
      positions: where the arrays are.
    """

    __slots__ = ("arrays", "entries", "entry", "key", "parts", "positions", "statics")

    def __init__(self, positions: Sequence[int], statics: Sequence[int] | None, parts: Sequence[KeyPart]) -> None:
        self.entry: Any = None
        self.entries: dict[Any, Any] = {}
        self.positions, self.statics, self.parts = positions, statics, parts
        self.key = None if statics is None else _key(statics, parts)
        self.arrays = _picker(positions)

    def set(self, values: Values, entry: Any) -> None:
        """Lead arguments like these to this entry."""
        if self.key is None:
            self.entry = entry
        else:
            self.entries[self.key(values)] = entry

    def find(self, values: Values) -> tuple[Any, Values]:
        """The entry for these arguments, or None, and the arrays among them."""
        return (self.entry, values) if self.key is None else (self.entries.get(self.key(values)), self.arrays(values))


class Nested:
    """The routes for arguments of some types that hold others: by their structure, and the types of their
    leaves.
    """

    __slots__ = ("_by_structure",)

    def __init__(self) -> None:
        self._by_structure: dict[Any, Route] = {}

    def find(self, values: tuple[Any, ...]) -> tuple[Any, Values]:
        """The entry for these arguments, or None, and the arrays among them."""
        leaves, treedef = jax.tree_util.tree_flatten(values)
        route = self._by_structure.get((treedef, tuple(map(type, leaves))))
        return (None, ()) if route is None else route.find(leaves)

    def add(self, values: tuple[Any, ...], entry: Any) -> Route | None:
        """Lead arguments like these to this entry. Returns the route, if it is new."""
        leaves, treedef = jax.tree_util.tree_flatten(values)
        types = tuple(map(type, leaves))
        known = self._by_structure.get((treedef, types))
        route = known or _route(leaves)
        if route is None:
            return None
        route.set(leaves, entry)
        self._by_structure[treedef, types] = route
        return route if known is None else None


class Routes:
    """The routes of one function, by the types of its arguments.

    Attributes:
      changed: whether captured values are others than they were; None while there are none.
      quick: takes the arguments of a call and runs its program, or gives `MISSED`. Written for the routes that came
        first, as source, since it runs at every call (`tools/bench/dispatch.py` tells what a call costs).
    """

    def __init__(self, is_eager: Any, tick: Callable[[], int]) -> None:
        """``is_eager.on``: whether no program is to run; ``tick``: the number of the call, for what uses an entry."""
        self._is_eager = is_eager
        self._tick = tick
        self.changed: Callable[[], bool] | None = None
        self.clear()

    def clear(self) -> None:
        """Forget all routes."""
        self._by_types: dict[tuple[type, ...], Route | Nested] = {}
        self._blocks: list[Block] = []
        self.quick: Callable[[tuple[Any, ...]], Any] = _missed

    def guard(self, changed: Callable[[], bool] | None) -> None:
        """Lead nowhere while ``changed()``."""
        if changed is not self.changed:
            self.changed = changed
            self._write()

    def find(self, values: tuple[Any, ...]) -> tuple[Any, Values]:
        """The entry for these arguments, or None, and the arrays among them."""
        route = self._by_types.get(tuple(map(type, values)))
        if route is None or (self.changed is not None and self.changed()):
            return None, ()
        entry, arrays = route.find(values)
        if entry is not None and entry.changed is not None and entry.changed():
            return None, ()
        return entry, arrays

    def add(self, values: tuple[Any, ...], entry: Any) -> bool:
        """Lead calls with values like these to this entry from now on, if there is a route for them; say so."""
        types = tuple(map(type, values))
        if all(value is None or (jax.tree_util.all_leaves([value]) and not is_record(value)) for value in values):
            known = self._by_types.get(types)
            route = known if isinstance(known, Route) else _route(values)
            if route is not None:
                route.set(values, entry)
                self._by_types[types] = route
                if known is None:
                    self._add_quick(values, route, False)
            return route is not None
        if any(is_record(leaf) for leaf in jax.tree_util.tree_leaves(values)) or dictionary_key_types(values):
            return False
        outer = self._by_types.setdefault(types, Nested())
        assert isinstance(outer, Nested)
        new = outer.add(values, entry)
        if new is not None:
            self._add_quick(values, new, True)
        return True

    def _add_quick(self, values: tuple[Any, ...], route: Route, is_nested: bool) -> None:
        number = len(self._blocks)
        if number < _FAMILIAR:
            block = (nested_block if is_nested else flat_block)(number, values, route)
            if block is not None:
                self._blocks.append(block)
                self._write()

    def _write(self) -> None:
        if self._blocks:
            self.quick = dispatcher(self._blocks, self._is_eager, self.changed, self._tick)


_FAMILIAR = 4


def _missed(_: tuple[Any, ...]) -> Any:
    return MISSED


def _route(values: Values) -> Route | None:
    arrays = [k for k, value in enumerate(values) if is_array_leaf(value)]
    statics = [k for k, value in enumerate(values) if value is not None and k not in set(arrays)]
    if not statics and len(arrays) == len(values):
        return Route(arrays, None, ())
    parts = [part for k in statics if (part := _key_part(values[k])) is not None]
    return Route(arrays, statics, parts) if len(parts) == len(statics) else None


def _key(statics: Sequence[int], parts: Sequence[KeyPart]) -> Callable[[Values], Any]:
    if all(part is itself for part in parts):
        return operator.itemgetter(*statics) if statics else _nothing
    pairs = list(zip(statics, parts, strict=True))
    if len(pairs) == 1:
        ((position, only),) = pairs
        return lambda values: only(values[position])
    return lambda values: tuple([part(values[k]) for k, part in pairs])


def _key_part(value: Any) -> KeyPart | None:
    """What this Python value is told apart by, among those of its type; None if that takes longer."""
    kind = type(value)
    if kind in SIMPLE:
        return itself
    if kind is float:
        return float_key
    if kind in BY_VALUE:
        return BY_VALUE[kind]
    if has_no_equality(kind) and kind not in (set, slice) and not is_array_like(value):
        # When the object goes, whoever holds it weakly clears the routes, before its id can be another's.
        return id if weak_reference(value) is not None else None
    return None


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
