"""`LoopTrace`: what a staged loop carries, found by tracing its body until the types hold still.

The body is traced on stand-ins for its state. Where an iteration leaves a wider type (``0`` then ``0.5``), the carry is
widened and the body traced again; mostly the first trace stands. State that no iteration changes is not carried. A
variable first bound in the body is carried out, from a placeholder.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from autograph.backends.base import MISSING, Backend, LeafType, LoopSpec, Output, Traced
from autograph.runtime.errors import StagingError
from autograph.runtime.operators.conditionals import Shown, agree, describe
from autograph.runtime.operators.growing_lists import (
    GrowingList,
    appended_to,
    refuse_growth,
    refuse_reading,
)
from autograph.runtime.operators.iterables import StagedIterable, slice_type
from autograph.runtime.operators.journal import ContentsPlace, Journal, Place, Region, key_of
from autograph.runtime.operators.loop_state import BodyEnd, Carried, CarryChanges, VariableEnd
from autograph.runtime.operators.state import (
    UNBOUND,
    Marks,
    Snapshot,
    Structure,
    Variable,
    adopted,
    containers_in,
    counts_in,
    flatten,
    is_mutable_container,
    prepared,
    write_into,
)
from autograph.runtime.raising import Raising

_MAX_ROUNDS = 12
_NUMBERS = (bool, int, float, complex)


class LoopTrace:
    """Traces a loop's body and test, then emits the loop and binds its results."""

    def __init__(
        self,
        backend: Backend,
        marks: Marks,
        journal: Journal,
        raising: Raising,
        variables: Sequence[Variable],
        snapshot: Snapshot,
        where: str,
        test: Callable[[], Any] | None,
        body: Callable[[Any], None],
        iterable: StagedIterable,
        surely_runs: bool,
        result_name: str | None = None,
    ) -> None:
        self.backend = backend
        self.marks = marks
        self.journal = journal
        self.raising = raising
        self.variables = list(variables)
        self.snapshot = snapshot
        self.where = where
        self.test = test
        self.body = body
        self.iterable = iterable
        self.surely_runs = surely_runs
        self.result_name = result_name
        self.carried: list[Carried] = []
        self.growing: list[GrowingList] = []
        self.found: set[int] = set()
        self.spec: LoopSpec | None = None
        self._index_type = self._type_of_index()
        self._early_test: tuple[list[LeafType], Traced] | None = None

    def _type_of_index(self) -> LeafType:
        index = self.backend.type_of(0)
        assert index is not None
        return index

    def settle(self, may_peel: bool = False) -> None:
        """Trace until every carried leaf has the type it starts with. Leaves all variables as they were.

        Raises:
          StagingError: the loop cannot be staged; `CarryChanges` only if the caller ``may_peel`` an iteration.
        """
        try:
            self._settle()
        except CarryChanges as change:
            if may_peel:
                raise
            raise StagingError(*change.args) from None
        finally:
            self.snapshot.restore()

    def _settle(self) -> None:
        self.carried = [self._start(variable) for variable in self.variables if variable.get() is not UNBOUND]
        for _ in range(_MAX_ROUNDS):
            traced = self._trace_body()
            if not self._widened(traced) or self._only_strengthened(traced):
                self._check_growing(traced)
                break
        else:
            raise StagingError(f"{self.where}\n  The types of this loop's variables do not settle.")
        self.spec = LoopSpec(
            traced.traced,
            None if self.test is None else self._settled_test(),
            [(leaf, type) for leaf, type, _ in self._leaves()],
            len(self._operand_types()),
            [result for _, _, result in self._leaves()],
            self.iterable.length,
            self.iterable.arrays,
        )

    def test_is_traced(self) -> bool:
        """Trace the test alone, on the state as it starts; False if it may be plain Python's affair, or writes.

        The program is kept: it serves the staged loop if the state's types turn out to be settled.
        """
        try:
            self.carried = [self._start(variable) for variable in self.variables if variable.get() is not UNBOUND]
            traced, wrote = self._trace_test()
        except Exception:  # it needs its values as they are, or is an error that Python will raise
            return False
        starts = [
            start
            for carried in self.carried
            for start, leaf_type in zip(carried.start, carried.types, strict=True)
            if leaf_type is not None
        ]
        static = {k for k, start in enumerate(starts) if type(start) in _NUMBERS}
        if wrote or not isinstance(traced.leaves[0], Output) or self.backend.is_static(traced, static):
            return False
        self._early_test = self._operand_types(), traced
        return True

    def _settled_test(self) -> Traced:
        if self._early_test is not None:
            old, traced = self._early_test
            new = self._operand_types()
            if len(old) == len(new) and all(a.strong() == b.strong() for a, b in zip(old, new, strict=True)):
                again = self.backend.strengthened(
                    traced, [k for k, (a, b) in enumerate(zip(old, new, strict=True)) if a != b]
                )
                if again is not None:
                    return again
        return self._trace_test()[0]

    def test_is_static(self) -> bool:
        """Whether this loop, begun on trial, has after all nothing traced in its test."""
        assert self.spec is not None
        static = {k for k, (start, _) in enumerate(self.spec.carry) if type(start) in _NUMBERS}
        return self.backend.test_is_static(self.spec, static)

    def emit(self) -> None:
        """Emit the loop and bind each variable to its last value."""
        assert self.spec is not None
        values = self.backend.loop(self.spec)
        position = 0
        for carried in self._inputs_first():
            leaves = []
            counts = counts_in(carried.structure)
            for k, (start, type, result) in enumerate(zip(carried.start, carried.types, carried.results, strict=True)):
                if type is None:
                    leaves.append(start)
                    continue
                known = self.backend.known_result(self.spec, position) if k in counts else None
                leaves.append(start if result is None else values[position] if known is None else known)
                position += 1
            self._bind(carried, leaves)
        for growing in self.growing:
            growing.bind(self.journal)

    # Tracing.

    def _start(self, variable: Variable) -> Carried:
        iterable = self.iterable
        value = prepared(variable.get(), iterable.length if iterable.limit is None else iterable.limit)
        leaves, structure = flatten(value, isinstance(variable, ContentsPlace))
        leaves.append(self.marks.defined(value))
        types = [self.backend.type_of(leaf) for leaf in leaves]
        if leaves[-1] is True:
            types[-1] = None
        return Carried(variable, structure, leaves, types, value)

    def _operand_types(self) -> list[LeafType]:
        return [t for carried in self.carried if carried.is_input for t in carried.types if t is not None]

    def _install(self, operands: Sequence[Any], region: Region) -> dict[int, tuple[Any, list[Any]]]:
        """Give each variable its stand-in; return by variable the value installed and its leaves."""
        pending = iter(operands)
        installed = {}
        inputs = {id(carried.variable) for carried in self.carried if carried.is_input}
        for variable in self.variables:
            if id(variable) not in inputs:
                variable.set(UNBOUND)
        for carried in self.carried:
            if not carried.is_input:
                continue
            leaves = [
                start if type is None else next(pending)
                for start, type in zip(carried.start, carried.types, strict=True)
            ]
            value = carried.structure.build(leaves[:-1])
            if leaves[-1] is not True:
                self.marks.add(value, leaves[-1], f"the loop at {self.where} may not have bound it")
            for container in containers_in(value):
                region.add_made(container)
            carried.variable.set(value)
            installed[id(carried.variable)] = (value, leaves)
        return installed

    def _trace_body(self) -> BodyEnd:
        end = BodyEnd()
        unchanged = [
            leaf
            for carried in self.carried
            for leaf, type in zip(carried.start, carried.types, strict=True)
            if type is None
        ]

        region = self.journal.open(self.variables)

        def run(*operands: Any) -> list[Any]:
            count = len(self._operand_types())
            installed = self._install(operands[:count], region)
            region.trace_state = self.backend.trace_state()
            for growing in self.growing:
                growing.before_iteration()
            try:
                self.body(self.iterable.item(operands[count], operands[count + 1 :]))
            except Exception as error:
                if error is not region.raising:
                    raise
                self.raising.record_raise(error, region)
            for growing in self.growing:
                growing.after_iteration(operands[count], self.where)
            flat: list[Any] = []
            for variable in self.variables:
                value = variable.get()
                if value is UNBOUND:
                    end.ends.append(None)
                    continue
                leaves, structure = flatten(value, isinstance(variable, ContentsPlace))
                leaves.append(self.marks.defined(value))
                before, operands_of = installed.get(id(variable), (None, []))
                same = [k < len(operands_of) and leaf is operands_of[k] for k, leaf in enumerate(leaves)]
                end.ends.append(
                    VariableEnd(structure, slice(len(flat), len(flat) + len(leaves)), same, value is before)
                )
                flat += leaves
            for place in region.written():
                end.written.append(key_of(place))
                if (appended := appended_to(place, region.before[key_of(place)][1])) is not None:
                    end.growing[key_of(place)] = self._growing_list(place, appended)
            return flat

        slices = [slice_type(array, self.backend) for array in self.iterable.arrays]
        end.state_count = len(self._operand_types())
        end.operand_types = [*self._operand_types(), self._index_type, *slices]
        living: list[Place] = []
        try:
            end.traced = self.backend.trace(run, [*self._operand_types(), self._index_type, *slices], unchanged)
        finally:
            self.snapshot.restore()
            living = self.journal.close(region)
        end.discovered = [place for place in living if key_of(place) in end.written]
        return end

    def _trace_test(self) -> tuple[Traced, bool]:
        """The test as a program, and whether it writes to anything."""
        test = self.test
        assert test is not None

        region = self.journal.open(self.variables)

        wrote = False

        def run(*operands: Any) -> list[Any]:
            nonlocal wrote
            installed = self._install(operands, region)
            truth = self.raising.not_failed(test())
            if self.iterable.length is None:
                # Under `jax.vmap` a branch runs for lanes that do not take it, on values for which the loop may not
                # end.
                for path in self.journal.paths:
                    truth = truth & path
            bound = [v for v in self.variables if id(v) in installed or v.get() is not UNBOUND]
            wrote = bool(region.written()) or any(v.get() is not installed.get(id(v), (None,))[0] for v in bound)
            return [truth]

        try:
            traced = self.backend.trace(run, self._operand_types())
            return traced, wrote
        finally:
            self.snapshot.restore()
            self.journal.close(region)

    # Settling.

    def _widened(self, end: BodyEnd) -> bool:
        """Compare the state after an iteration with that before; True if the body must be traced again."""
        again = self._take_discovered(end)
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
                again |= self._born(variable, last, leaves)
            elif carried.is_input:
                again |= self._compare(carried, last, leaves)
            else:
                self._take_results(carried, last, leaves)
        return again

    def _only_strengthened(self, end: BodyEnd) -> bool:
        """Whether the program traced on the old types serves for the new: they differ in weakness, and it never
        looked.
        """
        old, new = end.operand_types, [*self._operand_types(), *end.operand_types[end.state_count :]]
        if len(old) != len(new) or any(a.strong() != b.strong() for a, b in zip(old, new, strict=True)):
            return False
        strengthened = [k for k, (a, b) in enumerate(zip(old, new, strict=True)) if a != b]
        traced = self.backend.strengthened(end.traced, strengthened)
        if traced is None:
            return False
        end.traced = traced
        return not self._widened(end)

    def _take_discovered(self, end: BodyEnd) -> bool:
        """Make state of the places that the body was seen to write; True if there are any."""
        for place in end.discovered:
            growing = end.growing.get(key_of(place))
            if growing is None and key_of(place) in end.growing:
                raise refuse_growth(self.where)
            if growing is not None:
                self.growing.append(growing)
                for slot in growing.slots:
                    self.variables.append(slot)
                    self.carried.append(self._start(slot))
                continue
            self.snapshot.add(place)
            self.variables.append(place)
            self.found.add(id(place))
            if place.get() is not UNBOUND:
                self.carried.append(self._start(place))
        return bool(end.discovered)

    def _growing_list(self, place: Any, appended: tuple[Any, ...]) -> GrowingList | None:
        """The list as one that grows by a known amount; None if it is not known how often the loop runs."""
        if not isinstance(self.iterable.length, int) or self.test is not None:
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
            raise refuse_reading(self.where) from error
        finally:
            for growing in self.growing:
                growing.dummies = False
        if str(other.traced.program) != str(end.traced.program):
            raise refuse_reading(self.where)

    def _born(self, variable: Variable, last: VariableEnd, leaves: list[Any]) -> bool:
        """A variable that is unbound before the loop: True if iterations must see what earlier ones left."""
        if variable.name == self.result_name:
            leaves[-1] = True
        types: list[LeafType | None] = [self.backend.type_of(leaf) for leaf in leaves]
        is_result = variable.name == self.result_name
        if not any(types[:-1]) and not is_result and not (self.surely_runs and leaves[-1] is True):
            return False  # nothing in it can bear the mark of a placeholder
        start = [leaf if type is None else MISSING for leaf, type in zip(leaves[:-1], types, strict=False)]
        carried = Carried(variable, last.structure, [*start, False], types, UNBOUND)
        carried.is_input = leaves[-1] is not True
        if carried.is_input:
            types[-1] = self.backend.type_of(True)
        elif self.surely_runs or is_result:
            carried.start[-1], types[-1] = True, None
        carried.results = leaves
        self.carried.append(carried)
        return carried.is_input

    def _take_results(self, carried: Carried, last: VariableEnd, leaves: list[Any]) -> None:
        if carried.variable.name == self.result_name:
            leaves[-1] = True
        carried.structure = last.structure
        carried.results = leaves
        carried.types = [
            None if old is None else self.backend.type_of(leaf) for leaf, old in zip(leaves, carried.types, strict=True)
        ]

    def _compare(self, carried: Carried, last: VariableEnd, leaves: list[Any]) -> bool:
        if last.structure.treedef != carried.structure.treedef:
            filled = adopted(carried.structure, last.structure, carried.start[:-1], MISSING)
            if filled is not None:  # a TensorArray whose first element the body writes
                carried.structure = last.structure
                carried.start = [*filled, carried.start[-1]]
                given = [self.backend.type_of(leaf) for leaf in leaves[:-1]]
                held = [self.backend.type_of(leaf) if leaf is not MISSING else None for leaf in filled]
                carried.types = [*(a or b for a, b in zip(held, given, strict=True)), carried.types[-1]]
                return True
            raise self._changed(
                carried.variable.name,
                self._shown(carried.structure, carried.start),
                self._shown(last.structure, leaves),
            )
        carried.keeps_container = last.is_installed and is_mutable_container(carried.entry)
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
                carried.types[k], again = joined, True
            carried.results.append(leaf)
        return again

    def _leaves(self) -> list[tuple[Any, LeafType, Any]]:
        return [
            (start, type, result)
            for carried in self._inputs_first()
            for start, type, result in zip(carried.start, carried.types, carried.results, strict=True)
            if type is not None
        ]

    def _inputs_first(self) -> list[Carried]:
        return sorted(self.carried, key=lambda carried: not carried.is_input)

    def _bind(self, carried: Carried, leaves: list[Any]) -> None:
        if carried.results and all(result is None for result in carried.results) and carried.is_input:
            return  # nothing changed: the variable keeps its value, identity included
        value = carried.structure.build(leaves[:-1])
        if carried.keeps_container:
            for container in containers_in(carried.entry):
                self.journal.touch(ContentsPlace(container))
            value = write_into(carried.entry, value)
        if leaves[-1] is not True:
            self.marks.add(value, leaves[-1], f"no iteration may have bound it in the loop at {self.where}")
        if id(carried.variable) in self.found:
            self.journal.write(carried.variable, value)
        else:
            carried.variable.set(value)

    # Messages.

    def _shown(self, structure: Structure, leaves: Sequence[Any]) -> str:

        return str(structure.build([Shown(describe(leaf, self.backend.type_of(leaf))) for leaf in leaves[:-1]]))

    def _changed(self, name: str, before: str, after: str) -> CarryChanges:
        return CarryChanges(
            f"{self.where}\n  {name!r} changes type in this staged loop.\n"
            f"    before the loop:     {before}\n    after one iteration: {after}\n"
            f"  Give {name!r} the same shape and structure before the loop as its iterations leave it with."
        )
