"""`Unknown`: what a place holds after a write that may have been to it, where nothing in the program says whether it was.

In the lattice of a place's values it is the top. Reading it raises the error that the write would have raised had the
place been read before; a place that is not read again costs nothing. So nobody has to find out who may still read.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Collection, Mapping
from typing import Any, NoReturn

from autograph.runtime.containers.traced_deques import TracedDeque
from autograph.runtime.containers.traced_dicts import TracedDict
from autograph.runtime.containers.traced_lists import TracedList
from autograph.runtime.containers.traced_sets import TracedFrozenSet, TracedSet
from autograph.runtime.containers.traced_tuples import TracedTuple
from autograph.runtime.errors import StagingError
from autograph.runtime.heap.places import AttributePlace
from autograph.runtime.layouts.objects import attributes_of, is_plain_object
from autograph.runtime.tracing.locations import user_location

Reason = Callable[[str], StagingError]  # the error, by what the place is: what "is read at" a line, say


class Unknown:
    """A value that only a run of the program would know.

    Args:
      reason: the error for whoever reads it.
    """

    __slots__ = ("_reason",)

    def __init__(self, reason: Reason) -> None:
        self._reason = reason

    def __repr__(self) -> str:
        return "<unknown>"

    def raise_error(self, *_: Any, **__: Any) -> NoReturn:
        """Raise the reason."""
        raise self._reason(f"is read at {user_location()}")

    def returned(self) -> StagingError:
        """The error for a function that returns it."""
        return self._reason("the function returns")

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__") and name.endswith("__"):  # which protocols look for
            raise AttributeError(name)
        self.raise_error()


_READS = (
    *(
        "add",
        "radd",
        "sub",
        "rsub",
        "mul",
        "rmul",
        "truediv",
        "rtruediv",
        "floordiv",
        "rfloordiv",
        "mod",
        "rmod",
        "pow",
        "rpow",
    ),
    *(
        "matmul",
        "rmatmul",
        "and",
        "rand",
        "or",
        "ror",
        "xor",
        "rxor",
        "lshift",
        "rlshift",
        "rshift",
        "rrshift",
        "divmod",
    ),
    *(
        "neg",
        "pos",
        "abs",
        "invert",
        "bool",
        "int",
        "float",
        "complex",
        "index",
        "round",
        "len",
        "iter",
        "next",
        "contains",
    ),
    *("eq", "ne", "lt", "le", "gt", "ge", "getitem", "setitem", "delitem", "call", "enter", "str", "format", "array"),
    *("hash", "jax_array"),
)
for _name in _READS:
    setattr(Unknown, f"__{_name}__", Unknown.raise_error)


class _UnknownContents:
    """The contents of a list that only a run of the program would know: its attribute ``checks`` is the `Unknown`."""

    __slots__ = ()

    checks: Unknown

    def returned(self) -> StagingError:
        return self.checks.returned()

    def note_read(self) -> NoReturn:
        self.checks.raise_error()

    def _is_padded(self) -> NoReturn:
        self.checks.raise_error()

    def _make_room_for(self, *_: Any) -> NoReturn:
        self.checks.raise_error()

    def __repr__(self) -> str:
        return "<unknown>"


class UnknownList(_UnknownContents, TracedList):
    """A list that a write may have changed in its length."""

    __slots__ = ()


class UnknownDeque(_UnknownContents, TracedDeque):
    """A deque of that kind."""

    __slots__ = ()


class UnknownTuple(_UnknownContents, TracedTuple):
    """A tuple of that kind."""

    __slots__ = ()


class UnknownSet(_UnknownContents, TracedSet):
    """A set of that kind."""

    __slots__ = ()


class UnknownFrozenSet(_UnknownContents, TracedFrozenSet):
    """A frozenset of that kind."""

    __slots__ = ()


class UnknownDict(_UnknownContents, TracedDict):
    """A dict of that kind."""

    __slots__ = ()


_UNKNOWN_KINDS: Mapping[type, type] = types.MappingProxyType(
    {
        TracedList: UnknownList,
        TracedDeque: UnknownDeque,
        TracedTuple: UnknownTuple,
        TracedSet: UnknownSet,
        TracedFrozenSet: UnknownFrozenSet,
        TracedDict: UnknownDict,
    }
)


def is_unknown(value: Any) -> bool:
    """Whether a value, or the contents of a list, are unknown."""
    return type(value) is Unknown or isinstance(value, _UnknownContents)


def check_known(value: Any) -> None:
    """Raise if a value, which is asked for what it is, is unknown."""
    if type(value) is Unknown:
        value.raise_error()


def holds_unknown(owner: Any, contents: Any) -> bool:
    """Whether a container, which holds these contents, or a part of it is unknown."""
    if is_unknown(owner):
        return True
    parts = (
        contents.values() if isinstance(contents, dict) else contents if isinstance(contents, tuple) else (contents,)
    )
    return any(type(part) is Unknown for part in parts)


def can_be_of_unknown_length(owner: Any) -> bool:
    """Whether it can be unknown how many items a container holds, and what keys: of those that know when they are asked."""
    return type(owner) in _UNKNOWN_KINDS or is_unknown(owner)


def make_unknown(owner: Any, reason: Reason, keys: Collection[Any] | None) -> Callable[[], None] | None:
    """Let what a container or an object holds be unknown.

    Args:
      keys: the keys, indices or names of attributes; None for all, and how many they are where that can be unknown.

    Returns:
      What undoes it; None if an object of this kind cannot be so.
    """
    if is_unknown(owner):
        return _nothing
    value = Unknown(reason)
    if type(owner) in _UNKNOWN_KINDS and (keys is None or owner.padded is not None):
        return _kind_changed(owner, value)
    if isinstance(owner, list) and (keys is not None or len(owner)):
        held: dict[Any, Any] = dict(enumerate(list.__iter__(owner)))
        return _replaced(held, keys, value, functools.partial(list.__setitem__, owner))
    if isinstance(owner, dict) and (keys is not None or owner):
        return _replaced(dict(owner), keys, value, functools.partial(dict.__setitem__, owner))
    if is_plain_object(owner):
        held = attributes_of(owner)
        absent = {} if keys is None else {name: AttributePlace(owner, name).get() for name in keys if name not in held}
        return _replaced(held | absent, keys, value, lambda name, new: AttributePlace(owner, name).set(new))
    return None


def _nothing() -> None:
    """Undo nothing."""


def _kind_changed(owner: Any, value: Unknown) -> Callable[[], None]:
    kind, checks = type(owner), owner.checks

    def undo() -> None:
        owner.__class__ = kind
        owner.checks = checks

    owner.__class__, owner.checks = _UNKNOWN_KINDS[kind], value
    return undo


def _replaced(
    held: dict[Any, Any], keys: Collection[Any] | None, value: Unknown, store: Callable[[Any, Any], None]
) -> Callable[[], None]:
    chosen = held if keys is None else {key: held[key] for key in keys}
    for key in chosen:
        store(key, value)

    def undo() -> None:
        for key, old in chosen.items():
            store(key, old)

    return undo


class Unknowns:
    """What has become unknown in a region, or outside of all: to be undone where the region ends.

    Attributes: made (each owner, and the reason).
    """

    def __init__(self) -> None:
        self.made: list[tuple[Any, Reason]] = []
        self._undo: list[Callable[[], None]] = []

    def add(self, owner: Any, reason: Reason, keys: Collection[Any] | None = None) -> bool:
        """Let what an object holds be unknown from now on; whether it could be done. The arguments are `make_unknown`'s."""
        undo = make_unknown(owner, reason, keys)
        if undo is None:
            return False
        self.made.append((owner, reason))
        self._undo.append(undo)
        return True

    def conceal(self, owner: list[Any], reason: Reason) -> None:
        """Let the elements of a list be unknown, one where there is none: ``xs[-1]`` is Python's own, and asks nobody."""
        held = list(owner)
        owner[:] = [Unknown(reason)] * max(len(held), 1)
        self._undo.append(functools.partial(owner.__setitem__, slice(None), held))

    def undo(self) -> None:
        """Let all hold again what they held."""
        while self._undo:
            self._undo.pop()()

    def take(self, other: Unknowns) -> None:
        """Take over what another region has made unknown."""
        self.made += other.made
        self._undo += other._undo
