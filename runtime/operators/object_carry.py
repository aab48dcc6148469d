"""`CarriesObjects`: variables of a loop that iterations bind to other objects of the user's, carried by attribute."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from autograph.runtime.layouts.objects import differ, opened
from autograph.runtime.operators.journal import ContentsPlace
from autograph.runtime.operators.loop_state import Carried
from autograph.runtime.operators.state import Structure, Variable, flatten


class CarriesObjects:
    """The part of `LoopTrace` that takes objects apart. Attributes: opens (the variables whose objects are)."""

    opens: set[int]
    _start: Callable[..., Carried]

    def _flattened(self, variable: Variable, value: Any) -> tuple[list[Any], Structure]:
        keeps_containers = isinstance(variable, ContentsPlace)
        records = opened(value) if id(variable) in self.opens else None
        if records is None:
            return flatten(value, keeps_containers)
        return flatten(records, keeps_containers, has_records=True)

    def _open_objects(self, carried: Carried, leaves: Sequence[Any]) -> bool:
        """Take a variable's objects apart from now on, if an iteration leaves others than it finds."""
        if id(carried.variable) in self.opens or not differ(carried.start[:-1], leaves[:-1]):
            return False
        self.opens.add(id(carried.variable))
        fresh = self._start(carried.variable)
        carried.structure, carried.start, carried.types = fresh.structure, fresh.start, fresh.types
        return True
