"""`recursion_limit`: how deep a function may call itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])
ATTRIBUTE = "__autograph_recursion_limit__"


def recursion_limit(calls: int) -> Callable[[F], F]:
    """Return a decorator that sets the maximum recursion depth of a function under a traced condition.

    The default is Python's limit at trace time (`sys.getrecursionlimit`). Each active call occupies a stack slot,
    which holds what the function needs after the call. If more calls are active, the program raises `RecursionError`.
    If a slot is large, `autograph.function` starts with 64 slots, unless a limit is set, and runs the program again
    with four times as many when they are exhausted. A tail call needs no slot, but counts towards the limit, as in
    Python. A bare ``jax.jit`` cannot raise: floating-point results are then NaN, and other results have no
    meaning, so a function that needs a stack must have a limit there.

    Args:
      calls: the maximum number of active calls, at least 1.

    Returns:
      A decorator that returns the function itself.

    Raises:
      TypeError: ``calls`` is not an int.
      ValueError: ``calls`` is less than 1.

    >>> import autograph as ag, jax, jax.numpy as jnp
    >>> @ag.convert
    ... @ag.recursion_limit(50)
    ... def factorial(n):
    ...     if n == 0:
    ...         return 1
    ...     return n * factorial(n - 1)
    >>> int(jax.jit(factorial)(jnp.array(5)))
    120
    """
    if isinstance(calls, bool) or not isinstance(calls, int):
        raise TypeError(f"recursion_limit takes an int; got {type(calls).__name__}")
    if calls < 1:
        raise ValueError(f"recursion_limit takes at least 1; got {calls}")

    def limited(function: F) -> F:
        setattr(function, ATTRIBUTE, calls)
        return function

    return limited


def limit_of(function: Any) -> int | None:
    """Return the limit that `recursion_limit` set for a function, or None."""
    found: int | None = function.__dict__.get(ATTRIBUTE)
    return found
