"""`recursion_limit`: how deep a function may call itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])
ATTRIBUTE = "__autograph_recursion_limit__"


def recursion_limit(calls: int) -> Callable[[F], F]:
    """Return a decorator that says how deep a function may call itself under a traced condition.

    Without it, that is Python's own limit while the function is traced (`sys.getrecursionlimit`). Each call under way takes room in the
    program, of what the function still needs after the call in it. Where more calls are under way, the program raises
    `RecursionError`. Where a call takes much, an `autograph.function` has room for 64 calls at first, unless a limit is given, and is
    run again with room for twice as many where that runs out. A call in tail position takes no room; as in Python, so many that follow
    one another raise. A bare ``jax.jit`` cannot raise: there floating-point results are nan, and others mean nothing, so a function
    that needs room has to have a limit of its own.

    Args:
      calls: the greatest number of calls that may be under way at once, at least 1.

    Raises:
      TypeError, ValueError: ``calls`` is no int, or less than 1.

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
    """The limit that a function has of its own."""
    found: int | None = function.__dict__.get(ATTRIBUTE)
    return found
