"""How many iterations of a scan to take at once.

XLA's CPU backend keeps what a loop carries in memory from one iteration to the next, and reads and writes rows one by one. Eight
iterations in one keep it in registers between them, and read and write eight rows together: 0.65 times the time of an exponential
average over 100,000 samples, 0.5 of a filter. That is for bodies of a few operations on single numbers, for which an iteration
that is eight remains one kernel (see `cost_model.UNROLLED`). On a GPU such an iteration is a launch of a kernel, and eight are
one: 0.13 to 0.19 times the time of filters over 2,000 samples.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autograph.backends.xla import jax_compat
from autograph.backends.xla.branches import is_select_on
from autograph.backends.xla.cost_model import LONG_OPERATION, UNROLLED, UNROLLED_FROM
from autograph.backends.xla.jax_compat import Kind, Scanned
from autograph.backends.xla.optimize.selects import equation_cost
from autograph.backends.xla.parts import needed_for


def iterations_at_once(scan: Scanned) -> int:
    """How many iterations of this scan are quicker in one; 1 to leave it as it is."""
    jaxpr = scan.body.jaxpr
    numbers = jaxpr.outvars
    if scan.length < UNROLLED_FROM or scan.is_reverse or not all(atom.aval.shape == () for atom in numbers):
        return 1
    equations, _ = needed_for(jaxpr.eqns, numbers)
    width = max((atom.aval.dtype.itemsize for atom in numbers), default=0)
    operations = _operations(equations)
    work = operations * len(numbers) * max(width / 4, 1)
    return max(
        (count for count, most in UNROLLED.items() if work <= most.work and operations <= most.operations), default=1
    )


def _operations(equations: Any) -> float:
    """How many operations on single numbers these are; infinite if there are others, or one takes long."""
    return sum(map(_operations_of, equations))


def _operations_of(equation: Any) -> float:
    kind = jax_compat.kind(equation)
    if kind in (Kind.CALL, Kind.RULED):
        program = jax_compat.called(equation.params)
        return np.inf if program is None else _operations(program.jaxpr.eqns)
    if kind is Kind.COND:
        if not is_select_on("cpu", equation.params):
            return np.inf
        return len(equation.outvars) + sum(_operations(each.jaxpr.eqns) for each in jax_compat.branches(equation))
    if equation_cost(equation) >= LONG_OPERATION or any(atom.aval.size > 1 for atom in equation.outvars):
        return np.inf
    return 0 if jax_compat.name_of(equation) in _NOTHING else 1


# What is no operation on numbers of one element.
_NOTHING = frozenset({"reshape", "squeeze", "broadcast_in_dim", "copy", "stop_gradient"})
