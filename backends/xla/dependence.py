"""Dependence analysis of jaxprs: forward from operands and backward from results, into nested jaxprs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from autograph.backends.xla import jax_compat
from autograph.backends.xla.jax_compat import Kind, is_literal

Flags = tuple[bool, ...]


def closure(
    body: Any, consts: Sequence[bool], carry: Sequence[bool], slices: Sequence[bool] = (), *, smoothly: bool
) -> list[bool]:
    """Which of a loop's carry come to depend on what is marked."""
    marked = list(carry)
    while True:
        after = dependents(body, [*consts, *marked, *slices], smoothly=smoothly)
        grown = [a or b for a, b in zip(marked, after[: len(marked)], strict=True)]
        if grown == marked:
            return marked
        marked = grown


def dependents(jaxpr: Any, marked: Sequence[bool], *, smoothly: bool) -> list[bool]:
    """Which results depend on the marked operands; ``smoothly``: through values that have derivatives."""
    known = dependent_variables(jaxpr, marked, smoothly=smoothly)
    return [not is_literal(atom) and atom in known for atom in jaxpr.outvars]


def dependent_variables(jaxpr: Any, marked: Sequence[bool], *, smoothly: bool) -> set[Any]:
    """The variables that depend on the marked operands, these included."""
    known = {variable for variable, mark in zip(jaxpr.invars, marked, strict=True) if mark}
    for equation in jaxpr.eqns:
        inputs = [not is_literal(atom) and atom in known for atom in equation.invars]
        if any(inputs) and not (smoothly and jax_compat.is_stop_gradient(equation)):
            results = _equation_dependents(equation, inputs, smoothly)
            known.update(
                variable
                for variable, mark in zip(equation.outvars, results, strict=True)
                if mark and (not smoothly or is_smooth(variable.aval))
            )
    return known


def _equation_dependents(equation: Any, inputs: list[bool], smoothly: bool) -> Sequence[bool]:
    """Exact for what runs jaxprs: a batch must not spread to what does not depend on it."""
    kind, params = jax_compat.kind(equation), equation.params
    for owner in (params.get("program"), params.get("sweep")):
        if owner is not None:
            return owner.dependents(inputs, smoothly, params)
    if kind is Kind.SCAN:
        scan = jax_compat.scan_of(equation)
        body = scan.body.jaxpr
        consts, carry, slices = split(inputs, scan.consts, scan.carried)
        carry = closure(body, consts, carry, slices, smoothly=smoothly)
        rows = dependents(body, [*consts, *carry, *slices], smoothly=smoothly)[len(carry) :]
        return [*carry, *rows]
    if kind is Kind.WHILE:
        loop = jax_compat.while_of(equation)
        test_consts, consts, carry = split(inputs, loop.test_consts, loop.body_consts)
        after = closure(loop.body.jaxpr, consts, carry, smoothly=smoothly)
        tested = dependents(loop.test.jaxpr, [*test_consts, *after], smoothly=False)[0]
        return [True] * len(after) if tested and not smoothly else after
    inner = _called(equation)
    if inner is None:
        return [True] * len(equation.outvars)
    offset, jaxprs = inner
    if any(inputs[:offset]) and not smoothly:
        return [True] * len(equation.outvars)
    found = [dependents(jaxpr, inputs[offset:], smoothly=smoothly) for jaxpr in jaxprs]
    return [any(marks) for marks in zip(*found, strict=True)]


def requirements(jaxpr: Any, wanted: Sequence[bool]) -> list[bool]:
    """Which operands the wanted results depend on."""
    needed = {atom for atom, mark in zip(jaxpr.outvars, wanted, strict=True) if mark and not is_literal(atom)}
    for equation in reversed(jaxpr.eqns):
        results = [variable in needed for variable in equation.outvars]
        if any(results) or equation.effects:
            inputs = _equation_requirements(equation, results)
            needed.update(
                atom for atom, mark in zip(equation.invars, inputs, strict=True) if mark and not is_literal(atom)
            )
    return [variable in needed for variable in jaxpr.invars]


def _equation_requirements(equation: Any, results: list[bool]) -> Sequence[bool]:
    program = equation.params.get("program")
    if program is not None and jax_compat.kind(equation) is Kind.WHILE:
        return program.requirements(results)
    inner = _called(equation)
    if inner is None:
        return [True] * len(equation.invars)
    offset, jaxprs = inner
    found = [requirements(jaxpr, results) for jaxpr in jaxprs]
    return [True] * offset + [any(marks) for marks in zip(*found, strict=True)]


def _called(equation: Any) -> tuple[int, list[Any]] | None:
    """The jaxprs that an equation runs one of on its operands, after so many operands that say which."""
    kind = jax_compat.kind(equation)
    if kind is Kind.COND:
        return 1, [branch.jaxpr for branch in jax_compat.branches(equation)]
    if kind in (Kind.CALL, Kind.RULED, Kind.CHECKPOINT):
        program = jax_compat.called(equation.params)
        if program is not None and len(program.jaxpr.invars) == len(equation.invars):
            return 0, [program.jaxpr]
    return None


def is_smooth(aval: Any) -> bool:
    """Whether values of this type have derivatives."""
    dtype = getattr(aval, "dtype", None)
    return dtype is not None and jnp.issubdtype(dtype, jnp.inexact)


def moving_of(tangents: Sequence[Any]) -> Flags:
    """Which tangents are more than symbolic zeros."""
    return tuple(not jax_compat.is_zero(tangent) and is_smooth(jax.typeof(tangent)) for tangent in tangents)


def split(values: Sequence[Any], *counts: int) -> list[list[Any]]:
    """Consecutive groups of these sizes, and the rest."""
    groups, start = [], 0
    for count in counts:
        groups.append(list(values[start : start + count]))
        start += count
    return [*groups, list(values[start:])]
