"""Writes to lists at a traced index, as a select between the old and the new value of each item."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeGuard

import jax.numpy as jnp

from autograph.backends.base import Backend
from autograph.runtime.containers.element_kinds import are_alike
from autograph.runtime.containers.iterables import UNROLLED_AT_MOST
from autograph.runtime.containers.lengths import is_integer
from autograph.runtime.containers.traced_lists import TracedList
from autograph.runtime.effects.staged_raises import Raising
from autograph.runtime.errors import StagingError
from autograph.runtime.heap.copies import PerhapsKnown
from autograph.runtime.heap.in_trace import InTrace, Trace
from autograph.runtime.staging.access.aliased_writes import warn_of_many
from autograph.runtime.staging.access.user_methods import user_method
from autograph.runtime.tracing.locations import user_location


class ListWrites(InTrace):
    """Writes of lists at traced indices.

    Args:
      if_exp: of `Conditionals`.
    """

    def __init__(
        self,
        backend: Backend,
        trace: Callable[[], Trace],
        if_exp: Callable[..., Any],
        raising: Raising,
    ) -> None:
        self.backend = backend
        super().__init__(trace)
        self.if_exp = if_exp
        self.raising = raising

    def is_chosen_anew(self, target: Any, key: Any, value: Any) -> TypeGuard[list[Any]]:
        """Whether ``target[key] = value`` is for `with_one_replaced`: lists that one array may hold write that. One of few items
        that may be another list stays as it is, so that the other is written item by item, too."""
        if not isinstance(target, list) or not self.backend.is_traced(key):
            return False
        if user_method(type(target), "__setitem__") is not None:
            return False
        if not isinstance(target, TracedList):
            return True
        contents = target.contents()
        if not isinstance(contents, tuple):
            return False
        is_one_of_several = len(contents) <= UNROLLED_AT_MOST and any(
            self.backend.is_traced(alias.condition) for alias in self.identities.aliases(target)
        )
        return is_one_of_several or not (contents and are_alike((*contents, value)))

    def with_one_replaced(self, items: list[Any], key: Any, value: Any) -> list[Any]:
        """The items, ``value`` at a traced index.

        Raises:
          IndexError: there is no such item; when the program runs, if only then that is known.
          TypeError: the index is no integer.
        """
        if not is_integer(key):
            raise TypeError(f"list indices must be integers or slices, not {self.backend.type_of(key)}")
        if not items:
            raise IndexError("list assignment index out of range")
        if len(items) > UNROLLED_AT_MOST:
            line, traced = user_location(), self.journal.copies.traced
            if self.journal.is_rolling and line not in traced:
                # Iterations that know the index write one item each.
                raise PerhapsKnown(line, f"{line}\n  A list of {len(items)} items is written at the loop's index.")
            traced.add(line)
            warn_of_many(len(items))
        place = counted_from_start(key, len(items))
        self.check_range(place, len(items), "list assignment index out of range")
        return [self._either(place == k, value, item) for k, item in enumerate(items)]

    def check_range(self, place: Any, count: int, message: str) -> None:
        """Raise `IndexError` where a number is none of ``count`` items, counted from the start."""
        if self.raising.can_raise_later(IndexError):
            self.raising.raise_unless((place >= 0) & (place < count), IndexError(message), is_check=True)

    def _either(self, condition: Any, new: Any, old: Any) -> Any:
        """One of two items."""
        one, other = map(self.backend.type_of, (new, old))
        if one is not None and other is not None and one.shape == other.shape:
            return jnp.where(condition, new, old)
        try:
            return self.if_exp(condition, lambda: new, lambda: old)
        except StagingError as error:
            _, _, *facts = str(error).splitlines()
            raise StagingError(
                "\n".join(
                    [
                        f"{user_location()}\n  A list is written at a traced index: only at run time is it known "
                        "which item gets the new value (if true) and which stay what they are (if false).",
                        *facts,
                    ]
                )
            ) from None


def counted_from_start(key: Any, count: int) -> Any:
    """An index into ``count`` items as one that is not negative."""
    return jnp.where(key < 0, key + count, key)
