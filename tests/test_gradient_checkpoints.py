"""Gradients of loops with few checkpoints and many iterations: what was not kept is run again, and nothing is missed."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag

# Around what a number of rows holds, and far past it.
COUNTS = (0, 1, 2, 7, 8, 9, 12, 13, 16, 31, 33, 63, 64, 65, 129, 1000, 4095, 4096, 4097, 5000)
X, W = 0.3, 1.4


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


def loop(slots):
    @ag.convert
    def f(x, w, n):
        k = 0
        while k < n:
            ag.set_loop_options(checkpoints=slots)
            x = jnp.sin(w * x) + 0.1 * jnp.cos(k * 1.0)
            k += 1
        return x

    return f


def scan(x, w, n):
    return jax.lax.scan(lambda x, k: (jnp.sin(w * x) + 0.1 * jnp.cos(k * 1.0), None), x, jnp.arange(n))[0]


@pytest.fixture(scope="module")
def wanted():
    with jax.enable_x64(True):
        return [jax.value_and_grad(scan, (0, 1))(X, W, n) for n in COUNTS]


@pytest.mark.parametrize("slots", [None, 1, 8, 12, 20, 64])
def test_every_trip_count(slots, wanted):
    gradient = jax.jit(jax.value_and_grad(loop(slots), (0, 1)))
    for n, expected in zip(COUNTS, wanted, strict=True):
        value, slopes = gradient(X, W, n)
        np.testing.assert_allclose([value, *slopes], [expected[0], *expected[1]], rtol=1e-9, atol=1e-12, err_msg=str(n))


@pytest.mark.parametrize("slots", [None, 8])
def test_lanes_of_different_length(slots):
    counts = jnp.array([0, 5, 33, 150])
    lanes = jax.jit(jax.vmap(jax.grad(loop(slots), (0, 1)), (0, None, 0)))
    found = np.stack(lanes(jnp.full(4, X), W, counts), 1)
    np.testing.assert_allclose(found, [jax.grad(scan, (0, 1))(X, W, int(n)) for n in counts], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("slots", [8, 64])
def test_memory_does_not_grow_with_trip_counts(slots):
    size = 1000
    f = loop(slots)
    gradient = jax.jit(jax.grad(lambda x, w, n: f(x, w, n).sum())).lower(jnp.ones(size), W, 10**6).compile()
    state = size * 8
    assert gradient.memory_analysis().temp_size_in_bytes < (slots + 30) * state
