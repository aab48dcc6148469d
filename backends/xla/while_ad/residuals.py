"""Compute the part of a reverse step that does not depend on cotangents in the forward loop, as residuals.

A step over a state computes the iteration again and pulls cotangents back through it. Where the iteration is a few
matrix products and functions like ``tanh``, it is quicker to keep what they returned, as `jax.lax.scan` does. What
arithmetic gives is computed again from that. A body with control flow in it is run again as a whole: it would be
compiled twice, once for the loop and once for its residuals, where XLA merges plain operations that occur in both.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from autograph.backends.xla import jax_compat
from autograph.backends.xla.dependence import dependent_variables
from autograph.backends.xla.jax_compat import ClosedJaxpr, Kind
from autograph.backends.xla.parts import evaluate_equations, needed_for
from autograph.backends.xla.tracing import trace
from autograph.backends.xla.while_ad.checkpoints import size_in_bytes

# Computed again: it costs less than to write and read it.
_ARITHMETIC = frozenset(
    {
        *(
            "add",
            "sub",
            "mul",
            "neg",
            "max",
            "min",
            "abs",
            "sign",
            "add_any",
            "integer_pow",
            "square",
            "one_minus_square",
            "clamp",
        ),
        *("eq", "ne", "lt", "le", "gt", "ge", "and", "or", "not", "xor", "select_n", "stop_gradient", "copy"),
        *("convert_element_type", "broadcast_in_dim", "reshape", "squeeze", "transpose", "rev", "slice"),
        *("floor", "ceil", "round", "is_finite", "iota"),
    }
)
# Computed again from the state; kept rather than what it takes, if that is to be kept.
_QUICK = frozenset(
    {
        *("exp", "exp2", "expm1", "log", "log2", "log1p", "sqrt", "rsqrt", "cbrt", "div", "rem", "pow", "erf", "erfc"),
        *("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "logistic", "erf_inv"),
        *("lgamma", "digamma", "concatenate", "pad", "gather", "dynamic_slice"),
    }
)
# Kept.
_OTHERS = frozenset(
    {
        *("dot_general", "conv_general_dilated", "cumsum", "cumprod", "cumlogsumexp"),
        *("reduce_sum", "reduce_max", "reduce_min", "reduce_prod", "argmax", "argmin"),
    }
)
_PLAIN = _ARITHMETIC | _QUICK | _OTHERS


class Residuals:
    """A reverse step in two halves.

    Attributes:
      emit: ``(*consts, *state) -> residuals``, to be computed in the iteration.
      step: ``(*consts, *state, *residuals, *value) -> (*summands, *value)``.
    """

    def __init__(self, emit: ClosedJaxpr, step: ClosedJaxpr) -> None:
        self.emit, self.step = emit, step

    @classmethod
    def of(cls, step: ClosedJaxpr, consts: int, state: int) -> Residuals | None:
        """The halves of ``(*consts, *state, *value) -> (*summands, *value)``; None if keeping anything saves nothing."""
        step = _inlined(step)
        first, value = step.jaxpr.invars[: consts + state], step.jaxpr.invars[consts + state :]
        chosen = _Choice(step.jaxpr, consts, state).chosen()
        if not chosen:
            return None
        emit = _part(step, first, chosen)
        back = _part(step, [*first, *chosen, *value], step.jaxpr.outvars)
        if any(jax_compat.name_of(equation) not in _PLAIN for equation in emit.jaxpr.eqns):
            return None
        if any(jax_compat.name_of(equation) == "pad" for equation in back.jaxpr.eqns):
            return None  # XLA on CPU would slice the rows again for each element of the padded array
        return cls(emit, back)


class _Choice:
    """Chooses what of a step's first half to keep: where the second half begins, but for arithmetic."""

    def __init__(self, jaxpr: Any, consts: int, state: int) -> None:
        self.jaxpr = jaxpr
        count = len(jaxpr.invars)
        self.later = dependent_variables(jaxpr, [k >= consts + state for k in range(count)], smoothly=False)
        varying = dependent_variables(jaxpr, [consts <= k < consts + state for k in range(count)], smoothly=False)
        self._order: dict[Any, int] = {}
        self._kept_for: dict[Any, frozenset[Any]] = {}  # what must be kept so that a variable can be computed
        for k, equation in enumerate(jaxpr.eqns):
            for variable in equation.outvars:
                self._order[variable] = k
                if variable in varying and variable not in self.later:
                    self._kept_for[variable] = self._find(variable, equation)

    def chosen(self) -> list[Any]:
        needed = [
            atom
            for equation in self.jaxpr.eqns
            if any(variable in self.later for variable in equation.outvars)
            for atom in equation.invars
        ]
        found: set[Any] = set()
        for atom in [*needed, *self.jaxpr.outvars]:
            if not jax_compat.is_literal(atom):
                found |= self._kept_for.get(atom, frozenset())
        return sorted(found, key=self._order.__getitem__)

    def _find(self, variable: Any, equation: Any) -> frozenset[Any]:
        own = frozenset([variable])
        name = jax_compat.name_of(equation)
        if name not in _ARITHMETIC | _QUICK or len(equation.outvars) > 1:
            return own
        operands = [atom for atom in equation.invars if not jax_compat.is_literal(atom)]
        parts: frozenset[Any] = frozenset().union(*(self._kept_for.get(atom, frozenset()) for atom in operands))
        if not parts:
            return parts
        saved = _bytes(parts) - _bytes(own)
        return own if saved > 0 or (saved == 0 and name in _QUICK) else parts


def _bytes(variables: Iterable[Any]) -> int:
    return sum(size_in_bytes(variable.aval) for variable in variables)


def _part(program: ClosedJaxpr, operands: Sequence[Any], results: Sequence[Any]) -> ClosedJaxpr:
    """The equations from some of a program's variables to others."""
    equations, _ = needed_for(program.jaxpr.eqns, results, operands)
    return jax_compat.program_of(equations, operands, results, jax_compat.constants_of(program))


def _inlined(program: ClosedJaxpr) -> ClosedJaxpr:
    """The same program with the equations of the functions that it calls in its own."""
    if not any(jax_compat.kind(equation) is Kind.CALL for equation in program.jaxpr.eqns):
        return program
    return trace(lambda *operands: _evaluated(program, operands), program.in_avals)


def _evaluated(program: ClosedJaxpr, operands: Sequence[Any]) -> list[Any]:
    jaxpr = program.jaxpr
    known = jax_compat.constants_of(program) | dict(zip(jaxpr.invars, operands, strict=True))

    def value(atom: Any) -> Any:
        return atom.val if jax_compat.is_literal(atom) else known[atom]

    own: list[Any] = []
    for equation in jaxpr.eqns:
        if jax_compat.kind(equation) is not Kind.CALL:
            own.append(equation)
            continue
        evaluate_equations(own, known)
        own = []
        inner = jax_compat.called(equation.params)
        assert inner is not None
        known.update(zip(equation.outvars, _evaluated(inner, list(map(value, equation.invars))), strict=True))
    evaluate_equations(own, known)
    return list(map(value, jaxpr.outvars))
