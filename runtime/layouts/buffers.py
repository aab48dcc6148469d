"""Layouts of the contents of lists that arrays hold, the `Seq`s of role `BUFFERS`.

A known length is part of the structure. One that is traced is the first leaf, before the arrays.
"""

from __future__ import annotations

from typing import Any

import jax

from autograph.runtime.layouts.kinds import BUFFERS, LEAF, Layout, Seq, Static
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
