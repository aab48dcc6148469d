"""Lists that conditionals bind again, one behind another: each may be any of those before, and writes reach all of them."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests.jaxprs import Counts


def written(count):
    """A list that is written each time, when a condition may have made it another."""

    def f(d):
        x = first = [d * 0, d * 0 + 1]
        for i in range(count):
            ag.set_loop_options(unroll=True)
            if d > i:
                x = [d, d]
            x[i % 2] = x[0] + i
        return x[0] + x[1] + first[0]

    return f


def lengthened(count):
    """The same, of a list that becomes longer where another condition holds."""

    def f(d):
        x = first = [d * 0, d * 0 + 1]
        for i in range(count):
            ag.set_loop_options(unroll=True)
            if d > i:
                x = [d, d]
            if d < 3 * i:
                x.append(d + i)
        return x[0] + x[-1] + len(x) + len(first)

    return f


def with_another_name(count):
    """The same, where another variable keeps what the list was a step before."""

    def f(d):
        x = before = [d * 0, d * 0 + 1]
        for i in range(count):
            ag.set_loop_options(unroll=True)
            before = x
            if d > i:
                x = [d, d]
            before[0] = before[0] + 1
            x[i % 2] = x[0] + before[0] + (1 if x is before else 0)
        return x[0] + x[1] + before[0]

    return f


CHAINS = [written, lengthened, with_another_name]


@pytest.mark.parametrize("chain", CHAINS)
def test_the_program_grows_with_the_square_of_the_choices(chain):
    """Each write reaches all lists before: what says which the present one is takes one operation for each, not one for each pair."""
    small, large = (Counts(ag.convert(chain(count)), jnp.asarray(3.0)).total for count in (8, 16))
    assert large < 4.5 * small


@pytest.mark.parametrize("chain", CHAINS)
def test_all_lists_hold_what_they_hold_in_python(chain):
    f = chain(6)
    values = [-1.0, 0.0, 0.5, 2.5, 50.0]
    wanted = [f(d) for d in values]
    made, converted = ag.function(f), ag.convert(f)
    np.testing.assert_allclose([made(jnp.asarray(d)) for d in values], wanted)
    np.testing.assert_allclose([jax.jit(converted)(d) for d in values], wanted)
    np.testing.assert_allclose(jax.vmap(converted)(jnp.asarray(values)), wanted)


def test_derivatives_are_those_of_the_path_that_is_taken():
    f = ag.convert(written(6))
    for d in (-1.0, 2.5, 50.0):
        slope = (f(d + 0.25) - f(d - 0.25)) / 0.5
        np.testing.assert_allclose(jax.grad(f)(d), slope, rtol=1e-5)
