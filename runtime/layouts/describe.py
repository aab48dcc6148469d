"""`describe` flattens a value into a layout and leaves; `unflatten` rebuilds it."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import MappingProxyType
from typing import Any

import jax
import numpy as np

from autograph.backends.base import LeafType, Output
from autograph.runtime.errors import StagingError
from autograph.runtime.layouts.buffers import known_length, with_length_leaf
from autograph.runtime.layouts.dict_kinds import dict_kind, is_dict_kind
from autograph.runtime.layouts.kinds import (
    ABSENT,
    BUFFERS,
    CONTENTS,
    ELEMENTS,
    FILLED,
    LEAF,
    NOTHING,
    ROWS,
    Alternatives,
    Array,
    Constants,
    Either,
    Layout,
    Maybe,
    Nothing,
    Object,
    Row,
    Seq,
    Static,
    Tree,
)
from autograph.runtime.layouts.objects import attributes_of, is_plain_object, is_state, with_attributes
from autograph.runtime.layouts.one_of import (
    OneOf,
    candidates_of,
    code_of,
    is_of_constants,
    is_place,
    one_of,
)
from autograph.runtime.layouts.optional import Optional, absent_in, held_in, is_known, present_in
from autograph.runtime.layouts.perhaps import GONE, Absence, Perhaps, Sentinel, perhaps
from autograph.runtime.layouts.references import is_reference
from autograph.runtime.tracing.locations import user_location
from autograph.runtime.tracing.recording import births

# Tracers first: to ask one whether it is a `jax.Array` takes ten times as long.
_LEAVES = (jax.core.Tracer, jax.Array, np.ndarray, np.generic, str, bytes, int, float, complex, type(None), type)
# Most values are of these classes: what is one of several says another class than its own, which takes long to find.
_KNOWN = MappingProxyType(
    {
        **dict.fromkeys((int, float, complex, bool, str, bytes, type(None)), True),
        **dict.fromkeys((list, tuple, dict, Optional, Perhaps), False),
    }
)


# Layouts whose values are built of those of their parts.
_OF_VALUES = (Tree, Object, Maybe, Either, Constants, Alternatives)

Known = Callable[[Any, Any], "tuple[Layout, Sequence[Any]] | None"]
Keeps = Callable[[Any], bool] | bool


def is_leaf(value: Any) -> bool:
    """Whether a value has nothing in it: an array, a number, a text, None or a class."""
    kind = type(value)
    if (known := _KNOWN.get(kind)) is not None:
        return known
    if kind is OneOf and not is_of_constants(value):
        return False
    return isinstance(value, _LEAVES)


def describe(
    value: Any,
    keeps_containers: Keeps = False,
    is_contents: bool = False,
    opens: Callable[[Any], bool] | bool = True,
    known: Known | None = None,
    opened: Callable[[Any], Any] | None = None,
    lengths_change: bool = False,
) -> tuple[Layout, list[Any]]:
    """The layout of a value, its leaves not yet typed (see `typed`), and the leaves.

    Args:
      value: any pytree.
      keeps_containers: let lists and dicts inside be leaves, or those for which it holds: other names may hold them.
      is_contents: the value is what a list that may have a traced length holds.
      opens: take instances of the user's classes apart into their attributes, or those for which it holds; else they are leaves.
      known: what an attribute of an object (by its name), or a list or dict (None), holds other than it seems to; None for all
        that holds what it seems to.
      opened: what a list counts as: another list, or its layout and leaves.
      lengths_change: let the lengths of lists that arrays hold be leaves, though they are known.
    """
    description = _Description(opens, known, opened, lengths_change)
    if is_contents and type(value) is tuple:
        parts = [description.part(part, keeps_containers) for part in value]
        return Seq(CONTENTS, range(len(value)), parts, ELEMENTS), description.leaves
    if is_contents:
        layout = description.registered(value, keeps_containers, is_padded=True)
        return layout or description.leaf(value), description.leaves
    return description.part(value, False, keeps_containers), description.leaves


class _Description:
    """A value being unpacked. Attributes: leaves (those found so far)."""

    def __init__(
        self,
        opens: Callable[[Any], bool] | bool,
        known: Known | None,
        opened: Callable[[Any], Any] | None,
        lengths_change: bool,
    ) -> None:
        self.leaves: list[Any] = []
        self._lengths_change = lengths_change
        self._opens = opens
        self._known = known
        self._opened_list = opened
        self._around: list[Any] = []

    def leaf(self, value: Any) -> Layout:
        self.leaves.append(value)
        return LEAF

    def part(self, value: Any, keeps: Keeps, keeps_inside: Keeps | None = None) -> Layout:
        """The layout of a part.

        Args:
          keeps: lists and dicts are leaves. keeps_inside: those inside this one, if that differs.
        """
        if value is None:
            return ABSENT
        if type(value) is OneOf and not is_of_constants(value):
            objects = [self._candidate(each, keeps) for each in candidates_of(value)]
            return Alternatives(objects, self.leaf(code_of(value)))
        if type(value) is OneOf:
            return Constants(candidates_of(value), self.leaf(code_of(value)))
        if is_leaf(value) or (keeps and isinstance(value, list | dict) and (keeps is True or keeps(value))):
            return self.leaf(value)
        return self._node(value, keeps if keeps_inside is None else keeps_inside) or self.leaf(value)

    def _candidate(self, value: Any, keeps: Keeps) -> Layout:
        is_whole = (is_plain_object(value) or is_place(value)) and not hasattr(type(value), "as_node")
        return (self._object(value) or self.leaf(value)) if is_whole else self.part(value, keeps)

    def _node(self, value: Any, keeps: Keeps) -> Layout | None:
        if self._opened_list is not None and isinstance(value, list):
            value = self._opened_list(value)
            if type(value) is tuple:
                layout, leaves = value
                self.leaves += leaves
                return layout
        kind = type(value)
        if (as_node := getattr(kind, "as_node", None)) is not None:  # a view of an array that is written in place
            value = as_node(value)
        if self._known is not None and isinstance(value, list | dict):
            found = self._known(value, None)
            if found is not None and _is_node(value):
                return self._contents(value, found)
        if kind is tuple or kind is list:
            return Tree(kind, range(len(value)), [self.part(part, keeps) for part in value])
        if (of := dict_kind(value)) is not None:
            return Tree(of, value, [self.part(part, keeps) for part in value.values()])
        if kind is Optional and is_known(present_in(value)):
            return self.part(held_in(value), keeps)
        if kind is Optional:
            inner = self.part(held_in(value), keeps)
            absent = absent_in(value)
            return Maybe(inner, self.leaf(present_in(value)), "None" if absent is None else Sentinel(absent))
        if kind is Perhaps:
            inner = self.part(value.held, keeps)
            return Maybe(inner, self.leaf(is_known(value.present) or value.present), value.absence)
        return self.registered(value, keeps) or self._object(value)

    def _contents(self, value: Any, found: tuple[Layout, Sequence[Any]]) -> Layout:
        """A list or dict with contents that are known, in which other containers are leaves."""
        layout, leaves = found
        assert isinstance(layout, Tree)
        if isinstance(layout, Seq) and layout.role == BUFFERS:
            self.leaves += leaves
            return _holding(value, jax.tree_util.tree_unflatten(layout.kind, [LEAF] * layout.count), [layout])
        left = iter(leaves)
        parts = [self._opened(part, [next(left) for _ in range(part.count)]) for part in layout.parts]
        kind: Any = type(value)
        keys: Sequence[Any] = layout.keys
        order: Sequence[int] = range(len(parts))
        if isinstance(value, dict) and (kind := dict_kind(value)) is None:
            is_plain = layout.kind is dict  # else it is of the same class
            keys, order, kind = _node_of(value, keys) if is_plain else (keys, order, layout.kind)
        self.leaves += [leaf for k in order for leaf in parts[k][1]]
        found_parts = [parts[k][0] for k in order]
        if hasattr(type(value), "set_contents"):
            return _holding(value, tuple(layout.keys), found_parts)
        return Tree(kind, keys, found_parts)

    def _opened(self, layout: Layout, leaves: list[Any]) -> tuple[Layout, list[Any]]:
        """A part of what a container holds, unpacked where it is a container itself."""
        if layout is not LEAF or not isinstance(leaves[0], list | dict):
            return layout, leaves
        outer, self.leaves = self.leaves, []
        try:
            return self.part(leaves[0], False), self.leaves
        finally:
            self.leaves = outer

    def registered(self, value: Any, keeps: Keeps, is_padded: bool = False) -> Layout | None:
        """The layout of a node that JAX knows; None if it does not."""
        if is_state(value):
            return None
        children, treedef = jax.tree_util.tree_flatten(value, is_leaf=lambda part: part is not value)
        if len(children) == 1 and children[0] is value:
            return None
        if len(children) == 1 and jax.tree_util.tree_unflatten(treedef, children) is children[0]:
            return self.part(children[0], keeps)  # a value that is computed when it is looked at: a Variable's item
        if is_padded and self._lengths_change and (length := known_length(treedef)) is not None:
            children, treedef = [length, *children], with_length_leaf(treedef)
        parts = []
        for child in children:
            contents = self.registered(child, keeps, is_padded=True) if _is_padded(value, child) else None
            parts.append(contents or self.part(child, keeps))
        keys = range(len(parts))
        if is_padded or hasattr(type(value), "set_contents"):
            return Seq(treedef, keys, parts, BUFFERS if is_padded else ELEMENTS)
        if hasattr(type(value), "before_loop"):
            return Seq(treedef, keys, parts, FILLED)
        if hasattr(type(value), "__autograph_rows__"):
            return Seq(treedef, keys, parts, ROWS)
        return Tree(treedef, keys, parts)

    def _object(self, value: Any) -> Layout | None:
        if not self._opens or not is_plain_object(value):
            return None
        if any(value is each for each in self._around):
            _link_cycle(self._around, value)
            return None
        if is_reference(value) or (self._opens is not True and not self._opens(value)):
            return None
        if self._around:
            _note_leading(self._around, value)
        self._around.append(value)
        attributes = attributes_of(value)
        parts = [self._attribute(value, name, part) for name, part in attributes.items()]
        self._around.pop()
        return Object(type(value), tuple(attributes), parts, whole=value)

    def _attribute(self, owner: Any, name: str, value: Any) -> Layout:
        found = None if self._known is None else self._known(owner, name)
        if found is None:
            return self.part(value, False)
        self.leaves += found[1]
        return found[0]


def _link_cycle(around: Sequence[Any], value: Any) -> None:
    """Make the trace again, in which objects that lead to themselves, as these do, are references."""
    first = next(k for k, each in enumerate(around) if each is value)
    if (known := births()) is not None:
        kind = type(value).__qualname__
        known.link(
            {type(each) for each in around[first:]},
            StagingError(
                f"{user_location()}\n  A {kind} leads to itself here, in a staged statement, which chooses objects by their attributes.\n"
                "  Call the function through autograph.function."
            ),
        )


def _note_leading(around: Sequence[Any], value: Any) -> None:
    """Note the classes of objects, the last of which holds ``value``, if one of them is of its class."""
    kinds = [type(each) for each in around]
    if type(value) in kinds and (known := births()) is not None:
        known.leading.update(kinds[kinds.index(type(value)) :])


def _holding(value: Any, contents: Any, parts: Sequence[Layout]) -> Layout:
    """The layout of a list like this, with such contents."""
    made = value.holding(contents)
    treedef = jax.tree_util.tree_structure(made, is_leaf=lambda part: part is not made)
    return Seq(treedef, range(len(parts)), parts, ELEMENTS)


def _node_of(value: Any, keys: Sequence[Any]) -> tuple[Sequence[int], Sequence[int], Any]:
    """The keys, the order of the parts, and JAX's structure of a dict of another class with these keys."""
    made = copy.copy(value)
    made.clear()
    made.update({key: k for k, key in enumerate(keys)})
    order, treedef = jax.tree_util.tree_flatten(made, is_leaf=lambda part: part is not made)
    return range(len(order)), order, treedef


def _is_node(value: Any) -> bool:
    """Whether JAX takes this apart."""
    children = jax.tree_util.tree_leaves(value, is_leaf=lambda part: part is not value)
    return len(children) != 1 or children[0] is not value


def _is_padded(value: Any, child: Any) -> bool:
    """Whether this child of a list is all of its contents at once, their number traced."""
    return child is not None and hasattr(type(value), "set_contents") and child is getattr(value, "padded", None)


def describe_variable(
    value: Any, defined: Any, keeps_containers: Keeps = False, is_contents: bool = False, known: Known | None = None
) -> tuple[Maybe, list[Any]]:
    """The layout and leaves of a variable that is bound where ``defined``, its tag. The other arguments are `describe`'s."""
    layout, leaves = describe(value, keeps_containers, is_contents, known=known)
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


def without_known_tags(layout: Layout, leaves: Sequence[Any]) -> tuple[Layout, list[Any]]:
    """The same value's layout and leaves where each `Maybe` whose tag is True is the value that it has."""
    parts: list[Layout] = []
    found: list[Any] = []
    first = 0
    for part in layout.parts:
        own: Sequence[Any] = leaves[first : first + part.count]
        first += part.count
        if part.parts:
            part, own = without_known_tags(part, own)
        parts.append(part)
        found += own
    if not parts:
        return layout, list(leaves[: layout.count])
    if isinstance(layout, Maybe) and found[-1] is True and not getattr(layout.absence, "is_moved", False):
        return parts[0], found[:-1]
    return layout.with_parts(parts), found


def unflatten(
    layout: Layout,
    leaves: Sequence[Any],
    choose: Callable[[Any, Any], Any] | None = None,
    new_list: Callable[[list[Any]], Any] = list,
) -> Any:
    """The value of this layout with these leaves.

    Args:
      choose: makes one list of the two of an `Either`. new_list: makes a list of its items.
    """
    return _build(layout, iter(leaves), choose, new_list)


def _build(
    layout: Layout,
    leaves: Iterator[Any],
    choose: Callable[[Any, Any], Any] | None,
    new_list: Callable[[list[Any]], Any],
) -> Any:
    if not isinstance(layout, _OF_VALUES):
        if layout is ABSENT or isinstance(layout, Nothing):
            return None
        if isinstance(layout, Row):
            return layout.kind.of_row(layout, next(leaves), [next(leaves) for _ in range(layout.item.count)])
        return next(leaves)
    parts = [_build(part, leaves, choose, new_list) for part in layout.parts]
    if isinstance(layout, Maybe) and isinstance(layout.absence, Absence):
        return perhaps(parts[1], parts[0], layout.absence)
    if isinstance(layout, Maybe):
        absent = layout.absence.value if isinstance(layout.absence, Sentinel) else None
        return Optional(parts[1], parts[0], absent)
    if isinstance(layout, Constants):
        return one_of(layout.candidates, parts[0])
    if isinstance(layout, Alternatives):
        *objects, code = parts
        return one_of(objects, code)
    if isinstance(layout, Either):
        assert choose is not None
        return choose(*parts)
    if isinstance(layout, Object):
        return with_attributes(
            layout.kind, [each for each in zip(layout.names, parts, strict=True) if each[1] is not GONE]
        )
    if layout.kind is tuple or layout.kind is CONTENTS:
        return tuple(parts)
    if layout.kind is list:
        return new_list(parts)
    if is_dict_kind(layout.kind):
        held = {key: part for key, part in zip(layout.keys, parts, strict=True) if part is not GONE}
        return held if layout.kind is dict else layout.kind(held)
    return jax.tree_util.tree_unflatten(layout.kind, parts)
