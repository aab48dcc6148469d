"""A program that `jax.jit` traced (`jax.stages.Traced`), called in converted code: state, exceptions, derivatives."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

import autograph as ag


def test_it_writes_variables_and_raises_in_a_loop():
    v = ag.Variable(1.0)

    def step(x):
        v.assign_add(x)
        if x > 3.0:
            raise ValueError("too large")
        return x * 2

    @ag.function
    def twice(x):
        for _ in ag.range(2):
            x = jax.jit(step).trace(x)(x)
        return x

    assert float(twice(jnp.array(1.0))) == 4.0 and float(v) == 4.0
    with pytest.raises(ValueError, match="too large"):
        twice(jnp.array(2.0))
    assert float(v) == 4.0


def test_a_tape_sees_through_it():
    v = ag.Variable(3.0)

    @ag.function
    def f(x):
        with ag.GradientTape() as tape:
            tape.watch(x)
            y = jax.jit(lambda x: x * x * v).trace(x)(x)
        return tape.gradient(y, [x, v])

    assert [float(part) for part in f(jnp.array(2.0))] == [12.0, 4.0]


def test_derivatives_and_batches():
    traced = jax.jit(ag.convert(lambda x: x * x if x > 0 else -x)).trace(1.0)

    @ag.convert
    def f(x, n):
        for _ in ag.range(n):
            x = traced(x)
        return x

    assert float(jax.grad(f)(3.0, 2)) == 4 * 27
    assert jax.vmap(f, (0, None))(jnp.array([2.0, -3.0]), 2).tolist() == [16, 9]
