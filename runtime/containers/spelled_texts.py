"""Texts in the elements of one list that are made differently: each as the list of its code points, which all of them have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from autograph.backends.selected import STAGING
from autograph.runtime.containers.extents import exactly
from autograph.runtime.layouts.kinds import Array, Constants, Layout, Static, Tree
from autograph.runtime.layouts.one_of import MOST_CANDIDATES
from autograph.runtime.layouts.sides import Given, Side, candidates_in
from autograph.runtime.layouts.text_kinds import is_text_kind, is_text_layout, is_text_of_codes
from autograph.runtime.tracing.language import LANGUAGE


@dataclass(frozen=True)
class Written:
    """A leaf that is computed of others.

    Attributes:
      of: these, or where they are.
      make: makes it of them, along any first axes.
      is_list: whether it adds an axis to them, that of the items of a list.
    """

    of: tuple[Any, ...]
    make: Callable[..., Any]
    is_list: bool = False


@dataclass(frozen=True)
class Spelled:
    """A text as the list of its code points: the layout of that, and what stands in the place of each of its leaves."""

    layout: Layout
    sources: Sequence[Any]


def spelled_texts(left: Side, right: Side, is_read: bool) -> tuple[Spelled, Spelled] | None:
    """Two texts as the lists of their code points; None where they have a layout in common, or only the run knows what they are.

    ``is_read``: a layout that tells no more than what they are made of is none.
    """
    a, b = left.layout, right.layout
    if not (is_text_layout(a) and is_text_layout(b)):
        return None
    is_made = is_text_kind(a), is_text_kind(b)
    if all(is_made) and a.kind == b.kind and not (is_read and is_unread(a)):  # type: ignore[attr-defined]
        return None
    is_constant = not any(is_made) and not is_read
    if is_constant and len({*candidates_in(a), *candidates_in(b)}) <= MOST_CANDIDATES:  # type: ignore[arg-type]
        return None
    one, other = _spelled(left), _spelled(right)
    return None if one is None or other is None else (one, other)


def is_unread(layout: Layout) -> bool:
    """Whether in values of this layout are texts of which it tells only what they are made of."""
    return any(map(is_unread, layout.parts)) or (is_text_kind(layout) and not is_text_of_codes(layout))


def _spelled(side: Side) -> Spelled | None:
    layout = side.layout
    texts = LANGUAGE.operators.texts
    whole = texts.spelling
    if isinstance(layout, Static):
        return _of_known(whole, layout.value)
    if isinstance(layout, Constants):
        return _of_constants(whole, side.start, layout.candidates)
    assert isinstance(layout, Tree)
    if layout.kind == whole:
        return Spelled(layout, range(side.start, side.start + layout.count))
    if is_text_of_codes(layout):
        return Spelled(Tree(whole, (0,), [Tree(list, (0,), layout.parts)]), (side.start,))
    found = texts.written(layout)
    if found is None or isinstance(found, str):
        return None if found is None else _of_known(whole, found)
    places, capacity, length, codes = found
    leaves = tuple(side.start + place for place in places)
    return _of_row(whole, capacity, Written(leaves, length), Written(leaves, codes, is_list=True))


def _of_known(whole: Any, text: str) -> Spelled:
    codes = Tree(list, range(len(text)), [_number()] * len(text))
    return Spelled(Tree(whole, (0,), [codes]), [Given(ord(each)) for each in text])


def _number() -> Layout:
    return Array(STAGING.type_of(jnp.zeros((), int)))


def _of_constants(whole: Any, code: int, texts: Sequence[str]) -> Spelled:
    capacity = max(map(len, texts))
    table, lengths = np.zeros((len(texts), capacity), int), np.array([*map(len, texts)])
    for row, text in zip(table, texts, strict=True):
        row[: len(text)] = [*map(ord, text)]
    return _of_row(
        whole,
        capacity,
        Written((code,), lambda number: jnp.asarray(lengths)[number]),
        Written((code,), lambda number: jnp.asarray(table)[number], is_list=True),
    )


def _of_row(whole: Any, capacity: int, length: Written, codes: Written) -> Spelled:
    row = LANGUAGE.operators.new_row().with_(capacity=capacity, extent=exactly(capacity), parts=(_number(), _number()))
    return Spelled(Tree(whole, (0,), [row]), (length, codes))
