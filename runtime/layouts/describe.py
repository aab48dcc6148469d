"""`describe` takes a value apart into its layout and its leaves; `unflatten` puts it together again."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import jax
import numpy as np

from autograph.backends.base import LeafType, Output
from autograph.runtime.layouts.kinds import (
    ABSENT,
    BUFFERS,
    CONTENTS,
    ELEMENTS,
    FILLED,
    LEAF,
    NOTHING,
    Array,
    Either,
    Layout,
    Maybe,
    Nothing,
    Object,
    Seq,
    Static,
    Tree,
)
from autograph.runtime.layouts.objects import attributes_of, is_plain_object
from autograph.runtime.optional import Optional, held_in, present_in

_LEAVES = (jax.Array, np.ndarray, np.generic, str, bytes, bool, int, float, complex, type)


def describe(
    value: Any, keeps_containers: bool = False, is_contents: bool = False, opens: bool = True
) -> tuple[Layout, list[Any]]:
    """The layout of a value, its leaves not yet typed (see `typed`), and the leaves.

    Args:
      value: any pytree.
      keeps_containers: let lists and dicts inside be leaves: other names may hold them.
      is_contents: the value is what a list that may have a traced length holds.
      opens: take instances of the user's classes apart into their attributes; else they are leaves.
    """
    found: list[Any] = []
    around = frozenset[int]() if opens else None
    if is_contents and type(value) is tuple:
        parts = [_describe(part, found, keeps_containers, around) for part in value]
        return Seq(CONTENTS, range(len(value)), parts, ELEMENTS), found
    if is_contents:
        return _registered(value, found, keeps_containers, around, is_padded=True) or LEAF, found
    layout = _describe(value, found, False, around, keeps_containers)
    return layout, found


def _describe(
    value: Any, found: list[Any], keeps: bool, around: frozenset[int] | None, keeps_inside: bool | None = None
) -> Layout:
    """The layout of a part of the value.

    Args:
      keeps: lists and dicts are leaves; keeps_inside: those inside this one, if that differs.
      around: the objects that this is an attribute of, by identity; None if objects are leaves.
    """
    inside = keeps if keeps_inside is None else keeps_inside
    if value is None:
        return ABSENT
    if not isinstance(value, _LEAVES) and not (keeps and isinstance(value, list | dict)):
        layout = _node(value, found, inside, around)
        if layout is not None:
            return layout
    found.append(value)
    return LEAF


def _node(value: Any, found: list[Any], keeps: bool, around: frozenset[int] | None) -> Layout | None:
    kind = type(value)
    if kind is tuple or kind is list:
        return Tree(kind, range(len(value)), [_describe(part, found, keeps, around) for part in value])
    if kind is dict:
        return Tree(kind, value, [_describe(part, found, keeps, around) for part in value.values()])
    if kind is Optional:
        inner = _describe(held_in(value), found, keeps, around)
        found.append(present_in(value))
        return Maybe(inner, LEAF)
    return _registered(value, found, keeps, around) or _object(value, found, around)


def _registered(
    value: Any, found: list[Any], keeps: bool, around: frozenset[int] | None, is_padded: bool = False
) -> Layout | None:
    """The layout of a node that JAX knows; None if it does not."""
    children, treedef = jax.tree_util.tree_flatten(value, is_leaf=lambda part: part is not value)
    if len(children) == 1 and children[0] is value:
        return None
    parts = []
    for child in children:
        contents = _registered(child, found, keeps, around, is_padded=True) if _is_padded(value, child) else None
        parts.append(contents or _describe(child, found, keeps, around))
    keys = range(len(parts))
    if is_padded or hasattr(type(value), "set_contents"):
        return Seq(treedef, keys, parts, BUFFERS if is_padded else ELEMENTS)
    if hasattr(type(value), "before_loop"):
        return Seq(treedef, keys, parts, FILLED)
    return Tree(treedef, keys, parts)


def _is_padded(value: Any, child: Any) -> bool:
    """Whether this child of a list is all of its contents at once, their number traced."""
    return hasattr(type(value), "set_contents") and child is getattr(value, "padded", None)


def _object(value: Any, found: list[Any], around: frozenset[int] | None) -> Layout | None:
    if around is None or not is_plain_object(value) or id(value) in around:
        return None
    attributes = attributes_of(value)
    around |= {id(value)}
    parts = [_describe(part, found, False, around) for part in attributes.values()]
    return Object(type(value), tuple(attributes), parts, whole=value)


def describe_variable(
    value: Any, defined: Any, keeps_containers: bool = False, is_contents: bool = False, opens: bool = True
) -> tuple[Maybe, list[Any]]:
    """The layout and leaves of a variable that is bound where ``defined``, its tag. The other arguments are `describe`'s."""
    layout, leaves = describe(value, keeps_containers, is_contents, opens)
    return Maybe(layout, LEAF, "unbound"), [*leaves, defined]


def unbound() -> tuple[Maybe, list[Any]]:
    """The layout and leaves of a variable that has no value."""
    return Maybe(NOTHING, LEAF, "unbound"), [False]


def anonymous(layout: Layout) -> Layout:
    """The layout with objects that are described only, whichever they were."""
    if not layout.parts:
        return layout
    parts = list(map(anonymous, layout.parts))
    return Object(layout.kind, layout.names, parts) if isinstance(layout, Object) else layout.with_parts(parts)


def typed(layout: Layout, leaves: Iterable[Any], types: Iterable[LeafType | None] | None = None) -> Layout:
    """The layout with each leaf an `Array` where the program computes it, or it is given a type, and else `Static`."""
    given = itertools.repeat(None) if types is None else types
    found: list[Layout] = []
    for leaf, type in zip(leaves, given, strict=False):
        known = leaf.type if isinstance(leaf, Output) else type
        found.append(Static(leaf) if known is None else Array(known))
    return with_leaves(layout, iter(found))


def untyped(layout: Layout) -> Layout:
    """How values of this layout are built, whatever their leaves are."""
    return with_leaves(layout, itertools.repeat(LEAF))


def with_leaves(layout: Layout, leaves: Iterator[Layout]) -> Layout:
    """The layout with these in the places of its leaves."""
    if layout.parts:
        return layout.with_parts([with_leaves(part, leaves) for part in layout.parts])
    return next(leaves) if layout.count else layout


def unflatten(layout: Layout, leaves: Sequence[Any], choose: Callable[[Any, Any], Any] | None = None) -> Any:
    """The value of this layout with these leaves; ``choose`` makes one list of the two of an `Either`."""
    return _build(layout, iter(leaves), choose)


def _build(layout: Layout, leaves: Iterator[Any], choose: Callable[[Any, Any], Any] | None) -> Any:
    if layout is ABSENT or isinstance(layout, Nothing):
        return None
    if not isinstance(layout, Tree | Object | Maybe | Either):
        return next(leaves)
    parts = [_build(part, leaves, choose) for part in layout.parts]
    if isinstance(layout, Maybe):
        return Optional(parts[1], parts[0])
    if isinstance(layout, Either):
        assert choose is not None
        return choose(*parts)
    if isinstance(layout, Object):
        return _instance(layout, parts)
    if layout.kind is tuple or layout.kind is CONTENTS:
        return tuple(parts)
    if layout.kind is list:
        return parts
    if layout.kind is dict:
        return dict(zip(layout.keys, parts, strict=True))
    return jax.tree_util.tree_unflatten(layout.kind, parts)


def _instance(layout: Object, parts: Sequence[Any]) -> Any:
    made: Any = object.__new__(layout.kind)
    for name, part in zip(layout.names, parts, strict=True):
        object.__setattr__(made, name, part)
    return made
