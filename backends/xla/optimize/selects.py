"""Decide which branches may run unconditionally, with a select for their results: small, pure and safe to
differentiate.

A conditional costs XLA's CPU backend more than the few scalar operations that such a block holds, and on a GPU it
costs a synchronisation. Running both blocks and selecting is the faster form (see docs/performance.md), if nothing
can be seen of the block not taken. That is decided twice. While tracing, a select takes the place of a conditional
where derivatives cannot tell: a derivative must not turn zero into NaN, so of floating-point operations only those
are allowed whose derivative is finite everywhere, unless no result has a derivative. When a conditional that is left
is lowered, it has been differentiated already, and any short and pure block may run (`runs_both`, up to the limits of
the platform that it is lowered for: `platforms`): XLA defines what division by zero and indices out of range give,
and the select drops it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from autograph.backends.base import Output, Traced
from autograph.backends.xla import jax_compat
from autograph.backends.xla.cost_model import OPERATIONS, Limits
from autograph.backends.xla.jax_compat import ClosedJaxpr, Kind
from autograph.backends.xla.optimize.chains import is_at_limit
from autograph.backends.xla.platforms import EVERYWHERE
from autograph.backends.xla.statements import Conditional

_ANY_DTYPE = frozenset(
    [
        "add",
        "add_any",
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


def select(conditional: Conditional) -> list[Any] | None:
    """Both blocks of a conditional, and a select of each result; None if they may not run both."""
    predicate, types = conditional.predicate, conditional.types
    has_keys = any(jnp.issubdtype(type.dtype, jax.dtypes.prng_key) for type in types)
    if has_keys or not all(_may_speculate(traced) for traced, _ in conditional.branches):
        return None
    if any(type.shape for type in types) and is_at_limit(predicate):
        return None
    taken, other = conditional.block(0)(), conditional.block(1)()
    return [jax.lax.select(predicate, a, b) for a, b in zip(taken, other, strict=True)]


def _may_speculate(traced: Traced) -> bool:
    """Whether this block may run where it is not taken, and derivatives are right all the same."""
    jaxpr = traced.program.jaxpr
    if traced.program.effects or not all(_is_small(leaf) for leaf in traced.leaves):
        return False
    smooth = any(isinstance(leaf, Output) and jnp.issubdtype(leaf.type.dtype, jnp.inexact) for leaf in traced.leaves)
    return (_smooth_cost(jaxpr) if smooth else cost(jaxpr)) <= EVERYWHERE.operations


def runs_both(programs: Sequence[ClosedJaxpr], limits: Limits) -> bool:
    """Whether running all these branches costs less than choosing one, and nothing can be seen of the others."""
    return why_one(programs, limits) is None


def why_one(programs: Sequence[ClosedJaxpr], limits: Limits) -> str | None:
    """Why only one of these branches is to run; None if all may."""
    results = [aval for program in programs for aval in program.out_avals]
    if any(program.effects for program in programs):
        return "a branch has effects"
    if any(jnp.issubdtype(aval.dtype, jax.dtypes.prng_key) for aval in results):
        return "a branch gives a random key"
    most = max((size_of(getattr(aval, "shape", (np.inf,))) for aval in results), default=0)
    if most > limits.elements:
        size = f"{most:,.0f}" if np.isfinite(most) else "an open number of"
        return f"a branch gives {size} elements; both run for at most {limits.elements:,}"
    if sum(cost(program.jaxpr, limits) for program in programs) > limits.operations:
        return (
            f"the branches take more than {limits.operations} additions, or hold what is to run only where it is taken"
        )
    return None


def cost(jaxpr: Any, limits: Limits = EVERYWHERE) -> float:
    """What a block costs, in additions; infinite if an operation is large, or must run only where it is taken."""
    total = 0.0
    for equation in jaxpr.eqns:
        total += equation_cost(equation, limits)
        if total > limits.operations:
            return np.inf
    return total


def equation_cost(equation: Any, limits: Limits = EVERYWHERE) -> float:
    """See `cost`."""
    name, kind = jax_compat.name_of(equation), jax_compat.kind(equation)
    atoms = [
        *equation.outvars,
        *(equation.invars if name.startswith("reduce_") else ()),
    ]  # which goes over all that it is given
    sizes = (size_of(getattr(atom.aval, "shape", (np.inf,))) for atom in atoms)
    if equation.effects or any(size > limits.elements for size in sizes):
        return np.inf
    if kind in (Kind.CALL, Kind.RULED):
        program = jax_compat.called(equation.params)
        return np.inf if program is None else cost(program.jaxpr, limits)
    if kind is Kind.COND:
        return 1 + sum(cost(branch.jaxpr, limits) for branch in jax_compat.branches(equation))
    return operation_cost(name)


def operation_cost(name: str) -> float:
    """What an operation on single numbers costs, in additions; infinite of one that must run only where it is taken."""
    return OPERATIONS.get(name, 1 if name in _ANY_DTYPE or name in _INTEGERS_ONLY else np.inf)


def _is_small(leaf: Any) -> bool:
    return not isinstance(leaf, Output) or size_of(leaf.type.shape) <= EVERYWHERE.elements


def size_of(shape: tuple[Any, ...]) -> float:
    """The number of elements; infinite where it is known only at run time."""
    return float(math.prod(shape)) if all(isinstance(n, int) for n in shape) else np.inf


def _smooth_cost(jaxpr: Any) -> float:
    """The number of operations; infinite if one of them is large, or has a derivative that is not finite."""
    total = 0.0
    for equation in jaxpr.eqns:
        name = jax_compat.name_of(equation)
        if any(size_of(getattr(atom.aval, "shape", (np.inf,))) > EVERYWHERE.elements for atom in equation.invars):
            return np.inf
        if jax_compat.kind(equation) is Kind.CALL:
            total += sum(map(_smooth_cost, jax_compat.inner_programs(equation)))
        elif (
            name in _ANY_DTYPE
            or (name in _INTEGERS_ONLY and _is_integral(equation))
            or name == "mul"
            and any(_is_finite_literal(atom) for atom in equation.invars)
        ):
            total += 1
        else:
            return np.inf
        if total > EVERYWHERE.operations:
            return np.inf
    return total


def _is_integral(equation: Any) -> bool:
    dtypes = [atom.aval.dtype for atom in (*equation.invars, *equation.outvars)]
    return all(jnp.issubdtype(dtype, jnp.integer) or dtype == jnp.bool_ for dtype in dtypes)


def _is_finite_literal(atom: Any) -> bool:
    return jax_compat.is_literal(atom) and bool(np.all(np.isfinite(np.asarray(atom.val))))
