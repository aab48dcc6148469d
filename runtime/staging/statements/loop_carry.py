"""`LoopTrace`: determine the carry of a staged loop by tracing its body to a fixed point.

The body is traced on stand-ins for its state. Where an iteration leaves a wider type (``0`` then ``0.5``), the carry
is widened and the body traced again; mostly the first trace stands. State that no iteration changes is not carried. A
variable first bound in the body is carried out, from a placeholder.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from autograph.backends.base import MISSING, LeafType, LoopSpec, NotRollable, Output, Traced
from autograph.backends.followed import follow
from autograph.runtime.containers.differing_kinds import DifferentKinds
from autograph.runtime.containers.element_kinds import NUMBERS
from autograph.runtime.containers.iterables import StagedIterable, slice_type
from autograph.runtime.containers.parts import Path, lists_in_arrays, unstack_lists
from autograph.runtime.effects.raising import gathered
from autograph.runtime.effects.staged_raises import Raising
from autograph.runtime.errors import StagingError
from autograph.runtime.heap.holders import references_beyond
from autograph.runtime.heap.identities import Given
from autograph.runtime.heap.journal import AttributePlace, ContentsPlace, Place, Region
from autograph.runtime.heap.reach import same
from autograph.runtime.layouts.describe import is_leaf
from autograph.runtime.layouts.kinds import tags_in
from autograph.runtime.layouts.sides import with_numbers
from autograph.runtime.layouts.statement_variables import (
    UNBOUND,
    Slot,
    Snapshot,
    Variable,
    after_loop,
    counts_in,
)
from autograph.runtime.lazy import lazy
from autograph.runtime.staging.policy.loop_options import NO_OPTIONS, LoopOptions
from autograph.runtime.staging.statements.array_rooms import ArrayRooms
from autograph.runtime.staging.statements.body_containers import BodyContainers
from autograph.runtime.staging.statements.carry import Carry
from autograph.runtime.staging.statements.list_carry import ListCarry
from autograph.runtime.staging.statements.list_growth import ListEnd
from autograph.runtime.staging.statements.loop_settling import Settling
from autograph.runtime.staging.statements.loop_state import (
    BodyEnd,
    Carried,
    CarriedFurtherOut,
    CarryChanges,
    NodesMade,
    VariableEnd,
)
from autograph.runtime.staging.statements.object_choices import ObjectChoices
from autograph.runtime.staging.statements.part_carry import PartCarry
from autograph.runtime.staging.statements.statement_records import record_loop
from autograph.runtime.tracing.locations import user_line
from autograph.runtime.tracing.recording import LOCAL, effects_recorded, paths_within


class LoopTrace:
    """Traces a loop's body and test, then emits the loop and binds its results.

    Args:
      checks: the operators.
      functions: of the statement, which reach its variables.
      test, body: say whether to go on, and run an iteration on its item.
      test_writes: whether the test of the user's loop writes, which ``body`` therefore evaluates.

    Attributes:
      test_writes: the same, as far as is known by now.
      may_unroll: whether the loop can be unrolled instead, if its iterations make nodes.
    """

    def __init__(
        self,
        raising: Raising,
        checks: Any,
        variables: Sequence[Variable],
        functions: Sequence[Callable[..., Any]],
        test: Callable[[], Any] | None,
        body: Callable[[Any], None],
        iterable: StagedIterable,
        surely_runs: bool,
        result_name: str | None = None,
        options: LoopOptions = NO_OPTIONS,
        from_python: bool = False,
        code: Any = None,
        peeled_for: Sequence[str] | None = None,
        test_writes: bool = False,
    ) -> None:
        self.raising = raising
        self.backend = backend = raising.backend
        self.marks = raising.marks
        self.journal = raising.journal
        for variable in variables:
            if variable.name == result_name:  # nothing has been returned where a loop begins
                variable.set(UNBOUND)
        snapshot = Snapshot(functions, variables)
        around = len(self.journal.loops)
        self.carry = Carry(backend, self.marks, variables, snapshot, user_line(), iterable, test, around)
        self.body = body
        self.options = options
        self.settling = Settling(
            *(backend, self.journal, self.carry, checks, options),
            code=code,
            from_python=from_python,
            surely_runs=surely_runs,
            result_name=result_name,
            peeled_for=peeled_for,
        )
        self.numbers: dict[int, Any] = {}
        self.spec: LoopSpec | None = None
        self._given: list[Given] = []  # what the loop makes elements of lists, if it is emitted
        self._index_type: Any = backend.type_of(0)
        self.test_writes = test_writes
        self._asked_by_test: set[int] = set()
        self.may_unroll = False
        self._early_test: tuple[list[LeafType], list[Any], Traced] | None = None  # serves if the types are settled

    @property
    def lists(self) -> ListCarry:
        """How it carries lists."""
        return self.settling.lists

    @lazy
    def arrays(self) -> ArrayRooms:
        """The room of the TensorArrays that it writes."""
        return ArrayRooms(self.backend, self.carry)

    @lazy
    def parts(self) -> PartCarry:
        """What it does to the identity of containers and objects."""
        return PartCarry(self.backend, self.journal, self.raising.identities, self.carry)

    def settle(self, may_peel: bool = False) -> None:
        """Trace until every carried leaf has the type it starts with. Leaves all variables as they were, and what is known of them.

        Raises:
          StagingError: the loop cannot be staged; `CarryChanges` only if the caller ``may_peel`` an iteration.
        """
        self.settling.may_peel = may_peel
        try:
            with self.journal.on_a_path() as self._given:
                self._settle_somehow()
        except NodesMade as refusal:
            if self.may_unroll or refusal.loop is not self.settling:
                raise
            raise StagingError(*refusal.args) from None
        except CarryChanges as change:
            if may_peel:
                raise
            error = StagingError(*change.args)
            error._differing, error._containers = change._differing, change._containers
            raise error from None
        except StagingError as refusal:
            if may_peel and self.settling.found_none:  # it may be right where only the first iteration finds None
                raise CarryChanges(*refusal.args) from None
            raise
        finally:
            self.carry.snapshot.restore()

    def _settle_somehow(self) -> None:
        self.settling.locate()
        refusal = self.refused()
        if self.carry.opens:
            ObjectChoices(self).settle(refusal)
        elif refusal is not None:
            raise refusal

    def refused(self) -> StagingError | None:
        """Settle; the error if that is refused."""
        try:
            self._settle()
        except DifferentKinds as error:
            return self.settling.of_one_length or error
        except StagingError as error:
            return error
        return None

    def begin_again(self) -> None:
        """Forget what came of the attempt to settle it."""
        self.carry.region = None
        LoopTrace.parts.drop(self)
        self.carry.snapshot.restore()

    def _settle(self) -> None:
        self.journal.check_unreported()
        self.settling.begin()
        while True:
            self.settling.begin_round()
            try:
                traced = self._trace_body()
            except CarriedFurtherOut as found:
                if found.loop is not self.settling:
                    raise
                self.settling.take_learnt()
                self.lists.hold_met()
                continue
            except StagingError as error:  # of a branch that makes a text longer, say
                if not self.settling.texts_grow(error._differing):
                    raise
                continue
            if traced.nodes:
                self.settling.nodes.take_left(traced)
                continue
            if traced.has_containers and self.parts.share(traced):
                continue
            if self.settling.texts_grow(surely=True):
                continue
            if not self.settling.is_settled_by(traced):
                continue
            results = [result for _, _, result in self.carry.leaves()]
            if self.settling.has_joined:
                traced.traced, results = with_numbers(self.backend, traced.traced, results)
            test = None if self.carry.test is None else self._settled_test()
            self.spec = self.carry.specified(traced.traced, test, results, self.options)
            if not (self.carry.has_arrays and self.arrays.need_more_room(self.spec)):
                break
        self.journal.give_elements(traced.given)
        if not (traced.has_containers or traced.made_unknown or self.carry.growing):
            return
        try:
            self.parts.check(traced, self.spec.test)
        except StagingError as conflict:
            self.settling.conflict = conflict
            raise

    def test_is_traced(self) -> bool:
        """Trace the test alone, on the state as it starts; False if it may be plain Python's affair, or writes."""
        try:
            self.carry.begin()
            traced = self._traced_test()
        except (Exception, NotRollable):  # it needs its values as they are, or is an error that Python will raise
            return False
        starts = [
            start
            for carried in self.carry.carried
            for start, leaf_type in zip(carried.start, carried.types, strict=True)
            if leaf_type is not None
        ]
        static = {k for k, start in enumerate(starts) if type(start) in NUMBERS}
        if self.test_writes or not isinstance(traced.leaves[0], Output) or self.backend.is_static(traced, static):
            return False
        self._early_test = self.carry.operand_types(), self.carry.operand_layouts(), traced
        return True

    def _settled_test(self) -> Traced:
        parts = LoopTrace.parts.made(self)
        if self._early_test is not None and (parts is None or not parts.shared):
            old, layouts, traced = self._early_test
            new = self.carry.operand_types()
            if layouts != self.carry.operand_layouts():
                return self._traced_test()
            if len(old) == len(new) and all(a.strong() == b.strong() for a, b in zip(old, new, strict=True)):
                again = self.backend.strengthened(
                    traced, [k for k, (a, b) in enumerate(zip(old, new, strict=True)) if a != b]
                )
                if again is not None:
                    return again
        return self._traced_test()

    def _traced_test(self) -> Traced:
        traced, writes = self._trace_test()
        self.test_writes |= writes
        return traced

    def end_by(self, test: Callable[[], Any]) -> None:
        """Add a test to the loop, whose types are fixed."""
        assert self.spec is not None
        self.carry.test = test
        try:
            self.spec = dataclasses.replace(self.spec, test=self._settled_test())
        finally:
            self.carry.snapshot.restore()

    def test_is_static(self) -> bool:
        """Whether this loop, begun on trial, has after all nothing traced in its test."""
        assert self.spec is not None
        static = {k for k, (start, _) in enumerate(self.spec.carry) if type(start) in NUMBERS}
        return self.backend.test_is_static(self.spec, static)

    def emit(self) -> None:
        """Emit the loop and bind each variable to its last value."""
        assert self.spec is not None
        self.journal.give_elements(self._given)
        record_loop(self.backend, self.spec, self.carry.inputs_first(), self.carry.found, self.carry.iterable)
        values = self.backend.loop(self.spec)
        self.carry.note_alike(self.spec, values, self.raising)
        position = 0
        for carried in self.carry.inputs_first():
            leaves = []
            counts = counts_in(carried.unflatten(range(len(carried.start))))
            tags = set(tags_in(carried.layout))
            for k, (start, type, result) in enumerate(zip(carried.start, carried.types, carried.results, strict=True)):
                if type is None:
                    leaves.append(start)
                    continue
                known = self.numbers.get(position)
                if known is None and k in counts:
                    known = self.backend.known_result(self.spec, position)
                is_kept = result is None and start is not MISSING
                leaves.append(start if is_kept else values[position] if known is None else known)
                if result is True and self.settling.surely_runs and k in tags:
                    leaves[-1] = True  # None is only what the first iteration finds
                position += 1
            follow(leaves, carried.start)
            follow(leaves, carried.results)
            self._bind(carried, leaves)
            if self.carry.has_arrays:
                self.arrays.note_written(carried, leaves)
        if self.carry.has_arrays:
            self.arrays.check()
        for growing in self.carry.growing:
            growing.bind(self.journal)
        self.journal.refresh()
        if (parts := LoopTrace.parts.made(self)) is not None:
            parts.spread_unknowns()

    # Tracing.

    @lazy
    def stand_ins(self) -> BodyContainers:
        """Those of the containers and objects of the state, in one trace of the body or the test."""
        return BodyContainers(self.raising.identities, self.journal)

    def _has_containers(self) -> bool:
        """Whether there are such in the state, or anything is known of others in the program."""
        return LoopTrace.stand_ins.made(self) is not None or bool(self.journal.observers)

    def _install(self, operands: Sequence[Any], region: Region) -> dict[int, dict[Path, Any]]:
        """Bind each variable to its stand-in. Returns, by variable, what the lists in it hold."""
        pending = iter(operands)
        starts = {}
        inputs = {id(carried.variable) for carried in self.carry.carried if carried.is_input}
        for variable in self.carry.variables:
            if id(variable) in self.carry.found:
                self.journal.replace(variable)
            if id(variable) not in inputs:
                variable.set(UNBOUND)
        for carried in self.carry.carried:
            if not carried.is_input:
                continue
            leaves = [
                start if type is None else next(pending)
                for start, type in zip(carried.start, carried.types, strict=True)
            ]
            follow(leaves, carried.start)
            follow(leaves, carried.ends)
            value = carried.unflatten(leaves)
            has_parts = not is_leaf(value) or isinstance(carried.variable, ContentsPlace | AttributePlace)
            if has_parts:
                value = self.parts.with_parts(carried, value, self.stand_ins, region)
            if leaves[-1] is not True:
                value = self.marks.add(value, leaves[-1], f"the loop at {self.carry.where} may not have bound it")
            carried.variable.set(value)
            self.settling.installed[id(carried.variable)] = leaves
            if has_parts:
                starts[id(carried.variable)] = self.lists.starts(carried, value)
        if self._has_containers():
            self.stand_ins.begin()
        return starts

    def _trace_body(self) -> BodyEnd:
        end = BodyEnd()
        unchanged = self.carry.leaves_that_stay()
        region = self.journal.open(self.carry.variables, self.raising.tries(), repeats=True)
        self.carry.region = region
        region.asked = self._asked_by_test.copy()
        self.settling.begin_iteration()
        self.journal.loops.append(self.settling)
        region.peeled_for = self.settling.peeled_for
        region.entry = self.carry.snapshot

        def run(*operands: Any) -> list[Any]:
            with gathered():
                return iterated(*operands)

        def iterated(*operands: Any) -> list[Any]:
            count = len(self.carry.operand_types())
            slots = [(variable, variable.get()) for variable in self.carry.variables if isinstance(variable, Slot)]
            starts = self._install(operands[:count], region)
            values = [value for variable in self.carry.variables if not is_leaf(value := variable.get())]
            in_arrays = lists_in_arrays(values) if values else set()
            try:
                with self.journal.reading() as end.reads:
                    follow(operands[count + 1 :], self.carry.iterable.arrays)
                    self.body(self.carry.iterable.item(operands[count], operands[count + 1 :]))
            except BaseException as error:
                surely = (
                    self.settling.surely_runs and error is not region.raising and not self.raising.can_raise_later()
                )
                if self.settling.from_python or surely or not self.raising.is_raised_by(region, error):
                    self.raising.ended_by(error)
                    raise
                self.raising.record_raise(error, region)
            if LOCAL.linked:
                self.settling.nodes.check_iteration(self.raising.facts)
            for growing in self.carry.growing:
                if growing.has_grown_otherwise():  # what the first iteration found empty, the others do not
                    growing.place.set(growing.entry)
                    end.reads.add(id(growing.place.owner))
                else:
                    growing.after_iteration(operands[count], self.carry.where)
            end.unknown = self.carry.unknown_lists()
            region.leave(variable.get() for variable in self.carry.variables if id(variable) not in end.unknown)
            end.nodes = region.references_left()
            end.node_names = [self.carry.name_leading_to(made) for made in end.nodes]
            flat = self._note_variables(end, region, starts, in_arrays)
            self.carry.note_places(end, region, self.settling)
            if self._has_containers():
                end.has_containers, end.aliasing = True, self.stand_ins.finish()
            end.rebound = self.carry.snapshot.rebound()
            self.journal.check_unreported()
            self._undo(region)
            for slot, value in slots:
                slot.set(value)
            return flat

        slices = [slice_type(array, self.backend) for array in self.carry.iterable.arrays]
        end.state_count = len(self.carry.operand_types())
        end.opens = set(self.carry.opens)
        end.operand_types = [*self.carry.operand_types(), self._index_type, *slices]
        end.operand_layouts = self.carry.operand_layouts()
        living: list[Place] = []
        try:
            end.traced = self.backend.trace(run, [*self.carry.operand_types(), self._index_type, *slices], unchanged)
        finally:
            self.journal.loops.pop()
            end.given = self.journal.take_elements(region)
            self._undo(region)
            roots = (*self.carry.snapshot.functions, *self.carry.snapshot.reachable(), self.carry.iterable.item)
            living = self.journal.close(region, roots)
        end.absences, end.made_unknown = region.absences, region.made_unknown
        if LOCAL.linked:
            roots = (*roots, *region.kept_elsewhere)
            beyond = references_beyond(end.traced.leaves, set(map(id, end.nodes)), roots)
            end.nodes += beyond
            end.node_names += [made.__class__.__name__ for made in beyond]
        end.discovered = [place for place in living if place.key in end.written]
        return end

    def _note_variables(
        self, end: BodyEnd, region: Region, starts: dict[int, dict[Path, Any]], in_arrays: set[int]
    ) -> list[Any]:
        """Note what an iteration leaves in each variable. Returns the leaves of all."""
        flat: list[Any] = []
        end.variables = list(self.carry.variables)
        for k, variable in enumerate(end.variables):
            if id(variable) in end.unknown:
                end.ends.append(None)
                continue
            left = variable.get()
            if (value := self.carry.with_any_length(variable, left)) is not left:
                variable.set(value)
            lists: dict[Path, ListEnd] = {}
            if isinstance(variable, ContentsPlace) or not (value is UNBOUND or is_leaf(value)):
                lists = self.lists.fit(variable, starts.get(id(variable), {}))
                value = variable.get()
            if value is UNBOUND:
                end.ends.append(None)
                continue
            if not isinstance(variable, ContentsPlace) and not is_leaf(value):
                unstack_lists(value, in_arrays, region.writes)
                self.stand_ins.end(k, value if left is UNBOUND or is_leaf(left) else left)
            layout, leaves = self.carry.described(variable, value)
            leaves.append(self.marks.defined(value))
            places = {id(operand): k for k, operand in enumerate(self.settling.installed.get(id(variable), ()))}
            span = slice(len(flat), len(flat) + len(leaves))
            end.ends.append(VariableEnd(layout, span, [places.get(id(leaf)) for leaf in leaves], lists))
            flat += leaves
        return flat

    def _trace_test(self) -> tuple[Traced, bool]:
        """The test as a program, and whether it writes to anything or has effects: then iterations evaluate it."""
        test = self.carry.test
        assert test is not None
        region = self.journal.open(self.carry.variables, self.raising.tries(), repeats=True)
        region.entry = self.carry.snapshot
        wrote = False
        effects = effects_recorded()

        def run(*operands: Any) -> list[Any]:
            nonlocal wrote
            self._install(operands, region)
            before = [variable.get() for variable in self.carry.variables]
            truth = test()
            if self.carry.iterable.length is None:
                # Under `jax.vmap` a branch runs for lanes that do not take it, on values for which the loop may not
                # end. What surrounds another trace is none of its business: JAX, or a Function, may keep that for other calls.
                for predicate, taken in paths_within(self.backend.blocks_around()):
                    truth = truth & (predicate if taken else ~predicate)
            pairs = [(variable.get(), old) for variable, old in zip(self.carry.variables, before, strict=True)]
            is_rebound = any(value is not old and not same(value, old) for value, old in pairs)
            wrote = is_rebound or bool(region.written()) or effects_recorded() != effects
            self._undo(region)
            return [truth]

        try:
            traced = self.backend.trace(run, self.carry.operand_types())
            return traced, wrote
        finally:
            self._asked_by_test = region.asked
            self._undo(region)
            self.journal.close(region)

    def _undo(self, region: Region) -> None:
        """Leave all as it was before the trace of the body or of the test, and hold nothing of it."""
        self.settling.undo_lists()
        self.journal.forget(region)
        region.roll_back()
        self.carry.snapshot.restore()
        self.settling.installed = {}
        LoopTrace.stand_ins.drop(self)

    # Binding.

    def _bind(self, carried: Carried, leaves: list[Any]) -> None:
        unchanged = carried.results and all(result is None for result in carried.results) and carried.is_input
        parts = LoopTrace.parts.made(self)
        if unchanged and (parts is None or parts.all_kept(carried)):
            return  # nothing changed: the variable keeps its value, identity included
        value = carried.after_loop(leaves, self.settling.surely_runs)
        if carried.lists:
            value = self.lists.after(carried, value)
        if self.carry.has_arrays:
            value = after_loop(value, self.carry.around)
        if parts is not None:
            value = parts.placed_after(carried, value)
        if leaves[-1] is not True:
            value = self.marks.add(
                value, leaves[-1], f"no iteration may have bound it in the loop at {self.carry.where}"
            )
        if id(carried.variable) in self.carry.found:
            self.journal.write(carried.variable, value)
        else:
            carried.variable.set(value)
