"""The state of a program: the Variables whose values it takes and returns."""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from autograph.runtime.code.generated import defined
from autograph.runtime.effects.raising import Guarded, with_error
from autograph.runtime.errors import StateNeeded
from autograph.runtime.state.commits import COMMITS, GIVEN_AWAY, commit, values_of
from autograph.runtime.state.variables import Variable, current_frame, staging
from autograph.runtime.tracing.recording import LOCAL


class State:
    """A program as a compiled function of Variables' values and arrays.

    Attributes:
      written, read: the Variables that some recording writes, and those that recordings only read.
      waits: whether a call waits for its effects.
    """

    def __init__(self, program: Any, written: list[Variable], read: list[Variable]) -> None:
        self._program = weakref.ref(program)
        self.written = written
        self.read = read
        self.variables = [*written, *read]
        self._ids = {id(variable): k for k, variable in enumerate(self.variables)}
        self._count = len(written)
        # In one order for all programs, so that no two wait for each other.
        ordered = sorted(self.variables, key=lambda variable: variable._order)
        self._locks = [variable._lock.lock for variable in ordered]
        # A program that calls Python may end with what that raises, after it has written to the memory that it was given;
        # and what it calls may look at the Variables.
        self._donates = program._donates and bool(written) and not program._calls_python
        if self._donates:
            COMMITS.begin_to_give_away()
        self._jitted = program._compiled(self._enter, len(self.variables), len(written) if self._donates else 0)
        self._keeping = program._compiled(self._enter, len(self.variables)) if self._donates else self._jitted
        self._staging = staging()
        self._runs_once = bool(program._donated)
        self._are_plain = all(variable._is_plain for variable in self.variables)
        self.waits = program._waits

    @property
    def program(self) -> Any:
        """The program that this is the state of, which lives as long."""
        program = self._program()
        assert program is not None
        return program

    @property
    def may_donate(self) -> bool:
        """Whether it gives away nothing, or may: not once the program is known to call Python."""
        return not (self._donates and self.program._calls_python)

    def covers(self, touched: Sequence[tuple[Variable, bool]]) -> bool:
        return all(
            self._ids.get(id(variable), len(self._ids)) < (self._count if is_written else len(self._ids))
            for variable, is_written in touched
        )

    def _enter(self, *operands: Any) -> Any:
        """What JAX compiles: a function of the Variables' values, then the arrays."""
        program = self.program
        values, arrays = list(operands[: len(self.variables)]), operands[len(self.variables) :]
        with program._lock:
            if program._state is not self:
                raise StateNeeded
            key, recording = program._recorded(arrays)
            if recording.created or not (self.covers(recording.touched) and self.may_donate):
                raise StateNeeded(key)
            program._forget(key, recording)
        for variable, value in zip(self.variables, values, strict=True):
            if value is None:
                raise variable._unset()
        recorded, stand_ins, before = recording.given(dict(zip(self._ids, values, strict=True)), arrays)
        outputs, last, error = staging().run(recorded, arrays, stand_ins, before)
        given = values[: self._count]
        of_variables = last[: recording.count_of_variables]
        for (variable, _), value in zip(recording.touched, of_variables, strict=False):  # large constants come last
            values[self._ids[id(variable)]] = value
        if error is not None and self._donates:  # nothing else has the old values then
            code, *_ = error
            values[: self._count] = [
                jnp.where(code == 0, new, old) for new, old in zip(values[: self._count], given, strict=True)
            ]
        return with_error(jax.tree_util.tree_unflatten(recording.tree, outputs), error), values[: self._count]

    def function(self, arrays: int) -> Callable[..., Any]:
        """A function that runs the program on so many arrays. It holds this state, and not the other way round.

        Written as source, since most of what a short call costs are the steps around it. Straight-line code reads or writes
        all values in one step of the interpreter's, between whose parts neither another thread nor an interrupt runs.
        """
        given = "".join(f"a{k}, " for k in range(arrays))
        count = len(self.variables)
        read = "; ".join(f"x{k} = v{k}._value" for k in range(count))
        values = "".join(f"x{k}, " for k in range(count))
        same = " and ".join(f"v{k}._value is x{k}" for k in range(count))
        holding_all = f"return holding_all(({given}))"
        if self._runs_once:
            lines = [holding_all]
        elif not self.written:  # one look at all values, which nobody takes away, needs no lock
            lines = [read, f"return jitted({values}{given})[0]"]
        else:
            free = "not commits.busy and " if self._are_plain else ""
            run = [
                f"number = commits.number; {read}",
                f"result, new = jitted({values}{given})",
                "if type(result) is Guarded: result = result.resolve()",
                f"{''.join(f'n{k}, ' for k in range(self._count))} = new",
                f"if {free}(commits.number == number or {same}):",
                f"    commits.number += 1; {'; '.join(f'v{k}._value = n{k}' for k in range(self._count))}",
                "    return result",
            ]
            if self._are_plain:  # without locks: a call that was overtaken, or may be, runs again with them
                lines = [*run, holding_all]
            else:  # what is written is locked; whatever else changes meanwhile is noticed
                lines = [
                    "held, counted = [], 0",
                    "try:",
                    "    held.extend(map(acquire, locks, at_once))",
                    "    if all(held):",
                ]
                lines += ["        commits.busy += 1; counted = 1", *(f"        {line}" for line in run), "finally:"]
                lines += ["    commits.busy -= counted", "    any(map(release, compress(locks, held)))", holding_all]
        body = "\n    ".join(lines)
        current, running = self._staging.running()
        locks = [variable._lock.lock for variable in self.written]
        environment = {
            "locks": locks, "acquire": _ACQUIRE, "release": _RELEASE, "at_once": _AT_ONCE, "compress": itertools.compress,
            "state": self, "otherwise": self._otherwise, "holding_all": self._holding_all,
            "jitted": self._jitted, "Guarded": Guarded, "commits": COMMITS, "current": current, "running": running,
            **{f"v{k}": v for k, v in enumerate(self.variables)},
        }  # fmt: skip
        source = f"""
def call({given}):
    if current(None) is not running or commits.busy or state.waits:
        return otherwise(({given}))
    {body}
"""
        made: Callable[..., Any] = defined(source, environment, "call")
        return made

    def _otherwise(self, arrays: Sequence[Any]) -> Any:
        """A call that may be in a trace, or while something of `Commits.busy` goes on, or that waits."""
        if LOCAL.frame is not None or not self._staging.is_outside():
            return self._inside(arrays)
        return self._holding_all(arrays)

    def _holding_all(self, arrays: Sequence[Any]) -> Any:
        if not self.written and not COMMITS.give_arrays_away:
            return self._jitted(*values_of(self.variables), *arrays)[0]
        if LOCAL.in_callback:
            for variable in self.variables:
                variable._check_free()
        locks = self._locks
        held: list[bool] = []
        counted = 0
        try:
            held.extend(map(_ACQUIRE, locks, _AT_ONCE))
            if not all(held):
                self._wait_for_locks(held)
            COMMITS.busy += 1
            counted = 1
            values = values_of(self.variables)
            if self._donates:
                result = self._give_away(values, arrays)
                # The new values are the old ones where it raised.
                return result.resolve() if type(result) is Guarded else result
            result, new = self._run(values, arrays)
            if type(result) is Guarded:
                result = result.resolve()
            commit(self.written, new)
            return result
        finally:
            COMMITS.busy -= counted
            any(map(_RELEASE, itertools.compress(locks, held)))

    def _wait_for_locks(self, held: list[bool]) -> None:
        """Hold all locks, some of which others have now: one after the other, in the order that all go by."""
        any(map(_RELEASE, itertools.compress(self._locks, held)))
        held.clear()
        for lock in self._locks:
            lock.acquire()
            held.append(True)

    def _run(self, values: Sequence[Any], arrays: Sequence[Any]) -> Any:
        if not self.waits:
            return self._jitted(*values, *arrays)
        # The rest are a call's around this one.
        awaited = [variable for variable in self.variables if not variable._is_awaited]
        try:
            for variable in awaited:
                variable._is_awaited = True
            results = self._jitted(*values, *arrays)
            self._staging.wait(results)
            return results
        finally:
            for variable in awaited:
                variable._is_awaited = False

    def _inside(self, arrays: Sequence[Any]) -> Any:
        """A call inside a trace: Variables are read and written as the trace around it has it."""
        frame, place = current_frame(), self._staging.place()
        outer = None if frame is None else frame.place
        if self.written and self._staging.is_mapped(place, outer):
            raise self.written[0]._mapped()
        values = [variable.value for variable in self.variables]
        result, new = self._keeping(*values, *arrays)
        if type(result) is Guarded:
            result = result.resolve()
        if frame is None:
            for variable, value in zip(self.written, new, strict=True):
                variable.check_writable(value)
        for variable, value in zip(self.written, new, strict=True):
            variable._write(value)
        return result

    def trace(self, arrays: Sequence[Any]) -> Any:
        values = [variable.value for variable in self.variables]
        return self._jitted.trace(*values, *arrays)

    def _give_away(self, values: Sequence[Any], arrays: Sequence[Any]) -> Any:
        """Run the program in the memory of the values that it writes. The locks are held."""
        made: list[Any] = []
        try:
            given = [variable._given_away(value) for variable, value in zip(self.written, values, strict=False)]
            # In one step of the interpreter's: no interrupt comes between the call and the note of what it has made.
            made.extend(map(self._jitted, *zip((*given, *values[self._count :], *arrays), strict=True)))
            self._settle(values, made)
        except BaseException:  # of the call, or an interrupt
            self._settle(values, made)
            raise
        return made[0][0]

    def _settle(self, values: Sequence[Any], made: list[Any]) -> None:
        """Write to the Variables what a call has made, unless they have it; or, if it has made nothing, what they had."""
        if not made:
            for variable, value in zip(self.written, values, strict=False):
                if variable._value is GIVEN_AWAY:
                    variable._value = value
            return
        new = made[0][1]
        waiting = [variable for variable, value in zip(self.written, new, strict=True) if variable._value is not value]
        for variable in waiting:
            variable._lent = False
        if waiting:
            commit(self.written, new)


# All at once, without returning to the interpreter between one lock and the next.
_ACQUIRE, _RELEASE = type(threading.RLock()).acquire, type(threading.RLock()).release
_AT_ONCE = itertools.repeat(False)
