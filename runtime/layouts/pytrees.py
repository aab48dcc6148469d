"""Pytrees: those that JAX can flatten, and those with dicts whose keys it cannot sort (members of an Enum, texts beside numbers).

JAX sorts the keys of dicts. `UnsortedDict` stands for one whose keys have no order; `tree_flatten` and its like put it in. Where the
order is seen, as in a text, `in_order` puts it in for all dicts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import jax

from autograph.runtime.layouts.dict_kinds import dict_kind, is_sorted_by_jax


@jax.tree_util.register_pytree_with_keys_class
class UnsortedDict(dict[Any, Any]):
    """A dict whose keys JAX leaves in their order.

    Attributes:
      kind: what makes the dict that this stands for of its items.

    Args:
      stays: unflatten it to one like it, which JAX may flatten again; else to the dict that it stands for.
    """

    def __init__(self, kind: Callable[[Any], Any], items: dict[Any, Any], stays: bool = False) -> None:
        super().__init__(items)
        self.kind = kind
        self._stays = stays

    def __repr__(self) -> str:
        return super().__repr__() if self.kind is dict else repr(self.kind(dict(self)))

    def tree_flatten_with_keys(self) -> tuple[tuple[Any, ...], Any]:
        items, facts = self.tree_flatten()
        return tuple((jax.tree_util.DictKey(key), item) for key, item in zip(self, items, strict=True)), facts

    def tree_flatten(self) -> tuple[tuple[Any, ...], Any]:
        return tuple(self.values()), (self.kind, self._stays, tuple(self))

    @classmethod
    def tree_unflatten(cls, facts: Any, children: Sequence[Any]) -> Any:
        kind, stays, keys = facts
        items = dict(zip(keys, children, strict=True))
        return cls(kind, items, stays) if stays else kind(items)


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
        return jax.tree_util.tree_flatten(_unsorted(value, is_unsorted, False, is_leaf), is_leaf=is_leaf)


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
        return _unsorted(value, is_unsorted, True)
    return value


def in_order(value: Any, stays: bool = True) -> Any:
    """A copy of a pytree in which each dict whose keys JAX would sort, and each `Counter`, is an `UnsortedDict`.

    Args:
      stays: they stay such where JAX makes the pytree again; else the next time they are the dicts for which they stand.

    >>> [jax.tree.map(abs, in_order({"b": -1, "a": [-2]}, stays)) for stays in (True, False)]
    [{'b': 1, 'a': [2]}, {'b': 1, 'a': [2]}]
    """
    return _unsorted(value, _is_reordered if stays else _is_reordered_or_was, stays)


def _is_reordered(value: Any) -> bool:
    if type(value) is Counter:
        return True
    return isinstance(value, dict) and is_sorted_by_jax(value) and (is_unsorted(value) or sorted(value) != list(value))


def _is_reordered_or_was(value: Any) -> bool:
    return isinstance(value, UnsortedDict) or _is_reordered(value)


def _unsorted(
    value: Any, is_replaced: Callable[[Any], bool], stays: bool, is_leaf: Callable[[Any], bool] | None = None
) -> Any:
    is_given = is_leaf or (lambda _: False)

    def node(leaf: Any) -> Any:
        if is_given(leaf) or not is_replaced(leaf):
            return leaf
        items = {key: _unsorted(part, is_replaced, stays, is_leaf) for key, part in dict.items(leaf)}
        kind = leaf.kind if isinstance(leaf, UnsortedDict) else dict_kind(leaf) or type(leaf)
        return UnsortedDict(kind, items, stays)

    leaves, treedef = jax.tree_util.tree_flatten(value, is_leaf=lambda part: is_given(part) or is_replaced(part))
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
