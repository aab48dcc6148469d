"""Integer division by a power of two as a shift, and its remainder as a mask.

``n // 2`` and ``n % 2`` round towards minus infinity, as an arithmetic shift and a mask do, while XLA's own division
rounds towards zero: what `jax.numpy` has to do about that is ten operations, two of them divisions, which XLA does not
simplify (1.9 times the time of a Collatz loop). Only the very programs that `jnp.floor_divide` and `jnp.remainder`
give are replaced, known by their text: a user's function of the same name is left alone.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from autograph.backends.xla import jax_compat
from autograph.backends.xla.jax_compat import ClosedJaxpr, Kind

_FUNCTIONS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {"floor_divide": jnp.floor_divide, "remainder": jnp.remainder}
)


def reduce_strength(program: ClosedJaxpr) -> ClosedJaxpr:
    """The same program, its own divisions of integers by powers of two replaced."""
    equations = program.jaxpr.eqns
    replaced = [_reduced(equation) for equation in equations]
    if all(new is old for new, old in zip(replaced, equations, strict=True)):
        return program
    return jax_compat.with_equations(program, replaced)


def _reduced(equation: Any) -> Any:
    name = jax_compat.function_name(equation) if jax_compat.kind(equation) is Kind.CALL else None
    if name not in _FUNCTIONS or len(equation.invars) != 2:
        return equation
    number, divisor = equation.invars
    (result,) = equation.outvars
    dtype = number.aval.dtype
    if not jax_compat.is_literal(divisor) or not jnp.issubdtype(dtype, jnp.integer) or result.aval.dtype != dtype:
        return equation
    power = int(divisor.val) if np.ndim(divisor.val) == 0 else 0
    if power <= 0 or power & (power - 1) or result.aval.shape != number.aval.shape:
        return equation
    if str(jax_compat.called(equation.params)) != _text(name, number.aval, divisor.aval):
        return equation
    if name == "remainder":
        primitive, operand = jax.lax.and_p, power - 1
    else:
        is_signed = jnp.issubdtype(dtype, jnp.signedinteger)
        primitive = jax.lax.shift_right_arithmetic_p if is_signed else jax.lax.shift_right_logical_p
        operand = power.bit_length() - 1
    if number.aval.shape != ():
        return equation  # the literal would have to be spread; loops over scalars are where it matters
    literal = jax_compat.literal(np.asarray(operand, dtype), number.aval)
    return jax_compat.equation_like(equation, primitive, {}, [number, literal], equation.outvars)


@functools.lru_cache(maxsize=64)
def _text(name: str, number: Any, divisor: Any) -> str:
    """What the function of this name records for operands of these types."""
    recorded = jax.make_jaxpr(_FUNCTIONS[name])(
        *(jax.ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=aval.weak_type) for aval in (number, divisor))
    )
    return "".join(str(jax_compat.called(e.params)) for e in recorded.eqns if jax_compat.kind(e) is Kind.CALL)
