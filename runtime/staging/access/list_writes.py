"""Writes to lists at a traced index, as a select between the old and the new value of each item."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeGuard

import jax.numpy as jnp

from autograph.backends.base import Backend
from autograph.runtime.containers.iterables import UNROLLED_AT_MOST
from autograph.runtime.containers.padded import are_alike
from autograph.runtime.containers.traced_lists import TracedList
from autograph.runtime.errors import StagingError
from autograph.runtime.heap.identities import Choice, Identities
from autograph.runtime.heap.journal import ContentsPlace, Journal
from autograph.runtime.staging.access.lookups import counted_from_start
from autograph.runtime.staging.access.operations import user_method
from autograph.runtime.tracing.locations import user_location, warn


class ListWrites:
    """Writes of lists at traced indices.

    Args:
      if_exp: of `Conditionals`.
      can_raise_later, raise_unless: of `Raising`.
      get_item, set_item, set_attr: of `Items`.
    """

    def __init__(
        self,
        backend: Backend,
        journal: Journal,
        identities: Identities,
        if_exp: Callable[..., Any],
        can_raise_later: Callable[[], bool],
        raise_unless: Callable[..., None],
        get_item: Callable[[Any, Any], Any],
        set_item: Callable[[Any, Any, Any], Any],
        set_attr: Callable[[Any, str, Any], None],
    ) -> None:
        self.backend = backend
        self.journal = journal
        self.identities = identities
        self.if_exp = if_exp
        self.can_raise_later = can_raise_later
        self.raise_unless = raise_unless
        self.get_item = get_item
        self.set_item = set_item
        self.set_attr = set_attr

    def is_chosen_anew(self, target: Any, key: Any, value: Any) -> TypeGuard[list[Any]]:
        """Whether ``target[key] = value`` is for `with_one_replaced`: lists that are carried as one array write that."""
        if not isinstance(target, list) or not self.backend.is_traced(key):
            return False
        if user_method(type(target), "__setitem__") is not None:
            return False
        if not isinstance(target, TracedList):
            return True
        contents = target.contents()
        return isinstance(contents, tuple) and not are_alike((*contents, value))

    def with_one_replaced(self, items: list[Any], key: Any, value: Any) -> list[Any]:
        """The items, ``value`` at a traced index.

        Raises:
          IndexError: there is no such item; when the program runs, if only then that is known.
          TypeError: the index is no integer.
        """
        if jnp.ndim(key) or not jnp.issubdtype(jnp.result_type(key), jnp.integer):
            raise TypeError(f"list indices must be integers or slices, not {self.backend.type_of(key)}")
        if not items:
            raise IndexError("list assignment index out of range")
        if self.journal.is_rolling and len(items) > UNROLLED_AT_MOST:
            # Iterations that know the index write one item each.
            raise StagingError(f"{user_location()}\n  A list of {len(items)} items is written at the loop's index.")
        if len(items) > UNROLLED_AT_MOST:
            _warn_of(len(items))
        place = counted_from_start(key, len(items))
        self._check_range(place, len(items), "list assignment index out of range")
        return [self._either(place == k, value, item) for k, item in enumerate(items)]

    def write_through(self, target: Any, key: Any, value: Any) -> bool:
        """``target[key] = value`` for what a traced index chose, written to what it was chosen among as well.

        False if it was not chosen so, or outside the block that is being traced.
        """
        choice = self._choice_of(target)
        if choice is None:
            return False
        with self.identities.writing_through(target):
            for is_that, candidate in self._each(choice):
                self.set_item(candidate, key, self._either(is_that, value, self.get_item(candidate, key)))
            if self.journal.is_open:
                self.journal.touch(ContentsPlace(target))
            if self.is_chosen_anew(target, key, value):
                target[:] = self.with_one_replaced(target, key, value)
            else:
                target[key] = value
        return True

    def write_attribute_through(self, target: Any, name: str, value: Any) -> bool:
        """As `write_through`, for ``target.name = value`` of an object that a traced index chose."""
        choice = self._choice_of(target)
        if choice is None or not all(hasattr(candidate, name) for candidate in choice.candidates):
            return False
        with self.identities.writing_through(target):
            for is_that, candidate in self._each(choice):
                self.set_attr(candidate, name, self._either(is_that, value, getattr(candidate, name)))
            self.set_attr(target, name, value)
        return True

    def _choice_of(self, target: Any) -> Choice | None:
        choice = self.identities.choice_of(target)
        return choice if choice is not None and choice.block is self.journal.block else None

    def _each(self, choice: Choice) -> Iterator[tuple[Any, Any]]:
        """Whether it is the one that was chosen, and each of those that it was chosen among."""
        count = len(choice.candidates)
        place = counted_from_start(choice.key, count)
        self._check_range(place, count, "list index out of range")
        if count > UNROLLED_AT_MOST:
            _warn_of(count)
        for k, candidate in enumerate(choice.candidates):
            yield place == k, candidate

    def _check_range(self, place: Any, count: int, message: str) -> None:
        if self.can_raise_later():
            self.raise_unless((place >= 0) & (place < count), IndexError(message), is_check=True)

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


def _warn_of(count: int) -> None:
    warn(
        f"Each of the {count} items of this list may be the one that is written, so the program contains a select for "
        "each.\n"
        "  An array (np.zeros, jnp.stack) is written in place."
    )
