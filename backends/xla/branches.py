"""A conditional primitive whose untaken branch does not affect derivatives, under ``vmap`` as well.

`jax.lax.cond` becomes a select under ``vmap`` when the lanes disagree: both branches run for every lane. Where the
one not taken has an infinite derivative (``sqrt`` below zero), the zero cotangent that the select passes to it comes out
as NaN. Two primitives help:

- ``cond`` (`cond_p`) is `jax.lax.cond` until it meets a batched predicate.
- ``cond_lanes`` (`lanes_p`) is what it is then. Evaluated, it runs both branches and selects, as JAX does.
  Differentiated, it first passes to the lanes that do not take a branch the operands of a lane that does, and runs no
  branch that no lane takes: all that is evaluated, plain Python evaluates too. Branches that hold loops are evaluated
  so in the first place, for on another lane's operands a loop might never end.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any

import jax
import jax.numpy as jnp

from autograph.backends.xla import jax_compat
from autograph.backends.xla.affine import known_part, left_for_later
from autograph.backends.xla.dependence import dependents, is_smooth, moving_of, split
from autograph.backends.xla.jax_compat import ClosedJaxpr, no_tangent, replay, strong, varying_everywhere
from autograph.backends.xla.lane_writes import write_elements
from autograph.backends.xla.linear import LinearMap, linear_p
from autograph.backends.xla.optimize.chains import is_at_limit
from autograph.backends.xla.optimize.selects import runs_both, why_one
from autograph.backends.xla.platforms import PLATFORMS, choices_on
from autograph.backends.xla.tracing import (
    choose,
    close_all,
    conform,
    has_loop,
    jvp,
    leading,
    lifted,
    mapped,
    merge,
    one_for_all,
    only,
    trace,
    zeros,
)


class Stays(Enum):
    """Why a conditional is to be one for XLA too, however short its branches are."""

    NOT = "it may be a select"
    FOR_WRITES = "it chooses what is written to an array after it"  # if the platform wants that: see `platforms`
    FOR_LENGTH = "it ends a chain of selects of arrays"  # see `optimize.chains`


def cond(
    predicate: Any, on_true: Callable[[], list[Any]], on_false: Callable[[], list[Any]], *, stays: Stays = Stays.NOT
) -> list[Any]:
    """`jax.lax.cond` on functions that close over their operands and return lists of arrays of the same types.

    ``stays``: whether it must not become a select.
    """
    closed = close_all([(on_false, ()), (on_true, ())])
    if closed is None:
        return list(jax.lax.cond(predicate, varying_everywhere(on_true), varying_everywhere(on_false)))
    (false_branch, true_branch), operands = closed
    tested = next((k for k, operand in enumerate(operands) if operand is predicate), None)
    branches = Branches(false_branch, true_branch, stays=stays, tested=tested)
    if stays is not Stays.FOR_LENGTH and branches.lengthens(predicate):
        branches = branches.staying(Stays.FOR_LENGTH)
    return _bind(branches, predicate, operands)


class Branches:
    """Two programs of the same operands. ``tangents``: of the derivative of another pair, that pair and its marks.

    ``stays``: see `cond`. ``tested``: which of the operands is the predicate itself, if one is.
    """

    def __init__(
        self,
        on_false: ClosedJaxpr,
        on_true: ClosedJaxpr,
        tangents: tuple[Branches, tuple[bool, ...], tuple[bool, ...]] | None = None,
        stays: Stays = Stays.NOT,
        tested: int | None = None,
    ) -> None:
        self.pair = (on_false, on_true)
        self.stays = stays
        self.tested = tested
        self.tangents = tangents
        self._derivatives: dict[Any, Branches] = {}

    def __repr__(self) -> str:
        return "Branches"

    def staying(self, stays: Stays) -> Branches:
        """The same, which stays a conditional for another reason."""
        return self if stays is self.stays else Branches(*self.pair, self.tangents, stays, self.tested)

    def with_parts(self, part: Callable[[Any], Any]) -> Branches:
        """The same of other sizes: ``part`` returns what a program, or another part, is then."""
        return Branches(part(self.pair[0]), part(self.pair[1]), part(self.tangents), self.stays, self.tested)

    def lengthens(self, predicate: Any) -> bool:
        """Whether it would be one select of arrays too many, one behind another, where it is lowered to one."""
        is_array = any(getattr(aval, "ndim", 0) for aval in self.results)
        return is_array and self.may_run_both() and is_at_limit(predicate)

    def may_run_both(self) -> bool:
        """Whether it is a select on some platform."""
        return any(map(self.runs_both_on, PLATFORMS))

    def runs_both_on(self, platform: str) -> bool:
        """Whether it is a select where it is lowered for this platform."""
        return not self._is_kept_on(platform) and runs_both(self.pair, choices_on(platform).selects)

    def why_on(self, platform: str) -> str:
        """What it is where it is lowered for this platform, and why."""
        reason = self.stays.value if self._is_kept_on(platform) else why_one(self.pair, choices_on(platform).selects)
        return "both branches run: they are short and pure" if reason is None else f"one branch runs: {reason}"

    def _is_kept_on(self, platform: str) -> bool:
        if self.stays is Stays.FOR_WRITES:
            return choices_on(platform).keeps_conditionals_of_writes
        return self.stays is Stays.FOR_LENGTH

    def run_one(self, predicate: Any, *operands: Any) -> list[Any]:
        if self._passed_on(1) > self._passed_on(0):
            # XLA copies an array that the second branch passes on, in each of the branches; one that the first does, in none.
            return list(jax.lax.cond(~predicate, self._branch(0), self._branch(1), *operands))
        return list(jax.lax.cond(predicate, self._branch(1), self._branch(0), *operands))

    def _passed_on(self, which: int) -> int:
        """How many arrays a branch returns unchanged."""
        jaxpr = self.pair[which].jaxpr
        given = {var for var in jaxpr.invars if getattr(var.aval, "ndim", 0)}
        return sum(not jax_compat.is_literal(atom) and atom in given for atom in jaxpr.outvars)

    def run_both(self, predicate: Any, *operands: Any) -> list[Any]:
        taken, other = (map(jnp.asarray, self._branch(which)(*operands)) for which in (1, 0))
        return [jax.lax.select(predicate, a, b) for a, b in zip(taken, other, strict=True)]

    def _branch(self, which: int) -> Callable[..., list[Any]]:
        def run(*operands: Any) -> list[Any]:
            if self.tested is not None:  # known here; a loop need not carry it, nor ask it
                known = jnp.asarray(bool(which))
                operands = (*operands[: self.tested], known, *operands[self.tested + 1 :])
            return conform(replay(self.pair[which], *operands), self.results)

        return run

    @property
    def avals(self) -> list[Any]:
        return list(self.pair[0].in_avals)

    @property
    def results(self) -> list[Any]:
        return [
            a if a.weak_type == b.weak_type else strong(a)
            for a, b in zip(self.pair[0].out_avals, self.pair[1].out_avals, strict=True)
        ]

    def moved(self, marked: Sequence[bool]) -> tuple[bool, ...]:
        """Which results have a derivative in the marked operands."""
        found = [dependents(branch.jaxpr, marked, smoothly=True) for branch in self.pair]
        return tuple(any(marks) for marks in zip(*found, strict=True))

    def derivative(self, marked: tuple[bool, ...]) -> Branches:
        """(operands, tangents of the marked) -> (results, tangents of the moved)."""
        if marked in self._derivatives:
            return self._derivatives[marked]
        moved = self.moved(marked)
        avals = [strong(aval) for aval in self.avals]
        results = [strong(aval) for aval in self.results]

        def of(branch: ClosedJaxpr) -> ClosedJaxpr:
            def run(*operands: Any) -> list[Any]:
                primals, tangents = split(operands, len(marked))
                outputs, pushed_on = jvp(lambda *o: replay(branch, *o), primals, marked, tangents)
                return conform([*outputs, *only(pushed_on, moved)], [*results, *only(results, moved)])

            return trace(run, [*avals, *only(avals, marked)])

        made = Branches(of(self.pair[0]), of(self.pair[1]), (self, marked, moved), self.stays, self.tested)
        self._derivatives[marked] = made
        return made


cond_p = jax_compat.new_primitive("cond")


def _bind(branches: Branches, predicate: Any, operands: Sequence[Any]) -> list[Any]:
    operands = jax_compat.vary_alike([predicate, *operands])
    return cond_p.bind(*operands, choice=branches, branches=branches.pair)


def _run_on(platform: str, *, choice: Branches, **_: Any) -> Callable[..., list[Any]]:
    return choice.run_both if choice.runs_both_on(platform) else choice.run_one


def is_select_on(platform: str, params: Mapping[str, Any]) -> bool:
    """Whether a conditional with these parameters is one of ours, and runs both of its branches on this platform."""
    choice = params.get("choice")
    return isinstance(choice, Branches) and choice.runs_both_on(platform)


def is_choice(equation: Any) -> bool:
    """Whether an equation is a conditional of ours, and no derivative of one."""
    choice = equation.params.get("choice")
    return isinstance(choice, Branches) and choice.tangents is None


def with_branches(equation: Any, made: Branches, operands: Sequence[Any], results: Sequence[Any]) -> Any:
    """A conditional of ours at the place of another, with other branches; ``operands`` begin with the predicate."""
    params = {**equation.params, "choice": made, "branches": made.pair}
    return jax_compat.equation_like(equation, equation.primitive, params, operands, results)


def choice_of_results(equation: Any, wanted: Sequence[bool], reduced: Callable[[ClosedJaxpr], ClosedJaxpr]) -> Any:
    """A conditional of ours with some of its results; ``reduced`` takes out of a branch what only the others need."""
    choice: Branches = equation.params["choice"]
    pair = [reduced(jax_compat.with_results(branch, only(branch.jaxpr.outvars, wanted))) for branch in choice.pair]
    made = Branches(pair[0], pair[1], stays=choice.stays, tested=choice.tested)
    return with_branches(equation, made, equation.invars, only(equation.outvars, wanted))


def _types(*_: Any, choice: Branches, **__: Any) -> list[Any]:
    return choice.results


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], *, choice: Branches, **_: Any) -> Any:
    predicate, *operands = primals
    marked = moving_of(tangents[1:])
    if not any(marked):
        outputs = _bind(choice, predicate, operands)
        return outputs, list(map(no_tangent, outputs))
    derivative = choice.derivative(marked)
    outputs = _bind(derivative, predicate, [*operands, *only(tangents[1:], marked)])
    outputs, moved = split(outputs, len(choice.results))
    return outputs, merge(list(map(no_tangent, outputs)), choice.moved(marked), moved)


def _partial_eval(trace: Any, *tracers: Any, choice: Branches, branches: Any) -> Any:
    if choice.tangents is not None:
        base, marked, moved = choice.tangents
        fixed, moving = split(tracers, 1 + len(marked))
        if jax_compat.are_known(fixed) and not jax_compat.are_known(moving):
            predicate, *operands = jax_compat.known_values(fixed)
            pullback = _Pullback(base, marked, moved)
            outputs = _bind(pullback.forward, predicate, operands)
            outputs, residuals = split(outputs, len(base.results))
            later = jax_compat.left_for_later(
                trace,
                linear_p,
                [predicate, *operands, *residuals, *moving],
                dict(function=pullback, fixed=1 + len(operands) + len(residuals)),
            )
            return [*outputs, *later]
    return left_for_later(trace, cond_p, tracers, dict(choice=choice, branches=branches))


def _known_part(equation: Any, unknown: Sequence[bool]) -> tuple[Any, list[bool]] | None:
    tangents = equation.params["choice"].tangents
    if tangents is None or any(unknown[: 1 + len(tangents[1])]):
        return known_part(equation, unknown)
    base, marked, _ = tangents
    first = 1 + len(marked)
    results = equation.outvars[: len(base.results)]
    params = dict(choice=base, branches=base.pair)
    known = jax_compat.equation_like(equation, cond_p, params, equation.invars[:first], results)
    return known, [False] * len(results) + [True] * (len(equation.outvars) - len(results))


class _Pullback(LinearMap):
    """(predicate, operands, residuals; tangents of operands) -> tangents of results."""

    def __init__(self, base: Branches, marked: tuple[bool, ...], moved: tuple[bool, ...]) -> None:
        self.base, self.marked, self.moved = base, marked, moved
        self.results = only(map(strong, base.results), moved)
        self._trees: list[Any] = []
        self._sources: list[list[int]] = []  # where each residual of a branch is, among operands and residuals
        self.forward = self._forward()

    def _forward(self) -> Branches:
        """(operands) -> (results, residuals of either branch), those of the branch not taken being zero."""
        avals = [strong(aval) for aval in self.base.avals]
        programs = []
        for branch in self.base.pair:

            def run(*operands: Any, branch: ClosedJaxpr = branch) -> list[Any]:
                def moving(*some: Any) -> tuple[list[Any], list[Any]]:
                    outputs = replay(branch, *merge(operands, self.marked, some))
                    return only(outputs, self.moved), outputs

                _, pull, outputs = jax.vjp(moving, *only(operands, self.marked), has_aux=True)
                leaves, tree = jax.tree.flatten(pull)
                self._trees.append(tree)
                return [*outputs, *leaves]

            programs.append(trace(run, avals))
        kinds: list[list[Any]] = []
        kept: list[list[int]] = []
        place = len(avals)
        count = len(self.base.results)
        for program in programs:
            taken = {variable: k for k, variable in enumerate(program.jaxpr.invars)}
            kinds.append([])
            kept.append(list(range(count)))
            self._sources.append([])
            for k, atom in enumerate(program.jaxpr.outvars[count:], count):
                if not jax_compat.is_literal(atom) and atom in taken:
                    self._sources[-1].append(taken[atom])
                else:
                    self._sources[-1].append(place)
                    place += 1
                    kinds[-1].append(program.out_avals[k])
                    kept[-1].append(k)
        results = [strong(aval) for aval in self.base.results]

        def padded(which: int) -> ClosedJaxpr:
            def run(*operands: Any) -> list[Any]:
                found = replay(programs[which], *operands)
                outputs, own = split([found[k] for k in kept[which]], count)
                other = [zeros(aval) for aval in kinds[1 - which]]
                return [*conform(outputs, results), *(own + other if which == 0 else other + own)]

            return trace(run, avals)

        return Branches(padded(0), padded(1), stays=self.base.stays, tested=self.base.tested)

    def apply(self, fixed: list[Any], moving: list[Any]) -> list[Any]:
        (predicate,), operands, _ = split(fixed, 1, len(self.marked))
        outputs = _bind(self.base.derivative(self.marked), predicate, [*operands, *moving])
        return outputs[len(self.base.results) :]

    def transpose(self, fixed: list[Any], cotangents: list[Any]) -> list[Any]:
        predicate, *known = fixed
        types = [strong(aval) for aval in only(self.base.avals, self.marked)]

        def back(which: int) -> Callable[[], list[Any]]:
            def run() -> list[Any]:
                pull = jax.tree.unflatten(self._trees[which], [known[k] for k in self._sources[which]])
                return conform(list(pull(list(cotangents))), types)

            return run

        return cond(predicate, back(1), back(0))


def _batch(axis: Any, operands: Sequence[Any], dims: Sequence[Any], *, choice: Branches, **_: Any) -> Any:
    flags = [dim is not None for dim in dims[1:]]
    predicate, *operands = leading(operands, dims)
    found = [dependents(branch.jaxpr, flags, smoothly=False) for branch in choice.pair]
    in_lanes = dims[0] is not None
    results = [in_lanes or any(marks) for marks in zip(*found, strict=True)]
    avals = [lifted(aval, axis, flag) for aval, flag in zip(choice.avals, flags, strict=True)]
    types = [lifted(aval, axis, flag) for aval, flag in zip(choice.results, results, strict=True)]

    def lift(branch: ClosedJaxpr) -> ClosedJaxpr:
        lanes = mapped(lambda *operands: replay(branch, *operands), axis, flags, results)
        return write_elements(trace(lambda *operands: conform(lanes(*operands), types), avals))

    tested = None if in_lanes else choice.tested
    stays = Stays.FOR_LENGTH if choice.stays is Stays.FOR_LENGTH else Stays.NOT
    branches = Branches(lift(choice.pair[0]), lift(choice.pair[1]), stays=stays, tested=tested)
    if in_lanes:
        lanes = Lanes.of(branches, flags)
        outputs = lanes_p.bind(predicate, *operands, lanes=lanes)
    else:
        outputs = _bind(branches, predicate, operands)
    return outputs, [0 if flag else None for flag in results]


# Lanes that disagree.

lanes_p = jax_compat.new_primitive("cond_lanes")


class Lanes:
    """(predicates, operands) -> results, as they are evaluated and as derivatives see them.

    ``again``: makes the same of other sizes; see `with_parts`. ``has_loop``: whether a branch has one that ends by a test.
    """

    def __init__(
        self,
        plain: Callable[..., list[Any]],
        smooth: Callable[..., list[Any]],
        results: list[Any],
        again: Callable[[Callable[[Any], Any]], Lanes],
        has_loop: bool,
    ) -> None:
        self.plain, self.smooth, self.results, self._again = plain, smooth, results, again
        self.has_loop = has_loop

    def with_parts(self, part: Callable[[Any], Any]) -> Lanes:
        """The same of other sizes: ``part`` returns what a program, or another part, is then."""
        return self._again(part)

    def __repr__(self) -> str:
        return "Lanes"

    @classmethod
    def of(cls, branches: Branches, flags: Sequence[bool]) -> Lanes:
        on_false, on_true = branches.pair
        results = branches.results

        def plain(predicate: Any, *operands: Any) -> list[Any]:
            return choose(predicate, replay(on_true, *operands), replay(on_false, *operands))

        def smooth(predicate: Any, *operands: Any) -> list[Any]:
            def side(active: Any, branch: ClosedJaxpr) -> list[Any]:
                safe = one_for_all(active, operands, flags)
                return cond(
                    jnp.any(active),
                    lambda: conform(replay(branch, *safe), results),
                    lambda: [zeros(aval) for aval in results],
                )

            return choose(predicate, side(predicate, on_true), side(~predicate, on_false))

        def again(part: Callable[[Any], Any]) -> Lanes:
            return cls.of(part(branches), flags)

        loops = any(map(has_loop, branches.pair))
        return cls(smooth if loops else plain, smooth, results, again, loops)

    def batched(self, axis: Any, flags: Sequence[bool]) -> Lanes:
        """For a batch, in which the marked predicates and operands have a leading axis."""
        everywhere = [True] * len(self.results)
        return Lanes(
            mapped(self.plain, axis, flags, everywhere),
            mapped(self.smooth, axis, flags, everywhere),
            [lifted(aval, axis, True) for aval in self.results],
            lambda part: self.with_parts(part).batched(dataclasses.replace(axis, size=part(axis.size)), flags),
            self.has_loop,
        )


def _run_lanes(*operands: Any, lanes: Lanes) -> list[Any]:
    return lanes.plain(*operands)


def _lane_types(*_: Any, lanes: Lanes) -> list[Any]:
    return [strong(aval) for aval in lanes.results]


def _lanes_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, lanes: Lanes) -> Any:
    marked = moving_of(tangents)
    if not any(marked):
        outputs = lanes_p.bind(*primals, lanes=lanes)
        return outputs, list(map(no_tangent, outputs))
    outputs, moved = jvp(lambda *operands: lanes.smooth(*operands), primals, marked, only(tangents, marked))
    return outputs, [t if is_smooth(jax.typeof(o)) else no_tangent(o) for o, t in zip(outputs, moved, strict=True)]


def _lanes_batch(axis: Any, operands: Sequence[Any], dims: Sequence[Any], *, lanes: Lanes) -> Any:
    flags = [dim is not None for dim in dims]
    operands = leading(operands, dims)
    outer = lanes.batched(axis, flags)
    return lanes_p.bind(*operands, lanes=outer), [0] * len(lanes.results)


jax_compat.define(cond_p, types=_types, run_on=_run_on, jvp=_jvp, batch=_batch)
jax_compat.define(lanes_p, types=_lane_types, run=_run_lanes, jvp=_lanes_jvp, batch=_lanes_batch)
jax_compat.define_partial_evaluation(cond_p, _partial_eval, _known_part)
jax_compat.define_partial_evaluation(
    lanes_p, lambda trace, *tracers, **params: left_for_later(trace, lanes_p, tracers, params), known_part
)
