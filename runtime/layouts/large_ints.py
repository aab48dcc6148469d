"""Refuse Python ints that do not fit the integer dtypes of a program."""

from __future__ import annotations

import re

import jax.numpy as jnp
import numpy as np

_TEXTS = re.compile(
    r"overflow was encountered while parsing an argument.* with value (-?\d+)"
    r"|Python int(?:eger)? (-?\d+) (?:too large to convert to|out of bounds for) u?int\d+"
)


def fits_integers(value: int) -> bool:
    """Whether an array of JAX's type for Python's ints can hold this."""
    bounds = np.iinfo(jnp.result_type(int))
    return bounds.min <= value <= bounds.max


def too_large_for_arrays(text: str) -> str | None:
    """The number in the text of an `OverflowError` that JAX or NumPy raises of an int too large for an array; None for others.

    >>> too_large_for_arrays("Python int 1099511627776 too large to convert to int32")
    '1099511627776'
    >>> too_large_for_arrays("math range error")
    """
    match = _TEXTS.search(text)
    return match and (match[1] or match[2])
