"""`Journal`: writes to objects while a block is traced, whoever makes them, so that they can be undone, carried,
or refused.

A block of a staged statement runs once, at trace time, whether or not it will be taken and however often. What it
writes to an object that was there before must become state of the statement. Converted code reports each write
before it is made; the innermost region keeps the value that was there. When the block has run, the region gives the
places written, with what they hold, and puts back what they held.

An object that the block itself made is no concern of the statement's. After the block nothing else refers to it,
which is how it is told apart.
"""

from __future__ import annotations

import collections
import sys
import threading
import types
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from autograph.runtime.operators.state import UNBOUND, CellVariable, GlobalVariable

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
    """An attribute of an object."""

    def __init__(self, owner: Any, attribute: str) -> None:
        self.owner = owner
        self.attribute = attribute
        self.key: Any = ("attribute", id(owner), attribute)

    @property
    def name(self) -> str:
        kind = self.owner if isinstance(self.owner, type) else type(self.owner)
        return f"{kind.__name__}.{self.attribute}"

    def get(self) -> Any:
        namespace = getattr(self.owner, "__dict__", None)
        if namespace is not None and (self.attribute in namespace or not hasattr(type(self.owner), "__slots__")):
            return namespace.get(self.attribute, UNBOUND)
        return getattr(self.owner, self.attribute, UNBOUND)

    def set(self, value: Any) -> None:
        is_namespace = isinstance(self.owner, type | types.ModuleType)
        write, delete = (setattr, delattr) if is_namespace else (object.__setattr__, object.__delattr__)
        if value is not UNBOUND:
            write(self.owner, self.attribute, value)
        elif self.get() is not UNBOUND:
            delete(self.owner, self.attribute)


class ContentsPlace:
    """What a list, dict, set, deque or bytearray holds."""

    def __init__(self, owner: Any) -> None:
        self.owner = owner
        self.key: Any = ("contents", id(owner))

    @property
    def name(self) -> str:
        return f"the {type(self.owner).__name__}"

    def get(self) -> Any:
        """A copy of the contents: a tuple for sequences and sets, a dict for mappings."""
        return dict(self.owner) if isinstance(self.owner, dict) else tuple(self.owner)

    def set(self, value: Any) -> None:
        owner = self.owner
        if isinstance(owner, list | bytearray):
            owner[:] = value
            return
        owner.clear()
        if isinstance(owner, collections.deque):
            owner.extend(value)
        else:
            owner.update(value)


Place = AttributePlace | ContentsPlace | CellVariable | GlobalVariable


def key_of(place: Any) -> Any:
    """What two descriptions of one place have in common."""
    if isinstance(place, CellVariable):
        return ("cell", id(place.cell))
    if isinstance(place, GlobalVariable):
        return ("global", id(place.namespace), place.name)
    return place.key


class Region:
    """The writes of one block.

    Attributes:
      before: place and old value, by key.
      own: keys that are state anyway.
      tries: how many ``try`` statements with handlers are around the block.
      raising: the last exception that the block was about to raise.
      trace_state: the trace that the block's operations belong to.
    """

    def __init__(self, own: Sequence[Any], tries: int = 0) -> None:
        self.tries = tries
        self.raising: BaseException | None = None
        self.trace_state: Any = None
        self.before: dict[Any, tuple[Place, Any]] = {}
        self.own = {key_of(variable) for variable in own if isinstance(variable, Place)}
        self.made: list[Any] = []
        self._made_ids: set[int] = set()

    def add_made(self, owner: Any) -> None:
        """Leave out of account writes to an object that was made inside this region."""
        self.made.append(owner)
        self._made_ids.add(id(owner))

    def has_made(self, place: Place) -> bool:
        return id(getattr(place, "owner", None)) in self._made_ids

    def written(self) -> list[Place]:
        """The places that hold something else than before, of objects that live on outside the block."""
        return [place for place, old in self.before.values() if not _same(place.get(), old)]

    def roll_back(self) -> None:
        """Put back what every place held."""
        for place, old in reversed(list(self.before.values())):
            if not _same(place.get(), old):
                place.set(old)


class Journal(threading.local):
    """What is being traced in this thread.

    Attributes:
      regions: the open regions, innermost last.
      tries: how many ``try`` statements with handlers surround the code that runs.
      paths: the conditions of the branches that are being traced, outermost first.
    """

    def __init__(self) -> None:
        self.regions: list[Region] = []
        self.tries = 0
        self.paths: list[Any] = []

    @contextmanager
    def inside_try(self) -> Iterator[None]:
        """Mark the body of a ``try`` that has handlers."""
        self.tries += 1
        try:
            yield
        finally:
            self.tries -= 1

    @property
    def is_open(self) -> bool:
        """Whether a block of a staged statement is being traced."""
        return bool(self.regions)

    def touch(self, place: Place) -> None:
        """Report that a place is about to be written."""
        if not self.regions:
            return
        region = self.regions[-1]
        key = key_of(place)
        if key not in region.own and key not in region.before and not region.has_made(place):
            region.before[key] = (place, place.get())

    def born(self, owner: Any) -> None:
        """Report that an object has just been made."""
        if self.regions:
            self.regions[-1].add_made(owner)

    def write(self, place: Any, value: Any) -> None:
        """Write a place on behalf of a statement that has been staged, for the region around it to see."""
        if isinstance(place, Place):
            self.touch(place)
        place.set(value)

    def open(self, own: Sequence[Any]) -> Region:
        region = Region(own, self.tries)
        self.regions.append(region)
        return region

    def close(self, region: Region) -> list[Place]:
        """End a region: undo its writes, and give the places that the statement has to take as state."""
        assert self.regions[-1] is region
        region.roll_back()
        self.regions.pop()
        holders: collections.Counter[int] = collections.Counter()
        for each in (region, *self.regions):
            for place, _ in each.before.values():
                if isinstance(place, AttributePlace | ContentsPlace):
                    holders[id(place.owner)] += 1
        for key, (place, _) in list(region.before.items()):
            # Beside the places themselves, `getrefcount` counts its argument.
            if isinstance(place, AttributePlace | ContentsPlace) and (
                sys.getrefcount(place.owner) <= holders[id(place.owner)] + 1
            ):
                del region.before[key]
        return [place for place, _ in region.before.values()]

    def merge(self, region: Region) -> None:
        """End a region whose writes stand: the region around it has them to undo."""
        assert self.regions[-1] is region
        self.regions.pop()
        if self.regions:
            outer = self.regions[-1]
            for key, entry in region.before.items():
                if key not in outer.own:
                    outer.before.setdefault(key, entry)


def is_mutating_method(called: Any) -> bool:
    """Whether this is a bound method of a builtin container that may change it."""
    owner = getattr(called, "__self__", None)
    return (
        isinstance(called, types.BuiltinMethodType)
        and isinstance(owner, MUTABLE_CONTAINERS)
        and called.__name__ not in _READING_METHODS
    )


def _same(new: Any, old: Any) -> bool:
    """Whether a place holds what it held: the same object, or contents of the same objects."""
    if new is old:
        return True
    if isinstance(new, tuple) and isinstance(old, tuple):
        return len(new) == len(old) and all(a is b for a, b in zip(new, old, strict=True))
    if isinstance(new, dict) and isinstance(old, dict):
        return list(new) == list(old) and all(new[key] is old[key] for key in new)
    return False
