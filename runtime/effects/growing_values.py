"""Texts and tuples that staged statements make longer, or that are longer on another path: values that hold any number of pieces."""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

import jax

from autograph.runtime.containers.traced_tuples import TracedTuple
from autograph.runtime.effects.growing_texts import MANY_TEXTS, GrowingText, are_longer, has_characters
from autograph.runtime.effects.traced_texts import is_text
from autograph.runtime.layouts.join import Joiner
from autograph.runtime.layouts.kinds import Layout, Maybe, Tree, constants_in
from autograph.runtime.layouts.optional import Optional, held_in, with_held
from autograph.runtime.layouts.perhaps import Perhaps
from autograph.runtime.layouts.sides import Types
from autograph.runtime.layouts.statement_variables import has_contents, items_of_sequence
from autograph.runtime.layouts.text_kinds import is_text_layout
from autograph.runtime.tracing.language import LANGUAGE

Path = tuple[Any, ...]


class Growth(NamedTuple):
    """Where a value has a text or tuple that is to hold any number of pieces.

    Attributes:
      path: the keys that lead there.
      by_pieces: whether the pieces of a text are more than characters.
    """

    path: Path
    by_pieces: bool = False


def of_any_length(value: Any, by_pieces: bool) -> Any:
    """A text or tuple as one that holds any number of pieces; itself if it does already, and of anything else."""
    if is_text(value):
        read = None if by_pieces else LANGUAGE.operators.texts.characters_of(value)
        return GrowingText.of(value) if read is None else read
    return TracedTuple(value, LANGUAGE.operators) if type(value) is tuple else value


def with_any_length(value: Any, grown: Collection[Growth]) -> Any:
    """A value with the texts and tuples at these paths as such that hold any number of pieces; a copy, unless all are so already.

    What may be None, or lack its place, holds such a text or tuple where it holds one.
    """
    if type(value) is Optional:
        return with_held(value, with_any_length(held_in(value), grown))
    if type(value) is Perhaps:
        held = with_any_length(value.held, grown)
        return value if held is value.held else Perhaps(value.present, held, value.absence)
    if here := [each for each in grown if not each.path]:
        return of_any_length(value, any(each.by_pieces for each in here))
    is_dict = isinstance(value, dict) and not has_contents(value)
    items = value.items() if is_dict else enumerate(items_of_sequence(value) or ())
    new = {}
    for key, part in items:
        inside = [Growth(path[1:], by_pieces) for path, by_pieces in grown if path[0] == key]
        made = with_any_length(part, inside) if inside else part
        if made is not part:
            new[key] = made
    if not new:
        return value
    if isinstance(value, tuple):
        return tuple(new.get(k, part) for k, part in enumerate(value))
    made = copy.copy(value)
    for key, part in new.items():
        made[key] = part
    return made


def parts_that_grow(one: Layout, other: Layout, types: Types, chooses: bool = False) -> list[Growth]:
    """Where values of these layouts have texts, or tuples of several lengths, that have no one layout (see `Joiner`)."""

    def differ(one: Layout, other: Layout) -> bool:
        joiner = Joiner(types, chooses=chooses)
        joiner.join("", one, other)
        return bool(joiner.mismatches)

    return [
        Growth(path, not (has_characters(a) and has_characters(b)))
        for path, a, b in _pairs(one, other, ())
        if differ(a, b)
    ]


def _pairs(one: Layout, other: Layout, path: Path) -> Iterator[tuple[Path, Layout, Layout]]:
    """The texts and tuples that both values have in the same places, and those of which one is longer."""
    one, other = map(_held, (one, other))
    if may_differ_in_length(one, other):
        yield path, one, other
    elif isinstance(one, Tree) and isinstance(other, Tree) and isinstance(one.kind, type) and one.kind is other.kind:
        theirs = dict(zip(other.keys, other.parts, strict=True))
        for key, part in zip(one.keys, one.parts, strict=True):
            if key in theirs:
                yield from _pairs(part, theirs[key], (*path, key))


def _held(layout: Layout) -> Layout:
    """The layout of what a value holds that may be unbound, None, or absent from its place."""
    while isinstance(layout, Maybe):
        layout = layout.inner
    return layout


def many_texts_in(layout: Layout, is_named: bool, surely: bool) -> list[Growth]:
    """Where a value of this layout has one of many texts: of several, if the value ``is_named`` and a text itself.

    Args:
      surely: whether most of the many must be another with something before or after it.
    """
    return [
        Growth(path)
        for path, texts in _texts_in(layout, ())
        if ((is_named and not path) or constants_in(texts) > MANY_TEXTS) and (not surely or are_longer(texts))
    ]


def _texts_in(layout: Layout, path: Path) -> Iterator[tuple[Path, Layout]]:
    """The texts of which a value of this layout has one of several, by where they are."""
    if isinstance(layout, Maybe):
        yield from _texts_in(layout.inner, path)
    elif is_text_layout(layout):
        yield path, layout
    elif isinstance(layout, Tree) and isinstance(layout.kind, type):
        for key, part in zip(layout.keys, layout.parts, strict=True):
            yield from _texts_in(part, (*path, key))


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
