"""`Program`: the compiled form of one `CallSignature`, from arrays to results.

A program is recorded once, with stand-ins for the Variables that it touches, and then compiled as a pure function
of the arrays and the Variables' values. Which Variables those are is known only from the recording, so the first
call for a set of array types runs twice through JAX: the first time it ends with `StateNeeded`, and the recording
is kept for the second.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from autograph.backends.followed import calling_for, following
from autograph.runtime.effects.failed_calls import cause_of
from autograph.runtime.effects.raising import Guarded, with_error
from autograph.runtime.errors import ArgumentsChanged, StagingError, StateNeeded, TracersLeaked
from autograph.runtime.function.cache import Entry
from autograph.runtime.function.dispatch import CALLS
from autograph.runtime.function.outputs import Changed, finished
from autograph.runtime.function.program_state import State
from autograph.runtime.function.results import first_line
from autograph.runtime.layouts.list_room import OutOfRoom, Rooms, refuse_to_run_again
from autograph.runtime.layouts.pytrees import tree_leaves
from autograph.runtime.lazy import lazy
from autograph.runtime.signatures.changed_arguments import Changes
from autograph.runtime.signatures.inputs import type_key
from autograph.runtime.signatures.signature import CallSignature
from autograph.runtime.state.commits import shared_values_of
from autograph.runtime.state.given_arrays import GivenArray, as_place, given_as_place
from autograph.runtime.state.held import Constant, Held
from autograph.runtime.state.variables import (
    Frame,
    Variable,
    staging,
    touched_by,
)
from autograph.runtime.tracing.concretization import refuse_leaked
from autograph.runtime.tracing.locations import warn
from autograph.runtime.tracing.recording import LOCAL, repeated
from autograph.runtime.tracing.statements import Statements


class Compiler(Protocol):
    """What a `Function` needs of a backend."""

    def compile(self, function: Callable[..., Any], options: dict[str, Any]) -> Any: ...

    def interpret(self, function: Callable[..., Any]) -> Any: ...


class FirstCall:
    """Whether a `Function` is still in its first call, on which it may create Variables."""

    def __init__(self) -> None:
        self.is_over = False


class Recording:
    """What was recorded for one set of array types. Attributes: tree (of the results), touched and created
    Variables, changes (of the arguments), held (for the position of each large constant, what holds it).
    """

    def __init__(self, program: Any, tree: Any, count: int, frame: Frame) -> None:
        self.program = program
        self.tree = tree
        self.count = count
        self.created = frame.created
        self.changes = frame.changes
        self.has_effects = staging().has_effects(program)
        self.may_raise = staging().may_raise(program)
        self.is_bound = staging().is_bound(program)
        large = {} if self.is_bound else staging().large_constants(program)
        self.held = {position: Constant(array) for position, array in large.items()}
        every = touched_by(program)
        self._given = [each for each, _ in every if any(each is one for one in frame.given)]
        self._variables = [pair for pair in every if not any(pair[0] is one for one in self._given)]
        self.touched = [*self._variables, *((held, False) for held in self.held.values())]

    def given(self, values: Mapping[int, Any], arrays: Sequence[Any]) -> tuple[Any, list[Any], list[Any]]:
        """The program with values, by identity, for all it touches: itself, stand-ins and what they hold, those of the Variables
        first, and then those of the arrays that it writes."""
        program = self.program
        if self.held:
            constants = {position: values[id(held)] for position, held in self.held.items()}
            program = staging().with_constants(program, constants)
        variables = [variable for variable, _ in self._variables]
        held = [values[id(v)] for v in variables] + [jnp.asarray(arrays[array.number]) for array in self._given]
        return program, [v._standing() for v in (*variables, *self._given)], held

    @property
    def count_of_variables(self) -> int:
        """How many Variables it touches."""
        return len(self._variables)


class Program:
    """The compiled programs of one `CallSignature`: one for each set of array types, distinguished by the jitted callable.

    Attributes:
      statements: what was staged in it.
      variables: the user's Variables that it is given, those that it writes first.
      writes: the numbers of the arrays that a trace has written in place, as values, of which no caller sees it.
      tells_numpys: whether a trace depends on which of the arrays are NumPy's.
      changes: what it may change in its arguments, as far as its callers have said that they see to that; None if nothing.
      tells_apart: whether it depends on which of the containers among its arguments are one.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        signature: CallSignature,
        compiler: Compiler,
        instance: weakref.ref[Any] | None,
        options: dict[str, Any] | None,
        first_call: FirstCall,
        donate_variables: bool,
        room_at_first: dict[tuple[str, str], int],
        donated: Sequence[int],
    ) -> None:
        """``donated``: the numbers of the arrays whose memory may be used for results; ``room_at_first`` as `Rooms` takes it."""
        self.name = getattr(function, "__name__", "function")
        self._function = function
        self._signature = signature
        self._compiler = compiler
        self._instance = instance
        self._options = options
        self._first_call = first_call
        self._donates = donate_variables
        self._donated = tuple(donated)
        self._room_at_first = room_at_first
        self.statements = Statements()
        self._version = 0
        self._lock = threading.RLock()
        self._recordings: dict[Any, Recording] = {}
        self._waits = False
        self._runs_once = False
        self._raises = False
        self._finishing: dict[bool, tuple[Any, Any]] = {}
        self._calls_python = False
        self.writes: set[int] = set()
        self.tells_numpys = False
        self.changes: Changes | None = None
        self.tells_apart = False
        self._state: State | None = None
        self._stateless = self._compiled(self._enter)

    @lazy
    def rooms(self) -> Rooms:
        """How much room its lists have. The lock is held."""
        return Rooms(self._room_at_first)

    @property
    def rooms_asked(self) -> Mapping[tuple[str, str], int]:
        """Those that the last recording asked for."""
        rooms = Program.rooms.made(self)
        return {} if rooms is None else rooms.asked

    @property
    def _rooms_version(self) -> int:
        rooms = Program.rooms.made(self)
        return 0 if rooms is None else rooms.version

    @property
    def variables(self) -> tuple[Variable, ...]:
        return () if self._state is None else tuple(v for v in self._state.variables if not isinstance(v, Held))

    @property
    def written(self) -> tuple[Variable, ...]:
        """What it writes: Variables of the user's, and those that hold our own state."""
        return () if self._state is None else tuple(self._state.written)

    @property
    def has_state(self) -> bool:
        """Whether what is compiled takes values of Variables, and returns new ones with the results."""
        return self._state is not None

    @property
    def is_recorded(self) -> bool:
        """Whether there is a recording."""
        return bool(self._recordings)

    @property
    def jitted(self) -> Program:
        return self

    def __call__(self, *arrays: Any) -> Any:
        with calling_for(LOCAL.callers or ()):
            result = self._guarded(lambda: self._call_with_room(arrays))
        collection = CALLS.collection
        if collection is not None:
            collection.add(self, arrays)
        return result

    def without_changes(self, *arrays: Any) -> Any:
        """As a call, for a caller who has no arguments to write into.

        Raises:
          ArgumentsChanged: the program changes some.
        """
        return self._refuse_changes(self(*arrays))

    def refuse_unseen(self, arrays: Sequence[Any]) -> None:
        """Raise `ArgumentsChanged` if a trace has written in place to one of these arrays, as to a value, and it is a NumPy array."""
        names = self.input_names()
        unseen = {k: names[k] for k, array in enumerate(arrays) if k in self.writes and isinstance(array, np.ndarray)}
        changes = Changes.of_arrays(unseen, self.name, first_line(self._function))
        if changes is not None:
            raise ArgumentsChanged(self, changes)

    def admit(self, changes: Changes) -> bool:
        """The caller will write into its arguments what the program changes in these. Whether that is news."""
        with self._lock:
            before, self.changes = self.changes, changes if self.changes is None else self.changes.joined(changes)
            is_news = before is None or not before.cover(changes)
            if is_news:  # JAX calls what a trace has once ended with an exception in its slow way from then on
                self._compile()
            return is_news

    def _refuse_changes(self, results: Any) -> Any:
        if self.changes is not None:
            parts = tree_leaves(results, is_leaf=lambda part: isinstance(part, Changed))
            if any(isinstance(part, Changed) for part in parts):
                raise ArgumentsChanged(self, self.changes)
        return results

    def _guarded(self, step: Callable[[], Any]) -> Any:
        """Run ``step``; what it raises is worded for the user."""
        try:
            return step()
        except Exception as error:
            refuse_leaked(error, self.name)
            cause = cause_of(error)
            if cause is None:
                raise
            raise cause from None

    def composes(self, *arrays: Any) -> bool:
        """Whether what was traced for arrays of these types, perhaps for all sizes at once, may be mapped and differentiated."""
        try:
            return self._guarded(lambda: getattr(self.trace(*arrays), "composes", True))
        except ArgumentsChanged:  # which the call says itself
            return True

    def input_names(self) -> list[str]:
        """What the function calls its arrays."""
        return self._signature.array_labels()

    def _call_with_room(self, arrays: Sequence[Any]) -> Any:
        """As `_call`, once there is room enough for its lists."""
        while True:
            try:
                return self._call(arrays)
            except OutOfRoom as error:
                rooms = Program.rooms.made(self)
                if rooms is None or self._runs_once or not rooms.grow(error):
                    raise

    def _call(self, arrays: Sequence[Any]) -> Any:
        if LOCAL.frame is not None:
            LOCAL.frame.statements.include(self.statements)
            if (around := LOCAL.frame.rooms) is not None:
                with self._lock:
                    around.uses(self.rooms)
        if self._version != self._rooms_version:
            self._renew()
        try:
            result = self._stateless(*arrays) if self._state is None else self._with_values(*arrays)
        except StateNeeded as needed:
            result = self._with_state(needed, arrays, lambda _: self._with_values(*arrays))
        return self.finish(result)

    def _renew(self) -> None:
        """Forget all recordings: some list has more room now."""
        with self._lock:
            version = self._rooms_version
            if self._version == version:  # another thread has been here
                return
            self._recordings = {}
            self._compile()
            self._version = version  # last: other threads go on when they see it

    def _compile(self) -> None:
        """Make the compiled functions anew. The lock is held."""
        self._stateless = self._compiled(self._enter)
        if self._state is not None:
            self._use_state(State(self, self._state.written, self._state.read))

    def direct(self, is_finished: bool) -> Any:
        """What a call comes to, while it is known to have no effects; else None.

        Called by itself it may end with `StateNeeded`.

        Args:
          is_finished: whether what the compiled function returns is what the caller sees, unless it raises.
        """
        if self._waits or (self._raises and self._runs_once):
            return None
        run = self._stateless if self._state is None else self._with_values
        if is_finished and not self._raises:
            return run
        known, call = self._finishing.get(is_finished, (None, None))
        if known is not run:
            self._finishing[is_finished] = run, (call := self._finished(run, is_finished))
        return call

    def _finished(self, run: Callable[..., Any], is_finished: bool) -> Callable[..., Any]:
        """``run``, which raises what the program raised, and returns what the caller sees. It does not hold the program, which holds it."""
        mine = weakref.ref(self)

        def as_a_whole(arrays: Sequence[Any]) -> Any:
            program = mine()
            assert program is not None, "a program was called after its end"
            return program.without_changes(*arrays)

        def call(*arrays: Any) -> Any:
            if LOCAL.frame is not None:  # a trace is around it, which wants more
                return as_a_whole(arrays)
            try:
                result = run(*arrays)
                if type(result) is Guarded:
                    result.check()
                    result = result.result
            except OutOfRoom:  # it has changed nothing, and is compiled with more
                pass
            else:
                return result if is_finished or isinstance(result, jax.Array) else finished(result)
            return as_a_whole(arrays)

        return call

    def finish(self, result: Any) -> Any:
        """What the caller sees of the compiled function's results."""
        if self._waits and staging().is_plain(staging().place()):
            staging().wait(result)
        self._first_call.is_over = True
        return result if isinstance(result, jax.Array) else finished(result)

    def trace(self, *arrays: Any) -> Any:
        """The program for these arrays (or types of arrays), as `jax.stages.Traced`.

        Variables' values are its first inputs.
        """
        with calling_for(LOCAL.callers or ()):
            try:
                traced = self._stateless.trace(*arrays) if self._state is None else self._state.trace(arrays)
            except StateNeeded as needed:
                traced = self._with_state(needed, arrays, lambda state: state.trace(arrays))
            except TracersLeaked as leak:
                raise StagingError(str(leak)) from None
        self._refuse_changes(traced.out_info)
        return traced

    def trace_with_state(self, *arrays: Any) -> tuple[Any, tuple[list[Variable], int] | None]:
        """As `trace`; and, if there is state, the Variables whose values are the first inputs, and how many of them, the
        first, come out again after the results.
        """
        while True:
            traced, state = self.trace(*arrays), self._state
            variables = [] if state is None else state.variables
            if len(traced.jaxpr.in_avals) == len(variables) + len(arrays):
                return traced, None if state is None else (variables, len(state.written))

    def staged(self, arrays: Sequence[Any]) -> tuple[Any, list[Any]]:
        """What is compiled for these arrays (or types of arrays), jitted, and its operands: Variables' values come first."""
        self.trace(*arrays)  # which finds the Variables
        if (state := self._state) is None:
            return self._stateless, list(arrays)
        return state._jitted, [*shared_values_of(state.variables), *arrays]

    # Recording.

    def _compiled(self, entry: Callable[..., Any], values: int = 0, given_away: int = 0) -> Any:
        """``entry`` compiled. Its first operands are so many Variables' values, of which so many may be given away."""

        # JAX keeps the function that it compiled; if that kept the program, only the garbage collector could free both.
        method = weakref.WeakMethod(entry)

        def enter(*operands: Any) -> Any:
            mine = method()
            assert mine is not None, "a program was called after its end"
            return mine(*operands)

        enter.__name__ = enter.__qualname__ = self.name
        if self._options is None:
            return self._compiler.interpret(enter)
        options = dict(self._options)
        donated = (*range(given_away), *(values + number for number in self._donated))
        if donated:
            options["donate_argnums"] = donated
        if isinstance(options.get("in_shardings"), tuple):
            options["in_shardings"] = (None,) * (values + len(self._signature.names)) + options["in_shardings"]
        return self._compiler.compile(enter, options)

    def _enter(self, *arrays: Any) -> Any:
        """What JAX compiles for calls without state."""
        with self._lock:
            if self._state is not None:
                raise StateNeeded
            key, recording = self._recorded(arrays)
            if recording.created or recording.touched:
                raise StateNeeded(key)
            self._forget(key, recording)
        program, stand_ins, before = recording.given({}, arrays)
        outputs, _, error = staging().run(program, arrays, stand_ins, before)
        return with_error(jax.tree_util.tree_unflatten(recording.tree, outputs), error)

    def _recorded(self, arrays: Sequence[Any]) -> tuple[Any, Recording]:
        """The recording for these types under the present settings of JAX, made if there is none, and its key."""
        key = (staging().settings(), *map(type_key, arrays))
        recording = self._recordings.get(key)
        if recording is None:
            recording = self._recordings[key] = self._record(arrays, not self._first_call.is_over)
            self._calls_python = self._calls_python or staging().calls_python(recording.program)
            self._waits = self._waits or recording.has_effects or self._calls_python
            if self._state is not None:
                self._state.waits = self._waits
            self._raises = self._raises or recording.may_raise
        if recording.changes is not None and not (self.changes is not None and self.changes.cover(recording.changes)):
            raise ArgumentsChanged(self, recording.changes)
        return key, recording

    def _forget(self, key: Any, recording: Recording) -> None:
        """Keep no recording that holds values of a trace around it: another trace has others."""
        if recording.is_bound:
            self._recordings.pop(key, None)

    def _record(self, arrays: Sequence[Any], may_create: bool) -> Recording:
        # A frame that the trace has left unfinished counts for nothing.
        return repeated(lambda: self._recorded_in_frame(arrays, may_create), lambda: True, self._function)

    def _recorded_in_frame(self, arrays: Sequence[Any], may_create: bool) -> Recording:
        frame = Frame(self.name, may_create, lambda: self.rooms, self.statements)
        if (rooms := Program.rooms.made(self)) is not None:
            rooms.asked = {}
        structure: list[Any] = []  # not the results, which nothing may hold when their trace ends

        written, names = self._signature.written, self.input_names()
        numpys = self._signature.numpys or frozenset(LOCAL.callers or ())

        def block(*operands: Any) -> Sequence[Any]:
            if LOCAL.repeated is not None:
                LOCAL.repeated.has_numpys |= bool(self._signature.numpys)
                LOCAL.repeated.has_jaxs |= any(np.ndim(each) for k, each in enumerate(operands) if k not in numpys)
            frame.given = [GivenArray(operands[number], number, names[number]) for number in sorted(written)]
            places = {array.number: array for array in frame.given}
            given = [
                places[number] if number in places else self._given(number, operand, numpys)
                for number, operand in enumerate(operands)
            ]
            args, kwargs = self._signature.arguments(given)
            frame.signature, frame.taken = self._signature, self._signature.taken_arrays(given)
            if self._instance is not None:
                args = (self._instance(), *args)
            with following(self, operands, written):
                result = self._function(*args, **kwargs)
            leaves, treedef = jax.tree_util.tree_flatten(result)
            structure[:] = treedef, len(leaves)
            return leaves

        block.__name__ = block.__qualname__ = self.name
        block.__wrapped__ = self._function  # type: ignore[attr-defined] # named by JAX's errors, as the arguments are
        block.__signature__ = self._signature.of_arrays()  # type: ignore[attr-defined]
        program = frame.record(block, arrays)
        treedef, count = structure
        recording = Recording(program, treedef, count, frame)
        self.tells_apart |= frame.tells_apart
        self._runs_once = self._runs_once or recording.has_effects or bool(self._donated)
        if recording.has_effects:
            refuse_to_run_again(staging().sites(program), "the program prints or calls Python")
        elif self._donated:
            refuse_to_run_again(staging().sites(program), "arguments are donated (donate_argnums)")
        return recording

    def _given(self, number: int, array: Any, numpys: Container[int]) -> Any:
        """What a trace has in place of an array that it is given."""
        if not LOCAL.places:
            return array
        kind = np.ndarray if number in numpys else jax.Array
        # What is taken of a place outside is left there, too.
        return as_place(array, kind=kind) if number < len(self._signature.names) else given_as_place(array, kind)

    # State.

    def _with_state(self, needed: StateNeeded, arrays: Sequence[Any], use: Callable[[State], Any]) -> Any:
        """Do what ended with `StateNeeded` again, with the state that it needs."""
        while True:
            with self._lock:
                recording = self._recordings.get(needed.key)
                if recording is not None and recording.created:
                    recording = self._recordings[needed.key] = self._initialised(recording, arrays)
                if self._state is None or recording is not None:
                    self._extend(recording)
                state = self._state
            assert state is not None
            try:
                return use(state)
            except StateNeeded as more:
                needed = more

    def _initialised(self, recording: Recording, arrays: Sequence[Any]) -> Recording:
        """Set the Variables that a recording created to their start values, and record again, now that they exist."""
        again = self._record(arrays, may_create=False)
        starting = [(variable, start) for variable, start in recording.created if start is not None]
        created = {id(variable) for variable, _ in starting}
        values = {id(v): jnp.zeros(v.shape, v.dtype) if id(v) in created else v.value for v, _ in recording.touched}
        needed = range(recording.count, recording.count + len(starting))
        program, stand_ins, before = recording.given(values, arrays)
        starts = staging().run_part(program, arrays, stand_ins, before, needed)
        for (variable, _), start in zip(starting, starts, strict=True):
            variable._initialise(start)
        return again

    def _extend(self, recording: Recording | None) -> None:
        """Make sure that the state covers what a recording touches."""
        state = self._state
        touched = [] if recording is None else recording.touched
        if state is not None and state.covers(touched) and state.may_donate:
            return
        written = {id(v): v for v in (state.written if state is not None else ())}
        every = {id(v): v for v in (state.variables if state is not None else ())}
        for variable, is_written in touched:
            every[id(variable)] = variable
            if is_written:
                written[id(variable)] = variable
        read = [variable for key, variable in every.items() if key not in written]
        self._use_state(State(self, list(written.values()), read))

    def _use_state(self, state: State) -> None:
        self._with_values = state.function(sum(static is None for static in self._signature.statics))
        self._state = state  # last: other threads call that function when they see it


def made_entry(function: Any, signature: CallSignature, fixed: Any) -> Entry:
    """A new entry of a `Function`'s cache. The arguments are as `Function._entry` takes them."""
    if function._converted is None:
        function._converted = function._options.convert(function._function)
    specs = fixed if isinstance(fixed, tuple) else None
    compiler = function._tools.compiler
    if specs is not None:
        compiler = function._tools.symbolic_sizes(compiler, specs, None, warn)
    elif not fixed and function._made_inputs is not None:
        specs = tuple(function._made_inputs.specs)
        compiler = function._tools.symbolic_sizes(compiler, specs, function._made_inputs.admit, warn)
    elif not fixed and function._options.reduce_retracing:
        compiler = function._tools.symbolic_sizes(compiler, None, None, warn)
    entry = Entry(specs)
    entry.program = Program(
        function._traced_function(signature, fixed, entry),
        signature,
        compiler,
        function._instance,
        dict(function._options.compile or {}) if function._options.jit_compile else None,
        function._first_call,
        function._options.donate_variables,
        function._rooms,
        signature.donated(),
    )
    return entry
