"""`set_loop_options`, the directive for one loop, and `LoopOptions`, its checked values."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np

from autograph.runtime.errors import StagingError
from autograph.runtime.tracing.locations import user_location
from autograph.runtime.typing import PyTree


def set_loop_options(
    *,
    maximum_iterations: int | None = None,
    maximum_length: int | None = None,
    shape_invariants: Iterable[tuple[PyTree, PyTree]] | None = None,
    checkpoints: int | None = None,
    unroll: bool | int | None = None,
) -> None:
    """Set the options of a loop. The call must be the first statement of the loop body.

    In converted code the options are evaluated once, before the loop, and apply to this loop only. Plain Python runs
    the call and ignores it, ``maximum_iterations`` included.

    Args:
      maximum_iterations: an int, or an integer scalar. The loop ends after this many iterations, as if its test had
        become false. Lists, each `TensorArray` and gradients can use a bound that is an int.
      maximum_length: the capacity of each list that grows in the loop without a known bound. A longer list raises
        `IndexError` at run time; a bare ``jax.jit`` cannot raise, and drops further elements.
      shape_invariants: pairs of a variable and its shape, with None for a size that is not fixed, as in TensorFlow.
        The shapes are compared with those of the variables. A variable that changes shape is still refused.
      checkpoints: the number of loop states that a gradient may keep. The states in between are recomputed.
      unroll: True unrolls the loop. False stages it as one loop, even a loop over a ``range`` of Python ints, or
        raises. An int stages one loop with this unroll factor.

    Raises:
      TypeError: an option has the wrong type (in converted code).
      ValueError: an option has a value that is not allowed (in converted code).
      StagingError: the call is not the first statement of a loop's body (in converted code that is traced).

    >>> import autograph as ag, jax.numpy as jnp
    >>> @ag.function
    ... def root(x):
    ...     y = x
    ...     while y * y != x:
    ...         ag.set_loop_options(maximum_iterations=20)
    ...         y = (y + x / y) / 2
    ...     return y
    >>> round(float(root(jnp.array(2.0))), 4)
    1.4142
    """


@dataclass(frozen=True)
class LoopOptions:
    """One loop's options, checked. See `set_loop_options`.

    Attributes:
      bound: the greatest number of iterations, where it is known now; has_traced_bound: whether it is traced.
      is_one_loop: whether it is to be one staged loop, even where Python could run it.
      step: how many iterations a staged loop takes at once.
    """

    maximum_iterations: Any = None
    checkpoints: int | None = None
    unroll: bool | int | None = None
    has_invariants: bool = False
    maximum_length: int | None = None
    bound: int | None = field(init=False)
    has_traced_bound: bool = field(init=False)
    is_one_loop: bool = field(init=False)
    step: int = field(init=False)

    def __post_init__(self) -> None:
        bound = self.maximum_iterations if isinstance(self.maximum_iterations, int) else None
        is_counted = self.unroll is not None and not isinstance(self.unroll, bool)
        vars(self).update(
            bound=bound,
            has_traced_bound=self.maximum_iterations is not None and bound is None,
            is_one_loop=self.unroll is not None and self.unroll is not True,
            step=self.unroll if is_counted else 1,
        )


NO_OPTIONS = LoopOptions()


def make_options(
    maximum_iterations: Any = None,
    maximum_length: Any = None,
    shape_invariants: Any = None,
    checkpoints: Any = None,
    unroll: Any = None,
) -> LoopOptions:
    """The options of a directive.

    Raises:
      TypeError, ValueError: as `set_loop_options`.
    """
    _check_invariants(shape_invariants)
    if checkpoints is not None:
        checkpoints = _integer(checkpoints, "checkpoints", "an int of at least 1, or None", 1)
    if unroll is not None and not isinstance(unroll, bool | np.bool_):
        unroll = _integer(unroll, "unroll", "True, False, an int of at least 1, or None", 1)
    unroll = bool(unroll) if _is_bool(unroll) else unroll
    if maximum_length is not None:
        maximum_length = _integer(maximum_length, "maximum_length", "an int of at least 1, or None", 1)
    return LoopOptions(_maximum(maximum_iterations), checkpoints, unroll, shape_invariants is not None, maximum_length)


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool | np.bool_)


def _maximum(value: Any) -> Any:
    allowed = "an int of at least 0, an integer scalar, or None"
    value = getattr(value, "__autograph_value__", lambda: value)()
    if value is None:
        return None
    if isinstance(value, jax.core.Tracer):
        if value.shape != () or not jax.numpy.issubdtype(value.dtype, jax.numpy.integer):
            raise TypeError(f"maximum_iterations of set_loop_options must be {allowed}; got {jax.typeof(value)}")
        return value
    return _integer(value, "maximum_iterations", allowed, 0)


def _integer(value: Any, name: str, allowed: str, least: int) -> int:
    try:
        if _is_bool(value) or getattr(value, "dtype", None) == np.bool_:
            raise TypeError
        number = operator.index(value)
    except TypeError:  # JAX's own, for a traced value, is one
        raise TypeError(f"{name} of set_loop_options must be {allowed}; got {value!r}") from None
    if number < least:
        raise ValueError(f"{name} of set_loop_options must be {allowed}; got {number}")
    return number


def _check_invariants(pairs: Any) -> None:
    """See that each shape is one that its variable has."""
    if pairs is None:
        return
    allowed = "a list of pairs of a variable and its shape, with None for a size that is not fixed"
    if not isinstance(pairs, list | tuple) or not all(isinstance(p, list | tuple) and len(p) == 2 for p in pairs):
        raise TypeError(f"shape_invariants of set_loop_options must be {allowed}; got {pairs!r}")
    for value, invariant in pairs:
        shape = getattr(invariant, "shape", invariant)
        if shape is None:
            continue
        if not isinstance(shape, Sequence) or isinstance(shape, str):
            raise TypeError(f"shape_invariants of set_loop_options must be {allowed}; got the shape {shape!r}")
        if any(size is not None and (_is_bool(size) or not isinstance(size, int | np.integer)) for size in shape):
            raise TypeError(f"shape_invariants of set_loop_options must be {allowed}; got the shape {shape!r}")
        for leaf in jax.tree_util.tree_leaves(value):
            own = np.shape(getattr(leaf, "__autograph_value__", lambda leaf=leaf: leaf)())
            fits = len(own) == len(shape) and all(b is None or a == b for a, b in zip(own, shape, strict=True))
            if not fits:
                raise ValueError(
                    f"shape_invariants of set_loop_options: the variable has the shape {tuple(own)} before the loop, which is "
                    f"not of the form {tuple(shape)}"
                )


def refuse_misplaced() -> StagingError:
    """The error for a directive that is reached as a call."""
    return StagingError(
        f"{user_location()}\n  set_loop_options is not the first statement of a loop "
        "body.\n  Move it to the top of the body of a `for` or `while` without yield and await."
    )


def refuse_unrolling() -> StagingError:
    """The error for a loop that is to run in Python and whose test is traced."""
    return StagingError(
        f"{user_location()}\n  unroll=True asks for a Python loop, and the test is traced: the number of "
        "iterations is not known.\n  Omit the option."
    )


def refuse_bound(kind: str) -> StagingError:
    """The error for a traced maximum_iterations of a loop over what is iterated over in Python."""
    return StagingError(
        f"{user_location()}\n  maximum_iterations is traced, and a loop over a {kind} runs in Python.\n  Pass an int, or loop over "
        "a range or an array."
    )
