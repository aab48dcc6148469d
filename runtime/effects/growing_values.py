"""Texts and tuples that staged statements make longer, or that are longer on another path: values that hold any number of pieces."""

from __future__ import annotations

from typing import Any

import jax

from autograph.runtime.containers.traced_tuples import TracedTuple
from autograph.runtime.effects.growing_texts import GrowingText, is_text, is_text_layout
from autograph.runtime.layouts.kinds import Layout, Tree
from autograph.runtime.tracing.language import LANGUAGE

OF_ANY_LENGTH = (GrowingText, TracedTuple)  # texts and tuples that hold any number of pieces


def of_any_length(value: Any) -> Any:
    """A text or tuple as one that holds any number of pieces; None of what does already, and of anything else."""
    if isinstance(value, OF_ANY_LENGTH):
        return None
    if is_text(value):
        return GrowingText.of(value)
    return TracedTuple(value, LANGUAGE.operators) if type(value) is tuple else None


def may_grow(layout: Layout) -> bool:
    """Whether values of this layout are texts or tuples."""
    return is_text_layout(layout) or _is_tuple_layout(layout)


def may_differ_in_length(one: Layout, other: Layout) -> bool:
    """Whether values of these layouts are texts, or tuples of several lengths."""
    if is_text_layout(one) and is_text_layout(other):
        return True
    if not (isinstance(one, Tree) and isinstance(other, Tree) and _is_tuple_layout(one) and _is_tuple_layout(other)):
        return False
    return one.kind is not other.kind or len(one.parts) != len(other.parts)


def _is_tuple_layout(layout: Layout) -> bool:
    if not isinstance(layout, Tree):
        return False
    if isinstance(layout.kind, jax.tree_util.PyTreeDef):
        return issubclass(layout.kind.node_data()[0], TracedTuple)
    return layout.kind is tuple
