"""How much room the TensorArrays of dynamic size have that a staged loop writes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from autograph.backends.base import Backend, LoopSpec
from autograph.runtime.containers.sizes import is_symbolic_size
from autograph.runtime.containers.written_room import Reserved, reserved
from autograph.runtime.layouts.statement_variables import ArrayWritten, arrays_written
from autograph.runtime.staging.statements.carry import Carry
from autograph.runtime.staging.statements.loop_state import Carried

# Numbers of iterations, of which the last two tell how many elements each of many writes.
_TRIPS = (1, 2, 3, 17, 1000)


@dataclass(frozen=True)
class _Held:
    """An array in the loop's carry.

    Attributes: carried (the variable that holds it), array, position (of the number of its elements in the carry).
    """

    carried: Carried
    array: ArrayWritten
    position: int

    @property
    def key(self) -> tuple[int, int]:
        return id(self.carried.variable), self.array.place


class ArrayRooms:
    """The room for what a loop writes into the TensorArrays that it carries.

    At first there is room for one element in each iteration. What the loop's program shows that it needs is found when its
    types are settled; where it does not show that, the program may be compiled again with more.
    """

    def __init__(self, backend: Backend, carry: Carry) -> None:
        self._backend = backend
        self._carry = carry
        self._reserved: dict[tuple[int, int], Reserved] = {}  # where writes may miss
        self._written: list[tuple[Reserved, Any]] = []

    def need_more_room(self, spec: LoopSpec) -> bool:
        """Whether some array needs more room than it has, which it has from now on: the body must be traced again.

        Raises:
          StagingError: nothing tells how much.
        """
        self._reserved = {}
        held = list(self._held())
        starts = {each.position: each.array.before for each in held if isinstance(each.array.before, int)}
        again = []
        for each in held:
            needed = self._needed(spec, each, starts)
            if needed is not None:
                self._carry.rooms.setdefault(id(each.carried.variable), {})[each.array.place] = needed
                again.append(each.carried)
        for carried in again:
            self._carry.start_again(carried)
        return bool(again)

    def _held(self) -> Iterator[_Held]:
        position = 0
        for carried in self._carry.inputs_first():
            places = {}
            for k, type in enumerate(carried.types):
                places[k] = position
                position += type is not None
            for array in self._arrays(carried) if carried.is_input else ():
                if carried.types[array.count] is not None:
                    yield _Held(carried, array, places[array.count])

    def _arrays(self, carried: Carried) -> list[ArrayWritten]:
        return arrays_written(carried.unflatten(range(len(carried.start))), self._carry.around)

    def _needed(self, spec: LoopSpec, held: _Held, starts: dict[int, int]) -> Any:
        """How much room an array needs; None if it has that."""
        room = held.array.room
        if not isinstance(room, int):
            return self._symbolic(spec, held, starts)
        bound = spec.length if isinstance(spec.length, int) else spec.limit
        most = self._backend.at_most(spec, held.position, starts, bound)
        if most is None or most > room:
            known = self._backend.known_result(spec, held.position)
            most = most if known is None else known
        if most is None:
            more = self._reserved[held.key] = reserved(self._carry.where, held.carried.variable.name, room)
            most = more.capacity
        return most if most > room else None

    def _symbolic(self, spec: LoopSpec, held: _Held, starts: dict[int, int]) -> Any:
        """As `_needed`, where the room is symbolic."""
        before, iterable = held.array.before, self._carry.iterable
        trips = iterable.length if iterable.limit is None else iterable.limit
        if isinstance(before, int) and is_symbolic_size(trips):
            found = [self._backend.at_most(spec, held.position, starts, each) for each in _TRIPS]
            known = [each for each in found if each is not None]
            if len(known) == len(_TRIPS):
                rate = max(1, math.ceil((known[-1] - known[-2]) / (_TRIPS[-1] - _TRIPS[-2])))
                more = max(most - before - rate * each for most, each in zip(known, _TRIPS, strict=True))
                wanted = before + rate * trips + max(more, 0)
                return None if bool(wanted == held.array.room) else wanted
        self._reserved[held.key] = reserved(self._carry.where, held.carried.variable.name, held.array.room)
        return None

    def note_written(self, carried: Carried, leaves: Sequence[Any]) -> None:
        """Note how many elements there are after the loop."""
        for array in self._arrays(carried) if self._reserved else ():
            if (more := self._reserved.get((id(carried.variable), array.place))) is not None:
                self._written.append((more, leaves[array.count]))

    def check(self) -> None:
        """See that no write has missed, after the loop."""
        for more, count in self._written:
            more.check(count)
        self._written = []
