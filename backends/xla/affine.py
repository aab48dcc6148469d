"""What is left for later of an operation some of whose operands are not known, where it is an affine function of these.

Such an operation holds values and tangents together, as a conditional or loop in the rule of a `jax.custom_jvp` does. The
results that need no tangent have their values now, which JAX requires of such a rule, and the others have a transpose:
that of the derivative at zero.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from autograph.backends.xla import jax_compat
from autograph.backends.xla.dependence import dependents, is_smooth
from autograph.backends.xla.linear import LinearMap, linear_p
from autograph.backends.xla.tracing import conform, jvp, merge, only, trace, vjp, zeros


def left_for_later(where: Any, primitive: Any, tracers: Sequence[Any], params: Mapping[str, Any]) -> list[Any]:
    """A rule of partial evaluation; ``where`` is its trace."""

    def run(*operands: Any) -> list[Any]:
        return list(primitive.bind(*operands, **params))

    avals = [tracer.aval for tracer in tracers]
    unknown = [not jax_compat.are_known([tracer]) for tracer in tracers]
    found = _Slope.of(run, avals, unknown) if any(unknown) else None
    if found is None:
        return jax_compat.left_for_later(where, primitive, tracers, params)
    known = jax_compat.known_values(only(tracers, [not flag for flag in unknown]))
    now = run(*found.operands(known))
    moving = only(tracers, unknown)
    later = jax_compat.left_for_later(where, linear_p, [*known, *moving], dict(function=found, fixed=len(known)))
    sums = [jax_compat.sum_left_for_later(where, a, b) for a, b in zip(only(now, found.marked), later, strict=True)]
    return merge(now, found.marked, sums)


def known_part(equation: Any, unknown: Sequence[bool]) -> tuple[Any, list[bool]] | None:
    """The same within a jaxpr that is rematerialised: see `jax_compat.define_partial_evaluation`."""

    def run(*operands: Any) -> list[Any]:
        return list(equation.primitive.bind(*operands, **equation.params))

    avals = [atom.aval for atom in equation.invars]
    moved = dependents(trace(run, avals).jaxpr, unknown, smoothly=False)
    known, left = [not flag for flag in unknown], [not flag for flag in moved]
    if not any(left):
        return None
    function = _Now(run, avals, unknown, left, only([var.aval for var in equation.outvars], left))
    params = dict(function=function, fixed=sum(known))
    results = only(equation.outvars, left)
    return jax_compat.equation_like(equation, linear_p, params, only(equation.invars, known), results), moved


class _Part(LinearMap):
    """Of an operation some of whose operands are not known, the marked results."""

    def __init__(
        self,
        run: Callable[..., list[Any]],
        avals: Sequence[Any],
        unknown: Sequence[bool],
        marked: Sequence[bool],
        results: Sequence[Any],
    ) -> None:
        self.run, self.avals, self.unknown, self.marked, self.results = run, avals, unknown, marked, results

    def operands(self, known: Sequence[Any]) -> list[Any]:
        """All of them, with zero for what is not known."""
        left = iter(known)
        return [zeros(aval) if flag else next(left) for aval, flag in zip(self.avals, self.unknown, strict=True)]


class _Now(_Part):
    """The known operands -> the results that depend on no others."""

    def apply(self, fixed: list[Any], _: list[Any]) -> list[Any]:
        return conform(only(self.run(*self.operands(fixed)), self.marked), self.results)


class _Slope(_Part):
    """(known operands; the others) -> what these add to the results that depend on them."""

    @classmethod
    def of(cls, run: Callable[..., list[Any]], avals: Sequence[Any], unknown: Sequence[bool]) -> _Slope | None:
        """None where the operation is not affine, or has no derivative."""
        program = trace(run, avals)
        moved = dependents(program.jaxpr, unknown, smoothly=False)
        results, tangents = only(program.out_avals, moved), only(avals, unknown)
        if not all(map(is_smooth, [*results, *tangents])):
            return None

        def pushed_on(*operands: Any) -> list[Any]:
            return only(jvp(run, operands[: len(avals)], unknown, operands[len(avals) :])[1], moved)

        derivative = trace(pushed_on, [*avals, *tangents])
        if any(dependents(derivative.jaxpr, [*unknown, *(False for _ in tangents)], smoothly=False)):
            return None
        return cls(run, avals, unknown, moved, results)

    def apply(self, fixed: list[Any], moving: list[Any]) -> list[Any]:
        moving = conform(moving, only(self.avals, self.unknown))
        return only(jvp(self.run, self.operands(fixed), self.unknown, moving)[1], self.marked)

    def transpose(self, fixed: list[Any], cotangents: list[Any]) -> list[Any]:
        _, back = vjp(lambda *operands: only(self.run(*operands), self.marked), self.operands(fixed), self.unknown)
        return back(conform(cotangents, self.results))
