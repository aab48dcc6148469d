"""The objects that the elements of a list of traced length lead to by which they are (see `layouts.references`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from autograph.runtime.containers.element_kinds import ARRAY, Kind
from autograph.runtime.layouts.kinds import Constants, Layout
from autograph.runtime.layouts.references import is_reference


def references_of(kind: Kind) -> list[Any]:
    """Those that elements of this kind lead to."""
    chosen = (each for part in _within(kind.layout) if isinstance(part, Constants) for each in part.candidates)
    return [each for each in (*kind.statics, *chosen) if is_reference(each)]


def with_others(kind: Kind, other: Callable[[Any], Any]) -> Kind:
    """The same kind with others in place of what is no array, and of what a choice may be."""
    return Kind(_with_others(kind.layout, other), tuple(s if s is ARRAY else other(s) for s in kind.statics))


def _with_others(layout: Layout, other: Callable[[Any], Any]) -> Layout:
    if isinstance(layout, Constants):
        return Constants(list(map(other, layout.candidates)), layout.code)
    return layout.with_parts([_with_others(part, other) for part in layout.parts]) if layout.parts else layout


def _within(layout: Layout) -> Iterator[Layout]:
    yield layout
    for part in layout.parts:
        yield from _within(part)
