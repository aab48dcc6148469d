"""Conditionals one behind another: some stay conditionals, so that XLA compiles them in time that grows with their number."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from autograph.backends.xla.cost_model import LONGEST_CHAIN


def chained(x):
    y = x * 2.0
    for k in range(20):
        y = y + k
        if jnp.sum(y) > k + 0.5:
            y = y * 1.5 + k
        else:
            y = y - 0.25
    return y


def with_exponentials(x):
    """Branches that are not to be run where a derivative would see it; they may be when the program is lowered."""
    y = x * 2.0
    for _ in range(20):
        if jnp.max(y) > 1.0:
            y = jnp.exp(-y)
        else:
            y = y + 1.0
    return y


def independent(x):
    """All tests are of the argument."""
    y = x
    for k in range(20):
        if x[0] > k:
            y = y * 1.5 + k
        else:
            y = y - 0.25
    return y


def of_numbers(x):
    y = x[0]
    for k in range(20):
        if y > k:
            y = y * 1.5 + k
        else:
            y = y - 0.25
    return y


def in_functions(x):
    def step(y, k):
        if jnp.sum(y) > k:
            y = y * 0.5
        return y + 1.0

    y = x
    for k in range(20):
        y = step(y, k)
    return y


def conditionals(program, x):
    text = jax.jit(program).lower(x).as_text()
    return text.count("stablehlo.case")


@pytest.mark.parametrize("program", [chained, with_exponentials, in_functions])
def test_a_chain_is_ended_by_a_conditional(program):
    assert conditionals(ag.convert(program), jnp.ones(3)) == 20 // (LONGEST_CHAIN + 1)


@pytest.mark.parametrize("program", [independent, of_numbers])
def test_what_is_no_chain_of_arrays_is_all_selects(program):
    assert conditionals(ag.convert(program), jnp.ones(3)) == 0


def test_a_chain_in_a_batch_of_one_test():
    batched = jax.vmap(ag.convert(lambda x, s: chained_by(x, s)), in_axes=(0, None))
    x, s = jnp.ones((2, 3)), jnp.ones(3)
    np.testing.assert_allclose(batched(x, s), np.stack([chained_by(np.ones(3, np.float32), np.ones(3))] * 2), rtol=1e-5)
    assert 0 < jax.jit(batched).lower(x, s).as_text().count("stablehlo.case") < 20


def chained_by(x, s):
    for k in range(20):
        if s.sum() > 3 * k:
            s = s * 1.5
            x = x + k
        else:
            s = s + 1.0
    return x


@pytest.mark.parametrize("program", [chained, with_exponentials, independent, of_numbers, in_functions])
def test_results_and_derivatives_are_the_same(program, monkeypatch):
    x = jnp.array([0.3, -1.0, 2.0])

    def results():
        staged = ag.convert(program)
        return jax.jit(staged)(x), jax.jit(jax.grad(lambda x: jnp.sum(staged(x))))(x)

    found = results()
    monkeypatch.setattr("autograph.backends.xla.optimize.chains.LONGEST_CHAIN", 10_000)
    wanted = results()
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)
    np.testing.assert_allclose(found[0], program(np.array(x)), rtol=1e-5)
