"""What Python computes in a loop from its index is not computed iteration by iteration where it goes by a step."""

from __future__ import annotations

import itertools
import operator

import jax
import jax.numpy as jnp
import pytest

import autograph as ag
from autograph.backends.xla import rolled
from autograph.backends.xla.even_numbers import Even, Uneven

LENGTH = 7
_OPERATIONS = [operator.add, operator.sub, operator.mul, max, min]
_TESTS = [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]


def items(number):
    return [number.first + k * number.step for k in range(LENGTH)] if isinstance(number, Even) else [number] * LENGTH


@pytest.mark.parametrize("function", [*_OPERATIONS, *_TESTS], ids=lambda function: function.__name__)
def test_arithmetic_is_that_of_ints(function):
    numbers = [*(Even(first, step, LENGTH) for first in (-4, 0, 3) for step in (-2, 0, 1)), -5, 0, 2, 30]
    told = 0
    for one, other in itertools.product(numbers, numbers):
        if not isinstance(one, Even) and not isinstance(other, Even):
            continue
        wanted = [function(a, b) for a, b in zip(items(one), items(other), strict=True)]
        try:
            found = function(one, other)
        except Uneven:
            continue
        told += 1
        assert items(found) == wanted
    assert told > 40


def test_of_one_number():
    up = Even(1, 2, LENGTH)
    assert items(-up) == [-item for item in items(up)] and items(abs(-up)) == items(up)
    assert up and not Even(0, 0, LENGTH)
    for unknown in (lambda: bool(Even(-1, 1, LENGTH)), lambda: up * up, lambda: up + 0.5, lambda: up + True):
        with pytest.raises(Uneven):
            unknown()


def counted(x, n):
    count, down, k = 0, 5, 0
    for i in range(3, n, 2):
        k = 2 * i - 1
        count = count + 3
        down -= i
        x = x + k * count
    return x, count, down, k


def conditional(x, n):
    last = 0
    for i in range(n):
        last = i if i > 3 else -i
        x = x + last
    return x, last


def indexed(x, y, n):
    for i in range(n):
        x = x * 0.5 + y[i] + y[-i - 1]
    return x


def alternating(x, n):
    sign = 1
    for i in range(n):
        sign = -sign
        x = x + sign * i
    return x, sign


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 9, 80])
@pytest.mark.parametrize("function", [counted, conditional, alternating])
def test_loops_compute_what_python_does(function, n):
    wanted = function(1, n)
    found = jax.jit(lambda x: ag.convert(function)(x, n))(jnp.array(1))
    assert [int(each) for each in found] == list(wanted)


def test_numbers_after_the_loop_are_pythons():
    kinds = []

    def after(x):
        count = 0
        for i in range(100):
            count += 2
            x = x + i
        kinds.append((type(count), count))
        return x

    assert jax.jit(ag.convert(after))(jnp.array(1)) == 4951 and kinds == [(int, 200)]


def test_items_of_arrays():
    y = jnp.arange(80.0)
    assert jnp.allclose(jax.jit(lambda x, y: ag.convert(indexed)(x, y, 80))(1.0, y), indexed(1.0, y, 80))


def test_ints_that_are_too_large_are_refused():
    def large(x):
        for i in range(70):
            x = x + i * 2**28
        return x

    with pytest.raises(OverflowError):
        jax.jit(ag.convert(large))(jnp.array(1))


def test_a_million_iterations_take_no_longer_to_trace_than_a_hundred(monkeypatch):
    def many(x, y):
        for i in range(1_000_000):
            x = x * 0.5 + y[i]
        return x

    monkeypatch.setattr(rolled, "_MOST_OPERATIONS", 0)  # what is left to the iterations one by one is refused
    program = jax.make_jaxpr(ag.convert(many))(1.0, jnp.ones(1_000_000))
    assert "length=1000000" in str(program)
