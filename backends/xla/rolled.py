"""Stage a loop that Python could run as one loop, in which values computed from Python numbers stay Python's.

In a loop that runs in Python, the index and all that is computed from it and from other Python numbers are Python's:
exact ints, floats of 64 bits. Staged, they would be int32 and float32. So the equations that depend on nothing else
are taken out of the body and computed here, for every iteration, by Python's arithmetic. Where the rest of the body
needs one of their values it is given the value of its iteration from a table, or computes it from the index if it is
an int that goes up or down by one step; what such a variable holds after the loop is a Python number again. The test of
a ``while`` on Python numbers is computed so, too, which says how often it runs.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from autograph.backends.base import LoopSpec, NotRollable, Output, RolledLoop, Traced
from autograph.backends.xla import jax_compat
from autograph.backends.xla.even_numbers import Even, Uneven
from autograph.backends.xla.jax_compat import Kind, is_literal
from autograph.backends.xla.tracing import trace

_NUMBERS = (bool, int, float)
# Operations on numbers that computing the tables may take, all iterations together: some seconds.
_MOST_OPERATIONS = 20_000_000
_LEAST_OPERATIONS = 10  # as many take as long as an iteration does by itself
_TOO_MUCH = "it computes too much on Python numbers"


def rolled(spec: LoopSpec) -> RolledLoop | None:
    """See `Backend.rolled`."""
    split = _split(spec)
    if _is_idle(spec, split):
        return None
    _refuse_constants(spec, split)
    needed = _needed(spec, split)
    length, tables, last = _Numbers(spec, split).run(needed)
    even = {
        var: found
        for values, var in zip(tables, needed, strict=True)
        if (found := _progression(values, var.aval.dtype)) is not None
    }
    arrays = [
        jnp.asarray(np.asarray(values, var.aval.dtype))
        for values, var in zip(tables, needed, strict=True)
        if var not in even
    ]
    return RolledLoop(
        dataclasses.replace(
            spec,
            body=_without(spec, split, needed, even, arrays),
            test=None,
            results=[None if k in split.static else result for k, result in enumerate(spec.results)],
            length=length,
            arrays=[*spec.arrays, *arrays],
        ),
        last,
    )


def iterations(spec: LoopSpec) -> int | None:
    """See `Backend.iterations`."""
    split = _split(spec)
    return None if _is_idle(spec, split) else _Numbers(spec, split).run(())[0]


def _is_idle(spec: LoopSpec, split: _Split) -> bool:
    return not split.rest and all(result is None or k in split.static for k, result in enumerate(spec.results))


@dataclass(frozen=True)
class _Split:
    """A body's equations by what they depend on.

    Attributes:
      static: the carried leaves that are Python numbers in every iteration.
      known: the variables that hold Python numbers.
      python, rest: the equations that compute them, and the others.
    """

    static: frozenset[int]
    known: frozenset[Any]
    python: tuple[Any, ...]
    rest: tuple[Any, ...]


def _split(spec: LoopSpec) -> _Split:
    jaxpr = spec.body.program.jaxpr
    inputs = {k for k, (start, _) in enumerate(spec.carry[: spec.inputs]) if type(start) in _NUMBERS}
    while True:
        known = {jaxpr.invars[k] for k in inputs} | {jaxpr.invars[spec.inputs]}
        python: list[Any] = []
        rest: list[Any] = []
        for equation in jaxpr.eqns:
            is_python = all(is_literal(atom) or atom in known for atom in equation.invars)
            if is_python and jax_compat.name_of(equation) == "shift_right_logical":  # part of nothing else
                raise NotRollable("it raises a Python int to a power that changes")
            is_python = is_python and _is_arithmetic(equation)
            (python if is_python else rest).append(equation)
            if is_python:
                known.update(equation.outvars)
        still = {k for k in inputs if _comes_from_python(spec.results[k], jaxpr, known)}
        if still == inputs:
            break
        inputs = still
    found = [*sorted(inputs), *range(spec.inputs, len(spec.carry))]
    held = {k for k in found if _is_python(spec.results[k], jaxpr, known)}
    born = held - inputs
    return _Split(frozenset(inputs | born), frozenset(known), tuple(python), tuple(rest))


def _comes_from_python(result: Any, jaxpr: Any, known: set[Any]) -> bool:
    """Whether an iteration leaves here what is made of Python numbers alone."""
    if not isinstance(result, Output):
        return result is None or type(result) in _NUMBERS
    atom = jaxpr.outvars[result.index]
    return is_literal(atom) or atom in known


def _is_python(result: Any, jaxpr: Any, known: set[Any]) -> bool:
    """Whether an iteration leaves a Python number here."""
    if not _comes_from_python(result, jaxpr, known):
        return False
    if not isinstance(result, Output):
        return True
    if result.type.weak_type or result.type.dtype == np.bool_:
        return True
    raise NotRollable("it makes an array, or an int, of Python numbers, which after the loop are not told apart")


def _refuse_constants(spec: LoopSpec, split: _Split) -> None:
    """Refuse results that are made of nothing traced, by more than arithmetic: of NumPy's arrays, say, or by `math`.

    In Python they may be no arrays of JAX's at all, and come out as traced here.

    Raises:
      NotRollable: there is one.
    """
    program = spec.body.program
    jaxpr = program.jaxpr
    plain_starts = (*_NUMBERS, np.ndarray, np.generic)
    carried = {k for k, (start, _) in enumerate(spec.carry[: spec.inputs]) if isinstance(start, plain_starts)}
    consts = jax_compat.constants_of(program).items()
    constant = {var for var, const in consts if not jax_compat.is_tracer(const)} | split.known

    def is_plain(k: int, plain: set[Any]) -> bool:
        result = spec.results[k]
        return (
            not isinstance(result, Output)
            or is_literal(jaxpr.outvars[result.index])
            or jaxpr.outvars[result.index] in plain
        )

    while True:
        plain = constant | {jaxpr.invars[k] for k in carried}
        for equation in split.rest:
            if not equation.effects and all(is_literal(atom) or atom in plain for atom in equation.invars):
                plain.update(equation.outvars)
        still = {k for k in carried if is_plain(k, plain)}
        if still == carried:
            break
        carried = still
    born = {k for k in range(spec.inputs, len(spec.carry)) if is_plain(k, plain)}
    if any(isinstance(spec.results[k], Output) and k not in split.static for k in carried | born):
        raise NotRollable("it computes something of Python's or NumPy's values alone, which must stay what they are")


def _needed(spec: LoopSpec, split: _Split) -> list[Any]:
    """The variables of Python numbers that the rest of the body reads, the index and constants left out."""
    jaxpr = spec.body.program.jaxpr
    constant = {jaxpr.invars[k] for k in split.static if k < spec.inputs and spec.results[k] is None}
    read = [atom for equation in split.rest for atom in equation.invars]
    results = [result for k, result in enumerate(spec.results) if k not in split.static]
    read += [jaxpr.outvars[result.index] for result in results if isinstance(result, Output)]
    at_hand = constant | {jaxpr.invars[spec.inputs]}
    return list(
        dict.fromkeys(atom for atom in read if not is_literal(atom) and atom in split.known and atom not in at_hand)
    )


def _without(
    spec: LoopSpec, split: _Split, needed: Sequence[Any], even: Mapping[Any, tuple[int, int]], arrays: Sequence[Any]
) -> Traced:
    """The body without Python's equations; its last operands are the values that it needs of them and that are not ``even``."""
    program = spec.body.program
    jaxpr = program.jaxpr
    given = set(needed)
    kept = [k for k, var in enumerate(jaxpr.invars) if var not in given]
    at_hand = {jaxpr.invars[k] for k in kept} | given | set(jaxpr.constvars)
    at_hand |= {var for equation in split.rest for var in equation.outvars}
    nothing = jaxpr.invars[spec.inputs]  # stands where nobody looks
    outvars = [var if is_literal(var) or var in at_hand else nothing for var in jaxpr.outvars]
    operands_left = [*(jaxpr.invars[k] for k in kept), *needed]
    rest = jax_compat.program_of(split.rest, operands_left, outvars, jax_compat.constants_of(program))
    count = len(jaxpr.invars)

    def run(*operands: Any) -> list[Any]:
        values, slices = [operands[k] for k in kept], iter(operands[count:])
        for var in needed:
            item = next(slices) if var not in even else _item(operands[spec.inputs], *even[var], var.aval.dtype)
            values.append(item)
        return jax_compat.replay(rest, *values)

    types = [jax.ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=aval.weak_type) for aval in program.in_avals]
    slices = [jax.ShapeDtypeStruct((), array.dtype) for array in arrays]
    return Traced(trace(run, [*types, *slices]), spec.body.leaves)


def _item(index: Any, first: int, step: int, dtype: Any) -> Any:
    """An item of a progression, of an array's type."""
    if step == 0:
        return np.asarray(first, dtype)
    item = jax.lax.convert_element_type(index, dtype)
    item = item if step == 1 else item * np.asarray(step, dtype)
    return item if first == 0 else item + np.asarray(first, dtype)


def _progression(values: Sequence[Any] | Even, dtype: Any) -> tuple[int, int] | None:
    """First item and difference of evenly spaced ints."""
    if isinstance(values, Even):
        return (values.first, values.step) if jnp.issubdtype(dtype, jnp.integer) else None
    if not values or not jnp.issubdtype(dtype, jnp.integer):
        return None
    first, step = values[0], (values[1] - values[0] if len(values) > 1 else 0)
    return (first, step) if all(value == first + step * k for k, value in enumerate(values)) else None


class _Numbers:
    """Python's equations, to be run on Python numbers.

    Attributes: slots (every variable and literal), operations and those of the test (a function, the slots of its operands,
      of its result), truth (the slot of the test), length (how often the loop may run).
    """

    def __init__(self, spec: LoopSpec, split: _Split) -> None:
        jaxpr = spec.body.program.jaxpr
        self.slots: list[Any] = []
        self.operations: list[tuple[Callable[..., Any], tuple[int, ...], int, Any]] = []
        self.places: dict[Any, int] = {}
        self.length = spec.length
        for var in jaxpr.invars:
            if var in split.known:
                self.places[var] = self._slot(None)
        for equation in split.python:
            self._add(equation, self.places)
        self.index = self.places[jaxpr.invars[spec.inputs]]
        # For each leaf that changes: where an iteration finds it (None if it does not), and what it leaves there.
        self.carry: list[tuple[int, int | None, int]] = []
        for k in sorted(split.static):
            start, result = spec.carry[k][0], spec.results[k]
            place = self.places[jaxpr.invars[k]] if k < spec.inputs else None
            if place is not None:
                self.slots[place] = start
            if result is not None:
                after = (
                    self._of(jaxpr.outvars[result.index], self.places)
                    if isinstance(result, Output)
                    else self._slot(result)
                )
                self.carry.append((k, place, after))

        body, self.operations = self.operations, []
        self.truth = None if spec.test is None else self._add_test(spec, split)
        self.operations, self.test = body, self.operations

    def _add_test(self, spec: LoopSpec, split: _Split) -> int:
        assert spec.test is not None
        test, (truth,) = spec.test.program.jaxpr, spec.test.leaves
        if not isinstance(truth, Output):
            return self._slot(truth)
        inputs = spec.body.program.jaxpr.invars
        places = {var: self.places[inputs[k]] for k, var in enumerate(test.invars) if k in split.static}
        for equation in test.eqns:
            known = all(is_literal(atom) or atom in places for atom in equation.invars)
            if not (known and _is_arithmetic(equation)):
                raise NotRollable("its test is more than arithmetic of Python numbers")
            self._add(equation, places)
        return self._of(test.outvars[truth.index], places)

    def _slot(self, value: Any) -> int:
        self.slots.append(value)
        return len(self.slots) - 1

    def _of(self, atom: Any, places: Mapping[Any, int]) -> int:
        return self._slot(_number(atom.val)) if is_literal(atom) else places[atom]

    def _add(self, equation: Any, places: dict[Any, int]) -> None:
        operands = tuple(self._of(atom, places) for atom in equation.invars)
        if jax_compat.kind(equation) is Kind.CALL:
            program = jax_compat.called(equation.params)
            assert program is not None
            inner = program.jaxpr
            within = dict(zip(inner.invars, operands, strict=True))
            for nested in inner.eqns:
                self._add(nested, within)
            for var, atom in zip(equation.outvars, inner.outvars, strict=True):
                places[var] = self._of(atom, within)
            return
        (var,) = equation.outvars
        places[var] = self._slot(None)
        self.operations.append((_OPERATIONS[jax_compat.name_of(equation)](equation), operands, places[var], var.aval))

    def run(self, needed: Sequence[Any]) -> tuple[int, list[Any], dict[int, Any]]:
        """How often the loop runs, for each needed variable its values, and for each leaf that changes its last.

        Raises:
          NotRollable: Python would raise in some iteration, or a value does not fit the type it is staged with.
        """
        wanted = [self.places[var] for var in needed]
        operations = self._useful(self.operations, {*wanted, *(after for _, _, after in self.carry)})
        test = self._useful(self.test, set() if self.truth is None else {self.truth})
        checks = [(slot, _range_of(var.aval.dtype)) for slot, var in zip(wanted, needed, strict=True)]
        if self.length and self.truth is None:
            with contextlib.suppress(Uneven, ArithmeticError, ValueError, TypeError):  # the iterations one by one tell
                return self._at_once(operations, checks)
        most = _MOST_OPERATIONS // max(len(operations) + len(test), _LEAST_OPERATIONS)
        if self.length is not None and self.length > most and operations:
            raise NotRollable(_TOO_MUCH)
        tables: list[list[Any]] = [[] for _ in wanted]
        slots, last = self.slots, {}
        count = 0
        is_settled = self.length is None and self._is_settled(test)
        for index in itertools.count() if self.length is None else range(self.length):
            if self.truth is not None and index > (0 if is_settled else most):
                raise NotRollable(_TOO_MUCH)
            slots[self.index] = index
            try:
                for function, operands, result in test:
                    slots[result] = function(*[slots[k] for k in operands])
                if self.truth is not None and not slots[self.truth]:
                    break
                for function, operands, result in operations:
                    slots[result] = function(*[slots[k] for k in operands])
            except (ArithmeticError, ValueError, TypeError) as error:
                raise NotRollable(f"Python raises {type(error).__name__} in iteration {index}") from None
            for table, (slot, limits) in zip(tables, checks, strict=True):
                if limits is not None and not limits[0] <= slots[slot] <= limits[1]:
                    raise NotRollable(f"a Python int in iteration {index} is too large for an array: {slots[slot]}")
                table.append(slots[slot])
            last = {k: slots[after] for k, _, after in self.carry}
            for k, place, _ in self.carry:
                if place is not None:
                    slots[place] = last[k]
            count += 1
        return count, tables, last

    def _at_once(
        self, operations: Sequence[Any], checks: Sequence[tuple[int, tuple[int, int] | None]]
    ) -> tuple[int, list[Any], dict[int, Any]]:
        """What `run` returns where all numbers are the same in each iteration, or go by a step.

        Raises:
          Uneven: they do not, or not all fit their types.
        """
        length, slots = self.length, list(self.slots)

        def iteration(index: Any) -> None:
            slots[self.index] = index
            for function, operands, result in operations:
                slots[result] = function(*[slots[k] for k in operands])

        read = [(place, after, slots[place]) for _, place, after in self.carry if place is not None]
        if read:  # each is taken to go by what the first iteration adds to it
            iteration(0)
            steps = [slots[after] - start for _, after, start in read]
            for (place, _, start), step in zip(read, steps, strict=True):
                slots[place] = start if step == 0 else Even(start, step, length)
        iteration(Even(0, 1, length))
        for place, after, start in read:
            wanted = slots[place] if slots[place] is start else slots[place] + slots[place].step
            if type(slots[after]) is not type(wanted) or slots[after] != wanted:
                raise Uneven
        tables = [slots[slot] for slot, _ in checks]
        for values, (_, limits) in zip(tables, checks, strict=True):
            if limits is not None and not limits[0] <= values <= limits[1]:
                raise Uneven
        found = [values if isinstance(values, Even) else [values] * length for values in tables]
        return length, found, {k: _last(slots[after]) for k, _, after in self.carry}

    def _is_settled(self, test: Sequence[tuple[Callable[..., Any], tuple[int, ...], int]]) -> bool:
        """Whether the test reads nothing that an iteration changes: what ends the loop is not known here."""
        read = {self.truth}.union(*(operands for _, operands, _ in test))
        return read.isdisjoint(place for _, place, _ in self.carry)

    def _useful(
        self, operations: Sequence[tuple[Callable[..., Any], tuple[int, ...], int, Any]], wanted: set[int]
    ) -> list[tuple[Callable[..., Any], tuple[int, ...], int]]:
        """The operations that what is wanted needs, in order."""
        kept = []
        for function, operands, result, aval in reversed(operations):
            if result in wanted:
                wanted.update(operands)
                kept.append((_checked(function, aval), operands, result))
        return kept[::-1]


def _last(number: Any) -> Any:
    return number.last if isinstance(number, Even) else number


def _checked(function: Callable[..., Any], aval: Any) -> Callable[..., Any]:
    """An operation whose result has a type of its own wraps around in it; Python's numbers have none."""
    limits = None if aval.weak_type else _range_of(aval.dtype)
    if limits is None:
        return function

    def check(*operands: Any) -> Any:
        result = function(*operands)
        if not limits[0] <= result <= limits[1]:
            raise OverflowError
        return result

    return check


def _range_of(dtype: Any) -> tuple[int, int] | None:
    if not jnp.issubdtype(dtype, jnp.integer):
        return None
    info = jnp.iinfo(dtype)  # type: ignore[no-untyped-call]
    return int(info.min), int(info.max)


def _number(value: Any) -> Any:
    """A literal as a Python number, not rounded where it was one."""
    for kind in _NUMBERS:
        if isinstance(value, kind):
            return kind(value)
    return np.asarray(value).item()


# Arithmetic. Each maker takes the equation and returns a function of Python numbers.


def _plain(function: Callable[..., Any]) -> Callable[[Any], Callable[..., Any]]:
    return lambda equation: function


def _truncated(a: Any, b: Any) -> Any:
    """Division as XLA has it: of ints, towards zero."""
    if isinstance(a, int) and isinstance(b, int):
        quotient = abs(a) // abs(b)
        return quotient if (a < 0) == (b < 0) else -quotient
    return a / b


def _remainder(a: Any, b: Any) -> Any:
    return a - b * _truncated(a, b) if isinstance(a, int) and isinstance(b, int) else math.fmod(a, b)


def _power(base: Any, exponent: Any) -> Any:
    result = base**exponent
    if isinstance(result, complex):
        raise ValueError("a complex power")
    return result


def _sign(a: Any) -> Any:
    return type(a)((a > 0) - (a < 0))


def _cast(equation: Any) -> Callable[[Any], Any]:
    kind = np.dtype(jax_compat.cast_to(equation)).kind
    casts: dict[str, Callable[[Any], Any]] = {"b": bool, "i": _as_int, "u": _as_int, "f": float}
    return casts[kind]


def _as_int(number: Any) -> Any:
    return number if isinstance(number, Even) else int(number)


def _rounded(equation: Any) -> Callable[[Any], Any]:
    to_even = jax_compat.rounds_to_even(equation)
    return (lambda a: float(round(a))) if to_even else (lambda a: math.copysign(math.floor(abs(a) + 0.5), a))


_OPERATIONS: Mapping[str, Callable[[Any], Callable[..., Any]]] = MappingProxyType(
    {
        "add": _plain(operator.add),
        "sub": _plain(operator.sub),
        "mul": _plain(operator.mul),
        "div": _plain(_truncated),
        "rem": _plain(_remainder),
        "neg": _plain(operator.neg),
        "abs": _plain(abs),
        "sign": _plain(_sign),
        "square": _plain(lambda a: a * a),
        "integer_pow": lambda equation: lambda a: _power(a, jax_compat.exponent(equation)),
        "pow": _plain(_power),
        "max": _plain(max),
        "min": _plain(min),
        "eq": _plain(operator.eq),
        "ne": _plain(operator.ne),
        "lt": _plain(operator.lt),
        "le": _plain(operator.le),
        "gt": _plain(operator.gt),
        "ge": _plain(operator.ge),
        "and": _plain(operator.and_),
        "or": _plain(operator.or_),
        "xor": _plain(operator.xor),
        "not": _plain(lambda a: not a if isinstance(a, bool) else ~a),
        "shift_left": _plain(operator.lshift),
        "shift_right_arithmetic": _plain(operator.rshift),
        "reshape": _plain(lambda a: a),
        "select_n": _plain(lambda which, *cases: cases[which]),
        "floor": _plain(lambda a: float(math.floor(a))),
        "ceil": _plain(lambda a: float(math.ceil(a))),
        "round": _rounded,
        "convert_element_type": _cast,
    }
)


def _is_arithmetic(equation: Any) -> bool:
    """Whether this equation is something that Python does with numbers."""
    name = jax_compat.name_of(equation)
    if jax_compat.kind(equation) is Kind.CALL:
        return all(_is_arithmetic(nested) for inner in jax_compat.inner_programs(equation) for nested in inner.eqns)
    return name in _OPERATIONS and all(
        var.aval.shape == () and np.dtype(var.aval.dtype).kind in "biuf" for var in equation.outvars
    )
