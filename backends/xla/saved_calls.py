"""The primitive ``saved_p``: a call of a program loaded from a file, with its saved derivatives.

In reverse mode each derivative is the program that `jax.export` made for it. Forward mode is made of reverse mode: a
derivative is linear in its cotangents, and its own derivative in those, applied to tangents, pushes them forward. A
batch is run one element after another, since a program is for arrays of its own ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from autograph.backends.xla import jax_compat
from autograph.backends.xla.exported_calls import call_of
from autograph.backends.xla.linear import LinearMap, linear
from autograph.backends.xla.tracing import leading, trace
from autograph.runtime.errors import StagingError

_NOTHING = jax.dtypes.float0  # the dtype of tangents of integers, which are no operands here


class SavedCall:
    """A program of `jax.export`, which may be the derivative of another.

    Attributes: name (of the function); orders (of derivatives that the whole was saved with); taken (of these, how many this
    one is).
    """

    def __init__(self, exported: Any, orders: int, taken: int = 0, name: str | None = None) -> None:
        self.exported, self.orders, self.taken = exported, orders, taken
        self.name = exported.fun_name if name is None else name

    def __call__(self, *operands: Any) -> list[Any]:
        results: list[Any] = saved_p.bind(*operands, program=self)
        return results

    def run(self, *operands: Any) -> list[Any]:
        """Call it, without what has the type of no tangent."""
        pending = iter(operands)
        filled = [
            np.zeros(aval.shape, _NOTHING) if aval.dtype == _NOTHING else next(pending)
            for aval in self.exported.in_avals
        ]
        results = self._call(*filled)
        return [r for r, aval in zip(results, self.exported.out_avals, strict=True) if aval.dtype != _NOTHING]

    @cached_property
    def _call(self) -> Callable[..., Any]:
        return call_of(self.exported)

    @cached_property
    def derivative(self) -> SavedCall | None:
        """Of operands and cotangents of results, those of the operands; None where it was not saved."""
        if not self.exported.has_vjp():
            return None
        return SavedCall(self.exported.vjp(), self.orders, self.taken + 1, self.name)

    def refusal(self, kind: str, more: int) -> StagingError:
        """What to raise where derivatives would be needed that were not saved."""
        return StagingError(
            f"{self.name} was saved with derivatives of order {self.orders}, and is differentiated {kind} here.\n"
            f"  Save it with derivatives={self.taken + more}, if it has them: see `why_not` in its manifest."
        )


class _Tangents(LinearMap):
    """Tangents of a call's results, of those of its operands."""

    def __init__(self, program: SavedCall, results: Sequence[Any]) -> None:
        self._program, self.results = program, results

    def apply(self, fixed: list[Any], moving: list[Any]) -> list[Any]:
        program = self._program
        first = program.derivative
        second = None if first is None else first.derivative
        if second is None:
            raise program.refusal("in forward mode, which takes two orders for each (jax.grad takes one),", 2)
        zeros = [jnp.zeros(aval.shape, aval.dtype) for aval in self.results]
        return second(*fixed, *zeros, *moving)[len(moving) :]

    def transpose(self, fixed: list[Any], cotangents: list[Any]) -> list[Any]:
        derivative = self._program.derivative
        if derivative is None:
            raise self._program.refusal("once more", 1)
        return derivative(*fixed, *cotangents)


saved_p = jax_compat.new_primitive("saved")


def _types(*avals: Any, program: SavedCall) -> Sequence[Any]:
    return list(trace(program.run, avals).out_avals)


def _run(*operands: Any, program: SavedCall) -> list[Any]:
    return program.run(*operands)


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], *, program: SavedCall) -> tuple[list[Any], list[Any]]:
    results = program(*primals)
    if all(map(jax_compat.is_zero, tangents)):
        return results, list(map(jax_compat.no_tangent, results))
    moving = [jax_compat.as_array(t) for t, primal in zip(tangents, primals, strict=True) if _is_smooth(primal)]
    types = [jax_compat.strong(jax.typeof(result)) for result in results if _is_smooth(result)]
    moved = iter(linear(_Tangents(program, types), primals, moving))
    return results, [next(moved) if _is_smooth(result) else jax_compat.no_tangent(result) for result in results]


def _is_smooth(value: Any) -> bool:
    return bool(jnp.issubdtype(jax.typeof(value).dtype, jnp.inexact))


def _batch(axis: Any, operands: Sequence[Any], dims: Sequence[Any], *, program: SavedCall) -> Any:
    if all(dim is None for dim in dims):
        results = program(*operands)
        return results, [None] * len(results)
    lanes = leading(operands, dims)

    def one(moving: list[Any]) -> list[Any]:
        pending = iter(moving)
        return program(*[lane if dim is None else next(pending) for lane, dim in zip(lanes, dims, strict=True)])

    results = jax.lax.map(one, [lane for lane, dim in zip(lanes, dims, strict=True) if dim is not None])
    return results, [0] * len(results)


jax_compat.define(saved_p, types=_types, run=_run, jvp=_jvp, batch=_batch)
