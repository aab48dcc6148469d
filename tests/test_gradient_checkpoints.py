"""Gradients of loops with few checkpoints and many iterations: what was not kept is run again, and nothing is missed."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from autograph.backends.xla.while_ad import checkpoints

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


@pytest.mark.parametrize("count", [8, 16, 64])
def test_no_kept_state_loses_its_row(count):
    """Whenever a loop ends, every state that is still to be kept is where it was put."""
    rows = checkpoints._Rows(count)
    steps = jnp.arange(20_000, dtype=jnp.int32)
    shifts, places = np.asarray(rows.shift(steps)), np.asarray(rows.of_step(steps))
    held = {}
    for step, (shift, place) in enumerate(zip(shifts, places, strict=True)):
        if step % (1 << shift) == 0:
            assert 0 <= place < count
            held[place] = step
        if step < 3 * count or step % 331 == 0 or step & (step + 1) == 0 or step & (step - 1) == 0:
            assert all(held[places[k]] == k for k in range(0, step + 1, 1 << shift)), step


def test_gaps_longer_than_the_spare_rows_are_split():
    """Of few rows with many steps between: every split leaves a way on, and goes some way."""
    free, gap = np.meshgrid(np.arange(1, 20), [*range(2, 60), 1000, 65_536], indexing="ij")
    distance = np.asarray(checkpoints._split(jnp.asarray(gap, jnp.int32), jnp.asarray(free, jnp.int32)))
    split = gap > free  # where the rest fits, there is none
    assert (distance[split] >= 1).all()
    assert (distance == gap)[split & (free == 1)].all()
    assert (distance < gap)[split & (free > 1)].all()
