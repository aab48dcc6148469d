"""``if``, conditional expressions, ``and``, ``or``, ``not``: Python for concrete tests, one staged conditional for
traced ones.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import jax
import jax.numpy as jnp

from autograph.backends.base import Backend
from autograph.runtime.containers.differing_kinds import DifferentKinds
from autograph.runtime.containers.parts import lists_in_arrays, parts_of, unstack_lists
from autograph.runtime.effects.growing_values import Growth
from autograph.runtime.effects.raising import current, gathered
from autograph.runtime.effects.staged_raises import Raising
from autograph.runtime.errors import StagingError
from autograph.runtime.heap.facts import Facts
from autograph.runtime.heap.holders import references_beyond
from autograph.runtime.heap.in_trace import InTrace, Trace
from autograph.runtime.heap.journal import AttributePlace, ContentsPlace, Place, Region
from autograph.runtime.heap.reach import CONTAINERS
from autograph.runtime.layouts.kinds import Maybe
from autograph.runtime.layouts.objects import attributes_of
from autograph.runtime.layouts.one_of import IN_PLACE, certain_kind
from autograph.runtime.layouts.optional import Optional, absent_in, held_in, is_known, knowing
from autograph.runtime.layouts.statement_variables import (
    NO_SNAPSHOT,
    UNBOUND,
    EmptySnapshot,
    Slot,
    Snapshot,
    Variable,
    find_variables,
    flatten,
)
from autograph.runtime.staging.policy.arithmetic_code import is_plain_arithmetic
from autograph.runtime.staging.policy.opaque import OpaqueCalls
from autograph.runtime.staging.statements.branch_refusals import unbound_error, unseen_birth, why_too_deep
from autograph.runtime.staging.statements.functions_left import check_functions_left
from autograph.runtime.staging.statements.joined_parts import EndParts, JoinedParts
from autograph.runtime.staging.statements.joins import RAISES, RESULT, BranchEnd, Join, of_several_lengths, side_of
from autograph.runtime.staging.statements.loop_nodes import Ending, PathsOfNodes
from autograph.runtime.staging.statements.nones import narrowed
from autograph.runtime.staging.statements.statement_records import record_branch
from autograph.runtime.state.array_operators import plain
from autograph.runtime.tracing.locations import user_location
from autograph.runtime.tracing.recording import LOCAL, on_path

Thunk = Callable[[], Any]


@dataclass(frozen=True, eq=False)
class Kept:
    """A block that returns a value which is there already."""

    value: Any


class Conditionals(InTrace):
    """The operators for two-way choices, and for ``assert``.

    Args:
      checks: the operators.
      call: what to call in place of a function.
      asked: of `Operations`.

    Attributes: raising (raises where a condition is false, which is a choice).
    """

    def __init__(
        self,
        backend: Backend,
        trace: Callable[[], Trace],
        checks: Any,
        opaque: OpaqueCalls,
        call: Callable[[Any], Any],
        asked: Callable[[Any], Any],
    ) -> None:
        super().__init__(trace)
        self.backend = backend
        self.checks = checks
        self.opaque = opaque
        self.asked = asked
        self.raising = Raising(backend, trace, self.staged_if, call)

    def if_stmt(
        self,
        test: Any,
        body: Thunk,
        orelse: Thunk | None,
        names: Sequence[str],
        result: str | None = None,
        before_return: bool = False,
    ) -> Any:
        """Run one of two blocks; return its result.

        ``names`` are the variables that it may leave changed; ``result``, one that the program reads only where it
        was set, and ``body`` runs only where it was not, if ``before_return``.
        """
        if type(test) is not bool:
            test = self.asked(test)
        if type(test) is bool or not self.backend.is_traced(test):
            if test:
                return body()
            return orelse() if orelse is not None else None
        functions = (body, orelse)
        variables = find_variables(names, functions)
        snapshot = Snapshot(functions, variables)
        return self.staged_if(test, body, orelse, variables, snapshot, result, before_return)

    def if_exp(self, test: Any, body: Thunk, orelse: Thunk, names: Sequence[str] = ()) -> Any:
        """``body() if test else orelse()``; ``names`` are what the operands bind."""
        if type(test) is not bool:
            test = self.asked(test)
        if type(test) is bool or not self.backend.is_traced(test):
            return body() if test else orelse()
        variables = find_variables(names, (body, orelse), missing_is_global=False)
        return self.staged_if(test, body, orelse, variables, Snapshot((body, orelse), variables))

    def assert_stmt(self, test: Any, message: Any = None) -> None:
        """``assert test, message()``."""

        def fail() -> None:
            raise self.raising.raised(
                self.raising.exception(AssertionError, *(() if message is None else (message(),)))
            )

        test = self.asked(test)
        if not self.backend.is_traced(test):
            if not test:
                fail()
            return
        self.staged_if(test, None, fail, [], NO_SNAPSHOT)

    def assert_all(self, condition: Any, data: Sequence[Any]) -> None:
        """Raise `AssertionError` with ``data`` unless all of ``condition`` is true, at run time if need be."""
        self.assert_stmt(jnp.all(jnp.asarray(plain(condition))), lambda: self.raising.text(_shown, *data))

    def and_(self, first: Any, *rest: Thunk, names: Sequence[str] = (), is_test: bool = False) -> Any:
        """``first and rest[0]() and …`` with Python's values and short circuit.

        ``names`` are what the operands bind. With ``is_test`` only the truth of the result is asked for.
        """
        return self._logic(first, rest, names, is_test, decided=False)

    def or_(self, first: Any, *rest: Thunk, names: Sequence[str] = (), is_test: bool = False) -> Any:
        """``first or rest[0]() or …`` with Python's values and short circuit; the arguments are as those of `and_`."""
        return self._logic(first, rest, names, is_test, decided=True)

    def _logic(self, value: Any, rest: Sequence[Thunk], names: Sequence[str], is_test: bool, decided: bool) -> Any:
        """The first of the values whose truth is ``decided``, or the last of all."""
        for operand in rest:
            kept, test = value, self.asked(value)
            if self.backend.is_traced(test):
                known = is_test or self._is_truth(kept)  # what it is where it decides
                value = self._staged_logic(test, decided if known else kept, operand, names, is_test, decided)
            elif bool(test) is decided:
                return kept
            else:
                value = operand()
        return value

    def _staged_logic(
        self, test: Any, kept: Any, operand: Thunk, names: Sequence[str], is_test: bool, decided: bool
    ) -> Any:
        """As `_logic`, of one operand after a value whose truth is traced."""

        def implied(truth: Any) -> Facts:
            """What follows where this is not what decides: where the whole is not either, it follows from both operands."""
            if_true, if_false = self.facts.of(truth)
            return if_false if decided else if_true

        def note(whole: Any, facts: Facts) -> Any:
            self.facts.note(whole, *(((), facts) if decided else (facts, ())))
            return whole

        if (second := self._computed_in_place(kept, operand, is_test)) is not None:
            first = self.backend.predicate(test)
            return note(first | second if decided else first & second, implied(test) + implied(second))
        variables = find_variables(names, (operand,), missing_is_global=False)
        learnt: list[Facts] = []

        def rest() -> Any:
            value = self.truth(operand()) if is_test else operand()
            learnt.append(implied(value))
            return value

        if decided and isinstance(kept, Optional) and absent_in(kept) is None:
            kept = held_in(kept)  # what is true is not None
        blocks: tuple[Thunk | Kept, Thunk | Kept] = (Kept(kept), rest) if decided else (rest, Kept(kept))
        result = self.staged_if(test, *blocks, variables, Snapshot((operand, lambda: kept), variables))
        return note(result, implied(test) + sum(learnt, ()))

    def _computed_in_place(self, kept: Any, operand: Thunk, is_test: bool) -> Any:
        """The truth of an operand that may as well be computed where Python would not; None if it may not, or is not traced.

        As a branch it would be traced to a program of its own. Unless only the truth is asked for, both are truth values.
        """
        if not is_plain_arithmetic(operand, self.backend.is_small) or not (is_test or self._is_truth(kept)):
            return None
        try:
            with knowing([IN_PLACE]):
                value = operand()
            may_join = self.backend.is_traced(value) and (is_test or self._is_truth(value))
            return self.truth(value) if may_join else None
        except Exception:  # which Python raises on one path only
            return None

    def _is_truth(self, value: Any) -> bool:
        """Whether a value is True or False, or an array of one of them."""
        if isinstance(value, bool):
            return True
        found = self.backend.type_of(value) if self.backend.is_traced(value) else None
        return found is not None and found.shape == () and found.dtype == jnp.bool_

    def not_(self, value: Any) -> Any:
        """``not value``."""
        value = self.asked(value)
        if self.backend.is_traced(value):
            opposite = ~self.backend.predicate(value)
            self.facts.note(opposite, *reversed(self.facts.saying(value)))
            return opposite
        return not value

    def truth(self, value: Any) -> Any:
        """``bool(value)``, traced if the value is."""
        if not issubclass(type(value), jax.core.Tracer):  # which is asked nothing
            value = self.asked(value)
        return self.backend.predicate(value) if self.backend.is_traced(value) else bool(value)

    def bound(self, read: Thunk, is_free: bool = False) -> Any:
        """The value of a variable, after making sure that it has one on every path that leads here.

        ``is_free``: of a function around the one that reads it.
        """
        name = read.__code__.co_freevars[0] if read.__code__.co_freevars else read.__code__.co_names[0]
        cell = (read.__closure__ or (None,))[0]
        try:
            value = read()
        except NameError:
            value = UNBOUND
        if value is UNBOUND:  # raised here, the error holds no traceback, and so nothing that the function has made
            raise self._unbound(name, cell, is_free)
        if (value is None or isinstance(value, str | bytes | Optional)) and self.marks.reason_lost(cell) is not None:
            raise self._unbound(name, cell, is_free)
        mark = self.marks.find(value)
        if mark is not None and not is_known(mark[0]):
            if not self.raising.can_raise_later(UnboundLocalError):
                raise StagingError(
                    f"{user_location()}\n  {name!r} may be undefined here: {mark[1]}\n"
                    f"  Give {name!r} a value before that statement."
                )
            self.raising.raise_unless(mark[0], unbound_error(name, is_free))
            if current().catches and self.backend.is_array(value):
                # Other paths go on too, where a handler is: what is read here has a value, unlike what the mark is on.
                return jnp.copy(value)
        return value

    def _unbound(self, name: str, cell: Any, is_free: bool) -> Exception:
        reason = self.marks.reason_lost(cell)
        if reason is not None:
            return StagingError(
                f"{user_location()}\n  {name!r} may be undefined here: {reason}\n"
                f"  Give {name!r} a value before that statement."
            )
        return unbound_error(name, is_free)

    def staged_if(
        self,
        test: Any,
        body: Thunk | Kept | None,
        orelse: Thunk | Kept | None,
        variables: Sequence[Variable],
        snapshot: Snapshot | EmptySnapshot,
        result_name: str | None = None,
        before_return: bool = False,
        growing: Mapping[Any, Collection[Growth]] = MappingProxyType({}),
    ) -> Any:
        """Trace both blocks, settle what they leave behind, emit one conditional, and bind its results.

        ``growing``: where the results, by number, and the places hold texts or tuples that differ in length: each block leaves
        values of any length there.
        """
        where = user_location()
        self.journal.check_unreported()
        entry = {id(part): part for variable in variables for part in parts_of(variable.get()).values()}
        returned = [v for v in variables if v.name == result_name or getattr(v, "is_result", False)]
        predicate = self.backend.predicate(test)
        if_true, if_false = self.facts.of(test)
        loop = self.journal.loops[-1] if self.journal.loops else None
        nodes = (
            None
            if not LOCAL.linked or loop is None or not loop.nodes.endings
            else PathsOfNodes(loop.nodes, variables, self.facts)
        )
        try:
            ends = []
            for block, taken, facts in ((body, True, if_true), (orelse, False, if_false)):
                unset = returned if taken and before_return else []
                with narrowed(facts, snapshot), self.identities.unset(unset):
                    path = predicate, taken
                    ends.append(self._trace_block(block, variables, snapshot, path, facts, growing, nodes))
        except RecursionError:
            endless = StagingError(f"{where}\n{why_too_deep()}")
            endless._is_endless = True
            raise endless from None
        if not growing and (found := of_several_lengths(ends, len(variables) + 1, self.backend)):
            try:
                return self.staged_if(test, body, orelse, variables, snapshot, result_name, before_return, found)
            except DifferentKinds:  # of tuples: what is said of their structures tells more
                pass
        result = Slot(RESULT, None)
        places: list[Any] = [result, *variables]
        results = {1 + k: variable for k, variable in enumerate(variables) if variable in returned}
        parts, written = self._joined_parts(ends, len(places), results, entry, snapshot, where, predicate)
        joined = Join(self.backend, where, predicate, parts.is_outer, self.checks)
        if all(end.raises for end in ends):
            joined.emit(predicate, ends)
            self.raising.end_block()
        for k, place in enumerate(places):
            # Nothing that follows will see what a block that raises leaves behind.
            sides = [RAISES if end.raises else end.side(k) for end in ends]
            if k in results and any(side.is_bound for side in sides):
                sides = [side.surely_bound() for side in sides]
            joined.add(place.name, sides[0], sides[1], parts.list_of(place, k))
        for place in written.values():
            places.append(place)
            joined.add_written(place, ends)
        leaves = joined.emit(predicate, ends)
        self.facts.note_results(test, joined.truths(leaves))
        born = {key: made for end in ends for key, made in end.born.items()}
        for made in born.values():
            self.journal.born(made)
        record_branch(
            [
                (place.name, joined.types_of(k))
                for k, place in enumerate(places)
                if not isinstance(getattr(place, "owner", None), Ending)
            ]
        )
        for k, place in enumerate(places):
            if k > len(variables) and id(getattr(place, "owner", None)) not in born:
                self.journal.touch(place, again=True)  # found by its being written: the region around must know
            owner = parts.list_of(place, k)
            self._bind(place, joined, k, leaves, where, functools.partial(parts.place, k=k), owner)
        if nodes is not None:
            nodes.note()
        self.journal.refresh()
        for end in ends:
            self.journal.spread(end.made_unknown)
            self.journal.give_elements(end.given)
        return result.value

    def _joined_parts(
        self,
        ends: Sequence[BranchEnd],
        count: int,
        results: Mapping[int, Variable],
        entry: dict[int, Any],
        snapshot: Snapshot | EmptySnapshot,
        where: str,
        predicate: Any,
    ) -> tuple[JoinedParts, dict[Any, Place]]:
        """Which containers the results are, and the places besides the variables that the branches write."""
        written = {key: place for end in ends for key, (place, _, _) in end.written.items()}
        surely = {
            k
            for k in results
            if not any(end.raises for end in ends) and ends[0].side(k).is_bound != ends[1].side(k).is_bound
        }
        found: list[Any] = []
        for key in [*range(count), *written]:
            sides = [end.parts.get(key) for end in ends]
            if isinstance(key, int) or any(end.raises for end in ends):
                if ends[0].raises != ends[1].raises:
                    sides = [sides[ends[0].raises]] * 2
                if key in surely:  # what was returned before this statement stays that
                    bound = sides[ends[1].side(key).is_bound]
                    if bound is not None and self.identities.are_results(bound.ids.values(), results[key]):
                        sides = [bound] * 2
            elif not any(id(getattr(written[key], "owner", None)) in end.born for end in ends):
                value = written[key].get()
                entry = entry | {id(part): part for part in parts_of(value).values()}
                sides = [
                    EndParts(value, self.identities).left_by(value, end.parts) if side is None else side
                    for side, end in zip(sides, ends, strict=True)
                ]
            found.append(tuple(sides))
        parts = JoinedParts(self.identities, self.journal, where, predicate, found, results, surely)
        parts.resolve(entry, snapshot.reachable())
        kept = parts.kept(count)  # their contents come with the variables
        outside = {
            key: place
            for key, place in written.items()
            if not (isinstance(place, ContentsPlace) and id(place.owner) in kept)
        }
        parts.ends = [*found[:count], *(found[count + k] for k, key in enumerate(written) if key in outside)]
        return parts, outside

    def _trace_block(
        self,
        block: Thunk | Kept | None,
        variables: Sequence[Variable],
        snapshot: Snapshot | EmptySnapshot,
        path: tuple[Any, bool],
        facts: Facts,
        growing: Mapping[Any, Collection[Growth]],
        nodes: PathsOfNodes | None,
    ) -> BranchEnd:
        entry = [variable.get() for variable in variables]
        unchanged = [leaf for value in entry if value is not UNBOUND for leaf in self.marks.leaves(value)]
        end = BranchEnd(self.backend, self.marks.defined, facts, growing)
        statements = None if isinstance(block, Kept) else block
        present = block.value if isinstance(block, Kept) else None  # without statements

        region = self.journal.open(variables, self.raising.tries())
        if isinstance(snapshot, Snapshot):
            region.entry = snapshot
        for value in entry:
            for part in parts_of(value).values():
                if isinstance(part, CONTAINERS):
                    region.keep(part)
        in_arrays = lists_in_arrays(entry)

        def run() -> list[Any]:
            with gathered(), on_path(*path):
                return traced()

        def traced() -> list[Any]:
            try:
                returned = present if statements is None else self.opaque.block(statements)()
            except BaseException as error:
                if not self.raising.is_raised_by(region, error):
                    self.raising.ended_by(error)
                    raise
                self.raising.record_raise(error, region)
                returned, end.raises = None, True
            flat = self._note_end(end, region, returned, variables, in_arrays, unchanged)
            if nodes is not None and not end.raises:
                nodes.end()
            self.journal.check_unreported()
            self.journal.forget(region)
            snapshot.restore()
            region.roll_back()
            return flat

        run.__wrapped__ = block  # type: ignore[attr-defined]
        living: list[Any] = []
        try:
            end.traced = self.backend.untraced(run()) if statements is None else self.backend.trace(run, (), unchanged)
        finally:
            end.given = self.journal.take_elements(region)
            snapshot.restore()
            roots = (block, *snapshot.functions, *snapshot.reachable())
            living = [place.key for place in self.journal.close(region, roots)]
        end.written = {
            key: entry
            for key, entry in end.written.items()
            if key in living or id(getattr(entry[0], "owner", None)) in end.born
        }
        end.made_unknown = region.made_unknown
        check_functions_left(end, roots)
        if LOCAL.linked and statements is not None:
            for made in references_beyond(end.traced.leaves, end.born, (*roots, *region.kept_elsewhere)):
                raise unseen_birth(made)
        return end

    def _note_end(
        self,
        end: BranchEnd,
        region: Region,
        returned: Any,
        variables: Sequence[Variable],
        in_arrays: set[int],
        unchanged: list[Any],
    ) -> list[Any]:
        """Note what a block returns, and leaves in each variable and in each place that it has written. Returns the leaves of all."""
        flat: list[Any] = []

        def add(value: Any, place: Any = None, before: Any = UNBOUND) -> tuple[Maybe, slice]:
            defined = value is UNBOUND or self.marks.defined(value)
            layout, leaves = side_of(value, defined, place, before=before)
            flat.extend(leaves)
            return layout, slice(len(flat) - len(leaves), len(flat))

        values = [certain_kind(value) for value in (returned, *(variable.get() for variable in variables))]
        region.leave(values)
        for k, value in enumerate(values):
            if value is not UNBOUND:
                unstack_lists(value, in_arrays, region.writes)
                end.parts[k] = EndParts(value, self.identities)
            layout, span = add(end.of_any_length(k, value))
            end.layouts.append(layout)
            end.spans.append(span)
        for made in region.references_left():
            end.born[id(made)] = made
            for name in attributes_of(made):
                held = AttributePlace(made, name)
                end.written[held.key] = (held, *add(held.get(), held))
                end.parts[held.key] = EndParts(held.get(), self.identities)
        for place in region.written():
            key, old = place.key, region.before[place.key][1]
            if old is not UNBOUND:
                unchanged.extend(flatten(old, isinstance(place, ContentsPlace))[0])
            end.note_contents(place, old)
            value = place.get()
            end.written[key] = (place, *add(end.of_any_length(key, value), place, old))
            if value is not UNBOUND:
                end.parts[key] = EndParts(value, self.identities)
        return flat

    def _bind(
        self,
        place: Variable,
        join: Join,
        k: int,
        leaves: Sequence[Any],
        where: str,
        placed: Callable[[Any], Any],
        owner: Any,
    ) -> None:
        joined = join.variables[k]
        if joined is None:
            if place.get() is not UNBOUND:
                place.set(UNBOUND)
            return
        reason = f"only one branch binds it at {where}"
        is_kept = joined.span.stop > joined.span.start
        if is_kept:
            try:
                value = placed(join.build(joined, leaves, owner))
            except DifferentKinds as error:
                raise error.of(place.name) from None
            place.set(self.marks.marked(place, value, leaves[joined.span][-1], reason))
        if joined.is_lost:
            self.marks.lose(place, reason, keep=is_kept)


def _shown(*data: Any) -> str:
    return " ".join(map(str, data))
