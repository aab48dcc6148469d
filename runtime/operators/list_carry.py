"""What a staged loop does with the lists that its iterations change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autograph.backends.base import Backend, NotRollable, Output
from autograph.runtime.operators.growing_lists import GrowingList, refuse_reading
from autograph.runtime.operators.iterables import StagedIterable
from autograph.runtime.operators.joins import agree
from autograph.runtime.operators.journal import ContentsPlace, Place
from autograph.runtime.operators.list_growth import ListEnd, ReadsList, needs_room, with_room
from autograph.runtime.operators.loop_state import BodyEnd, Carried
from autograph.runtime.operators.padded import Padded
from autograph.runtime.operators.state import UNBOUND, Snapshot, Variable
from autograph.runtime.operators.traced_lists import TracedList


class CarriesLists:
    """The part of a `LoopTrace` that is about lists.

    A list that each iteration appends the same number of elements to, and none reads, gets them from buffers that
    are filled by the iteration's index. Any other is carried as a buffer and a length.

    Attributes:
      growing: the lists of the first sort.
      buffers_lists: whether there shall be none of it.
    """

    backend: Backend
    snapshot: Snapshot
    variables: list[Variable]
    carried: list[Carried]
    found: set[int]
    growing: list[GrowingList]
    buffers_lists: bool
    iterable: StagedIterable
    from_python: bool
    test: Callable[[], Any] | None
    where: str
    _start: Callable[..., Carried]
    _trace_body: Callable[[], BodyEnd]

    def _carry_list(self, place: Place, ended: ListEnd) -> None:
        """Carry the contents of a list, with room for all that the iterations append."""
        self.snapshot.add(place)
        self.variables.append(place)
        self.found.add(id(place))
        entry = place.get()
        if needs_room(entry, ended):
            self._refuse_from_python()
        self.carried.append(self._start(place, self._roomy(entry, ended) if needs_room(entry, ended) else UNBOUND))

    def _refuse_from_python(self) -> None:
        """Leave to Python a loop that it could run, with a list whose length would be traced."""
        if self.from_python:
            raise NotRollable("it appends to a list by conditions, or reads a list that it appends to")

    def _roomy(self, entry: Any, ended: ListEnd) -> Padded:
        bound = self.iterable.length if self.iterable.limit is None else self.iterable.limit
        return with_room(entry, ended, None if self.backend.is_traced(bound) else bound, self.where)

    def _growing_list(self, place: Any, appended: tuple[Any, ...]) -> GrowingList | None:
        """The list as one that grows by a known amount; None if it is not known how often the loop runs."""
        if not isinstance(self.iterable.length, int) or self.test is not None or self.buffers_lists:
            return None
        return GrowingList(place, appended, self.iterable.length, self.backend)

    def _check_growing(self, end: BodyEnd) -> None:
        """Make sure that no iteration reads a list that iterations append to."""
        if not self.growing:
            return
        for growing in self.growing:
            growing.dummies = True
        try:
            other = self._trace_body()
        except Exception as error:
            raise self._reads_list() from error
        finally:
            for growing in self.growing:
                growing.dummies = False
                growing.place.set(growing.entry)
        pairs = zip(other.traced.leaves, end.traced.leaves, strict=False)
        same = all(agree(a, b) or (isinstance(a, Output) and a == b) for a, b in pairs)
        if not same or str(other.traced.program) != str(end.traced.program):
            raise self._reads_list()

    def _reads_list(self) -> Exception:
        if all(isinstance(growing.place.owner, TracedList) for growing in self.growing):
            return ReadsList()
        return refuse_reading(self.where)

    def _make_roomy(self, carried: Carried, ended: ListEnd) -> bool:
        """Carry a list that iterations were seen to change the length of as a buffer; False if it is one."""
        entry = carried.entry
        is_place = isinstance(carried.variable, ContentsPlace)
        contents = entry if is_place else entry.contents() if isinstance(entry, TracedList) else None
        if contents is None or isinstance(carried.structure.template, Padded) or not needs_room(contents, ended):
            return False
        if not is_place and isinstance(carried.structure.template.contents(), Padded):
            return False
        value: Any = self._roomy(contents, ended)
        new = self._start(carried.variable, value if is_place else entry.holding(value))
        carried.structure, carried.start, carried.types = new.structure, new.start, new.types
        return True
