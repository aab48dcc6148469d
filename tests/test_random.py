"""`ag.random`: new numbers at every execution."""

from __future__ import annotations

from collections import deque

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag


def test_line_11():
    @ag.function
    def baked():
        return np.random.randn(2)

    np.testing.assert_array_equal(baked(), baked())

    @ag.function
    def fresh():
        return ag.random.normal((2,))

    assert not np.array_equal(fresh(), fresh())
    assert fresh.experimental_get_tracing_count() == 1


def test_a_seed_decides_inside_as_outside():
    a, b = ag.random.Generator.from_seed(3), ag.random.Generator.from_seed(3)

    @ag.function
    def inside():
        return a.normal((3,)), a.uniform((2,), minval=2, maxval=5), a.bernoulli(0.5, (4,)), a.permutation(5)

    outside = b.normal((3,)), b.uniform((2,), minval=2, maxval=5), b.bernoulli(0.5, (4,)), b.permutation(5)
    for found, expected in zip(inside(), outside):
        np.testing.assert_array_equal(found, expected)
    a.reset(3)
    np.testing.assert_array_equal(inside()[0], outside[0])


def test_set_seed():
    draw = ag.function(lambda: (ag.random.normal(), ag.random.uniform((), jnp.int32, 0, 100)))
    ag.random.set_seed(5)
    first, second = draw(), draw()
    ag.random.set_seed(5)
    assert [float(x) for x in first] != [float(x) for x in second]
    assert [float(x) for x in draw()] == [float(x) for x in first]

    @ag.function
    def seeded():
        ag.random.set_seed(9)
        return ag.random.normal()

    assert float(seeded()) == float(seeded())


def test_in_loops_and_branches():
    generator = ag.random.Generator.from_seed(0)

    @ag.function
    def f(n):
        total, hits = 0.0, 0
        for _ in ag.range(n):
            x = generator.uniform()
            if x > 0.5:
                hits += 1
            total += x
        return total / n, hits

    mean, hits = f(jnp.array(2000))
    assert abs(float(mean) - 0.5) < 0.05 and 850 < int(hits) < 1150


def test_kinds_of_numbers():
    g = ag.random.Generator.from_seed(1)
    assert g.normal((2, 3)).shape == (2, 3) and g.normal(dtype=jnp.bfloat16).dtype == jnp.bfloat16
    assert abs(float(g.normal((1000,), mean=5, stddev=0.1).mean()) - 5) < 0.05
    ints = g.uniform((100,), jnp.int32, 3, 6)
    assert set(ints.tolist()) == {3, 4, 5}
    assert g.categorical(jnp.array([0.0, 100.0]), shape=(5,)).tolist() == [1] * 5
    assert sorted(g.permutation(jnp.arange(5)).tolist()) == [0, 1, 2, 3, 4]
    keys = g.split(3)
    assert keys.shape == (3,) and jnp.issubdtype(keys.dtype, jax.dtypes.prng_key)
    assert ag.random.Generator(jax.random.PRNGKey(1)).normal().shape == ()
    with pytest.raises(ValueError, match="maxval"):
        g.uniform((), jnp.int32)


def test_a_generator_made_for_a_module_is_one_of_its_variables():
    class Dropout(ag.Module):
        def __init__(self):
            self.generator = ag.random.Generator.from_seed(0)

        @ag.function
        def __call__(self, x):
            return jnp.where(self.generator.bernoulli(0.5, x.shape), x, 0)

    dropout = Dropout()
    x = jnp.ones(64)
    assert not np.array_equal(dropout(x), dropout(x))
    assert len(dropout.variables) == 1 and dropout.variables[0] is dropout.generator.state


def test_a_key_from_outside_is_carried_by_a_loop():
    start = jax.random.key(0)

    def total(limit):
        key, found, n = start, 0.0, 0
        while found < limit:
            key, used = jax.random.split(key)
            found += jax.random.uniform(used)
            n += 1
        return found, n, jax.random.key_data(key)

    limit = jnp.array(3.0)
    for staged in (ag.function(total), jax.jit(ag.convert(total))):
        for found, wanted in zip(staged(limit), total(limit), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_a_key_of_a_branch_with_a_loop_in_a_batch():
    def drawn(count):
        key = jax.random.key(0)
        if count > 0:
            while count != 0:  # without an end for what is negative
                key, _ = jax.random.split(key)
                count -= 1 if count > 0 else 0
        return jax.random.key_data(key)

    counts = jnp.array([2, -1, 0, 3])
    found = jax.jit(jax.vmap(ag.convert(drawn)))(counts)
    np.testing.assert_array_equal(found, [drawn(count) for count in counts])


KINDS_OF_KEYS = ["threefry2x32", "rbg"]


@pytest.mark.parametrize("kind", KINDS_OF_KEYS)
def test_lists_of_keys(kind):
    def drawn(key, n):
        keys, later = [key], deque()
        for i in range(n):
            keys.append(jax.random.fold_in(key, i))
            if i % 2 == 0:
                later.appendleft((i, keys[-1]))
        total = jax.random.uniform(keys.pop(1)) + len(keys)
        while later:
            i, each = later.pop()
            total += i * jax.random.uniform(each)
        return total + sum(jax.random.uniform(jax.random.fold_in(each, 3)) for each in keys)

    key = jax.random.key(1, impl=kind)
    for n in (3, 5):
        np.testing.assert_allclose(ag.function(drawn)(key, jnp.array(n)), drawn(key, n), rtol=1e-6)


def test_a_list_of_keys_holds_no_number():
    @ag.function
    def mixed(key, n):
        keys = [key]
        for _ in range(n):
            keys.append(1.0)
        return keys[0]

    with pytest.raises(ag.StagingError, match=r"without a common dtype: key<fry> and float32"):
        mixed(jax.random.key(1), jnp.array(2))


@pytest.mark.parametrize("kind", KINDS_OF_KEYS)
def test_a_key_that_recursion_splits(kind):
    def total(key, n):
        if n == 0:
            return 0.0
        mine, other = jax.random.split(key)
        return jax.random.uniform(mine) + total(other, n - 1)

    key = jax.random.key(1, impl=kind)
    np.testing.assert_allclose(ag.function(total)(key, jnp.array(4)), total(key, 4), rtol=1e-6)


@pytest.mark.parametrize("kind", KINDS_OF_KEYS)
def test_a_key_that_only_some_iterations_assign(kind):
    def drawn(key, n):
        for i in range(n):
            if i == 1:
                chosen = jax.random.fold_in(key, i)
        return jax.random.uniform(chosen)

    key = jax.random.key(1, impl=kind)
    np.testing.assert_allclose(ag.function(drawn)(key, jnp.array(3)), drawn(key, 3), rtol=1e-6)
    with pytest.raises(UnboundLocalError, match="chosen"):
        ag.function(drawn)(key, jnp.array(1))


@pytest.mark.parametrize("make", [jax.random.key, jax.random.PRNGKey])
def test_a_list_of_keys_of_traced_length_is_returned(make):
    @ag.function
    def keys(key, n):
        found = []
        for _ in range(n):
            key, own = jax.random.split(key)
            found.append(own)
        return found

    wanted = keys.python_function(make(0), 3)
    found = keys(make(0), jnp.array(3))
    assert len(found) == 3 and [float(jax.random.normal(k)) for k in found] == [
        float(jax.random.normal(k)) for k in wanted
    ]
