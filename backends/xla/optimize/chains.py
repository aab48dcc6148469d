"""How many conditionals stand one behind another that XLA would see as selects of arrays.

XLA's fusions on a CPU compute an array again wherever it is read. So where a conditional's predicate is computed from an array
that a select made, which itself was computed from one, and so on, the program that XLA compiles grows with the square of their
number: a select of three numbers in each of 25, 50 and 100 functions that call each other takes it 0.5, 1.5 and 6.7 s. A conditional of
XLA ends such a chain, as what comes out of it is in memory: with every eighth left one it is 0.4, 0.9 and 1.9 s, and with all 0.6, 1.3
and 3.1 s.
"""

from __future__ import annotations

from typing import Any

from autograph.backends.xla import jax_compat
from autograph.backends.xla.cost_model import LONGEST_CHAIN
from autograph.backends.xla.jax_compat import Kind

# How many equations are looked at to find out: in longer ones, which are rare, a chain may be longer.
_MOST_SEEN = 400


def is_at_limit(predicate: Any) -> bool:
    """Whether a predicate comes after a chain of selects that is to get no longer."""
    return _length(predicate) >= LONGEST_CHAIN


def _length(value: Any) -> int:
    """How many selects of arrays are behind a value, one behind another."""
    lengths: dict[int, int] = {}
    pending = [jax_compat.recorded_by(value)]
    seen = 0
    while pending:
        equation = pending[-1]
        if equation is None or id(equation) in lengths:
            pending.pop()
            continue
        before = [] if _is_boundary(equation) else list(map(jax_compat.recorded_by, equation.invars))
        unknown = [each for each in before if each is not None and id(each) not in lengths]
        if unknown and seen < _MOST_SEEN:
            pending += unknown
            seen += len(unknown)
            continue
        length = max((lengths.get(id(each), 0) for each in before if each is not None), default=0)
        lengths[id(equation)] = length + _is_link(equation)
        pending.pop()
    first = jax_compat.recorded_by(value)
    return 0 if first is None else lengths[id(first)]


def _is_boundary(equation: Any) -> bool:
    """Whether results of an equation are in memory, and not computed again where they are read."""
    kind = jax_compat.kind(equation)
    if kind is Kind.COND:
        return not _may_be_select(equation)
    return kind in (Kind.WHILE, Kind.SCAN) or jax_compat.multiply_adds(equation) is not None


def _is_link(equation: Any) -> bool:
    is_array = any(getattr(var.aval, "size", 0) != 1 for var in equation.outvars)
    if jax_compat.kind(equation) is Kind.COND:
        return is_array and _may_be_select(equation)
    return is_array and jax_compat.is_select(equation) and equation.invars[0].aval.ndim == 0


def _may_be_select(equation: Any) -> bool:
    choice = equation.params.get("choice")
    return choice is not None and choice.may_run_both()
