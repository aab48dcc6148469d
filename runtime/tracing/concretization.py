"""Errors for unconverted code that asks a tracer for its value."""

from __future__ import annotations

import re
import traceback
import types
from collections.abc import Callable

import jax

from autograph.runtime.errors import StagingError, describe_location
from autograph.runtime.tracing.locations import user_code, user_position

_ASKED_FOR_VALUE = (
    jax.errors.ConcretizationTypeError,
    jax.errors.TracerArrayConversionError,
    jax.errors.TracerIntegerConversionError,
    jax.errors.NonConcreteBooleanIndexError,
)
_MARK = "autograph: "
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
    lines = [
        (frame.f_code.co_filename, line)
        for frame, line in traceback.walk_tb(error.__traceback__)
        if is_converted(frame.f_code)
    ]
    where = describe_location(*lines[-1]) if lines else "An object of flax.nnx"
    raise StagingError(
        f"{where}\n  A variable of flax.nnx is written here at another level of tracing than that of its model: in a staged branch or "
        "loop of a function under nnx.jit, say, which does not carry it.\n  Use autograph.function(f) in the place of "
        "nnx.jit(autograph.convert(f)): models are state of it, in all that it stages."
    ) from error


def explain_concretization(error: BaseException, is_converted: Callable[[types.CodeType], bool]) -> None:
    """Add to JAX's error about a traced value that had to be concrete a note: the user's line, and the way out."""
    if not isinstance(error, _ASKED_FOR_VALUE) or any(n.startswith(_MARK) for n in getattr(error, "__notes__", ())):
        return
    position = user_position(error.__traceback__)
    where = describe_location(*position[:2]) if position is not None else "an unknown line"
    if isinstance(error, jax.errors.NonConcreteBooleanIndexError):
        error.add_note(
            f"{_MARK}{where}\n  How many elements this mask takes is only known when the program runs, and XLA "
            "needs the shape of every array while tracing.\n  Keep all elements, and choose: jnp.sum(x, "
            "where=mask), x = jnp.where(mask, new, x); "
            "or take a fixed number: x[jnp.nonzero(mask, size=…)]."
        )
        return
    code = user_code(error.__traceback__)
    if code is not None and not is_converted(code):
        error.add_note(
            f"{_MARK}{where}\n  {code.co_qualname} runs as it is written, unconverted: Python calls it by itself (for an operator, an "
            "attribute, a protocol), or a library does.\n  Call it by its name from converted code, or define its class in the module "
            "of the function that uses it, and before that function; decorate it with autograph.convert; or choose with jnp.where "
            "instead of branching."
        )
        return
    error.add_note(
        f"{_MARK}{where}\n  The value of a traced array is needed here, by something that is no statement or expression that can be "
        "staged: a size, a key, or code that is not converted.\n  Pass the value as a Python number (each then has a program of its "
        "own), use the function of jax.numpy that takes arrays, or call this through autograph.py_function."
    )
