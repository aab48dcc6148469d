"""`Recursion`: stage functions that call themselves under traced conditions.

Such a function has no end while it is traced: both branches of each condition are followed. So a call of what is
being traced already, with arguments of the same types, is recorded as a call (`Backend.recursive_call`) and not
followed. What it returns is not known at first: the branch that it is in ends there, and the other branches tell. The
function is then traced again with that, until the type of the result no longer changes, and the outermost call is
staged as one loop.

Calls whose arguments differ in Python values, or in type, are different functions: they are followed, as all calls
are.
"""

from __future__ import annotations

import functools
import inspect
import operator
import sys
import types
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import jax.numpy as jnp

from autograph.backends.base import Backend, LeafType
from autograph.backends.recursive import FunctionBody, RecursionSpec
from autograph.runtime.containers.parts import parts_of
from autograph.runtime.effects.raising import current
from autograph.runtime.effects.staged_raises import Raising
from autograph.runtime.errors import StagingError
from autograph.runtime.heap.reach import constants_used, may_be_written
from autograph.runtime.layouts.describe import unflatten
from autograph.runtime.layouts.functions import identity_of
from autograph.runtime.layouts.kinds import Static, leaves_of
from autograph.runtime.layouts.list_room import RoomInRecursion
from autograph.runtime.layouts.statement_variables import Snapshot
from autograph.runtime.staging.calls.calls_under_way import (
    NUMBERS,
    Activation,
    Call,
    CallsUnderWay,
    InTraceOfCalls,
    Known,
    Marker,
    Signature,
    TraceOfCalls,
    containers_in,
    is_same_value,
    marker_of,
)
from autograph.runtime.staging.calls.function_traces import FunctionTraces
from autograph.runtime.staging.calls.recursion_depth import DepthBound
from autograph.runtime.staging.calls.recursive_state import CarriedState
from autograph.runtime.staging.calls.values_in_room import ValueInRoom, can_grow, extent_of
from autograph.runtime.staging.policy.recursive_code import Written, function_in, is_internal_class
from autograph.runtime.tracing.locations import is_internal, position_of, user_location
from autograph.runtime.tracing.recording import LOCAL, effects_recorded
from autograph.runtime.tracing.statements import Remark, take_down

# How many calls that differ in Python numbers are followed, in each other and in all, before these are traced.
_DEPTH_FOLLOWED, _FOLLOWED = 8, 64
_RUN_BY_PYTHON = 4096  # calls that see constants only
_FRAMES = 4  # of Python's, that a call of converted code takes
_NO_ROOM = "only an autograph.function can be run again with a larger capacity"
_NO_CALLS = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


class _Again(BaseException):
    """Ends a trace that is to be made again: something has been found that calls itself.

    No `Exception`, as the user's code in between must not handle it.
    """


class _TooMany(BaseException):
    """Ends the calls of constants that Python runs. No `Exception`, likewise."""


class Recursion(InTraceOfCalls):
    """The part of the operator for calls that knows functions which call themselves."""

    def __init__(
        self,
        backend: Backend,
        trace: Callable[[], TraceOfCalls],
        is_converted: Callable[[types.FunctionType], bool],
        convert: Callable[[types.FunctionType], types.FunctionType],
        written: Written,
        raising: Raising,
    ) -> None:
        self.backend = backend
        super().__init__(trace)
        self._found_by = trace
        self._is_converted = is_converted
        self._convert = convert
        self._written = written
        self._raising = raising
        self._traces = FunctionTraces(backend, trace, raising)
        self._effects = 0

    def of(self, called: Any, found: Callable[..., Any], is_known: bool = False) -> Callable[..., Any]:
        """``found``, which runs in place of ``called``, such that it may call itself under traced conditions.

        ``is_known``: it has been asked already whether it may.
        """
        known = self._found_by().known_calls
        if self.backend.is_eager():
            return found
        if known is not None and known.follows_all:
            self._take_one(known)
            return found
        if getattr(found, "__autograph_recursion__", False):
            return found
        if known is not None and known.active:
            found = self._active_function(called) or found
        function, bound = self._function(found)
        if function is None:
            return found
        if not is_known and not self.call_graph.may_call_itself(function, bound[0] if bound else None, self._written):
            return found

        @functools.wraps(found, updated=())  # libraries ask for its signature
        def call(*args: Any, **kwargs: Any) -> Any:
            calls = self.calls
            met = None if calls.active else constants_used([(function, bound, args, tuple(kwargs.values()))])
            if met is not None:
                with suppress(_TooMany):
                    return self._in_python(lambda: found(*args, **kwargs), any(map(may_be_written, met)))
            rooms = calls.rooms.get(identity_of(function), {})
            return self._call(Call(function, found, bound, args, kwargs, calls.shared, rooms))

        call.__autograph_recursion__ = True  # type: ignore[attr-defined]
        return call

    def _in_python(self, call: Callable[[], Any], writes: bool) -> Any:
        """The result of a call that sees constants only, run as Python runs it.

        Args:
          writes: whether it may write to what it is given, so that it cannot be made again.

        Raises:
          _TooMany: it makes so many calls, or such deep ones, that it is better staged.
        """
        calls, limit = self.calls, sys.getrecursionlimit()
        calls.follows_all, calls.left, self._effects = True, None if writes else _RUN_BY_PYTHON, effects_recorded()
        sys.setrecursionlimit(limit * _FRAMES)
        try:
            return call()
        except RecursionError as error:
            raise (error if writes or effects_recorded() != self._effects else _TooMany()) from None
        finally:
            sys.setrecursionlimit(limit)
            calls.follows_all, calls.left = False, None

    def _take_one(self, calls: CallsUnderWay) -> None:
        """Count a call that Python runs."""
        if calls.left is not None:
            calls.left -= 1
            if calls.left < 0 and effects_recorded() == self._effects:
                raise _TooMany

    def of_generator(self, form: Callable[..., Any], body: Any) -> Callable[..., Any]:
        """The form of a generator function that names itself, to which ``body``, a loop's, is given.

        In a function that calls itself a loop has another body in each trace, by which the next would not be recognized.
        """
        known = self._found_by().known_calls
        active = [] if known is None else known.active
        if active and not any(leaf is body for each in active for leaf in each.call.leaves):
            return form
        return self.of(form, form, is_known=True)

    def _active_function(self, called: Any) -> Any:
        """The converted function of a `Function` that is being traced, and now called in it; None of anything else."""
        if not is_internal_class(type(called)):
            return None
        python_function = getattr(called, "python_function", None)
        function = function_in(python_function)
        if function is None:
            return None
        converted = self._convert(function)
        if not any(each.signature.function == identity_of(converted) for each in self.calls.active):
            return None
        if isinstance(python_function, types.MethodType):
            return types.MethodType(converted, python_function.__self__)
        return converted

    def _function(self, found: Any) -> tuple[types.FunctionType | None, tuple[Any, ...]]:
        """The converted function that is called, and what it is bound to; None if it is something else."""
        bound: tuple[Any, ...] = ()
        function = found
        while True:
            if isinstance(function, types.MethodType):
                bound, function = (function.__self__,), function.__func__
            if not isinstance(function, types.FunctionType) or self._is_converted(function):
                break
            function = function.__dict__.get("__wrapped__") if is_internal(function.__code__.co_filename) else None
        if not isinstance(function, types.FunctionType) or function.__code__.co_flags & _NO_CALLS:
            return None, ()
        return function, bound

    # Calls.

    def _call(self, call: Call) -> Any:
        signature = self._signature(call)
        calls = self.calls
        for active in reversed(calls.active):
            if active.frame is not LOCAL.frame:
                continue
            if active.known is not None and active.signature.holds(signature):
                return self._again(active, call)
            if active.known is None and not calls.is_settled and active.signature.is_same(signature):
                if len(self.journal.regions) > active.regions:
                    self._refuse_own_closure(signature, [other for other, _ in calls.found])
                    calls.found.append((signature, self._unknown(call)))
                    raise _Again
                break
        if not calls.active:
            return self._outermost(call, signature)
        # The first call may leave an argument to its default that the others give.
        same = [each for each in calls.active if each.signature.is_called_as(signature)]
        is_much = len(same) >= _DEPTH_FOLLOWED or (len(same) > 1 and calls.followed >= _FOLLOWED)
        if not calls.is_settled:
            for each in same:
                self._trace_numbers(each.signature, self._numbers_met_by_arrays(each.signature, signature))
            self._give_room(call)
            if is_much:
                self._trace_numbers(same[0].signature, self._numbers_that_differ(same[0].signature, signature))
        signature = self._with_numbers(signature)
        known = calls.known_of(signature)
        return self._followed(call, signature) if known is None else self._staged(call, signature, known)

    def _outermost(self, call: Call, given: Signature) -> Any:
        calls = self.calls
        calls.where = user_location()
        try:
            while True:
                call = call.passing(calls.shared, calls.rooms.get(given.function, {}))
                signature = self._with_numbers(self._signature(call))
                known = calls.known_of(signature)
                if known is None:
                    known = self._unknown(call)
                    calls.found.append((signature, known))
                try:
                    return self._staged(call, signature, known)
                except _Again:
                    calls.start_again()
                    continue
                except Exception as error:
                    if calls.is_settled:
                        raise
                    failed = error
                # After the handler: an exception of the program is none of this one's.
                shared = {} if calls.shared else call.mutable_arguments()
                if not shared and _may_be_of_argument(failed) and not calls.is_entered:
                    return self._entered(call)
                if not shared:
                    return self._all_followed(call, failed)
                calls.forget()
                calls.shared = shared  # which calls write to, or whose lengths differ between them
        finally:
            calls.end()

    def _entered(self, call: Call) -> Any:
        """The result of a call that makes a list, or a dict, which the calls in it write to: each of these is an outermost one."""
        calls = self.calls
        calls.end()
        calls.is_entered = True
        try:
            return call.follow()
        finally:
            calls.is_entered = False

    def _all_followed(self, call: Call, error: Exception) -> Any:
        """The result of a call that cannot be staged as one, with all calls in it followed, which may come to an end.

        Raises:
          Exception: ``error``, if they do not.
        """
        self.calls.start_again()
        self.calls.follows_all = True
        try:
            return call.follow()
        except StagingError as other:
            if not other._is_endless:
                raise other from None
            room = self.calls.without_room
            raise error if room is None else room.refused(_NO_ROOM) from None

    def _unknown(self, call: Call) -> Known:
        return Known(CarriedState(self.backend, self.journal, call.function.__name__, self.calls.where))

    def _signature(self, call: Call) -> Signature:
        found = [self.backend.type_of(leaf) if self.backend.is_array(leaf) else None for leaf in call.leaves]
        statics = tuple(leaf if type is None else None for leaf, type in zip(call.leaves, found, strict=True))
        identity = identity_of(call.function)
        self.calls.kept.setdefault(identity, call.function)
        return Signature(identity, call.treedef, tuple(found), statics)

    def _with_numbers(self, signature: Signature) -> Signature:
        """The signature where the Python numbers are arrays that are to be traced."""
        while numbers := next((found for other, found in self.calls.numbers if other.is_same(signature)), None):
            made = [numbers.get(k) if type is None else type for k, type in enumerate(signature.types)]
            statics = [None if type else static for type, static in zip(made, signature.statics, strict=True)]
            signature = Signature(signature.function, signature.treedef, tuple(made), tuple(statics))
        return signature

    def _trace_numbers(self, signature: Signature, numbers: dict[int, LeafType]) -> None:
        """Trace these Python numbers, which calls change, as arrays of these types, instead of following call after call."""
        if not numbers or any(other.is_same(signature) for other, _ in self.calls.numbers):
            return
        self._refuse_own_closure(signature, [other for other, _ in self.calls.numbers])
        self.calls.numbers.append((signature, numbers))
        raise _Again

    def _give_room(self, call: Call) -> None:
        """Hold the arguments that each call makes longer in room, instead of following call after call."""
        calls, identity = self.calls, identity_of(call.function)
        alike = [each.call for each in calls.active if each.signature.function == identity]
        if not (len(alike) >= _DEPTH_FOLLOWED or (len(alike) > 1 and calls.followed >= _FOLLOWED)):
            return
        held, rooms = calls.rooms.setdefault(identity, {}), None if LOCAL.frame is None else LOCAL.frame.rooms
        places = [place for place in call.given if place not in held and _is_longer(place, [*alike, call])]
        for place in places:
            room = RoomInRecursion(calls.where, call.name_of(place), rooms, function=call.function.__name__)
            if rooms is None:
                calls.without_room = room
                return
            held[place] = ValueInRoom(room, rooms.of(room.where, room.name, 1))
        if places:
            raise _Again

    def _numbers_that_differ(self, first: Signature, last: Signature) -> dict[int, LeafType]:
        """The leaves that are Python numbers in both calls, and not the same."""
        leaves = enumerate(zip(first.statics, last.statics, strict=True))
        return {
            k: self._type_of_number(one)
            for k, (one, other) in leaves
            if type(one) in NUMBERS and not is_same_value(one, other)
        }

    def _numbers_met_by_arrays(self, outer: Signature, inner: Signature) -> dict[int, LeafType]:
        """The leaves that are Python numbers in the outer call, and traced numbers in the inner.

        Followed for each number, the calls would be as many functions as ways to mix the two (`search(xs, low=0, high=9)`, which
        calls `search(xs, middle, high)` and `search(xs, low, middle)`).
        """
        found = {}
        for k, (static, met) in enumerate(zip(outer.statics, inner.types, strict=True)):
            if type(static) in NUMBERS and met is not None and met.shape == ():
                own = self._type_of_number(static)
                found[k] = met if met.dtype == own.dtype else own
        return found

    def _type_of_number(self, number: Any) -> LeafType:
        found = self.backend.type_of(number)
        assert found is not None
        return found

    def _followed(self, call: Call, signature: Signature) -> Any:
        active = Activation(signature, call, None, marker_of(call.function))
        active.regions = len(self.journal.regions)
        self.calls.followed += 1
        leaves = self._with_traced_numbers(call, signature)
        is_same = all(one is other for one, other in zip(leaves, call.leaves, strict=True))
        with self.calls.under_way(active):
            return call.follow() if is_same or call.copied() else call.run(*call.arguments(leaves))

    def _with_traced_numbers(self, call: Call, signature: Signature) -> list[Any]:
        """The leaves, with arrays for the numbers that the signature has types of: what is called in it knows these."""
        return [
            leaf if type is None or self.backend.is_array(leaf) else self.backend.zeros(type) + leaf
            for leaf, type in zip(call.leaves, signature.types, strict=True)
        ]

    def _again(self, active: Activation, call: Call) -> Any:
        """The result of a call of what is being traced."""
        known = active.known
        assert known is not None
        self._hand_back(known, call)
        active.is_called = True
        if known.layout is None:
            self._raising.end_block()
        active.note_writes()
        operands = self._operands(active.signature, known, call.leaves)
        if known.state.is_changed:
            self._raising.end_block()
        known.state.refuse_arguments(call.copied())
        results = self._recorded(active.marker, known, operands, call)
        if known.never:
            self._raising.end_block()
        return results

    def _hand_back(self, known: Known, call: Call) -> None:
        """Let a call that is recorded inside a ``try`` hand back what it raises."""
        caller = next(each for each in reversed(self.calls.active) if each.known is not None)
        if known.hands_back or len(current().catches) <= caller.attempts:
            return
        if self.calls.is_settled or call.variables():
            name = getattr(call.function, "__name__", "This function")
            raise StagingError(
                f"{user_location()}\n  {name!r} calls itself under a traced condition inside a `try`: what it "
                "raises is known only after it has been traced.\n  Put the `try` around the outermost call, "
                "or write the recursion as a loop."
            )
        known.hands_back, known.layout, known.never = True, None, False
        raise _Again

    def _operands(self, signature: Signature, known: Known, leaves: Sequence[Any]) -> list[Any]:
        own = [leaf for leaf, type in zip(leaves, signature.types, strict=True) if type is not None]
        return own + known.state.values()

    def _recorded(self, marker: Marker, known: Known, operands: Sequence[Any], call: Call) -> Any:
        return self._settled(known, self.backend.recursive_call(marker, operands, known.types()), call)

    def _settled(self, known: Known, outputs: Sequence[Any], call: Call) -> Any:
        """What a call returns, of the arrays that it returns, once what it writes is written."""
        assert known.layout is not None
        count = len(outputs) - len(known.state.types())
        known.state.settle(outputs[count:])
        pending = iter(outputs[:count])
        leaves = [leaf.value if isinstance(leaf, Static) else next(pending) for leaf in leaves_of(known.layout)]
        result, error = unflatten(known.layout, leaves), None
        if known.hands_back and not known.never:
            result, error = result
        parts = parts_of(result)
        found = parts.values()
        for part in found:
            self.journal.born(part)
        identities = self._raising.identities
        for path, part in parts.items() if known.same else ():  # those before are related by now
            others = [identities.own_mark(parts[one]) for one, other in known.same if other == path]
            if others:
                identities.relate(part, dict.fromkeys(frozenset().union(*others)), user_location())
        if known.shares and found:
            before = [*call.containers(), *containers_in(Snapshot((call.function,), ()).reachable())]
            marks = frozenset().union(*map(identities.own_mark, before))
            when = dict.fromkeys(marks)
            for part in found:
                identities.relate(part, when, user_location())
        self._raising.raise_if_any(error)
        return result

    # Tracing.

    def _staged(self, call: Call, signature: Signature, known: Known) -> Any:
        """The result of a call of a function that may call itself."""
        marker = marker_of(call.function)
        active = Activation(signature, call, known, marker)
        created = 0 if LOCAL.frame is None else len(LOCAL.frame.created)
        try:
            body = self._traces.body(active, call)
        finally:
            if LOCAL.frame is not None:
                del LOCAL.frame.created[created:]
        if body is None:
            # From here on writes take effect: this is no trace that can be made again.
            self.calls.is_settled = self.calls.is_settled or not self.calls.active
            return self._followed(call, signature)
        operands = self._operands(signature, known, call.leaves)
        if known.state.is_changed:
            return self._staged(call, signature, known)
        known.state.refuse_arguments(call.copied())
        bodies = self.calls.bodies
        bodies[marker] = body
        outer = {each.marker for each in self.calls.active if each.known is not None}
        reached = self._reached(marker)
        if reached & outer:
            self._refuse_closure(active, body, reached)
            self._hand_back(known, call)
            return self._recorded(marker, known, operands, call)
        functions = {each: bodies[each] for each in reached}
        bound = DepthBound(call.function, marker, self._raising.can_raise_later())
        spec = RecursionSpec(functions, marker, operands, bound.depth, bound.in_tail_position)
        outputs, ended = self.backend.recursion(spec)
        self.calls.is_settled = self.calls.is_settled or not self.calls.active  # what it raises is the program's
        take_down(Remark(position_of(call.function.__code__), bound.remark()))
        if bound.can_raise:
            self._raising.raise_unless(ended, bound.error)
        else:
            outputs = [self._meaningless(value, ended) for value in outputs]
        result = self._settled(known, outputs, call)
        if known.never:
            self._raising.end_block()
        return result

    def _meaningless(self, value: Any, ended: Any) -> Any:
        """A result of a call that may have gone too deep where nothing can be raised."""
        return jnp.where(ended, value, jnp.nan) if jnp.issubdtype(value.dtype, jnp.inexact) else value

    def _reached(self, marker: Marker) -> set[Marker]:
        """The functions that one calls, itself among them, and those that these call."""
        found, pending = set(), [marker]
        while pending:
            each = pending.pop()
            if each not in found:
                found.add(each)
                if each in self.calls.bodies:
                    pending += self.backend.functions_called(self.calls.bodies[each].traced)
        return found

    def _refuse_own_closure(self, signature: Signature, known: Sequence[Signature]) -> None:
        """Refuse a function that another function defines again in each trace: the next trace would not recognize it."""
        code, *_ = signature.function
        if any(other.function[0] is code and other.function != signature.function for other in known):
            raise StagingError(
                f"{user_location()}\n  {code.co_name!r} and the function that it is defined in both call themselves under a "
                "traced condition. The first reads variables of the second, and each call has variables of its own.\n"
                "  Define it outside, and pass their values as arguments."
            )

    def _refuse_closure(self, active: Activation, body: FunctionBody, reached: set[Marker]) -> None:
        """Refuse a function that reads variables of one that it calls, of which there are as many as calls."""
        around = next(each for each in self.calls.active if each.marker in reached)
        if self.backend.closes_over(body.traced, around.place):
            raise StagingError(
                f"{active.marker.where}\n  {active.marker.name!r} and {around.marker.name!r} call each other under a traced condition. "
                "The first reads variables of the second, and each call has variables of its own.\n  Pass their values as arguments."
            )


def _may_be_of_argument(error: Exception) -> bool:
    """Whether a trace has failed that may not, once a list or dict that the first call makes is one that calls are given."""
    return isinstance(error, StagingError) and (error._is_endless or error._is_of_argument)


def _is_longer(place: Any, calls: Sequence[Call]) -> bool:
    """Whether each of these calls is given something longer at a place of its arguments than that before."""
    given = [call.given[place] for call in calls if place in call.given]
    extents = [extent_of(value) for value in given if can_grow(value)]
    return len(extents) == len(given) and len(extents) > 1 and all(map(operator.lt, extents, extents[1:]))
