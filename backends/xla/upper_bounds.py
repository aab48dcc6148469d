"""Upper bounds of the integers that a loop computes, from its program alone.

A bound is linear in (max, +): an integer is at most the largest of some operands of the program, each plus a number, and of a
number. Programs in programs compose, and so many iterations of a loop are a power of what one does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from autograph.backends.base import LoopSpec, Output
from autograph.backends.xla import jax_compat
from autograph.backends.xla.jax_compat import Kind
from autograph.backends.xla.parts import needed_for

_MOST_OPERANDS = 200
_ROUNDS = 3
_INF = math.inf


@dataclass(frozen=True, eq=False)
class _Bound:
    """Of an integer, or of all that an array of integers holds.

    Attributes:
      row: by operand of the program, what it may exceed that one by (``-inf``: it does not follow it), and last the number that
        it is at most, if it follows none.
      most, least: numbers that it never passes.
    """

    row: np.ndarray[Any, Any]
    most: float
    least: float

    @property
    def number(self) -> float | None:
        """The number that it is; None if that is not known."""
        return self.most if self.most == self.least else None

    def plus(self, number: float, least: float) -> _Bound:
        return _Bound(self.row + number, self.most + number, self.least + least)


def _numbers(count: int, most: float, least: float) -> _Bound:
    """What lies between two numbers."""
    row = np.full(count + 1, -_INF)
    row[-1] = most
    return _Bound(row, most, least)


def _either(bounds: Sequence[_Bound]) -> _Bound:
    row = np.max([each.row for each in bounds], axis=0)
    return _Bound(row, max(each.most for each in bounds), min(each.least for each in bounds))


def _product(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The product of matrices in (max, +)."""
    with np.errstate(invalid="ignore"):
        sums = one[:, :, None] + other[None]
    return np.max(np.where(np.isnan(sums), -_INF, sums), axis=1)


def _power(matrix: np.ndarray[Any, Any], count: int) -> np.ndarray[Any, Any]:
    found = np.where(np.eye(len(matrix), dtype=bool), 0.0, -_INF)
    while count:
        found = _product(found, matrix) if count % 2 else found
        matrix, count = _product(matrix, matrix), count // 2
    return found


def _of_any_power(matrix: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """What no power of a matrix exceeds."""
    found = _power(matrix, len(matrix))
    found = np.where(_product(found, found) > found, _INF, found)
    return _product(found, found)


def at_most(spec: LoopSpec, position: int, starts: Mapping[int, int], trips: int | None) -> int | None:
    """The most that an integer in a loop's carry is after any number of iterations up to ``trips`` (None: any number at all).

    Args:
      starts: what others in the carry are at most when it begins, and not less than 0.

    Returns:
      None where nothing is known.
    """
    program, inputs = spec.body.program, spec.inputs
    arrays = len(program.jaxpr.invars) - inputs - 1
    if position >= inputs or inputs + arrays > _MOST_OPERANDS:
        return None
    begun = [_start(spec.carry[k][0], starts.get(k)) for k in range(inputs)]
    index = _numbers(0, _INF if trips is None else max(trips - 1, 0), 0)
    rows = [_start(array, None) for array in spec.arrays]

    def iteration(operands: Sequence[_Bound]) -> list[_Bound]:
        kept = [k for k in range(inputs) if isinstance(spec.results[k], Output)]
        wanted = [program.jaxpr.outvars[spec.results[k].index] for k in kept]
        ended = dict(zip(kept, _Program(program, operands, inputs + 1 + arrays).bounds(wanted), strict=True))
        return [ended[k] if k in ended else _left(spec.results[k], operands[k]) for k in range(inputs)]

    most = _looped(iteration, begun, [index, *rows], trips)[position].most
    return None if math.isinf(most) else int(most)


def _start(value: Any, known: int | None) -> _Bound:
    if known is not None:
        return _numbers(0, known, 0)
    return _held(np.asarray(value), 0) if isinstance(value, int) or _is_known(value) else _none(0)


def _is_known(value: Any) -> bool:
    """Whether this holds integers that are known: no tracer, no key, and no reference to what a Variable holds."""
    if not isinstance(value, jax.Array | np.ndarray | np.generic) or jax_compat.is_tracer(value):
        return False
    return _is_of_integers(value.dtype)


def _is_of_integers(dtype: Any) -> bool:
    return any(jnp.issubdtype(dtype, kind) for kind in (jnp.integer, jnp.bool_))


def _held(array: np.ndarray[Any, Any], count: int) -> _Bound:
    if not array.size or not _is_of_integers(array.dtype):
        return _none(count)
    return _numbers(count, float(array.max()), float(array.min()))


def _left(result: Any, before: _Bound) -> _Bound:
    """What an iteration leaves that computes nothing instead: a constant, or what was there."""
    count = len(before.row) - 1
    return before if result is None else _held(np.asarray(result), count) if isinstance(result, int) else _none(count)


def _none(count: int) -> _Bound:
    """Of what nothing is known."""
    return _numbers(count, _INF, -_INF)


def _looped(
    iteration: Callable[[Sequence[_Bound]], Sequence[_Bound]],
    begun: Sequence[_Bound],
    others: Sequence[_Bound],
    trips: int | None,
) -> list[_Bound]:
    """What a loop leaves in its carry.

    Args:
      iteration: what one leaves of its operands, bounds in terms of themselves: the carry and the ``others``, which do not change.
      begun: what the carry is before it.
    """
    given = [*begun, *others]
    carried, count = len(begun), len(given)
    most = [*(_INF for _ in begun), *(each.most for each in others)]
    least = [each.least for each in given]
    tops_of_given = np.array([[each.most] for each in (*given, _numbers(0, 0, 0))])
    outer = np.stack([*(each.row for each in given), _numbers(len(given[0].row) - 1, 0, 0).row])
    identity = np.where(np.eye(count + 1, dtype=bool), 0.0, -_INF)
    rounds = 0
    while True:
        ended = iteration([_Bound(identity[k], most[k], least[k]) for k in range(count)])
        lower = [k for k in range(carried) if ended[k].least < least[k]]
        if lower:  # what was taken for granted was not so
            for k in lower:
                least[k] = -_INF
            continue
        step = identity.copy()
        for k in range(carried):
            step[k] = np.maximum(step[k], ended[k].row)
        whole, before = (
            (_of_any_power(step),) * 2 if trips is None else (_power(step, n) for n in (trips, max(trips - 1, 0)))
        )
        tops = [max(row) for row in _product(before, tops_of_given)]
        rounds += 1
        if rounds == _ROUNDS or tops[:carried] == most[:carried]:
            break
        most[:carried] = map(min, most[:carried], tops)
    rows, finals = _product(whole, outer), _product(whole, tops_of_given)
    return [_Bound(rows[k], float(finals[k, 0]), least[k]) for k in range(carried)]


class _Program:
    """Bounds of what a program computes, in terms of what its operands are in terms of."""

    def __init__(self, program: Any, operands: Sequence[_Bound], count: int) -> None:
        """``count``: of the operands that all is in terms of."""
        self._jaxpr = program.jaxpr
        self._count = count
        self._known = dict(zip(self._jaxpr.invars, operands, strict=True))
        for variable, value in zip(self._jaxpr.constvars, program.consts, strict=True):
            if _is_known(value):
                self._known[variable] = _held(np.asarray(value), self._count)

    def bounds(self, results: Sequence[Any]) -> list[_Bound]:
        equations, _ = needed_for(self._jaxpr.eqns, results)
        for equation in equations:
            for variable, bound in zip(equation.outvars, self._results(equation), strict=True):
                self._known[variable] = bound
        return [self._of(atom) for atom in results]

    def _of(self, atom: Any) -> _Bound:
        if jax_compat.is_literal(atom):
            return _held(np.asarray(atom.val), self._count)
        return self._known.get(atom) or _none(self._count)

    def _results(self, equation: Any) -> Sequence[_Bound]:
        own = self._of_programs(equation)
        if own is not None:
            return own
        found = None
        if (rule := _RULES.get(jax_compat.name_of(equation))) is not None:
            found = rule(equation, *map(self._of, equation.invars))
        return [self._typed(variable.aval, found) for variable in equation.outvars]

    def _typed(self, aval: Any, found: _Bound | None) -> _Bound:
        dtype = getattr(aval, "dtype", None)
        if dtype is not None and jnp.issubdtype(dtype, jnp.bool_):
            return _numbers(self._count, 1, 0)
        is_integer = dtype is not None and jnp.issubdtype(dtype, jnp.signedinteger)
        return found if found is not None and is_integer else _none(self._count)

    def _of_programs(self, equation: Any) -> Sequence[_Bound] | None:
        """The results of an equation that holds programs; None of any other."""
        kind, given = jax_compat.kind(equation), list(map(self._of, equation.invars))
        if kind is Kind.COND:
            paths = [self._run(branch, given[1:]) for branch in jax_compat.branches(equation)]
            return [_either(found) for found in zip(*paths, strict=True)]
        if kind is Kind.SCAN:
            scan = jax_compat.scan_of(equation)
            return self._loop(equation, given, scan.body, scan.consts, scan.carried, scan.options["length"])
        if kind is Kind.WHILE:
            own = equation.params.get("program")
            if own is None:
                loop = jax_compat.while_of(equation)
                given, consts, body, bound = given[loop.test_consts :], loop.body_consts, loop.body, None
            else:
                consts, body, bound = own.consts, own.body, own.bound
            return self._loop(equation, given, body, consts, len(given) - consts, bound)
        called = jax_compat.called(equation.params)
        if called is None or len(called.jaxpr.invars) != len(given):
            return None
        return self._run(called, given) if len(called.out_avals) == len(equation.outvars) else None

    def _run(self, program: Any, given: Sequence[_Bound]) -> list[_Bound]:
        return _Program(program, given, self._count).bounds(program.jaxpr.outvars)

    def _loop(
        self,
        equation: Any,
        given: Sequence[_Bound],
        body: Any,
        consts: int,
        carried: int,
        trips: Any,
    ) -> list[_Bound]:
        """``trips``: how many iterations there are at most, of which a number that is not known tells nothing."""
        if not carried or len(given) > _MOST_OPERANDS:
            return [_none(self._count) for _ in equation.outvars]
        start, others = given[consts : consts + carried], [*given[:consts], *given[consts + carried :]]

        def iteration(operands: Sequence[_Bound]) -> list[_Bound]:
            taken, fixed, rows = operands[:carried], operands[carried : carried + consts], operands[carried + consts :]
            return _Program(body, [*fixed, *taken, *rows], len(given)).bounds(body.jaxpr.outvars[:carried])

        found = _looped(iteration, start, others, trips if isinstance(trips, int) else None)
        return [*found, *(_none(self._count) for _ in equation.outvars[carried:])]


# What operations compute.


def _same(_: Any, array: _Bound, *others: _Bound) -> _Bound:
    return array


def _one_of(_: Any, *bounds: _Bound) -> _Bound:
    return _either(bounds)


def _chosen(_: Any, which: _Bound, *cases: _Bound) -> _Bound:
    return _either(cases)


def _largest(_: Any, one: _Bound, other: _Bound) -> _Bound:
    found = _either([one, other])
    return _Bound(found.row, found.most, max(one.least, other.least))


def _smallest(_: Any, one: _Bound, other: _Bound) -> _Bound:
    found = one if one.most <= other.most else other
    return _Bound(found.row, found.most, min(one.least, other.least))


def _clamped(equation: Any, low: _Bound, value: _Bound, high: _Bound) -> _Bound:
    return _smallest(equation, _largest(equation, low, value), high)


def _sum(_: Any, one: _Bound, other: _Bound) -> _Bound:
    moved, by = (other, one) if one.number is not None or one.most < other.most else (one, other)
    return moved.plus(by.most, by.least) if by.most < _INF else _none(len(one.row) - 1)


def _difference(equation: Any, one: _Bound, other: _Bound) -> _Bound:
    return _sum(equation, one, _negative(equation, other)) if other.least > -_INF else _none(len(one.row) - 1)


def _negative(_: Any, one: _Bound) -> _Bound:
    return _numbers(len(one.row) - 1, -one.least, -one.most)


def _times(_: Any, one: _Bound, other: _Bound) -> _Bound:
    ends = [_times_number(a, b) for a in (one.most, one.least) for b in (other.most, other.least)]
    return _numbers(len(one.row) - 1, max(ends), min(ends))


def _times_number(one: float, other: float) -> float:
    return 0.0 if one == 0 or other == 0 else one * other


def _by_number(function: Callable[[float, int], float]) -> Callable[..., _Bound]:
    """What a monotone function makes of an integer with a positive number."""

    def rule(_: Any, one: _Bound, other: _Bound) -> _Bound:
        if other.number is None or other.number <= 0:
            return _none(len(one.row) - 1)
        most, least = (
            each if math.isinf(each) else function(each, int(other.number)) for each in (one.most, one.least)
        )
        return _numbers(len(one.row) - 1, most, least)

    return rule


def _remainder(_: Any, one: _Bound, other: _Bound) -> _Bound:
    is_of_zero = other.least <= 0 <= other.most  # which leaves what is divided, in XLA
    largest = _INF if is_of_zero else max(abs(other.most), abs(other.least)) - 1
    return _numbers(len(one.row) - 1, max(0, min(largest, one.most)), 0 if one.least >= 0 else max(-largest, one.least))


def _size(_: Any, one: _Bound) -> _Bound:
    return _numbers(len(one.row) - 1, max(one.most, -one.least), 0)


def _masked(_: Any, *bounds: _Bound) -> _Bound:
    masks = [each.most for each in bounds if each.least >= 0]  # of these, only such bits are left
    return _numbers(len(bounds[0].row) - 1, min(masks), 0) if masks else _none(len(bounds[0].row) - 1)


def _place(equation: Any, array: _Bound) -> _Bound:
    before, after = (math.prod(atoms[0].aval.shape) for atoms in (equation.invars, equation.outvars))
    return _numbers(len(array.row) - 1, max(before // max(after, 1) - 1, 0), 0)


# What results hold as their first operand holds it.
_SAME = """
    convert_element_type broadcast_in_dim reshape squeeze expand_dims slice dynamic_slice copy copy_p stop_gradient reduce_max
    reduce_min rev transpose
"""
_RULES: Mapping[str, Callable[..., _Bound]] = MappingProxyType(
    {
        **dict.fromkeys(_SAME.split(), _same),
        "concatenate": _one_of,
        "select_n": _chosen,
        "max": _largest,
        "min": _smallest,
        "clamp": _clamped,
        "add": _sum,
        "sub": _difference,
        "neg": _negative,
        "abs": _size,
        "mul": _times,
        "div": _by_number(lambda value, number: math.trunc(value / number)),
        "shift_right_arithmetic": _by_number(lambda value, number: int(value) >> number),
        "shift_left": _by_number(lambda value, number: value * 2.0**number),
        "rem": _remainder,
        "and": _masked,
        "argmax": _place,
        "argmin": _place,
    }
)
