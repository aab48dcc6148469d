"""Functions that JAX records as one equation and replaces only before it compiles: in staged loops and conditionals."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag

TABLE = np.arange(0.0, 100.0, 7.0, np.float32)
FUNCTIONS = {
    "searchsorted": lambda x: x + jnp.searchsorted(jnp.asarray(TABLE), x, side="right"),
    "nonzero": lambda x: x + jnp.nonzero(x > 1, size=4, fill_value=0)[0],
    "einsum": lambda x: jnp.einsum("i,j->i", x, x) * 0.1,
    "ldexp": lambda x: jnp.ldexp(x, jnp.frexp(x)[1] - 1),
    "checkpoint": jax.checkpoint(lambda x: jnp.sin(x) * x),
    "relu": jax.nn.relu,
    "logsumexp": lambda x: x - jax.nn.logsumexp(x),
}


def looped(step):
    def program(x, n):
        while n > 0:
            x = step(x)
            n -= 1
        return x

    return program


def chosen(step):
    def program(x, n):
        return step(x) if n > 2 else x * 2

    return program


def collected(step):
    def program(x, n):
        rows = []
        for k in range(n):
            if x.sum() < 1e4:
                x = step(x)
                rows.append(x.sum() + k)
        return rows, x

    return program


X = jnp.array([0.5, 2.0, 8.0, 3.0])


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("around", [looped, chosen, collected])
def test_in_a_staged_statement(around, name):
    program = around(FUNCTIONS[name])
    wanted = program(X, 3)
    found = ag.function(program)(X, jnp.int32(3))
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_under_transforms(name):
    program = looped(FUNCTIONS[name])
    wanted = program(X, 3)
    np.testing.assert_allclose(jax.jit(ag.convert(program))(X, 3), wanted, rtol=1e-5)
    rows = jax.vmap(ag.function(program), (0, None))(jnp.stack([X, X]), jnp.int32(3))
    np.testing.assert_allclose(rows, jnp.stack([wanted, wanted]), rtol=1e-5)
    slope = jax.grad(lambda x: ag.function(program)(x, jnp.int32(3)).sum())(X)
    np.testing.assert_allclose(slope, jax.grad(lambda x: program(x, 3).sum())(X), rtol=1e-5)
