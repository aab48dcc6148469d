"""Errors for unconverted code that asks a tracer for its value."""

from __future__ import annotations

import inspect
import re
import traceback
import types
from collections.abc import Callable

import jax
import numpy as np

from autograph.runtime.errors import NoArrayHoldsIt, NoArrayOfKinds, StagingError, describe_location
from autograph.runtime.tracing.locations import (
    code_that_raised,
    is_internal,
    is_of_jax,
    is_of_library,
    user_code,
    user_position,
)

_ASKED_FOR_VALUE = (
    jax.errors.ConcretizationTypeError,
    jax.errors.TracerArrayConversionError,
    jax.errors.TracerIntegerConversionError,
    jax.errors.NonConcreteBooleanIndexError,
)
# What an operator of a choice of constants raises, too, which does it with each.
_OF_CHOICES = (NoArrayHoldsIt, NoArrayOfKinds, jax.errors.TracerIntegerConversionError)
_TRACER_CLASS = re.compile(r"(\w+\.)*\w*Tracer\b")
# The class of a container made in a trace: Python's name of it is the rest of this one.
_TRACED_CONTAINER = re.compile(r"(?:\b\w+\.)*\bTraced(List|Tuple|Set|Dict)\b")
_NO_ATTRIBUTE = re.compile(rf"^{_TRACER_CLASS.pattern} has no attribute (\w+)")
_TRACER = re.compile(r"Tracer\b|\bTracedText\b|\bOneOf\b")  # a class that represents values, in a text
# Operands that no number goes with, in what Python says of an operator; but a list or a text may be repeated.
_NO_NUMBER = "'(?:dict|set|frozenset|NoneType|function)'"
_SEQUENCE = "'(?:list|tuple|str|bytes)'"
_OTHER_OPERAND = re.compile(
    rf"can only concatenate|(?:unsupported operand type|not supported between instances).*{_NO_NUMBER}"
    rf"|(?:unsupported operand type\(s\) for (?!\*)|not supported between instances).*{_SEQUENCE}"
)
_REPEATED_TUPLE = re.compile(r"for \*=?: (?:'tuple' and '\w*Tracer'|'\w*Tracer' and 'tuple')")
_OF_TRACERS = (int, float, complex, np.ndarray, jax.Array)  # what a tracer may be outside of the trace
_OF_ORDER = frozenset(["__lt__", "__le__", "__gt__", "__ge__"])
_MADE = re.compile(r"created on line:?\s+(\S+?):(\d+)")  # in JAX's text, which need not have it


def refuse_leaked(error: BaseException, name: str) -> None:
    """Say of JAX's error about a leaked tracer where the function of this name uses it, and how it got there.

    Raises:
      StagingError: it is such an error.
    """
    if not isinstance(error, jax.errors.UnexpectedTracerError):
        return
    position = user_position(error.__traceback__)
    where = describe_location(*position[:2]) if position is not None else f"The result of {name!r}"
    made = _MADE.search(str(error))
    origin = f"\n    made at {describe_location(made[1], int(made[2]))}" if made else ""
    raise StagingError(
        f"{where}\n  A leaked tracer is used here: a function that JAX traced by itself (for jax.vmap, jax.grad, "
        "lax.scan …), or a staged loop, left it in a variable, a list, an object or a closure. It has "
        f"no meaning outside.{origin}\n"
        "  Let that function return it, or let the loop assign it to a variable of its own function."
    ) from error


def refuse_write_of_flax(error: BaseException, is_converted: Callable[[types.CodeType], bool]) -> None:
    """Say of flax's error about a write at another trace level which line it is at, and what carries it.

    Raises:
      StagingError: it is such an error.
    """
    if (type(error).__module__, type(error).__name__) != ("flax.errors", "TraceContextError"):
        return
    where = _last_line(error, is_converted) or "An object of flax.nnx"
    raise StagingError(
        f"{where}\n  A variable of flax.nnx is written at another trace level than that of its model, for example in a staged branch or "
        "loop of a function under nnx.jit, which does not carry it.\n  Use autograph.function(f) instead of "
        "nnx.jit(autograph.convert(f)): it carries the state of models through staged statements."
    ) from error


def refuse_unsorted_keys(error: BaseException, is_converted: Callable[[types.CodeType], bool]) -> None:
    """Say of JAX's error about a dict whose keys cannot be sorted which line it is at.

    Raises:
      StagingError: it is such an error.
    """
    if not _is_of_unsorted_keys(error):
        return
    where = _last_line(error, is_converted) or "The result of a converted function"
    raise StagingError(
        f"{where}\n  A dict has keys of different types, and JAX, which sorts the keys of dicts that leave a program or are handed to "
        "its functions, cannot order them.\n  Use keys of one type, or return its values."
    ) from error


def line_of_operator(error: BaseException, is_converted: Callable[[types.CodeType], bool]) -> tuple[str, int] | None:
    """The line of converted code with the operator of Python's that raised this; None if something else did."""
    line: tuple[str, int] | None = None
    for frame, number in traceback.walk_tb(error.__traceback__):
        name = frame.f_code.co_filename
        if is_converted(frame.f_code):
            line = name, number
        elif is_internal(name):
            line = line if isinstance(error, _OF_CHOICES) else None
        elif not (is_of_jax(name) or is_of_library(name)):
            line = None
    return line


def is_comparison_of_sizes(error: jax.errors.InconclusiveDimensionOperation) -> bool:
    """Whether the user's own ``<``, ``<=``, ``>`` or ``>=`` asked how a symbolic size compares."""
    codes = [frame.f_code for frame, _ in traceback.walk_tb(error.__traceback__)]
    asking = next((k for k, code in enumerate(codes) if code.co_name in _OF_ORDER and is_of_jax(code.co_filename)), 0)
    return (
        asking > 0 and not is_of_jax(codes[asking - 1].co_filename) and not is_internal(codes[asking - 1].co_filename)
    )


def is_of_operands(error: TypeError) -> bool:
    """Whether an operator was given a tuple and a tracer to repeat it by, or a number and what may be none."""
    return isinstance(error, NoArrayOfKinds) or _REPEATED_TUPLE.search(_said(error)) is not None


def _last_line(error: BaseException, is_converted: Callable[[types.CodeType], bool]) -> str | None:
    """The innermost line of converted code that an error has passed; None if there is none."""
    lines = [
        (frame.f_code.co_filename, line)
        for frame, line in traceback.walk_tb(error.__traceback__)
        if is_converted(frame.f_code)
    ]
    return describe_location(*lines[-1]) if lines else None


def _is_of_unsorted_keys(error: BaseException) -> bool:
    return isinstance(error, ValueError) and "while sorting pytree dictionary keys" in _said(error)


def _said(error: BaseException) -> str:
    """What an error of Python's or JAX's says; nothing of one of the program's that holds what only the run knows."""
    return error.args[0] if error.args and type(error.args[0]) is str else ""


def _is_of_value(error: BaseException) -> bool:
    """Whether this is JAX's error about a traced value, or what NumPy makes of it where the value is written to an array."""
    is_of_numpy = type(error) is ValueError and isinstance(error.__cause__, _ASKED_FOR_VALUE)
    return is_of_numpy or isinstance(error, _ASKED_FOR_VALUE)


def asks_for_value(error: BaseException) -> bool:
    """Whether this says that code asked a traced value for its value, or that JAX cannot take a dict: no exception of the
    program's."""
    if _is_of_value(error) or _is_of_unsorted_keys(error):
        return True
    return isinstance(error, TypeError) and _is_about_a_tracer(error) and not _is_of_operands(error)


def refuse_open_sizes(error: BaseException, is_converted: Callable[[types.CodeType], bool]) -> None:
    """Say of an error about a symbolic size that had to be a number which line of the user's it is at, and what to do.

    Raises:
      StagingError: it is such an error.
    """
    if not isinstance(error, jax.errors.InconclusiveDimensionOperation):
        return
    position = user_position(
        error.__traceback__, lambda code: is_converted(code) or not is_of_library(code.co_filename)
    )
    where = describe_location(*position[:2]) if position is not None else "an unknown line"
    raise StagingError(
        f"{where}\n  This depends on the size of an array, which is symbolic here: {str(error).strip().splitlines()[0]}\n"
        "  Use operations that hold for every size, or trace for each: give the specification a size, or none."
    ) from None


def refuse_concretization(
    error: BaseException, is_converted: Callable[[types.CodeType], bool], method: str | None
) -> None:
    """Say of an error about a traced value that had to be a Python value which line of the user's it is at, and what to do.

    Args:
      method: `method_that_takes_out`, asked before the traceback was cleaned.

    Raises:
      StagingError: it is such an error: one of JAX's, or of Python's own about a tracer.
    """
    is_of_jax = _is_of_value(error)
    if not is_of_jax and (not _is_about_a_tracer(error) or _is_of_operands(error)):
        return
    code = user_code(error.__traceback__)
    position = user_position(
        error.__traceback__, lambda code: is_converted(code) or not is_of_library(code.co_filename)
    )
    where = describe_location(*position[:2]) if position is not None else "an unknown line"
    unconverted = None if code is None or is_converted(code) else code
    if isinstance(error, jax.errors.NonConcreteBooleanIndexError):
        said = (
            "The number of elements that this mask selects is known only at run time, and XLA "
            "needs the shape of every array at trace time.\n  Keep all elements, and use the mask: jnp.sum(x, "
            "where=mask), x = jnp.where(mask, new, x); "
            "or select a fixed number: x[jnp.nonzero(mask, size=…)]."
        )
    elif is_of_jax and method is not None:
        converted = "" if method == "numpy" else " In converted code it returns traced numbers."
        said = (
            f"`{method}()` needs the value of a traced array, which is known only at run time.\n  Omit the call: operators, "
            f"`if` and loops accept the array itself.{converted}"
        )
    elif is_of_jax and unconverted is not None and is_of_library(unconverted.co_filename):
        said = (
            "This library function needs the value of a traced array, which is known only at run time.\n  Pass a Python "
            "number (each value is then traced separately), use the function of jax.numpy that accepts arrays, or call it through "
            "autograph.py_function."
        )
    elif is_of_jax and unconverted is not None and unconverted.co_flags & inspect.CO_GENERATOR:
        said = (
            f"Python advances {unconverted.co_qualname} step by step here, and how far it comes is known only at run time.\n  Give a "
            "list of what it yields, list(x)."
        )
    elif is_of_jax and unconverted is not None:
        said = (
            f"{unconverted.co_qualname} was not converted: Python calls it implicitly (for an operator, an "
            "attribute, a protocol), a library calls it, or autograph.do_not_convert says so.\n  Decorate it with autograph.convert "
            "instead of do_not_convert; call it by name from converted code; define its class in the module of the function that "
            "uses it, before that function; or use jnp.where instead of branching."
        )
    elif "unhashable" in str(error):
        said = (
            "A traced value is used as a key of a dict, an element of a frozenset or an argument of a cache, but its value is known "
            "only at run time.\n  Instead of a dict, use an array or a list with the value as index, or compare the value with each "
            "of the keys (if/elif, match); instead of a frozenset, use a set."
        )
    elif isinstance(error, AttributeError):
        said = (
            f"{error.name!r} is a method of Python's numbers, and this is a traced array, which has no such method.\n  Use the function of "
            "jax.numpy or jax.lax that computes it, or pass the value as a Python number (each value is then traced separately)."
        )
    else:
        said = (
            "The value of a traced array is needed here, where nothing can be staged: for a size, a key, or in code that is "
            "not converted.\n  Pass the value as a Python number (each value is then traced separately), use the function of "
            "jax.numpy that accepts arrays, or call this through autograph.py_function."
        )
    raise StagingError(f"{where}\n  {said}") from error


def of_arrays(error: BaseException) -> str | None:
    """What Python says of a traced value that lacks an attribute or an operation, in terms of arrays; None of other errors."""
    if not isinstance(error, TypeError | AttributeError) or isinstance(error, StagingError) or len(error.args) != 1:
        return None
    text = str(error)
    said = _TRACER_CLASS.sub("jax.Array", _NO_ATTRIBUTE.sub(r"'jax.Array' object has no attribute '\2'", text))
    said = _of_containers(said)
    return said if said != text else None


def is_of_dimensions(error: BaseException) -> bool:
    """Whether JAX says of an array what Python and NumPy say of numbers and arrays: that it is no sequence, or has fewer dimensions."""
    if isinstance(error, IndexError):
        return str(error).startswith("Too many indices: ")
    return isinstance(error, TypeError) and str(error) in ("iteration over a 0-d array", "len() of unsized object")


def lacks_attribute(error: BaseException) -> bool:
    """Whether the ``__getattr__`` of an array or a module says that it lacks an attribute, as outside of a trace.

    Not of a traced value, which may be a number or an array of NumPy's there, where one of these has it.
    """
    if not isinstance(error, AttributeError) or "getattr" not in code_that_raised(error.__traceback__):
        return False
    return error.name is not None and not (
        isinstance(error.obj, jax.core.Tracer) and any(hasattr(kind, error.name) for kind in _OF_TRACERS)
    )


def name_arrays(error: BaseException) -> None:
    """Let Python's error about a traced value speak of an array, as it does outside of a trace."""
    said = of_arrays(error)
    if said is not None:
        error.args = (said,)
        error.__cause__, error.__suppress_context__ = None, True


def method_that_takes_out(error: BaseException) -> str | None:
    """The name of the method of arrays that was asked for the value as a Python number or list, if one was."""
    calls = [frame.f_code for frame, _ in traceback.walk_tb(error.__traceback__)][-3:]
    names = {"_item": "item", "item": "item", "tolist": "tolist", "numpy": "numpy"}
    return next((names[code.co_name] for code in calls if code.co_name in names), None)


def _is_of_operands(error: BaseException) -> bool:
    """Whether an operator was given what it does not take beside any number: ``x + [1]``, ``None < x``."""
    return isinstance(error, TypeError) and _OTHER_OPERAND.search(_of_containers(_said(error))) is not None


def _of_containers(text: str) -> str:
    """What Python says of the containers of a trace, in terms of its own."""
    return _TRACED_CONTAINER.sub(lambda found: found[1].lower(), text)


def _is_about_a_tracer(error: BaseException) -> bool:
    """Whether Python, or a library, says of a tracer that it is no value that it can use."""
    if isinstance(error, AttributeError):
        is_of_others = any(hasattr(kind, error.name or "") for kind in (int, float, complex))
        return is_of_others and isinstance(error.obj, jax.core.Tracer)
    if isinstance(error, StagingError) or not isinstance(error, TypeError | ValueError | NotImplementedError):
        return False
    return _TRACER.search(_said(error)) is not None
