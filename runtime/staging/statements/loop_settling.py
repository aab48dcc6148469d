"""`Settling`: compare the carry before and after an iteration until the types agree."""

from __future__ import annotations

import functools
from collections.abc import Collection, Sequence
from typing import Any

from autograph.backends.base import Backend, Output
from autograph.runtime.containers.element_kinds import Kind
from autograph.runtime.containers.traced_lists import TracedList
from autograph.runtime.effects.absences import is_absence_of
from autograph.runtime.effects.growing_values import Growth, many_texts_in, parts_that_grow
from autograph.runtime.errors import StagingError
from autograph.runtime.heap.holders import reached
from autograph.runtime.heap.journal import AttributePlace, ContentsPlace, Journal, Place
from autograph.runtime.layouts.describe import is_leaf, untyped
from autograph.runtime.layouts.join import Joiner
from autograph.runtime.layouts.kinds import (
    NOTHING,
    Array,
    Layout,
    Maybe,
    Object,
    constants_in,
    depth,
    holds_attributes,
    leaves_of,
    may_be_none,
)
from autograph.runtime.layouts.list_room import refuse_growth
from autograph.runtime.layouts.mismatches import Mismatch
from autograph.runtime.layouts.objects import is_plain_object
from autograph.runtime.layouts.references import is_reference
from autograph.runtime.layouts.sides import Joined, injected
from autograph.runtime.layouts.statement_variables import UNBOUND, Variable
from autograph.runtime.lazy import lazy
from autograph.runtime.staging.policy.loop_options import LoopOptions
from autograph.runtime.staging.statements.carry import Carry
from autograph.runtime.staging.statements.list_carry import ListCarry
from autograph.runtime.staging.statements.list_growth import ListEnd
from autograph.runtime.staging.statements.loop_memory import CarryMemory, Position, Positions
from autograph.runtime.staging.statements.loop_nodes import LoopNodes
from autograph.runtime.staging.statements.loop_state import (
    BodyEnd,
    Carried,
    CarriedFurtherOut,
    CarryChanges,
    VariableEnd,
    function_made,
    holding_start,
    lasting,
    refuse_nesting,
    take_seen,
    typed_unbound,
    variable_layout,
)
from autograph.runtime.staging.statements.node_steps import with_further_steps
from autograph.runtime.staging.statements.outer_loops import OuterLoops

_MAX_ROUNDS = 12
_MOST_ROUNDS = 100
_MAY_BE = 128  # constants and objects, in all
_MAY_DEEPEN = 3  # times: None, then a value, then a value in which None has become one


class Settling:
    """Widens what a loop carries, and finds what else it must carry, until an iteration leaves what it finds.

    Those of the loops whose bodies are being traced are the `loops` of the journal.

    Args:
      checks: the operators.
      code: of the loop's body.
      from_python: whether Python could run the loop.
      surely_runs: whether it has an iteration.
      peeled_for: the variables of a loop that can run its first iteration by itself.

    Attributes:
      may_peel: whether the loop's first iteration may be run by itself, if that makes None a value.
      found_none: whether what is None before the loop is a value after an iteration.
      conflict: the refusal of objects that are chosen attribute by attribute.
      of_one_length: what is to be said of a text or tuple that is carried as one of any length, if it cannot be.
      installed: the leaves that an iteration which is being traced began with, by their variable.
      rounds: how often the body has been traced since it was last found to grow.
      place: which of the loops in those around it this is.
      is_by_reference: whether it begins with variables that say which object they hold, as in the trace before.
      learnt: by the code of a loop's body, what it was seen to write of what was there before this loop.
    """

    def __init__(
        self,
        backend: Backend,
        journal: Journal,
        carry: Carry,
        checks: Any,
        options: LoopOptions,
        code: Any,
        from_python: bool,
        surely_runs: bool,
        result_name: str | None,
        peeled_for: Sequence[str] | None,
    ) -> None:
        self.backend = backend
        self.journal = journal
        self.carry = carry
        self.checks = checks
        self.options = options
        self.code = code
        self.from_python = from_python
        self.surely_runs = surely_runs
        self.result_name = result_name
        self.peeled_for = peeled_for
        self.may_peel = False
        self.found_none = False
        self.conflict: StagingError | None = None
        self.of_one_length: CarryChanges | None = None
        self.installed: dict[int, list[Any]] = {}
        self.learnt: dict[Any, dict[Any, tuple[Place, Any]]] = {}
        self._outermost: Settling | None = None  # of the loops around this one
        self.is_by_reference = False
        self.place: Position = ()
        self._position: Position = ()
        self.rounds = 0

    @lazy
    def nodes(self) -> LoopNodes:
        return LoopNodes(self)

    @lazy
    def outwards(self) -> OuterLoops:
        return OuterLoops(self)

    @lazy
    def lists(self) -> ListCarry:
        """How the loop carries lists."""
        return ListCarry(self.backend, self.checks, self.carry, self.options, self.from_python)

    def undo_lists(self) -> None:
        """Undo what the end of an iteration has done to lists, if the loop carries any."""
        if (lists := Settling.lists.made(self)) is not None:
            lists.undo()

    @lazy
    def joiner(self) -> Joiner:
        """Joins what the variables are before and after an iteration."""
        return Joiner(self.backend)

    @property
    def has_joined(self) -> bool:
        """Whether that was necessary: whether a variable is not just the same array type before and after."""
        return Settling.joiner.made(self) is not None

    @property
    def _mismatches(self) -> list[Mismatch]:
        return self.joiner.mismatches if self.has_joined else []

    @lazy
    def memory(self) -> CarryMemory:
        """What the loops inside of the outermost have carried."""
        return CarryMemory() if self._outermost is None else self._outermost.memory

    @lazy
    def positions(self) -> Positions:
        """Numbers the loops that an iteration has."""
        return Positions(self._position)

    def locate(self) -> None:
        """See which of the loops around it this one is in, and where."""
        if self.journal.loops:
            self.place = self.journal.loops[-1].positions.next(self.code)
            self._outermost = self.journal.loops[0]
            self.is_by_reference = bool(self.memory.references(self.place))

    def begin(self) -> None:
        """Carry the variables as they are before the loop, or as is known from traces of the loops around it."""
        if self.place:
            opened = (each for each in self.carry.variables if self.memory.opens(self.place, each.name))
            self.carry.opens |= set(map(id, opened))
            if self.is_by_reference:
                for variable in self.carry.variables:
                    self._refer_as_before(variable)
            *around, (code, number, _) = self.place
            self._position = (*around, (code, number, bool(self.carry.refers)))
        self.carry.begin()
        if not all(is_leaf(carried.entry) for carried in self.carry.carried):
            self.lists.hold_large()
        self.take_learnt()
        self._recall()
        self.rounds = 0

    def begin_round(self) -> None:
        """Count one more trace of the body.

        Raises:
          StagingError: there have been too many.
        """
        self.rounds += 1
        constants = sum(
            constants_in(carried.layout) for carried in self.carry.carried
        )  # an iteration may reach one more
        if self.rounds > _MAX_ROUNDS + min(constants, _MOST_ROUNDS) and not self.texts_grow():
            raise refuse_nesting(self.carry.where, self.carry.carried)

    def begin_iteration(self) -> None:
        """Number the loops of an iteration that is to be traced from the first on."""
        Settling.positions.drop(self)
        self.installed = {}
        if (nodes := Settling.nodes.made(self)) is not None:
            nodes.begin()

    def is_settled_by(self, end: BodyEnd) -> bool:
        """Join the state after an iteration with that before; True if the body need not be traced again."""
        return (not self.widened(end) or self.only_strengthened(end)) and not self.carry.takes_callers_arrays()

    def widened(self, end: BodyEnd) -> bool:
        """Join the state after an iteration with that before; True if the body must be traced again.

        Raises:
          CarryChanges: there is no layout for both; it names all that differs.
        """
        if end.lists or any(last is not None and last.lists for last in end.ends):
            self.lists.relate(end)
        again = bool(self.carry.growing) and self.lists.carry_read(end)
        again |= bool(end.discovered) and self._take_discovered(end)
        if self.carry.by_value:
            self.lists.drop_elements()
        by_variable = {id(carried.variable): carried for carried in self.carry.carried}
        changing: list[Any] = []
        Settling.joiner.drop(self)
        for variable, last in end.among(self.carry.variables):
            carried = by_variable.get(id(variable))
            if last is None:
                if carried is not None and carried.is_input:
                    raise end.unknown.get(id(variable)) or StagingError(
                        f"{self.carry.where}\n  This staged loop deletes {variable.name!r}, which exists before it. Keep the variable."
                    )
                continue
            leaves = list(end.traced.leaves[last.span])
            if carried is None or not carried.is_input:
                again |= self._born(variable, carried, last, leaves, end.absences)
            else:
                self.carry.check_functions(carried, leaves, end.rebound)
                count = len(self._mismatches)
                again |= self._joined(carried, last, leaves)
                line_of = functools.partial(self._line_of, end, leaves)
                self._mismatches[count:] = [each.located(None, line_of) for each in self._mismatches[count:]]
                if isinstance(variable, ContentsPlace) and len(self._mismatches) > count:
                    changing.append(variable.owner)
        if self._mismatches:
            raise function_made(self, self._mismatches) or self.carry.change(
                self._mismatches, self.options.has_invariants, changing
            )
        return again

    def _line_of(self, end: BodyEnd, leaves: Sequence[Any], place: int) -> str | None:
        return self.backend.line_of(end.traced, leaves[place])

    def only_strengthened(self, end: BodyEnd) -> bool:
        """Whether the program traced on the old types serves for the new: they differ in weakness, and it never
        looked.
        """
        old, new = end.operand_types, [*self.carry.operand_types(), *end.operand_types[end.state_count :]]
        if (
            end.discovered
            or list(map(id, end.variables)) != list(map(id, self.carry.variables))
            or end.opens != self.carry.opens
            or end.operand_layouts != self.carry.operand_layouts()
            or len(old) != len(new)
            or any(a.strong() != b.strong() for a, b in zip(old, new, strict=True))
        ):
            return False
        strengthened = [k for k, (a, b) in enumerate(zip(old, new, strict=True)) if a != b]
        traced = self.backend.strengthened(end.traced, strengthened)
        if traced is None:
            return False
        end.traced = traced
        return not self.widened(end)

    def _take_discovered(self, end: BodyEnd) -> bool:
        """Make state of the places that the body was seen to write. True: it must be traced again.

        Raises:
          CarriedFurtherOut: loops around this one have to carry some of them, too.
        """
        self.lists.refuse_plain(end)
        self.outwards.leave(end)
        for place in end.discovered:
            growing = end.growing.get(place.key)
            ended = end.lists.get(place.key)
            is_read = isinstance(place, ContentsPlace) and id(place.owner) in end.reads
            if ended is not None and (growing is None or is_read):
                self._note_for_function(self.code, place, ended)
                self.lists.carry_list(place, ended)
            elif growing is not None:
                self.lists.carry_growing(growing, ended)
            elif place.key in end.growing:
                raise refuse_growth(self.carry.where, place.name)
            else:
                self._note_for_function(self.code, place, lasting(end.types.get(place.key)))
                self._carry_place(place, end.types.get(place.key))
        return True

    def _carry_place(self, place: Place, seen: tuple[Layout, list[Any]] | None) -> None:
        """Carry a place. ``seen``: what an iteration was seen to leave in it (see `BodyEnd.types`)."""
        self.carry.snapshot.add(place)
        self.carry.variables.append(place)
        self.carry.found.add(id(place))
        if self.is_by_reference:
            self._refer_as_before(place)
        if place.get() is UNBOUND:
            return
        carried = self.carry.start(place)
        if seen is not None and not carried.has_arrays:  # of which that shows another room
            take_seen(self.backend, carried, *seen)
        self.carry.carried.append(carried)

    def learn(self, code: Any, place: Place, end: Any) -> None:
        """Note that a loop with this body, in this one or itself, writes a place, and what an iteration leaves in it."""
        self.learnt.setdefault(code, {})[place.key] = place, end
        self._note_for_function(code, place, end)

    def _note_for_function(self, code: Any, place: Place, end: Any) -> None:
        """Note the same for the next trace of the recursive function that the loop is in, if it is in one."""
        if self.journal.functions and (not isinstance(end, ListEnd) or isinstance(end.kind, Kind)):
            self.journal.functions[-1].note(code, place, end)

    def begin_with_table(self, table: TracedList) -> None:
        """Hold a list in arrays from the start, and trace the body again, if the loop carries its numbers one by one.

        Raises:
          CarriedFurtherOut: it does.
        """
        if self.lists.meets(table):
            raise CarriedFurtherOut(self)

    def take_learnt(self) -> None:
        """Carry what this loop was seen to write while one around it, or the recursive function that it is in, was traced."""
        known = {variable.key for variable in self.carry.variables if isinstance(variable, Place)}
        learnt = dict(self.journal.functions[-1].of(self.code)) if self.journal.functions else {}
        for loop in (*self.journal.loops, self):
            learnt |= loop.learnt.get(self.code, {})
        for key, (place, end) in learnt.items():
            if key in known:
                continue
            if isinstance(end, ListEnd):
                self.lists.carry_list(place, end)
            else:
                self._carry_place(place, end)

    def _recall(self) -> None:
        """Carry variables as this loop came to carry them when one around it was traced before."""
        by_variable = {id(carried.variable): carried for carried in self.carry.carried}
        for variable in self.carry.variables if self._position else ():
            carried = by_variable.get(id(variable))
            before = typed_unbound() if carried is None else carried.typed()
            after = self.memory.find(self._position, variable.name, before)
            if after is None:
                continue
            joiner = Joiner(self.backend)
            joined = joiner.join(variable.name, before, after)
            if joiner.mismatches:  # a list that has got more room on the way, say
                continue
            assert isinstance(joined.layout, Maybe)
            if carried is None:
                carried = Carried(variable, NOTHING, [False], [None], UNBOUND)
                self.carry.carried.append(carried)
            carried.take(joined.layout, injected(joined.left, carried.start))

    def _remember(self, carried: Carried) -> None:
        """Note how a variable is carried now, for `_recall`."""
        self.memory.note(self._position, carried.variable.name, carried.before, carried.typed())

    def open(self, variable: Variable) -> None:
        """Take the objects in a variable apart from now on."""
        self.carry.opens.add(id(variable))
        self.memory.open(self.place, variable.name)

    def refer(self, variable: Variable) -> None:
        """Have a variable say from now on which object from before the loop it holds, as a loop in this one does."""
        if self.memory.references(self.place) != frozenset():
            self.carry.refers.add(id(variable))

    def _refer_as_before(self, variable: Variable) -> None:
        if variable.name in (self.memory.references(self.place) or ()):
            self.carry.opens.add(id(variable))
            self.carry.refers.add(id(variable))

    def _born(
        self,
        variable: Variable,
        carried: Carried | None,
        last: VariableEnd,
        leaves: list[Any],
        absences: Sequence[tuple[type[BaseException], str | None]],
    ) -> bool:
        """A variable that is unbound before the loop: True if iterations must see what earlier ones left."""
        if isinstance(
            variable, AttributePlace
        ):  # that it is there may be seen, by `hasattr` say, and its reads are not checked
            can_peel = self.peeled_for is not None
            raise AttributeError(name=variable.attribute) if can_peel else self._first_set_in_it(variable)
        is_missed = any(is_absence_of(kind, name, variable) for kind, name in absences)
        is_result = variable.name == self.result_name or getattr(variable, "is_result", False)
        if is_result:
            leaves[-1] = True
        is_bound = leaves[-1] is True
        if self._opens_born(variable, leaves, self.surely_runs and is_bound):
            return True
        before = typed_unbound()
        joined = self.joiner.join(variable.name, before, variable_layout(last.layout, leaves))
        layout = joined.layout
        assert isinstance(layout, Maybe)
        can_be_marked = isinstance(layout.inner, Object) or any(
            isinstance(leaf, Array) for leaf in leaves_of(layout.inner)
        )
        if not can_be_marked and not is_result and not (self.surely_runs and is_bound):
            return False  # nothing in it can bear the mark of a placeholder
        if is_missed and not can_be_marked:
            raise self._first_set_in_it(variable)
        if carried is None:
            carried = Carried(variable, last.layout, [False], [None], UNBOUND, before=before)
            self.carry.carried.append(carried)
            if is_missed:
                self.outwards.bear(variable, joined)
        carried.take(layout, injected(joined.left, [False]))
        carried.is_input = not is_bound or is_missed
        carried.is_result = is_result
        if is_missed:
            self._remember(carried)
        if not carried.is_input and (self.surely_runs or is_result):
            carried.start[-1], carried.types[-1] = True, None
        carried.results = injected(joined.right, leaves)
        return carried.is_input

    def _first_set_in_it(self, variable: Variable) -> StagingError:
        return StagingError(
            f"{self.carry.where}\n  An iteration of this staged loop reads {variable.name!r}, which only an earlier iteration assigns, and "
            f"which has no value before the loop.\n  Assign {variable.name!r} a value of the same type before the loop."
        )

    def _opens_born(self, variable: Variable, leaves: Sequence[Any], surely: bool) -> bool:
        """Take the objects that iterations make apart from now on; True if that is new.

        One from before the loop, in a variable that is ``surely`` bound, stays itself.
        """
        objects = [leaf for leaf in leaves[:-1] if is_plain_object(leaf) and not is_reference(leaf)]
        if not objects or id(variable) in self.carry.opens:
            return False
        if surely and len(reached(set(map(id, objects)), self.carry.snapshot.reachable())) == len(objects):
            return False
        self.open(variable)
        return True

    def _opens_objects(self, carried: Carried, leaves: Sequence[Any]) -> bool:
        """Take a variable's objects apart from now on, if an iteration leaves others than it finds."""
        before = [
            leaf
            for leaf, type in zip(carried.start[:-1], carried.types, strict=False)
            if type is None and is_plain_object(leaf) and not is_reference(leaf)
        ]
        after = [
            leaf
            for leaf in leaves[:-1]
            if not isinstance(leaf, Output) and is_plain_object(leaf) and not is_reference(leaf)
        ]
        same = len(before) == len(after) and all(a is b for a, b in zip(before, after, strict=True))
        if same or id(carried.variable) in self.carry.opens | self.carry.refers:
            return False
        self.open(carried.variable)
        self.carry.start_again(carried)
        return True

    def _joined(self, carried: Carried, last: VariableEnd, leaves: list[Any]) -> bool:
        """Carry a variable by the join of what it is before and after an iteration; True if that is new."""
        if self.carry.takes_whole(carried, leaves):
            return True
        if self._opens_objects(carried, leaves):
            return True
        if id(carried.variable) in self.carry.refers and holds_attributes(last.layout):
            raise refuse_nesting(
                self.carry.where, [carried]
            )  # an object that iterations make: it is chosen attribute by attribute
        carried.lists, carried.last = last.lists, last.layout
        if last.lists and self.lists.widen(carried, last.lists):
            return True
        before, after = carried.typed(), variable_layout(last.layout, leaves)
        if before == after and isinstance(before.inner, Array):  # as most are
            carried.results = last.results(carried.types, range(len(leaves)), leaves)
            return False
        after = with_further_steps(before, after)
        count = len(self._mismatches)
        joined = self.joiner.join(carried.variable.name, before, after)
        if len(self._mismatches) > count:
            if not self._grows(carried, parts_that_grow(before.inner, after.inner, self.backend)):
                return False
            self.of_one_length = self.carry.change(self._mismatches[count:], self.options.has_invariants)
            del self._mismatches[count:]
            return True
        layout = joined.layout
        assert isinstance(layout, Maybe)
        if layout != before:
            self._widen(carried, holding_start(joined, carried.start, self.backend), before, after)
            # A node's further steps have no leaves yet.
            known = dict(enumerate(leaves))
            carried.ends = [known.get(source) if isinstance(source, int) else None for source in joined.right]
            return True
        carried.results = last.results(carried.types, joined.right, injected(joined.right, leaves))
        return False

    def _grows(self, carried: Carried, grown: Sequence[Growth]) -> bool:
        """Carry the texts and tuples at these paths as such of any length; False if there are none, or all are so carried."""
        if isinstance(carried.variable, ContentsPlace):
            grown = [each for each in grown if each.path]
        known = self.carry.longer.setdefault(id(carried.variable), set())
        if carried.entry is UNBOUND or known.issuperset(grown):
            return False
        known.update(grown)
        self.rounds = 0
        carried.longer = self.carry.with_any_length(carried.variable, carried.entry)
        fresh = self.carry.start(carried.variable, carried.longer)
        carried.layout, carried.start, carried.types = fresh.layout, fresh.start, fresh.types
        return True

    def texts_grow(self, names: Collection[str] = (), surely: bool = False) -> bool:
        """Carry by their pieces the texts in these variables, and those that have become one of many; False if there are none.

        Args:
          surely: whether most of the many must be another with something before or after it.
        """
        found = [
            (each, many_texts_in(each.typed().inner, each.variable.name in names, surely))
            for each in self.carry.carried
            if each.is_input and (names or constants_in(each.layout))
        ]
        return any([self._grows(each, grown) for each, grown in found])

    def _widen(self, carried: Carried, joined: Joined, before: Maybe, after: Maybe) -> None:
        layout = joined.layout
        assert isinstance(layout, Maybe)
        leaves = list(zip(leaves_of(before), leaves_of(layout), strict=False))
        if untyped(layout.inner) != carried.layout or any(_is_wider(old, new) for old, new in leaves):
            self.outwards.widen(carried, joined)
        if self.may_peel and may_be_none(before.inner) and not may_be_none(after.inner):
            self.found_none = True
            if self.from_python:
                self._mismatches.append(Mismatch(carried.variable.name, before, after, is_structure=True))
        self.take_deeper(carried, layout)
        carried.take(layout, injected(joined.left, carried.start))
        self._remember(carried)

    def take_deeper(self, carried: Carried, layout: Maybe) -> None:
        """See that a variable's layout does not become deeper without end.

        Raises:
          StagingError: it does.
        """
        if constants_in(layout) > _MAY_BE and constants_in(layout) > constants_in(carried.layout):
            raise refuse_nesting(self.carry.where, [carried])
        if depth(layout) > depth(carried.typed()):
            carried.deepened.append(layout)
            if len(carried.deepened) > _MAY_DEEPEN:
                self.conflict = refuse_nesting(self.carry.where, [carried])
                raise self.conflict


def _is_wider(old: Layout, new: Layout) -> bool:
    return isinstance(old, Array) and isinstance(new, Array) and old != new
