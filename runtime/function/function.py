"""`Function`: a Python function with one compiled program per signature."""

from __future__ import annotations

import copy
import dataclasses
import functools
import threading
import types
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, overload

import jax

from autograph.backends.followed import calling_for
from autograph.runtime.code.forwarding import BoundForwarding, Forwarding
from autograph.runtime.errors import ArgumentsChanged, StagingError
from autograph.runtime.explorer.view import View
from autograph.runtime.function import stages
from autograph.runtime.function.array_writes import call_writing
from autograph.runtime.function.cache import Cache, Entry
from autograph.runtime.function.captures import Captures
from autograph.runtime.function.concrete import ConcreteFunction, Traced, concrete_function
from autograph.runtime.function.dispatch import (
    CALLS,
    Dispatcher,
    call_program,
    general_call,
    referred,
    reported,
    through_cache,
)
from autograph.runtime.function.methods import Bound, identity, is_method
from autograph.runtime.function.options import Options as Options
from autograph.runtime.function.options import Tools as Tools
from autograph.runtime.function.outside_writes import refuse_taken, take_up, traced_with, with_taken
from autograph.runtime.function.pickling import Made, reduced_method
from autograph.runtime.function.program import FirstCall, Program, made_entry
from autograph.runtime.function.reads import Reads
from autograph.runtime.function.results import changes_of, outputs_of, returns_objects
from autograph.runtime.heap.list_outputs import CountedList, with_plain_lists
from autograph.runtime.layouts.describe import is_leaf
from autograph.runtime.signatures.callers_arrays import callers_arrays
from autograph.runtime.signatures.changed_arguments import ArgumentParts, Changes
from autograph.runtime.signatures.given_lists import GivenLists
from autograph.runtime.signatures.input_signature import InputSignature, is_signature_of_one
from autograph.runtime.signatures.inputs import has_numpy, keys_of, spec_of, type_of
from autograph.runtime.signatures.outside_places import Taken
from autograph.runtime.signatures.placement import constrained, placed, spread_shardings
from autograph.runtime.signatures.retrace import Trace, TraceLog
from autograph.runtime.signatures.shared_arguments import shared_places, with_shared
from autograph.runtime.signatures.signature import Arguments, CallSignature, as_tree, refuse_specs
from autograph.runtime.signatures.tensor_spec import TensorSpec
from autograph.runtime.state.linked_state import linked
from autograph.runtime.tracing.recording import LOCAL
from autograph.runtime.typing import PyTree

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R", covariant=True)


class Function(Made, Generic[P, R], Forwarding):
    """A Python function that is traced once for each signature and then runs as a compiled XLA program.

    Created by `autograph.function`. The signature of a call consists of the shape, dtype, weak type and sharding of each
    array, the type and value of each Python value, and the identity of each other object, which is held weakly. A
    call with a new signature traces and compiles; a call with a known one runs the compiled program.

    >>> import autograph as ag, jax.numpy as jnp
    >>> @ag.function
    ... def halvings(x):
    ...     n = 0
    ...     while x > 1:
    ...         x = x / 2
    ...         n += 1
    ...     return n
    >>> int(halvings(jnp.array(40.0)))
    6
    >>> halvings.experimental_get_tracing_count()
    1
    """

    if TYPE_CHECKING:

        def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...

    def __init__(
        self,
        python_function: Callable[..., Any],
        tools: Tools,
        options: Options,
        instance: Callable[[], Any] | None = None,
    ) -> None:
        super().__init__(python_function, tools, options)
        self._instance = instance
        self._lock = threading.RLock()
        functools.update_wrapper(self, python_function, updated=())
        self.__name__: str = getattr(python_function, "__name__", None) or _name_of(python_function)
        self.__qualname__: str = getattr(python_function, "__qualname__", None) or self.__name__
        self._arguments = Arguments(python_function, instance is not None, self.__name__, options.arguments)
        self.__signature__ = self._arguments.signature
        self._made_inputs: InputSignature | None = None
        self._reference = weakref.ref(self)  # what a `BoundFunction` shares the state of is this one
        self._general = general_call(self._reference, instance is not None)
        self._bound = Bound(functools.partial(Function[P, R], python_function, tools, options), options.cache_limit)
        self._latest = self._bound.latest
        if options.input_signature is not None:
            self._prepare_signature()
        self.clear_cache()

    def _prepare_signature(self) -> None:
        if self._instance is None and is_method(self._function):
            # Its first argument may be the instance that it is bound to later, which has no spec.
            try:
                self._made_inputs = InputSignature(self._options.input_signature, self._arguments)
            except TypeError:
                InputSignature(self._options.input_signature, Arguments(self._function, True, self.__name__))
        else:
            self._made_inputs = InputSignature(self._options.input_signature, self._arguments)

    @property
    def python_function(self) -> Callable[P, R]:
        """The undecorated Python function; for a method, bound to its instance."""
        return self._function if self._instance is None else types.MethodType(self._function, self._instance())

    @property
    def input_signature(self) -> Sequence[PyTree] | None:
        """The ``input_signature`` option of the function, or None."""
        return self._options.input_signature

    def clear_cache(self) -> None:
        """Drop all traces and compiled programs, including those of all instances.

        The next call may create Variables again.

        >>> import autograph as ag, jax.numpy as jnp
        >>> f = ag.function(lambda x: x + 1)
        >>> _ = f(jnp.array(1))
        >>> f.clear_cache()
        >>> f.experimental_get_tracing_count()
        0
        """
        with self._lock:
            self._first_call = FirstCall()
            self._cache = Cache(
                self.__name__, self._options.cache_limit, weakref.WeakMethod(referred(self._reference)._forget)
            )
            self._concrete: dict[Any, Traced] = {}
            self._changes: Changes | None = None  # what some program changes in its arguments
            self._log = TraceLog(self.__name__, self._options.reduce_retracing)
            self._calls = 0
            self._rooms: dict[tuple[str, str], int] = {}
            self._is_asked = False  # whether a trace belongs to no call
            self._converted: Callable[..., Any] | None = None
            self.is_part_of_traces = False  # and no program of its own in them
            self._captures: Captures | None = None
            self._captured: Any = None
            self._bound.clear()
            self._use_no_blocks(None)

    @overload
    def __get__(self, instance: None, owner: type) -> Function[P, R]: ...

    @overload
    def __get__(
        self: Function[Concatenate[Any, Q], R], instance: Any, owner: type | None = None
    ) -> BoundFunction[Q, R]: ...

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        reference, state = self._latest[0]
        if instance is None:
            return self
        if reference() is not instance:
            state = self._bound.made.get(identity(instance))
            if state is None:
                state = self._bound.get(instance)
        return _bound(state, instance)

    def __setstate__(self, made: Any) -> None:
        super().__setstate__(made)
        self.forward_to(general_call(weakref.ref(self), False))  # a call finds what is missing, and completes it

    def experimental_get_tracing_count(self) -> int:
        """Return how many times the Python function was traced.

        Returns:
          An int.

        >>> import autograph as ag, jax.numpy as jnp
        >>> f = ag.function(lambda x: x + 1)
        >>> _ = f(jnp.array(1)), f(jnp.array(2)), f(jnp.array(2.5))
        >>> f.experimental_get_tracing_count()
        2
        """
        return self._log.count

    def explain_retraces(self) -> str:
        """Return the reason for each trace after the first: which argument changed, and how to avoid that.

        Returns:
          Text with one paragraph for each retrace.

        >>> import autograph as ag
        >>> power = ag.function(lambda x, n: x**n)
        >>> _ = power(jax.numpy.ones(2), 3), power(jax.numpy.ones(2), 4)
        >>> print(power.explain_retraces())
        <lambda> was traced 2 times.
        Trace 2:
          argument 2 `n`: Python int 3 → 4; pass it as an array, `jnp.asarray(n)`
        """
        return self._log.explain()

    def get_concrete_function(self, *args: PyTree, **kwargs: PyTree) -> ConcreteFunction:
        """Return the `ConcreteFunction` for the signature of these arguments, tracing it if necessary.

        Args:
          *args: arrays, or `TensorSpec` or `jax.ShapeDtypeStruct` in their place; Python values. All may be omitted
            if the function has an ``input_signature``.
          **kwargs: keyword arguments, in the same way.

        Returns:
          The same object for the same signature.

        Raises:
          TypeError: an argument does not match the ``input_signature``, or the parameters of the function.

        >>> import autograph as ag, jax.numpy as jnp
        >>> double = ag.function(lambda x: 2 * x)
        >>> concrete = double.get_concrete_function(ag.TensorSpec([None]))
        >>> concrete(jnp.array([1.0, 2.0])).tolist()
        [2.0, 4.0]
        """
        self._look_at_captures()
        with self._lock:
            key, specs, entry = self._look_up(args, kwargs)
            if key not in self._concrete:
                self._concrete[key] = Traced(key[0], specs, entry)
            concrete = self._made_concrete(self._concrete[key])
        self._is_asked = True
        try:
            concrete.graph  # noqa: B018  traces
            entry.program.refuse_unseen(self._given(args, kwargs)[1])
        except BaseException:
            with self._lock:
                self._concrete.pop(key, None)
            raise
        finally:
            self._is_asked = False
        return concrete

    def concrete_functions(self) -> list[ConcreteFunction]:
        """Return the concrete functions created so far.

        Returns:
          A list in the order of their traces; for a loaded function, all that were saved.

        >>> import autograph as ag, jax.numpy as jnp
        >>> f = ag.function(lambda x: x + 1)
        >>> _ = f(jnp.array(1)), f(jnp.array(2.5))
        >>> [str(concrete.inputs[0].dtype) for concrete in f.concrete_functions()]
        ['int32', 'float32']
        """
        for args, kwargs in getattr(self._function, "saved_calls", ()):
            self.get_concrete_function(*args, **kwargs)
        with self._lock:
            return list(map(self._made_concrete, self._concrete.values()))

    lower, trace, eval_shape = stages.lower, stages.trace, stages.eval_shape
    pretty_printed_concrete_signatures = stages.pretty_printed_concrete_signatures
    experimental_get_compiler_ir = stages.experimental_get_compiler_ir

    def _given(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[CallSignature, Sequence[Any]]:
        """The signature of a call, and its arrays or what represents them; specs, where an input signature is all there is."""
        self._look_at_captures()
        with self._lock:
            return self._given_now(args, kwargs)

    def _given_now(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[CallSignature, Sequence[Any]]:
        """As `_given`, while captured values are known to be as they were when last looked at. The lock is held."""
        if self._options.input_signature is None:
            signature, arrays, _ = self._split(self._arguments.canonical(args, kwargs))
        else:
            signature, arrays = self._inputs().call.reading(self._captured), self._inputs().given(args, kwargs)
        if self._looked_at_captures().places is not None:
            refuse_taken(self, signature)
        return signature, arrays

    def __repr__(self) -> str:
        return f"<autograph.Function {self.__qualname__}>"

    # Calls.

    def _call(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """A call that no block of the dispatching function is for."""
        if CALLS.run_eagerly:
            return self.python_function(*args, **kwargs)
        self._calls = self._dispatcher.tick()
        call = self._call_unfitted if self._options.input_signature is None else self._call_fitted
        while True:
            captures = self._look_at_captures()
            try:
                with captures.while_called(captures.places is not None):
                    return call(tuple(args), kwargs)
            except StagingError as error:
                if not take_up(self, error):
                    raise

    def _call_unfitted(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        values = self._arguments.canonical(args, kwargs)
        with self._lock:  # a trace that ends in between finds its program by another signature from then on
            signature, arrays, reads = self._split(values)
            refuse_specs(self.__name__, signature, arrays)
            signature, arrays, taken = self._with_taken(signature, arrays)
            first = self._entry(signature, False)
        is_traced = self._is_traced(arrays)

        def call(entry: Entry) -> Any:
            entry.changed = None if reads is None else reads.changed
            if is_traced and not entry.program.composes(*arrays):
                entry = self._entry(signature, True)
                entry.changed = None if reads is None else reads.changed
            if self._options.in_shardings is not None:
                return call_program(self, lambda: values, entry, self._placed(signature, arrays), arrays, taken)
            if is_traced:
                return call_program(self, lambda: values, entry, arrays, arrays, taken)
            return self._call_and_add(values, entry, arrays, taken)

        return self._call_for(signature, first, values if taken is None else (*values, *taken.leaves), arrays, call)

    def _with_taken(
        self, signature: CallSignature, arrays: Sequence[Any]
    ) -> tuple[CallSignature, Sequence[Any], Taken | None]:
        """As `with_taken`, which most calls have no need of."""
        return with_taken(self, signature, arrays) if self._looked_at_captures().places else (signature, arrays, None)

    def _call_for(
        self, signature: CallSignature, entry: Entry, values: Any, arrays: Sequence[Any], call: Callable[[Entry], Any]
    ) -> Any:
        """Call the program of a signature, ``entry``, or the one that writes into ``arrays``, the caller's own."""
        with self._looked_at_captures().while_called(not entry.program.is_recorded):
            if LOCAL.followed is not None or has_numpy(arrays):
                return call_writing(self, signature, entry, arrays, callers_arrays(values, arrays), call)
            with calling_for(()):
                return call(entry)

    def _split(self, values: tuple[Any, ...]) -> tuple[CallSignature, Sequence[Any], Reads | None]:
        """The signature of a call with these canonical values, its arrays, and what is read of its objects."""
        signature, arrays = self._arguments.split(values, self._captured, find_shared=shared_places)
        reads = self._looked_at_captures().of_arguments(signature)
        return (signature if reads is None else signature.holding(reads.key)), arrays, reads

    def _call_and_add(self, values: tuple[Any, ...], entry: Entry, arrays: Sequence[Any], taken: Taken | None) -> Any:
        """Call a program, and lead the calls like this one to it directly from now on."""
        result = call_program(self, lambda: values, entry, arrays, arrays, taken)
        with self._lock:
            is_noted = LOCAL.frame is not None and entry.program.writes  # by the trace that it is a part of
            if entry.may_have_block and not is_noted:
                self._dispatcher.add(values, entry)
                self._use_blocks()
        return result

    def _changed_in_trace(self, program: Program | None, changes: Changes) -> ArgumentsChanged:
        """The error where no run-time write is possible; converted code makes the call a part of its trace instead."""
        return ArgumentsChanged(program, changes, self.python_function, self._as_part())

    def _as_part(self) -> Callable[..., Any]:
        """The converted function, to be called as a part of a trace."""
        with self._lock:
            if self._converted is None:
                self._converted = self._options.convert(self._function)
            part = self._converted if self._instance is None else types.MethodType(self._converted, self._instance())
        return part if self._options.input_signature is None else self._inputs().around(part)

    def _use_blocks(self) -> None:
        if self._dispatcher.function is not None and CALLS.have_shortcuts:
            function = referred(self._reference)
            function.forward_to(self._dispatcher.function)
            CALLS.use(function)

    def forget_blocks(self) -> None:
        """Leave calls to the cache again, and the first of each kind."""
        with self._lock:
            self._use_no_blocks(self._dispatcher.tick)

    def _use_no_blocks(self, tick: Callable[..., int] | None) -> None:
        self._dispatcher = Dispatcher(
            self._arguments, self._options.input_signature is None, tick, through_cache(self._reference), reported
        )
        if self._captures is not None and not self._captures.is_empty:
            self._dispatcher.check = self._captures.check
        referred(self._reference).forward_to(self._general)

    def _call_fitted(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call under an input signature: arguments are checked and converted first, if they are no arrays
        already.
        """
        inputs = self._inputs()
        arrays: Sequence[Any]
        arrays = own = inputs.arrays(args, kwargs)
        with self._lock:
            signature, arrays, taken = self._with_taken(inputs.call.reading(self._captured), arrays)
            first = self._entry(signature, False)
        is_traced = self._is_traced(arrays)
        values = functools.partial(self._arguments.canonical, args, kwargs)
        given = self._arguments.split(values())[1] if kwargs or not all(isinstance(v, jax.Array) for v in args) else own
        given = given if len(given) == len(own) else own  # of a list that is an array by the signature
        if taken is not None:
            given = [*taken.leaves, *given]

        def call(entry: Entry) -> Any:
            if is_traced and not entry.program.composes(*arrays):
                entry = self._entry(signature, True)
            if self._options.in_shardings is not None:
                return call_program(self, values, entry, self._placed(signature, arrays), given, taken)
            # Arrays that do not fit are found when XLA's cache meets them, so they may go there directly.
            is_direct = self._options.jit_compile and not is_traced and is_signature_of_one(inputs.call)
            if is_direct and len(args) == len(arrays) and all(isinstance(value, jax.Array) for value in args):
                return self._call_and_add(args, entry, arrays, taken)
            return call_program(self, values, entry, arrays, given, taken)

        more = () if taken is None else taken.leaves
        return self._call_for(signature, first, (*values(), *more) if has_numpy(given) else (), given, call)

    def _placed(self, signature: CallSignature, arrays: Sequence[Any]) -> Sequence[Any]:
        """The arrays of a call where ``in_shardings`` wants them."""
        count = len(signature.names)
        own = placed(arrays[count:], spread_shardings(self._options.in_shardings, signature))
        return [*arrays[:count], *own]

    def _inputs(self) -> InputSignature:
        if self._made_inputs is None:
            self._made_inputs = InputSignature(self._options.input_signature, self._arguments)
        return self._made_inputs

    def _is_traced(self, arrays: Sequence[Any]) -> bool:
        """Whether sizes may be open, and another transform is under way, which wants a program like any other."""
        return self._is_open and any(isinstance(array, jax.core.Tracer) for array in arrays)

    @property
    def _is_open(self) -> bool:
        return self._options.reduce_retracing or self._options.input_signature is not None

    # The cache.

    def _entry(self, signature: CallSignature, fixed: Any) -> Entry:
        """The program of a signature. ``fixed``: specs to compile it for ahead of time, or whether symbolic dimensions
        are ignored.
        """
        with self._lock:  # before that of the cache, which drops entries
            return self._cache.get((signature, fixed), self._calls, lambda: made_entry(self, signature, fixed))

    def _forget(self, key: Any) -> None:
        """An entry was dropped: neither blocks nor concrete functions lead to it any more."""
        with self._lock:
            self.forget_blocks()
            self._concrete = {k: concrete for k, concrete in self._concrete.items() if k[0] != key[0]}

    # Traces.

    def _traced_function(self, signature: CallSignature, fixed: Any, entry: Entry) -> Callable[..., Any]:
        """The converted function, with what is to be taken down of each trace.

        It does not hold this function, which holds it: both are to go as soon as nothing else refers to this one.
        """
        converted = self._converted
        assert converted is not None
        captures, arguments, instance = self._looked_at_captures(), self._arguments, self._instance
        name, shardings = self.__name__, self._options.out_shardings
        donated = bool(signature.donated())
        owner, mine = self._reference, weakref.ref(entry)  # the entry holds the program, which holds this

        @functools.wraps(converted, updated=())
        def trace(*args: Any, **kwargs: Any) -> Any:
            values = arguments.canonical(args if instance is None else args[1:], kwargs)
            parts = None
            leaves = [*LOCAL.frame.taken, *jax.tree_util.tree_leaves(as_tree(values))]
            if not all(map(is_leaf, values)):
                values = tuple(map(GivenLists().of, with_shared(values, signature.shared or ())))
                parts = ArgumentParts(values)
                LOCAL.frame.arguments = parts.containers
                spelled, kwargs = arguments.spell(values)
                args = spelled if instance is None else (args[0], *spelled)
            inputs = [leaf for leaf, static in zip(leaves, signature.statics, strict=True) if static is None]
            arrays = tuple(map(type_of, inputs))
            reads = captures.of_arguments(signature)
            traced = Trace(signature, arrays, captures.leaves | ({} if reads is None else reads.leaves))
            objects = [*captures.linked, *([] if reads is None else reads.linked)]
            with captures.during_trace():
                with captures.being_traced(signature), linked(objects):
                    taken = None if captures.places is None or not signature.taken else captures.places.taken(signature)
                    run = functools.partial(converted, *args, **kwargs)
                    result, left = (run(), {}) if taken is None else traced_with(taken, captures.variables(), run)
                    captures.leave_out_run_time()
                    entry, function = mine(), owner()
                    assert entry is not None
                    if function is not None:
                        traced = dataclasses.replace(traced, rooms=dict(entry.program.rooms_asked))
                        function._log.add(traced, None if function._is_asked else entry.used)  # only a trace that ends
                        function._dispatcher.tick(0)
                        function.is_part_of_traces |= returns_objects(result)
                    changes = changes_of(parts, arguments.names(len(values)), name, converted, taken, left)
                    if changes is None:
                        result = result if is_leaf(result) else with_plain_lists(result, CountedList.of)
                        entry.traced(result)
                    if shardings is not None and changes is not None:
                        raise ArgumentsChanged(None, changes)  # which shardings of the results do not describe
                    if shardings is not None:
                        result = constrained(result, shardings)
                    result = outputs_of(result, name, converted, parts, changes, donated, taken, left)
                    if changes is not None:
                        entry.traced(result)
                if function is not None:
                    function._note(signature, fixed, arrays, entry, changes)
            return result

        trace.__name__ = name
        return trace

    def _note(
        self, signature: CallSignature, fixed: Any, arrays: tuple[Any, ...], entry: Entry, changes: Changes | None
    ) -> None:
        """A trace has succeeded: there is a concrete function of it, unless it changes its arguments, and what it changed
        among captured values is settled.
        """
        with self._lock:
            captures = self._looked_at_captures()
            if captures.key != self._captured or captures.changed() or (entry.changed is not None and entry.changed()):
                # What the trace changed it would change again, were it as it was before: that is no call of this program.
                self._captured = captures.refresh()
                self.forget_blocks()  # they are guarded by what was there before
            if LOCAL.frame.tells_apart:
                self.forget_blocks()  # which do not see what of their arguments is one
            settled = signature.reading(self._captured)
            reads = captures.of_arguments(settled)
            entry.changed = None if reads is None else reads.changed
            settled = settled.holding(() if reads is None else reads.key)
            found_by = entry.key[0]
            if settled != found_by:
                self._cache.move(entry, (settled, fixed))
                self._concrete = {(settled if k[0] == found_by else k[0], k[1]): c for k, c in self._concrete.items()}
            self._changes = self._changes or changes
            if entry.program.writes or entry.program.tells_numpys:
                self.forget_blocks()  # some may lead callers here who are to see the writes
            if changes is None and not signature.taken and (not isinstance(fixed, bool) or not fixed):
                inputs = entry.specs if entry.specs is not None else arrays
                self._concrete.setdefault((settled, keys_of(inputs)), Traced(settled, inputs, entry))

    def _look_at_captures(self) -> Captures:
        """See whether captured Python values have changed; programs are distinguished by them."""
        captures = self._looked_at_captures()
        if captures.changed():
            with captures.between_traces(), self._lock:  # a trace may be what changes them, and says so when it ends
                before = self._captured
                self._captured = captures.refresh()
                if before != self._captured:
                    self.forget_blocks()
        with self._lock:
            self._dispatcher.guard(None if captures.is_empty else captures.check)
            if referred(self._reference).func is not self._general:
                self._use_blocks()
        return captures

    def _looked_at_captures(self) -> Captures:
        with self._lock:
            if self._captures is None:
                self._captures = Captures(self._function, self._instance)
                self._captured = self._captures.key
            return self._captures

    # Concrete functions.

    def _look_up(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, tuple[TensorSpec, ...], Entry]:
        """What tells a concrete function apart, its inputs' specs, and the program. The lock is held."""
        signature, arrays = self._given_now(args, kwargs)
        if self._options.input_signature is not None:
            specs = tuple(self._inputs().specs)
            return (signature, keys_of(specs)), specs, self._entry(signature, False)
        specs = tuple(spec_of(array) for array in arrays)
        is_open = any(not spec.is_fixed for spec in specs)
        entry = self._entry(signature, specs if is_open else False)
        return (signature, keys_of(specs)), specs, entry

    def _made_concrete(self, traced: Traced) -> ConcreteFunction:
        """The concrete function of a trace. The lock is held."""
        if traced.concrete is None:
            log, entry = self._log, traced.entry  # and not `traced`, which holds the function
            listings = functools.partial(self._tools.listings, self._function)
            view = View(lambda: entry.program.statements, lambda: log.count, log.retraces, listings)
            traced.concrete = concrete_function(self.__name__, traced, self._tools, view, self._options.implements)
        return traced.concrete


class BoundFunction(BoundForwarding, Function[P, R]):
    """A `Function` bound to an instance, as attribute lookup returns it.

    The instance's `Function`, whose state it shares, does not keep the instance alive. A `BoundFunction` does, as a bound
    method does.
    """

    __slots__ = ()

    def __copy__(self) -> BoundFunction[P, R]:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        find, arguments = self.__reduce_ex__(4)
        return find(*(copy.deepcopy(each, memo) if each is self.instance else each for each in arguments))

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return reduced_method(Function(self._function, self._tools, self._options), self.instance)


_bound: Any = BoundFunction


def _name_of(function: Any) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    return getattr(function, "__name__", None) or type(function).__name__
