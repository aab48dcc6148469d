"""`ag.GradientTape`, in and out of functions."""

from __future__ import annotations

import enum

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


def test_the_gradient_has_the_structure_of_the_sources(run):
    a, b = ag.Variable(2.0), ag.Variable(3.0)

    def f(x):
        with ag.GradientTape(persistent=True) as tape:
            y = a * a * b * x
        return [tape.gradient(y, s) for s in ([a, b], (a, b), {"a": a, "rest": [b, x]}, [a], a, [])]

    both, pair, named, one, alone, none = run(f, jnp.array(5.0))
    assert type(both) is list and type(pair) is tuple and type(one) is list and none == []
    close([*both, *pair, named["a"], *named["rest"], *one, alone], [60, 20, 60, 20, 60, 20, 12, 60, 60])


def test_jacobians(run):
    w = ag.Variable([2.0, 3.0])

    def f(x):
        with ag.GradientTape(persistent=True) as tape:
            y = jnp.sin(x)[:, None] * w
            for _ in ag.range(2):
                if y.sum() > 0:
                    y = y * w
        return tape.jacobian(y, [w, x]), tape.jacobian(y, {"x": x})

    def plain(w, x):
        return jnp.sin(x)[:, None] * w**3

    x = jnp.array([0.5, 1.0, 1.5])
    (by_w, by_x), named = run(f, x)
    expected = jax.jacrev(plain, (0, 1))(w.value, x)
    np.testing.assert_allclose(by_w, expected[0], rtol=1e-5)
    np.testing.assert_allclose(by_x, expected[1], rtol=1e-5)
    np.testing.assert_allclose(named["x"], by_x)


def test_batch_jacobian(run):
    w = ag.Variable(np.arange(6.0, dtype=np.float32).reshape(2, 3))

    def f(x):
        with ag.GradientTape(persistent=True) as tape:
            y = jnp.tanh(x @ w)
            z = y.sum()
        unconnected = tape.batch_jacobian(y, jnp.ones((4, 5)), unconnected_gradients="zero")
        return tape.batch_jacobian(y, x), tape.jacobian(y, x), unconnected, tape.jacobian(z, x)

    x = jnp.linspace(-1, 1, 8).reshape(4, 2)
    by_row, whole, zeros, of_scalar = run(f, x)
    assert by_row.shape == (4, 3, 2) and zeros.shape == (4, 3, 5) and not zeros.any()
    np.testing.assert_allclose(by_row, jnp.stack([whole[k, :, k] for k in range(4)]), rtol=1e-5)
    np.testing.assert_allclose(of_scalar, whole.sum((0, 1)), rtol=1e-5)


def test_what_jacobians_refuse():
    x = jnp.ones((2, 3))
    with ag.GradientTape(persistent=True) as tape:
        y = x * 2
    with pytest.raises(ValueError, match=r"the same number of rows.*\(2, 3\).*\(3,\)"):
        tape.batch_jacobian(y, jnp.ones(3))
    with pytest.raises(TypeError, match="one array"):
        tape.jacobian([y, y], x)
    assert tape.jacobian(y, jnp.ones(2)) is None
    assert tape.jacobian(y, jnp.ones(4), "zero").shape == (2, 3, 4)


def test_a_hessian_by_nested_tapes(run):
    w = ag.Variable([1.0, 2.0])

    def f(x):
        with ag.GradientTape() as outer:
            with ag.GradientTape() as inner:
                y = ((w * x) ** 3).sum() + w[0] * w[1]
            first = inner.gradient(y, w)
        return outer.jacobian(first, w)

    close(run(f, jnp.array([1.0, 2.0])), [[6, 1], [1, 96]])


def test_stop_recording(run):
    w = ag.Variable(2.0)

    def f(x):
        with ag.GradientTape(persistent=True) as outer:
            with ag.GradientTape(persistent=True) as tape:
                y = w * x
                with tape.stop_recording():
                    factor = y * w
                    with tape.stop_recording():
                        factor = factor + x
                    factor = factor + w
                z = y * factor
        return tape.gradient(z, [w, x]), outer.gradient(z, [w, x]), factor

    inner, outer, factor = run(f, jnp.array(3.0))
    close(factor, 12 + 3 + 2)
    close(inner, [3 * 17, 2 * 17])
    close(outer, [3 * 17 + 6 * (2 * 2 * 3 + 1), 2 * 17 + 6 * (4 + 1)])


def test_stop_recording_and_reset_belong_to_a_tape_that_records():
    tape = ag.GradientTape()
    with pytest.raises(ValueError, match="inside its `with`"):
        with tape.stop_recording():
            pass
    with pytest.raises(ValueError, match="recorded nothing"):
        tape.reset()


def test_reset(run):
    w = ag.Variable(2.0)

    def f(x):
        with ag.GradientTape(persistent=True) as tape:
            y = w * x
            tape.reset()
            z = y * x
        return tape.gradient(z, x), tape.gradient(y, x, unconnected_gradients="zero")

    close(run(f, jnp.array(3.0)), [6, 0])
    with ag.GradientTape() as tape:
        y = w * w
    tape.gradient(y, w)
    tape.reset()
    with tape:
        y = w * 3.0
    close(tape.gradient(y, w), 3)


def test_watched_variables(run):
    a, b, fixed, unread = ag.Variable(1.0), ag.Variable(2.0), ag.Variable(3.0, trainable=False), ag.Variable(4.0)
    names = {id(v): name for v, name in ((a, "a"), (b, "b"), (fixed, "fixed"), (unread, "unread"))}
    seen = []

    def f(x):
        with ag.GradientTape() as tape:
            y = b * x + fixed
            if x > 0:
                y = y * a
        seen.append([names[id(v)] for v in tape.watched_variables()])
        return tape.gradient(y, tape.watched_variables())

    close(run(f, jnp.array(3.0)), [3, 9])
    assert seen[-1] == ["b", "a"]


def test_only_what_is_watched(run):
    a, b = ag.Variable(1.0), ag.Variable(2.0)

    def f(x):
        with ag.GradientTape(persistent=True, watch_accessed_variables=False) as tape:
            tape.watch(a)
            y = a * b * x
        first = tape.gradient(y, [a, b, x], unconnected_gradients="zero")
        return first, len(tape.watched_variables())

    gradients, count = run(f, jnp.array(3.0))
    close(gradients, [6, 0, 0])
    assert int(count) == 1


def test_unconnected_gradients_as_an_enum():
    class Unconnected(enum.Enum):
        NONE = "none"
        ZERO = "zero"

    x, other = jnp.ones(2), jnp.ones(3)
    with ag.GradientTape(persistent=True) as tape:
        y = x * 2
    assert tape.gradient(y, other, unconnected_gradients=Unconnected.NONE) is None
    close(tape.gradient(y, other, unconnected_gradients=Unconnected.ZERO), [0, 0, 0])
    with pytest.raises(ValueError, match="'none' or 'zero'; got 'zeros'"):
        tape.gradient(y, other, unconnected_gradients="zeros")
    with pytest.raises(ValueError, match="structure of the target"):
        tape.gradient([y, y], x, output_gradients=[x])


def test_arrays_of_numpy_outside_functions():
    w, x = ag.Variable([3.0, 4.0]), np.array([1.0, 2.0], np.float32)
    half = np.float32(0.5) * np.ones(4, np.float32)
    with ag.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = w * jnp.sin(x) + x
        z = jnp.sum(half[:2] * w) + jax.nn.relu(half[2:]).sum()
    by_x, by_w = tape.gradient(y, [x, w])
    close(by_x, np.array([3, 4]) * np.cos(x) + 1)
    close(by_w, np.sin(x))
    close(tape.gradient(z, [half[:2], half[2:], w])[0], [3, 4])
    close(tape.gradient(z, half[2:]), [1, 1])
    before = x.copy()
    x[:] = 0  # what was recorded is what it held then
    close(tape.gradient(y, w), np.sin(before))
    close(tape.gradient(y, x), np.array([3, 4]) * np.cos(before) + 1)
    double = np.array([1.0, 2.0])
    with ag.GradientTape() as tape:
        y = jnp.sin(double) + double * double
    with pytest.raises(TypeError, match=r"float64\[2\].*jax.numpy.asarray"):
        tape.gradient(y, double)
