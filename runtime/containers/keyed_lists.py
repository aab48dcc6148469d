"""`KeyedList`: a list of traced length that finds its elements by their keys, which no two of them share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

import jax.numpy as jnp

from autograph.runtime.containers.element_kinds import ARRAY
from autograph.runtime.containers.element_order import equal_to
from autograph.runtime.containers.key_parts import check_hashable, holds_tracer, scalar_of
from autograph.runtime.containers.padded import Padded
from autograph.runtime.containers.traced_lists import TracedList
from autograph.runtime.errors import StagingError
from autograph.runtime.layouts.kinds import Tree
from autograph.runtime.tracing.locations import user_location

# How a comparison is asked of the other operand.
MIRRORED: Mapping[str, str] = MappingProxyType({"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="})


class KeyedList(TracedList):
    """The part that a `TracedSet` and a `TracedDict` share: each is a list of what it holds, in the order in which that came.

    Attributes: has_order (whether that is Python's).
    """

    __slots__ = ()
    stands_for: type = set
    has_order = True

    def key_of(self, element: Any) -> Any:
        """The key of an element."""
        raise NotImplementedError

    def keys_held(self) -> Padded | None:
        """The keys of all elements; None if there is none."""
        raise NotImplementedError

    def in_order(self) -> TracedList:
        """A list of the keys in Python's order.

        Raises:
          StagingError: it is not known.
        """
        raise NotImplementedError

    def listed(self) -> TracedList:
        """What ``list`` makes of it."""
        return self.in_order()

    def members(self) -> TracedList:
        """A list of the keys, for what does not depend on their order."""
        raise NotImplementedError

    def plain(self) -> Any:
        """Python's container, of elements that are known."""
        raise NotImplementedError

    def compared(self, symbol: str, other: Any) -> Any:
        """``self < other`` and the like, a traced bool where elements are; NotImplemented for what it is not compared with."""
        raise NotImplementedError

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> Any:
        return self is other or self._asked("==", other, False)

    def __ne__(self, other: object) -> Any:
        return self is not other and self._asked("!=", other, True)

    def __lt__(self, other: Any) -> Any:
        return self.compared("<", other)

    def __le__(self, other: Any) -> Any:
        return self.compared("<=", other)

    def __gt__(self, other: Any) -> Any:
        return self.compared(">", other)

    def __ge__(self, other: Any) -> Any:
        return self.compared(">=", other)

    def _asked(self, symbol: str, other: Any, otherwise: bool) -> Any:
        found = self.compared(symbol, other)
        return otherwise if found is NotImplemented else found

    def resolve(self) -> Any:
        self.note_read()
        if self._is_padded() and isinstance(self._held.length, int):
            elements = self._held.elements(self._held.length)
        elif self._is_padded():
            return self
        else:
            elements = list(list.__iter__(self))
        keys = [self.key_of(element) for element in elements]
        return self if any(map(holds_tracer, keys)) else self.plain_of(elements)

    def plain_of(self, elements: list[Any]) -> Any:
        """Python's container of these elements."""
        raise NotImplementedError

    def as_list(self) -> TracedList:
        return self.in_order()

    def __iter__(self) -> Iterator[Any]:
        return iter(self.in_order())

    def __reversed__(self) -> Iterator[Any]:
        return iter(self.in_order()[::-1])

    def __contains__(self, key: Any) -> bool:
        return bool(self.has(key))

    def __repr__(self) -> str:
        found = self.resolve()
        return (
            repr(self._held)
            if found is self and self._is_padded()
            else list.__repr__(self)
            if found is self
            else repr(found)
        )

    def __reduce_ex__(self, _: Any) -> Any:
        return _itself, (self.resolve(),)

    def has(self, key: Any) -> Any:
        """``key in self``: a bool, traced where only run time knows."""
        self.note_read()
        return self.find(key)[0]

    def find(self, key: Any) -> tuple[Any, Any]:
        """Whether an element has this key, and the index of that; of no element in particular where none has."""
        check_hashable(key)
        if not self._is_padded():
            found = self._found_now(key)
            if found is not None:
                return found
        elif not self.contents().capacity:  # there is no element, whose kind would be known
            return False, 0
        held = self.keys_held()
        assert held is not None
        same = equal_to(held, key)
        return jnp.any(same), jnp.argmax(same)

    def _found_now(self, key: Any) -> tuple[Any, Any] | None:
        """The same where it is known while tracing; else None."""
        keys = [self.key_of(element) for element in list.__iter__(self)]
        if not keys:
            return False, 0
        for k, each in enumerate(keys):
            if each is key:
                return True, k
        if holds_tracer(key) or any(map(holds_tracer, keys)):
            return None
        key, keys = scalar_of(key), list(map(scalar_of, keys))
        return (True, keys.index(key)) if key in keys else (False, 0)

    def stack(self) -> None:
        elements = tuple(list.__iter__(self))
        self.set_contents(())
        self.set_contents(Padded.holding(elements, self))
        self._note_places(elements, 0)

    def in_arrays(self) -> Padded:
        """What is held, in arrays from now on. There is an element."""
        if not self._is_padded():
            if self.checks is not None:
                self.checks.journal.touch_contents(self)
            self.stack()
        return self._held

    def add_unless(self, present: Any, element: Any) -> None:
        """Append an element, unless one is ``present`` that has its key."""
        if present is True:
            return
        if present is False:
            self.append(element)
            return
        held = self.in_arrays()
        length = jnp.where(present, held.length, held.length + 1)
        self._check_room(length, held)
        place = held.length
        # Beyond the length anything may stand: so nothing need be chosen.
        grown = held.appended(element)
        self.padded = grown.with_(length=length, extent=grown.extent.shortened())
        self._note_places([element], place)
        self.note_size()

    def take_out(self, present: Any, index: Any) -> None:
        """Remove the element at an index where one is ``present`` there."""
        if present is False:
            return
        self.moves += 1
        if present is True and not self._is_padded():
            list.__delitem__(self, index)
            return
        held = self.in_arrays()
        place = jnp.where(present, index, held.capacity)
        length = jnp.where(present, held.length - 1, held.length)
        self.padded = held.without(place).with_(length=length, extent=held.extent.shortened())

    def check_present(self, present: Any, key: Any) -> None:
        """Raise `KeyError` where there is no such key."""
        if present is False:
            if self.checks.journal.is_open:
                raise self.checks.exception(NoKeyError, key)
            raise self.checks.raised(self.checks.exception(KeyError, key))
        if present is not True:
            self.checks.raise_unless(present, lambda: self.checks.exception(KeyError, key))


class NoKeyError(KeyError):
    """A key is asked for that is not there while tracing."""


def _itself(value: Any) -> Any:
    return value


def part_of_tuples(held: Padded, number: int) -> Padded:
    """The parts of this number of elements that are tuples."""
    layout = held.kind.layout
    assert isinstance(layout, Tree)
    parts = list(layout.parts)
    first = sum(part.count for part in parts[:number])
    statics = held.kind.statics
    mine = statics[first : first + parts[number].count]
    before = sum(static is ARRAY for static in statics[:first])
    count = sum(static is ARRAY for static in mine)
    kind = type(held.kind)(parts[number], mine)
    return held.with_(kind=kind, buffers=held.buffers[before : before + count]).unreserved()


def negated(truth: Any) -> Any:
    """The opposite of a bool, which may be traced."""
    return not truth if isinstance(truth, bool) else ~truth


def without_order(what: str) -> StagingError:
    """The error for reading the order of a set that only run time knows."""
    return StagingError(
        f"{user_location()}\n  {what} the order of a set, some elements of which are traced, or are added under a traced condition: "
        "Python's order depends on all their values.\n  Sort the elements: sorted(s). len, sum and `in` need no order, "
        "nor do min and max without a key."
    )
