"""Pytrees: those that JAX can flatten, and those with dicts whose keys it cannot sort (members of an Enum, texts beside numbers).

JAX sorts the keys of dicts. `UnsortedDict` stands for one whose keys have no order; `tree_flatten` and its like put it in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import jax

from autograph.runtime.layouts.dict_kinds import dict_kind, is_sorted_by_jax


@jax.tree_util.register_pytree_with_keys_class
class UnsortedDict(dict[Any, Any]):
    """A dict whose keys JAX leaves in their order.

    ``kind``: what makes what this is unflattened to of its items; None for a dict that JAX may flatten again.
    """

    def __init__(self, kind: Any, items: dict[Any, Any]) -> None:
        super().__init__(items)
        self._kind = kind

    def tree_flatten_with_keys(self) -> tuple[tuple[Any, ...], Any]:
        return tuple((jax.tree_util.DictKey(key), item) for key, item in self.items()), (self._kind, tuple(self))

    def tree_flatten(self) -> tuple[tuple[Any, ...], Any]:
        return tuple(self.values()), (self._kind, tuple(self))

    @classmethod
    def tree_unflatten(cls, facts: Any, children: Sequence[Any]) -> Any:
        kind, keys = facts
        items = dict(zip(keys, children, strict=True))
        return cls(None, items) if kind is None else kind(items)


def is_unsorted(value: Any) -> bool:
    """Whether this is a dict whose keys JAX wants to sort and cannot.

    >>> is_unsorted({1: 1.0, "b": 2.0}), is_unsorted({"b": 2.0, "a": 1.0})
    (True, False)
    """
    if not isinstance(value, dict) or not is_sorted_by_jax(value):
        return False
    kinds = set(map(type, value))
    if len(kinds) < 2 and kinds <= {str, int, float, bool}:
        return False
    try:
        sorted(dict.keys(value))
    except TypeError:
        return True
    return False


def tree_flatten(value: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], Any]:
    """`jax.tree_util.tree_flatten`, of pytrees that hold such dicts, too.

    >>> leaves, treedef = tree_flatten({"b": 1.0, 0: (2.0, 3.0)})
    >>> leaves, jax.tree_util.tree_unflatten(treedef, leaves)
    ([1.0, 2.0, 3.0], {'b': 1.0, 0: (2.0, 3.0)})
    """
    try:
        return jax.tree_util.tree_flatten(value, is_leaf=is_leaf)
    except (TypeError, ValueError):  # of the keys, of a defaultdict and of a dict
        return jax.tree_util.tree_flatten(_unsorted(value, dict_kind, is_leaf), is_leaf=is_leaf)


def tree_leaves(value: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """`jax.tree_util.tree_leaves`, of pytrees that hold such dicts, too."""
    return tree_flatten(value, is_leaf)[0]


def tree_map(function: Callable[[Any], Any], value: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """`jax.tree_util.tree_map` of one pytree, which may hold such dicts."""
    leaves, treedef = tree_flatten(value, is_leaf)
    return jax.tree_util.tree_unflatten(treedef, list(map(function, leaves)))


def for_jax(value: Any) -> Any:
    """A pytree that JAX can flatten: itself, or a copy in which each such dict is an `UnsortedDict`, and stays one."""
    try:
        jax.tree_util.tree_leaves(value)
    except (TypeError, ValueError):
        return _unsorted(value, lambda _: None, None)
    return value


def _unsorted(value: Any, kind: Callable[[Any], Any], is_leaf: Callable[[Any], bool] | None) -> Any:
    is_given = is_leaf or (lambda _: False)

    def node(leaf: Any) -> Any:
        if is_given(leaf) or not is_unsorted(leaf):
            return leaf
        return UnsortedDict(kind(leaf), {key: _unsorted(part, kind, is_leaf) for key, part in dict.items(leaf)})

    leaves, treedef = jax.tree_util.tree_flatten(value, is_leaf=lambda part: is_given(part) or is_unsorted(part))
    return jax.tree_util.tree_unflatten(treedef, list(map(node, leaves)))


def is_pytree(value: Any) -> bool:
    """Whether a value can be flattened: no list or dict in it holds itself.

    >>> loop = []
    >>> loop.append(loop)
    >>> is_pytree([{"a": 1, "b": 2}]), is_pytree({1: 1, "b": 2}), is_pytree((loop,))
    (True, True, False)
    """
    if holds_itself(value):
        return False
    try:
        tree_leaves(value)
    except (TypeError, ValueError):
        return False
    return True


def holds_itself(value: Any) -> bool:
    """Whether a list, tuple or dict leads back to itself. To flatten it would take the stack that Python has, and not return it."""
    return _holds_itself(value, set(), set())


def _holds_itself(value: Any, around: set[int], seen: set[int]) -> bool:
    if id(value) in around:
        return True
    containers = [part for part in _parts(value) if isinstance(part, list | tuple | dict)]
    if not containers or id(value) in seen:
        return False
    around.add(id(value))
    found = any(_holds_itself(part, around, seen) for part in containers)
    around.remove(id(value))
    seen.add(id(value))
    return found


def _parts(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return dict.values(value)
    held = value.contents() if hasattr(type(value), "set_contents") else value
    return held if isinstance(held, list | tuple) else ()
