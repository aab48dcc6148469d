"""Containers of a trace in the places of lists, deques, dicts and sets from outside of its function.

What a trace does to a container of its own is known however traced conditions, loops and keys take part in it, as with a list among
the arguments. So a trace that asks for more than Python's container can show is made again, in which the attributes, variables and
other containers that lead to that one lead to one of the trace. What is in this when the trace ends is an output of the program.
"""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from autograph.backends.selected import STAGING
from autograph.runtime.containers.element_kinds import flatten_element, is_array_leaf
from autograph.runtime.containers.padded import Padded
from autograph.runtime.containers.traced_deques import TracedDeque
from autograph.runtime.containers.traced_dicts import TracedDict
from autograph.runtime.containers.traced_lists import TracedList
from autograph.runtime.containers.traced_sets import TracedSet
from autograph.runtime.errors import StagingError
from autograph.runtime.heap.holding_places import DefaultsPlace, places_holding, replace
from autograph.runtime.heap.object_graph import Reached
from autograph.runtime.heap.places import ContentsPlace, Place
from autograph.runtime.layouts.static_values import static_leaf
from autograph.runtime.tracing.language import LANGUAGE

# Of a list as short as this each length has a program of its own, which may take it apart; an element of a longer one has at most so
# many numbers, as all go to the device together on each call.
KNOWN_AT_MOST = 4
LEAST_ROOM = 16
LARGEST = 1024


def parts_of(value: Any) -> Iterator[tuple[str, Any]]:
    """What a trace's own container has in the place of what this one holds, each with what is written after the container's name.

    Of a dict these are pairs of a key and what it leads to.
    """
    if isinstance(value, dict):
        yield from ((f"[{key!r}]", (key, part)) for key, part in value.items())
    else:
        yield from ((f"[{number}]", part) for number, part in enumerate(value))


def kind_of(value: Any) -> Any:
    """What else a container is distinguished by."""
    return getattr(value, "maxlen", None), static_leaf(getattr(value, "default_factory", None))


def empty_of(value: Any) -> Any:
    """An empty container of the trace of the class that this one has."""
    checks = LANGUAGE.operators
    if type(value) is list:
        return TracedList((), checks)
    if isinstance(value, collections.deque):
        return TracedDeque((), value.maxlen, checks)
    if isinstance(value, dict):
        return TracedDict((), checks, type(value), getattr(value, "default_factory", None))
    return TracedSet((), checks)


class Columns:
    """Elements of one type, one array for each array in them, with room for more than there are: one program serves for all lengths.

    Attributes:
      structure: of an element, and which of its arrays are numbers of Python's.
      arrays: the number of elements, and then for each array of an element those of all. What is beyond their number means nothing.
      capacity: for how many there is room.
    """

    def __init__(self, structure: Any, arrays: Sequence[Any], capacity: int) -> None:
        self.structure, self.arrays, self.capacity = structure, arrays, capacity

    @classmethod
    def of(cls, elements: Sequence[Any], walked: Callable[[Any, list[Any]], Any]) -> Columns | None:
        """None where they are few, of several types, or large.

        Args:
          walked: returns the structure of an element, and adds its arrays and numbers to a list.
        """
        if len(elements) <= KNOWN_AT_MOST or not all(map(_is_value, elements)):
            return None
        rows: list[list[Any]] = []
        first: Any = None
        for element in elements:
            rows.append([])
            structure = walked(element, rows[-1]), tuple(map(_type_of, rows[-1]))
            if rows[1:] and structure != first:
                return None
            first = structure
        capacity = max(LEAST_ROOM, 1 << (len(elements) - 1).bit_length())
        columns = [_column(leaves, capacity) for leaves in zip(*rows, strict=True)]
        return cls(first, [np.int32(len(elements)), *columns], capacity)

    @staticmethod
    def held(structure: Any, arrays: Sequence[Any], element: Callable[[Sequence[Any]], Any]) -> Padded:
        """The contents of a list of the trace.

        Args:
          arrays: what stands for those of a call.
          element: makes one of its arrays.
        """
        length, *columns = arrays
        columns = [
            STAGING.weak(column) if is_number else column
            for column, (*_, is_number) in zip(columns, structure[1], strict=True)
        ]
        rows = [column[0] for column in columns]
        kind, leaves = flatten_element(element(rows), is_array_leaf)
        places = {id(row): column for row, column in zip(rows, columns, strict=True)}
        capacity = columns[0].shape[0]
        return Padded(length, [places[id(leaf)] for leaf in leaves], kind, capacity)


def _is_value(element: Any) -> bool:
    """Whether this is a small array, or a tuple of such."""
    if isinstance(element, tuple):
        return bool(element) and all(map(_is_value, element))
    if type(element) in (int, float, complex):
        return True
    is_array = isinstance(element, jax.Array | np.ndarray | np.generic)
    return is_array and element.size <= LARGEST and jnp.issubdtype(element.dtype, np.number)


def _type_of(leaf: Any) -> tuple[Any, ...]:
    is_number = type(leaf) in (int, float, complex)
    kind = STAGING.type_of(leaf)
    return kind.shape, kind.dtype, is_number or bool(getattr(leaf, "weak_type", False))


def _column(leaves: Sequence[Any], capacity: int) -> Any:
    (shape, dtype, _) = _type_of(leaves[0])
    found = np.zeros((capacity, *shape), dtype)
    found[: len(leaves)] = np.stack([np.asarray(leaf, dtype) for leaf in leaves])
    return jnp.asarray(found)


class HeldContainers:
    """The containers of one trace in the places of those outside."""

    def __init__(self) -> None:
        self._made: dict[int, Any] = {}
        self._by_number: dict[int, tuple[Any, Any]] = {}
        self._written: list[tuple[Place | DefaultsPlace, Any, Any]] = []

    def begin(self, value: Any, number: int) -> Any:
        """An empty container of the trace for this one, whose place has this number."""
        made = empty_of(value)
        LANGUAGE.operators.journal.born(made)
        self._made[id(value)] = made
        self._by_number[number] = value, made
        return made

    @staticmethod
    def fill(made: Any, parts: Sequence[Any] | Padded) -> None:
        """Let a container of the trace hold what the other does."""
        made.set_contents(parts if isinstance(parts, Padded) else tuple(parts))

    def in_place_of(self, value: Any) -> Any:
        """The container of the trace that is in the place of this one; else this one."""
        return self._made.get(id(value), value)

    def numbers(self) -> dict[int, int]:
        """For the identity of each container of the trace the number of its place."""
        return {id(made): number for number, (_, made) in self._by_number.items()}

    def at(self, number: int) -> Any:
        """The container of the trace of this number; None if there is none."""
        return self._by_number[number][1] if number in self._by_number else None

    def key_at(self, number: int) -> Any:
        """The key of the place outside of this number; None if it is not what such a container holds."""
        return ContentsPlace(self._by_number[number][0]).key if number in self._by_number else None

    def put_in_place(self, reached: Reached, variables: Iterable[Place]) -> None:
        """Let what leads to the containers outside lead to those of the trace.

        Args:
          reached: all that the function reads from outside leads to.
          variables: those that it reads.

        Raises:
          StagingError: something that leads to one cannot be written to.
        """
        pairs = list(self._by_number.values())
        holding = places_holding((value for value, _ in pairs), reached, variables, self._made) if pairs else []
        for (value, made), each in zip(pairs, holding, strict=True):
            if not each.is_complete:
                name = ContentsPlace(value).name
                raise StagingError(
                    f"{name!r} is changed as traced values decide, and a tuple, a default by keyword or an iterator leads to it, in "
                    "which the program can put no other.\n  Let an attribute, a variable, a list or a dict lead to it."
                )
            for place in each.places.values():
                replace(place, value, made)
                self._written.append((place, value, made))

    def put_back(self) -> None:
        """Let what led to the containers outside lead to them again."""
        for place, value, made in reversed(self._written):
            if isinstance(place, ContentsPlace | DefaultsPlace):
                replace(place, made, value)
            else:  # which the trace may have assigned
                place.set(value)
        self._written.clear()
