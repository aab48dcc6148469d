"""Loops in branches: they end in a batch, where lanes disagree, and functions with loops are kept for calls from elsewhere."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

import autograph as ag


def test_a_function_with_a_loop_is_traced_once_for_calls_under_several_conditions():
    @ag.function
    def halved(x):
        while x > 1:
            x = x / 2
        return x

    @ag.function
    def first(x):
        return halved(x) if x > 2 else x

    @ag.function
    def second(x):
        if x < 0:
            return -halved(-x)
        return halved(x)

    x = jnp.array(20.0)
    assert float(first(x)) == 0.625
    assert float(second(x)) == float(-second(-x)) == float(halved(x)) == 0.625
    assert halved.experimental_get_tracing_count() == 1


def test_a_function_under_jit_with_a_loop_is_kept_for_calls_under_several_conditions():
    @jax.jit
    @ag.convert
    def halved(x):
        while x > 1:
            x = x / 2
        return x

    @ag.function
    def first(x):
        return halved(x) if x > 2 else x

    x = jnp.array(20.0)
    assert float(first(x)) == float(halved(x)) == 0.625


def test_a_function_with_a_loop_under_a_condition_in_a_batch():
    @ag.function
    def steps(x):
        n = 0
        while x != 0:  # without an end for what is negative
            x = x - 1 if x > 0 else x
            n += 1
        return n

    @ag.function
    def counted(x):
        return steps(x) if x > 0 else -1

    np.testing.assert_array_equal(jax.vmap(counted)(jnp.array([3, -1, 0, 5])), [3, -1, -1, 5])


def test_a_loop_beside_a_print_under_a_condition_in_a_batch():
    def doubled(x):
        if x > 0:
            while x < 10:  # without an end for what is not positive
                x = x * 2
            print("doubled", x)
        return x

    found = jax.vmap(ag.convert(doubled))(jnp.array([1, -1, 0]))
    np.testing.assert_array_equal(found, [16, -1, 0])


def test_loops_of_a_batch_under_a_condition_in_a_batch():
    def steps(x):
        n = 0
        while x != 0:  # without an end for what is negative
            x = x - 1 if x > 0 else x
            n += 1
        return n

    def total(c, xs):
        if c > 0:
            return jax.vmap(steps)(xs).sum()
        return -1

    xs = jnp.array([[3, 2], [-5, 4]])
    np.testing.assert_array_equal(jax.jit(jax.vmap(ag.convert(total)))(jnp.array([1, -1]), xs), [5, -1])
