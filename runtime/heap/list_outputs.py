"""Convert traced lists to Python lists where they leave converted code: as results, as arguments of libraries, in what it writes."""

from __future__ import annotations

import collections
import operator
from collections.abc import Callable, Container, Iterable
from typing import Any

import jax

from autograph.runtime.containers.padded import Padded
from autograph.runtime.containers.referring_kinds import references_of
from autograph.runtime.containers.traced_deques import TracedDeque
from autograph.runtime.containers.traced_dicts import TracedDict
from autograph.runtime.containers.traced_lists import TracedList
from autograph.runtime.containers.traced_sets import TracedFrozenSet, TracedSet
from autograph.runtime.containers.traced_tuples import TracedTuple
from autograph.runtime.containers.unordered_dicts import UnorderedDict
from autograph.runtime.containers.unordered_lists import UnorderedList, UnorderedPairs
from autograph.runtime.errors import StagingError
from autograph.runtime.heap.object_graph import is_one_shot
from autograph.runtime.heap.places import ContentsPlace, Place
from autograph.runtime.layouts.pytrees import holds_itself, tree_flatten
from autograph.runtime.tracing.locations import user_location

_TRACED = (
    TracedList,
    TracedDeque,
    TracedTuple,
    TracedSet,
    TracedFrozenSet,
    TracedDict,
    UnorderedList,
    UnorderedPairs,
    UnorderedDict,
)
_MAY_HOLD_LISTS = frozenset([*_TRACED, list, tuple, dict])


def references_of_elements(value: Any) -> list[Any]:
    """The objects that the elements of a list lead to by which they are, where that is held in arrays."""
    padded = value.padded if isinstance(value, TracedList) else None
    return [] if padded is None else references_of(padded.kind)


def with_plain_lists(value: Any, as_array: Callable[[TracedList], Any] | None = None, kept: Container[int] = ()) -> Any:
    """A result with Python's lists instead of those whose length is known; ``as_array`` gives others for some.

    ``kept``: the identities of parts that stay as they are.

    Raises:
      StagingError: a list or dict in it holds itself, which is no pytree.
    """
    if holds_itself(value):
        raise StagingError(
            f"{user_location()}\n  A {type(value).__name__} that holds itself leaves converted code here, as a result or as an argument. "
            "JAX has no such values.\n  Return its items, or let objects refer to each other."
        )
    return _with_plain_lists(value, as_array, kept)


def _with_plain_lists(value: Any, as_array: Callable[[TracedList], Any] | None, kept: Container[int]) -> Any:
    leaves, treedef = tree_flatten(
        value, is_leaf=lambda part: id(part) in kept or isinstance(part, TracedList) or is_one_shot(part)
    )
    if not any(isinstance(leaf, TracedList) for leaf in leaves):
        return value
    resolved = []
    for leaf in leaves:
        if id(leaf) in kept:
            resolved.append(leaf)
            continue
        if isinstance(leaf, TracedList):
            leaf = (as_array(leaf) if as_array is not None else None) or leaf.resolve()
            if as_array is None and references_of_elements(leaf):
                raise StagingError(
                    f"{user_location()}\n  A list of traced length leaves converted code here, and traced conditions choose which objects "
                    "its elements are. JAX has no such values.\n  Call the function through autograph.function, or return a list of the "
                    "objects' attributes."
                )
        if type(leaf) is collections.deque:
            leaf = collections.deque((_with_plain_lists(part, as_array, kept) for part in leaf), leaf.maxlen)
        if type(leaf) in (list, tuple):
            leaf = type(leaf)([_with_plain_lists(part, as_array, kept) for part in leaf])
        resolved.append(leaf)
    return jax.tree_util.tree_unflatten(treedef, resolved)


@jax.tree_util.register_pytree_node_class
class CountedList:
    """A list of known length as the result of a compiled function: one array for what its items have in one place.

    Attributes: list (which holds the arrays).
    """

    def __init__(self, made: TracedList) -> None:
        self.list = made

    @classmethod
    def of(cls, made: TracedList) -> CountedList | None:
        """The list as such, if it is held in arrays and its length is known."""
        held = made.contents()
        if type(made) is not TracedList or not isinstance(held, Padded) or references_of(held.kind):
            return None
        return cls(made) if isinstance(held.length, int) else None

    def resolve(self) -> Any:
        """The list: Python's own outside of a trace."""
        held = self.list._held
        is_traced = any(isinstance(buffer, jax.core.Tracer) for buffer in held.buffers)
        return self.list if is_traced else held.elements(held.length)

    def with_rows(self, describe: Callable[[Any], Any]) -> list[Any]:
        """The list with what ``describe`` returns for the types of arrays in their place."""
        held = self.list._held
        rows = [describe(jax.ShapeDtypeStruct(buffer.shape[1:], buffer.dtype)) for buffer in held.buffers]
        return [held.kind.build(rows) for _ in range(operator.index(held.length))]

    def tree_flatten(self) -> tuple[tuple[Any, ...], Any]:
        held = self.list._held
        return held.buffers, (held.length, held.kind, held.capacity, held.reserved, held.extent, self.list.checks)

    @classmethod
    def tree_unflatten(cls, facts: Any, children: Any) -> CountedList:
        length, kind, capacity, reserved, extent, checks = facts
        made = TracedList((), checks)
        made.set_contents(Padded(length, children, kind, capacity, reserved, extent))
        return cls(made)


def as_argument(value: Any) -> Any:
    """An argument of a library that takes pytrees, with Python's lists instead of those whose length is known."""
    return with_plain_lists(value) if type(value) in _MAY_HOLD_LISTS and _holds_list(value) else value


def _holds_list(value: Any) -> bool:
    if type(value) in _TRACED:
        return True
    parts = value.values() if type(value) is dict else value if type(value) in (list, tuple) else ()
    return any(type(part) in _MAY_HOLD_LISTS and _holds_list(part) for part in parts)


def leave_plain_lists(places: Iterable[Place]) -> None:
    """Let what a trace has written hold Python's lists, where objects from outside may lead to those of the trace."""
    made: dict[int, tuple[Any, Any]] = {}
    for place in places:
        held = place.owner if isinstance(place, ContentsPlace) else place.get()
        left = with_own_lists(held, made)
        if left is not held and not isinstance(place, ContentsPlace):
            place.set(left)


def with_own_lists(value: Any, made: dict[int, tuple[Any, Any]]) -> Any:
    """A value in which a Python list is in the place of each list of the trace, one for each.

    ``made``: by identity, what has been seen, with what is in their place.
    """
    kind = type(value)
    if kind not in (TracedList, list, dict, tuple, collections.deque):
        return value
    if kind is tuple:
        items = tuple(with_own_lists(part, made) for part in value)
        return value if all(map(operator.is_, items, value)) else items
    if id(value) in made:
        return made[id(value)][1]
    contents = value.contents() if kind is TracedList else ()
    if type(contents) is not tuple:
        return value
    left: Any = [] if kind is TracedList else value
    made[id(value)] = value, left
    if kind is TracedList:
        left.extend(with_own_lists(part, made) for part in contents)
        return left
    for key, part in list(value.items() if kind is dict else enumerate(value)):
        own = with_own_lists(part, made)
        if own is not part:
            left[key] = own
    return left
