"""Messages about values that have no common layout."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import jax

from autograph.runtime.layouts.describe import with_leaves
from autograph.runtime.layouts.dict_kinds import is_dict_kind
from autograph.runtime.layouts.kinds import (
    ABSENT,
    BUFFERS,
    CONTENTS,
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
    is_view,
)
from autograph.runtime.layouts.one_of import MOST_CANDIDATES
from autograph.runtime.layouts.one_of import listed as constants_listed
from autograph.runtime.layouts.perhaps import Sentinel
from autograph.runtime.layouts.pytrees import tree_map
from autograph.runtime.layouts.references import is_variable
from autograph.runtime.layouts.shown import Shown
from autograph.runtime.layouts.statement_variables import items_of_sequence


@dataclass(frozen=True)
class Mismatch:
    """A variable, or a leaf of one, that has a layout on each side, and none for both.

    Attributes:
      is_structure: whether the two are built differently; else they are leaves.
      is_room: whether they are the buffers of an array that is filled element by element.
      list_class: the class of the list that holds them, and that converted code has not made.
      is_too_many: whether they are constants, more than a value can be one of.
      places: of two leaves, where each is among those of its side, if it is.
      lines: the user's lines that make either side, where they are known.
    """

    name: str
    left: Layout
    right: Layout
    is_structure: bool = False
    is_room: bool = False
    list_class: type | None = None
    is_too_many: bool = False
    places: tuple[int | None, int | None] = (None, None)
    lines: tuple[str | None, str | None] = (None, None)

    def located(self, *line_of: Callable[[int], str | None] | None) -> Mismatch:
        """The same with the lines that make the leaves, which these functions return for either side's."""
        found = [
            None if place is None or of is None else of(place) for place, of in zip(self.places, line_of, strict=True)
        ]
        return dataclasses.replace(self, lines=(found[0], found[1]))


def shown(layout: Layout) -> str:
    """A layout as messages show it: arrays by their types, Python objects as they are."""
    return str(_shown(layout))


def _shown(layout: Layout) -> object:
    if isinstance(layout, Array):
        return Shown(layout.type)
    if isinstance(layout, Static):
        return Shown(_text(layout.value))
    if layout is ABSENT:
        return None
    if isinstance(layout, Nothing):
        return Shown("unbound")
    if isinstance(layout, Constants):
        return Shown(constants_listed(layout.candidates))
    parts = list(map(_shown, layout.parts))
    if isinstance(layout, Maybe):
        if layout.absence == "unbound":
            return parts[0]
        if isinstance(layout.absence, Sentinel):
            return Shown(f"{parts[0]!r} or an object()")
        if layout.absence != "None":
            return Shown(f"{parts[0]!r} or absent")
        return Shown("None" if isinstance(layout.inner, Nothing) else f"{parts[0]!r} or None")
    if isinstance(layout, Object):
        shows = getattr(layout.kind, "__autograph_shows__", None)
        if shows is not None:
            return parts[layout.names.index(shows)]
        attributes = (f"{name}={part!r}" for name, part in zip(layout.names, parts, strict=True))
        return Shown(f"{layout.kind.__name__}({', '.join(attributes)})")
    if isinstance(layout, Row):
        return Shown(f"[{parts[1]!r}, …]")
    if isinstance(layout, Either):
        return Shown(f"{parts[0]!r} or {parts[1]!r}")
    if isinstance(layout, Alternatives):
        return Shown(" or ".join(map(repr, parts[:-1])))
    assert isinstance(layout, Tree)
    if layout.kind is list:
        return parts
    if layout.kind is dict:
        return dict(zip(layout.keys, parts, strict=True))
    if layout.kind is tuple or layout.kind is CONTENTS:
        return tuple(parts)
    if is_dict_kind(layout.kind):
        held = ", ".join(f"{key!r}: {part!r}" for key, part in zip(layout.keys, parts, strict=True))
        return Shown(f"{layout.kind.__name__}({{{held}}})")
    held, facts = layout.kind.node_data()
    if hasattr(held, "sort_of"):
        return Shown(held.shown(facts, [item for part in layout.parts for item in _items(part)]))
    if getattr(held, "stands_for", None) is str:
        return Shown("a text of the run")
    value = jax.tree_util.tree_unflatten(layout.kind, parts)
    if isinstance(value, tuple):
        return value
    if is_view(layout):
        return Shown(f"a part {_text(value)} of an array")
    return Shown(f"{type(value).__name__}({', '.join(map(repr, parts))})")


def _items(contents: Layout) -> list[object]:
    """What a list holds: its elements, or one for all where their number is traced."""
    if not isinstance(contents, Seq) or contents.role != BUFFERS:
        return [_shown(contents)]
    length, kind, *_ = contents.kind.node_data()[1]
    arrays = contents.parts[1:] if length is None else contents.parts
    leaves = kind.leaves(list(map(_element_of, arrays)))
    element = with_leaves(kind.layout, (leaf if isinstance(leaf, Layout) else Static(leaf) for leaf in leaves))
    return [_shown(element), Shown("…")]


def _element_of(buffer: Layout) -> Layout:
    """The type of an element of an array that holds those of a list."""
    if isinstance(buffer, Array):
        return Array(dataclasses.replace(buffer.type, shape=buffer.type.shape[1:]))
    assert isinstance(buffer, Static)
    return Static(jax.ShapeDtypeStruct(buffer.value.shape[1:], buffer.value.dtype))


def _text(value: object) -> str:
    if type(value) in (list, tuple, dict):
        return str(tree_map(lambda leaf: Shown(_text(leaf)), value))
    if (items := items_of_sequence(value)) is not None:
        return str([Shown(_text(item)) for item in items])
    is_array = hasattr(value, "dtype") and hasattr(value, "shape")
    if not is_array or is_variable(value) or isinstance(value, type):
        return repr(value)
    weak = "~" if getattr(value, "weak_type", False) and str(value.dtype) != "bool" else ""  # type: ignore[attr-defined]
    return f"{weak}{value.dtype}[{','.join(map(str, value.shape))}]"  # type: ignore[attr-defined]


def sides(mismatches: Sequence[Mismatch], left: str, right: str) -> str:
    """Both sides of all that differs, in the lines of a message; ``left`` and ``right`` say when each is seen."""
    width = max(len(left), len(right)) + 1
    lines = []
    for each in mismatches:
        if len(mismatches) > 1:
            lines.append(f"    {each.name}")
        for when, layout, line in zip((left, right), (each.left, each.right), each.lines, strict=True):
            lines.append(f"    {when + ':':<{width}} {shown(layout)}{'' if line is None else f'  ({line})'}")
    return "\n".join(lines)


def remedy(mismatches: Sequence[Mismatch]) -> str:
    """What to do about what differs."""
    if found := too_many(mismatches) or _of_containers(mismatches):
        return found
    sides = [(_inner(each.left), _inner(each.right)) for each in mismatches]
    if any(
        _is_no_array(one) or _is_no_array(other) or _is_container(one) != _is_container(other) for one, other in sides
    ):
        return (
            "Of values that differ in kind by path one may be a list or dict, outside of loops, and none a set: assign one of these on "
            "every path, or on none."
        )
    return "XLA needs one type for both: use the same shape and structure (jnp.broadcast_to, jnp.zeros_like …)."


def _of_containers(mismatches: Sequence[Mismatch]) -> str | None:
    """What to do about lists and dicts that differ in their length, their keys or their identity; None if that is not it."""
    for each in mismatches:
        left, right = _inner(each.left), _inner(each.right)
        if each.list_class is not None and each.is_structure and each.list_class is not list:
            return (
                f"The length of a {each.list_class.__name__}, a subclass of list, must not depend on the path: hold a list in an "
                "attribute of a class that is no list."
            )
        if each.list_class is not None and each.is_structure:
            return (
                f"The function did not create this list, so its length must not depend on the path: append to a copy, list({each.name}), "
                "and return the copy."
            )
        if isinstance(left, Tree) and isinstance(right, Tree) and left.kind is dict and right.kind is dict:
            lacking = [
                key for key in dict.fromkeys((*left.keys, *right.keys)) if key not in left.keys or key not in right.keys
            ]
            if lacking and each.name.startswith("the "):  # what is returned, which has no name
                return f"Return a dict with the key {lacking[0]!r} on every path."
            if lacking:
                return f"Set {each.name}[{lacking[0]!r}] before this statement, to a value of the type that the statement assigns."
        if any(isinstance(side, Static) and isinstance(side.value, list | dict | set) for side in (left, right)):
            return (
                "A list, dict or set from outside the function cannot be selected at run time: create it inside the "
                "function, and return it."
            )
    return None


def sizes_that_change(mismatches: Sequence[Mismatch]) -> str:
    """What to do about an array of which each iteration of a loop may change the size; empty if that is not all that differs."""
    found = ""
    for each in mismatches:
        left, right = _inner(each.left), _inner(each.right)
        if each.is_room or not isinstance(left, Array) or not isinstance(right, Array):
            return ""
        before, after = left.type.shape, right.type.shape
        if len(before) != len(after) or before == after or not all(isinstance(size, int) for size in (*before, *after)):
            return ""
        grows = math.prod(after) > math.prod(before)
        found = (
            "\n  If each iteration makes it longer, append the parts to a list, and join them after the loop (jnp.stack, jnp.concatenate)."
            if grows
            else "\n  If each iteration makes it shorter, keep it whole, and carry the place where it begins or ends."
        )
    return found


def _inner(layout: Layout) -> Layout:
    return layout.inner if isinstance(layout, Maybe) else layout


def too_many(mismatches: Sequence[Mismatch]) -> str | None:
    """What to do about more constants than a value can be one of, if that is it."""
    if not any(each.is_too_many for each in mismatches):
        return None
    return f"A value can be one of at most {MOST_CANDIDATES} constants: keep a number, an index into a tuple say."


def _is_no_array(layout: Layout) -> bool:
    if not isinstance(layout, Static):
        return False
    return not (isinstance(layout.value, bool | int | float | complex) or hasattr(layout.value, "__array__"))


def _is_container(layout: Layout) -> bool:
    """Whether a value is a list or dict."""
    return isinstance(layout, Seq) or (isinstance(layout, Tree) and (layout.kind is list or is_dict_kind(layout.kind)))


def variables_of(mismatches: Sequence[Mismatch]) -> frozenset[str]:
    """The names of the variables that differ, whichever part of them does."""
    return frozenset(re.split(r"[.\[]", each.name)[0] for each in mismatches)


def listed(mismatches: Sequence[Mismatch]) -> str:
    """The names of all that differs, in a sentence."""
    *most, last = map(repr, dict.fromkeys(each.name for each in mismatches))
    return f"{', '.join(most)} and {last}" if most else last
