"""`range` with a traced step, which Python refuses where it is zero."""

from __future__ import annotations

import traceback

import jax
import jax.numpy as jnp
import pytest

import autograph as ag

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
            assert jax.jit(ag.convert(program))(*bounds) == program(*bounds)


def test_a_program_that_cannot_raise_takes_ranges_with_traced_steps():
    for bounds in BOUNDS:
        assert jax.jit(ag.convert(looped))(*bounds) == looped(*bounds)
