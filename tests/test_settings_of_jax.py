"""Functions under settings of JAX that change between their calls."""

import jax
import jax.numpy as jnp
import pytest

import autograph as ag


def halvings(x):
    count = 0
    while x > 1:
        x = x / 2
        count += 1
    return x, count


def largest_run(xs):
    best = run = jnp.float32(0)
    for x in xs:
        run = run + x if x > 0 else jnp.float32(0)
        best = max(best, run)
    return best


@pytest.mark.parametrize(
    ("plain", "given"), [(halvings, 5.0), (largest_run, [1.0, 2.0, -1.0, 2.5])], ids=["while", "for"]
)
def test_staged_loops_run_under_disable_jit(plain, given):
    staged = ag.function(plain)
    expected = plain(jnp.array(given))
    with jax.disable_jit():
        assert staged(jnp.array(given)) == expected
        assert ag.function(plain)(jnp.array(given)) == expected
    assert staged(jnp.array(given)) == expected


def test_gradients_of_staged_loops_under_disable_jit():
    def grown(x):
        while x < 10:
            x = x * x
        return x

    staged = ag.function(grown)
    with jax.disable_jit():
        assert jax.grad(staged)(2.0) == 32 and jax.vmap(staged)(jnp.array([2.0, 3.0])).tolist() == [16, 81]
