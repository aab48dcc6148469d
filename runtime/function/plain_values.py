"""Tell from values, and all that they lead to, whether an array could be among them."""

from __future__ import annotations

import collections
import datetime
import decimal
import fractions
import functools
import itertools
import operator
import re
import types
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from autograph.runtime.function.methods import identity

NUMBERS = frozenset({bool, int, float, complex, str, bytes, type(None)})
# Besides these, what holds nothing of the user's.
_LEAVES = frozenset(
    {range, bytearray, type(...), type(NotImplemented), fractions.Fraction, decimal.Decimal, re.Pattern}
    | {datetime.date, datetime.time, datetime.datetime, datetime.timedelta, datetime.timezone}
)
_ROWS = frozenset({list, tuple, set, frozenset, collections.deque})
_TABLES = frozenset({dict, collections.OrderedDict, collections.Counter, collections.defaultdict})
# Of more the look at them would take longer than many a call.
_MOST = 4096

# Of instances of a class what they hold, in collections, of which each is looked through at once.
Parts = Callable[[Sequence[Any]], Iterator[Sequence[Collection[Any]]]]


class OnlyPlain:
    """Whether values lead to numbers, texts, known functions and classes, and containers and objects of these only.

    ``parts_of(kind)``: of a class what instances hold; None if that is not known. ``knows(value)``: of a function or a class, whether
    it is known to make nothing but plain values of plain values.
    """

    def __init__(self, parts_of: Callable[[type], Parts | None], knows: Callable[[Any], bool]) -> None:
        self._parts_of, self._knows = parts_of, knows

    def of(self, values: Sequence[Any]) -> bool:
        """Look through all, one generation after the other: what the values hold, what that holds …"""
        generation = values
        seen: set[int] = set()
        left = _MOST
        while True:
            kinds = set(map(type, generation))
            remaining = kinds - NUMBERS - _LEAVES
            if not remaining:
                return True
            following: list[Any] = []
            for kind in remaining:
                members = generation if len(kinds) == 1 else [each for each in generation if type(each) is kind]
                found = set(map(identity, members))
                if len(found) < len(members) or not found.isdisjoint(seen):
                    members = [
                        each for key, each in {identity(each): each for each in members}.items() if key not in seen
                    ]
                seen |= found
                for parts in self._held(kind, members):
                    if parts is None:
                        return False
                    left -= sum(map(len, parts))
                    if left < 0:
                        return False
                    if not NUMBERS.issuperset(map(type, itertools.chain.from_iterable(parts))):
                        following.extend(itertools.chain.from_iterable(parts))
            generation = following

    def _held(self, kind: type, members: Sequence[Any]) -> Iterator[Sequence[Collection[Any]] | None]:
        """What instances of a class hold, in collections; None where that is not known."""
        if kind in _ROWS:
            yield members
        elif kind in _TABLES:
            yield [each.values() for each in members]
            yield [each.keys() for each in members]
            if kind is collections.defaultdict:
                yield [[each.default_factory for each in members]]
        elif issubclass(kind, type | types.FunctionType | types.BuiltinFunctionType):
            yield () if all(map(self._knows, members)) else None
        elif kind in _CALLABLES:
            yield list(map(_CALLABLES[kind], members))
        else:
            parts = self._parts_of(kind)
            yield from (None,) if parts is None else parts(members)


def parts_of_instances(kind: type) -> Parts:
    """What instances of a user's class hold: the values of attributes and slots, and the items of a container."""
    has_attributes = kind.__dictoffset__ != 0
    slots = [
        part for each in kind.__mro__ for part in vars(each).values() if isinstance(part, types.MemberDescriptorType)
    ]
    items = [each for each in _ITEMS if issubclass(kind, each)][:1]

    def parts(members: Sequence[Any]) -> Iterator[Sequence[Collection[Any]]]:
        if has_attributes:
            yield list(map(dict.values, map(_ATTRIBUTES, members)))
        for slot in slots:
            yield [[_value(slot, each, kind) for each in members]]
        for container in items:
            yield [list(_ITEMS[container](each)) for each in members]
            if container is dict:
                yield list(map(dict.values, members))

    return parts


_ATTRIBUTES = operator.attrgetter("__dict__")
_CALLABLES: Mapping[type, Callable[[Any], Collection[Any]]] = types.MappingProxyType(
    {
        types.MethodType: lambda method: (method.__func__, method.__self__),
        functools.partial: lambda made: (made.func, made.args, made.keywords, made.__dict__),
        functools._lru_cache_wrapper: lambda wrapper: (wrapper.__wrapped__, wrapper.__dict__),
    }
)
_ITEMS: Mapping[type, Callable[[Any], Iterator[Any]]] = types.MappingProxyType(
    {kind: kind.__iter__ for kind in (list, tuple, dict, set, frozenset, collections.deque)}
)


def _value(slot: Any, instance: Any, kind: type) -> Any:
    try:
        return slot.__get__(instance, kind)
    except AttributeError:  # it has none
        return None
