"""The two sides of a join: their parts, and what each has instead of a leaf of the joined layout."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import jax.numpy as jnp

from autograph.backends.base import MISSING, Backend, LeafType, Output, Traced
from autograph.backends.large_ints import is_far_beyond
from autograph.runtime.layouts.constants import place_of
from autograph.runtime.layouts.kinds import (
    ABSENT,
    NOTHING,
    Alternatives,
    Array,
    Constants,
    Layout,
    Maybe,
    Static,
    is_sentinel_layout,
)
from autograph.runtime.layouts.one_of import CODE, renumbered
from autograph.runtime.layouts.perhaps import Absence, Sentinel, is_sentinel


class Types(Protocol):
    """What is asked of the backend."""

    def type_of(self, leaf: Any) -> LeafType | None:
        """The type of a leaf that can be an array."""

    def join(self, left: LeafType, right: LeafType) -> LeafType | None:
        """The least type for both."""

    def has_ended(self, value: Any) -> bool:
        """Whether a value was traced in a trace that is over."""


@dataclass(frozen=True)
class Given:
    """A leaf that the side itself does not have."""

    value: Any


@dataclass(frozen=True)
class Renumbered:
    """A number that says which constant a value is, where the joined layout numbers them by ``table``.

    Attributes: of (a leaf of the side, or where it is).
    """

    of: Any
    table: tuple[int, ...]


Source = int | Given | Renumbered
PLACEHOLDER = Given(MISSING)
TRUE, FALSE = Given(True), Given(False)
CODE_TYPE = LeafType((), CODE)


@dataclass(frozen=True)
class Joined:
    """A joined layout, and for each of its leaves what either side has in that place: one of its own leaves, or another.

    What was on the left before a join is never `Renumbered` by it, so a loop's start stays as it is.
    """

    layout: Layout
    left: tuple[Source, ...]
    right: tuple[Source, ...]


def injected(sources: Sequence[Source], leaves: Sequence[Any]) -> list[Any]:
    """The leaves of one side in the places of the joined layout; `MISSING` where it has none.

    A number that a program computes, and that represents another here, is `Renumbered`: see `with_numbers`.
    """
    return [_injected(source, leaves) for source in sources]


def _injected(source: Source, leaves: Sequence[Any]) -> Any:
    if isinstance(source, int):
        return leaves[source]
    if isinstance(source, Given):
        return source.value
    code = leaves[source.of]
    if code is MISSING:
        return code
    return Renumbered(code, source.table) if isinstance(code, Output) else renumbered(code, source.table)


def with_numbers(backend: Backend, traced: Traced, leaves: Sequence[Any]) -> tuple[Traced, list[Any]]:
    """The program, and these leaves of it, in which those that are `Renumbered` are computed."""
    changed = [k for k, leaf in enumerate(leaves) if isinstance(leaf, Renumbered)]
    if not changed:
        return traced, list(leaves)
    wanted = [(leaves[k].of, functools.partial(renumbered, table=leaves[k].table)) for k in changed]
    program, outputs = backend.with_results(traced, wanted)
    found = list(leaves)
    for k, output in zip(changed, outputs, strict=True):
        found[k] = output
    return program, found


@dataclass(frozen=True)
class Side:
    """A part of one of the two.

    Attributes:
      layout: its layout.
      start: the place of its first leaf; of what the side itself does not have, its leaf, or all of its leaves.
    """

    layout: Layout
    start: Any

    def parts(self) -> list[Side]:
        found, start = [], self.start
        for part in self.layout.parts:
            if isinstance(start, tuple):
                mine, start = start[: part.count], start[part.count :]
                found.append(Side(part, mine if part.parts or not mine else mine[0]))
            else:
                found.append(Side(part, start))
                start += part.count
        return found


def unless_absent(side: Side) -> Side:
    """The side; one without a value if it is None."""
    return Side(NOTHING, side.start) if side.layout is ABSENT else side


_NONE = Side(Maybe(NOTHING, Static(False)), 0)


def absence_of(*sides: Side) -> str | Absence | Sentinel:
    """What it means that there is no value: of a place that may hold nothing, not that what it holds may be None or a `Sentinel`."""
    found = [side.layout.absence for side in (*sides, _NONE) if isinstance(side.layout, Maybe)]
    found += [absence for side in sides if (absence := _absence_that_is(side.layout)) is not None]
    found.sort(key=_order)
    return found[-1]


def _absence_that_is(layout: Layout) -> str | Sentinel | None:
    """What it means to have no value where this layout is that there is none; None of a layout that has one."""
    if layout is ABSENT:
        return "None"
    return Sentinel(layout.value) if isinstance(layout, Static) and is_sentinel(layout.value) else None


def _order(absence: str | Absence | Sentinel) -> tuple[int, int]:
    """The order of absences in what they lie within: ints that are no number of an array by their size."""
    number = absence.value if isinstance(absence, Sentinel) and type(absence.value) is int else 0
    return _rank(absence), number


def _rank(absence: str | Absence | Sentinel) -> int:
    """How far outside of others that an absence is, in what lies within what."""
    if absence == "None":
        return 0
    return 1 if isinstance(absence, Sentinel) else 2 + getattr(absence, "is_moved", False)


def is_choice(a: Layout, b: Layout) -> bool:
    """Whether values of two layouts have a value in common only where they have one, and else what an absence says."""
    is_absent = any(isinstance(each, Maybe) or each is ABSENT for each in (a, b))
    if is_absent or (not is_sentinel_layout(a) and not is_sentinel_layout(b)):
        return is_absent
    if isinstance(a, Static) and isinstance(b, Static) and is_sentinel_layout(a) and is_sentinel_layout(b):
        return type(a.value) is type(b.value) is int and a.value != b.value
    return not any(isinstance(each, Static) and is_far_beyond(each.value) for each in (a, b)) or not any(
        map(is_float, (a, b))
    )


def beside(layout: Layout, other: Layout) -> Layout:
    """A layout as it joins with another: an int that no integer array holds as a float, beside a float."""
    return (
        Static(float(layout.value))
        if isinstance(layout, Static) and is_far_beyond(layout.value) and is_float(other)
        else layout
    )


def is_float(layout: Layout) -> bool:
    """Whether values of this layout are floats, which hold ints that no integer array holds, to their precision."""
    if isinstance(layout, Array):
        return bool(jnp.issubdtype(layout.type.dtype, jnp.inexact))
    return isinstance(layout, Static) and type(layout.value) is float


def as_maybe(side: Side, absence: str | Absence | Sentinel) -> tuple[Side, Layout, Source]:
    """The value of a side that may have none, its tag, and where that is."""
    layout = side.layout
    if isinstance(layout, Maybe) and _is_one_absence(layout.absence, absence):
        return Side(layout.inner, side.start), layout.tag, side.start + layout.inner.count
    if _absence_that_is(layout) == absence:
        return Side(NOTHING, side.start), Static(False), FALSE
    return side, Static(True), TRUE


def _is_one_absence(one: str | Absence | Sentinel, other: str | Absence | Sentinel) -> bool:
    if isinstance(one, Absence):
        return isinstance(other, Absence)
    return one == other


def candidates_in(layout: Constants | Static) -> list[Any]:
    return list(layout.candidates) if isinstance(layout, Constants) else [layout.value]


def code_of(side: Side, candidates: Sequence[Any]) -> tuple[Layout, Source]:
    """Which of these constants a side is, and where that stands."""
    layout = side.layout
    if isinstance(layout, Static):
        place = place_of(layout.value, candidates)
        assert place is not None
        return Static(place), Given(place)
    assert isinstance(layout, Constants)
    table = tuple(place_of(candidate, candidates) or 0 for candidate in layout.candidates)
    is_same = table == tuple(range(len(table)))
    return layout.code, side.start if is_same else Renumbered(side.start, table)


def as_alternatives(side: Side) -> tuple[list[Side], Layout, Source]:
    """The objects that a side may be, the number of the one that it is, and where that is."""
    layout = side.layout
    if not isinstance(layout, Alternatives):
        return [side], Static(0), Given(0)
    *objects, code = side.parts()
    return objects, code.layout, code.start
