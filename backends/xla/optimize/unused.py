"""Dead code elimination: equations and results of conditionals that nothing reads."""

from __future__ import annotations

from typing import Any

from autograph.backends.xla import jax_compat
from autograph.backends.xla.branches import choice_of_results, is_choice
from autograph.backends.xla.jax_compat import ClosedJaxpr, is_literal


def without_unused(program: ClosedJaxpr) -> ClosedJaxpr:
    """The same program without equations, and without results of conditionals, that nothing reads."""
    needed = {atom for atom in program.jaxpr.outvars if not is_literal(atom)}
    kept = []
    for equation in reversed(program.jaxpr.eqns):
        wanted = [var in needed for var in equation.outvars]
        if not any(wanted) and not equation.effects:
            continue
        if not all(wanted) and is_choice(equation):
            equation = choice_of_results(equation, wanted, without_unused)
        kept.append(equation)
        needed.update(atom for atom in equation.invars if not is_literal(atom))
    return jax_compat.with_equations(program, kept[::-1])


def used_by(program: ClosedJaxpr) -> set[Any]:
    """The variables that a program reads or returns."""
    atoms = [atom for equation in program.jaxpr.eqns for atom in equation.invars]
    return {atom for atom in (*atoms, *program.jaxpr.outvars) if not is_literal(atom)}
