"""An iteration of a loop over lists that its body may write to."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp

from autograph.runtime.containers.iterables import GoneOver, StagedIterable, is_same_length, length_of
from autograph.runtime.containers.lengths import changes_length
from autograph.runtime.containers.traced_lists import TracedList
from autograph.runtime.effects.staged_raises import Raising
from autograph.runtime.errors import StagingError
from autograph.runtime.layouts.statement_variables import Slot, Variable
from autograph.runtime.staging.statements.loop_state import WrittenOver


def lists_written(staged: StagedIterable, variables: Sequence[Variable]) -> list[ListWritten]:
    """What may write to the lists that a loop goes over: the variables that hold them, and the lists themselves."""
    found = [(v.get, each) for v in variables for each in staged.over if v.get() is each.items]
    found += [(Slot("the list", each.items).get, each) for each in staged.over]
    return [ListWritten(*each) for each in found]


@dataclass(frozen=True)
class ListWritten:
    """A list that a loop goes over, as one of its names has it.

    Attributes:
      now: returns the list. over: how the loop goes over it.
    """

    now: Callable[[], TracedList]
    over: GoneOver

    def again(self, items: TracedList) -> Callable[[], StagedIterable] | None:
        """Makes what the loop goes over where iterations write to ``items``, which this is; None if it goes over that already."""
        if self.over.live is None or (self.over.is_own and items is self.over.items):
            return None
        return functools.partial(self.over.live, self.now)


def run_over(
    lists: Sequence[ListWritten],
    body: Callable[[Any], Any],
    item: Any,
    raising: Raising,
    goes_on: Callable[[], Any] | None,
) -> None:
    """Run an iteration of a loop over lists.

    Args:
      goes_on: returns whether there is another iteration if there is another item; None if there always is.

    Raises:
      WrittenOver: it writes to a list whose items are taken as they were before the loop.
      StagingError: it makes one longer or shorter, and the loop may go on.
    """
    begun = [(each, items := each.now(), items.contents()) for each in lists]
    body(item)
    for each, items, before in begun:
        now = items.contents()
        if now is before:
            continue
        is_still = each.now() is items
        if is_still and is_same_length(now, before):
            if (again := each.again(items)) is not None:
                raise WrittenOver(again)
        elif not is_still or goes_on is None or not raising.can_raise_later(StagingError):
            raise changes_length()
        else:
            is_other = length_of(now) != length_of(before)
            raising.raise_unless(jnp.logical_not(goes_on() & is_other), changes_length())
