"""Layouts of the contents of lists that arrays hold, the `Seq`s of role `BUFFERS`.

A known length is part of the structure. One that is traced is the first leaf, before the arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax

from autograph.backends.base import LeafType
from autograph.runtime.layouts.kinds import BUFFERS, LEAF, Array, Layout, Seq, Static
from autograph.runtime.layouts.sides import Given, Side, Source


def known_length(structure: Any) -> int | None:
    """The length of contents of this structure, one of JAX's; None for one that is a leaf."""
    length: int | None = structure.node_data()[1][0]
    return length


def with_length_leaf(structure: Any) -> Any:
    """The same structure with the length as a leaf."""
    return (
        structure
        if known_length(structure) is None
        else jax.tree_util.tree_structure(_built(structure).with_(length=LEAF))
    )


def joined_buffers(one: Seq, other: Seq) -> Seq | None:
    """How contents of both are built, whatever their parts: as long as either. None if they differ in more than the length."""
    kinds = [one.kind, other.kind]
    if kinds[0] != kinds[1]:
        kinds = list(map(with_length_leaf, kinds))
    if kinds[0] != kinds[1]:
        return None
    mine, theirs = map(_built, kinds)
    kind: Any = jax.tree_util.tree_structure(mine.bounded_as(theirs))
    return Seq(kind, range(kind.num_leaves), [LEAF] * kind.num_leaves, BUFFERS)


def length_and_arrays(side: Side) -> tuple[tuple[Layout, Source], list[Side]]:
    """The length of the contents on one side of a join, with where it stands, and the arrays."""
    assert isinstance(side.layout, Seq)
    known, parts = known_length(side.layout.kind), side.parts()
    if known is not None:
        return (Static(known), Given(known)), parts
    return (parts[0].layout, parts[0].start), parts[1:]


def _built(structure: Any) -> Any:
    return jax.tree_util.tree_unflatten(structure, [LEAF] * structure.num_leaves)


def in_larger_room(ones: list[Side], others: list[Side], type_of: Callable[[Layout], LeafType | None]) -> int:
    """Give the first parts of two values, which are arrays, the room of the larger along their first axis.

    Returns:
      Which is the larger, 1 or 2; 0 where neither is.
    """
    types = [type_of(sides[0].layout) for sides in (ones, others)]
    rooms = [type.shape[0] for type in types if type is not None and isinstance(type.shape[0], int)]
    if len(rooms) < 2 or rooms[0] == rooms[1]:
        return 0
    for sides, type in zip((ones, others), types, strict=True):
        assert type is not None
        sides[0] = Side(Array(replace(type, shape=(max(rooms), *type.shape[1:]))), sides[0].start)
    return 1 if rooms[0] > rooms[1] else 2
