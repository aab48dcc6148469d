"""What a value is: a constant, a tuple, a text of the run or an object. Values that differ in it join to `kinds.Alternatives`."""

from __future__ import annotations

from typing import Any

import jax

from autograph.runtime.layouts.constants import is_of_other, sort_of_constant
from autograph.runtime.layouts.dict_kinds import is_dict_kind
from autograph.runtime.layouts.kinds import (
    Alternatives,
    Constants,
    Layout,
    Object,
    Seq,
    Static,
    Tree,
    chooses_values,
    is_object,
    is_view,
)
from autograph.runtime.layouts.sides import candidates_in
from autograph.runtime.layouts.text_kinds import is_text_kind


def kind_of(layout: Layout) -> Any:
    """What a value that is no number is, as far as it may be something else on the other path; None of what may not be."""
    if isinstance(layout, Constants | Static) and (sorts := set(map(sort_of_constant, candidates_in(layout)))) != {
        None
    }:
        return None if any(map(is_of_other, sorts)) else "constant"
    if is_object(layout):
        return None if chooses_values(layout) else type(layout) is Alternatives or "object"
    if not isinstance(layout, Tree):
        return None
    if is_view(layout):
        return layout.kind
    if isinstance(layout, Seq):
        return list if _class_of(layout) is list else None
    if is_text_kind(layout) or layout.kind in (list, tuple) or is_dict_kind(layout.kind):
        return layout.kind
    held = _class_of(layout)
    is_ours = held.__module__.partition(".")[0] == "autograph"
    return None if is_ours or issubclass(held, list | dict) else layout.kind


def are_of_one_kind(one: Any, other: Any) -> bool | None:
    """Whether two kinds are one; None where one of them is none."""
    return None if one is None or other is None else bool(one == other)  # never `!=`, of JAX's structures


def _class_of(layout: Tree) -> type:
    """The class of a node of a pytree; of a list of ours, the class of Python's that it is to the user."""
    held = layout.kind.node_data()[0] if isinstance(layout.kind, jax.tree_util.PyTreeDef) else list
    found: type = getattr(held, "stands_for", held)
    return found


def holds_containers(layout: Layout) -> bool:
    """Whether a value that is no object is, or has in it, what is written in place: a list, a dict or an object.

    Of several kinds one may: where it is among them, it is in the place of the value, whichever of them is there.
    """
    return not is_object(layout) and _is_written_in_place(layout)


def _is_written_in_place(layout: Layout) -> bool:
    """Whether a list, a dict or an object is in a value, which other names may hold too."""
    if is_text_kind(layout):
        return False
    if isinstance(layout, Static):
        return isinstance(layout.value, list | dict) or is_object(layout)
    is_container = isinstance(layout, Tree) and (layout.kind is list or is_dict_kind(layout.kind))
    return is_container or isinstance(layout, Seq | Object) or any(map(_is_written_in_place, layout.parts))
