"""`Carry`: the variables that a staged loop carries, as far as they are known by now."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import FunctionType
from typing import Any

from autograph.backends.base import Backend, LeafType, LoopSpec, Traced
from autograph.backends.followed import is_followed_anew
from autograph.runtime.containers.iterables import StagedIterable
from autograph.runtime.containers.traced_lists import TracedList
from autograph.runtime.effects.growing_values import Growth, with_any_length
from autograph.runtime.effects.staged_raises import Raising
from autograph.runtime.errors import StagingError, describe_location
from autograph.runtime.heap.holders import reached, within_reach
from autograph.runtime.heap.identities import may_change
from autograph.runtime.heap.journal import AttributePlace, ContentsPlace, Region
from autograph.runtime.heap.places import holds_list
from autograph.runtime.heap.unknown import is_unknown
from autograph.runtime.layouts.describe import anonymous, describe, typed
from autograph.runtime.layouts.kinds import Layout, may_be_none, tags_in
from autograph.runtime.layouts.mismatches import Mismatch, variables_of
from autograph.runtime.layouts.references import is_reference
from autograph.runtime.layouts.statement_variables import (
    UNBOUND,
    CellVariable,
    GlobalVariable,
    Marks,
    Slot,
    Snapshot,
    Variable,
    has_contents,
    prepared,
)
from autograph.runtime.lazy import lazy
from autograph.runtime.staging.policy.loop_options import LoopOptions
from autograph.runtime.staging.statements.growing_lists import GrowingList, appended_to
from autograph.runtime.staging.statements.list_growth import ListKey, list_end
from autograph.runtime.staging.statements.loop_state import BodyEnd, Carried, CarryChanges, carry_changes


class Carry:
    """What the parts of a `LoopTrace` share.

    Attributes:
      variables: those that iterations may change, in the order in which they end; snapshot: what is to be put back.
      line: the loop's, and its file.
      iterable: what the loop runs over; test: says after an iteration whether to go on, None for a loop without one.
      carried: those of the variables that are carried.
      found: those, by identity, that iterations were seen to write.
      growing: the lists that each iteration appends the same number of elements to, and that none reads.
      by_value: the lists that come to hold their elements by value.
      opens: the variables, by identity, whose objects are unpacked into their attributes.
      refers: those of them that, of the objects from before the loop, say which one they hold.
      longer: by the identity of the variable, where in it are texts and tuples that iterations make longer.
      region: of the iteration that is being traced, or was last.
      around: how many loops there are around this one.
      rooms: by the identity of the variable, how many elements TensorArrays in it have room for, by their position among them.
    """

    def __init__(
        self,
        backend: Backend,
        marks: Marks,
        variables: Sequence[Variable],
        snapshot: Snapshot,
        line: tuple[str, int],
        iterable: StagedIterable,
        test: Callable[[], Any] | None,
        around: int,
    ) -> None:
        self.backend = backend
        self.marks = marks
        self.variables = list(variables)
        self.snapshot = snapshot
        self.line = line
        self.iterable = iterable
        self.test = test
        self.carried: list[Carried] = []
        self.found: set[int] = set()
        self.growing: list[GrowingList] = []
        self.by_value: set[ListKey] = set()
        self.opens: set[int] = set()
        self.refers: set[int] = set()
        self.longer: dict[int, set[Growth]] = {}
        self.region: Region | None = None
        self.around = around
        self.rooms: dict[int, dict[int, Any]] = {}

    @lazy
    def where(self) -> str:
        """The loop's line, for messages."""
        return describe_location(*self.line)

    def begin(self) -> None:
        """Carry each variable that has a value."""
        self.carried = [self.start(variable) for variable in self.variables if variable.get() is not UNBOUND]

    def start(self, variable: Variable, value: Any = UNBOUND) -> Carried:
        """A variable as it is carried at first: with its value before the loop, or this one."""
        iterable = self.iterable
        entry = variable.get()
        given = value is not UNBOUND
        value = value if given else entry
        bound = iterable.length if iterable.limit is None else iterable.limit
        with_room = prepared(value, bound, self.around, self.rooms.get(id(variable), {}))
        has_arrays, value = with_room is not value, with_room
        layout, leaves = self.described(variable, self.with_any_length(variable, value))
        leaves.append(self.marks.defined(value))
        types = [self.backend.type_of(leaf) for leaf in leaves]
        if leaves[-1] is True:
            types[-1] = None
        entry = entry if given or has_contents(entry) else value
        return Carried(variable, layout, leaves, types, entry, has_arrays=has_arrays)

    def start_again(self, carried: Carried) -> None:
        """Carry a variable as it is described now."""
        fresh = self.start(carried.variable)
        carried.layout, carried.start, carried.types = fresh.layout, fresh.start, fresh.types

    def replace(self, carried: Carried, variable: Variable) -> None:
        """Carry another variable instead of this one."""
        self.variables[:] = [variable if each is carried.variable else each for each in self.variables]
        self.snapshot.add(variable)
        self.carried[:] = [self.start(variable) if each is carried else each for each in self.carried]

    def takes_whole(self, carried: Carried, leaves: Sequence[Any]) -> bool:
        """Carry a list or dict with what is in it, as a variable that holds it would be, if iterations put other containers into it."""
        if not isinstance(carried.variable, ContentsPlace):
            return False
        before, after = ([leaf for leaf in found if may_change(leaf)] for found in (carried.start, leaves))
        if len(before) == len(after) and all(a is b for a, b in zip(before, after, strict=True)):
            return False
        self.replace(carried, Slot(carried.variable.name, carried.variable.owner))
        return True

    def takes_callers_arrays(self) -> bool:
        """Whether variables hold arrays of the caller's after an iteration that they were not known to hold: the next may write to one."""
        found = [each for each in self.carried if is_followed_anew(each.results, (each.start, each.ends))]
        for carried in found:
            carried.ends = carried.results
        return bool(found)

    def described(self, variable: Variable, value: Any) -> tuple[Layout, list[Any]]:
        """The layout and leaves of a variable's value, its objects unpacked if that was found necessary."""
        is_list = isinstance(variable, ContentsPlace) and holds_list(variable, value)
        opens: Any = id(variable) in self.opens
        if opens and id(variable) in self.refers:
            opens = self._is_made_in_iterations
        layout, leaves = describe(value, isinstance(variable, ContentsPlace), is_list, opens, lengths_change=True)
        return anonymous(layout) if opens else layout, leaves

    def _is_made_in_iterations(self, value: Any) -> bool:
        """Whether an object was not there before the loop."""
        if self.region is None:
            return False
        if self.region.made_by(value):
            return True
        with self.emptied():  # they hold what an iteration has left in them
            entries = [carried.entry for carried in self.carried]
            return id(value) not in reached({id(value)}, [*entries, *self.snapshot.reachable_before()])

    def operand_layouts(self) -> list[Layout]:
        """How the variables that iterations see are built."""
        return [carried.layout for carried in self.carried if carried.is_input]

    def operand_types(self) -> list[LeafType]:
        """The types of the arrays that iterations see."""
        return [t for carried in self.carried if carried.is_input for t in carried.types if t is not None]

    def inputs_first(self) -> list[Carried]:
        """What is carried, that which iterations see before what they only leave."""
        return sorted(self.carried, key=lambda carried: not carried.is_input)

    def leaves(self) -> list[tuple[Any, LeafType, Any]]:
        """The start, the type and the result of each array."""
        return [
            (start, type, result)
            for carried in self.inputs_first()
            for start, type, result in zip(carried.start, carried.types, carried.results, strict=True)
            if type is not None
        ]

    @property
    def has_arrays(self) -> bool:
        """Whether there are `TensorArray`s in the state."""
        return any(each.has_arrays for each in self.carried)

    def leaves_that_stay(self) -> list[Any]:
        """What is no array, and so the same in each iteration."""
        pairs = (pair for each in self.carried for pair in zip(each.start, each.types, strict=True))
        return [leaf for leaf, type in pairs if type is None]

    def specified(self, body: Traced, test: Traced | None, results: Sequence[Any], options: LoopOptions) -> LoopSpec:
        """The loop with this body, which leaves these results, now that its types are settled."""
        iterable = self.iterable
        return LoopSpec(
            body,
            test,
            [(leaf, type) for leaf, type, _ in self.leaves()],
            len(self.operand_types()),
            results,
            iterable.length,
            iterable.arrays,
            options.checkpoints,
            iterable.limit if isinstance(iterable.limit, int) else None,
            options.step,
            iterable.stride,
        )

    def note_alike(self, spec: LoopSpec, values: Sequence[Any], raising: Raising) -> None:
        """Note which truth values among the results of the loop are alike, where some say whether there is something."""
        tags = (each.types[k] for each in self.carried for k in (-1, *tags_in(each.layout)))
        for group in self.backend.alike(spec) if any(tags) else ():
            raising.facts.note_alike(tuple((values[k], truth) for k, truth in group.items()))

    @contextmanager
    def emptied(self) -> Iterator[None]:
        """Take the values from before the loop out of its variables, and elements out of lists that come to hold them by value."""
        places: list[Variable] = [
            v
            for v in self.variables
            if (id(v), ()) in self.by_value or isinstance(v, CellVariable | GlobalVariable | AttributePlace)
        ]
        # A list or dict that is carried with all that is in it.
        whole = [
            ContentsPlace(v.value) for v in self.variables if isinstance(v, Slot) and isinstance(v.value, list | dict)
        ]
        places += [place for place in whole if isinstance(place.get(), tuple | dict)]
        values = [place.get() for place in places]
        for place in places:
            place.set(() if isinstance(place, ContentsPlace) else UNBOUND)
        try:
            yield
        finally:
            for place, value in zip(places, values, strict=True):
                place.set(value)

    def position(self, variable: Variable) -> int:
        return next(k for k, each in enumerate(self.variables) if each is variable)

    def note_places(self, end: BodyEnd, region: Region, settling: Any) -> None:
        """Note what else an iteration has written, and what it leaves there."""
        for place in region.written():
            key, before = place.key, region.before[place.key][1]
            end.written.append(key)
            if place.get() is not UNBOUND:
                layout, leaves = self.described(place, place.get())
                end.types[key] = layout, [leaf if is_reference(leaf) else self.backend.type_of(leaf) for leaf in leaves]
            if isinstance(place, ContentsPlace) and isinstance(place.owner, TracedList):
                end.lists[key] = list_end(place.owner, before, (id(place), ()), self.backend)
            if isinstance(place, ContentsPlace) and (appended := appended_to(place, before)) is not None:
                end.growing[key] = settling.lists.growing_list(place, appended)
                if self.is_held_by_variable(place.owner):  # which would be carried without what has been appended
                    end.reads.add(id(place.owner))

    def name_leading_to(self, made: Any) -> str:
        """The variable, or the place that an iteration has written, that leads to this, which it has made."""
        written = [] if self.region is None else [place for place, _ in self.region.before.values()]
        for place in (*self.variables, *written):
            if within_reach({id(made)}, [place.get()]):
                return place.name
        return type(made).__name__

    def is_held_by_variable(self, owner: Any) -> bool:
        """Whether an object or a container leads to this one that the iteration has left in a local variable."""
        values = (variable.get() for variable in self.variables if isinstance(variable, CellVariable))
        holders = [value for value in values if value is not owner and value is not UNBOUND]
        return bool(within_reach({id(owner)}, holders))

    def check_functions(self, carried: Carried, leaves: Sequence[Any], rebound: Sequence[Any]) -> None:
        """Ensure that a function which each iteration defines again finds its closure variables after the loop.

        Args:
          rebound: the cells that an iteration rebinds.
        """
        functions = [leaf for leaf in leaves if type(leaf) is FunctionType]
        if not functions:  # as of most variables; the rest takes as long as there are others
            return
        own = {id(variable.cell) for variable in self.variables if isinstance(variable, CellVariable)}
        dropped = {id(cell) for cell in rebound} - own
        for leaf in functions if dropped else ():
            cells = zip(leaf.__code__.co_freevars, leaf.__closure__ or (), strict=True)
            names = [name for name, cell in cells if id(cell) in dropped]
            if names and leaf is not carried.entry:
                raise StagingError(
                    f"{self.where}\n  After an iteration of this staged loop, {carried.variable.name!r} is a function that "
                    f"closes over {names[0]!r}, a variable of that iteration.\n  Create the function after the loop, or read "
                    f"{names[0]!r} after it."
                )

    def before_loop(self, mismatch: Mismatch) -> Mismatch:
        """The same with what a variable of another structure was before the loop, whatever iterations have made of it."""
        entry = next((each.entry for each in self.carried if each.variable.name == mismatch.name), UNBOUND)
        if not mismatch.is_structure or entry is UNBOUND:
            return mismatch
        return dataclasses.replace(mismatch, left=typed(*describe(entry)))

    def change(
        self, mismatches: Sequence[Mismatch], has_invariants: bool, containers: Iterable[Any] = ()
    ) -> CarryChanges:
        """The error for variables that are one thing before an iteration and another after it, and ``containers`` that are."""
        mismatches = list(map(self.before_loop, mismatches))
        # None that only the first iteration finds is no difference once that has run by itself.
        lasting = [each for each in mismatches if not may_be_none(each.left)]
        change = carry_changes(self.where, lasting or mismatches, has_invariants)
        change._differing = variables_of(lasting)
        change._containers = tuple(containers)
        return change

    def with_any_length(self, variable: Variable, value: Any) -> Any:
        """A variable's value with the texts and tuples in it of any length that iterations make longer."""
        paths = self.longer.get(id(variable), ())
        return with_any_length(value, paths) if paths and value is not UNBOUND else value

    def unknown_lists(self) -> dict[int, StagingError]:
        """The lists that only a run of the program would know now: by the identity of the variable, the error for who reads one."""
        unknown = {}
        for variable in self.variables:
            if isinstance(variable, ContentsPlace) and is_unknown(variable.owner):
                try:
                    variable.get()
                except StagingError as error:
                    unknown[id(variable)] = error
        return unknown
