"""What must hold, word for word, of lists, arrays that grow, calls and datasets: lines 4, 5, 15 and 16."""

from __future__ import annotations

import functools
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag


def test_04_a_list_that_lives_outside():
    l = []

    @ag.function
    def f(x):
        for i in x:
            l.append(i + 1)  # the line that the warning names

    with pytest.warns(ag.StagingWarning) as caught:
        f(jnp.array([1, 2, 3]))
    assert len(l) == 1
    (message,) = [str(warning.message) for warning in caught]
    assert re.search(r"test_behaviour_of_calls_and_loops\.py:\d+", message)
    assert "TensorArray" in message and "Feature.LISTS" in message
    f(jnp.array([1, 2, 3]))  # neither runs again nor warns
    assert len(l) == 1


@pytest.mark.parametrize("staged", [False, True])
def test_05_an_array_that_grows(staged):
    numbers = ag.range if staged else range

    def f(x):
        ta = ag.TensorArray(jnp.int32, size=0, dynamic_size=True)
        for i in numbers(len(x)):
            ta = ta.write(i, x[i] + 1)
        return ta.stack()

    assert str(np.asarray(ag.function(f)(jnp.array([1, 2, 3])))) == "[2 3 4]"
    of_any_length = ag.function(f, input_signature=[ag.TensorSpec([None], jnp.int32)])
    assert of_any_length(jnp.array([1, 2, 3])).tolist() == [2, 3, 4]
    assert of_any_length(jnp.arange(5)).tolist() == [1, 2, 3, 4, 5]
    assert of_any_length.experimental_get_tracing_count() == 1


def helper(x):
    if x > 0:
        return x * 2
    return -x


def test_15_called_functions_are_converted():
    class Scale:
        def __call__(self, x):
            return helper(x) + 1 if x < 10 else x

        def method(self, x):
            while x < 10:
                x = x * 2
            return x

    scale = Scale()
    twice = functools.partial(helper)
    f = ag.function(lambda x: helper(x) + scale(x) + scale.method(x) + twice(x) + (lambda y: y if y > 1 else 0 * y)(x))
    plain = lambda x: helper(x) + scale(x) + scale.method(x) + twice(x) + (x if x > 1 else 0)
    for x in (3, -2, 20):
        if x > 0:
            assert int(f(jnp.array(x))) == plain(x)


@pytest.mark.parametrize("called", [jnp.sort, np.sort, jax.nn.relu, functools.reduce, re.compile])
def test_15_library_functions_are_not(called):
    found = ag.operators.call(called)
    inner = getattr(found, "__wrapped__", found)
    assert inner is called


def branchy(x):
    if jnp.sum(x) > 1:
        return x * x
    return x


def step(carry, x):
    if x > carry:
        carry = x
    return carry, carry


TRANSFORMS = {
    "grad": lambda x: jax.grad(lambda y: jnp.sum(branchy(y)))(x),
    "value_and_grad": lambda x: jax.value_and_grad(lambda y: jnp.sum(branchy(y)))(x)[1],
    "vmap": lambda x: jax.vmap(branchy)(x),
    "scan": lambda x: jax.lax.scan(step, x[0], x)[1],
    "tree.map": lambda x: jax.tree.map(branchy, [x[0], x[1]]),
    "cond": lambda x: jax.lax.cond(x[0] > 0, branchy, branchy, x),
    "fori_loop": lambda x: jax.lax.fori_loop(0, 3, lambda i, y: branchy(y) * 0.5, x),
    "while_loop": lambda x: jax.lax.while_loop(
        lambda y: True if jnp.sum(y) < 9 else False, lambda y: branchy(y) + 1, x
    ),
    "jit": lambda x: jax.jit(branchy)(x),
    "checkpoint": lambda x: jax.checkpoint(branchy)(x),
    "jvp": lambda x: jax.jvp(branchy, (x,), (x,))[1],
    "map": lambda x: jax.lax.map(branchy, x),
    "associative_scan": lambda x: jax.lax.associative_scan(lambda a, b: jnp.where(a > b, a, b), x),
    "builtin map": lambda x: list(map(branchy, [x[0], x[1]])),
    "reduce": lambda x: functools.reduce(lambda a, b: a if a > b else b, [x[0], x[1], x[2]]),
}
EXPECTED = {
    "grad": [1, 4, 6],
    "value_and_grad": [1, 4, 6],
    "vmap": [0.5, 4, 9],
    "scan": [0.5, 2, 3],
    "tree.map": [0.5, 4],
    "cond": [0.25, 4, 9],
    "fori_loop": None,
    "while_loop": None,
    "jit": [0.25, 4, 9],
    "checkpoint": [0.25, 4, 9],
    "jvp": [0.5, 8, 18],
    "map": [0.5, 4, 9],
    "associative_scan": [0.5, 2, 3],
    "builtin map": [0.5, 4],
    "reduce": 3,
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_15_functions_handed_to_jax_are_converted(name):
    x = jnp.array([0.5, 2.0, 3.0])
    found = ag.function(TRANSFORMS[name])(x)
    expected = EXPECTED[name]
    if name == "fori_loop":
        expected = x
        for _ in range(3):
            expected = branchy(expected) * 0.5
    elif name == "while_loop":
        expected = x
        while jnp.sum(expected) < 9:
            expected = branchy(expected) + 1
    elif name == "grad" or name == "value_and_grad":
        expected = 2 * x
    assert np.allclose(np.asarray(found), np.asarray(expected))


def test_16_a_training_step_over_a_dataset(capfd):
    rng = np.random.default_rng(0)
    features = rng.normal(size=(230, 4)).astype(np.float32)
    labels = (features @ np.array([2.0, -1.0, 0.5, 1.0], np.float32) > 0).astype(np.int32)
    make = lambda: ag.Dataset.from_tensor_slices((features, labels)).shuffle(seed=3).batch(8)

    def train(w, b, ds):
        step, loss, seen, right = 0, 0.0, 0, 0
        for x, y in ds:
            with ag.GradientTape() as tape:
                logits = x @ w + b
                loss = jnp.mean(jnp.logaddexp(0, logits) - y * logits)
            dw, db = tape.gradient(loss, [w, b])
            w.assign_sub(0.5 * dw)
            b.assign_sub(0.5 * db)
            right += jnp.sum((logits > 0) == (y > 0))
            seen += len(x)
            if step % 10 == 0:
                ag.print("step", step, "rows", seen)
            step += 1
        return step, loss, right / seen

    def fresh():
        return ag.Variable(jnp.zeros(4)), ag.Variable(0.0)

    w, b = fresh()
    expected = train(w, b, make())
    printed = capfd.readouterr().out
    v, c = fresh()
    compiled = ag.function(train)
    data = make()
    found = compiled(v, c, data)
    assert int(found[0]) == int(expected[0]) == 29
    assert np.allclose(found[1], expected[1], atol=1e-5) and np.allclose(found[2], expected[2])
    assert float(found[2]) > 0.8 and np.allclose(v.numpy(), w.numpy(), atol=1e-4)
    assert capfd.readouterr().out == printed == "".join(f"step {k} rows {8 * k + 8}\n" for k in (0, 10, 20))
    assert compiled.experimental_get_tracing_count() == 1
    assert "while" in compiled.get_concrete_function(v, c, data).graph.as_text("stablehlo")
