"""`ag.GradientTape`, in and out of functions."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag


def close(found, expected):
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-6)


@pytest.fixture(params=["outside", "inside"])
def run(request):
    return (lambda f, *args: f(*args)) if request.param == "outside" else (lambda f, *args: ag.function(f)(*args))


def test_variables_and_arrays(run):
    w, b = ag.Variable([1.0, 2.0]), ag.Variable(1.0)

    def f(x):
        with ag.GradientTape() as tape:
            tape.watch(x)
            loss = (w * x).sum() ** 2 + b * jnp.sin(x[0])
        return tape.gradient(loss, {"w": w, "rest": [b, x]})

    gradients = run(f, jnp.array([3.0, 4.0]))
    close(gradients["w"], [66, 88])
    close(gradients["rest"][0], np.sin(3.0))
    close(gradients["rest"][1], [22 + np.cos(3.0), 44])


def test_control_flow(run):
    w = ag.Variable(2.0)

    def f(x):
        with ag.GradientTape() as tape:
            y = x
            for _ in ag.range(3):
                if y > 1:
                    y = y * w
                else:
                    y = y + w
        return y, tape.gradient(y, [w, x])

    y, (by_w, by_x) = run(f, jnp.array(0.5))
    close([y, by_w, by_x], [2.5 * 4, 4 + 2 * 2.5 * 2, 4])


def test_assignments_in_the_block(run):
    w = ag.Variable(3.0)

    def f(x):
        with ag.GradientTape() as tape:
            y = w * x
            w.assign(w * w)
            z = y * w
        return tape.gradient(z, w)

    close(run(f, jnp.array(2.0)), 2 * 9 + 6 * 6)
    close(w, 9)


def test_functions_custom_derivatives_and_transforms(run):
    w = ag.Variable(2.0)
    square = ag.function(lambda x: x * x * w)

    def f(x):
        with ag.GradientTape() as tape:
            y = (
                square(jax.nn.relu(x))
                + jax.nn.logsumexp(jnp.stack([x, x]))
                + jax.vmap(lambda a: a * x)(jnp.ones(2)).sum()
            )
        return tape.gradient(y, [w, x])

    by_w, by_x = run(f, jnp.array(3.0))
    close([by_w, by_x], [9, 12 + 1 + 2])


def test_arrays_made_in_the_block(run):
    w, constant = ag.Variable(2.0), jnp.array(5.0)

    def f(x):
        with ag.GradientTape(persistent=True) as tape:
            tape.watch([x, constant])
            made = jnp.array(3.0)
            tape.watch(made)
            pair, copied = jnp.array([made, w]), jnp.array(constant)
            y = made * (jnp.array([1.0, 2.0]).sum() + jnp.asarray(2) * x) + pair[0] * pair[1] + copied * copied * w
        return tape.gradient(y, [made, x, w, constant])

    close(run(f, jnp.array(7.0)), [3 + 14 + 2, 6, 3 + 25, 20])


def test_what_compiled_functions_close_over(run):
    def f(x):
        with ag.GradientTape() as tape:
            tape.watch(x)
            z = x * x
            scaled = jax.jit(lambda u: u * z + jax.jit(lambda v: v * x)(u))
            chosen = ag.function(lambda u: u * z if u > 0 else z)
            scanned = jax.jit(lambda u: jax.lax.scan(lambda c, _: (c * z, None), u, None, length=2)[0])
            y = scaled(jnp.array(3.0)) + chosen(x) + scanned(x) + jax.checkpoint(lambda u: u * z)(x)
        return tape.gradient(y, x)

    x = 2.0
    close(run(f, jnp.array(x)), 6 * x + 3 + 3 * x**2 + 5 * x**4 + 3 * x**2)


def test_persistent_and_used_up(run):
    w = ag.Variable(2.0)

    def f(x):
        with ag.GradientTape(persistent=True) as tape:
            y = w * x
            z = y * y
        return tape.gradient(z, w), tape.gradient(y, w), tape.gradient(z, y)

    close(run(f, jnp.array(3.0)), [36, 3, 12])
    with ag.GradientTape() as tape:
        y = w * 2.0
    tape.gradient(y, w)
    with pytest.raises(RuntimeError, match="persistent=True"):
        tape.gradient(y, w)


def test_unconnected_weights_and_many_targets(run):
    w, other = ag.Variable([1.0, 2.0]), ag.Variable(1.0)

    def f(x):
        with ag.GradientTape(persistent=True) as tape:
            y = w * x
            z = y.sum()
        weighted = tape.gradient(y, w, output_gradients=jnp.array([1.0, 10.0]))
        return weighted, tape.gradient([y, z], w), tape.gradient(y, other, unconnected_gradients="zero")

    weighted, both, zero = run(f, jnp.array(3.0))
    close(weighted, [3, 30])
    close(both, [6, 6])
    close(zero, 0)
    with ag.GradientTape() as tape:
        y = w * 2.0
    assert tape.gradient(y, other) is None


def test_second_derivatives(run):
    w = ag.Variable(2.0)

    def f(x):
        with ag.GradientTape() as outer:
            with ag.GradientTape() as inner:
                y = w**3 * x
            first = inner.gradient(y, w)
        return first, outer.gradient(first, w)

    close(run(f, jnp.array(5.0)), [60, 60])


def test_a_training_step():
    w = ag.Variable(jnp.zeros(2))

    @ag.function
    def step(x, y):
        with ag.GradientTape() as tape:
            loss = ((x @ w - y) ** 2).mean()
        w.assign_sub(0.1 * tape.gradient(loss, w))
        return loss

    x = jnp.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    losses = [float(step(x, x @ jnp.array([1.0, -2.0]))) for _ in range(200)]
    assert losses[-1] < 1e-3 < losses[0] and step.experimental_get_tracing_count() == 1


def test_the_tape_ends_with_an_exception():
    with pytest.raises(KeyError):
        with ag.GradientTape():
            raise KeyError
    assert isinstance(jnp.ones(2) + 1, jax.Array)
    with pytest.raises(TypeError, match="floats"):
        ag.GradientTape().watch(jnp.array(1))
    with pytest.raises(TypeError, match="source"):
        ag.GradientTape().gradient(jnp.ones(2), "x")
