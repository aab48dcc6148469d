"""`TracedSet`: a set inside a trace of which only run time knows the elements, a list of traced length without duplicates."""

from __future__ import annotations

from collections.abc import Iterable, KeysView, Sequence
from typing import Any, NoReturn

import jax
import jax.numpy as jnp

from autograph.runtime.containers.element_order import equal_pairs
from autograph.runtime.containers.key_parts import check_hashable, holds_tracer, scalar_of
from autograph.runtime.containers.keyed_lists import MIRRORED, KeyedList, negated, without_order
from autograph.runtime.containers.padded import Padded, as_padded, as_seen
from autograph.runtime.containers.traced_lists import TracedList
from autograph.runtime.containers.unordered_lists import UnorderedList
from autograph.runtime.errors import StagingError
from autograph.runtime.tracing.language import LANGUAGE
from autograph.runtime.tracing.locations import user_location


@jax.tree_util.register_pytree_node_class
class TracedSet(KeyedList):
    """A set made inside a trace. It has its elements in the order in which they came, which is not Python's: nobody may see it."""

    __slots__ = ()
    has_order = False

    def __init__(self, values: Iterable[Any] = (), checks: Any = None) -> None:
        super().__init__((), checks)
        self.update(values)

    @staticmethod
    def shown(facts: Any, items: Sequence[object]) -> str:
        del facts
        return f"{{{', '.join(map(repr, items))}}}" if items else "set()"

    def key_of(self, element: Any) -> Any:
        return element

    def keys_held(self) -> Padded | None:
        return as_seen(self.contents())

    def in_order(self) -> TracedList:
        if self._is_padded() or list.__len__(self) > 1:
            known = self.resolve()
            if known is self or LANGUAGE.operators.backend.is_tracing():
                raise without_order("This reads")
            return TracedList(known, self.checks)
        return self.members()

    def listed(self) -> TracedList:
        if not self._is_padded() and list.__len__(self) < 2:
            return self.members()
        made = UnorderedList((), self.checks)
        known = self.resolve()
        return (
            made.holding(self._copied())
            if known is self or LANGUAGE.operators.backend.is_tracing()
            else self.in_order()
        )

    def members(self) -> TracedList:
        self.note_read()
        return TracedList((), self.checks).holding(self._copied())

    def plain(self) -> Any:
        return self.stands_for()

    def plain_of(self, elements: list[Any]) -> Any:
        return self.stands_for(map(scalar_of, elements))

    def fresh(self) -> TracedSet:
        return TracedSet((), self.checks)

    def copy(self) -> TracedSet:
        """As set's."""
        self.note_read()
        return self.holding(self._copied())

    def of(self, values: Any) -> TracedSet:
        """The set of what is in a set, list or other iterable."""
        if isinstance(values, TracedSet):
            return values
        made = TracedSet((), self.checks)
        made.update(values)
        if self.checks is not None:
            self.checks.journal.born(made)
        return made

    # What writes.

    def add(self, value: Any) -> None:
        """As set's."""
        self.note_read()
        self.add_unless(self.find(value)[0], value)

    def discard(self, value: Any) -> None:
        """As set's."""
        self.note_read()
        self.take_out(*self.find(value))

    def remove(self, value: Any) -> None:
        self.note_read()
        present, index = self.find(value)
        self.check_present(present, value)
        self.take_out(present, index)

    def pop(self, *_: Any) -> Any:
        raise without_order("`pop` takes an element by")

    def update(self, *others: Any) -> None:
        """As set's."""
        for values in others:
            if self.checks is not None and not isinstance(values, TracedList):
                values = self.checks.items_of(values)
            contents = _contents_of(values)
            if isinstance(contents, Padded):
                self._update_padded(contents, isinstance(values, TracedSet))
            elif any(map(holds_tracer, contents)) and not self.contents() and len(contents) > 1:
                for value in contents:
                    check_hashable(value)
                self._update_padded(Padded.holding(contents), isinstance(values, TracedSet))
            else:
                for value in contents:
                    self.add(value)

    def _update_padded(self, new: Padded, is_set: bool) -> None:
        self.note_read()
        new = new.unreserved()
        if not is_set:
            new = _distinct(new)
        mine = as_padded(self.contents())
        if mine is not None and mine.capacity and new.capacity:
            new = new.filtered(new.filled() & ~jnp.any(equal_pairs(mine, new), 1))
        self.extend(TracedList((), self.checks).holding(new))

    def intersection_update(self, *others: Any) -> None:
        """As set's."""
        for other in others:
            self._keep_where(other, True)

    def difference_update(self, *others: Any) -> None:
        """As set's."""
        for other in others:
            self._keep_where(other, False)

    def symmetric_difference_update(self, other: Any) -> None:
        """As set's."""
        other = self.of(other).copy()
        theirs = other.difference(self)
        self.difference_update(other)
        self.update(theirs)

    def _keep_where(self, other: Any, are_in: bool) -> None:
        """Keep the elements that are in the other set, or that are not."""
        self.note_read()
        other = self.of(other)
        if not self.contents():
            return
        self.moves += 1
        if not self._is_padded() and not other._is_padded():
            known = [(value, other._found_now(value)) for value in list.__iter__(self)]
            if all(found is not None for _, found in known):
                self.set_contents(tuple(value for value, found in known if found is not None and found[0] is are_in))
                return
        found = other.keys_held()
        held = self.in_arrays()
        is_in = jnp.zeros(held.capacity, bool) if found is None else jnp.any(equal_pairs(found, held), 1)
        kept_held = held.filtered(held.filled() & (is_in if are_in else ~is_in))
        self.padded = kept_held.with_(reserved=held.reserved)

    # What makes another.

    def _altered(self, name: str, *others: Any) -> Any:
        """A set of its kind: this one after the method of this name, which writes, was given the others."""
        self.note_read()
        made = TracedSet((), self.checks).holding(self._copied())
        getattr(made, name)(*others)
        return self.holding(made.contents())

    def union(self, *others: Any) -> TracedSet:
        """As set's."""
        return self._altered("update", *others)

    def intersection(self, *others: Any) -> TracedSet:
        """As set's."""
        return self._altered("intersection_update", *others)

    def difference(self, *others: Any) -> TracedSet:
        """As set's."""
        return self._altered("difference_update", *others)

    def symmetric_difference(self, other: Any) -> TracedSet:
        """As set's."""
        return self._altered("symmetric_difference_update", other)

    def _operated(self, name: str, other: Any, is_reflected: bool = False) -> Any:
        if not is_set(other):
            return NotImplemented
        if not is_reflected:
            return getattr(self, name)(self.of(other))
        kind = TracedFrozenSet if isinstance(other, frozenset) else TracedSet
        return getattr(kind(other, self.checks), name)(self)

    def __or__(self, other: Any) -> Any:
        return self._operated("union", other)

    def __and__(self, other: Any) -> Any:
        return self._operated("intersection", other)

    def __sub__(self, other: Any) -> Any:
        return self._operated("difference", other)

    def __xor__(self, other: Any) -> Any:
        return self._operated("symmetric_difference", other)

    def __ror__(self, other: Any) -> Any:
        return self._operated("union", other, True)

    def __rand__(self, other: Any) -> Any:
        return self._operated("intersection", other, True)

    def __rsub__(self, other: Any) -> Any:
        return self._operated("difference", other, True)

    def __rxor__(self, other: Any) -> Any:
        return self._operated("symmetric_difference", other, True)

    def _updated(self, name: str, other: Any) -> Any:
        if not is_set(other):
            return NotImplemented
        getattr(self, name)(other)
        return self

    def __ior__(self, other: Any) -> Any:
        return self._updated("update", other)

    def __iand__(self, other: Any) -> Any:
        return self._updated("intersection_update", other)

    def __isub__(self, other: Any) -> Any:
        return self._updated("difference_update", other)

    def __ixor__(self, other: Any) -> Any:
        return self._updated("symmetric_difference_update", other)

    # What compares.

    def compared(self, symbol: str, other: Any) -> Any:
        if not is_set(other):
            return symbol == "!=" if symbol in ("==", "!=") else NotImplemented
        other = self.of(other)
        if symbol in (">", ">="):
            return other.compared(MIRRORED[symbol], self)
        is_within, sizes = self.issubset(other), (self.size(), other.size())
        if symbol == "<=":
            return is_within
        if symbol == "<":
            return is_within & (sizes[0] < sizes[1])
        equal = is_within & (sizes[0] == sizes[1])
        return equal if symbol == "==" else negated(equal)

    def issubset(self, other: Any) -> Any:
        """As set's."""
        self.note_read()
        return self.difference(self.of(other)).size() == 0

    def issuperset(self, other: Any) -> Any:
        """As set's."""
        return self.of(other).issubset(self)

    def isdisjoint(self, other: Any) -> Any:
        """As set's."""
        return self.intersection(self.of(other)).size() == 0

    def __getitem__(self, key: Any) -> Any:
        return self.plain()[key]  # raises

    def __setitem__(self, key: Any, value: Any) -> None:
        self.plain()[key] = value

    def __delitem__(self, key: Any) -> None:
        del self.plain()[key]


@jax.tree_util.register_pytree_node_class
class TracedFrozenSet(TracedSet):
    """A frozenset made inside a trace: such a set without the methods that write."""

    __slots__ = ()
    stands_for = frozenset

    def __init__(self, values: Iterable[Any] = (), checks: Any = None) -> None:
        KeyedList.__init__(self, (), checks)
        self.set_contents(TracedSet(values, checks).contents())

    @staticmethod
    def shown(facts: Any, items: Sequence[object]) -> str:
        return f"frozenset({TracedSet.shown(facts, items) if items else ''})"

    def fresh(self) -> TracedFrozenSet:
        return TracedFrozenSet((), self.checks)

    def copy(self) -> TracedFrozenSet:
        """Itself, as frozenset's."""
        return self

    def _updated(self, name: str, other: Any) -> Any:
        return self._operated(name.removesuffix("_update").replace("update", "union"), other)

    def __hash__(self) -> int:  # type: ignore[override]
        raise StagingError(
            f"{user_location()}\n  A frozenset, some elements of which are traced, is used as a key of a dict, an element of a set or an "
            "argument of a cache: its hash is known only at run time.\n  Use a tuple as the key: tuple(sorted(s)), (min(a, b), max(a, b))."
        )


def _no_method(name: str) -> Any:
    def asked(self: TracedFrozenSet) -> NoReturn:
        raise AttributeError(f"'frozenset' object has no attribute {name!r}")

    return property(asked)


for _name in (
    *("add", "clear", "discard", "pop", "remove", "update"),
    *("intersection_update", "difference_update", "symmetric_difference_update"),
):
    setattr(TracedFrozenSet, _name, _no_method(_name))


def is_set(value: Any) -> bool:
    return isinstance(value, TracedSet | set | frozenset | KeysView)


def _contents_of(values: Any) -> Any:
    """What an iterable holds, a tuple or `Padded`."""
    if isinstance(values, KeyedList):
        return values.members().contents()
    if isinstance(values, TracedList):
        values.note_read()
        return values.contents()
    return tuple(values)


def _distinct(held: Padded) -> Padded:
    """The elements of a list less those that equal one before."""
    if held.capacity < 2:
        return held
    places = jnp.arange(held.capacity)
    is_again = jnp.any(equal_pairs(held, held) & (places < places[:, None]), 1)
    return held.filtered(held.filled() & ~is_again)
