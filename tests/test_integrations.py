"""Training steps with the packages that people use on JAX: optax, equinox, flax and Keras."""

from __future__ import annotations

import os

os.environ.setdefault("KERAS_BACKEND", "jax")  # before Keras is imported, which reads it then

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import autograph as ag

X = np.random.default_rng(0).normal(size=(64, 4)).astype(np.float32)
Y = X @ np.array([1.0, -2.0, 0.5, 1.0], np.float32)


def huber(w, x, y):
    """A loss with a branch and a loop of its own."""
    total = 0.0
    for row, target in zip(x, y):
        error = jnp.abs(row @ w - target)
        if error < 1:
            total += 0.5 * error**2
        else:
            total += error - 0.5
    return total / len(x)


def same_loss(w, x, y):
    error = jnp.abs(x @ w - y)
    return jnp.where(error < 1, 0.5 * error**2, error - 0.5).mean()


def by_hand(optimizer, steps):
    w = jnp.zeros(4)
    state = optimizer.init(w)
    losses = []
    for _ in range(steps):
        loss, slope = jax.value_and_grad(same_loss)(w, X, Y)
        updates, state = optimizer.update(slope, state, w)
        w = optax.apply_updates(w, updates)
        losses.append(float(loss))
    return w, losses


OPTIMIZERS = {
    "sgd": lambda: optax.sgd(0.1, momentum=0.9),
    "adam": lambda: optax.adam(0.1),
    "clipped": lambda: optax.chain(
        optax.clip_by_global_norm(0.5), optax.adamw(optax.cosine_decay_schedule(0.1, 20), weight_decay=1e-3)
    ),
}


@pytest.mark.parametrize("wrap", [ag.function, lambda f: jax.jit(ag.convert(f))], ids=["function", "jit of convert"])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optax_with_state_passed(name, wrap):
    optimizer = OPTIMIZERS[name]()

    @wrap
    def step(w, state, x, y):
        loss, slope = jax.value_and_grad(huber)(w, x, y)
        updates, state = optimizer.update(slope, state, w)
        return optax.apply_updates(w, updates), state, loss

    w = jnp.zeros(4)
    state, losses = optimizer.init(w), []
    for _ in range(5):
        w, state, loss = step(w, state, X, Y)
        losses.append(float(loss))
    expected, expected_losses = by_hand(optimizer, 5)
    assert np.allclose(w, expected, atol=1e-5) and np.allclose(losses, expected_losses, rtol=1e-5)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optax_with_variables(name):
    optimizer = OPTIMIZERS[name]()
    w = ag.Variable(jnp.zeros(4), name="w")
    state = jax.tree.map(lambda leaf: ag.Variable(leaf, trainable=False), optimizer.init(w.value))
    data = ag.Dataset.from_tensor_slices((X, Y)).batch(64)

    @ag.function
    def train(epochs):
        loss = jnp.float32(0)
        for _ in ag.range(epochs):
            for x, y in data:
                loss, slope = ag.value_and_grad(lambda: huber(w.value, x, y), w)()
                now = jax.tree.map(lambda v: v.value, state)
                updates, new = optimizer.update(slope, now, w.value)
                w.assign_add(updates)
                jax.tree.map(lambda v, value: v.assign(value), state, new)
        return loss

    loss = train(jnp.array(5))
    expected, losses = by_hand(optimizer, 5)
    assert np.allclose(w.numpy(), expected, atol=1e-5) and np.allclose(loss, losses[-1], rtol=1e-5)


class Gate(eqx.Module):
    """A layer that chooses its activation by what it sees."""

    linear: eqx.nn.Linear
    out: eqx.nn.Linear

    def __init__(self, key):
        first, second = jax.random.split(key)
        self.linear = eqx.nn.Linear(4, 8, key=first)
        self.out = eqx.nn.Linear(8, "scalar", key=second)

    def __call__(self, x):
        h = self.linear(x)
        if h.sum() > 0:
            h = jax.nn.relu(h)
        else:
            h = jnp.tanh(h)
        for _ in ag.range(2):
            h = h * 0.9
        return self.out(h)

    def by_hand(self, x):
        h = self.linear(x)
        return self.out(jnp.where(h.sum() > 0, jax.nn.relu(h), jnp.tanh(h)) * 0.81)


@pytest.mark.parametrize(
    "wrap",
    [ag.function, lambda f: eqx.filter_jit(ag.convert(f)), lambda f: jax.jit(ag.convert(f))],
    ids=["function", "filter_jit", "jit"],
)
def test_equinox(wrap):
    model = Gate(jax.random.key(0))
    optimizer = optax.adam(0.05)
    loss_of = lambda model, x, y: jnp.mean((jax.vmap(model)(x) - y) ** 2)

    @wrap
    def step(model, state, x, y):
        loss, slope = eqx.filter_value_and_grad(loss_of)(model, x, y)
        updates, state = optimizer.update(slope, state)
        return eqx.apply_updates(model, updates), state, loss

    expected = float(jnp.mean((jax.vmap(model.by_hand)(X) - Y) ** 2))
    state = optimizer.init(eqx.filter(model, eqx.is_array))
    losses = []
    for _ in range(30):
        model, state, loss = step(model, state, X, Y)
        losses.append(float(loss))
    assert np.isclose(losses[0], expected, rtol=1e-5) and losses[-1] < 0.2 * losses[0]


# flax


def flax_network():
    nnx = pytest.importorskip("flax.nnx")

    class Network(nnx.Module):
        def __init__(self, rngs):
            self.first = nnx.Linear(4, 16, rngs=rngs)
            self.second = nnx.Linear(16, 1, rngs=rngs)
            self.calls = nnx.Variable(jnp.array(0))

        def __call__(self, x):
            h = self.first(x)
            if jnp.mean(h) > 0:
                h = nnx.relu(h)
            else:
                h = nnx.tanh(h)
            self.calls[...] += 1
            return self.second(h)[:, 0]

    def step(model, optimizer, x, y):
        def loss_of(model):
            error = model(x) - y
            return jnp.mean(error**2)

        loss, slope = nnx.value_and_grad(loss_of)(model)
        if loss > 10:
            slope = jax.tree.map(lambda g: g * 0.5, slope)
        optimizer.update(model, slope)
        return loss

    def make():
        model = Network(nnx.Rngs(0))
        return model, nnx.Optimizer(model, optax.adam(0.05), wrt=nnx.Param)

    return nnx, step, make


def test_flax_under_its_own_jit():
    nnx, step, make = flax_network()
    model, optimizer = make()
    compiled = nnx.jit(ag.convert(step))
    losses = [float(compiled(model, optimizer, X, Y)) for _ in range(30)]
    assert losses[-1] < 0.2 * losses[0] and int(model.calls[...]) == 30
    plain, other = make()
    assert np.allclose([float(step(plain, other, X, Y)) for _ in range(3)], losses[:3], rtol=1e-4)


def test_flax_in_a_function():
    nnx, step, make = flax_network()
    structure, state = nnx.split(make())

    @ag.function
    def compiled(state, x, y):
        both = nnx.merge(structure, state, copy=True)
        loss = step(*both, x, y)
        return nnx.state(both), loss

    losses = []
    for _ in range(30):
        state, loss = compiled(state, X, Y)
        losses.append(float(loss))
    assert losses[-1] < 0.2 * losses[0] and compiled.experimental_get_tracing_count() == 1
    model, _ = nnx.merge(structure, state)
    assert int(model.calls[...]) == 30
    model, optimizer = make()
    in_place = ag.function(step)
    assert [float(in_place(model, optimizer, X, Y)) for _ in range(30)] == pytest.approx(losses, rel=1e-3)


def test_a_staged_write_under_flaxs_own_jit_is_refused_with_the_way_out():
    nnx, _, make = flax_network()

    def count(model, x):
        if x > 0:
            model.calls[...] += 1

    with pytest.raises(ag.StagingError, match=r"(?s)test_integrations.py:\d+: model.calls.*autograph.function"):
        nnx.jit(ag.convert(count))(make()[0], 1.0)
    model = make()[0]
    for x in (1.0, -1.0):
        ag.function(count)(model, jnp.array(x))
    assert int(model.calls[...]) == 1


def test_variables_of_flax_are_a_tapes_sources_and_an_optimizers():
    nnx, _, make = flax_network()
    model = make()[0]
    params = [model.first.kernel, model.first.bias, model.second.kernel, model.second.bias]
    optimizer = ag.optim.from_optax(optax.adam(0.05))

    @ag.function
    def fit(steps):
        loss = 0.0
        for _ in ag.range(steps):
            with ag.GradientTape() as tape:
                loss = jnp.mean((model(X) - Y) ** 2)
            optimizer.apply_gradients(zip(tape.gradient(loss, params), params))
        return loss

    with ag.GradientTape() as tape:  # of the part that writes nothing: outside of a function flax refuses to write here
        hidden = jnp.sum(model.first(X) ** 2)
    expected = nnx.grad(lambda first: jnp.sum(first(X) ** 2))(model.first)
    np.testing.assert_allclose(tape.gradient(hidden, params[0]), expected["kernel"][...], rtol=1e-4)
    before = float(jnp.mean((model(X) - Y) ** 2))
    assert float(fit(jnp.array(30))) < 0.2 * before and int(optimizer.iterations) == 30
    assert int(model.calls[...]) == 31
    with pytest.raises(TypeError, match="outside of a function"):
        optimizer.minimize(lambda: jnp.mean((model(X) - Y) ** 2), params)


# Keras


def keras_model():
    keras = pytest.importorskip("keras")
    if keras.backend.backend() != "jax":
        pytest.skip("Keras was imported with another backend before")

    class Model(keras.Model):
        def __init__(self):
            super().__init__()
            self.hidden = keras.layers.Dense(8)
            self.out = keras.layers.Dense(1)

        def by_hand(self, x):
            h = self.hidden(x)
            h = jnp.where(jnp.mean(h) > 0, jax.nn.relu(h), jnp.tanh(h))
            for _ in range(5):
                h = jnp.where(jnp.max(h) > 1, h * 0.5, h)
            return self.out(h)

        @ag.convert
        def call(self, x):
            h = self.hidden(x)
            if keras.ops.mean(h) > 0:
                h = keras.ops.relu(h)
            else:
                h = keras.ops.tanh(h)
            steps = 0
            while keras.ops.max(h) > 1 and steps < 5:
                h = h * 0.5
                steps += 1
            return self.out(h)

    keras.utils.set_random_seed(0)
    return keras, Model()


@pytest.mark.filterwarnings("ignore")  # Keras's own
def test_a_keras_model_that_branches_on_a_traced_value():
    keras, model = keras_model()
    plain = model(X)
    assert np.allclose(plain, model.by_hand(X), atol=1e-5)
    f = ag.function(lambda x: model(x))
    for x in (X, -X, 10 * X):
        assert np.allclose(f(x), model.by_hand(x), atol=1e-4)
    model.compile(optimizer=keras.optimizers.Adam(0.05), loss="mse")
    losses = model.fit(X, Y[:, None], epochs=20, batch_size=16, verbose=0).history["loss"]
    assert losses[-1] < 0.5 * losses[0]
    assert np.allclose(model.predict(X, verbose=0), model.by_hand(X), atol=1e-4)


@pytest.mark.filterwarnings("ignore")  # Keras's own
def test_keras_variables_are_a_tapes_sources_in_a_step_of_ones_own():
    keras, model = keras_model()
    model(X)
    optimizer = keras.optimizers.SGD(0.05)
    optimizer.build(model.trainable_variables)
    ours = ag.optim.from_optax(optax.sgd(0.05))

    @ag.function
    def step(x, y):
        with ag.GradientTape() as tape:
            loss = jnp.mean((model(x)[:, 0] - y) ** 2)
        slopes = tape.gradient(loss, model.trainable_variables)
        if loss > 0.5:
            optimizer.apply_gradients(zip(slopes, model.trainable_variables))
        else:
            ours.apply_gradients(zip(slopes, model.trainable_variables))
        return loss

    expected = float(jnp.mean((model.by_hand(X)[:, 0] - Y) ** 2))
    losses = [float(step(X, Y)) for _ in range(40)]
    assert np.isclose(losses[0], expected, rtol=1e-4) and losses[-1] < 0.2 * losses[0]
    assert int(optimizer.iterations.value) + int(ours.iterations) == 40 and int(optimizer.iterations.value) > 0


@pytest.mark.filterwarnings("ignore")  # Keras's own
def test_keras_fits_with_a_converted_train_step():
    keras, plain = keras_model()

    class Model(type(plain)):
        def loss_and_updates(self, trainable, others, x, y):
            predicted, others = self.stateless_call(trainable, others, x)
            return self.compute_loss(x, y, predicted), others

        @ag.convert
        def train_step(self, state, data):
            trainable, others, of_optimizer, of_metrics = state
            x, y = data
            (loss, others), slopes = jax.value_and_grad(self.loss_and_updates, has_aux=True)(trainable, others, x, y)
            norm = optax.global_norm(slopes)
            if norm > 1.0:
                slopes = [slope / norm for slope in slopes]
            trainable, of_optimizer = self.optimizer.stateless_apply(of_optimizer, slopes, trainable)
            of_metrics = self.metrics[0].stateless_update_state(of_metrics, loss)
            return {"loss": loss}, (trainable, others, of_optimizer, of_metrics)

    model = Model()
    model.compile(optimizer=keras.optimizers.Adam(0.05), loss="mse")
    losses = model.fit(X, Y[:, None], epochs=20, batch_size=16, verbose=0).history["loss"]
    assert losses[-1] < 0.5 * losses[0]


@pytest.mark.filterwarnings("ignore")  # Keras's own
def test_a_keras_variable_and_its_optimizer_are_arguments():
    """As in `tf.function`'s guide, where the second optimizer needs a function of its own."""
    keras = keras_model()[0]

    @ag.function
    def train_step(w, x, y, optimizer):
        with ag.GradientTape() as tape:
            loss = jnp.sum(jnp.square(w * x - y))
        gradients = tape.gradient(loss, [w])
        if loss > 1.0:
            optimizer.apply_gradients(zip(gradients, [w]))
        return loss

    x, y = jnp.array([-1.0]), jnp.array([2.0])
    weights = [keras.Variable(2.0), keras.Variable(1.0)]
    optimizers = [keras.optimizers.SGD(0.125), keras.optimizers.SGD(0.25)]
    for w, optimizer in zip(weights, optimizers, strict=True):
        optimizer.build([w])
    losses = [[float(train_step(w, x, y, o)) for _ in range(3)] for w, o in zip(weights, optimizers, strict=True)]
    assert losses == [[16.0, 9.0, 5.0625], [9.0, 2.25, 0.5625]]
    assert [round(float(w), 4) for w in weights] == [
        -0.3125,
        -1.25,
    ] and train_step.experimental_get_tracing_count() == 2

    @ag.function
    def scale(variables, by):
        for variable in variables:
            variable.assign(variable * by)
        return variables[0] + variables[1]

    assert float(scale(weights, 2.0)) == float(weights[0]) + float(weights[1]) == -3.125
    fresh = keras.optimizers.Adam(0.1)
    with pytest.raises(ag.StagingError, match=r"optimizer.build\(model.trainable_variables\)"):
        train_step(weights[0], x, y, fresh)


@pytest.mark.filterwarnings("ignore")  # Keras's own
def test_keras_fits_a_dataset_of_ours():
    keras = keras_model()[0]
    x = np.random.default_rng(0).normal(size=(96, 3)).astype(np.float32)
    y = x @ np.array([1.0, 2.0, 3.0], np.float32)
    data = ag.Dataset.from_tensor_slices((x, y)).shuffle(seed=1).batch(32)
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    epochs = {"steps_per_epoch": len(data), "epochs": 30, "shuffle": False, "verbose": 0}
    losses = model.fit(data.repeat().as_numpy_iterator(), **epochs).history["loss"]
    assert losses[-1] < 0.2 * losses[0]
    assert model.evaluate(data.as_numpy_iterator(), verbose=0) < losses[-2]
    inputs = ag.Dataset.from_tensor_slices((x,)).batch(32)
    assert model.predict(inputs.as_numpy_iterator(), verbose=0).shape == (96, 1)


def test_layers_that_branch_under_a_scan_of_flax():
    nnx = pytest.importorskip("flax.nnx")

    class Layer(nnx.Module):
        def __init__(self, rngs):
            self.linear = nnx.Linear(3, 3, rngs=rngs)

        def __call__(self, x):
            y = self.linear(x)
            return 2 * y if jnp.sum(y) > 0 else -y

    @nnx.split_rngs(splits=4)
    @nnx.vmap(in_axes=(0,), out_axes=0)
    def layers(rngs):
        return Layer(rngs)

    @ag.function
    def through_all(layers, x):
        @nnx.scan(in_axes=(0, nnx.Carry), out_axes=nnx.Carry)
        def run(layer, x):
            return layer(x)

        return run(layers, x)

    made, x = layers(nnx.Rngs(0)), jnp.ones(3)
    structure, state = nnx.split(made)
    expected = x
    for k in range(4):
        expected = nnx.merge(structure, jax.tree.map(lambda leaf: leaf[k], state))(expected)
    np.testing.assert_allclose(through_all(made, x), expected, rtol=1e-5)
