"""Bounds of integers: between which numbers a value is, for all that a program's operands may be."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from autograph.backends.xla import jax_compat

Bounds = tuple[int, int]  # the least and the greatest number that an element may be; truth values are 0 and 1
TRUTH: Bounds = (0, 1)


def bounds_of_value(value: Any) -> Bounds | None:
    """Those of a number that is known while tracing."""
    value = jax_compat.number_at_hand(value)
    if not isinstance(value, bool | int | np.generic | np.ndarray | jax.Array) or np.shape(value) != ():
        return None
    dtype = getattr(value, "dtype", np.dtype(int))
    is_whole = dtype == jnp.bool_ or jnp.issubdtype(dtype, jnp.integer)
    return (int(value), int(value)) if is_whole else None


def bounds_of_type(aval: Any) -> Bounds | None:
    """Those of all values of a type; None where it holds no integers."""
    dtype = getattr(aval, "dtype", None)
    if dtype == jnp.bool_:
        return TRUTH
    if dtype is None or not jnp.issubdtype(dtype, jnp.integer):
        return None
    limits = jnp.iinfo(dtype)  # type: ignore[no-untyped-call]
    return int(limits.min), int(limits.max)


def bounds_of_result(equation: Any, operands: Sequence[Bounds | None]) -> Bounds | None:
    """Those of what an operation computes from operands within these; None where it computes no integers."""
    if len(equation.outvars) != 1:
        return None
    limits = bounds_of_type(equation.outvars[0].aval)
    rule = _RULES.get(jax_compat.name_of(equation))
    if limits is None or rule is None:
        return limits
    found = rule(equation, operands)
    # Where an operation may wrap it may give any number.
    return found if found is not None and limits[0] <= found[0] and found[1] <= limits[1] else limits


def hull(*bounds: Bounds | None) -> Bounds | None:
    """Those of what is within one of these."""
    known = [each for each in bounds if each is not None]
    return (min(low for low, _ in known), max(high for _, high in known)) if len(known) == len(bounds) else None


def _of_corners(function: Callable[[int, int], int]) -> Callable[[Any, Any], Bounds | None]:
    def rule(_: Any, operands: Sequence[Bounds | None]) -> Bounds | None:
        a, b = operands
        if a is None or b is None:
            return None
        corners = [function(x, y) for x in a for y in b]
        return min(corners), max(corners)

    return rule


def _compared(decided: Callable[[Bounds, Bounds], bool | None]) -> Callable[[Any, Any], Bounds | None]:
    def rule(_: Any, operands: Sequence[Bounds | None]) -> Bounds | None:
        a, b = operands
        truth = None if a is None or b is None else decided(a, b)
        return TRUTH if truth is None else (int(truth), int(truth))

    return rule


def _less(a: Bounds, b: Bounds) -> bool | None:
    return True if a[1] < b[0] else False if a[0] >= b[1] else None


def _at_most(a: Bounds, b: Bounds) -> bool | None:
    return True if a[1] <= b[0] else False if a[0] > b[1] else None


def _equal(a: Bounds, b: Bounds) -> bool | None:
    if a[1] < b[0] or b[1] < a[0]:
        return False
    return True if a == b and a[0] == a[1] else None


def _not(truth: bool | None) -> bool | None:
    return None if truth is None else not truth


def _negative(_: Any, operands: Sequence[Bounds | None]) -> Bounds | None:
    (a,) = operands
    return None if a is None else (-a[1], -a[0])


def _absolute(_: Any, operands: Sequence[Bounds | None]) -> Bounds | None:
    (a,) = operands
    if a is None:
        return None
    return (0 if a[0] <= 0 <= a[1] else min(map(abs, a)), max(map(abs, a)))


def _remainder(_: Any, operands: Sequence[Bounds | None]) -> Bounds | None:
    """Of a division that rounds towards zero: the sign is that of the dividend."""
    a, b = operands
    if a is None or b is None or b[0] <= 0:
        return None
    most = b[1] - 1
    return max(min(a[0], 0), -most), min(max(a[1], 0), most)


def _and(equation: Any, operands: Sequence[Bounds | None]) -> Bounds | None:
    a, b = operands
    if a is None or b is None:
        return None
    if equation.outvars[0].aval.dtype == jnp.bool_:
        return a[0] & b[0], a[1] & b[1]
    least = [each for each in (a, b) if each[0] >= 0]
    return (0, min(each[1] for each in least)) if least else None


def _or(equation: Any, operands: Sequence[Bounds | None]) -> Bounds | None:
    a, b = operands
    if a is None or b is None or equation.outvars[0].aval.dtype != jnp.bool_:
        return None
    return a[0] | b[0], a[1] | b[1]


def _opposite(equation: Any, operands: Sequence[Bounds | None]) -> Bounds | None:
    (a,) = operands
    if a is None:
        return None
    return (1 - a[1], 1 - a[0]) if equation.outvars[0].aval.dtype == jnp.bool_ else (~a[1], ~a[0])


def _select(_: Any, operands: Sequence[Bounds | None]) -> Bounds | None:
    predicate, *cases = operands
    if predicate is not None and predicate[0] == predicate[1] and predicate[0] < len(cases):
        return cases[predicate[0]]
    return hull(*cases)


def _clamped(_: Any, operands: Sequence[Bounds | None]) -> Bounds | None:
    least, a, most = operands
    if least is None or a is None or most is None:
        return None
    return min(max(a[0], least[0]), most[0]), min(max(a[1], least[1]), most[1])


def _converted(equation: Any, operands: Sequence[Bounds | None]) -> Bounds | None:
    (a,) = operands
    if a is not None and equation.outvars[0].aval.dtype == jnp.bool_:
        return (1, 1) if a[0] > 0 or a[1] < 0 else (0, 0) if a == (0, 0) else TRUTH
    return a


def _counted(equation: Any, _: Any) -> Bounds | None:
    aval = equation.outvars[0].aval
    is_known = all(isinstance(size, int) for size in aval.shape)
    return (0, max(max(aval.shape, default=1) - 1, 0)) if is_known else None


def _first(_: Any, operands: Sequence[Bounds | None]) -> Bounds | None:
    return operands[0]


_RULES: Mapping[str, Callable[[Any, Sequence[Bounds | None]], Bounds | None]] = MappingProxyType(
    {
        "add": _of_corners(lambda x, y: x + y),
        "sub": _of_corners(lambda x, y: x - y),
        "mul": _of_corners(lambda x, y: x * y),
        "max": _of_corners(max),
        "min": _of_corners(min),
        "lt": _compared(_less),
        "le": _compared(_at_most),
        "gt": _compared(lambda a, b: _not(_at_most(a, b))),
        "ge": _compared(lambda a, b: _not(_less(a, b))),
        "eq": _compared(_equal),
        "ne": _compared(lambda a, b: _not(_equal(a, b))),
        "neg": _negative,
        "abs": _absolute,
        "rem": _remainder,
        "and": _and,
        "or": _or,
        "not": _opposite,
        "select_n": _select,
        "clamp": _clamped,
        "convert_element_type": _converted,
        "iota": _counted,
        "concatenate": lambda _, operands: hull(*operands),
        **dict.fromkeys(
            [
                "broadcast_in_dim",
                "reshape",
                "squeeze",
                "expand_dims",
                "copy",
                "stop_gradient",
                "slice",
                "rev",
                "transpose",
                "dynamic_slice",
            ],
            _first,
        ),
    }
)
