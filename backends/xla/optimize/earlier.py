"""A block's program, begun earlier: with equations of the program around it that compute what the block is closed over."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import jax

from autograph.backends.xla import jax_compat
from autograph.backends.xla.jax_compat import ClosedJaxpr, program_of
from autograph.backends.xla.optimize.selects import equation_cost
from autograph.backends.xla.optimize.unused import used_by, without_unused

# What the indices of one value may cost, in additions: they are computed again in each branch that reads it.
MAX_INDEX_COST = 24


class Earlier:
    """The program of a block, and what of the program around it has been taken into it.

    JAX is recording the program around it: a variable that represents a value of that knows the equation that computed it, but
    not under a transform, whose operations on that equation's operands would be left out.
    """

    def __init__(self, program: ClosedJaxpr) -> None:
        self._program = program
        self._outer = jax_compat.constants_of(program)
        self._atoms = {id(value): variable for variable, value in self._outer.items()}
        self._equations: list[Any] = []

    def rows(self) -> list[Any]:
        """Take in those of the values around the block that are rows of arrays that it has, too. Returns their variables."""
        return [variable for variable in self._program.jaxpr.constvars if self._take_row(variable)]

    def program(self) -> ClosedJaxpr:
        """What has been taken in, and then the block."""
        return self.having([*self._equations, *self._program.jaxpr.eqns])

    def having(self, equations: Iterable[Any]) -> ClosedJaxpr:
        """The block with these equations in place of its own and of those that have been taken in."""
        jaxpr = self._program.jaxpr
        made = without_unused(program_of(list(equations), jaxpr.invars, jaxpr.outvars, self._outer))
        computed = {var for equation in made.jaxpr.eqns for var in equation.outvars}
        outer = {var: self._outer[var] for var in self._outer if var in used_by(made) - computed}
        return program_of(made.jaxpr.eqns, jaxpr.invars, jaxpr.outvars, outer)

    def _take_row(self, variable: Any) -> bool:
        squeeze = _recorded(self._outer[variable], "squeeze")
        sliced = None if squeeze is None else _recorded(squeeze.invars[0], "dynamic_slice")
        if squeeze is None or sliced is None or id(sliced.invars[0]) not in self._atoms:
            return False
        array, *starts = sliced.invars
        left: float = MAX_INDEX_COST
        atoms = []
        for start in starts:
            atom, left = self._atom(start, left)
            atoms.append(atom)
        block = jax_compat.variable(sliced.outvars[0].aval)
        self._add(sliced, [self._atoms[id(array)], *atoms], block)
        self._add(squeeze, [block], variable)
        return True

    def _atom(self, value: Any, left: float) -> tuple[Any, float]:
        """What represents a value in the program, computed in it for as many additions at most; and what is left of these."""
        if id(value) in self._atoms:
            return self._atoms[id(value)], left
        equation = _recorded(value)
        number = jax_compat.number_at_hand(value) if jax_compat.is_tracer(value) else None
        cost = float("inf") if equation is None or len(equation.outvars) != 1 else equation_cost(equation)
        variable = jax_compat.variable(jax.typeof(value))
        if number is not None:
            return jax_compat.literal(number, variable.aval), left
        if cost <= left:
            left -= cost
            atoms = []
            for operand in equation.invars:
                atom, left = self._atom(operand, left)
                atoms.append(atom)
            self._add(equation, atoms, variable)
        else:
            self._outer[variable] = value
        self._atoms[id(value)] = variable
        return variable, left

    def _add(self, equation: Any, invars: list[Any], variable: Any) -> None:
        self._equations.append(
            jax_compat.equation_like(equation, equation.primitive, equation.params, invars, [variable])
        )


def _recorded(value: Any, name: str | None = None) -> Any:
    """The equation of the program around that computed a value, if there is one, of this name; else None."""
    if not jax_compat.does(jax_compat.trace_of(value), "recording"):
        return None
    equation = jax_compat.recorded_by(value)
    return equation if equation is None or name in (None, jax_compat.name_of(equation)) else None
