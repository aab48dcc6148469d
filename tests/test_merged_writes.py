"""Two writes to one place of an array in a block: one write, with the results of both."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from autograph.backends.xla import jax_compat
from autograph.backends.xla.optimize import merged_writes
from autograph.backends.xla.optimize.merged_writes import merge_writes
from tests import staged

X = jnp.arange(6.0)
INDICES = [-9, -6, -1, 0, 2, 5, 6, 9]


def twice(x, i, j):
    x = x.at[i].set(1.0)
    return x.at[i].set(x[i] + x[j])


def thrice(x, i, j):
    x = x.at[i].set(1.0)
    x = x.at[i].set(x[j] + 2.0)
    return x.at[i].set(x[i] * x[j]), x[j]


def a_table(x, i, j):
    x = jnp.stack([x, x + 1.0])
    x = x.at[i, j].set(-1.0)
    return x.at[i, j].set(x[j, i] - x[i, j])


def elsewhere(x, i, j):
    x = x.at[i].set(1.0)
    return x.at[j].set(x[i] + 2.0)


def whole(x, i, j):
    x = x.at[i].set(1.0)
    return x.at[i].set(jnp.sum(x))


def added(x, i, j):
    x = x.at[i].set(1.0)
    return x.at[i].add(x[j])


def both(x, i, j):
    y = x.at[i].set(1.0)
    return y.at[i].set(2.0), y


def count(program):
    return sum(map(jax_compat.is_scatter, program.jaxpr.eqns))


@pytest.mark.parametrize("block", [elsewhere, whole, added, both])
def test_other_writes_are_left_alone(block):
    program = jax.make_jaxpr(block)(X, 1, 2)
    assert merge_writes(program) is program


@pytest.mark.parametrize("block", [twice, thrice, a_table])
def test_one_write_is_left(block):
    program = jax.make_jaxpr(block)(X, 1, 2)
    merged = merge_writes(program)
    assert count(program) > 1 == count(merged)
    for i in INDICES:
        for j in INDICES:
            expected = jax.tree.leaves(block(X, jnp.int32(i), jnp.int32(j)))
            for one, other in zip(jax_compat.replay(merged, X, i, j), expected, strict=True):
                np.testing.assert_array_equal(one, other)


def in_branches(x, i, j):
    x = x.copy() if isinstance(x, np.ndarray) else x
    for k in ag.range(6):
        if x[k] > 1.0:
            x[i] = x[k] + 1.0
        if x[k] > 2.0:
            x[i] = x[i] + x[j]
    return x


def under_conditions(x, i, j):
    x = x.copy() if isinstance(x, np.ndarray) else x
    for k in ag.range(6):
        x[k] = x[k - 1] + 1.0
        if x[i] > 1.0:
            if x[j] > 2.0:
                x[k] = x[k] * 0.5 + x[i]
            else:
                x[k] = x[k] - x[j]
    return x


@pytest.mark.parametrize("program", [in_branches, under_conditions])
def test_in_loops(program):
    lanes = jax.jit(jax.vmap(ag.convert(program), (None, 0, None)))
    for j in (-3, 0, 5):
        for i, found in zip((-2, 0, 3), lanes(X, jnp.array([-2, 0, 3]), j), strict=True):
            expected = program(np.asarray(X), i, j)
            np.testing.assert_allclose(found, expected)
            np.testing.assert_allclose(staged.jitted(program)(X, i, j), expected)


def test_derivatives():
    def total(x, i, j):
        return jnp.sum(jnp.sin(under_conditions(x, i, j)))

    def by_hand(x):
        for k in range(6):
            x = x.at[k].set(x[k - 1] + 1.0)
            if x[2] > 1.0:
                x = x.at[k].set(x[k] * 0.5 + x[2] if x[4] > 2.0 else x[k] - x[4])
        return jnp.sum(jnp.sin(x))

    np.testing.assert_allclose(jax.grad(ag.convert(total))(X, 2, 4), jax.grad(by_hand)(X), rtol=1e-6)


def test_a_chain_of_writes_is_one_after_few_passes(monkeypatch):
    passes = []
    merged = merged_writes._merged
    monkeypatch.setattr(merged_writes, "_merged", lambda *args: passes.append(1) or merged(*args))

    def chain(x, i, n=16):
        for k in range(n):
            x = x.at[i].set(x[i] * 0.5 + k)
        return x

    program = merge_writes(jax.make_jaxpr(chain)(jnp.ones(3), 1))
    assert str(program).count("scatter[") == 1 and len(passes) == 4
    for i in (0, 2, 5):
        np.testing.assert_allclose(jax_compat.replay(program, jnp.ones(3), i)[0], chain(jnp.ones(3), i))
