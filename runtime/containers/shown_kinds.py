"""`shown_kind`: the elements of a list of traced length as messages show them."""

from __future__ import annotations

from collections.abc import Iterator

import jax

from autograph.runtime.layouts.kinds import (
    ABSENT,
    LEAF,
    NOTHING,
    Alternatives,
    Constants,
    Layout,
    Maybe,
    Object,
    Row,
    Tree,
)
from autograph.runtime.layouts.one_of import listed
from autograph.runtime.layouts.perhaps import Sentinel
from autograph.runtime.layouts.shown import Shown
from autograph.runtime.layouts.text_kinds import is_text_kind


def shown_kind(layout: Layout, leaves: Iterator[str]) -> str:
    """An element of this layout, with texts for its leaves."""
    if layout is LEAF:
        return next(leaves)
    if layout is ABSENT or layout is NOTHING:
        return "None" if layout is ABSENT else ""
    parts = [shown_kind(part, leaves) for part in layout.parts]
    if isinstance(layout, Constants):
        return listed(layout.candidates)
    if isinstance(layout, Alternatives):
        return f"{', '.join(parts[:-2])} or {parts[-2]}" if parts[:-2] else parts[0]
    if isinstance(layout, Maybe):
        none = "an object()" if isinstance(layout.absence, Sentinel) else "None"
        return f"{parts[0]} or {none}" if parts[0] else none
    if isinstance(layout, Row):
        return f"[{parts[1]}, …]" if parts[1] else "[…]"
    if isinstance(layout, Object):
        return (
            f"{layout.kind.__name__}({', '.join(f'{n}={part}' for n, part in zip(layout.names, parts, strict=True))})"
        )
    assert isinstance(layout, Tree)
    if is_text_kind(layout):
        return "a text"
    texts = list(map(Shown, parts))
    if layout.kind in (list, tuple):
        return str(layout.kind(texts))
    if layout.kind is dict:
        return str(dict(zip(layout.keys, texts, strict=True)))
    return str(jax.tree_util.tree_unflatten(layout.kind, texts))
