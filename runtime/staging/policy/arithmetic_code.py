"""Which code is arithmetic, comparisons and reductions alone: running it where it need not run cannot be noticed."""

from __future__ import annotations

import dis
import functools
import types
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from autograph.runtime.code.code_names import OPERATORS

_PLAIN = frozenset(
    [
        *("RESUME", "NOP", "CACHE", "COPY_FREE_VARS", "RETURN_VALUE", "RETURN_CONST"),
        *("LOAD_DEREF", "LOAD_CONST", "LOAD_SMALL_INT", "COMPARE_OP", "BINARY_OP", "UNARY_NEGATIVE", "UNARY_INVERT"),
    ]
)
_CALLS = frozenset(["LOAD_ATTR", "LOAD_METHOD", "PUSH_NULL", "PRECALL", "CALL"])
_REDUCTIONS = frozenset(["all", "any", "sum", "prod", "max", "min", "mean"])
_NUMBERS = (bool, int, float, complex, jax.Array, np.generic)


def is_plain_arithmetic(function: Any, is_small: Callable[[jax.Array], bool]) -> bool:
    """Whether a function without parameters only computes with numbers and arrays that it closes over.

    It may still raise. What it reduces to one number are arrays that are small.
    """
    if type(function) is not types.FunctionType or not _is_plain(function.__code__):
        return False
    reduces = bool(function.__code__.co_names)
    try:
        held = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        values = [cell.cell_contents for name, cell in held if name != OPERATORS]
    except ValueError:  # a variable that is not bound
        return False
    return all(
        isinstance(value, _NUMBERS) and not (reduces and isinstance(value, jax.Array) and not is_small(value))
        for value in values
    )


@functools.lru_cache(maxsize=4096)
def _is_plain(code: types.CodeType) -> bool:
    allowed = _PLAIN
    if code.co_names:
        if not _REDUCTIONS.issuperset(set(code.co_names) - {"call"}):
            return False
        allowed = _PLAIN | _CALLS
    return all(instruction.opname in allowed for instruction in dis.get_instructions(code))
