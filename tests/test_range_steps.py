"""`range` with a traced step, which Python refuses where it is zero."""

from __future__ import annotations

import traceback

import jax
import jax.numpy as jnp
import pytest

import autograph as ag
from tests import staged

ZERO = r"range\(\) arg 3 must not be zero"
BOUNDS = [(0, 5, 1), (5, 0, -2), (0, 9, 4), (3, 3, 2)]


def looped(a, b, step):
    total = 0
    for i in range(a, b, step):
        total += i
    return total


def by_staged_range(a, b, step):
    total = 0
    for i in ag.range(a, b, step):
        total += i
    return total


def listed(a, b, step):
    return sum([i for i in range(a, b, step)])


def generated(a, b, step):
    return sum(i for i in range(a, b, step))


def measured(a, b, step):
    numbers = range(a, b, step)
    return len(numbers), sum(numbers), 3 in numbers


def in_a_branch(a, b, step):
    total = 0
    for k in range(3):
        if k > a:
            for i in range(a, b, step):
                total += i
    return total


PROGRAMS = [looped, by_staged_range, listed, generated, measured, in_a_branch]


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_step_of_zero_raises_as_in_python(program):
    compiled = ag.function(program)
    for bounds in BOUNDS:
        assert jax.tree.map(int, compiled(*map(jnp.int32, bounds))) == program(*bounds)
    with pytest.raises(ValueError, match=ZERO) as raised:
        compiled(*map(jnp.int32, (0, 5, 0)))
    assert "range(a, b, step)" in traceback.extract_tb(raised.tb)[-1].line


def test_it_raises_for_the_lane_of_a_batch():
    mapped = jax.vmap(ag.convert(looped), in_axes=(None, None, 0))
    assert mapped(0, 5, jnp.array([1, 2])).tolist() == [10, 6]
    with pytest.raises(ValueError, match=ZERO):
        mapped(0, 5, jnp.array([1, 0]))


def test_a_branch_that_is_not_taken_raises_nothing():
    assert ag.function(in_a_branch)(jnp.int32(7), jnp.int32(9), jnp.int32(0)) == 0


def handled(a, b, step):
    total = 0
    try:
        for i in range(a, b, step):
            total += i
        total += 1000
    except ValueError:
        total = -1
    return total


def handled_in_a_loop(a, b, step):
    total = 0
    while b > a:
        try:
            total += sum([i for i in range(a, b, b - 2)])
        except ValueError as error:
            assert str(error) == "range() arg 3 must not be zero"
            total += 100
        b -= step
    return total


@pytest.mark.parametrize("program", [handled, handled_in_a_loop])
def test_handlers_take_it(program):
    cases = [(0, 5, 1), (0, 9, 4)] + ([(0, 5, 0)] if program is handled else [])
    compiled = ag.function(program)
    for bounds in cases:
        assert compiled(*map(jnp.int32, bounds)) == program(*bounds)
        if program is handled:
            assert staged.jitted(program)(*bounds) == program(*bounds)


def test_a_program_that_cannot_raise_takes_ranges_with_traced_steps():
    for bounds in BOUNDS:
        assert staged.jitted(looped)(*bounds) == looped(*bounds)


def sieve(n):
    total = 0
    for p in range(2, n):
        if p * p >= n:
            break
        for m in range(p * p, n, p):
            total += m
    return total


def down(n):
    total = 0
    for p in range(-1, -n, -2):
        for m in range(10, n - 30, p):
            total += m
    return total


def numbered(n):
    total = 0
    for k, _ in enumerate(range(n), 1):
        for m in range(0, n, k):
            total += m
    return total


@pytest.mark.parametrize("program", [sieve, down, numbered])
def test_items_that_are_never_zero_are_steps_without_a_check(program):
    compiled = ag.function(program)
    for n in (0, 5, 30):
        assert compiled(jnp.int32(n)) == program(n)
    assert not may_raise(program)


def through_zero(n):
    total = 0
    for p in range(-2, n):
        for m in range(0, n, p):
            total += m
    return total


def lowered(n):
    total = 0
    for p in range(1, n):
        p -= 1
        for m in range(0, n, p):
            total += m
    return total


def from_zero(n):
    total = 0
    for p in range(n):
        for m in range(0, n, p):
            total += m
    return total


@pytest.mark.parametrize("program", [through_zero, lowered, from_zero])
def test_items_that_may_be_zero_are_checked(program):
    compiled = ag.function(program)
    assert may_raise(program)
    with pytest.raises(ValueError, match=ZERO):
        program(3)
    with pytest.raises(ValueError, match=ZERO):
        compiled(jnp.int32(3))


def may_raise(program):
    """Whether a compiled program has results that say what it raises."""
    return "result[1]" in ag.function(program).lower(jnp.int32(3)).as_text()


def until_an_error(steps, n):
    """The step of each iteration is checked in it; the first of zero ends the loop, and the counts of those before stay."""
    total, k = 0, 0
    try:
        while k < n:
            for i in range(0, 10, steps[k]):
                total += i
            k += 1
    except ValueError:
        total = -total
    return total, k


@pytest.mark.parametrize("steps", [[1, 2, 3, 4], [3, 0, 2, 1], [0, 1, 1, 1], [2, 2, 2, 0]])
def test_the_first_error_ends_a_loop(steps):
    expected = until_an_error(steps, 4)
    assert jax.tree.map(int, ag.function(until_an_error)(jnp.array(steps), jnp.int32(4))) == expected


def test_each_lane_of_a_loop_ends_with_its_first_error():
    steps = [[1, 2, 3, 4], [3, 0, 2, 1], [0, 1, 1, 1], [2, 2, 2, 0]]
    total, k = jax.vmap(ag.convert(until_an_error), in_axes=(0, None))(jnp.array(steps), 4)
    assert list(zip(total.tolist(), k.tolist(), strict=True)) == [until_an_error(each, 4) for each in steps]
