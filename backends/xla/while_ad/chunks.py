"""Several iterations between tests, where iterations past the end change nothing.

``while active.any(): …`` over whole arrays reads and writes each of them in every iteration, and goes over a mask to test it: XLA
cannot fuse what is on both sides of a test. Where the arrays stay as they are once no element is active, a few iterations may run
before the next test, in one pass over memory: 0.34 times the time of a Mandelbrot picture of 120,000 points. A batch of loops
that end by themselves is such a loop, too.

That they stay is proved from the programs (`terms`): with the mask false everywhere, the body's results are its inputs. A mask
that is carried, and computed from what else is carried at the end of each iteration, counts as computed from that. What the test
says besides, on single numbers (``k < limit``), is asked for all iterations of a chunk beforehand. A single number that the body
counts in would run past its end: where anything reads it, it is counted again, from the masks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from autograph.backends.xla import jax_compat
from autograph.backends.xla.cost_model import CHUNKS_FROM
from autograph.backends.xla.jax_compat import ClosedJaxpr, Kind, replay
from autograph.backends.xla.optimize.terms import Terms
from autograph.backends.xla.optimize.unused import without_unused
from autograph.backends.xla.tracing import conform, explicit_sharding, merge, only, trace

_BITS = jnp.uint8  # at least as many as iterations in a chunk
# Each equation of the body is compiled for each iteration of a chunk, and one more time.
_MOST_EQUATIONS = 60

_ELEMENTWISE = frozenset(
    [
        *("add", "sub", "mul", "div", "rem", "neg", "max", "min", "abs", "sign", "floor", "ceil", "round", "clamp"),
        *("eq", "ne", "lt", "le", "gt", "ge", "and", "or", "not", "xor", "select_n", "is_finite", "nextafter"),
        *(
            "convert_element_type",
            "broadcast_in_dim",
            "reshape",
            "squeeze",
            "copy",
            "square",
            "sqrt",
            "rsqrt",
            "cbrt",
            "pow",
            "integer_pow",
        ),
        *("exp", "exp2", "log", "log2", "log1p", "expm1", "sin", "cos", "tan", "tanh", "logistic", "atan2"),
        *("shift_left", "shift_right_logical", "shift_right_arithmetic", "population_count", "clz", "add_any", "copy"),
    ]
)


@dataclass(frozen=True)
class Chunks:
    """How a loop runs in chunks.

    Attributes:
      body, consts: of the loop.
      test: the loop's own.
      counting: which of the carry are single numbers that go on changing.
      count: ``(*consts, *carry) -> `` these after an iteration.
      within: ``(*consts, *carry) -> bool``: the part of the test that is on single numbers.
      mask: ``(*consts, *carry) -> bool array``: the loop goes on while an element is true, and ``within`` holds.
    """

    body: ClosedJaxpr
    test: ClosedJaxpr
    consts: int
    counting: tuple[bool, ...]
    count: ClosedJaxpr
    within: ClosedJaxpr
    mask: ClosedJaxpr

    def run(self, length: int, consts: Sequence[Any], start: Sequence[Any]) -> list[Any]:
        """The last carry, with so many iterations between tests."""
        types = self.body.in_avals[self.consts :]

        def step(carry: Sequence[Any]) -> list[Any]:
            return conform(replay(self.body, *consts, *carry), types)

        def counted(carry: Sequence[Any], times: int) -> list[list[Any]]:
            """The carry with what its numbers are after so many iterations and fewer."""
            found = [list(carry)]
            for _ in range(times):
                found.append(merge(carry, self.counting, replay(self.count, *consts, *found[-1])))
            return found

        def is_active(carry: Sequence[Any]) -> Any:
            return replay(self.mask, *consts, *carry)[0]

        def goes_on(state: Any) -> Any:
            carry = state[0]
            truth = jnp.any(is_active(carry))
            for each in counted(carry, length - 1):
                truth = truth & replay(self.within, *consts, *each)[0]
            return truth

        def chunk(state: Any) -> Any:
            carry = state[0]
            before = only(carry, self.counting)
            seen = jnp.zeros(self.mask.out_avals[0].shape, _BITS)
            for k in range(length):
                carry = step(carry)
                seen = seen | (is_active(carry).astype(_BITS) << k)
            return carry, before, seen, np.bool_(True)

        start = conform(start, types)
        nothing = jnp.zeros(self.mask.out_avals[0].shape, _BITS)
        state = (start, only(start, self.counting), nothing, np.bool_(False))
        carry, before, seen, has_run = jax.lax.while_loop(goes_on, chunk, state)
        last: list[Any] = jax.lax.while_loop(lambda carry: replay(self.test, *consts, *carry)[0], step, carry)
        if not any(self.counting):
            return last
        # The first iteration of the last chunk ran, and each that the one before it left an active element.
        bits = jax.lax.reduce(seen, np.zeros((), _BITS), jax.lax.bitwise_or, tuple(range(seen.ndim)))
        numbers = counted(merge(carry, self.counting, before), length)
        ended = only(numbers[0], self.counting)
        for k in range(length):
            ran = has_run & (bits & ((1 << k) - 1) == (1 << k) - 1)
            ended = [jnp.where(ran, a, b) for a, b in zip(only(numbers[k + 1], self.counting), ended, strict=True)]
        is_left = jnp.any(is_active(carry))  # by chunks, with iterations left that are fewer than a chunk
        found = [jnp.where(is_left, a, b) for a, b in zip(only(last, self.counting), ended, strict=True)]
        return conform(merge(last, self.counting, found), types)


def chunked(body: ClosedJaxpr, test: ClosedJaxpr, consts: int) -> Chunks | str:
    """A loop in chunks; why not, where that does not pay, or iterations past the end are not known to change nothing."""
    avals = body.in_avals
    if any(explicit_sharding(aval) is not None for aval in avals):
        return "its arrays lie on a mesh"
    if (reason := _why_not_elementwise(body, avals)) is not None:
        return reason
    terms = Terms()
    operands = [terms.operand(k, aval) for k, aval in enumerate(avals)]
    after = terms.of(body, operands)
    (truth,) = terms.of(test, operands)
    reductions = [each for each in terms.within(truth) if _is_any_or_all(terms.nodes[each])]
    if len(reductions) != 1:
        return "its test is no `any` or `all` of one array"
    (reduction,) = reductions
    (mask,) = terms.nodes[reduction].parts
    ends_at = terms.nodes[reduction].name == "reduce_and"  # what the mask is everywhere when the loop ends
    ended, going = (terms.assuming({reduction: value}) for value in (ends_at, not ends_at))
    numbers = {k for k, aval in enumerate(avals) if aval.shape == ()}
    if (
        ended.truth(ended.of(test, operands)[0]) is not False
        or not going.operands_in(going.of(test, operands)[0]) <= numbers
    ):
        return "its test is more than `any` or `all` of one array, and conditions on numbers"
    changing = _changing_past_end(terms, body, operands, after, mask, ends_at, consts)
    if changing is None or not changing <= numbers or terms.operands_in(mask) & changing:
        return "an iteration past its end would change an array"
    counting = tuple(k in changing for k in range(consts, len(avals)))

    def within(*values: Any) -> list[Any]:
        return [_tested(test, values, lambda _: jnp.asarray(not ends_at))[0]]

    def active(*values: Any) -> list[Any]:
        found: list[Any] = []

        def reduced(array: Any) -> Any:
            found.append(~array if ends_at else array)
            return jnp.asarray(not ends_at)

        _tested(test, values, reduced)
        return found[:1]

    count = jax_compat.with_results(body, only(body.jaxpr.outvars, counting))
    parts = (count, trace(within, avals), trace(active, avals))
    return Chunks(body, test, consts, counting, *map(without_unused, parts))


def _changing_past_end(
    terms: Terms,
    body: ClosedJaxpr,
    operands: Sequence[int],
    after: Sequence[int],
    mask: int,
    ends_at: bool,
    consts: int,
) -> set[int] | None:
    """The carry, by operands, that an iteration changes although the mask says that the loop has ended."""
    assumed = {mask: ends_at}
    ended = terms.assuming(assumed)
    found = ended.of(body, operands)
    carried = next((k for k in range(consts, len(operands)) if operands[k] == mask), None)
    if carried is not None:
        # What each iteration leaves as the mask may be computed from what else it leaves: then it is so at each iteration's start.
        of_others = found[carried - consts]
        free = ended.assuming_nothing()
        outcome = dict(zip(operands[consts:], after, strict=True))
        if free.substituted(of_others, outcome) == after[carried - consts]:
            ended = ended.assuming({of_others: ends_at})
            found = ended.of(body, operands)
        if ended.truth(found[carried - consts]) is not ends_at:
            return None
    return {k for k, result in enumerate(found, consts) if k != carried and result != operands[k]}


def _why_not_elementwise(body: ClosedJaxpr, avals: Sequence[Any]) -> str | None:
    """Why a body is not one of large arrays of one shape, and single numbers, computed element by element, and briefly."""
    shapes = {aval.shape for aval in avals if aval.shape != ()}
    if len(shapes) != 1 or not all(isinstance(size, int) for shape in shapes for size in shape):
        return "it is not of arrays of one shape"
    (shape,) = shapes
    if np.prod(shape) < CHUNKS_FROM:
        return f"its arrays have fewer than {CHUNKS_FROM:,} elements"
    equations = [each for each in jax_compat.all_equations(body.jaxpr) if jax_compat.kind(each) not in _CALLS]
    if len(equations) > _MOST_EQUATIONS:
        return f"its body has more than {_MOST_EQUATIONS} operations"
    for each in equations:
        atoms = (*each.invars, *each.outvars)
        if jax_compat.name_of(each) not in _ELEMENTWISE or not all(
            atom.aval.shape == shape or atom.aval.size == 1 for atom in atoms
        ):
            return f"its body holds {jax_compat.name_of(each)}, which is not done element by element"
    return None


_CALLS = (Kind.CALL, Kind.RULED)
_REDUCTIONS = ("reduce_or", "reduce_and")


def _is_any_or_all(node: Any) -> bool:
    return node.name in _REDUCTIONS and node.dtype == np.bool_ and node.shape == ()


def _tested(program: ClosedJaxpr, values: Sequence[Any], reduced: Callable[[Any], Any]) -> list[Any]:
    """A test's results, with what `reduced` returns instead of its reduction."""
    jaxpr = program.jaxpr
    known = dict(zip(jaxpr.invars, values, strict=True)) | jax_compat.constants_of(program)

    def value(atom: Any) -> Any:
        return atom.val if jax_compat.is_literal(atom) else known[atom]

    for equation in jaxpr.eqns:
        operands = [value(atom) for atom in equation.invars]
        inner = jax_compat.called(equation.params) if jax_compat.kind(equation) in _CALLS else None
        if jax_compat.name_of(equation) in _REDUCTIONS and equation.outvars[0].aval.dtype == np.bool_:
            results = [reduced(*operands)]
        elif inner is not None:
            results = _tested(inner, operands, reduced)
        elif jax_compat.kind(equation) is Kind.COND:
            no, yes = (_tested(branch, operands[1:], reduced) for branch in jax_compat.branches(equation))
            results = [
                jax.lax.select(operands[0], jnp.asarray(a), jnp.asarray(b)) for a, b in zip(yes, no, strict=True)
            ]
        else:
            own = {atom: known[atom] for atom in equation.invars if not jax_compat.is_literal(atom)}
            results = replay(jax_compat.program_of([equation], (), equation.outvars, own))
        known.update(zip(equation.outvars, results, strict=True))
    return [value(atom) for atom in jaxpr.outvars]
