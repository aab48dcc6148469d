"""The places that hold one object from outside of a function: attributes, variables, defaults, and what lists and dicts hold."""

from __future__ import annotations

import collections
import types
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from autograph.runtime.heap.object_graph import Reached, parts
from autograph.runtime.heap.places import AttributePlace, ContentsPlace, Place
from autograph.runtime.layouts.dict_kinds import own_class
from autograph.runtime.layouts.statement_variables import CellVariable

_WRITABLE = (list, dict, collections.deque)


def places_holding(
    held: Iterable[Any], reached: Reached, variables: Iterable[Place], replaced: Iterable[int] = ()
) -> list[Holding]:
    """The places that hold each of some objects.

    Args:
      reached: all that leads to them.
      variables: those that the function reads.
      replaced: the identities of containers that another is in the place of, whatever they hold.
    """
    holding = {id(each): Holding() for each in held}
    for variable in variables:
        if (known := holding.get(id(variable.get()))) is not None:
            known.places[variable.key] = variable
    values = list(reached.values())
    functions = [value for value in values if isinstance(value, types.FunctionType)]
    for function in functions:
        for default in function.__defaults__ or ():
            if (known := holding.get(id(default))) is not None:
                known.places[id(function)] = DefaultsPlace(function)
    seen_otherwise = {id(space) for value in values if type(space := getattr(value, "__dict__", None)) is dict}
    seen_otherwise |= {id(each.__defaults__) for each in functions} | set(replaced)
    for value in values:
        for step, part in () if id(value) in seen_otherwise else parts(value):
            if part is not value and (known := holding.get(id(part))) is not None:
                known.add(_place(value, step))
    return list(holding.values())


def places_of(held: Sequence[Any], reached: Reached, variables: Sequence[Place]) -> Iterator[Place]:
    """The places that hold some objects, or tuples that lead to them. The arguments are those of `places_holding`."""
    if not held:
        return
    for holding in places_holding(held, reached, variables):
        yield from (place for place in holding.places.values() if not isinstance(place, DefaultsPlace))
    known = set(map(id, held))
    tuples = [each for each in reached.values() if isinstance(each, tuple) and not known.isdisjoint(map(id, each))]
    yield from places_of(tuples, reached, variables)


class Holding:
    """The places that hold one object.

    Attributes:
      places: by their keys. is_complete: whether nothing else holds it, which cannot hold another: a tuple, say.
    """

    def __init__(self) -> None:
        self.places: dict[Any, Place | DefaultsPlace] = {}
        self.is_complete = True

    def add(self, place: Place | None) -> None:
        """Note one more; None of what cannot hold another."""
        if place is None:
            self.is_complete = False
        else:
            self.places.setdefault(place.key, place)


class DefaultsPlace:
    """The defaults of a function's parameters."""

    def __init__(self, function: types.FunctionType) -> None:
        self._function = function
        self._defaults = function.__defaults__ or ()

    def replace(self, old: Any, new: Any) -> None:
        """Let the function have ``new`` for ``old``; once it has its own again, as they were before."""
        held = tuple(new if each is old else each for each in self._function.__defaults__ or ())
        is_as_before = all(a is b for a, b in zip(held, self._defaults, strict=True))
        self._function.__defaults__ = self._defaults if is_as_before else held


def replace(place: Place | DefaultsPlace, old: Any, new: Any) -> None:
    """Let a place that holds an object hold another."""
    if isinstance(place, DefaultsPlace):
        place.replace(old, new)
        return
    if not isinstance(place, ContentsPlace):
        place.set(new)
        return
    owner = place.owner
    items = owner.items() if isinstance(owner, dict) else enumerate(owner)
    kind = own_class(owner) if isinstance(owner, dict) else list if isinstance(owner, list) else collections.deque
    for key, part in list(items):
        if part is old:
            kind.__setitem__(owner, key, new)


def _place(owner: Any, step: str) -> Place | None:
    if isinstance(owner, _WRITABLE):
        return ContentsPlace(owner)
    if isinstance(owner, types.CellType):
        return CellVariable("", owner)
    if step.startswith(".") and not isinstance(owner, types.BuiltinFunctionType):
        return AttributePlace(owner, step[1:])
    return None
