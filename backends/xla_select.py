"""Which blocks may run although they are not taken: short, pure, and harmless to differentiate.

A conditional costs XLA's CPU backend more than the few scalar operations that such a block holds, and on a GPU it
costs a synchronisation. Running both blocks and selecting is the faster form (see docs/performance.md), if nothing
can be seen of the block not taken. Its derivative must not turn zero into NaN either, so of floating-point
operations only those are allowed whose derivative is finite everywhere.
"""

from __future__ import annotations

from typing import Any

import jax.extend.core
import jax.numpy as jnp
import numpy as np

from autograph.backends.base import Output, Traced

_MAX_OPERATIONS = 24
_MAX_ELEMENTS = 16

_ANY_DTYPE = frozenset(
    [
        "add",
        "sub",
        "neg",
        "max",
        "min",
        "abs",
        "sign",
        "eq",
        "ne",
        "lt",
        "le",
        "gt",
        "ge",
        "and",
        "or",
        "not",
        "xor",
        "select_n",
        "convert_element_type",
        "broadcast_in_dim",
        "reshape",
        "squeeze",
        "floor",
        "ceil",
        "round",
        "is_finite",
        "stop_gradient",
        "copy",
        "clamp",
        "transpose",
        "slice",
    ]
)
_INTEGERS_ONLY = frozenset(
    [
        "mul",
        "div",
        "rem",
        "integer_pow",
        "shift_left",
        "shift_right_logical",
        "shift_right_arithmetic",
        "population_count",
        "clz",
    ]
)
_CALLS = frozenset({"jit", "pjit", "closed_call"})


def may_speculate(traced: Traced) -> bool:
    """Whether this block may run where it is not taken."""
    jaxpr = traced.program.jaxpr
    if traced.program.effects or not all(_is_small(leaf) for leaf in traced.leaves):
        return False
    return _cost(jaxpr) <= _MAX_OPERATIONS


def _is_small(leaf: Any) -> bool:
    return not isinstance(leaf, Output) or _size(leaf.type.shape) <= _MAX_ELEMENTS


def _size(shape: tuple[Any, ...]) -> float:
    return float(np.prod(shape)) if all(isinstance(n, int) for n in shape) else np.inf


def _cost(jaxpr: Any) -> float:
    """The number of operations; infinite if one of them must not run."""
    total = 0.0
    for equation in jaxpr.eqns:
        name = equation.primitive.name
        if any(_size(getattr(atom.aval, "shape", (np.inf,))) > _MAX_ELEMENTS for atom in equation.invars):
            return np.inf
        if name in _CALLS:
            total += sum(_cost(inner) for inner in jax.extend.core.jaxprs_in_params(equation.params))
        elif (
            name in _ANY_DTYPE
            or (name in _INTEGERS_ONLY and _is_integral(equation))
            or name == "mul"
            and any(_is_finite_literal(atom) for atom in equation.invars)
        ):
            total += 1
        else:
            return np.inf
        if total > _MAX_OPERATIONS:
            return np.inf
    return total


def _is_integral(equation: Any) -> bool:
    dtypes = [atom.aval.dtype for atom in (*equation.invars, *equation.outvars)]
    return all(jnp.issubdtype(dtype, jnp.integer) or dtype == jnp.bool_ for dtype in dtypes)


def _is_finite_literal(atom: Any) -> bool:
    return hasattr(atom, "val") and bool(np.all(np.isfinite(np.asarray(atom.val, dtype=float))))
