"""The order of a dict's keys: that which the last iteration of a loop has left, and whether Python can sort them."""

from __future__ import annotations

import dataclasses
from typing import Any

from autograph.runtime.layouts.dict_kinds import is_dict_kind, own_class
from autograph.runtime.layouts.kinds import Layout, Maybe, Tree
from autograph.runtime.layouts.perhaps import Absence, is_perhaps, perhaps
from autograph.runtime.layouts.statement_variables import items_of_sequence


def order_as(value: Any, layout: Layout) -> None:
    """Order the keys of the dicts in a value as this layout of it does, where it orders the same keys on all paths."""
    if not isinstance(layout, Tree):
        return
    if isinstance(value, dict) and is_dict_kind(layout.kind):
        if value.keys() != set(layout.keys) or any(map(_is_moved, layout.parts)):
            return
        if any(is_perhaps(held) and held.absence.is_moved for held in value.values()):
            ordered = {key: _in_place(value[key]) for key in layout.keys}
            own = own_class(value)
            own.clear(value)
            for key, held in ordered.items():
                own.__setitem__(value, key, held)
        for key, part in zip(layout.keys, layout.parts, strict=True):
            order_as(value[key], part)
    elif (items := items_of_sequence(value)) is not None and len(items) == len(layout.parts):
        for held, part in zip(items, layout.parts, strict=True):
            order_as(held, part)


def _is_moved(part: Layout) -> bool:
    return isinstance(part, Maybe) and isinstance(part.absence, Absence) and part.absence.is_moved


def _in_place(held: Any) -> Any:
    """What a dict holds for a key whose place in the order is known."""
    if not is_perhaps(held):
        return held
    return perhaps(held.present, held.held, dataclasses.replace(held.absence, is_moved=False))


def sort_of_key(key: Any) -> Any:
    """The same for keys that Python can order, without code of the user's."""
    if isinstance(key, tuple):
        return tuple(map(sort_of_key, key))
    return str if type(key) is str else float if type(key) in (bool, int, float) else object()
