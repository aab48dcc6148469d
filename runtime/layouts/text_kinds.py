"""Which layouts are of texts that are made of traced values."""

from __future__ import annotations

import jax

from autograph.runtime.layouts.kinds import Constants, Layout, Static, Tree


def is_text_kind(layout: Layout) -> bool:
    """Whether values of this layout are texts of which only the run knows the characters."""
    return (
        isinstance(layout, Tree)
        and isinstance(layout.kind, jax.tree_util.PyTreeDef)
        and getattr(layout.kind.node_data()[0], "stands_for", None) is str
    )


def is_text_layout(layout: Layout) -> bool:
    """Whether values of this layout are texts."""
    if isinstance(layout, Static):
        return type(layout.value) is str
    if isinstance(layout, Constants):
        return all(type(each) is str for each in layout.candidates)
    return is_text_kind(layout)


def is_text_of_codes(layout: Layout) -> bool:
    """Whether values of this layout are texts whose one part is their code point, or all of them."""
    if not is_text_kind(layout):
        return False
    node, facts = layout.kind.node_data()  # type: ignore[attr-defined]
    return bool(node.has_codes(facts))


def holds_text_kind(layout: Layout) -> bool:
    """Whether such a text is in values of this layout."""
    return is_text_kind(layout) or any(map(holds_text_kind, layout.parts))
