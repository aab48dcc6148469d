"""Writes of a program that was mapped: an element in each lane, where JAX's rule makes a block of one element of it.

A write that is known to be in range is ``dynamic_update_slice`` (see `optimize.ranges`), whose rule for batches is a scatter of blocks
with an axis for each index. XLA's compiler for TPUs writes blocks that begin elsewhere in each lane one after another, in a loop, and
elements all at once. Where a block has one element along an axis, the scatter needs no such axis.
"""

from __future__ import annotations

from typing import Any

from autograph.backends.xla import jax_compat
from autograph.backends.xla.jax_compat import ClosedJaxpr
from autograph.backends.xla.tracing import explicit_sharding


def write_elements(program: ClosedJaxpr) -> ClosedJaxpr:
    """The program, its writes of blocks in lanes without the axes of one element; the same object if there are none."""
    written = [_of_elements(equation) for equation in program.jaxpr.eqns]
    if all(len(each) == 1 for each in written):
        return program
    return jax_compat.with_equations(program, [equation for each in written for equation in each])


def _of_elements(equation: Any) -> list[Any]:
    if not jax_compat.is_scatter(equation) or explicit_sharding(equation.invars[0].aval) is not None:
        return [equation]
    return jax_compat.without_unit_axes(equation)
