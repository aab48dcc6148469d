"""Which of Python's ints are far from all that an array can hold."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

_LEAST = 2**32  # of 32 bits; asked first, as most ints are less


def is_far_beyond(value: Any) -> bool:
    """Whether this is an int so large that it is beyond the integers of arrays even after one of these is added to it.

    >>> is_far_beyond(10**10), is_far_beyond(2**31), is_far_beyond(-(10**18)), is_far_beyond(1e18)
    (True, False, True, False)
    """
    if type(value) is not int or -_LEAST <= value < _LEAST:
        return False
    return abs(value) > 2 * int(jnp.iinfo(jnp.result_type(int)).max) + 2  # type: ignore[no-untyped-call]
