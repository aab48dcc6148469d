"""The classes of layouts.

A layout says how a value is put together from its *leaves*, the arrays and Python objects that it holds, in order,
and what each leaf is. Layouts are a lattice: `join.Joiner` finds the least layout that holds the values of two.

========== ======================================== =================================
Layout     A value                                  Its leaves
========== ======================================== =================================
`Array`    an array                                 itself
`Static`   any other object, the same on all paths  itself
`ABSENT`   None                                     none
`Constants` one of several constants, likewise     a number: which of them it is
`Alternatives` one of several values, likewise     those of each, and that number
`Maybe`    a value or nothing, known at run time    those of the value, and the tag
`Tree`     a tuple, list, dict, registered pytree   those of its parts
`Seq`      a list or array with a traced length     those of its parts
`Row`      a list in an element of such a list      its length, and those of its items
`Object`   an instance of a class of the user's     those of its attributes
`Either`   one of two lists, chosen after the join  those of both
`NOTHING`  no value: the path leaves it unbound     none
`NEVER`    no value: nothing follows on this path   none
========== ======================================== =================================
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import jax

from autograph.backends.base import LeafType, Output
from autograph.runtime.layouts.constants import is_same_constant
from autograph.runtime.layouts.functions import is_same_function
from autograph.runtime.layouts.objects import is_plain_object
from autograph.runtime.layouts.one_of import is_place
from autograph.runtime.layouts.perhaps import Absence, Sentinel, is_sentinel
from autograph.runtime.layouts.references import is_reference, is_variable


class Layout:
    """Base class. Immutable; equal where values of both can be used for one another.

    Attributes: count (the number of leaves).
    """

    __slots__ = ("count",)
    count: int

    @property
    def parts(self) -> Sequence[Layout]:
        """The layouts that this one is built of."""
        return ()

    def with_parts(self, parts: Sequence[Layout]) -> Layout:
        """The same layout, built of others."""
        return self

    def _key(self) -> Any:
        return ()

    def __eq__(self, other: object) -> bool:
        return self is other or (type(self) is type(other) and self._key() == other._key())

    def __hash__(self) -> int:
        return hash((type(self), self.count))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.parts))})"


class _Leaf(Layout):
    """One leaf, of which it is not known yet what it is: a traced array has its type once the trace has ended."""

    __slots__ = ()

    def __init__(self) -> None:
        self.count = 1


class _Absent(Layout):
    __slots__ = ()

    def __init__(self) -> None:
        self.count = 0

    def __repr__(self) -> str:
        return "ABSENT"


class Nothing(Layout):
    """No value. Where it ``widens``, what other paths have becomes an array, which can stand as a placeholder."""

    __slots__ = ("widens",)

    def __init__(self, widens: bool) -> None:
        self.count = 0
        self.widens = widens

    def _key(self) -> Any:
        return self.widens

    def __repr__(self) -> str:
        return "NOTHING" if self.widens else "NEVER"


LEAF = _Leaf()
ABSENT = _Absent()
NOTHING = Nothing(True)
NEVER = Nothing(False)


class Array(Layout):
    """An array of this shape, dtype and weak type."""

    __slots__ = ("type",)

    def __init__(self, type: LeafType) -> None:
        self.count = 1
        self.type = type

    def _key(self) -> Any:
        return self.type

    def __repr__(self) -> str:
        return str(self.type)


class Static(Layout):
    """This Python object. Numbers, and arrays from outside of the statement, may widen to an `Array`."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.count = 1
        self.value = value

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Static) and is_one_value(self.value, other.value))

    __hash__ = Layout.__hash__

    def __repr__(self) -> str:
        return f"Static({self.value!r})"


class Maybe(Layout):
    """A value where the tag, its last leaf, is true; else what ``absence`` says: None, an unbound variable, an `Absence`, or a `Sentinel`.

    ``inner`` is `NOTHING` where no path has a value.
    """

    __slots__ = ("inner", "tag", "absence")

    def __init__(self, inner: Layout, tag: Layout, absence: str | Absence | Sentinel = "None") -> None:
        self.count = inner.count + 1
        self.inner = inner
        self.tag = tag
        self.absence = absence

    @property
    def parts(self) -> Sequence[Layout]:
        return (self.inner, self.tag)

    def with_parts(self, parts: Sequence[Layout]) -> Layout:
        inner, tag = parts
        return Maybe(inner, tag, self.absence)

    def _key(self) -> Any:
        return self.absence, self.tag, self.inner


class Constants(Layout):
    """One of these Python constants: the one whose number, the only leaf, is ``code``."""

    __slots__ = ("candidates", "code")

    def __init__(self, candidates: Sequence[Any], code: Layout) -> None:
        self.count = 1
        self.candidates = tuple(candidates)
        self.code = code

    @property
    def parts(self) -> Sequence[Layout]:
        return (self.code,)

    def with_parts(self, parts: Sequence[Layout]) -> Layout:
        return Constants(self.candidates, *parts)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Constants) or len(self.candidates) != len(other.candidates):
            return False
        return self.code == other.code and all(map(is_same_constant, self.candidates, other.candidates))

    __hash__ = Layout.__hash__

    def __repr__(self) -> str:
        return f"Constants{self.candidates!r}"


class Alternatives(Layout):
    """One of these values: the one whose number, the last leaf, is ``code``.

    They are objects, each with its class and attributes, an `Object`, or there before the statement, a `Static`; or they are of
    different kinds: a number, a text, a tuple.
    """

    __slots__ = ("objects", "code")

    def __init__(self, objects: Sequence[Layout], code: Layout) -> None:
        self.count = sum(each.count for each in objects) + 1
        self.objects = tuple(objects)
        self.code = code

    @property
    def parts(self) -> Sequence[Layout]:
        return (*self.objects, self.code)

    def with_parts(self, parts: Sequence[Layout]) -> Layout:
        *objects, code = parts
        return Alternatives(objects, code)

    def _key(self) -> Any:
        return self.code, self.objects


class Tree(Layout):
    """A node of a pytree.

    Attributes:
      kind: `list`, `tuple` or `dict`; for any other class JAX's structure of the node alone.
      keys: those of a dict, in its order; else the positions.
    """

    __slots__ = ("kind", "keys", "_parts")

    def __init__(self, kind: Any, keys: Sequence[Any], parts: Sequence[Layout]) -> None:
        self.count = sum(part.count for part in parts)
        self.kind = kind
        self.keys = tuple(keys)
        self._parts = tuple(parts)

    @property
    def parts(self) -> Sequence[Layout]:
        return self._parts

    def with_parts(self, parts: Sequence[Layout]) -> Layout:
        return Tree(self.kind, self.keys, parts)

    def _key(self) -> Any:
        return self.kind, self.keys, self._parts

    @property
    def is_list(self) -> bool:
        return self.kind is list


class Seq(Tree):
    """A list or array that may have a traced length. ``kind`` is `CONTENTS` for a tuple of what such a list holds.

    Attributes:
      role: `ELEMENTS` for a list; `BUFFERS` for the contents of one that arrays hold, whose length is in ``kind`` where it is known,
        and else the first part (see `buffers`); `FILLED` for an array that is filled element by element, a `TensorArray` say;
        `ROWS` for an array of traced length, the elements in their room and the length.
    """

    __slots__ = ("role",)

    def __init__(self, kind: Any, keys: Sequence[Any], parts: Sequence[Layout], role: str) -> None:
        super().__init__(kind, keys, parts)
        self.role = role

    def with_parts(self, parts: Sequence[Layout]) -> Layout:
        return Seq(self.kind, self.keys, parts, self.role)

    @property
    def is_list(self) -> bool:
        return self.role not in (FILLED, ROWS)


CONTENTS = "contents"
ELEMENTS, BUFFERS, FILLED, ROWS = "elements", "buffers", "filled", "rows"


class Row(Layout):
    """A list, of any length, in an element of a list of traced length: room for some items of one layout, and a length.

    Its parts are the length and the item; a leaf that is an array holds one after another those of all that there is room for.

    Attributes:
      kind: the class of the list; facts: what else tells it from others of that class, None for nothing; checks: the operators.
      capacity, reserved, extent: as of `Padded`, for whichever of the lists is the longest.
      statics: the leaves of an item, a mark for each that is an array.
    """

    __slots__ = ("kind", "facts", "checks", "capacity", "reserved", "extent", "statics", "_parts")

    def __init__(
        self,
        kind: Any,
        facts: Any,
        checks: Any,
        capacity: int,
        reserved: Any,
        extent: Any,
        parts: Sequence[Layout],
        statics: tuple[Any, ...] = (),
    ) -> None:
        self.count = sum(part.count for part in parts)
        self.kind = kind
        self.facts = facts
        self.checks = checks
        self.capacity = capacity
        self.reserved = reserved
        self.extent = extent
        self._parts = tuple(parts)
        self.statics = statics

    @property
    def parts(self) -> Sequence[Layout]:
        return self._parts

    @property
    def item(self) -> Layout:
        """The layout of an item."""
        return self._parts[1]

    def with_parts(self, parts: Sequence[Layout]) -> Layout:
        return self.with_(parts=parts)

    def with_(self, **changes: Any) -> Row:
        """The same with other attributes."""
        known = {name: getattr(self, name) for name in self.__slots__ if name != "_parts"}
        return Row(**{**known, "parts": self._parts, **changes})

    def _key(self) -> Any:
        return self.kind, self.facts, self.capacity, self.reserved, self._parts

    def __repr__(self) -> str:
        return f"[{self.item!r}, …]"


class Object(Layout):
    """An instance of ``kind`` with these attributes.

    Attributes: whole (the instance itself; None where it is none that is there before the statement).
    """

    __slots__ = ("kind", "names", "_parts", "whole")

    def __init__(self, kind: type, names: tuple[str, ...], parts: Sequence[Layout], whole: Any = None) -> None:
        self.count = sum(part.count for part in parts)
        self.kind = kind
        self.names = names
        self._parts = tuple(parts)
        self.whole = whole

    @property
    def parts(self) -> Sequence[Layout]:
        return self._parts

    def with_parts(self, parts: Sequence[Layout]) -> Layout:
        return Object(self.kind, self.names, parts, self.whole)

    def _key(self) -> Any:
        return self.kind, self.names, self._parts


class Either(Layout):
    """One of two lists of different layout: what both are made of comes out, and the lists are made and chosen after."""

    __slots__ = ("left", "right")

    def __init__(self, left: Layout, right: Layout) -> None:
        self.count = left.count + right.count
        self.left = left
        self.right = right

    @property
    def parts(self) -> Sequence[Layout]:
        return (self.left, self.right)

    def with_parts(self, parts: Sequence[Layout]) -> Layout:
        return Either(*parts)

    def _key(self) -> Any:
        return self.left, self.right


def is_object(layout: Layout) -> bool:
    """Whether a value of this layout is an object of the user's or a Variable, or one of several."""
    if isinstance(layout, Static):
        return is_plain_object(layout.value) or is_variable(layout.value)
    return isinstance(layout, Object | Alternatives)


def chooses_values(layout: Layout) -> bool:
    """Whether a value of this layout is a Variable or a view, or one of several of these and values."""
    if isinstance(layout, Alternatives):
        return any(map(chooses_values, layout.objects)) or all(map(_is_array, layout.objects))
    return is_view(layout) or (isinstance(layout, Static) and is_variable(layout.value))


def is_view(layout: Layout) -> bool:
    """Whether a value of this layout is a part of an array that is written in place: its indices are the leaves, its structure the rest."""
    if not isinstance(layout, Tree) or not isinstance(layout.kind, jax.tree_util.PyTreeDef):
        return False
    held = layout.kind.node_data()
    return held is not None and hasattr(held[0], "__autograph_is_view__")


def is_array(layout: Layout) -> bool:
    """Whether a value of this layout is used as an array that it holds, of JAX's or in place."""
    if isinstance(layout, Object):
        return hasattr(layout.kind, "__autograph_value__")
    return chooses_values(layout) or _is_array(layout)


def _is_array(layout: Layout) -> bool:
    return isinstance(layout, Array) or (isinstance(layout, Static) and is_place(layout.value))


def is_attribute_wise(a: Object, b: Object) -> bool:
    """Whether two objects join to one: they are one, or of one class. One may lack some attributes of the other."""
    return (a.whole is not None and a.whole is b.whole) or a.kind is b.kind


def is_error(layout: Layout) -> bool:
    """Whether a value of this layout is an exception: nobody tells it from another one that is like it."""
    return isinstance(layout, Object) and issubclass(layout.kind, BaseException)


def cause_of(layout: Any) -> Layout | None:
    """The cause of an exception, if this is one that has one."""
    return next((part for name, part in zip(layout.names, layout.parts, strict=True) if name == "__cause__"), None)


def has_traced_cause(layout: Layout) -> bool:
    """Whether this is an exception with a cause that holds traced values."""
    cause = cause_of(layout) if is_error(layout) else None
    return cause is not None and _has_array(cause)


def _has_array(layout: Layout) -> bool:
    return isinstance(layout, Array) or any(map(_has_array, layout.parts))


def is_one_object(a: Layout, b: Layout) -> bool:
    """Whether these are one object, from before."""
    whole = whole_of(a)
    return whole is not None and whole is whole_of(b)


def whole_of(layout: Layout) -> Any:
    """The object from before that this is; None if it is none."""
    if isinstance(layout, Object):
        return layout.whole
    return layout.value if isinstance(layout, Static) else None


def is_one_value(a: Any, b: Any) -> bool:
    """Whether two leaves are one Python value, so that nothing need be staged for it."""
    if a is b:
        return not isinstance(a, Output)
    if is_same_function(a, b):
        return True
    if isinstance(a, Output) or isinstance(b, Output) or type(a) is not type(b) or hasattr(a, "__array__"):
        return False
    if isinstance(a, list | dict):  # a reference, to one of two that are written apart
        return False
    try:
        return bool(a == b) and repr(a) == repr(b)  # 0.0 and -0.0 are equal, and are not one value
    except Exception:
        return False


def leaves_of(layout: Layout) -> Iterator[Layout]:
    """The `Array` and `Static` of each leaf, in order."""
    if layout.parts:
        for part in layout.parts:
            yield from leaves_of(part)
    elif layout.count:
        yield layout


def rooms_of(layout: Layout, around: tuple[int, ...] = ()) -> list[tuple[int, ...]]:
    """For each leaf the room of the `Row`s that it lies in, outer ones first."""
    if isinstance(layout, Row):
        return [around, *rooms_of(layout.item, (*around, layout.capacity))]
    if layout.parts:
        return [rooms for part in layout.parts for rooms in rooms_of(part, around)]
    return [around] * layout.count


def tags_in(layout: Layout, first: int = 0) -> Iterator[int]:
    """Which leaves are tags, the first being number ``first``."""
    for part in layout.parts:
        yield from tags_in(part, first)
        first += part.count
    if isinstance(layout, Maybe):
        yield first - 1


def constants_in(layout: Layout) -> int:
    """How many constants, or objects, a value of this layout may be."""
    own = len(layout.candidates) if isinstance(layout, Constants) else 0
    own += len(layout.objects) if isinstance(layout, Alternatives) else 0
    return own + sum(map(constants_in, layout.parts))


def holds_attributes(layout: Layout) -> bool:
    """Whether an object is described by its attributes."""
    return isinstance(layout, Object) or any(map(holds_attributes, layout.parts))


def depth(layout: Layout) -> int:
    """How many values lie within each other."""
    return 1 + max(map(depth, layout.parts), default=0)


def is_sentinel_layout(layout: Layout) -> bool:
    """Whether a value of this layout is an object that is no more than itself."""
    return isinstance(layout, Static) and is_sentinel(layout.value)


def may_be_none(layout: Layout) -> bool:
    """Whether a value of this layout may be None, or an object that is no more than itself, or something in it."""
    if isinstance(layout, Seq) and layout.role == FILLED:
        return False
    return (
        layout is ABSENT
        or is_sentinel_layout(layout)
        or isinstance(layout, Maybe)
        or any(map(may_be_none, layout.parts))
    )


def is_rows(layout: Layout) -> bool:
    """Whether a value is an array of traced length."""
    return isinstance(layout, Seq) and layout.role == ROWS


def has_known_length(seq: Tree) -> bool:
    """Whether a list of the trace is not held in arrays."""
    return not any(isinstance(part, Seq) and part.role == BUFFERS for part in seq.parts)


def sort_of_list(layout: Tree) -> Any:
    """What Python has for a list of ours, of which it is none if it is a deque, a set or a dict: only two of one sort join."""
    found = layout.kind.node_data() if isinstance(layout.kind, jax.tree_util.PyTreeDef) else None
    return list if found is None or not hasattr(found[0], "sort_of") else found[0].sort_of(found[1])


def is_cyclic(a: Layout, b: Layout, path: Any) -> bool:
    """Whether one of these, within another object, may be that again: what holds an array leads to nothing else."""
    leaves = [each.value for each in (a, b) if isinstance(each, Static)]
    return not isinstance(path, str) and not all(
        is_reference(each) or hasattr(type(each), "__autograph_value__") for each in leaves
    )
