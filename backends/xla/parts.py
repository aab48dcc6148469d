"""Extract the part of a recorded program that computes some of its results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from autograph.backends.base import LoopSpec, Output
from autograph.backends.xla.jax_compat import is_dropped, is_literal, outside_traces, program_of, replay


def needed_for(
    equations: Sequence[Any], outvars: Sequence[Any], given: Iterable[Any] = ()
) -> tuple[list[Any], set[Any]]:
    """Those equations that compute some variables where others are ``given``, and all variables that they need."""
    given = set(given)
    needed = {atom for atom in outvars if not is_literal(atom)}
    kept: list[Any] = []
    for equation in reversed(equations):
        if any(var in needed and var not in given for var in equation.outvars):
            kept.append(equation)
            needed.update(atom for atom in equation.invars if not is_literal(atom))
    return kept[::-1], needed


def evaluate_equations(equations: Sequence[Any], known: dict[Any, Any]) -> None:
    """Evaluate equations in one go, each at its place in the user's source.

    Takes the values of variables from ``known`` and adds those that the equations compute.
    """
    if not equations:
        return
    made = {var for equation in equations for var in equation.outvars}
    atoms = [atom for equation in equations for atom in equation.invars]
    taken = list(dict.fromkeys(atom for atom in atoms if not is_literal(atom) and atom not in made))
    given = [var for equation in equations for var in equation.outvars if not is_dropped(var)]
    own = program_of(equations, taken, given, {})
    known.update(zip(given, replay(own, *(known[var] for var in taken)), strict=True))


def known_result(spec: LoopSpec, position: int) -> int | None:
    """What an integer of a loop's carry is in the end, if only itself and the index decide.

    None where that is not so.
    """
    start, result = spec.carry[position][0], spec.results[position]
    counts = type(start) is int and type(spec.length) is int and spec.test is None
    if not counts or not isinstance(result, Output) or position >= spec.inputs:
        return None
    jaxpr = spec.body.program.jaxpr
    last = jaxpr.outvars[result.index]
    equations, needed = needed_for(jaxpr.eqns, [last])
    own = {jaxpr.invars[position], jaxpr.invars[spec.inputs]}
    if any(equation.effects for equation in equations) or needed & ({*jaxpr.invars, *jaxpr.constvars} - own):
        return None
    taken = [var for var in jaxpr.invars if var in own]
    inner = program_of(equations, taken, [last], {})
    count_var = jaxpr.invars[position]

    def step(index: Any, count: Any) -> Any:
        operands = [count if var is count_var else index.astype(var.aval.dtype) for var in taken]
        return replay(inner, *operands)[0].astype(count.dtype)

    with outside_traces():
        first = jnp.asarray(start, count_var.aval.dtype)
        return int(jax.lax.fori_loop(0, spec.length, step, first))
