"""Tables: lists of lists that are alike, which arrays may hold."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from autograph.runtime.containers.element_kinds import are_alike
from autograph.runtime.containers.traced_lists import TracedList


def is_table(items: Sequence[Any], least: int) -> bool:
    """Whether these are lists alike, of more than so many numbers."""
    rows = rows_of(items)
    if not rows or not all(type(row) is tuple and len(row) == len(rows[0]) for row in rows):
        return False
    return len(rows) * len(rows[0]) > least and are_alike(itertools.chain(*rows))


def rows_of(items: Sequence[Any]) -> list[Any] | None:
    """What each of these lists holds; None if there are others among them."""
    if not all(type(item) in (list, TracedList) for item in items):
        return None
    return [tuple(item) if type(item) is list else item.contents() for item in items]
