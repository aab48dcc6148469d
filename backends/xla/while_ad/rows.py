"""Buffers with one row of saved values per iteration, and the reverse sweep over them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from autograph.backends.xla import jax_compat
from autograph.backends.xla.dependence import dependents, requirements, split
from autograph.backends.xla.jax_compat import ClosedJaxpr, replay, strong
from autograph.backends.xla.tracing import INTEGER, choose, conform, lifted, mapped, one_for_all, trace, zeros
from autograph.backends.xla.while_ad.checkpoints import Again, Plan, Record
from autograph.backends.xla.while_ad.program import LoopProgram
from autograph.backends.xla.while_ad.residuals import Residuals


@dataclass(frozen=True)
class Rows:
    """What is kept of a state: the carry in ``kept`` and, if there are any, residuals: ``emit(*consts, *kept)``."""

    kept: tuple[int, ...]
    emit: ClosedJaxpr | None

    def of(self, consts: Sequence[Any], some: Sequence[Any]) -> list[Any]:
        """The row of a state of which the kept carry is given."""
        return [*some, *([] if self.emit is None else replay(self.emit, *consts, *some))]

    def first(self, some: Sequence[Any]) -> list[Any]:
        """Values of the types of a row."""
        return [*some, *(zeros(aval) for aval in self.residuals)]

    @property
    def residuals(self) -> list[Any]:
        """Their types."""
        return [] if self.emit is None else [strong(aval) for aval in self.emit.out_avals]

    def dependents(self, consts: Sequence[bool], some: Sequence[bool]) -> list[bool]:
        """Which values of a row depend on the marked consts and kept carry."""
        found = [] if self.emit is None else dependents(self.emit.jaxpr, [*consts, *some], smoothly=False)
        return [*some, *found]

    def batched(self, axis: Any, consts: Sequence[bool], some: Sequence[bool]) -> Rows:
        if self.emit is None:
            return self
        flags = [*consts, *some]
        return Rows(self.kept, _lanes(self.emit, axis, flags, self.dependents(consts, some)[len(self.kept) :]))


class RowSweep:
    """How a reverse pass goes over rows.

    A step has its number. In a batch whose lanes end by themselves, ``extras`` say at which number each did.

    Attributes:
      plan: how many rows there are.
      rows: what a row is.
      consts, extras: how many there are.
      advance: ``(*consts, *extras, number, *kept) -> kept``, one iteration.
      back: ``(*consts, *extras, number, *row, *value) -> (*summands, *value)``.
    """

    def __init__(
        self, plan: Plan, rows: Rows, consts: int, extras: int, advance: ClosedJaxpr, back: ClosedJaxpr
    ) -> None:
        self.plan, self.rows, self.consts, self.extras = plan, rows, consts, extras
        self.advance, self.back = advance, back

    def with_parts(self, part: Callable[[Any], Any]) -> RowSweep:
        """The same of other sizes: ``part`` returns what a program, or another part, is then."""
        return RowSweep(part(self.plan), part(self.rows), self.consts, self.extras, part(self.advance), part(self.back))

    @classmethod
    def of(cls, program: LoopProgram, step: ClosedJaxpr) -> RowSweep:
        """For a step ``(*consts, *carry, *value) -> (*summands, *value)``. What only the loop's test needs is not kept."""
        n, count = program.consts, len(program.carry_avals)
        used = requirements(step.jaxpr, [True] * len(step.jaxpr.outvars))[n:][:count]
        kept = program.needed(k for k, mark in enumerate(used) if mark)
        consts, value = program.const_avals, step.in_avals[n + count :]
        some = [strong(program.carry_avals[k]) for k in kept]
        plan = Plan.of(some, program.bound, program.slots)

        def advance(*operands: Any) -> list[Any]:
            consts, _, some = split(operands, n, 1)
            after = program.step(consts, program.filled(kept, some))
            return conform([after[k] for k in kept], avals)

        def whole(*operands: Any) -> list[Any]:
            consts, some, value = split(operands, n, len(kept))
            return replay(step, *consts, *program.filled(kept, some), *value)

        avals = some
        half = trace(whole, [*consts, *some, *value])
        rows = Rows(kept, None)
        ends_by_lanes = program.smooth is not program.body  # and lanes that have ended are not like the body
        if program.slots is None and not ends_by_lanes:
            residuals = Residuals.of(half, n, len(kept))
            if residuals is not None and plan.has_room([*some, *residuals.emit.out_avals]):
                rows, half = Rows(kept, residuals.emit), residuals.step

        def back(*operands: Any) -> list[Any]:
            consts, _, others = split(operands, n, 1)
            return replay(half, *consts, *others)

        return cls(
            plan,
            rows,
            n,
            0,
            trace(advance, [*consts, INTEGER, *some]),
            trace(back, [*consts, INTEGER, *some, *rows.residuals, *value]),
        )

    def run(
        self, sums: Sequence[Any], value: Sequence[Any], consts: list[Any], states: Sequence[Any]
    ) -> tuple[list[Any], list[Any]]:
        """The sums over all rows and the first value. ``states``: what `primitive.record` returns, the extras in its midst."""
        (steps, shift), extras, rows = split(states, 2, self.extras)
        count = len(sums)

        def back(row: list[Any], number: Any, final: Any) -> Any:
            sums, value = final
            found = replay(self.back, *consts, *extras, number, *row, *value)
            summands, before = split(found, count)
            return [a + b for a, b in zip(sums, summands, strict=True)], before

        again = Again(
            lambda some, number: replay(self.advance, *consts, *extras, number, *some),
            lambda some: self.rows.of(consts, some),
            len(self.rows.kept),
        )
        last, first = self.plan.sweep(again, back, Record(steps, shift, rows), (list(sums), list(value)))
        return last, first

    def batched(
        self, axis: Any, marked: Sequence[bool], value: Sequence[bool], results: Sequence[bool], ends: bool
    ) -> RowSweep:
        """For a batch, in which the marked consts, extras and row have a leading axis.

        ``ends``: the last of the new extras says at which number each lane has ended.
        """
        consts, extras, row = split(marked, self.consts, self.extras)
        some = row[: len(self.rows.kept)]

        before = len(consts) + len(extras)

        def lanes(program: ClosedJaxpr, others: Sequence[bool], results: Sequence[bool], passive: Any) -> ClosedJaxpr:
            flags = [*consts, *extras, False, *others]
            each = _lanes(program, axis, flags, results)
            if not ends:
                return each

            def active_lanes(*operands: Any) -> list[Any]:
                own, (counts,), (number,), others = split(operands, before, 1, 1)
                active = number < counts
                found = replay(each, *one_for_all(active, [*own, number, *others], flags))
                return choose(active, found, passive(others))

            counts = jax_compat.stacked(axis.size, INTEGER)
            return trace(active_lanes, [*each.in_avals[:before], counts, *each.in_avals[before:]])

        def nothing(others: Sequence[Any]) -> list[Any]:
            value = others[len(row) :]
            sums = [lifted(aval, axis, True) for aval in self.back.out_avals[: -len(value) or None]]
            return [*(zeros(aval) for aval in sums), *value]

        return RowSweep(
            self.plan,
            self.rows.batched(axis, consts, some),
            self.consts,
            self.extras + ends,
            lanes(self.advance, some, some, lambda some: some),
            lanes(self.back, [*row, *value], results, nothing),
        )


def _lanes(program: ClosedJaxpr, axis: Any, flags: Sequence[bool], results: Sequence[bool]) -> ClosedJaxpr:
    avals = [lifted(aval, axis, flag) for aval, flag in zip(program.in_avals, flags, strict=True)]
    return trace(mapped(lambda *operands: replay(program, *operands), axis, flags, results), avals)
