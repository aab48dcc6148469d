"""What depends on what in a jaxpr: forward from operands, backward from results, at any depth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp

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
    return [not hasattr(atom, "val") and atom in known for atom in jaxpr.outvars]


def dependent_variables(jaxpr: Any, marked: Sequence[bool], *, smoothly: bool) -> set[Any]:
    """The variables that depend on the marked operands, these included."""
    known = {variable for variable, mark in zip(jaxpr.invars, marked, strict=True) if mark}
    for equation in jaxpr.eqns:
        inputs = [not hasattr(atom, "val") and atom in known for atom in equation.invars]
        if any(inputs) and not (smoothly and equation.primitive.name == "stop_gradient"):
            results = _equation_dependents(equation, inputs, smoothly)
            known.update(
                variable
                for variable, mark in zip(equation.outvars, results, strict=True)
                if mark and (not smoothly or is_smooth(variable.aval))
            )
    return known


def _equation_dependents(equation: Any, inputs: list[bool], smoothly: bool) -> Sequence[bool]:
    """Exact for what runs jaxprs: a batch must not spread to what does not depend on it."""
    name, params = equation.primitive.name, equation.params
    for owner in (params.get("program"), params.get("sweep")):
        if owner is not None:
            return owner.dependents(inputs, smoothly, params)
    if name == "scan":
        body = params["jaxpr"].jaxpr
        consts, carry, slices = split(inputs, *scan_counts(equation))
        carry = closure(body, consts, carry, slices, smoothly=smoothly)
        rows = dependents(body, [*consts, *carry, *slices], smoothly=smoothly)[len(carry) :]
        return [*carry, *rows]
    if name == "while":
        test_consts, consts, carry = split(inputs, params["cond_nconsts"], params["body_nconsts"])
        after = closure(params["body_jaxpr"].jaxpr, consts, carry, smoothly=smoothly)
        tested = dependents(params["cond_jaxpr"].jaxpr, [*test_consts, *after], smoothly=False)[0]
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
    needed = {atom for atom, mark in zip(jaxpr.outvars, wanted, strict=True) if mark and not hasattr(atom, "val")}
    for equation in reversed(jaxpr.eqns):
        results = [variable in needed for variable in equation.outvars]
        if any(results) or equation.effects:
            inputs = _equation_requirements(equation, results)
            needed.update(
                atom for atom, mark in zip(equation.invars, inputs, strict=True) if mark and not hasattr(atom, "val")
            )
    return [variable in needed for variable in jaxpr.invars]


def _equation_requirements(equation: Any, results: list[bool]) -> Sequence[bool]:
    program = equation.params.get("program")
    if program is not None and equation.primitive.name == "while":
        return program.requirements(results)
    inner = _called(equation)
    if inner is None:
        return [True] * len(equation.invars)
    offset, jaxprs = inner
    found = [requirements(jaxpr, results) for jaxpr in jaxprs]
    return [True] * offset + [any(marks) for marks in zip(*found, strict=True)]


_CALLS = ("jit", "pjit", "closed_call", "eval_jaxpr", "checkpoint", "remat2", "custom_jvp_call", "custom_vjp_call")


def _called(equation: Any) -> tuple[int, list[Any]] | None:
    """The jaxprs that an equation runs one of on its operands, after so many operands that say which."""
    if equation.primitive.name == "cond":
        return 1, [branch.jaxpr for branch in equation.params["branches"]]
    if equation.primitive.name in _CALLS:
        jaxpr = equation.params.get("jaxpr", equation.params.get("call_jaxpr"))
        jaxpr = getattr(jaxpr, "jaxpr", jaxpr)
        if jaxpr is not None and len(jaxpr.invars) == len(equation.invars):
            return 0, [jaxpr]
    return None


def scan_counts(equation: Any) -> tuple[int, int]:
    """How many consts and how many carried values a ``scan`` has.

    Its body has an operand less in rank for each array that it takes slices of, and for each that it stacks.
    """
    body = equation.params["jaxpr"].jaxpr

    def whole(inner: Sequence[Any], outer: Sequence[Any]) -> int:
        return sum(len(a.aval.shape) == len(b.aval.shape) for a, b in zip(inner, outer, strict=True))

    carried = whole(body.outvars, equation.outvars)
    return whole(body.invars, equation.invars) - carried, carried


def is_smooth(aval: Any) -> bool:
    """Whether values of this type have derivatives."""
    dtype = getattr(aval, "dtype", None)
    return dtype is not None and jnp.issubdtype(dtype, jnp.inexact)


def split(values: Sequence[Any], *counts: int) -> list[list[Any]]:
    """Consecutive groups of these sizes, and the rest."""
    groups, start = [], 0
    for count in counts:
        groups.append(list(values[start : start + count]))
        start += count
    return [*groups, list(values[start:])]
