"""`UnorderedList`: the elements of a set as a list. Their order is not Python's, so what depends on it is refused."""

from __future__ import annotations

from typing import Any

import jax

from autograph.runtime.containers.keyed_lists import KeyedList, without_order
from autograph.runtime.containers.padded import Padded, as_seen
from autograph.runtime.containers.traced_lists import TracedList


class _ListOfSet(list[Any]):
    """What `UnorderedList` stands for: a list, whose items others may not take in the order that they have."""


_ListOfSet.__name__, _ListOfSet.__module__ = list.__name__, list.__module__


@jax.tree_util.register_pytree_node_class
class UnorderedList(KeyedList):
    """What ``list(s)`` returns of a set of which only run time knows the elements: has a length, elements and a sum.

    `sort` gives it an order: it is any list then.

    Attributes: has_own_keys (whether no two of its elements, pairs, have the same key, or if so, also the same value).
    """

    __slots__ = ()
    has_own_keys = False
    stands_for = _ListOfSet
    has_order = False

    def key_of(self, element: Any) -> Any:
        return element

    def keys_held(self) -> Padded | None:
        return as_seen(self.contents())

    def in_order(self) -> TracedList:
        raise without_order("This reads")

    def resolve(self) -> Any:
        raise without_order("A result, or a text, has")

    def members(self) -> TracedList:
        self.note_read()
        return TracedList((), self.checks).holding(self._copied())

    def plain(self) -> Any:
        raise without_order("This reads")

    def fresh(self) -> UnorderedList:
        return UnorderedList((), self.checks)

    def listed(self) -> UnorderedList:
        return self.copy()

    def copy(self) -> UnorderedList:
        """As list's."""
        self.note_read()
        return self.holding(self._copied())

    def compared(self, symbol: str, other: Any) -> Any:
        if isinstance(other, list):
            raise without_order("This compares")
        return symbol == "!=" if symbol in ("==", "!=") else NotImplemented

    def sort(self, *, key: Any = None, reverse: bool = False) -> None:
        if key is not None:
            raise without_order("Elements with equal keys keep")
        if not _is_made_here(self):
            raise without_order("A list that is sorted in a staged statement, and was made before, may have")
        TracedList.sort(self, reverse=reverse)
        self.__class__ = TracedList  # type: ignore[assignment]

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise without_order("This reads")

    extend = insert = remove = reverse = pop = index = exchange = set_slice = element = _refuse
    __getitem__ = __setitem__ = __delitem__ = __add__ = __radd__ = __iadd__ = __mul__ = __rmul__ = __imul__ = _refuse


def can_let_go_of_order(items: Any) -> bool:
    """Whether this may become such a list: one that the program makes, and no subclass of list, nor one that other paths have as it is."""
    return type(items) is UnorderedList or (type(items) is TracedList and _is_made_here(items))


def _is_made_here(items: TracedList) -> bool:
    return not items.checks.journal.is_open or bool(items.checks.journal.has_made(items))


@jax.tree_util.register_pytree_node_class
class UnorderedPairs(UnorderedList):
    """Such a list of pairs, of which a dict can be made: two with the same key have the same value."""

    __slots__ = ()
    has_own_keys = True

    def fresh(self) -> UnorderedPairs:
        return UnorderedPairs((), self.checks)
