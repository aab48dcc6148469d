"""The forms chosen for loops and conditionals, as text: one line for each, with the user's line and the reason."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from autograph.backends.xla import jax_compat
from autograph.backends.xla.jax_compat import Kind


def choices_text(jaxpr: Any, platform: str) -> str:
    """A line for each loop and conditional of a program, in order: where it is, what it is, and what it is for a platform, and why."""
    found = [line for equation in jax_compat.all_equations(jaxpr) for line in _lines(equation, platform)]
    if not found:
        return "no loop, no conditional, and no select of a scalar predicate"
    width = [max(len(row[k]) for row in found) for k in (0, 1)]
    return "\n".join(f"{where:<{width[0]}}  {what:<{width[1]}}  {why}" for where, what, why in found)


def _lines(equation: Any, platform: str) -> Iterator[tuple[str, str, str]]:
    where = jax_compat.source_line(equation)
    kind, params = jax_compat.kind(equation), equation.params
    choice, program = params.get("choice"), params.get("program")
    if kind is Kind.COND and hasattr(choice, "why_on"):
        yield where, "conditional", choice.why_on(platform)
    elif kind is Kind.WHILE and hasattr(program, "why_on"):
        yield where, "while", program.why_on(platform)
    elif kind is Kind.SCAN:
        options = jax_compat.scan_of(equation).options
        unroll = int(options["unroll"])
        times = f"{options['length']} iterations"
        yield where, "scan", times if unroll == 1 else f"{times}, {unroll} in each of XLA's loop"
    elif jax_compat.is_select(equation) and getattr(equation.invars[0].aval, "shape", None) == ():
        yield where, "select", "both values are computed, and one is chosen"
