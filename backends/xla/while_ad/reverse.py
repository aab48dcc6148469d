"""The reverse-mode derivative of a staged loop, and how it composes with forward mode.

Three primitives, each closed under ``jvp`` and ``vmap``:

- ``while`` (`primitive.loop_p`) runs a `LoopProgram`; where nothing differentiates it, it is `jax.lax.while_loop`.
Its forward derivative is the ``while`` of carry and tangents together.
- ``while_recorded`` (`primitive.record_p`) also keeps rows on the way: states, and what of an iteration's derivative
it pays to keep (`rows`, `residuals`); how many, says `checkpoints`.
- ``while_reversed`` (`reverse_sweep.sweep_p`) runs a step over those states from the last to the first: with the step
  that pulls cotangents back through one iteration, it is the reverse pass.

Reverse mode begins where JAX asks for the part of a ``while`` of carry and tangents that does not need the tangents
(partial evaluation): the carry is computed then, and recorded; what is left is a linear map of the tangents, whose
transpose is the sweep.

A sweep is linear in the cotangents, and that is all that second derivatives need: with body ``f`` and step ``s`` on
cotangents ``y``, the transpose of the sweep's tangent is a sweep again, over the states of the loop of ``x`` and
``w``, where the transpose of ``s`` pushes ``w`` forward. So no reverse pass is ever differentiated operation by
operation, and the gradient of a gradient keeps as few states as a gradient.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax

from autograph.backends.xla import jax_compat
from autograph.backends.xla.affine import known_part, left_for_later
from autograph.backends.xla.dependence import split
from autograph.backends.xla.jax_compat import replay, strong
from autograph.backends.xla.linear import LinearMap
from autograph.backends.xla.linear import linear_p as _linear_p
from autograph.backends.xla.tracing import conform, only, vjp
from autograph.backends.xla.while_ad.primitive import bind_loop, bind_states, loop_p
from autograph.backends.xla.while_ad.primitive import while_loop as while_loop
from autograph.backends.xla.while_ad.program import LoopProgram, Tangents
from autograph.backends.xla.while_ad.reverse_sweep import Sweep, bind_sweep
from autograph.backends.xla.while_ad.rows import Rows


def _loop_partial_eval(trace: Any, *tracers: Any, program: LoopProgram, **params: Any) -> Any:
    """Where values are known and tangents are not: run and record now, leave a linear map of the tangents for later."""
    tangents = program.tangents
    if tangents is None:
        return left_for_later(trace, loop_p, tracers, dict(program=program, **params))
    consts, const_tangents, start, carry_tangents = tangents.split(tracers)
    if not jax_compat.are_known([*consts, *start]) or jax_compat.are_known([*const_tangents, *carry_tangents]):
        return left_for_later(trace, loop_p, tracers, dict(program=program, **params))
    consts, start = jax_compat.known_values(consts), jax_compat.known_values(start)
    reverse = Reverse.of(tangents)
    last, states = bind_record(reverse, consts, start)
    later = jax_compat.left_for_later(
        trace,
        _linear_p,
        [*consts, *start, *states, *const_tangents, *carry_tangents],
        dict(function=_LoopTangent(reverse), fixed=len(consts) + len(start) + len(states)),
    )
    return [*last, *later]


def _loop_known_part(equation: Any, unknown: Sequence[bool]) -> tuple[Any, list[bool]] | None:
    """The same within a jaxpr that is rematerialised: the values now, values and tangents together later."""
    tangents, inputs, results = equation.params["program"].tangents, equation.invars, equation.outvars
    if tangents is None:
        return known_part(equation, unknown)
    consts, _, start, _ = tangents.split(range(len(inputs)))
    if any(unknown[k] for k in (*consts, *start)):
        return known_part(equation, unknown)
    base = tangents.program
    params = dict(program=base, cond_jaxpr=base.test, body_jaxpr=base.body)
    last = results[: len(start)]
    known = jax_compat.equation_like(equation, loop_p, params, [inputs[k] for k in (*consts, *start)], last)
    return known, [False] * len(last) + [True] * (len(results) - len(last))


class _LoopTangent(LinearMap):
    """(consts, start, states; tangents of consts and start) -> tangents of the last carry."""

    def __init__(self, reverse: Reverse) -> None:
        self.reverse = reverse
        tangents = reverse.tangents
        self.results = only(map(strong, tangents.program.carry_avals), tangents.carry)

    def apply(self, fixed: list[Any], moving: list[Any]) -> list[Any]:
        tangents = self.reverse.tangents
        program = tangents.program
        consts, start, _ = split(fixed, program.consts, len(program.carry_avals))
        const_tangents, carry_tangents = split(moving, sum(tangents.consts))
        derivative = program.derivative(tangents.consts, tangents.carry)
        outputs = bind_loop(derivative, [*consts, *const_tangents], [*start, *carry_tangents])
        return tangents.split_results(outputs)[1]

    def transpose(self, fixed: list[Any], cotangents: list[Any]) -> list[Any]:
        program = self.reverse.tangents.program
        consts, start, states = split(fixed, program.consts, len(program.carry_avals))
        reverse = self.reverse
        sums, first = bind_sweep(reverse.sweep, consts, reverse.part(start), cotangents, states)
        return [*sums, *first]


class Reverse:
    """The reverse pass of a program with respect to marked operands: the sweep, and which of the carry it must see."""

    def __init__(self, tangents: Tangents, sweep: Sweep, kept: tuple[int, ...]) -> None:
        self.tangents, self.sweep, self.kept = tangents, sweep, kept

    @classmethod
    def of(cls, tangents: Tangents) -> Reverse:
        if tangents.reverse is None:
            tangents.reverse = cls._make(tangents)
        made: Reverse = tangents.reverse
        return made

    @classmethod
    def _make(cls, tangents: Tangents) -> Reverse:
        program = tangents.program
        marked = (*tangents.consts, *tangents.carry)

        def pull(consts: list[Any], carry: list[Any], cotangents: list[Any]) -> tuple[list[Any], list[Any]]:
            def moving(*operands: Any) -> list[Any]:
                return only(replay(program.smooth, *operands), tangents.carry)

            outputs, back = vjp(moving, [*consts, *carry], marked)
            found = back(conform(cotangents, map(jax.typeof, outputs)))
            sums, before = split(found, sum(tangents.consts))
            return sums, before

        return cls(tangents, *Sweep.over(program, pull, only(program.carry_avals, tangents.carry)))

    def part(self, carry: Sequence[Any]) -> list[Any]:
        return [carry[k] for k in self.kept]


def bind_record(reverse: Reverse, consts: Sequence[Any], start: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Run the program; its last carry, and the states that the reverse pass takes."""
    own = reverse.sweep.over_rows
    rows = Rows(tuple(reverse.kept[k] for k in own.rows.kept), own.rows.emit)
    return bind_states(reverse.tangents.program, consts, start, rows, own.plan)


jax_compat.define_partial_evaluation(loop_p, _loop_partial_eval, _loop_known_part)
