"""`SearchedList`: the methods of lists that compare the elements."""

from __future__ import annotations

import operator
import sys
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import jax
import jax.numpy as jnp

from autograph.backends.selected import STAGING
from autograph.runtime.containers.element_kinds import are_alike
from autograph.runtime.containers.element_order import are_equal, equal_to, in_order, order_of
from autograph.runtime.containers.padded import Padded, as_padded, as_seen
from autograph.runtime.errors import StagingError
from autograph.runtime.layouts.statement_variables import holds_traced
from autograph.runtime.tracing.language import LANGUAGE

_ORDERS: Mapping[str, Any] = MappingProxyType(
    {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
)


def sequence_class(value: Any) -> type | None:
    """What this is in Python: a list, a tuple or, of what is held in arrays, a deque; None for anything else."""
    if isinstance(value, SearchedList):
        return value.stands_for
    return next((kind for kind in (list, tuple) if isinstance(value, kind)), None)


_NO_LISTS = frozenset([str, bytes, bool, int, float, complex, tuple, dict, set, frozenset, type(None)])  # equal to none


class NoItemError(ValueError):
    """A value is searched for in a list that is empty while tracing."""


class EmptyListError(IndexError):
    """An element was asked of a list that is empty while tracing."""


def empty_list(*args: Any) -> IndexError:
    """The error for that: in a staged block, which says by its class what the block raises when it runs; elsewhere Python's."""
    return (EmptyListError if LANGUAGE.operators.journal.is_open else IndexError)(*args)


def _is_traced(truths: list[Any]) -> bool:
    """Whether one of these bools is traced."""
    return not all(isinstance(each, bool) for each in truths)


class SearchedList(list[Any]):
    """The part of a `TracedList` that compares elements, with each other or with a value."""

    __slots__ = ()

    padded: Padded | None
    checks: Any
    moves: int
    stands_for: type

    def note_read(self) -> None:
        raise NotImplementedError

    def _is_padded(self) -> bool:
        raise NotImplementedError

    def contents(self) -> Any:
        raise NotImplementedError

    def _refused(self, what: str) -> StagingError:
        raise NotImplementedError

    @property
    def _held(self) -> Padded:
        assert self.padded is not None
        return self.padded

    def is_open(self) -> bool:
        """Whether the length is traced."""
        return self._is_padded() and not isinstance(self._held.length, int)

    def as_padded(self) -> Padded | None:
        """The contents as `Padded`; None if there is no element to tell what they are like."""
        return as_padded(self.contents())

    def __eq__(self, other: object) -> bool:
        if type(other) in _NO_LISTS and self.stands_for is list:
            return NotImplemented
        if self.checks is not None and self._is_open_beside(other):
            return self.checks.operate("==", self, other)
        return self is other or list(self) == other

    __hash__ = None

    def __ne__(self, other: object) -> bool:
        if type(other) in _NO_LISTS and self.stands_for is list:
            return NotImplemented
        if self.checks is not None and self._is_open_beside(other):
            return self.checks.operate("!=", self, other)
        return self is not other and list(self) != other

    def __lt__(self, other: Any) -> Any:
        return self._ordered("<", other)

    def __le__(self, other: Any) -> Any:
        return self._ordered("<=", other)

    def __gt__(self, other: Any) -> Any:
        return self._ordered(">", other)

    def __ge__(self, other: Any) -> Any:
        return self._ordered(">=", other)

    def _ordered(self, symbol: str, other: Any) -> Any:
        """A comparison by order, also where Python's own operator asks for it."""
        if sequence_class(self) is not sequence_class(other):
            return NotImplemented
        if self.checks is not None and (self._is_open_beside(other) or holds_traced(self) or holds_traced(other)):
            return self.checks.operate(symbol, self, other)
        return _ORDERS[symbol](list(self), list(other))

    def _is_open_beside(self, other: Any) -> bool:
        """Whether a length is traced of one of the two that are compared."""
        return any(isinstance(each, SearchedList) and each.is_open() for each in (self, other))

    def before(self, other: list[Any]) -> tuple[Any, Any]:
        """Whether this comes before another list, and whether they are equal, where a length is traced."""
        self.note_read()
        found = as_seen(other.contents() if isinstance(other, SearchedList) else tuple(other))
        mine = as_seen(self.contents())
        if mine is None or found is None:
            lengths = [0 if each is None else each.length for each in (mine, found)]
            return lengths[0] < lengths[1], lengths[0] == lengths[1]
        return in_order(mine, found)

    def equals(self, other: list[Any]) -> Any:
        """``self == other``, where a length is traced."""
        self.note_read()
        found = as_seen(other.contents() if isinstance(other, SearchedList) else tuple(other))
        mine = as_seen(self.contents())
        if mine is None or found is None:
            return (0 if mine is None else mine.length) == (0 if found is None else found.length)
        return are_equal(mine, found)

    def sort(self, *, key: Any = None, reverse: bool = False) -> None:
        self.note_read()
        if self._is_padded() and (key_at := self.checks.orderings.key_at(self, key)) is not None:
            places = self.checks.orderings.order_by_calls(key_at, self._held, reverse)
            self.moves += 1
            self.padded = self._held.gathered(places, self._held.length)
            return
        self.moves += 1
        if not self._is_padded():
            found = self.checks and self.checks.orderings.ordered(tuple(self), key, reverse)
            if found is None:
                list.sort(self, key=key, reverse=reverse)
            else:
                self[:] = found
            return
        held = self._held
        if key is not None:
            keys = self.checks.reductions.listed(self, self.checks.call(key)).as_padded()
            held = held if keys is None else keys.with_room(max(held.capacity, keys.capacity))
        self.padded = self._held.gathered(order_of(held, reverse)[: self._held.capacity], self._held.length)

    def _searched(self, value: Any) -> Padded | None:
        """The contents to search for a value; None if Python can."""
        self.note_read()
        if self._is_padded():
            return self._held
        is_traced = any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves((tuple(self), value)))
        return as_seen(self.contents()) if is_traced and are_alike((*self, value)) else None

    def _compared_with(self, value: Any) -> list[Any] | None:
        """For each element whether it is this value; None if Python can compare."""
        parts = (value, *self)
        if self.checks is None or not (
            holds_traced(parts) or self.checks.identities.take_part(parts) or self.checks.has_own_equality(*parts)
        ):
            return None
        return [self.checks.equals(each, value) for each in self]

    def count(self, value: Any) -> Any:
        searched = self._searched(value)
        if searched is None:
            if (same := self._compared_with(value)) is None:
                return list.count(self, value)
            return STAGING.number(sum(same), int) if _is_traced(same) else sum(same)
        return STAGING.number(jnp.sum(equal_to(searched, value)), int)

    def index(self, value: Any, *bounds: Any) -> Any:
        searched = self._searched(value)
        same = self._compared_with(value) if searched is None else None
        if searched is None and same is None and not any(isinstance(bound, jax.core.Tracer) for bound in bounds):
            return list.index(self, value, *bounds)
        if searched is None and same is None:
            same = [item is value or item == value for item in self]
        return self._place_of(same, searched, value, "index", bounds)

    def _place_of(
        self, same: list[Any] | None, searched: Padded | None, value: Any, method: str, bounds: Sequence[Any] = ()
    ) -> Any:
        """The first place with this value, between bounds, with Python's error where there is none."""
        if not (len(same or ()) if searched is None else searched.capacity):
            missing = self._missing(value, method)
            if LANGUAGE.operators.journal.is_open:
                raise LANGUAGE.operators.exception(NoItemError, missing)
            error = LANGUAGE.operators.exception(ValueError, missing)
            raise error if isinstance(missing, str) else LANGUAGE.operators.raised(error)
        if (
            same is not None
            and not _is_traced(same)
            and not any(isinstance(bound, jax.core.Tracer) for bound in bounds)
        ):
            start, stop, _ = slice(*(*bounds, None, None)[:2]).indices(len(same))
            if True not in same[start:stop]:
                raise ValueError(self._missing(value, method))
            return same.index(True, start, stop)
        found = jnp.array(same) if searched is None else equal_to(searched, value)
        if bounds:
            length = len(same or ()) if searched is None else searched.length
            first, last = (jnp.where(bound < 0, bound + length, bound) for bound in (*bounds, length)[:2])
            places = jnp.arange(found.shape[0])
            found = found & (places >= first) & (places < last)
        if self.checks is not None and self.checks.can_raise_later(ValueError):
            error = lambda: self.checks.exception(ValueError, self._missing(value, method))  # noqa: E731
            self.checks.raise_unless(jnp.any(found), error)
        return STAGING.number(jnp.argmax(found), int)

    def _missing(self, value: Any, method: str) -> Any:
        name = self.stands_for.__name__
        is_shown = name == "deque" or (name == "list" and method == "index" and sys.version_info < (3, 14))
        if not is_shown:
            return f"{name}.{method}(x): x not in {name}"
        return self.checks.text(lambda x: f"{x if hasattr(x, 'dtype') else repr(x)} is not in {name}", value)

    def remove(self, value: Any) -> None:
        searched = self._searched(value)
        same = self._compared_with(value) if searched is None else None
        if searched is None and same is None:
            list.remove(self, value)
        else:
            self.pop(self._place_of(same, searched, value, "remove"))

    def has(self, value: Any) -> Any:
        """``value in self``, where the length is traced."""
        self.note_read()
        return jnp.any(equal_to(self._held, value))

    def __contains__(self, value: Any) -> bool:
        self.note_read()
        return bool(self.has(value)) if self._is_padded() else list.__contains__(self, value)
