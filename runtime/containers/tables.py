"""Tables: lists of lists that are alike, which arrays may hold."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from autograph.backends.selected import STAGING
from autograph.runtime.containers.element_kinds import are_alike, is_array_leaf
from autograph.runtime.containers.padded import type_of_all
from autograph.runtime.containers.traced_lists import TracedList


def is_table(items: Sequence[Any], least: int) -> bool:
    """Whether these are lists alike, of more than so many numbers."""
    rows = rows_of(items)
    if not rows or not all(type(row) is tuple and len(row) == len(rows[0]) for row in rows):
        return False
    return len(rows) * len(rows[0]) > least and are_alike(itertools.chain(*rows))


def is_large(items: Sequence[Any], least: int) -> bool:
    """Whether these are more than so many numbers of one type, or lists alike of such."""
    rows = rows_of(items[:1])
    if not rows:
        numbers = tuple(items)
    elif is_table(items, least):
        numbers = tuple(itertools.chain(*(rows_of(items) or ())))
    else:
        return False
    if len(numbers) <= least or not all(map(is_array_leaf, numbers)):
        return False
    return type_of_all(numbers) is not None or len({STAGING.type_of(number).strong() for number in numbers}) == 1


def rows_of(items: Sequence[Any]) -> list[Any] | None:
    """What each of these lists holds; None if there are others among them."""
    if not all(type(item) in (list, TracedList) for item in items):
        return None
    return [tuple(item) if type(item) is list else item.contents() for item in items]
