"""`SettlesCarry`: a loop's state after an iteration compared with that before, until both are of one type."""

from __future__ import annotations

from collections.abc import Sequence
from types import FunctionType
from typing import Any

from autograph.backends.base import MISSING, LeafType
from autograph.runtime.errors import StagingError
from autograph.runtime.layouts.kinds import is_one_value as agree
from autograph.runtime.layouts.mismatches import Shown
from autograph.runtime.operators.growing_lists import refuse_growth
from autograph.runtime.operators.journal import AttributePlace, ContentsPlace, Journal, Place, key_of
from autograph.runtime.operators.list_carry import CarriesLists
from autograph.runtime.operators.list_growth import ListEnd
from autograph.runtime.operators.loop_options import LoopOptions
from autograph.runtime.operators.loop_state import (
    BodyEnd,
    Carried,
    CarriedFurtherOut,
    CarryChanges,
    VariableEnd,
    carry_changes,
)
from autograph.runtime.operators.none_carry import CarriesNones
from autograph.runtime.operators.object_carry import CarriesObjects
from autograph.runtime.operators.padded import Kind
from autograph.runtime.operators.raises import is_absence_of
from autograph.runtime.operators.state import UNBOUND, CellVariable, Structure, Variable


def describe(leaf: Any, type: LeafType | None) -> str:
    """A leaf as messages show it: its type if it is an array, itself if it is not."""
    if leaf is MISSING:
        return "unbound"
    if type is None or isinstance(leaf, bool | int | float | complex):
        return repr(leaf)
    return str(type)


class SettlesCarry(CarriesLists, CarriesNones, CarriesObjects):
    """The part of `LoopTrace` that widens the carry and finds what else must be carried."""

    journal: Journal
    code: Any
    result_name: str | None
    surely_runs: bool
    options: LoopOptions

    def _operand_types(self) -> list[LeafType]:
        raise NotImplementedError

    def _widened(self, end: BodyEnd) -> bool:
        """Compare the state after an iteration with that before; True if the body must be traced again."""
        again = self._carry_read_lists(end)
        again |= self._take_discovered(end)
        by_variable = {id(carried.variable): carried for carried in self.carried}
        for variable, last in zip(self.variables, end.ends, strict=False):
            carried = by_variable.get(id(variable))
            if last is None:
                if carried is not None and carried.is_input:
                    raise StagingError(
                        f"{self.where}\n  This staged loop deletes {variable.name!r}, which exists before it. Keep the variable."
                    )
                continue
            leaves = list(end.traced.leaves[last.span])
            if carried is None:
                again |= self._born(variable, last, leaves, end.absences)
            elif carried.is_input:
                self._check_functions(carried, leaves, end)
                again |= self._compare(carried, last, leaves)
            elif last.structure.treedef == carried.structure.treedef:
                self._take_results(carried, last, leaves)
            else:
                self.carried = [each for each in self.carried if each is not carried]
                again |= self._born(variable, last, leaves, end.absences)
        return again

    def _only_strengthened(self, end: BodyEnd) -> bool:
        """Whether the program traced on the old types serves for the new: they differ in weakness, and it never
        looked.
        """
        old, new = end.operand_types, [*self._operand_types(), *end.operand_types[end.state_count :]]
        if (
            end.discovered
            or len(old) != len(new)
            or any(a.strong() != b.strong() for a, b in zip(old, new, strict=True))
        ):
            return False
        strengthened = [k for k, (a, b) in enumerate(zip(old, new, strict=True)) if a != b]
        traced = self.backend.strengthened(end.traced, strengthened)
        if traced is None:
            return False
        end.traced = traced
        return not self._widened(end)

    def _take_discovered(self, end: BodyEnd) -> bool:
        """Make state of the places that the body was seen to write; True if there are any.

        Raises:
          CarriedFurtherOut: loops around this one have to carry some of them, too.
        """
        self._refuse_plain_lists(end)
        self._leave_to_outer_loops(end)
        for place in end.discovered:
            growing = end.growing.get(key_of(place))
            ended = end.lists.get(key_of(place))
            is_read = isinstance(place, ContentsPlace) and id(place.owner) in end.reads
            if ended is not None and (growing is None or is_read):
                self._carry_list(place, ended)
            elif growing is not None:
                self._carry_growing(growing, ended)
            elif key_of(place) in end.growing:
                raise refuse_growth(self.where)
            else:
                self._carry_place(place, end.types.get(key_of(place)))
        return bool(end.discovered)

    def _widen_further_out(self, carried: Carried, k: int, joined: LeafType) -> None:
        """Have a leaf of another type carried so by the outermost loop whose iterations begin with what this one begins with.

        Raises:
          CarriedFurtherOut: there is such a loop.
        """
        key, start = key_of(carried.variable), carried.start[k]
        target = None
        for loop in reversed(self.journal.loops):
            outer = next((each for each in loop.carried if each.is_input and key_of(each.variable) == key), None)
            if outer is None or outer.structure.treedef != carried.structure.treedef or outer.types[k] is None:
                break
            if loop.installed.get(id(outer.variable), [None] * (k + 1))[k] is not start:
                break
            target, start = outer, outer.start[k]
            found = loop
        if target is not None and not self.from_python:
            target.types[k] = joined
            raise CarriedFurtherOut(found)

    def _carry_place(self, place: Place, types: tuple[Any, list[LeafType | None]] | None) -> None:
        """Carry a place. ``types`` (with their tree) are those that an iteration was seen to leave in it."""
        self.snapshot.add(place)
        self.variables.append(place)
        self.found.add(id(place))
        if place.get() is UNBOUND:
            return
        carried = self._start(place)
        if types is not None and types[0] == carried.structure.treedef:
            pairs = zip(carried.types[:-1], types[1], strict=True)
            joined = [self.backend.join(a, b) if a is not None and b is not None else a for a, b in pairs]
            carried.types[:-1] = [new or old for new, old in zip(joined, carried.types[:-1], strict=True)]
        self.carried.append(carried)

    def _leave_to_outer_loops(self, end: BodyEnd) -> None:
        """Have the places that loops around this one have to carry carried from the outermost on, and all traced once more.

        So the body is traced twice, however deep it is.
        """
        targets = {key_of(place): self.journal.outermost_around(place) for place in end.discovered}
        around = [loop for loop in self.journal.loops if any(loop is target for target in targets.values())]
        if not around or self.from_python or any(loop.from_python for loop in self.journal.loops):
            return
        loops = self.journal.loops[self.journal.loops.index(around[0]) :]
        found = False
        for place in end.discovered:
            key = key_of(place)
            ended = end.lists.get(key)
            if targets[key] is not around[0] or not (ended is None or isinstance(ended.kind, Kind)):
                continue
            if ended is None and key in end.growing:
                continue
            inner: list[SettlesCarry] = [self]
            self.journal.learn(self.code, place, ended or end.types.get(key))
            for loop in reversed(loops):
                known = end.types.get(key) if ended is None else loop._around(ended, inner)
                self.journal.learn(loop.code, place, known)
                inner.append(loop)
            found = True
        if found:
            raise CarriedFurtherOut(around[0])

    def _take_learnt(self) -> None:
        """Carry what this loop was seen to write while one around it was traced."""
        known = {key_of(variable) for variable in self.variables if isinstance(variable, Place)}
        for key, (place, end) in self.journal.learnt.get(self.code, {}).items():
            if key in known:
                continue
            if isinstance(end, ListEnd):
                self._carry_list(place, end)
            else:
                self._carry_place(place, end)

    def _born(
        self, variable: Variable, last: VariableEnd, leaves: list[Any], absences: Sequence[BaseException]
    ) -> bool:
        """A variable that is unbound before the loop: True if iterations must see what earlier ones left."""
        is_missed = any(is_absence_of(error, variable) for error in absences)
        if variable.name == self.result_name:
            leaves[-1] = True
        types: list[LeafType | None] = [self.backend.type_of(leaf) for leaf in leaves]
        if is_missed and (isinstance(variable, AttributePlace) or not any(types[:-1])):
            raise self._first_set_in_it(variable)
        is_result = variable.name == self.result_name
        if not any(types[:-1]) and not is_result and not (self.surely_runs and leaves[-1] is True):
            return False  # nothing in it can bear the mark of a placeholder
        start = [leaf if type is None else MISSING for leaf, type in zip(leaves[:-1], types, strict=False)]
        carried = Carried(variable, last.structure, [*start, False], types, UNBOUND)
        carried.is_input = leaves[-1] is not True or is_missed
        if carried.is_input:
            types[-1] = self.backend.type_of(True)
        elif self.surely_runs or is_result:
            carried.start[-1], types[-1] = True, None
        carried.results = leaves
        self.carried.append(carried)
        return carried.is_input

    def _first_set_in_it(self, variable: Variable) -> StagingError:
        return StagingError(
            f"{self.where}\n  An iteration of this staged loop reads {variable.name!r} where only an earlier one may have set it, and it "
            f"has no value before the loop.\n  Give {variable.name!r} a value of the same type before the loop."
        )

    def _take_results(self, carried: Carried, last: VariableEnd, leaves: list[Any]) -> None:
        if carried.variable.name == self.result_name:
            leaves[-1] = True
        carried.structure = last.structure
        carried.results = leaves
        carried.types = [
            None if old is None else self.backend.type_of(leaf) for leaf, old in zip(leaves, carried.types, strict=True)
        ]

    def _compare(self, carried: Carried, last: VariableEnd, leaves: list[Any]) -> bool:
        if self._open_objects(carried, leaves):
            return True
        carried.lists = last.lists
        if last.lists and self._widen_lists(carried, last.lists):
            return True
        last, leaves = self._as_carried_optional(carried, last, leaves)
        if last.structure.treedef != carried.structure.treedef:
            if self._fill_up(carried, last, leaves) or self._make_optional(carried, last, leaves):
                return True
            raise self._changed(
                carried.variable.name,
                self._shown(carried.structure, carried.start),
                self._shown(last.structure, leaves),
            )
        carried.results = []
        again = False
        labels = [*carried.structure.leaf_names(carried.variable.name), carried.variable.name]
        for k, (label, leaf) in enumerate(zip(labels, leaves, strict=True)):
            old = carried.types[k]
            if old is None:
                if k == len(leaves) - 1 and leaf is not True:  # bound before, and perhaps not after
                    carried.types[k], again = self.backend.type_of(True), True
                elif not agree(leaf, carried.start[k]):
                    raise self._changed(
                        label, describe(carried.start[k], None), describe(leaf, self.backend.type_of(leaf))
                    )
                carried.results.append(None)
                continue
            if last.same[k]:
                carried.results.append(None)
                continue
            new = self.backend.type_of(leaf)
            joined = self.backend.join(old, new) if new is not None else None
            if joined is None:
                raise self._changed(label, str(old), describe(leaf, new))
            if joined != old:
                self._widen_further_out(carried, k, joined)
                carried.types[k], again = joined, True
            carried.results.append(leaf)
        return again

    def _check_functions(self, carried: Carried, leaves: Sequence[Any], end: BodyEnd) -> None:
        """See that a function which each iteration makes anew finds the variables that it closes over after the loop."""
        own = {id(variable.cell) for variable in self.variables if isinstance(variable, CellVariable)}
        dropped = {id(cell) for cell in end.rebound} - own
        for leaf in leaves if dropped else ():
            cells = (
                zip(leaf.__code__.co_freevars, leaf.__closure__ or (), strict=True)
                if type(leaf) is FunctionType
                else ()
            )
            names = [name for name, cell in cells if id(cell) in dropped]
            if names and leaf is not carried.entry:
                raise StagingError(
                    f"{self.where}\n  {carried.variable.name!r} is, after an iteration of this staged loop, a function that closes over "
                    f"{names[0]!r}, which is the iteration's own.\n  Make the function after the loop, or read {names[0]!r} after it."
                )

    def _shown(self, structure: Structure, leaves: Sequence[Any]) -> str:
        return str(structure.build([Shown(describe(leaf, self.backend.type_of(leaf))) for leaf in leaves[:-1]]))

    def _changed(self, name: str, before: str, after: str) -> CarryChanges:
        return carry_changes(self.where, name, before, after, self.options.has_invariants)
