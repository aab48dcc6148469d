"""Loops of single numbers that are left by a flag: the test asks what the flag would be, and no iteration carries it.

``break`` and ``return`` become a flag that the loop's test looks at, and what is returned is carried along until then. XLA's
CPU backend keeps what a loop carries in memory: a search for a Pythagorean triple with two flags and a product takes 5 times the
time of one that carries its index alone. So where it costs little to ask before an iteration whether it would set a flag, the loop
ends before that iteration, which is run once, after the loop. In the loop no flag is set then, and what changes only where one is
need not be carried.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from autograph.backends.xla import jax_compat
from autograph.backends.xla.cost_model import CARRIED_NUMBER
from autograph.backends.xla.dependence import split
from autograph.backends.xla.jax_compat import ClosedJaxpr, replay
from autograph.backends.xla.optimize.selects import operation_cost
from autograph.backends.xla.optimize.terms import Node, Terms
from autograph.backends.xla.optimize.unused import without_unused
from autograph.backends.xla.tracing import conform, trace, zeros
from autograph.backends.xla.while_ad.program import LoopProgram

_MOST_EQUATIONS = 60
# A body with more conditions than these is not asked for each of their combinations.
_MOST_CONDITIONS = 5


@dataclass(frozen=True)
class Exit:
    """A loop that ends before the iteration that would set a flag.

    Attributes:
      program: the loop, of the consts, the flags as they were before it, and those of the carry in ``kept``.
      of: the loop as it was.
      flags, kept: positions in its carry.
    """

    program: LoopProgram
    of: LoopProgram
    flags: tuple[int, ...]
    kept: tuple[int, ...]

    def operands(self, consts: Sequence[Any], start: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Consts and start of ``program``."""
        return [*consts, *(start[k] for k in self.flags)], [start[k] for k in self.kept]

    def whole(self, start: Sequence[Any], last: Sequence[Any]) -> list[Any]:
        """The carry at the end of ``program``, with what that does not carry."""
        values = list(start)
        for k, value in zip(self.kept, last, strict=True):
            values[k] = value
        return values


def by_test(program: LoopProgram, start: Sequence[Any]) -> Exit | None:
    """The loop without its flags; None if it has none, or would take longer so."""
    if not _is_of_few_numbers(program):
        return None
    terms = Terms()
    operands = [terms.operand(k, aval) for k, aval in enumerate(program.body.in_avals)]
    own = operands[program.consts :]
    before = terms.of(program.body, operands)
    flags = tuple(k for k, result in enumerate(before) if result != own[k] and _ends(terms, program, operands, own[k]))
    if not flags:
        return None
    inside = terms.assuming({own[k]: False for k in flags})
    after = inside.of(program.body, operands)
    (truth,) = inside.of(program.test, operands)
    asked = [truth, *(after[k] for k in flags)]
    going = _without_exit(inside, program, operands, flags)
    late = {
        k
        for k, node in enumerate(going)
        if k not in flags and node is not None and _stays(node, program.consts + k, start[k])
    }
    kept = {k for k in range(len(own)) if k not in flags} - late
    while True:
        read = set().union(*(inside.operands_in(term) for term in (*asked, *(after[k] for k in kept))))
        grown = kept | {k - program.consts for k in read if k >= program.consts}
        if grown == kept:
            break
        kept = grown
    unset = inside.assuming({after[k]: False for k in flags if inside.truth(after[k]) is None})
    rest = unset.of(program.body, operands)
    price = _cost(inside, asked) + _cost(unset, [rest[k] for k in kept]) + CARRIED_NUMBER * len(kept)
    if price >= _cost(terms, before) + _cost(terms, terms.of(program.test, operands)) + CARRIED_NUMBER * len(own):
        return None
    places = tuple(sorted(kept))
    return Exit(_ending_early(program, operands, unset, flags, places), program, flags, places)


def _is_of_few_numbers(program: LoopProgram) -> bool:
    """Whether a loop carries single numbers, flags among them, and computes nothing else, briefly."""
    if not any(aval.dtype == np.bool_ for aval in program.carry_avals):
        return False
    equations = [each for part in (program.body, program.test) for each in jax_compat.all_equations(part.jaxpr)]
    values = [*program.carry_avals, *(var.aval for each in equations for var in each.outvars)]
    return len(equations) <= _MOST_EQUATIONS and all(getattr(aval, "size", 0) == 1 for aval in values)


def _ends(terms: Terms, program: LoopProgram, operands: Sequence[int], flag: int) -> bool:
    """Whether the loop never goes on while this of its carry is true."""
    if terms.nodes[flag].dtype != np.bool_:
        return False
    assumed = terms.assuming({flag: True})
    return assumed.truth(assumed.of(program.test, operands)[0]) is False


def _without_exit(
    terms: Terms, program: LoopProgram, operands: Sequence[int], flags: Sequence[int]
) -> list[Node | None]:
    """The operand or constant that an iteration leaves of each of the carry, if it sets no flag, whatever its conditions are; None where
    that differs.
    """
    results = terms.of(program.body, operands)
    every = set().union(*map(terms.within, results))
    conditions = [each for each in every if _is_condition(terms, each)]
    if len(conditions) > _MOST_CONDITIONS:
        return [None] * len(results)
    found: list[set[Node | None]] = [set() for _ in results]
    for truths in itertools.product((False, True), repeat=len(conditions)):
        world = terms.assuming(dict(zip(conditions, truths, strict=True)))
        results = world.of(program.body, operands)
        if any(world.truth(results[k]) for k in flags):
            continue
        for values, result in zip(found, results, strict=True):
            node = world.nodes[result]
            values.add(node if node.name in ("operand", "constant") else None)
    return [next(iter(values)) if len(values) == 1 else None for values in found]


def _is_condition(terms: Terms, term: int) -> bool:
    node = terms.nodes[term]
    return node.dtype == np.bool_ and node.name not in ("and", "or", "not", "select_n", "constant")


def _stays(node: Node, operand: int, start: Any) -> bool:
    """Whether what iterations leave of a carried number is what it was before the loop."""
    if node.name == "operand":
        return bool(node.detail == operand)
    number = jax_compat.number_at_hand(start)
    return number is not None and np.asarray(number, node.dtype).tobytes() == node.detail


def _cost(terms: Terms, of: Iterable[int]) -> float:
    """What computing these takes, in additions."""
    every = set().union(*map(terms.within, of))
    names = [terms.nodes[each].name for each in every]
    return sum(operation_cost(name) for name in names if name not in ("operand", "constant", "constant of the program"))


def _ending_early(
    program: LoopProgram, operands: Sequence[int], unset: Terms, flags: Sequence[int], kept: Sequence[int]
) -> LoopProgram:
    """The loop of the numbers in ``kept`` that ends before the iteration that sets a flag."""
    avals = program.carry_avals
    types = [*program.const_avals, *(avals[k] for k in flags), *(avals[k] for k in kept)]

    def given(values: Sequence[Any]) -> tuple[Sequence[Any], list[Any]]:
        """The flags as they were before the loop, and the loop's operands, with none of them set."""
        consts, before, some = split(values, program.consts, len(flags))
        carry: list[Any] = [np.bool_(False) if k in flags else zeros(aval) for k, aval in enumerate(avals)]
        for k, value in zip(kept, some, strict=True):
            carry[k] = value
        return before, [*consts, *carry]

    def test(*values: Any) -> list[Any]:
        before, every = given(values)
        truth = replay(program.test, *every)[0]
        results = replay(program.body, *every)
        for flag in (*before, *(results[k] for k in flags)):
            truth = truth & jnp.logical_not(flag)  # one that is always set is a Python bool
        return [truth]

    def body(*values: Any) -> list[Any]:
        _, every = given(values)
        results = _replayed(program.body, every, operands, unset)
        return conform([results[k] for k in kept], [avals[k] for k in kept])

    return LoopProgram(
        without_unused(trace(body, types)),
        without_unused(trace(test, types)),
        program.consts + len(flags),
        program.bound,
        program.slots,
    )


def _replayed(program: ClosedJaxpr, values: Sequence[Any], operands: Sequence[int], terms: Terms) -> list[Any]:
    """The results of a program, with what `terms` knows to be true or false instead of what is computed."""
    jaxpr = program.jaxpr
    _, found = terms.with_values(program, operands)
    known = dict(zip(jaxpr.invars, values, strict=True)) | jax_compat.constants_of(program)
    for equation in jaxpr.eqns:
        own = {atom: known[atom] for atom in equation.invars if not jax_compat.is_literal(atom)}
        results = replay(jax_compat.program_of([equation], (), equation.outvars, own))
        for variable, result in zip(equation.outvars, results, strict=True):
            truth = terms.truth(found[variable])
            known[variable] = result if truth is None else np.bool_(truth)
    return [atom.val if jax_compat.is_literal(atom) else known[atom] for atom in jaxpr.outvars]
