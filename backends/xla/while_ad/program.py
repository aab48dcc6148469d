"""`LoopProgram`: a staged loop as a value, and its transformations: jvp, vmap and partial evaluation.

A program is ``while test(consts, carry): carry = body(consts, carry)``, test and body closed over nothing. All that
the loop reads from outside is among its consts, so that derivatives reach it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from autograph.backends.xla import jax_compat
from autograph.backends.xla.dependence import Flags, closure, dependents, requirements, split
from autograph.backends.xla.jax_compat import ClosedJaxpr, replay, strong
from autograph.backends.xla.lane_writes import write_elements
from autograph.backends.xla.optimize.lowered_bodies import lowered_body, with_writes
from autograph.backends.xla.platforms import Choices, choices_on
from autograph.backends.xla.rings import Rings, rings_in
from autograph.backends.xla.tracing import (
    Composed,
    choose,
    close_all,
    conform,
    has_loop,
    jvp,
    lifted,
    mapped,
    one_for_all,
    only,
    trace,
    zeros,
)
from autograph.backends.xla.while_ad.chunks import Chunks, chunked


class LoopProgram:
    """A loop with fixed types.

    Attributes:
      body: ``(*consts, *carry) -> carry``.
      test: ``(*consts, *carry) -> bool``.
      consts: how many consts there are.
      bound: a number of steps that is never passed, if one is known while tracing.
      slots: how many states a gradient may keep; None leaves the choice to `checkpoints`.
      smooth: the body as derivatives see it. It differs from ``body`` in a batch only: see `batched`.
      tangents: for the derivative of another program, that `Tangents`; None for any other.
    """

    def __init__(
        self,
        body: ClosedJaxpr,
        test: ClosedJaxpr,
        consts: int,
        bound: int | None,
        slots: int | None,
        smooth: Callable[[], ClosedJaxpr] | None = None,
        tangents: Tangents | None = None,
    ) -> None:
        self.body = body
        self.test = test
        self.consts = consts
        self.bound = bound
        self.slots = slots
        self.tangents = tangents
        self._smooth = smooth
        self._made_smooth: ClosedJaxpr | None = None
        self._derivatives: dict[tuple[Flags, Flags], LoopProgram] = {}
        self._on = functools.cache(self._lowered)
        self._written = functools.cache(self._with_writes)
        self._ringed = functools.cache(self._around_rings)
        self._forms = functools.cache(self._in_chunks_of)  # one function for all platforms that have it

    def __repr__(self) -> str:
        return f"LoopProgram(consts={self.consts}, carry={len(self.carry_avals)})"

    @property
    def const_avals(self) -> list[Any]:
        return list(self.body.in_avals[: self.consts])

    @property
    def carry_avals(self) -> list[Any]:
        return list(self.body.in_avals[self.consts :])

    @property
    def smooth(self) -> ClosedJaxpr:
        if self._smooth is None:
            return self.body
        if self._made_smooth is None:
            self._made_smooth = self._smooth()
        return self._made_smooth

    def with_parts(self, part: Callable[[Any], Any]) -> LoopProgram:
        """The same loop of other sizes: ``part`` returns what a program, or another part, is then."""
        smooth = None if self._smooth is None else part(self.smooth)
        tangents = None if self.tangents is None else self.tangents.with_parts(part)
        return LoopProgram(
            part(self.body),
            part(self.test),
            self.consts,
            part(self.bound),
            self.slots,
            None if smooth is None else (lambda: smooth),
            tangents,
        )

    def split(self, operands: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Consts and carry."""
        return list(operands[: self.consts]), list(operands[self.consts :])

    def step(self, consts: Sequence[Any], carry: Sequence[Any]) -> list[Any]:
        """One iteration, its results of exactly the types that the carry has."""
        return conform(replay(self.body, *consts, *carry), self.carry_avals)

    def goes_on(self, consts: Sequence[Any], carry: Sequence[Any]) -> Any:
        return replay(self.test, *consts, *carry)[0]

    def run(self, consts: Sequence[Any], start: Sequence[Any]) -> list[Any]:
        """The loop as `jax.lax` has it."""
        if self.body.out_avals == self.carry_avals:
            return jax_compat.run_while(self.test, self.body, consts, conform(start, self.carry_avals))
        return jax.lax.while_loop(
            lambda carry: self.goes_on(consts, carry),
            lambda carry: self.step(consts, carry),
            conform(start, self.carry_avals),
        )

    def form_on(self, platform: str) -> Callable[..., list[Any]]:
        """The loop as it is lowered for a platform: of consts and start, one after the other, the last carry."""
        choices = choices_on(platform)
        if self.in_rings is not None:
            return self._in_rings_on(platform, self._written(choices))
        if choices.chunk > 1 and self.chunks is not None:
            return self._forms(choices.chunk)
        return self._on(choices)._forms(1)

    def _in_chunks_of(self, length: int) -> Callable[..., list[Any]]:
        chunks = self.chunks

        def run(*operands: Any) -> list[Any]:
            consts, start = self.split(operands)
            return self.run(consts, start) if chunks is None or length == 1 else chunks.run(length, consts, start)

        if (chunks is None or length == 1) and self.body.out_avals == self.carry_avals:
            return jax_compat.WhileForm(self.test, self.body, self.consts, run)
        return run

    @functools.cached_property
    def in_rings(self) -> tuple[Rings, LoopProgram] | None:
        """The loop with the arrays that iterations rotate as rings, if there are any."""
        rings = rings_in(self.body, self.consts, len(self.carry_avals))
        return None if rings is None else (rings, self.like(rings.body, rings.program(self.test)))

    def _in_rings_on(self, platform: str, written: LoopProgram) -> Callable[..., list[Any]]:
        """The form with rings, ``written`` if what goes into its branches leaves them rings."""
        loop = self if written.in_rings is None else written
        assert loop.in_rings is not None
        return loop._ringed(loop.in_rings[1].form_on(platform))

    def _around_rings(self, form: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
        assert self.in_rings is not None
        rings, _ = self.in_rings
        return lambda *operands: rings.finish(form(*rings.start(operands)))

    def like(self, body: ClosedJaxpr, test: ClosedJaxpr, consts: int | None = None) -> LoopProgram:
        """A loop of the same number of iterations."""
        return LoopProgram(body, test, self.consts if consts is None else consts, self.bound, self.slots)

    @property
    def chunks(self) -> Chunks | None:
        """How it runs in chunks, if it may."""
        return self._chunks if isinstance(self._chunks, Chunks) else None

    @functools.cached_property
    def _chunks(self) -> Chunks | str:
        return chunked(self.body, self.test, self.consts)

    def why_on(self, platform: str) -> str:
        """What it is where it is lowered for this platform, and why."""
        length = choices_on(platform).chunk
        if self.in_rings is not None:
            return f"arrays as rings, as iterations move their rows to the front: {len(self.in_rings[0].places)}"
        if length > 1 and self.chunks is not None:
            return f"{length} iterations between tests: past its end an iteration changes nothing"
        return f"a test for each iteration: {'so is any loop' if length == 1 else self._chunks}"

    def _lowered(self, choices: Choices) -> LoopProgram:
        """The loop with its body as a platform has it: to be lowered, not to be differentiated or mapped."""
        return self._of_body(lowered_body(self.body, choices))

    def _with_writes(self, choices: Choices) -> LoopProgram:
        return self._of_body(with_writes(self.body, choices))

    def _of_body(self, body: ClosedJaxpr) -> LoopProgram:
        return self if body is self.body else self.like(body, self.test)

    def closure(self, consts: Sequence[bool], carry: Sequence[bool], *, smoothly: bool) -> Flags:
        """Which of the carry come to depend on what is marked (``smoothly``: with a derivative)."""
        return tuple(closure(self.body.jaxpr, consts, carry, smoothly=smoothly))

    def dependents(self, inputs: Sequence[bool], smoothly: bool, params: dict[str, Any]) -> list[bool]:
        """Which results of an equation that runs this program depend on the marked operands."""
        consts, start = self.split(inputs)
        carry = list(self.closure(consts, start, smoothly=smoothly))
        tested = not smoothly and self.is_tested(consts, carry)
        if tested:
            carry = [True] * len(carry)
        if "rows" not in params:
            return carry
        # With the rows come the number of steps and one that lanes share. Rows are constants.
        rows = params["rows"]
        states = rows.dependents(consts, [carry[k] for k in rows.kept])
        return [*carry, tested, False, *([False] * len(states) if smoothly else states)]

    def is_tested(self, consts: Sequence[bool], carry: Sequence[bool]) -> bool:
        """Whether the test depends on what is marked."""
        return dependents(self.test.jaxpr, [*consts, *carry], smoothly=False)[0]

    def kept(self, wanted: Iterable[int]) -> tuple[int, ...]:
        """Which of the carry iterations need so that the test and the carry in ``wanted`` can be had."""
        _, tested = self.split(requirements(self.test.jaxpr, [True]))
        return self.needed([*wanted, *(k for k, mark in enumerate(tested) if mark)])

    def needed(self, wanted: Iterable[int]) -> tuple[int, ...]:
        """Which of the carry iterations need so that the carry in ``wanted`` can be had, as often as they are run."""
        chosen = set(wanted)
        marked = [k in chosen for k in range(len(self.carry_avals))]
        while True:
            _, before = self.split(requirements(self.body.jaxpr, marked))
            grown = [a or b for a, b in zip(marked, before, strict=True)]
            if grown == marked:
                return tuple(k for k, mark in enumerate(marked) if mark)
            marked = grown

    def requirements(self, results: Sequence[bool]) -> list[bool]:
        """Which operands the wanted results of the loop depend on."""
        kept = self.kept(k for k, mark in enumerate(results) if mark)
        marked = [k in kept for k in range(len(results))]
        consts, _ = self.split(requirements(self.body.jaxpr, marked))
        tested, _ = self.split(requirements(self.test.jaxpr, [True]))
        return [*(a or b for a, b in zip(consts, tested, strict=True)), *marked]

    def restricted(self, kept: Sequence[int]) -> LoopProgram:
        """The same loop without the carry that is not in ``kept``, which nothing in ``kept`` depends on."""
        if len(kept) == len(self.carry_avals):
            return self
        avals = [*self.const_avals, *(self.carry_avals[k] for k in kept)]

        def part(program: ClosedJaxpr, results: Sequence[int]) -> ClosedJaxpr:
            def run(*operands: Any) -> list[Any]:
                consts, some = self.split(operands)
                outputs = replay(program, *consts, *self.filled(kept, some))
                return [outputs[k] for k in results]

            return trace(run, avals)

        smooth = None if self._smooth is None else (lambda: part(self.smooth, kept))
        return LoopProgram(part(self.body, kept), part(self.test, [0]), self.consts, self.bound, self.slots, smooth)

    def filled(self, kept: Sequence[int], some: Sequence[Any]) -> list[Any]:
        """A whole carry with ``some`` at the places ``kept``, and zeros at the others."""
        carry: list[Any] = [None] * len(self.carry_avals)
        for k, value in zip(kept, some, strict=True):
            carry[k] = value
        return [zeros(aval) if value is None else value for value, aval in zip(carry, self.carry_avals, strict=True)]

    def derivative(self, consts: Flags, carry: Flags) -> LoopProgram:
        """The loop of carry and tangents, with respect to the marked consts and carry (a closure: see `closure`)."""
        made = self._derivatives.get((consts, carry))
        if made is not None:
            return made
        tangents = Tangents(self, consts, carry)
        smooth = None if self._smooth is None else (lambda: tangents.of(self.smooth))

        def test(*operands: Any) -> list[Any]:
            c, _, x, _ = tangents.split(operands)
            return replay(self.test, *c, *x)

        avals = tangents.avals()
        made = LoopProgram(
            tangents.of(self.body),
            trace(test, avals),
            self.consts + sum(consts),
            self.bound,
            self.slots,
            smooth,
            tangents,
        )
        self._derivatives[(consts, carry)] = made
        return made

    def batched(self, axis: Any, consts: Flags, carry: Flags, tested: bool) -> LoopProgram:
        """This loop for a batch, its marked consts and carry with a leading axis; ``tested``: lanes end by themselves.

        A lane that has ended stands still while others go on. Nothing may come of evaluating the body there, not even a
        NaN times a zero cotangent, so derivatives see a body that passes such lanes the inputs of one that does go on. So does
        all else where there is a loop in the body, which may have no end for a lane that has.
        """
        flags = (*consts, *carry)
        step = mapped(lambda *operands: replay(self.body, *operands), axis, flags, carry)
        test = mapped(lambda *operands: replay(self.test, *operands), axis, flags, (tested,))
        avals = [lifted(aval, axis, flag) for aval, flag in zip(self.body.in_avals, flags, strict=True)]

        def body(*operands: Any) -> list[Any]:
            if not tested:
                return step(*operands)
            active = test(*operands)[0]
            inputs = one_for_all(active, operands, flags) if has_loop(self.body) else operands
            return choose(active, step(*inputs), operands[self.consts :])

        def smooth_body(*operands: Any) -> list[Any]:
            smooth = mapped(lambda *operands: replay(self.smooth, *operands), axis, flags, carry)
            if not tested:
                return smooth(*operands)
            active = test(*operands)[0]
            return choose(active, smooth(*one_for_all(active, operands, flags)), list(operands[self.consts :]))

        def goes_on(*operands: Any) -> list[Any]:
            truth = test(*operands)[0]
            return [jnp.any(truth) if tested else truth]

        strong = self._strong(avals, body)
        smooth = None if self._smooth is None and not tested else (lambda: self._strong(avals, smooth_body))
        return LoopProgram(strong, trace(goes_on, avals), self.consts, self.bound, self.slots, smooth)

    def _strong(self, avals: Sequence[Any], body: Callable[..., list[Any]]) -> ClosedJaxpr:
        return write_elements(trace(lambda *operands: conform(body(*operands), avals[self.consts :]), avals))


def close(
    step: Callable[[list[Any]], list[Any]],
    goes_on: Callable[[list[Any]], Any],
    start: Sequence[Any],
    bound: int | None = None,
    slots: int | None = None,
) -> tuple[LoopProgram, list[Any]] | None:
    """A loop as a program, and its consts: all that the functions close over. None for one with effects."""
    avals = [jax.typeof(value) for value in start]
    one_by_one = step if isinstance(step, Composed) else lambda *carry: step(list(carry))
    test = goes_on if isinstance(goes_on, Composed) else lambda *carry: [goes_on(list(carry))]
    closed = close_all([(one_by_one, avals), (test, avals)])
    if closed is None:
        return None
    (body, condition), consts = closed
    return LoopProgram(body, condition, len(consts), bound, slots), consts


class Tangents:
    """How the operands of a derivative are laid out: consts, their tangents, carry, its tangents; marked ones only."""

    def __init__(self, of: LoopProgram, consts: Flags, carry: Flags) -> None:
        self.program = of
        self.consts = consts
        self.carry = carry
        self.reverse: Any = None  # kept here by `reverse.Reverse`

    def with_parts(self, part: Callable[[Any], Any]) -> Tangents:
        """The same for a program of other sizes."""
        return Tangents(part(self.program), self.consts, self.carry)

    def avals(self) -> list[Any]:
        consts, carry = self.program.const_avals, self.program.carry_avals
        return self.join(consts, only(consts, self.consts), carry, only(carry, self.carry))

    @staticmethod
    def join(consts: Any, const_tangents: Any, carry: Any, carry_tangents: Any) -> list[Any]:
        return [*consts, *const_tangents, *carry, *carry_tangents]

    def split(self, operands: Sequence[Any]) -> list[list[Any]]:
        """Consts, their tangents, carry, its tangents."""
        return split(operands, len(self.consts), sum(self.consts), len(self.carry))

    def split_results(self, results: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        carry, tangents = split(results, len(self.carry))
        return carry, tangents

    def of(self, step: ClosedJaxpr) -> ClosedJaxpr:
        """The body of carry and tangents."""
        avals = [strong(aval) for aval in self.avals()]

        def run(*operands: Any) -> list[Any]:
            consts, const_tangents, carry, carry_tangents = self.split(operands)
            outputs, tangents = jvp(
                lambda *operands: replay(step, *operands),
                [*consts, *carry],
                (*self.consts, *self.carry),
                [*const_tangents, *carry_tangents],
            )
            results = [*outputs, *only(tangents, self.carry)]
            return conform(results, [strong(aval) for aval in self.split_types()])

        return trace(run, avals)

    def split_types(self) -> list[Any]:
        carry = self.program.carry_avals
        return [*carry, *only(carry, self.carry)]
