"""An iteration of a loop over lists that its body may write to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp

from autograph.runtime.containers.iterables import is_same_length, length_of
from autograph.runtime.containers.lengths import changes_length
from autograph.runtime.effects.staged_raises import Raising
from autograph.runtime.errors import StagingError
from autograph.runtime.staging.statements.loop_state import WrittenOver


def run_over(
    names: Sequence[Callable[[], Any]],
    is_snapshot: bool,
    body: Callable[[Any], Any],
    item: Any,
    raising: Raising,
    goes_on: Callable[[], Any] | None,
) -> None:
    """Run an iteration of a loop over lists, which ``names`` return.

    Args:
      is_snapshot: whether the loop takes their items as they were before it.
      goes_on: returns whether there is another iteration if there is another item; None if there always is.

    Raises:
      WrittenOver: it writes to a list whose items are taken so.
      StagingError: it makes one longer or shorter, and the loop may go on.
    """
    lists = [name() for name in names]
    held = [each.contents() for each in lists]
    body(item)
    for name, items, before in zip(names, lists, held, strict=True):
        now = items.contents()
        if now is before:
            continue
        if name() is items and is_same_length(now, before):
            if is_snapshot:
                raise WrittenOver(name)
        elif name() is not items or goes_on is None or not raising.can_raise_later(StagingError):
            raise changes_length()
        else:
            is_other = length_of(now) != length_of(before)
            raising.raise_unless(jnp.logical_not(goes_on() & is_other), changes_length())
