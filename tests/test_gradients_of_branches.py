"""What must leave no trace in a derivative: branches not taken, iterations not run, state that is no real number."""

import collections
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag

XS = jnp.array([-1.0, 4.0, 0.25, -3.0])
NEGATIVE = jnp.array([-1.0, -2.0, -3.0, -0.5])


def root(x):
    if x > 0:
        y = jnp.sqrt(x)
    else:
        y = x * 0
    return y


def root_of_either(x):
    if x > 0:
        return jnp.sqrt(x)
    elif x < -2:
        return jnp.log(-2 - x)
    return jnp.arcsin(x / 4)


def root_in_a_loop(x):
    for _ in range(jnp.int32(3)):
        if x > 1:
            x = jnp.sqrt(x - 1) + 1.5
        else:
            x = x * 0.5
    return x


def loop_in_a_branch(x):
    """The loop never ends on a negative number."""
    if x > 0:
        guess = x + 1
        while abs(guess * guess - x) > 1e-6 * x:
            guess = 0.5 * (guess + x / guess)
        return guess
    return x


def divides_until_small(x):
    """At the value at which a lane ends, its body has no finite derivative."""
    while x > 0:
        x = jnp.floor(jnp.sqrt(x) / 4) * jnp.sqrt(x)
    return x


def each(function, xs):
    return np.array([function(x) for x in xs])


@pytest.mark.parametrize("function", [root, root_of_either, root_in_a_loop, loop_in_a_branch, divides_until_small])
def test_gradients_are_those_of_plain_python(function):
    converted = ag.convert(function)

    @jax.jit
    def in_each_way(xs):
        total = jax.grad(lambda xs: jax.vmap(converted)(xs).sum())(xs)
        nested = jax.grad(lambda xs: jax.vmap(jax.vmap(converted))(xs).sum())(xs[None])[0]
        return jax.vmap(jax.jit(jax.grad(converted)))(xs), total, nested, jax.vmap(jax.jacfwd(converted))(xs)

    for xs in (XS, NEGATIVE):
        wanted = each(jax.grad(function), xs)
        assert np.isfinite(wanted).all()
        for found in in_each_way(xs):
            np.testing.assert_allclose(found, wanted, rtol=1e-4)


def test_parameters_that_lanes_share():
    def scaled(x, w):
        while x > 1:
            x = jnp.sqrt(x - 1) * w
        return x

    converted = ag.convert(scaled)
    xs = jnp.array([0.5, 1.5, 3.0, 9.0])
    found = jax.jit(jax.grad(lambda w: jax.vmap(converted, (0, None))(xs, w).sum()))(jnp.float32(0.8))
    np.testing.assert_allclose(found, sum(jax.grad(scaled, 1)(x, jnp.float32(0.8)) for x in xs), rtol=1e-5)


def test_second_derivatives_of_a_batch():
    converted = ag.convert(root)
    found = jax.jit(jax.hessian(lambda xs: jax.vmap(converted)(xs).sum()))(XS)
    np.testing.assert_allclose(found, np.diag([0, -(4**-1.5) / 4, -(0.25**-1.5) / 4, 0]), rtol=1e-5)
    inner = jax.grad(lambda xs: jax.vmap(jax.grad(converted))(xs).sum())
    np.testing.assert_allclose(jax.jit(inner)(XS), np.diag(found), rtol=1e-5)


def test_no_iteration():
    def f(x):
        while x > 100:
            x = jnp.sqrt(x - 1000)
        return x * x

    assert jax.jit(jax.grad(ag.convert(f)))(jnp.float32(3.0)) == 6.0


def test_state_that_is_not_real():
    def walk(x, key):
        steps, up = 0, True
        while steps < 5:
            key, draw = jax.random.split(key)
            move = jax.random.bernoulli(draw)
            up = up & move
            x = x * jnp.where(move, 1.5, 0.5)
            steps += 1
        return x, (steps, up, key)

    key = jax.random.key(3)
    wanted, state = jax.grad(walk, has_aux=True)(jnp.float32(2.0), key)
    found, (steps, up, last) = jax.jit(jax.grad(ag.convert(walk), has_aux=True))(jnp.float32(2.0), key)
    assert (found, steps, up) == (wanted, *state[:2])
    assert (jax.random.key_data(last) == jax.random.key_data(state[2])).all()


@pytest.mark.parametrize("slots", [1, 8, 12, 40])
def test_few_checkpoints(slots):
    """The states of 300 steps in few rows, each run again as often as it takes."""
    from autograph.backends.xla.while_ad.reverse import while_loop

    def f(x, w):
        def step(carry):
            return [carry[0] + 1, jnp.sin(w * carry[1]) + 0.01]

        return while_loop(lambda carry: carry[0] < 300, step, [jnp.int32(0), x], slots=slots)[1]

    def scanned(x, w):
        return jax.lax.scan(lambda x, _: (jnp.sin(w * x) + 0.01, None), x, None, length=300)[0]

    arguments = jnp.float32(0.3), jnp.float32(1.01)
    found = jax.jit(jax.grad(f, (0, 1)))(*arguments)
    np.testing.assert_allclose(found, jax.grad(scanned, (0, 1))(*arguments), rtol=1e-3)


def test_memory_does_not_grow_with_the_trip_count():
    def f(x, n):
        k = 0
        while k < n:
            x = jnp.sin(x)
            k += 1
        return x.sum()

    compiled = jax.jit(jax.grad(ag.convert(f))).lower(jnp.ones(100), jnp.int32(0)).compile()
    assert compiled.memory_analysis().temp_size_in_bytes < 12e6
    for n in (0, 1, 63, 20_000):
        cosines, x = 1.0, np.float64(1.0)
        for _ in range(n):
            cosines, x = cosines * np.cos(x), np.sin(x)
        np.testing.assert_allclose(compiled(jnp.ones(100), jnp.int32(n)), cosines, rtol=1e-2)


def test_write_only_arrays_are_not_kept():
    """A loop that fills an array keeps the elements, not an array for each iteration."""

    def f(x, n):
        rows, i = jnp.zeros(10_000), 0
        while i < n:
            rows = rows.at[i].set(x * i)
            i += 1
        return rows.sum()

    compiled = jax.jit(jax.grad(ag.convert(f))).lower(jnp.float32(1.0), 10_000).compile()
    assert (
        compiled.memory_analysis().temp_size_in_bytes < 17e6
    )  # the states that reverse mode may keep, and little else
    np.testing.assert_allclose(compiled(jnp.float32(1.0), 10_000), 10_000 * 9_999 / 2, rtol=1e-3)


def test_effects_keep_the_plain_loop(capfd):
    def f(x):
        while x > 1:
            jax.debug.print("x {}", x)
            x = x / 2
        return x

    value, tangent = jax.jit(lambda x: jax.jvp(ag.convert(f), (x,), (jnp.float32(1.0),)))(jnp.float32(4.0))
    jax.effects_barrier()
    assert (value, tangent) == (1.0, 0.25)
    assert capfd.readouterr().out.split() == ["x", "4.0", "x", "2.0"]


def test_undifferentiated_is_the_plain_loop():
    def f(x, n):
        k = 0
        while k < n:
            x = jnp.sin(x)
            k += 1
        return x

    def by_hand(x, n):
        return jax.lax.while_loop(lambda c: c[1] < n, lambda c: (jnp.sin(c[0]), c[1] + 1), (x, 0))[0]

    arguments = jnp.float32(1.0), jnp.int32(3)
    programs = [jax.jit(each).lower(*arguments).compile().as_text() for each in (ag.convert(f), by_hand)]
    ours, theirs = (collections.Counter(re.findall(r" ([a-z-]+)\(", text)) for text in programs)
    assert ours == theirs and ours["while"] == 1
