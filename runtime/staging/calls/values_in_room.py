"""`ValueInRoom`: the lists, tuples and texts that calls of a recursive function pass on, or return, longer than they were given."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from autograph.backends.selected import STAGING
from autograph.runtime.containers.extents import exactly
from autograph.runtime.containers.padded import Padded, as_seen
from autograph.runtime.containers.traced_lists import TracedList
from autograph.runtime.containers.traced_tuples import TracedTuple
from autograph.runtime.effects.characters import Characters
from autograph.runtime.effects.traced_texts import is_text
from autograph.runtime.layouts.kinds import Layout, Tree
from autograph.runtime.layouts.list_room import Room
from autograph.runtime.layouts.text_kinds import is_text_layout
from autograph.runtime.tracing.language import LANGUAGE


@dataclass
class ValueInRoom:
    """What calls pass on, or return, in one place: lists, tuples or texts of several lengths, in room that may prove too small.

    Attributes: room, capacity; elements (a list that can hold the elements of all that have been there).
    """

    room: Room
    capacity: int
    elements: Padded | None = None

    def hold(self, value: Any) -> Any:
        """A value in this room; raises, when the program runs, where it is longer. Any other value as it is."""
        if is_text(value):
            text = LANGUAGE.operators.texts.characters_of(value)
            found = None if text is None else self._held(text.codes)
            return value if found is None else Characters(found)
        if type(value) is tuple or isinstance(value, TracedTuple):
            items = value.as_list() if isinstance(value, TracedTuple) else LANGUAGE.operators.new_list(list(value))
            found = self._held(items)
            return value if found is None else TracedTuple((), LANGUAGE.operators).holding(found.contents())
        if not isinstance(value, list):
            return value
        found = self._held(value if isinstance(value, TracedList) else LANGUAGE.operators.new_list(value))
        return value if found is None else found

    def _held(self, given: Any) -> TracedList | None:
        """A list in this room; None as long as it is not known what elements there are."""
        held = None if given.most is not None or given.stands_for is not list else as_seen(given.contents())
        if held is not None:
            with jax.ensure_compile_time_eval():  # it outlives this trace
                elements = self.elements or Padded(0, list(map(STAGING.no_rows, held.types)), held.kind, 0)
                self.elements = elements.joined(held.kind, held.types)
        if self.elements is None:
            return None
        held = self.elements if held is None else held.joined(self.elements.kind, self.elements.types)
        given.check_room(held.with_(capacity=self.capacity, reserved=self.room))
        held = held.within(self.capacity) if held.capacity > self.capacity else held.with_room(self.capacity)
        length = jnp.asarray(held.length, np.int32)
        made: TracedList = TracedList((), LANGUAGE.operators).holding(
            held.with_(length=length, reserved=False, extent=exactly(self.capacity))
        )
        return made


def can_grow(value: Any) -> bool:
    """Whether this is a value that `ValueInRoom` holds."""
    return type(value) in (list, tuple) or isinstance(value, TracedList) or is_text(value)


def extent_of(value: Any) -> int:
    """How much a value holds, and has room for: more in each call, if it grows while all calls are followed."""
    leaves = jax.tree_util.tree_leaves(value)
    return sum(len(leaf) if isinstance(leaf, str) else math.prod(np.shape(leaf)) for leaf in leaves)


def places_of_growing(layout: Layout) -> Mapping[int | None, Layout]:
    """The lists and texts that a result of this layout is (None), or has in a tuple, by their positions."""
    if isinstance(layout, Tree) and layout.kind is tuple:
        return {k: part for k, part in enumerate(layout.parts) if _grows(part)}
    return {None: layout} if _grows(layout) else {}


def _grows(layout: Layout) -> bool:
    return is_text_layout(layout) or (isinstance(layout, Tree) and layout.is_list)


def result_in_room(value: Any, rooms: Mapping[int | None, ValueInRoom]) -> Any:
    """A result with its parts in room, which have some."""
    if type(value) is tuple:
        return tuple(rooms[k].hold(part) if k in rooms else part for k, part in enumerate(value))
    return rooms[None].hold(value) if None in rooms else value


def arguments_in_room(given: Mapping[Any, Any], rooms: Mapping[Any, ValueInRoom]) -> list[Any]:
    """Arguments by their places, likewise."""
    return [rooms[place].hold(value) if place in rooms else value for place, value in given.items()]
