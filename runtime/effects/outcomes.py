"""What tracing a block has raised: what Python raises where the block runs, or what says that it cannot be staged."""

from __future__ import annotations

import re
import types

from autograph.runtime.containers.keyed_lists import NoKeyError
from autograph.runtime.containers.searched_lists import EmptyListError, NoItemError
from autograph.runtime.effects.absences import ABSENCES, is_unbound
from autograph.runtime.effects.raise_sites import has_text
from autograph.runtime.errors import StagingError, describe_location
from autograph.runtime.layouts.large_ints import too_large, too_large_for_arrays
from autograph.runtime.tracing.concretization import asks_for_value, is_of_dimensions, lacks_attribute
from autograph.runtime.tracing.locations import (
    is_call,
    is_internal,
    is_of_jax,
    is_of_package,
    is_operator,
    raised_in,
    user_position,
)

ABSENT_WHILE_TRACING = (EmptyListError, NoKeyError, NoItemError)  # each the Python error that is its base
_PYTHONS = (*ABSENCES, ArithmeticError, TypeError, ValueError, StopIteration)
_STAGING_PACKAGES = ("autograph", "jax", "jaxlib")
# What Python says of any number, traced or not, beside a text, say.
_OPERANDS = re.compile(r"unsupported operand type|'.{1,2}' not supported between instances|can only concatenate")
_STAND_INS = re.compile(r"Tracer\b|Staged(Range|Items)|(Traced|Counted)List")


def is_outcome(error: BaseException) -> bool:
    """Whether tracing a block has raised what Python raises where that block runs, and only there.

    Not what is raised because values are traced, by us, JAX, or a package that does not know them.
    """
    if isinstance(error, ABSENT_WHILE_TRACING):
        return True
    if not isinstance(error, Exception | SystemExit):  # Ctrl-C, and what is ours
        return False
    if type(error).__module__.partition(".")[0] in _STAGING_PACKAGES or isinstance(error, RecursionError | MemoryError):
        return False
    filename = raised_in(error.__traceback__)
    if is_internal(filename):
        if not is_call(filename) and not (is_operator(filename) and isinstance(error, _PYTHONS)):
            return False
    elif is_of_jax(filename) or is_of_package(filename):
        return is_of_dimensions(error) or lacks_attribute(error)
    if isinstance(type(error).__str__, types.FunctionType):  # no text of Python's
        return True
    text = "" if has_text(error.args) else str(error)
    if isinstance(error, OverflowError) and too_large_for_arrays(text) is not None:
        return False
    return _STAND_INS.search(text) is None or _OPERANDS.match(text) is not None


def refuse_large_int(error: Exception) -> None:
    """Say which Python int an array cannot hold, if the error is of that, and where.

    Raises:
      StagingError: it is.
    """
    number = too_large_for_arrays(str(error))
    if number is None:
        return
    position = user_position(error.__traceback__)
    where = "A result" if position is None else describe_location(*position[:2])
    raise too_large(where, number) from error


def python_class(error: BaseException) -> type[BaseException]:
    """The class of an exception as Python raises it."""
    if isinstance(error, ABSENT_WHILE_TRACING):
        return next(kind for kind in (IndexError, KeyError, ValueError) if isinstance(error, kind))
    return type(error)


def is_pythons(error: BaseException) -> bool:
    """Whether Python itself raised this, of what is known while tracing."""
    if type(error).__module__ != "builtins" or asks_for_value(error):
        return False
    return not is_of_jax(raised_in(error.__traceback__))


def place_of(error: BaseException) -> str:
    """The line of the user's that an exception comes from, for a message."""
    where = user_position(error.__traceback__)
    return f"{where[0]}:{where[1]}" if where else "A staged statement"


def caught_while_tracing(error: BaseException) -> StagingError:
    """What to raise at the end of a call in which a handler took ``error`` for one of the program's own."""
    if isinstance(error, StagingError):
        return error
    return StagingError(
        f"{place_of(error)}\n  {python_class(error).__name__} is raised here while a block of a staged statement is traced, inside a `try` "
        f"with handlers: whether this runs, and so which handler does, is known only at run time.\n    {error}\n"
        "  Move the `try` into the block, or out of the traced function."
    )


def absent_in_bare_jit(error: BaseException) -> StagingError:
    """What to raise where something is absent on a path, and no program can raise that."""
    remedy = "Give the variable a value before, or call" if is_unbound(error) else "Call"
    return StagingError(
        f"{place_of(error)}\n  {python_class(error).__name__}: {error}. Whether this is reached depends on a traced condition, and a bare "
        f"jax.jit around converted code cannot raise exceptions.\n  {remedy} the function through autograph.function."
    )
