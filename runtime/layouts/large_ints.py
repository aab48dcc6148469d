"""Tell which Python numbers fit the dtypes of a program."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, NoReturn

import jax.numpy as jnp

from autograph.backends.base import LeafType
from autograph.runtime.errors import NoArrayHoldsIt, TooLargeIntError

_TEXTS = re.compile(
    r"overflow was encountered while parsing an argument.* with value (-?\d+)"
    r"|Python int(?:eger)? (-?\d+) (?:too large to convert to|out of bounds for) u?int\d+"
)


def fits_integers(value: int) -> bool:
    """Whether an array of JAX's type for Python's ints can hold this."""
    return holds_number(jnp.result_type(int), value)


def must_fit(value: int) -> NoReturn:
    """Raise the error of an int that no array holds.

    Raises:
      NoArrayHoldsIt: always.
    """
    raise NoArrayHoldsIt(f"Python int {value} too large to convert to {jnp.result_type(int).name}")


def too_large_for_arrays(text: str) -> str | None:
    """The number in the text of an `OverflowError` that JAX or NumPy raises of an int too large for an array; None for others.

    >>> too_large_for_arrays("Python int 1099511627776 too large to convert to int32")
    '1099511627776'
    >>> too_large_for_arrays("math range error")
    """
    match = _TEXTS.search(text)
    return match and (match[1] or match[2])


def too_large(where: str, number: Any) -> TooLargeIntError:
    """The refusal of an int that no array holds, where a traced value meets it."""
    return TooLargeIntError(
        f"{where}\n  The Python int {number} meets a traced value here, and does not fit {jnp.result_type(int)}, the type of JAX's "
        f"integers.\n  Write it as a float ({number}.0), keep it apart from traced values, or let JAX have 64 bits (jax_enable_x64)."
    )


def holds_number(dtype: Any, value: Any) -> bool:
    """Whether an array of this dtype can hold a Python number, to its precision.

    >>> holds_number(jnp.int8, 1000), holds_number(jnp.int32, 1000), holds_number(jnp.float16, 1e6)
    (False, True, False)
    """
    if type(value) is int and jnp.issubdtype(dtype, jnp.integer):
        bounds = jnp.iinfo(dtype)  # type: ignore[no-untyped-call]
        return int(bounds.min) <= value <= int(bounds.max)
    if type(value) in (int, float) and jnp.issubdtype(dtype, jnp.floating):
        return not math.isfinite(value) or abs(value) <= float(jnp.finfo(dtype).max)  # type: ignore[no-untyped-call]
    return True


def holding(
    numbers: Iterable[Any],
    joined: LeafType,
    types: Iterable[Any],
    join: Callable[[LeafType, LeafType], LeafType | None],
) -> LeafType | None:
    """A type that two values have in common, which holds the numbers that they may be: a weak type would take the other's dtype."""
    if all(holds_number(joined.dtype, number) for number in numbers):
        return joined
    return join(*(replace(type, weak_type=False) for type in types))
