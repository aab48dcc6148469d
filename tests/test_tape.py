"""Derivatives with respect to Variables."""

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
    """Call a function as it is, or as a compiled one."""
    return (lambda f, *args: f(*args)) if request.param == "outside" else (lambda f, *args: ag.function(f)(*args))


def test_value_and_gradient(run):
    w, b = ag.Variable([1.0, 2.0]), ag.Variable(3.0)
    frozen = ag.Variable(2.0, trainable=False)

    def step(x):
        return ag.value_and_grad(lambda x: (w * x).sum() * frozen + b)(x)

    value, gradients = run(step, jnp.array([5.0, 7.0]))
    close(value, 41)
    assert isinstance(gradients, list) and len(gradients) == 2
    close(gradients[0], [10, 14])
    close(gradients[1], 1)


def test_named_variables_keep_their_structure(run):
    w, frozen, unused = ag.Variable(2.0), ag.Variable(3.0, trainable=False), ag.Variable([1.0, 1.0])

    def step(x):
        return ag.grad(lambda x: w * frozen * x, {"f": frozen, "rest": (unused, w)})(x)

    gradients = run(step, jnp.array(5.0))
    close(gradients["f"], 10)
    close(gradients["rest"][0], [0, 0])
    close(gradients["rest"][1], 15)
    close(run(lambda x: ag.grad(lambda x: w * x, w)(x), jnp.array(5.0)), 5)


def test_aux(run):
    w = ag.Variable(2.0)

    def loss(x):
        return w * x, {"prediction": w + x, "note": "text"}

    (value, aux), (slope,) = run(lambda x: ag.value_and_grad(loss, has_aux=True)(x), jnp.array(5.0))
    close([value, aux["prediction"], slope], [10, 7, 5])
    assert aux["note"] == "text"
    gradient, aux = run(lambda x: ag.grad(loss, w, has_aux=True)(x), jnp.array(5.0))
    close([gradient, aux["prediction"]], [5, 7])


def test_writes_happen_once_and_are_differentiated(run):
    w, seen, count = ag.Variable(2.0), ag.Variable(0.0, trainable=False), ag.Variable(0, trainable=False)

    def loss(x):
        seen.assign(w * x)
        count.assign_add(1)
        return seen * seen

    value, (slope,) = run(lambda x: ag.value_and_grad(loss)(x), jnp.array(3.0))
    close([value, slope, seen, count], [36, 36, 6, 1])


def test_control_flow(run):
    w = ag.Variable(2.0)

    def loss(x):
        total = 0.0
        for i in range(len(x)):
            if x[i] > 0:
                total += w * x[i]
            else:
                total -= w**2
        return total

    value, (slope,) = run(lambda x: ag.value_and_grad(loss)(x), jnp.array([1.0, -1.0, 3.0]))
    close([value, slope], [8 - 4, 4 - 4])


def test_a_training_step_is_one_program():
    class Line(ag.Module):
        def __init__(self):
            self.w, self.b = ag.Variable(0.0), ag.Variable(0.0)

        def loss(self, x, y):
            return ((self.w * x + self.b - y) ** 2).mean()

        @ag.function
        def fit(self, x, y):
            steps = 0
            value = self.loss(x, y)
            while value > 1e-4:
                value, gradients = ag.value_and_grad(self.loss, self.trainable_variables)(x, y)
                for v, g in zip(self.trainable_variables, gradients):
                    v.assign_sub(0.1 * g)
                steps += 1
            return steps, value

    line, x = Line(), jnp.linspace(-1, 1, 20)
    steps, value = line.fit(x, 3 * x + 1)
    assert 10 < int(steps) < 1000 and float(value) <= 1e-4
    assert abs(float(line.w) - 3) < 0.05 and abs(float(line.b) - 1) < 0.05
    assert line.fit.experimental_get_tracing_count() == 1


def test_of_a_function(run):
    w = ag.Variable(2.0)

    @ag.function
    def loss(x):
        w.assign_add(1.0)
        return w * w * x

    close(run(lambda x: ag.grad(loss)(x), jnp.array(2.0))[0], 12)
    close(w, 3)


def test_second_derivatives_and_other_transforms(run):
    w = ag.Variable(2.0)
    outer = lambda x: ag.grad(lambda x: ag.grad(lambda x: w**3 * x, w)(x), w)(x)
    close(run(outer, jnp.array(5.0)), 60)
    close(run(lambda x: jax.grad(lambda x: ag.grad(lambda x: w**3 * x, w)(x))(x), jnp.array(5.0)), 12)
    close(
        run(lambda x: jax.vmap(lambda x: ag.grad(lambda x: w**3 * x, w)(x))(x), jnp.array([1.0, 2.0])),
        [12, 24],
    )


def test_wrong_arguments():
    count = ag.Variable(1, name="count")
    with pytest.raises(TypeError, match="'count' has dtype int32"):
        ag.grad(lambda: count * 1.0, count)()
    with pytest.raises(TypeError, match="holds Variables"):
        ag.grad(lambda: count * 1.0, [1.0])()
    with pytest.raises(TypeError, match="pair"):
        ag.grad(lambda: count * 1.0, has_aux=True)()
    with pytest.raises(TypeError, match="grad takes a function"):
        ag.grad(3)


def test_a_failing_function_changes_nothing(run):
    w = ag.Variable(2.0)

    def loss(x):
        w.assign(x)
        raise KeyError("stop")

    with pytest.raises(KeyError):
        run(lambda x: ag.grad(loss)(x), jnp.array(1.0))
    close(w, 2)


def test_created_inside(run):
    class Late:
        w = None

        def loss(self, x):
            if self.w is None:
                self.w = ag.Variable(jnp.ones_like(x) * 3)
            return self.w * self.w * x

    late = Late()
    close(run(lambda x: ag.grad(late.loss)(x), jnp.array(2.0))[0], 12)
    close(late.w, 3)
