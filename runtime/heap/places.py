"""`Place`: a location outside of local variables that a program can write to: an attribute, an item, a cell, a
global.
"""

from __future__ import annotations

import collections
import functools
import types
from typing import Any

import numpy as np

from autograph.runtime.layouts.class_defaults import NO_DEFAULT, inherited
from autograph.runtime.layouts.objects import ERROR_ATTRIBUTES, error_members
from autograph.runtime.layouts.perhaps import Absence
from autograph.runtime.layouts.statement_variables import (
    UNBOUND,
    CellVariable,
    GlobalVariable,
    Snapshot,
    class_name,
    has_contents,
    name_from,
)
from autograph.runtime.tracing.recording import LOCAL

MUTABLE_CONTAINERS = (list, dict, set, collections.deque, bytearray)

_READING_METHODS = frozenset(
    [
        "copy",
        "count",
        "index",
        "get",
        "items",
        "keys",
        "values",
        "difference",
        "intersection",
        "union",
        "issubset",
        "issuperset",
        "isdisjoint",
        "symmetric_difference",
        "decode",
        "find",
        "hex",
        "startswith",
        "endswith",
        "split",
        "join",
        "strip",
        "fromkeys",
    ]
)


class AttributePlace:
    """An attribute of an object. One that the object only inherits, a class's default, reads as what it inherits.

    Attributes:
      inherited: its value from the class; `UNBOUND` if nothing.
      line: the user's line that first writes it in a staged block; None outside of one.
    """

    line: tuple[str, int] | None = None

    def __init__(self, owner: Any, attribute: str) -> None:
        self.owner = owner
        self.attribute = attribute
        self.key: Any = ("attribute", id(owner), attribute)
        self.inherited = _inherited(owner, attribute)

    @property
    def name(self) -> str:
        kind = self.owner if isinstance(self.owner, type) else type(self.owner)
        return f"{kind.__name__}.{self.attribute}"

    @property
    def absence(self) -> Absence:
        """What it is where paths differ in whether the object has the attribute."""
        return Absence(self.attribute, type(self.owner).__name__)

    def get(self) -> Any:
        namespace = getattr(self.owner, "__dict__", None)
        if isinstance(self.owner, BaseException) and self.attribute in (
            *ERROR_ATTRIBUTES,
            *error_members(type(self.owner)),
        ):
            return getattr(self.owner, self.attribute)
        if namespace is not None and (self.attribute in namespace or not hasattr(type(self.owner), "__slots__")):
            return namespace.get(self.attribute, self.inherited)
        return getattr(self.owner, self.attribute, UNBOUND)

    def set(self, value: Any) -> None:
        is_namespace = isinstance(self.owner, type | types.ModuleType)
        write, delete = (setattr, delattr) if is_namespace else (object.__setattr__, object.__delattr__)
        if value is not self.inherited:
            write(self.owner, self.attribute, value)
        elif self.attribute in getattr(self.owner, "__dict__", {}) or self.get() is not value:
            delete(self.owner, self.attribute)


class ContentsPlace:
    """What a list, dict, set, deque, bytearray or array of NumPy's holds.

    Attributes:
      line: as of an `AttributePlace`.
    """

    line: tuple[str, int] | None = None

    def __init__(self, owner: Any) -> None:
        self.owner = owner
        self.key: Any = ("contents", id(owner))
        self.entry: Snapshot | None = None

    @property
    def name(self) -> str:
        """What the user calls the container, where a variable of the statement, or one from outside, leads to it."""
        found = None if self.entry is None else self.entry.name_of(self.owner)
        found = name_from(LOCAL.roots(), self.owner) if found is None else found
        kind = class_name(self.owner)
        return f"the {kind}" if found is None else found

    def get(self) -> Any:
        """See `contents`."""
        return contents(self.owner)

    def set(self, value: Any) -> None:
        owner = self.owner
        if has_contents(owner):
            owner.set_contents(value)
            return
        if isinstance(owner, list | bytearray):
            owner[:] = value
            return
        if isinstance(owner, np.ndarray):
            owner[...] = value
            return
        owner.clear()
        if isinstance(owner, collections.deque):
            owner.extend(value)
        else:
            owner.update(value)


class TracedContentsPlace(ContentsPlace):
    """What an array of NumPy's would hold to which a traced value is written."""

    def __init__(self, owner: Any) -> None:
        super().__init__(owner)
        self.key = ("traced", id(owner))


Place = AttributePlace | ContentsPlace | CellVariable | GlobalVariable


def owner_of(place: Place) -> Any:
    """What a place is of, which may have been made where it is written; None of a global variable."""
    return place.cell if isinstance(place, CellVariable) else getattr(place, "owner", None)


def _inherited(owner: Any, attribute: str) -> Any:
    """What reading the attribute returns once the object itself has none; `UNBOUND` for what a descriptor computes."""
    if isinstance(owner, type):
        found = inherited(owner.__mro__[1:], attribute)
    else:
        found = inherited(type(owner).__mro__, attribute)
        if found is NO_DEFAULT and isinstance(getattr(type(owner), attribute, None), types.FunctionType):
            return getattr(owner, attribute) if attribute not in getattr(owner, "__dict__", {}) else UNBOUND
    return UNBOUND if found is NO_DEFAULT else found


def contents(owner: Any) -> Any:
    """A copy of what a container holds: a tuple for sequences and sets, a dict for mappings, ordered if that is;
    what a `TracedList` calls its contents; an array for an array.
    """
    if isinstance(owner, np.ndarray):
        return owner.copy()
    if has_contents(owner):
        return owner.contents()
    if isinstance(owner, collections.OrderedDict):
        return collections.OrderedDict(owner)
    return dict(owner) if isinstance(owner, dict) else tuple(owner)


def is_cache(owner: Any, name: str) -> bool:
    """Whether the attribute is where a `functools.cached_property` keeps its value."""
    return isinstance(getattr(type(owner), name, None), functools.cached_property)


def holds_list(place: Place, value: Any) -> bool:
    """Whether ``value``, held by this place, is a `TracedList` or what one contains."""
    return has_contents(place.owner) if isinstance(place, ContentsPlace) else isinstance(value, list)


def is_mutating_method(called: Any) -> bool:
    """Whether this is a bound method of a builtin container that may change it."""
    owner = getattr(called, "__self__", None)
    return (
        (isinstance(called, types.BuiltinMethodType) or has_contents(owner))
        and isinstance(owner, MUTABLE_CONTAINERS)
        and called.__name__ not in _READING_METHODS
    )
