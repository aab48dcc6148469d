"""Lists that a staged loop appends to: elements go to a buffer, which becomes a Python list after the loop.

A loop of N iterations that each append k elements leaves a list of known length, so the list is Python's own again
after the loop. An iteration must not look at the list: it would see what was there before the loop.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from autograph.backends.base import Backend, LeafType
from autograph.backends.selected import STAGING
from autograph.runtime.containers.element_kinds import Kind, flatten_element
from autograph.runtime.containers.iterables import UNROLLED_AT_MOST
from autograph.runtime.containers.padded import Padded, has_mutable
from autograph.runtime.containers.traced_lists import TracedList
from autograph.runtime.errors import StagingError
from autograph.runtime.heap.journal import ContentsPlace, Journal
from autograph.runtime.layouts.statement_variables import Slot, flatten


class GrowingList:
    """One list, what each iteration appends to it, and the buffers that hold it.

    Attributes: place (the list's contents), slots (one buffer for each array leaf of what an iteration appends), end (what an
    iteration made of the list, for the case that it is carried after all; None if that is not known).
    """

    def __init__(self, place: ContentsPlace, appended: Sequence[Any], length: int, backend: Backend) -> None:
        self.place = place
        self.length = length
        self.backend = backend
        self.entry = place.get()[: len(place.get()) - len(appended)]
        self.end: Any = None
        leaves, self.structure = flatten(tuple(appended))
        types = [backend.type_of(leaf) for leaf in leaves]
        # Of array leaves only the types may outlive the trace; other leaves are the same in every iteration.
        self.statics = [leaf if type is None else None for leaf, type in zip(leaves, types, strict=True)]
        self.types: list[LeafType | None] = types
        self.slots = [Slot(f"elements of {place.name}", self._buffer(type)) for type in types if type is not None]
        self.are_weak = [type.weak_type for type in types if type is not None]

    def _buffer(self, type: LeafType) -> Any:
        return np.zeros((self.length, *type.shape), type.dtype)

    def has_grown_otherwise(self) -> bool:
        """Whether an iteration does not append what the one before it did: only the run knows how long the list is, or which of
        several constants an element is.
        """
        if self.end is None:
            return False
        contents = self.place.get()
        return isinstance(contents, Padded) or not self._has_structure(flatten(tuple(contents[len(self.entry) :]))[1])

    def _has_structure(self, structure: Any) -> bool:
        return bool(structure.treedef == self.structure.treedef)

    def after_iteration(self, index: Any, where: str) -> None:
        """Move what the iteration has appended into the buffers."""
        appended = tuple(self.place.owner[len(self.entry) :])
        del self.place.owner[len(self.entry) :]
        leaves, structure = flatten(appended)
        if not self._has_structure(structure):
            raise StagingError(
                f"{where}\n  The iterations of this staged loop append values of different structures to a list.\n  Append elements of one "
                "structure, or use an autograph.TensorArray."
            )
        arrays = [leaf for leaf, type in zip(leaves, self.types, strict=True) if type is not None]
        for slot, leaf in zip(self.slots, arrays, strict=True):
            buffer, element = jnp.asarray(slot.get()), jnp.asarray(leaf)
            if element.shape != buffer.shape[1:]:
                raise StagingError(
                    f"{where}\n  The iterations of this staged loop append arrays of different shapes to a list: "
                    f"{buffer.shape[1:]} and {element.shape}.\n  Pad them to one shape."
                )
            dtype = jnp.promote_types(buffer.dtype, element.dtype)
            slot.set(buffer.astype(dtype).at[index].set(element.astype(dtype)))
        self.are_weak = [STAGING.type_of(leaf).weak_type for leaf in arrays]

    def bind(self, journal: Journal) -> None:
        """Append to the list what all iterations have appended: if that is much, as the arrays that hold it."""
        if self._is_array():
            kind, arrays = self._stacked()
            journal.write(self.place, Padded(self.length, arrays, kind, self.length))
            return
        contents, arrays = list(self.entry), self._arrays()
        for k in range(self.length):
            left = iter(arrays)
            leaves = [
                static if type is None else next(left)[k] for static, type in zip(self.statics, self.types, strict=True)
            ]
            contents += self.structure.build(leaves)
        journal.write(self.place, tuple(contents))

    def _is_array(self) -> bool:
        """Whether the list is to be held in arrays: it was empty, and got many elements of one kind that nobody can write to."""
        if self.length <= UNROLLED_AT_MOST or self.entry or not self.slots:
            return False
        elements = self.structure.template
        return isinstance(self.place.owner, TracedList) and len(elements) == 1 and not has_mutable(elements[0])

    def _arrays(self) -> list[Any]:
        """The arrays of all elements' leaves, of the type that the leaves have: the buffers are strong."""
        arrays = [jnp.asarray(slot.get()) for slot in self.slots]
        types = [
            dataclasses.replace(STAGING.type_of(array), weak_type=is_weak)
            for array, is_weak in zip(arrays, self.are_weak, strict=True)
        ]
        return [STAGING.retyped(array, type) for array, type in zip(arrays, types, strict=True)]

    def _stacked(self) -> tuple[Kind, list[Any]]:
        """What an element is like, and the arrays of all elements' leaves, in the order of its layout."""
        arrays = self._arrays()
        left = iter(arrays)
        leaves = [static if type is None else next(left) for static, type in zip(self.statics, self.types, strict=True)]
        known = set(map(id, arrays))
        return flatten_element(self.structure.build(leaves)[0], lambda leaf: id(leaf) in known)


def appended_to(place: Any, before: Any) -> tuple[Any, ...] | None:
    """What was appended to a list that holds nothing else that is new; None if it was changed otherwise."""
    if not isinstance(place, ContentsPlace) or not isinstance(place.owner, list):
        return None
    now = place.get()
    if not isinstance(now, tuple) or not isinstance(before, tuple):
        return None
    grown = len(now) > len(before) and all(a is b for a, b in zip(now, before, strict=False))
    return now[len(before) :] if grown else None
