"""`UnorderedDict`: a dict whose keys are those of a set of traced elements. Their order is not Python's: what depends on it is refused."""

from __future__ import annotations

import contextlib
from typing import Any

import jax

from autograph.runtime.containers.keyed_lists import without_order
from autograph.runtime.containers.traced_dicts import TracedDict, check_unwritten
from autograph.runtime.containers.traced_lists import TracedList
from autograph.runtime.containers.traced_sets import TracedSet
from autograph.runtime.containers.unordered_lists import UnorderedList, UnorderedPairs


@jax.tree_util.register_pytree_node_class
class UnorderedDict(TracedDict):
    """What ``{v: … for v in s}`` makes of a set of which only run time knows the elements. It leaves the program with sorted keys."""

    __slots__ = ()
    has_order = False

    def in_order(self) -> TracedList:
        if not self._is_padded() and list.__len__(self) < 2:
            return self.members()
        raise without_order("This reads")

    def members(self) -> TracedList:
        return self._part(0)

    def listed(self) -> Any:
        return self._unordered(0)

    def _of_kind(self, items: dict[Any, Any]) -> Any:
        with contextlib.suppress(TypeError):  # they have no order, and JAX leaves them as they came
            items = {key: items[key] for key in sorted(items)}
        return super()._of_kind(items)

    def fresh(self) -> UnorderedDict:
        return UnorderedDict((), self.checks, self.kind, self.factory)

    def disorder(self, other: TracedDict) -> None:
        let_go_of_order(other)

    def _unordered(self, number: int | None) -> UnorderedView:
        view = UnorderedView((), self.checks)
        view.set_contents(self.members_of(number).contents())
        view.owner, view.then = self, self.contents()
        view.has_own_keys = number is None
        self.checks.journal.born(view)
        return view

    def keys(self) -> Any:
        return self._unordered(0)

    def values(self) -> Any:
        return self._unordered(1)

    def items(self) -> Any:
        return self._unordered(None)

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise without_order("This reads")

    popitem = move_to_end = most_common = elements = __reversed__ = _refuse


@jax.tree_util.register_pytree_node_class
class UnorderedView(UnorderedList):
    """What ``keys``, ``values`` and ``items`` of such a dict give, as long as the dict holds what it held then.

    Attributes: owner (the dict), then (what it held).
    """

    __slots__ = ("has_own_keys", "owner", "then")
    owner: TracedDict
    then: Any

    @classmethod
    def tree_unflatten(cls, facts: Any, children: Any) -> Any:
        return UnorderedList.tree_unflatten(facts, children)

    def fresh(self) -> UnorderedList:
        return UnorderedPairs((), self.checks) if self.has_own_keys else UnorderedList((), self.checks)

    def note_read(self) -> None:
        owner: TracedDict | None = getattr(self, "owner", None)
        if owner is not None:
            check_unwritten(owner, self.then)
        super().note_read()

    def as_set(self) -> TracedSet:
        """The set of the keys, or of the pairs."""
        made = TracedSet((), self.checks)
        made.set_contents(self.members().contents())
        return made

    def compared(self, symbol: str, other: Any) -> Any:
        return self.as_set().compared(symbol, other)

    def __and__(self, other: Any) -> Any:
        return self.as_set() & TracedSet(other, self.checks)

    def __or__(self, other: Any) -> Any:
        return self.as_set() | TracedSet(other, self.checks)

    def __sub__(self, other: Any) -> Any:
        return self.as_set() - TracedSet(other, self.checks)

    def __xor__(self, other: Any) -> Any:
        return self.as_set() ^ TracedSet(other, self.checks)


def let_go_of_order(made: TracedDict) -> None:
    """Let a dict be one whose keys have no order, where it was made.

    Raises:
      StagingError: it was made elsewhere, and may be the one with an order there.
    """
    if not made.has_order:
        return
    if made.checks.journal.is_open and not made.checks.journal.has_made(made):
        raise without_order("A dict that is written in a staged statement, and was made before, may have")
    made.__class__ = UnorderedDict
