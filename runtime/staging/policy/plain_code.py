"""Which code is arithmetic and comparisons alone: running it where it need not run cannot be noticed."""

from __future__ import annotations

import dis
import functools
import types
from typing import Any

import jax
import numpy as np

_PLAIN = frozenset(
    [
        *("RESUME", "NOP", "CACHE", "COPY_FREE_VARS", "RETURN_VALUE", "RETURN_CONST"),
        *("LOAD_DEREF", "LOAD_CONST", "LOAD_SMALL_INT", "COMPARE_OP", "BINARY_OP", "UNARY_NEGATIVE", "UNARY_INVERT"),
    ]
)
_NUMBERS = (bool, int, float, complex, jax.Array, np.generic)


def is_plain_arithmetic(function: Any) -> bool:
    """Whether a function without parameters only computes with numbers and arrays that it closes over.

    It may still raise.
    """
    if type(function) is not types.FunctionType or not _is_plain(function.__code__):
        return False
    try:
        return all(isinstance(cell.cell_contents, _NUMBERS) for cell in function.__closure__ or ())
    except ValueError:  # a variable that is not bound
        return False


@functools.lru_cache(maxsize=4096)
def _is_plain(code: types.CodeType) -> bool:
    return all(instruction.opname in _PLAIN for instruction in dis.get_instructions(code))
