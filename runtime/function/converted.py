"""The wrapper of a converted function: its metadata, its boundary and its pickled form."""

from __future__ import annotations

import functools
import inspect
import itertools
import types
import weakref
from collections.abc import Callable
from typing import Any

import jax

from autograph.backends.selected import STAGING
from autograph.runtime.code.array_facts import METHODS, NOTHING
from autograph.runtime.code.library_table import is_library
from autograph.runtime.effects.failed_calls import cause_of
from autograph.runtime.effects.outcomes import refuse_large_int
from autograph.runtime.effects.raise_sites import with_constants_numbered
from autograph.runtime.effects.raising import current
from autograph.runtime.effects.staged_raises import in_scope
from autograph.runtime.errors import NoArrayOfKinds, PartOfTrace, StagingError, TracersLeaked, describe_location
from autograph.runtime.function.pickling import Sources, in_file, is_without_file
from autograph.runtime.function.plain_calls import PlainCalls
from autograph.runtime.function.results import first_line, returns_objects
from autograph.runtime.heap.journal import Watch
from autograph.runtime.heap.leaked_tracers import hold, read_globals, refuse_leaks, refuse_writes, take_back_leaks
from autograph.runtime.heap.list_outputs import leave_plain_lists
from autograph.runtime.heap.places import owner_of
from autograph.runtime.layouts.large_ints import too_large_for_arrays
from autograph.runtime.signatures.given_lists import GivenLists
from autograph.runtime.staging.access.numbers import OF_TRACED_NUMBERS
from autograph.runtime.staging.operators import Operators
from autograph.runtime.state.local_arrays import with_places, without_places
from autograph.runtime.tracing.births import OperatorsAsked, TraceAgain
from autograph.runtime.tracing.caller_arrays import will_write
from autograph.runtime.tracing.concretization import (
    is_comparison_of_sizes,
    is_of_operands,
    line_of_operator,
    method_that_takes_out,
    name_arrays,
    refuse_concretization,
    refuse_leaked,
    refuse_open_sizes,
    refuse_unsorted_keys,
    refuse_write_of_flax,
)
from autograph.runtime.tracing.locations import clean_traceback, is_called_by_jax, users_under_jax
from autograph.runtime.tracing.recording import LOCAL, effects_once, hold_arrays, repeated

# What JAX raises where Python's operator asks a traced value for its truth, or for a number: ``pair < other``, ``text * n``.
_OF_OPERATORS = (jax.errors.TracerBoolConversionError, jax.errors.TracerIntegerConversionError)


def boundary(
    made: Operators, f: types.FunctionType, converted: types.FunctionType, watched: bool
) -> types.FunctionType:
    """The converted function as its caller sees it: in place of ``f``, with none of our frames in its errors."""
    if inspect.isgeneratorfunction(f) or inspect.iscoroutinefunction(f) or inspect.isasyncgenfunction(f):
        if converted is not f:
            converted.__wrapped__ = f  # type: ignore[attr-defined]
        return converted

    conversion = Conversion(made, f, converted)
    lasts = made.backend.is_eager()  # it was there before any trace that it runs in, and so is what it closes over
    plain = None if watched else PlainCalls(f, functools.partial(_is_outside, made), _written)

    def call_converted(*args: Any, **kwargs: Any) -> Any:
        try:
            code = None if plain is None else plain.code_for(args, kwargs)
            if code is not None:
                result = f(*args, **kwargs)
                if code.keeps(result):
                    return result
            made.backend.copy_constants()
            if watched and not _is_watched(made):
                return _watched(made, conversion, args, kwargs)
            if _enters_a_transform(made):
                return _transformed(made, conversion, f, lasts, args, kwargs)
            return _scoped(made, conversion, args, kwargs)
        except BaseException as error:
            cause, method = cause_of(error), method_that_takes_out(error)
            clean_traceback(error if cause is None else cause)
            if cause is not None:
                raise cause from None
            refuse_leaked(error, f.__qualname__)  # first: its text names a tracer, as do the texts of the others
            refuse_open_sizes(error, made.converter.is_converted_code)
            refuse_concretization(error, made.converter.is_converted_code, method)
            refuse_unsorted_keys(error, made.converter.is_converted_code)
            refuse_write_of_flax(error, made.converter.is_converted_code)
            name_arrays(error)
            raise

    # Unused by a function of `*args, **kwargs`, and what introspection looks for.
    call_converted.__defaults__, call_converted.__kwdefaults__ = f.__defaults__, f.__kwdefaults__
    functools.update_wrapper(call_converted, f)
    assert isinstance(call_converted, types.FunctionType)
    conversion.wrapper = weakref.ref(call_converted)
    return call_converted


def with_rules_to_come(made: Operators, f: Any) -> types.FunctionType:
    """What `convert` makes of a function of `jax.custom_jvp` or `jax.custom_vjp` that has no rules yet.

    Its ``defjvp``, ``defvjp`` and such are those of ``f``, and each call is of ``f`` with the rules that it has then.
    """

    def call_with_rules(*args: Any, **kwargs: Any) -> Any:
        return made.transformed.of(f)(*args, **kwargs)

    functools.update_wrapper(call_with_rules, f, updated=())
    for name in filter(lambda name: name.startswith("def"), dir(type(f))):
        setattr(call_with_rules, name, getattr(f, name))
    assert isinstance(call_with_rules, types.FunctionType)
    return call_with_rules


def _scoped(made: Operators, conversion: Conversion, args: Any, kwargs: Any) -> Any:
    return in_scope(lambda: _called(made, conversion, args, kwargs), made.raising, conversion.present())


def _called(made: Operators, conversion: Conversion, args: Any, kwargs: Any) -> Any:
    """Call the function as it is converted now.

    Raises:
      OperatorsAsked: a function is to be converted otherwise.
    """
    try:
        result = _recursive(made, conversion.present())(*args, **kwargs)
        _ask_sizes(made)
        return result
    except NotImplementedError as error:
        if "arr.flat" in str(error):  # of a place it can be written
            hold_arrays(error)
        raise
    except (
        TypeError,  # JAX's errors about values
        OverflowError,
        AttributeError,
        jax.errors.InconclusiveDimensionOperation,
    ) as error:
        if isinstance(error, AttributeError) and METHODS.get(error.name or "", NOTHING).first:
            will_write(error.obj)
            hold_arrays(error)
        line = line_of_operator(error, made.converter.is_converted_code) if _is_of_operator(error) else None
        if LOCAL.repeated is None or line is None or not made.converter.ask_operators(*line):
            if isinstance(error, NoArrayOfKinds):
                raise TypeError(str(error)).with_traceback(error.__traceback__) from None
            raise
        raise OperatorsAsked(line, functools.partial(_refused, error)) from None


def _ask_sizes(made: Operators) -> None:
    """Have comparisons traced that depend on a symbolic size.

    Raises:
      OperatorsAsked: there are such in what has been traced.
    """
    if LOCAL.repeated is None:
        return
    for line in STAGING.undecided_sizes():
        if made.converter.is_rewritten(*line) and made.converter.ask_operators(*line):
            raise OperatorsAsked(
                line, functools.partial(StagingError, f"{describe_location(*line)}\n  This depends on the size.")
            )


def _is_of_operator(error: Exception) -> bool:
    """Whether an operator that is asked in the trace may do what Python, or JAX, has raised this of."""
    if isinstance(error, jax.errors.InconclusiveDimensionOperation):
        return is_comparison_of_sizes(error)
    if isinstance(error, OverflowError):
        return too_large_for_arrays(str(error)) is not None
    if isinstance(error, TypeError) and not isinstance(error, _OF_OPERATORS):
        return is_of_operands(error)
    return not isinstance(error, AttributeError) or (
        error.name in OF_TRACED_NUMBERS and isinstance(error.obj, jax.core.Tracer)
    )


def _refused(error: Exception) -> Exception:
    """The error of an operator that cannot be asked in a trace of its own."""
    try:
        refuse_large_int(error)
    except StagingError as refusal:
        return refusal
    return error


def _recursive(made: Operators, converted: types.FunctionType) -> Callable[..., Any]:
    """The function, such that it may call itself under traced conditions if it calls anything."""
    return made.recursion.of(converted, converted) if made.converter.calls(converted) else converted


def _is_watched(made: Operators) -> bool:
    """Whether the function is a part of a trace that is watched already."""
    return made.journal.watch is not None if LOCAL.frame is None else LOCAL.frame.is_watched


def _enters_a_transform(made: Operators) -> bool:
    """Whether a transform of JAX calls the function, and nothing of ours is around it. (Sent functions hold no `LOCAL`.)"""
    return current().scope is None and LOCAL.frame is None and not made.backend.is_eager()


def _is_outside(made: Operators) -> bool:
    """Whether there is no trace, and no converted function under way that may see to what this one does."""
    return current().scope is None and LOCAL.frame is None and made.backend.is_eager()


def _written(function: types.FunctionType) -> Any:
    """The function that `boundary` made this of; else None."""
    is_ours = function.__code__.co_filename == __file__
    return getattr(function, "__wrapped__", None) if is_ours else None


def converted_form(made: Operators, f: types.FunctionType) -> types.FunctionType:
    """What runs in place of a function."""
    if is_library(f) and not is_library(inspect.unwrap(f)):  # `jax.vmap(g)`, say: it is `g` that is the user's
        return calling(made, f)
    converted: types.FunctionType = made.converter.convert(f)
    return converted


def calling(made: Operators, f: Callable[..., Any]) -> types.FunctionType:
    """A function that calls ``f`` as converted code does."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return made.call(f)(*args, **kwargs)

    functools.update_wrapper(call, f)
    assert isinstance(call, types.FunctionType)
    return call


class Conversion:
    """A function and its converted form, which is pickled as the function, and converted again elsewhere.

    Attributes:
      converted: None where it has not been called yet.
      wrapper: what its caller sees.
    """

    def __init__(self, made: Operators, f: types.FunctionType, converted: types.FunctionType | None) -> None:
        self.made, self.f, self.converted = made, f, converted
        self.wrapper: weakref.ref[types.FunctionType] | None = None
        self._version = 0
        self._sources: Sources | None = None

    def present(self) -> types.FunctionType:
        """The converted form, which is another once operators in it are asked."""
        if self.converted is None or self._version != self.made.converter.version:
            return self.make()
        return self.converted

    def make(self) -> types.FunctionType:
        """Convert the function."""
        if self._sources is not None:
            self._sources.name_files(self.f)
            self._sources = None
        self._version = self.made.converter.version
        self.converted = converted_form(self.made, self.f)
        return self.converted

    def __reduce__(self) -> Any:
        wrapper = None if self.wrapper is None else self.wrapper()
        return _conversion, (self.made, self.f, Sources.of(self.f)), wrapper

    def __setstate__(self, wrapper: types.FunctionType) -> None:
        if is_without_file(wrapper):
            wrapper.__code__ = in_file(wrapper.__code__, __file__)
        self.wrapper = weakref.ref(wrapper)


def _conversion(made: Operators, f: types.FunctionType, sources: Sources) -> Conversion:
    """A conversion that has come from another process: of a function that may lack its globals until all has come."""
    sources.keep()
    conversion = Conversion(made, f, None)
    conversion._sources = sources
    return conversion


def _transformed(
    made: Operators, conversion: Conversion, f: types.FunctionType, lasts: bool, args: Any, kwargs: Any
) -> Any:
    """Run the function in a trace of JAX's, in which nothing traced may be left where the function finds it again."""

    def run() -> Any:
        given = GivenLists()  # of each trace that is made: one that is given up may have written to them

        def check(watch: Watch) -> None:
            given.put_back(watch)
            if watch.entries():
                fixed = _fixed(f.__code__, args, kwargs) if is_called_by_jax() else _around()
                refuse_writes(watch, f, fixed, is_of_trace=not lasts)

        if LOCAL.repeated is not None:
            LOCAL.repeated.has_jaxs = True
        try:
            if not LOCAL.places:
                return _run(made, conversion, given.of(args), given.of(kwargs), check)
            args_of_places, named = with_places((args, kwargs))
            return without_places(_run(made, conversion, given.of(args_of_places), given.of(named), check))
        finally:
            given.put_lists_back()

    effects = effects_once()
    return with_constants_numbered(repeated(run, lambda: effects == effects_once(), f))


def _around() -> list[tuple[str, Any]]:
    """What functions that are not converted, and call what runs now, have from outside of the trace in which JAX calls them."""
    frames = users_under_jax()
    found = [each for frame in frames for each in read_globals([frame.f_code], frame.f_globals)]
    for frame in frames[-1:]:
        code, values = frame.f_code, frame.f_locals
        given = [values[name] for name in code.co_varnames[: code.co_argcount] if name in values]
        found += [(name, values[name]) for name in code.co_freevars if name in values]
        found += _fixed(code, given, {})
    return found


def _fixed(code: types.CodeType, args: Any, kwargs: Any) -> list[tuple[str, Any]]:
    """What JAX gives a function and has not made for the trace, as it does pytrees: a method's instance, static arguments."""
    names = code.co_varnames[: code.co_argcount]
    given = [*itertools.zip_longest(names[: len(args)], args, fillvalue="argument"), *kwargs.items()]
    return [(name, value) for name, value in given if jax.tree_util.all_leaves([value])]


def _watched(made: Operators, conversion: Conversion, args: Any, kwargs: Any) -> Any:
    """Run the function in a trace of its own, in which nothing traced may be left on objects that outlive it."""

    if LOCAL.frame is not None:
        LOCAL.frame.is_watched = True  # a function that becomes a part of the trace is seen to by this one

    def check(watch: Watch) -> None:
        if not watch.entries():
            return
        refuse_leaks(watch)
        if LOCAL.frame is not None:
            LOCAL.frame.lines = {
                id(getattr(place, "owner", None)): where for place, _, where in reversed(watch.entries())
            }

    return _run(made, conversion, args, kwargs, check)


def _function_of(called: Any) -> Any:
    return called.__func__ if type(called) is types.MethodType else called


def _hold_instead(error: BaseException) -> None:
    """Have the trace made again with containers of its own in the places of those that ``error`` is about: see `hold`."""
    if isinstance(error, StagingError):
        for owner in error._containers:
            hold(owner, error)


def _run(made: Operators, conversion: Conversion, args: Any, kwargs: Any, check: Callable[[Watch], None]) -> Any:
    """Run the function and ``check`` its writes; if it raises, what they left traced is taken back."""
    is_part = made.journal.watch is not None
    is_inner = LOCAL.called is not None and _function_of(LOCAL.called.python_function) is conversion.f
    with made.journal.watching() as watch:
        try:
            result = _scoped(made, conversion, args, kwargs)
        except (TraceAgain, TracersLeaked):
            watch.roll_back()
            raise
        except BaseException as error:
            try:
                _hold_instead(error)
            except TracersLeaked:
                watch.roll_back()
                raise
            take_back_leaks(watch)
            raise
        if is_inner and returns_objects(result):
            watch.roll_back()
            LOCAL.called.is_part_of_traces = True
            raise PartOfTrace(
                f"{first_line(conversion.f)}\n  {conversion.f.__name__} returns objects, and is to be a part of the trace that calls it."
            )
        check(watch)
        if not is_part and (entries := watch.entries()):
            own = () if LOCAL.frame is None else LOCAL.frame.arguments
            leave_plain_lists(place for place, _, _ in entries if id(owner_of(place)) not in own)
    return result
