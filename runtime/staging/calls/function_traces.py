"""`FunctionTraces`: trace recursive functions until the types of their results reach a fixed point."""

from __future__ import annotations

import itertools
import types
from collections.abc import Callable, Sequence
from typing import Any

from autograph.backends.base import MISSING, Backend, Traced
from autograph.backends.followed import follow
from autograph.backends.recursive import FunctionBody
from autograph.backends.selected import STAGING
from autograph.runtime.containers.parts import parts_of
from autograph.runtime.effects.staged_raises import Raising
from autograph.runtime.errors import StagingError
from autograph.runtime.heap.journal import Place, Region
from autograph.runtime.layouts.describe import describe, typed
from autograph.runtime.layouts.join import Joiner
from autograph.runtime.layouts.kinds import ABSENT, Array, Constants, Layout, leaves_of
from autograph.runtime.layouts.list_room import RoomInRecursion
from autograph.runtime.layouts.mismatches import sides
from autograph.runtime.layouts.sides import injected, with_numbers
from autograph.runtime.layouts.statement_variables import CellVariable, Snapshot, Variable
from autograph.runtime.layouts.text_kinds import is_text_layout
from autograph.runtime.staging.calls.calls_under_way import (
    NUMBERS,
    Activation,
    Call,
    InTraceOfCalls,
    Known,
    Marker,
    TraceOfCalls,
    containers_in,
)
from autograph.runtime.staging.calls.handed_back import attempted, described, value_in
from autograph.runtime.staging.calls.values_in_room import ValueInRoom, places_of_growing, result_in_room
from autograph.runtime.staging.policy.recursive_code import cells_around, cells_of
from autograph.runtime.tracing.recording import LOCAL

_PASSES = 8
_FEW = 4  # constant texts, by path, that may be all there are


class FunctionTraces(InTraceOfCalls):
    """Traces functions that may call themselves."""

    def __init__(self, backend: Backend, trace: Callable[[], TraceOfCalls], raising: Raising) -> None:
        super().__init__(trace)
        self._backend, self._raising = backend, raising

    def body(self, active: Activation, call: Call) -> FunctionBody | None:
        """The function as a program, traced until the type of its result no longer changes."""
        known = active.known
        assert known is not None
        left = _PASSES
        while left:
            shared, known.state.is_changed, places = (known.shares, len(known.same)), False, known.state.count
            traced, layout = self._trace(active, call)
            if not self._backend.functions_called(traced) and not active.is_called:
                return None
            found = known.layout, known.never
            if layout is not None and self._outgrows(known, layout, traced, active.marker):
                left -= 1
                continue
            if layout is not None:
                # That no path returns was found while not all that calls write was known.
                known.layout, known.never = self._joined(known, layout, traced, active.marker), False
            left = _PASSES if known.state.count > places else left - 1
            if (
                known.state.is_changed
                or (known.layout, known.never) != found
                or (known.shares, len(known.same)) != shared
            ):
                continue
            if known.layout is None:
                known.layout, known.never = ABSENT, True
                continue
            return self._with_results(active, known, layout, traced)
        raise StagingError(
            f"{active.marker.where}\n  The type that {active.marker.name!r} returns, which calls itself under a traced condition, "
            "reaches no fixed point: each call wraps the result of the inner call in another container.\n"
            "  Return the same structure at every depth."
        )

    def _outgrows(self, known: Known, layout: Layout, traced: Traced, marker: Marker) -> bool:
        """Whether a result is a list or text that is longer than those of the calls in it: each is in room from now on."""
        rooms = None if LOCAL.frame is None else LOCAL.frame.rooms
        if known.layout is None or known.never or rooms is None:
            return False
        values = known.layout, self._typed(layout, traced)
        before, after = map(places_of_growing, map(value_in, values) if known.hands_back else values)
        both = before.keys() & after.keys()
        grown = {k for k in both if self._differ(before[k], after[k]) or _gets_longer(before[k], after[k])}
        for k in sorted(grown, key=str):
            name = f"the {'text' if is_text_layout(after[k]) else 'list'} that {marker.name} returns{'' if k is None else f' as item {k}'}"
            room = RoomInRecursion(marker.where, name, rooms, function=marker.name)
            known.rooms.setdefault(k, ValueInRoom(room, rooms.of(room.where, room.name, 1)))
        known.layout = None if grown else known.layout
        return bool(grown)

    def _differ(self, one: Layout, other: Layout) -> bool:
        joiner = Joiner(self._backend)
        joiner.join("the value", one, other)
        return bool(joiner.mismatches)

    def _joined(self, known: Known, layout: Layout, traced: Traced, marker: Marker) -> Layout:
        """The layout of results so far, and of those of one more trace."""
        found = self._typed(layout, traced)
        if known.layout is None or known.never:
            return found
        joiner = Joiner(self._backend)
        joined = joiner.join("the value", known.layout, found)
        if joiner.mismatches:
            raise StagingError(
                f"{marker.where}\n  {marker.name!r}, which calls itself under a traced condition, returns values of different types.\n"
                f"{sides(joiner.mismatches, 'in one trace', 'in another')}\n  XLA needs one type: return the same shape and structure "
                "on every path."
            )
        return joined.layout

    def _typed(self, layout: Layout, traced: Traced) -> Layout:
        """The layout of a result, whose numbers are arrays: they will differ from call to call."""
        count = layout.count
        types = [self._backend.type_of(leaf) if type(leaf) in NUMBERS else None for leaf in traced.leaves[:count]]
        return typed(layout, traced.leaves[:count], types)

    def _with_results(self, active: Activation, known: Known, layout: Layout | None, traced: Traced) -> FunctionBody:
        types = known.types()
        operands = [*(type for type in active.signature.types if type is not None), *known.state.types()]
        assert known.layout is not None
        count = len(known.state.types())
        kept = len(traced.leaves) - count
        if layout is None or known.never:
            results = [self._backend.zeros(type) for type in types[: len(types) - count]]
        else:
            joined = Joiner(self._backend).join("the value", known.layout, self._typed(layout, traced))
            every = injected(joined.right, traced.leaves[:kept])
            results = [
                self._backend.zeros(kind.type) if leaf is MISSING else leaf
                for leaf, kind in zip(every, leaves_of(known.layout), strict=True)
                if isinstance(kind, Array)
            ]
            traced, results = with_numbers(self._backend, traced, results)
        return FunctionBody(traced, operands, [*results, *traced.leaves[kept:]], types)

    def _trace(self, active: Activation, call: Call) -> tuple[Traced, Layout | None]:
        """The function as a program, and the layout of its result; None if no path is known to return."""
        known, raising = active.known, self._raising
        assert known is not None
        functions = (call.function, *call.functions())
        snapshot = Snapshot(functions, variables := call.variables())
        region = self.journal.open((), raising.tries())
        region.entry = snapshot
        layouts: list[Layout] = []
        written: list[Any] = []
        cells: list[Any] = []
        living: list[Any] = []
        own: list[bool] = []
        active.regions = len(self.journal.regions)

        def note_writes() -> None:
            written.extend(self._written_so_far(region, functions))
            cells.extend(self._rebound(functions, variables, snapshot))

        def run(*operands: Any) -> list[Any]:
            active.place = STAGING.place()
            pending = iter(operands)
            leaves = [
                leaf if type is None else next(pending)
                for leaf, type in zip(call.leaves, active.signature.types, strict=True)
            ]
            follow(leaves, call.leaves)
            known.state.begin(list(pending))
            active.note_writes = note_writes
            args, kwargs = call.arguments(leaves)
            given = {id(part) for part in call.containers()}
            copies = {id(part) for part in containers_in((*args, *kwargs.values()))} - given
            before = {id(part) for part in containers_in((*args, *kwargs.values(), *snapshot.reachable()))}
            known.state.note_before(before, self._raising.identities)
            returned: list[Any] = []
            try:
                error = None
                if known.hands_back:
                    result, error = attempted(lambda: call.run(args, kwargs), (*functions, args, kwargs))
                else:
                    result = call.run(args, kwargs)
                region.leave((result, error))
                self._note_shared(result, before, active)
                result = result_in_room(result, known.rooms)
                layout, returned = (
                    described(result, error, active.marker.name) if known.hands_back else describe(result)
                )
                layouts.append(layout)
            except BaseException as error:
                if not raising.is_raised_by(region, error):
                    raising.ended_by(error)
                    raise
                raising.record_raise(error, region)
            state = known.state.values()
            cells.extend(self._rebound(functions, variables, snapshot))
            places = region.written()
            if any(id(getattr(place, "owner", None)) in copies for place in places):
                own.append(True)
            written.extend(place.key for place in places)
            self.journal.check_unreported()
            self.journal.forget(region)
            snapshot.restore()
            region.roll_back()
            return [*returned, *state]

        types = [*(type for type in active.signature.types if type is not None), *known.state.types()]
        traced = Traced(None, ())
        try:
            self.journal.functions.append(known.loops)
            with self.calls.under_way(active):
                traced = self._backend.trace(run, types)
        finally:
            self.journal.functions.pop()
            known.state.end()
            self.journal.forget(region)
            snapshot.restore()
            roots = (*snapshot.functions, *snapshot.reachable(), *call.containers(), *call.constants())
            living = self.journal.close(region, roots)
        # As long as no result is known, what a path leaves that ends early is made up.
        if active.is_called and known.layout is not None:
            if own:
                known.state.refuse_argument(active.marker.where)
            for place in [*(place for place in living if place.key in written), *cells]:
                known.state.add(place)
            known.state.add_refs([ref for ref, is_written in STAGING.stand_ins(traced.program) if is_written])
        return traced, layouts[0] if layouts else None

    def _rebound(
        self, functions: Sequence[types.FunctionType], variables: Sequence[Variable], snapshot: Snapshot
    ) -> list[Any]:
        """The variables around the functions, and these, that hold something else now than when the call began."""
        keys = {each.key for each in snapshot.changed()}
        around = (CellVariable(name, cell) for function in functions for name, cell in cells_of(function))
        return [each for each in (*variables, *around) if each.key in keys]

    def _written_so_far(self, region: Region, functions: Sequence[types.FunctionType]) -> list[Any]:
        """The keys of what the call, whose region this is, and the blocks in it have written, if only until they put it back.

        ``functions``: the one that is called, and those that are its arguments.
        """
        regions = self.journal.regions
        inside = regions[next(k for k, each in enumerate(regions) if each is region) :]
        found: list[tuple[Any, Any]] = [
            (place, each.before[place.key][1]) for each in inside for place in each.written()
        ]
        for loop in self.journal.loops:
            if any(loop.carry.region is each for each in inside):
                carried = (each for each in loop.carry.carried if id(each.variable) in loop.carry.found)
                found += [(each.variable, each.entry) for each in carried]
        around = set().union(*map(cells_around, functions))
        lasting = [
            (place, held)
            for place, held in found
            if isinstance(place, Place)
            and not any(each.made_by(getattr(place, "owner", None)) for each in inside)
            and (not isinstance(place, CellVariable) or id(place.cell) in around)
        ]
        for place, held in lasting:
            region.note(place, held)
        return [place.key for place, _ in lasting]

    def _note_shared(self, result: Any, before: set[int], active: Activation) -> None:
        """Note whether a result is, or holds, what was there before the call, or one container twice: these would be copies."""
        known, found = active.known, parts_of(result)
        assert known is not None
        if any(id(part) in before for part in found.values()):
            known.shares = True
        marks = {path: self._raising.identities.conditions_of(id(part)).keys() for path, part in found.items()}
        for one, other in itertools.combinations(found, 2):
            if found[one] is found[other] or not marks[one].isdisjoint(marks[other]):
                known.same.add((one, other))


def _gets_longer(one: Layout, other: Layout) -> bool:
    """Whether texts are more than a few constants, of which each trace finds longer ones: there is no end to these."""
    if not (isinstance(one, Constants) and isinstance(other, Constants)) or len(other.candidates) <= _FEW:
        return False
    return max(map(len, other.candidates)) > max(map(len, one.candidates))
