"""Gradients by arguments, in combination."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag


def close(found, expected):
    jax.tree.map(lambda a, b: np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-5), found, expected)


@pytest.mark.parametrize("way", [lambda f: f, ag.function])
def test_gradients_by_arguments(way):
    w = ag.Variable(2.0)

    def f(x, pair, *, power=2):
        return w * x**power * pair["a"] + pair["b"].sum()

    x, pair = jnp.array(3.0), {"a": jnp.array(5.0), "b": jnp.ones(2)}
    by_pair = {"a": 18.0, "b": [1.0, 1.0]}
    run = lambda **options: way(lambda x, pair: ag.grad(f, **options)(x, pair))(x, pair)
    close(run(argnums=0), 60.0)
    close(run(argnums=(1, 0)), (by_pair, 60.0))
    close(run(argnums=-1), by_pair)
    close(run(argnums=[0]), (60.0,))
    close(run(variables=[w], argnums=0), (60.0, [45.0]))
    close(run(), [45.0])
    close(way(lambda x: ag.value_and_grad(lambda x: (x * w, x), argnums=0, has_aux=True)(x))(x), ((6.0, 3.0), 2.0))
    close(way(lambda x: ag.grad(lambda x: x**3, argnums=0)(x))(2.0), 12.0)
    second = ag.grad(ag.grad(lambda x: x**3 * w, argnums=0), argnums=0)
    close(way(lambda x: second(x))(x), 36.0)
