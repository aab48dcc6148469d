"""`CarriedState`: the outside state that a recursive function writes, as an argument and a result of each call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn

import jax.numpy as jnp

from autograph.backends.base import MISSING, Backend, LeafType
from autograph.backends.selected import STAGING
from autograph.runtime.errors import StagingError
from autograph.runtime.heap.journal import ContentsPlace, Journal, Place, holds_list
from autograph.runtime.layouts.describe import describe, typed, unflatten
from autograph.runtime.layouts.join import Joiner
from autograph.runtime.layouts.kinds import Array, Layout, Static, leaves_of
from autograph.runtime.layouts.mismatches import sides
from autograph.runtime.layouts.sides import injected
from autograph.runtime.layouts.statement_variables import UNBOUND
from autograph.runtime.tracing.locations import user_location


class CarriedState:
    """The Variables, variables, attributes and contents of containers that a function writes.

    Attributes:
      refs: the stand-ins of the Variables.
      places: the others.
      is_changed: whether a value has been found that the layouts so far do not hold.
    """

    def __init__(self, backend: Backend, journal: Journal, name: str) -> None:
        self._backend, self._journal, self._name = backend, journal, name
        self.refs: list[Any] = []
        self.places: list[Place] = []
        self._layouts: list[Layout] = []
        self.is_changed = False

    def add_refs(self, refs: Sequence[Any]) -> None:
        """Take in the stand-ins of Variables that are written."""
        for ref in refs:
            if not any(ref is other for other in self.refs):
                self.refs.append(ref)
                self.is_changed = True

    def add(self, place: Place) -> None:
        """Take in a place that is written, and holds now what it held before the call."""
        if any(place.key == other.key for other in self.places):
            return
        layout, leaves = self._described(place)
        self.places.append(place)
        self._layouts.append(self._typed(layout, leaves))
        self.is_changed = True

    def types(self) -> list[LeafType]:
        """Those of the arrays that a call is given, and gives back."""
        arrays = [leaf.type for layout in self._layouts for leaf in leaves_of(layout) if isinstance(leaf, Array)]
        return [*(LeafType(tuple(ref.shape), ref.dtype) for ref in self.refs), *arrays]

    def values(self) -> list[Any]:
        """These arrays, as they are now. Where the layouts do not hold them, they are widened: see `is_changed`."""
        found = [STAGING.read(ref) for ref in self.refs]
        for k, place in enumerate(self.places):
            found += self._values(k, place)
        return found

    def _values(self, k: int, place: Place) -> list[Any]:
        layout, leaves = self._described(place)
        joiner = Joiner(self._backend)
        joined = joiner.join(place.name, self._layouts[k], self._typed(layout, leaves))
        if joiner.mismatches:
            raise StagingError(
                f"{user_location()}\n  {self._name!r} calls itself under a traced condition, and leaves {place.name} with "
                f"different types.\n"
                f"{sides(joiner.mismatches, 'in one call', 'in another')}\n  XLA needs one type: keep its shape and structure."
            )
        if joined.layout != self._layouts[k]:
            self._layouts[k], self.is_changed = joined.layout, True
        every = zip(injected(joined.right, leaves), leaves_of(joined.layout), strict=True)
        return [
            self._backend.zeros(kind.type) if leaf is MISSING else jnp.asarray(leaf, kind.type.dtype)
            for leaf, kind in every
            if isinstance(kind, Array)
        ]

    def settle(self, arrays: Sequence[Any]) -> None:
        """Write these arrays, which a call was given or gives back."""
        for ref, value in zip(self.refs, arrays, strict=False):
            STAGING.write(ref, value)
        pending: Iterator[Any] = iter(arrays[len(self.refs) :])
        for place, layout in zip(self.places, self._layouts, strict=True):
            leaves = [leaf.value if isinstance(leaf, Static) else next(pending) for leaf in leaves_of(layout)]
            self._journal.write(place, unflatten(layout, leaves))

    def refuse_arguments(self, copied: Mapping[int, Any]) -> None:
        """Refuse a call that is given copies of these containers, if what they hold is state."""
        if any(id(getattr(place, "owner", None)) in copied for place in self.places):
            self.refuse_argument(user_location())

    def refuse_argument(self, where: str) -> NoReturn:
        """Refuse a write to an argument."""
        raise StagingError(
            f"{where}\n  {self._name!r} calls itself under a traced condition, and writes to a list or dict that it is given as an "
            "argument.\n  Return the new value, or let a variable around the function, or an object, hold the list."
        )

    def _described(self, place: Place) -> tuple[Layout, list[Any]]:
        value = place.get()
        if value is UNBOUND:
            raise StagingError(
                f"{user_location()}\n  {self._name!r} calls itself under a traced condition, and sets {place.name}, which has no "
                "value before the call.\n  Assign one."
            )
        is_contents = isinstance(place, ContentsPlace)
        return describe(value, is_contents, is_contents and holds_list(place, value))

    def _typed(self, layout: Layout, leaves: Sequence[Any]) -> Layout:
        return typed(layout, leaves, map(self._backend.type_of, leaves))
