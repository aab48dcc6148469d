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
)
from autograph.runtime.layouts.sides import candidates_in
from autograph.runtime.layouts.text_kinds import is_text_kind


def kind_of(layout: Layout) -> Any:
    """What a value that is no number is, as far as it may be something else on the other path; None of what may not be.

    What is written in place may not, such as a list: of the one that is chosen there would be a copy.
    """
    if isinstance(layout, Constants | Static) and (sorts := set(map(sort_of_constant, candidates_in(layout)))) != {
        None
    }:
        return None if any(map(is_of_other, sorts)) else "constant"
    if is_object(layout):
        return None if chooses_values(layout) else type(layout) is Alternatives or "object"
    return _kind_of_tree(layout)


def _kind_of_tree(layout: Layout) -> Any:
    """What a tuple, a text of the run or a pytree of the user's is; None of what is written in place, or has that in it."""
    if not isinstance(layout, Tree) or isinstance(layout, Seq):
        return None
    if is_text_kind(layout):
        return layout.kind
    if any(map(_is_written_in_place, layout.parts)):
        return None
    if layout.kind is tuple:
        return tuple
    held = layout.kind.node_data()[0] if isinstance(layout.kind, jax.tree_util.PyTreeDef) else list
    is_ours = held.__module__.partition(".")[0] == "autograph"
    return None if is_ours or issubclass(held, list | dict) else layout.kind


def _is_written_in_place(layout: Layout) -> bool:
    """Whether a list, a dict or an object is in a value, which other names may hold too."""
    if is_text_kind(layout):
        return False
    if isinstance(layout, Static):
        return isinstance(layout.value, list | dict) or is_object(layout)
    is_container = isinstance(layout, Tree) and (layout.kind is list or is_dict_kind(layout.kind))
    return is_container or isinstance(layout, Seq | Object) or any(map(_is_written_in_place, layout.parts))
