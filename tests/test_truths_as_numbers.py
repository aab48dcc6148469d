"""Arithmetic with truth values, which are numbers in Python: as plain Python has it."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import operator

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests.agreement import differences


def sign(x):
    return (x > 0) - (x < 0), -(x > 0), +(x > 1)


def counted(x):
    return (x > 0) + (x > 1) + (x > 2), bool(x > 0) + bool(x > 1), (not x > 0) + (not x > 1)


def by_names(x):
    is_positive, is_large = x > 0, bool(x > 1)
    score = is_positive + is_large
    both = is_positive * is_large
    is_large += is_positive
    return score, both, is_large


def chosen_and_joined(x):
    is_positive = True if x > 0 else False
    is_inside = 0 < x < 2
    return is_positive + is_inside, is_positive + (x > 1 and x < 5), True - (x > 1), (2.0 == x) + (x in (1.0, 2.0))


def other_operators(x):
    one = True
    return (x > 0) / True, (x > 0) // one, (x > 0) % one, (x > 0) ** (x > 1), (x > 0) << (x > 1), one / (x > -9)


def in_a_loop(x):
    changes, was = 0, x > 0
    for k in range(5):
        now = bool(x > k - 2)
        changes += now - was
        was = now
        x = -x
    return changes


def with_numbers(x):
    return (x > 0) + 1, 2 - (x > 0), (x > 0) * x, (x > 0) & (x > 1), (x > 0) | (x < 5), (x > 0) ^ (x > 1)


PROGRAMS = [sign, counted, by_names, chosen_and_joined, other_operators, in_a_loop, with_numbers]
VALUES = (-1.0, 0.5, 1.5, 2.0, 3.0)


@pytest.mark.parametrize("program", PROGRAMS)
def test_as_in_python(program):
    compiled, jitted = ag.function(program), jax.jit(ag.convert(program))
    for x in VALUES:
        for found in (compiled(jnp.float32(x)), jitted(jnp.float32(x))):
            assert list(differences(program(x), found, widens=True)) == []
    mapped = jax.jit(jax.vmap(ag.convert(program)))(jnp.array(VALUES))
    for lane, x in enumerate(VALUES):
        found = jax.tree.map(lambda leaf: leaf[lane], mapped)
        assert list(differences(program(x), found, widens=True)) == []


def test_arrays_of_truth_values_stay_arrays_of_truth_values():
    def f(x):
        return (x > 0) + (x > 1)

    x = np.array([0.5, 2.0])
    assert np.array_equal(ag.function(f)(jnp.asarray(x)), f(x)) and f(x).dtype == bool


def is_large(x):
    return x > 1


def sum_of(a, b):
    return a + b


def sums_of_two(predicate, x):
    return predicate(x) + predicate(x)


def both_ways(x):
    return x > 0, x > 1


class Limits:
    def __init__(self, x):
        self.above = x > 1
        self.below = False

    def is_hit(self):
        return self.above

    @property
    def is_clear(self):
        return not self.above

    def count(self):
        return self.above + self.above + self.is_hit(), self.is_clear + self.is_clear, -self.is_hit()


@dataclasses.dataclass
class Reading:
    is_valid: bool
    n: int


def of_functions(x):
    return (
        is_large(x) + is_large(x),
        is_large(x) - is_large(-x),
        -is_large(x),
        +is_large(x),
        abs(is_large(x)),
        is_large(x) + (x > 0),
    )


def handed_over(x):
    from tests.test_truths_as_numbers import is_large as elsewhere

    return sum_of(x > 0, x > 1), sums_of_two(is_large, x), sums_of_two(lambda v: v > 0, x), elsewhere(x) * elsewhere(x)


def of_objects(x):
    limits, reading = Limits(x), Reading(x > 0, 3)
    return limits.count(), limits.above + limits.is_clear, reading.is_valid + reading.is_valid, reading.n + reading.n


def held(x):
    flags = [False] * 3
    for k in range(3):
        flags[k] = x > k
    appended = []
    for k in range(3):
        appended.append(x > k)
    table = {"a": x > 0, "b": x > 1}
    total = 0
    for flag in flags:
        total = flag + flag + total
    return flags[0] + flags[1], appended[0] + appended[-1], table["a"] + table["b"], table.get("a") + flags[2], total


def unpacked(x):
    a, b = both_ways(x)
    c = d = is_large(x)
    e, f = x > 0, is_large(x)
    return a + b, c + d, e - f


def reduced(x):
    flags = [x > 0, x > 1, is_large(x)]
    accumulated = list(itertools.accumulate(flags))
    return (
        functools.reduce(lambda a, b: a + b, flags),
        functools.reduce(operator.add, flags),
        accumulated[1:],
        operator.neg(x > 0),
        operator.sub(x > 0, x > 1),
        sum(map(is_large, [x, x + 1])),
        max(x > 0, x > 1) + min(x > 0, x > 1),
    )


def of_builtins(x):
    return abs(x > 0), round(x > 0), divmod(x > 0, 1), (x > 0) + ((x > 1) & (x < 5)), sum([x > 0, x > 1])


def changes(x):
    def is_odd(k):
        return k % 2 == 1

    was, found = False, 0
    while x > 0:
        now = is_odd(x // 1)
        found += now - was
        was = now
        x = x - 1
    return found, is_odd(x) + is_odd(x + 1)


FURTHER = [of_functions, handed_over, of_objects, held, unpacked, reduced, of_builtins, changes]


@pytest.mark.parametrize("program", FURTHER)
def test_of_helpers_as_in_python(program):
    test_as_in_python(program)


def test_arithmetic_of_other_values_stays_as_written():
    def f(a, b, n):
        if n < 2:
            return a[0] + b[1]
        return f(a, b, n - 1) + f(a, b, n - 2) - abs(a[0])

    assert "operate" not in ag.to_code(f)


def inverted(x):
    flag, n = False, 0
    if x > 0:
        flag = True
    while n < x:
        n += 1
    is_large = n > 1
    both = flag and is_large
    kind = "large" if x > 1 else "small"
    found = ~(kind == "large"), ~flag, ~is_large, ~both, ~(n == 2), ~(not flag), -~flag, ~(0 < n < 3)
    return found, ~bool(x > 1), ~(2.0 in [x]), ~(True if x > 0 else False), ("off", "on")[~bool(x > 0) + 2]


def steps_until_done(x):
    is_done, n = bool(x > 2), 0
    while ~is_done and n < 4:
        n += 1
    return n


@pytest.mark.filterwarnings("ignore:Bitwise inversion")
@pytest.mark.parametrize("program", [lambda x: inverted(x)[0], lambda x: inverted(x)[1:], steps_until_done])
def test_the_inverse_of_a_python_truth_value_is_a_number(program):
    compiled = ag.function(program)
    for x in VALUES:
        assert list(differences(program(x), compiled(jnp.float32(x)), widens=True)) == []


@pytest.mark.filterwarnings("ignore:Bitwise inversion")
def test_the_inverse_of_an_array_of_truth_values_is_its_negation():
    def negated(x, n):
        mask, is_done, steps = x > 0, False, 0
        while ~is_done & (steps < 9):
            steps += 1
            is_done = steps > n
        return ~mask, ~(n > 1), steps

    mask, truth, steps = ag.function(negated)(jnp.array([1.0, -1.0]), jnp.float32(4))
    assert mask.tolist() == [False, True] and truth.dtype == bool and not truth and steps == 5
