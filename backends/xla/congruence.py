"""Truth values in a loop's carry that are equal, or opposite, after any number of iterations: ``found``, and whether ``index`` is bound.

Partition refinement (A. V. Aho, J. E. Hopcroft and J. D. Ullman, "The Design and Analysis of Computer Algorithms", 1974, section
4.13): values that begin alike are taken to be alike, and those in which an iteration leaves different numbers are separated, until
there are none.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from autograph.backends.base import LeafType, LoopSpec, Output
from autograph.backends.xla import jax_compat
from autograph.backends.xla.branches import is_choice
from autograph.backends.xla.jax_compat import Kind, is_literal

TRUE = 1  # the number of a value, whose negative is that of its opposite
_MOST_ROUNDS = 3
_SAME = frozenset({"convert_element_type", "copy", "squeeze", "reshape"})


def alike(spec: LoopSpec) -> list[dict[int, bool]]:
    """Groups of positions in the carry that hold equal truth values after the loop, or opposite ones where they differ here."""
    program = spec.body.program
    numbers = _Numbers()
    start = [_start(numbers, value, type) for value, type in spec.carry]
    known = {k: number for k, number in enumerate(start) if number}

    def iteration(carry: Mapping[int, int]) -> dict[int, int]:
        operands = [carry.get(k, 0) for k in range(spec.inputs)]
        operands += [0] * (len(program.jaxpr.invars) - spec.inputs)
        outs = numbers.of_program(program, operands)
        return {k: _left(numbers, spec.results[k], outs, carry[k]) for k in known}

    groups: dict[int, dict[int, bool]] = {}
    for k, number in numbers.settled(known, iteration).items():
        groups.setdefault(abs(number), {})[k] = number > 0
    return [group for group in groups.values() if len(group) > 1]


def _start(numbers: _Numbers, value: Any, type: LeafType) -> int:
    """The number of what a place in the carry begins with; 0 if it holds no truth value."""
    if type.dtype != jnp.bool_ or type.shape:
        return 0
    if isinstance(value, bool | np.bool_):
        return TRUE if value else -TRUE
    return numbers.of_key(("start", id(value)))


def _left(numbers: _Numbers, result: Any, outs: Sequence[int], before: int) -> int:
    if result is None:
        return before
    if isinstance(result, Output):
        return outs[result.index]
    return (TRUE if result else -TRUE) if isinstance(result, bool) else numbers.new()


class _Numbers:
    """A number for each value of a program: equal numbers mean equal values."""

    def __init__(self) -> None:
        self._next = itertools.count(TRUE + 1)
        self._of_keys: dict[Hashable, int] = {}

    def new(self) -> int:
        return next(self._next)

    def of_key(self, key: Hashable) -> int:
        if key not in self._of_keys:
            self._of_keys[key] = self.new()
        return self._of_keys[key]

    def settled(self, start: Mapping[int, int], iteration: Any) -> dict[int, int]:
        """The numbers of values that are replaced in each iteration, after any number of these: all new if that takes long."""
        classes = {k: (abs(number), 1 if number > 0 else -1) for k, number in start.items()}
        for _ in range(_MOST_ROUNDS):
            names = {each: self.new() for each, _ in classes.values()}
            ends = iteration({k: sign * names[each] for k, (each, sign) in classes.items()})
            parts = {k: (each, sign * ends[k]) for k, (each, sign) in classes.items()}
            if len(set(parts.values())) == len(names):
                return {k: sign * names[each] for k, (each, sign) in classes.items()}
            renamed = {part: self.new() for part in parts.values()}
            classes = {k: (renamed[parts[k]], sign) for k, (_, sign) in classes.items()}
        return {k: self.new() for k in start}

    def of_program(self, program: Any, operands: Sequence[int]) -> list[int]:
        """The numbers of a program's results; an operand without a number has 0."""
        jaxpr = program.jaxpr
        known = {var: number or self.new() for var, number in zip(jaxpr.invars, operands, strict=True)}
        known.update(
            (var, self.of_key(("const", id(value)))) for var, value in jax_compat.constants_of(program).items()
        )

        def number(atom: Any) -> int:
            return self._of_literal(atom) if is_literal(atom) else known[atom]

        for equation in jaxpr.eqns:
            results = self._of_equation(equation, list(map(number, equation.invars)))
            known.update(zip(equation.outvars, results, strict=True))
        return list(map(number, jaxpr.outvars))

    def _of_literal(self, atom: Any) -> int:
        if atom.aval.dtype == jnp.bool_ and atom.aval.shape == ():
            return TRUE if atom.val else -TRUE
        return self.new()

    def _of_equation(self, equation: Any, operands: list[int]) -> list[int]:
        if equation.effects:
            return [self.new() for _ in equation.outvars]
        kind = jax_compat.kind(equation)
        if is_choice(equation):
            predicate, *given = operands
            sides = [self.of_program(branch, given) for branch in jax_compat.branches(equation)]
            return [self._chosen(predicate, *each) for each in zip(*sides, strict=True)]
        if kind is Kind.SCAN:
            scan = jax_compat.scan_of(equation)
            return self._looped(equation, operands, scan.body, scan.consts, scan.carried)
        if kind is Kind.WHILE and (own := equation.params.get("program")) is not None:
            return self._looped(equation, operands, own.body, own.consts, len(operands) - own.consts)
        called = jax_compat.called(equation.params) if kind is Kind.CALL else None
        if called is not None and len(called.jaxpr.invars) == len(operands):
            return self.of_program(called, operands)
        if len(equation.outvars) == 1:
            return [self._computed(jax_compat.name_of(equation), equation, operands)]
        return [self.new() for _ in equation.outvars]

    def _computed(self, name: str, equation: Any, operands: Sequence[int]) -> int:
        (result,) = equation.outvars
        if getattr(result.aval, "dtype", None) != jnp.bool_ or any(a.aval.size != 1 for a in equation.invars):
            return self.new()
        of_truth = all(atom.aval.dtype == jnp.bool_ for atom in equation.invars)
        if name == "select_n" and len(operands) == 3:
            return self._chosen(*operands)
        if name == "not":
            return -operands[0]
        if name in _SAME and of_truth:
            return operands[0]
        if name == "and":
            return self._chosen(operands[0], -TRUE, operands[1])
        if name == "or":
            return self._chosen(operands[0], operands[1], TRUE)
        return self.new()

    def _chosen(self, predicate: int, if_false: int, if_true: int) -> int:
        if predicate < 0:
            predicate, if_false, if_true = -predicate, if_true, if_false
        if predicate == TRUE or if_false == if_true:
            return if_true
        if if_false == -if_true and abs(if_true) == TRUE:
            return predicate if if_true == TRUE else -predicate
        if if_false < 0:
            return -self.of_key((predicate, -if_false, -if_true))
        return self.of_key((predicate, if_false, if_true))

    def _looped(self, equation: Any, operands: Sequence[int], body: Any, consts: int, carried: int) -> list[int]:
        jaxpr = body.jaxpr
        start = {k: operands[consts + k] for k in range(carried) if jaxpr.outvars[k].aval.dtype == jnp.bool_}

        def iteration(carry: Mapping[int, int]) -> dict[int, int]:
            given = [*operands[:consts], *(carry.get(k, 0) for k in range(carried))]
            outs = self.of_program(body, [*given, *[0] * (len(jaxpr.invars) - len(given))])
            return {k: outs[k] for k in carry}

        found = self.settled(start, iteration)
        return [found.get(k) or self.new() for k in range(len(equation.outvars))]
