"""Arithmetic with truth values, which are numbers in Python: as plain Python has it."""

from __future__ import annotations

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
    mapped = jax.vmap(ag.convert(program))(jnp.array(VALUES))
    for lane, x in enumerate(VALUES):
        found = jax.tree.map(lambda leaf: leaf[lane], mapped)
        assert list(differences(program(x), found, widens=True)) == []


def test_arrays_of_truth_values_stay_arrays_of_truth_values():
    def f(x):
        return (x > 0) + (x > 1)

    x = np.array([0.5, 2.0])
    assert np.array_equal(ag.function(f)(jnp.asarray(x)), f(x)) and f(x).dtype == bool
