"""`TracedDeque`: a ``collections.deque`` inside a trace, a list of traced length with deque's methods."""

from __future__ import annotations

import collections
from collections.abc import Iterable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from autograph.runtime.containers.extents import at_most
from autograph.runtime.containers.searched_lists import empty_list
from autograph.runtime.containers.traced_lists import TracedList, is_traced_list


@jax.tree_util.register_pytree_node_class
class TracedDeque(TracedList):
    """A deque made inside a trace.

    Attributes: maxlen (how many elements it has at most; None for any number).
    """

    __slots__ = ("maxlen", "most")
    stands_for = collections.deque

    def __init__(self, values: Iterable[Any] = (), maxlen: int | None = None, checks: Any = None) -> None:
        self.maxlen = self.most = collections.deque((), maxlen).maxlen  # which checks it
        super().__init__((), checks)
        self.extend(values)

    def tree_flatten(self) -> tuple[tuple[Any, ...], Any]:
        children, (is_padded, checks) = super().tree_flatten()
        return children, (is_padded, checks, self.maxlen)

    @classmethod
    def tree_unflatten(cls, facts: Any, children: Any) -> TracedDeque:
        made = cls((), facts[2], facts[1])
        made.set_contents(children[0] if facts[0] else tuple(children))
        return made

    @classmethod
    def sort_of(cls, facts: Any) -> Any:
        return collections.deque, facts[2]

    @staticmethod
    def shown(facts: Any, items: Sequence[object]) -> str:
        return f"deque({list(items)}{'' if facts[2] is None else f', maxlen={facts[2]}'})"

    @classmethod
    def _empty(cls, facts: Any, checks: Any) -> TracedDeque:
        return cls((), facts, checks)

    def fresh(self) -> TracedDeque:
        return TracedDeque((), self.maxlen, self.checks)

    def resolve(self) -> Any:
        found = super().resolve()
        return found if found is self else collections.deque(found, self.maxlen)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            raise TypeError("sequence index must be integer, not 'slice'")
        return super().__getitem__(key)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, collections.deque | TracedDeque) and list(self) == list(other))

    __hash__ = None  # type: ignore[assignment]

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __repr__(self) -> str:
        bound = "" if self.maxlen is None else f", maxlen={self.maxlen}"
        return f"deque({super().__repr__()}{bound})"

    def __reduce_ex__(self, _: Any) -> Any:
        return collections.deque, (list(self), self.maxlen)

    def append(self, value: Any) -> None:
        if self.maxlen == 0:
            return
        super().append(value)
        self._drop_beyond(from_left=True)

    def appendleft(self, value: Any) -> None:
        """As deque's."""
        if self.maxlen == 0:
            return
        super().insert(0, value)
        self._drop_beyond(from_left=False)

    def insert(self, index: Any, value: Any) -> None:
        if self.maxlen is not None:
            self._make_sure(self.size() < self.maxlen, IndexError("deque already at its maximum size"))
        super().insert(index, value)

    def extend(self, values: Any) -> None:
        if self.maxlen is None:
            super().extend(values)
        elif self.maxlen and is_traced_list(values):
            whole = self.as_list()
            whole.extend(values)
            self.set_contents(whole[-self.maxlen :].contents())
        else:
            for value in list(values):
                self.append(value)

    def extendleft(self, values: Any) -> None:
        """As deque's."""
        for value in list(values):
            self.appendleft(value)

    def popleft(self) -> Any:
        """As deque's."""
        return self._popped(0)

    def pop(self, *none: Any) -> Any:
        if none and self._is_padded():
            return super().pop(*none)  # of `del` and `remove`
        return self._popped(-1)

    def _popped(self, index: int) -> Any:
        self.note_read()
        if self._is_padded():
            self._make_sure(self.size() > 0, IndexError("pop from an empty deque"))
        elif not list.__len__(self):
            raise empty_list("pop from an empty deque")
        return super().pop(index)

    def rotate(self, n: Any = 1) -> None:
        """As deque's."""
        self.note_read()
        if not self._is_padded() and isinstance(n, int):
            items = collections.deque(self)
            items.rotate(n)
            self.set_contents(tuple(items))
            return
        held = self.as_padded()
        if held is not None:
            self.moves += 1
            places = jnp.arange(held.capacity)
            places = jnp.where(places < held.length, (places - n) % jnp.maximum(held.length, 1), places)
            self.padded = held.gathered(places, held.length)

    def __mul__(self, count: Any) -> Any:
        return TracedDeque(list(self) * count, self.maxlen, self.checks)

    __rmul__ = __mul__

    def sort(self, **_: Any) -> None:
        raise AttributeError("'collections.deque' object has no attribute 'sort'")

    def _drop_beyond(self, from_left: bool) -> None:
        """Drop an element that is one too many."""
        if self.maxlen is None:
            return
        if not self._is_padded() or isinstance(self._held.length, int):
            if len(self) > self.maxlen:
                super().pop(0 if from_left else -1)
            return
        self.moves += 1
        held = self._held
        is_over = held.length > self.maxlen
        if from_left:
            held = held.without_first(is_over)
        extent = held.extent.becoming(at_most(self.maxlen))
        self.padded = held.with_(length=held.length - is_over.astype(jnp.int32), extent=extent)

    def _make_sure(self, condition: Any, error: Exception) -> None:
        if isinstance(condition, bool):
            if not condition:
                raise error
        elif self.checks is not None and self.checks.can_raise_later(type(error)):
            self.checks.raise_unless(condition, error, is_check=True)
