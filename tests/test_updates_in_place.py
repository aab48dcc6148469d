"""Item assignment in a loop changes the array in place: the compiled loop copies no array in an iteration."""

import re

import jax
import jax.numpy as jnp
import pytest

import autograph as ag
from tests.corpus.algorithms_discrete import bubble_sort, sieve

SIZE = 777  # no other array of the programs is as long


def running_sum(x):
    for i in range(1, len(x)):
        x[i] += x[i - 1]
    return x


def filtered(x):
    y = jnp.zeros_like(x)
    state = 0.0
    for i in range(len(x)):
        state = 0.9 * state + x[i]
        y[i] = state
    return y


def early_exit(x):
    i = 0
    while i < len(x) - 1:
        if x[i] < 0:
            break
        x[i + 1] = x[i] * 0.5
        i += 1
    return x, i


class Holder:
    def __init__(self, x):
        self.x = x

    def write(self, i):
        self.x[i] = i


def by_a_method(x):
    holder = Holder(x)
    for i in range(len(x)):
        if x[i] > 3:
            holder.write(i)
    return holder.x


def copies_in_loops(function, x):
    """The copies of arrays of that length in the optimised program, outside of its entry."""
    text = jax.jit(function).lower(x).compile().as_text()
    computations = re.split(r"\n(?=ENTRY|%)", text)
    bodies = [each for each in computations if not each.startswith("ENTRY")]
    return [line.strip() for each in bodies for line in each.splitlines() if re.search(rf"\[{SIZE}\]\S* copy\(", line)]


@pytest.mark.parametrize("function", [running_sum, filtered, sieve, bubble_sort, early_exit, by_a_method])
def test_no_copy_in_an_iteration(function):
    if jax.default_backend() != "cpu":
        pytest.skip("other backends print other programs")
    assert not copies_in_loops(ag.convert(function), jnp.ones(SIZE))


def test_the_helper_sees_a_copy():
    def by_hand(x):
        def body(i, x):
            return jax.lax.cond(x[i] > 0, lambda x: x.at[i].set(x[i - 1]).at[i - 1].set(x[i]), lambda x: x, x)

        return jax.lax.fori_loop(1, SIZE, body, x)

    assert copies_in_loops(by_hand, jnp.ones(SIZE))
