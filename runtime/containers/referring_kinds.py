"""The objects that the elements of a list of traced length lead to by which they are (see `layouts.references`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from autograph.runtime.containers.element_kinds import ARRAY, Kind
from autograph.runtime.layouts.kinds import Constants, Layout
from autograph.runtime.layouts.references import is_reference


def constants_of(kind: Kind) -> list[Any]:
    """What elements of this kind have in them beside arrays: functions, say, and references."""
    return [*(each for each in kind.statics if each is not ARRAY), *chosen_in(kind.layout)]


def chosen_in(layout: Layout) -> Iterator[Any]:
    """The constants of which something in a value of this layout is one."""
    return (each for part in _within(layout) if isinstance(part, Constants) for each in part.candidates)


def references_of(kind: Kind) -> list[Any]:
    """Those that elements of this kind lead to."""
    return list(filter(is_reference, constants_of(kind)))


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
