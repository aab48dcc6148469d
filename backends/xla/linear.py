"""The primitive ``linear_p``: a function that is linear in some operands, together with its transpose.

What `jax.custom_derivatives.linear_call` is, with a rule for batches and one for derivatives in the other operands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from autograph.backends.xla import jax_compat
from autograph.backends.xla.dependence import split
from autograph.backends.xla.tracing import leading, mapped


class LinearMap:
    """``apply(fixed, moving) -> results``, linear in ``moving``, and ``transpose(fixed, cotangents) -> moving``."""

    results: Sequence[Any]  # the types of what ``apply`` returns

    def apply(self, fixed: list[Any], moving: list[Any]) -> list[Any]:
        raise NotImplementedError

    def transpose(self, fixed: list[Any], cotangents: list[Any]) -> list[Any]:
        raise NotImplementedError


def linear(function: LinearMap, fixed: Sequence[Any], moving: Sequence[Any]) -> list[Any]:
    return linear_p.bind(*fixed, *moving, function=function, fixed=len(fixed))


linear_p = jax_compat.new_primitive("linear")


def run(*operands: Any, function: LinearMap, fixed: int) -> list[Any]:
    return function.apply(*split(operands, fixed))


def _types(*_: Any, function: LinearMap, fixed: int) -> Sequence[Any]:
    return list(function.results)


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], *, function: LinearMap, fixed: int) -> Any:
    moved = [not jax_compat.is_zero(tangent) for tangent in tangents]
    outputs = linear_p.bind(*primals, function=function, fixed=fixed)
    if not any(moved[:fixed]):
        moving = [jax_compat.as_array(tangent) for tangent in tangents[fixed:]]
        return outputs, linear(function, primals[:fixed], moving)
    whole = list(map(jax_compat.as_array, tangents))
    smooth = [getattr(tangent, "dtype", None) != jax.dtypes.float0 for tangent in whole]

    def of_smooth(*some: Any) -> list[Any]:
        pending = iter(some)
        operands = [next(pending) if s else primal for s, primal in zip(smooth, primals, strict=True)]
        return run(*operands, function=function, fixed=fixed)

    return jax.jvp(
        of_smooth,
        [primal for primal, s in zip(primals, smooth, strict=True) if s],
        [tangent for tangent, s in zip(whole, smooth, strict=True) if s],
    )


def _transpose(cotangents: Sequence[Any], *operands: Any, function: LinearMap, fixed: int) -> list[Any]:
    cotangents = [jax_compat.as_array(cotangent) for cotangent in cotangents]
    return [None] * fixed + function.transpose(list(operands[:fixed]), cotangents)


def _batch(axis: Any, operands: Sequence[Any], dims: Sequence[Any], *, function: LinearMap, fixed: int) -> Any:
    batched = [dim is not None for dim in dims]
    operands = leading(operands, dims)
    lifted = _Batch(function, axis, batched[:fixed], batched[fixed:])
    outputs = linear(lifted, operands[:fixed], operands[fixed:])
    return outputs, [0] * len(outputs)


class _Batch(LinearMap):
    """A linear map on the leading axis of some operands."""

    def __init__(self, function: LinearMap, axis: Any, fixed: list[bool], moving: list[bool]) -> None:
        self.function, self.axis, self.fixed, self.moving = function, axis, fixed, moving
        self.results = [jax_compat.stacked(axis.size, aval) for aval in function.results]

    def _over(self, function: Callable[..., Any], moving: list[bool], results: int) -> Callable[..., list[Any]]:
        count = len(self.fixed)
        return mapped(
            lambda *operands: function(*split(operands, count)), self.axis, [*self.fixed, *moving], [True] * results
        )

    def apply(self, fixed: list[Any], moving: list[Any]) -> list[Any]:
        return self._over(self.function.apply, self.moving, len(self.results))(*fixed, *moving)

    def transpose(self, fixed: list[Any], cotangents: list[Any]) -> list[Any]:
        found = self._over(self.function.transpose, [True] * len(cotangents), len(self.moving))(*fixed, *cotangents)
        return [value if batched else jnp.sum(value, 0) for value, batched in zip(found, self.moving, strict=True)]


jax_compat.define(linear_p, types=_types, run=run, jvp=_jvp, batch=_batch, transpose=_transpose)
