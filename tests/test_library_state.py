"""Models, optimizers, metrics and random streams of flax.nnx and Keras are state of a function, as Variables are."""

from __future__ import annotations

import os
import threading

os.environ.setdefault("KERAS_BACKEND", "jax")  # before Keras is imported, which reads it then

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import autograph as ag

nnx = pytest.importorskip("flax.nnx")

XS = jax.random.normal(jax.random.key(1), (6, 4, 3))
YS = XS.sum(-1, keepdims=True)


class Model(nnx.Module):
    def __init__(self, rngs):
        self.hidden = nnx.Linear(3, 8, rngs=rngs)
        self.norm = nnx.BatchNorm(8, rngs=rngs)
        self.dropout = nnx.Dropout(0.5, rngs=rngs)
        self.out = nnx.Linear(8, 1, rngs=rngs)

    def __call__(self, x):
        h = jax.nn.relu(self.norm(self.hidden(x)))
        return self.out(self.dropout(h))


class Counter(nnx.Module):
    def __init__(self):
        self.count = nnx.Variable(jnp.array(0.0))

    def add(self, x):
        if x > 0:
            self.count[...] += x
        return self.count[...]


def make():
    model = Model(nnx.Rngs(0))
    return model, nnx.Optimizer(model, optax.sgd(0.05), wrt=nnx.Param)


def state_of(*objects):
    return [
        np.asarray(jax.random.key_data(leaf) if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key) else leaf)
        for one in objects
        for leaf in jax.tree.leaves(nnx.state(one))
    ]


def same(ours, theirs):
    for mine, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine, other, rtol=2e-4, atol=2e-4)


def step(model, optimizer, x, y):
    loss, slope = nnx.value_and_grad(lambda m: jnp.mean((m(x) - y) ** 2))(model)
    if loss > 0.5:
        optimizer.update(model, slope)
    return loss


def epoch(model, optimizer, xs, ys):
    last = 0.0
    for x, y in zip(xs, ys, strict=True):
        last = step(model, optimizer, x, y)
    return last


def test_a_training_step_with_its_update_under_a_traced_condition():
    ours, theirs = make(), make()
    compiled = ag.function(step)
    for x, y in zip(XS, YS, strict=True):
        np.testing.assert_allclose(compiled(*ours, x, y), step(*theirs, x, y), rtol=1e-4)
    same(state_of(ours[0].norm, ours[0].dropout), state_of(theirs[0].norm, theirs[0].dropout))
    assert int(ours[1].step[...]) == int(theirs[1].step[...])
    assert compiled.experimental_get_tracing_count() == 1
    assert type(ours[0].hidden.kernel) is nnx.Param


def test_a_loop_over_batches_is_one_loop():
    ours, theirs = make(), make()
    xs, ys = jnp.tile(XS, (4, 1, 1)), jnp.tile(YS, (4, 1, 1))
    compiled = ag.function(epoch)
    loss = compiled(*ours, xs, ys)
    np.testing.assert_allclose(loss, epoch(*theirs, xs, ys), rtol=2e-2)
    assert int(ours[1].step[...]) == int(theirs[1].step[...]) > 1
    assert int(ours[0].dropout.rngs.count[...]) == int(theirs[0].dropout.rngs.count[...])
    operations = [operation.name for operation in compiled.concrete_functions()[0].graph.operations]
    assert operations.count("dot_general") < 20


def test_a_model_that_is_closed_over_or_an_attribute():
    (model, optimizer), theirs = make(), make()

    class Trainer:
        def __init__(self):
            self.model, self.optimizer = make()

        @ag.function
        def step(self, x, y):
            return step(self.model, self.optimizer, x, y)

    trainer = Trainer()
    closed = ag.function(lambda x, y: step(model, optimizer, x, y))
    for x, y in zip(XS, YS, strict=True):
        expected = step(*theirs, x, y)
        np.testing.assert_allclose(closed(x, y), expected, rtol=1e-4)
        np.testing.assert_allclose(trainer.step(x, y), expected, rtol=1e-4)
    assert trainer.step.experimental_get_tracing_count() == closed.experimental_get_tracing_count() == 1
    assert closed.concrete_functions()[0].variables == []  # those are autograph's own


def test_evaluation_and_training_are_different_programs():
    model, _ = make()
    predict = ag.function(lambda m, x: m(x))
    model.eval()
    np.testing.assert_allclose(predict(model, XS[0]), model(XS[0]), rtol=1e-5)
    model.train()
    first, second = predict(model, XS[0]), predict(model, XS[0])
    assert not np.allclose(first, second)
    model.eval()
    np.testing.assert_allclose(predict(model, XS[0]), model(XS[0]), rtol=1e-5)
    assert predict.experimental_get_tracing_count() == 2


def test_statements_on_a_variable():
    def program(c, x):
        if x > 0:
            c[...] = c[...] + x
        for _ in ag.range(3):
            if x > 1:
                c.set_value(c.get_value() * 2)
        k = 0
        while k < x:
            c[...] += 1
            k += 1
        return c[...]

    ours, theirs = nnx.Variable(jnp.array(0.5)), nnx.Variable(jnp.array(0.5))
    compiled = ag.function(program)
    for x in (2.0, -2.0, 1.0):
        assert float(compiled(ours, jnp.array(x))) == float(program(theirs, x))
    ours.set_value(jnp.array(7.0))
    theirs.set_value(jnp.array(7.0))
    assert float(compiled(ours, jnp.array(1.0))) == float(program(theirs, 1.0))
    assert compiled.experimental_get_tracing_count() == 1


def test_each_object_keeps_its_own_state():
    counters = [Counter(), Counter()]
    add = ag.function(lambda c, x: c.add(x))
    for x in (1.0, -5.0, 2.0):
        add(counters[0], jnp.array(x))
    add(counters[1], jnp.array(10.0))
    assert [float(c.count[...]) for c in counters] == [3.0, 10.0]


def test_containers_of_objects_among_the_arguments():
    pair = {"a": Counter(), "b": [Counter()]}

    @ag.function
    def add(both, x):
        both["a"].add(x)
        both["b"][0].add(2 * x)
        return both["a"].count[...] + both["b"][0].count[...]

    assert float(add(pair, jnp.array(1.0))) == 3.0 and float(add(pair, jnp.array(1.0))) == 6.0


def test_functions_that_call_functions_share_the_state():
    counter = Counter()
    inner = ag.function(lambda x: counter.add(x))

    @ag.function
    def outer(x):
        before = counter.count[...]
        counter.add(x)
        inner(x)
        if x > 1:
            inner(x)
        return before, counter.count[...]

    assert [float(v) for v in outer(jnp.array(2.0))] == [0.0, 6.0]
    assert [float(v) for v in outer(jnp.array(0.5))] == [6.0, 7.0]
    assert float(counter.count[...]) == 7.0


def test_a_call_that_raises_leaves_the_state():
    counter = Counter()

    @ag.function
    def program(x):
        counter.add(x)
        if x > 3:
            raise ValueError("too large")
        return x

    program(jnp.array(1.0))
    with pytest.raises(ValueError, match="too large"):
        program(jnp.array(4.0))
    assert float(counter.count[...]) == 1.0
    with pytest.raises(RuntimeError, match="while tracing"):
        ag.function(lambda x: counter.add(x) + _fail())(jnp.array(1.0))
    counter.add(1.0)
    assert float(counter.count[...]) == 2.0 and type(counter.count) is nnx.Variable


def _fail():
    raise RuntimeError("while tracing")


def test_beside_variables_and_random_streams():
    total, rngs = ag.Variable(0.0), nnx.Rngs(3)
    other = nnx.Rngs(3)

    @ag.function
    def draw(n):
        for _ in ag.range(n):
            total.assign_add(jax.random.normal(rngs.params()))
        return total.read_value()

    expected = 0.0
    for _ in range(3):
        expected += float(jax.random.normal(other.params()))
    np.testing.assert_allclose(draw(jnp.array(3)), expected, rtol=1e-5)
    np.testing.assert_allclose(jax.random.normal(rngs.params()), jax.random.normal(other.params()))


def test_in_jaxs_transforms():
    model, _ = make()
    model.eval()
    predict = ag.function(lambda x: model(x).sum())
    np.testing.assert_allclose(
        jax.grad(predict)(XS[0]), jax.grad(lambda x: model(x).sum())(XS[0]), rtol=1e-4, atol=1e-6
    )
    np.testing.assert_allclose(jax.vmap(predict)(XS), jax.vmap(lambda x: model(x).sum())(XS), rtol=1e-4, atol=1e-6)


def test_another_thread_uses_the_model_meanwhile():
    counter, begun, go_on = Counter(), threading.Event(), threading.Event()

    @ag.function
    def program(x):
        begun.set()
        go_on.wait(10)
        return counter.add(x)

    results = []
    thread = threading.Thread(target=lambda: results.append(float(program(jnp.array(1.0)))))
    thread.start()
    assert begun.wait(10)
    counter.add(5.0)
    go_on.set()
    thread.join()
    assert results == [6.0] and float(counter.count[...]) == 6.0


def test_another_shape_than_before_is_refused():
    variable = nnx.Variable(jnp.zeros(2))
    double = ag.function(lambda: variable[...] * 2)
    assert double().tolist() == [0, 0]
    variable.set_value(jnp.zeros(3))
    with pytest.raises(ag.StagingError, match=r"was float32\[2\] when .* and is now float32\[3\]"):
        double()


# Keras


def keras_parts():
    keras = pytest.importorskip("keras")
    if keras.backend.backend() != "jax":
        pytest.skip("Keras runs on another backend than JAX")
    keras.utils.set_random_seed(0)
    layers = [
        keras.layers.Input((3,)),
        keras.layers.Dense(8, activation="relu"),
        keras.layers.BatchNormalization(),
        keras.layers.Dense(1),
    ]
    model, optimizer = keras.Sequential(layers), keras.optimizers.Adam(0.01)
    optimizer.build(model.trainable_variables)
    return model, optimizer, keras.metrics.Mean()


def keras_step(model, optimizer, metric):
    def train(x, y):
        def loss_of(weights, rest):
            out, rest = model.stateless_call(weights, rest, x, training=True)
            return jnp.mean((out - y) ** 2), rest

        weights = [v.value for v in model.trainable_variables]
        rest = [v.value for v in model.non_trainable_variables]
        (loss, rest), slopes = jax.value_and_grad(loss_of, has_aux=True)(weights, rest)
        for variable, value in zip(model.non_trainable_variables, rest, strict=True):
            variable.assign(value)
        if loss > 0.05:
            optimizer.apply(slopes)
        metric.update_state(loss)
        return loss

    return train


def test_a_training_step_of_keras():
    ours, theirs = keras_parts(), keras_parts()
    compiled, plain = ag.function(keras_step(*ours)), keras_step(*theirs)
    for x, y in zip(XS, YS, strict=True):
        np.testing.assert_allclose(compiled(x, y), plain(x, y), rtol=1e-4)
    assert int(ours[1].iterations.value) == int(theirs[1].iterations.value) == len(XS)
    np.testing.assert_allclose(ours[2].result(), theirs[2].result(), rtol=1e-4)
    for mine, other in zip(ours[0].variables, theirs[0].variables, strict=True):
        np.testing.assert_allclose(mine.value, other.value, rtol=1e-3, atol=1e-4)
    assert compiled.experimental_get_tracing_count() == 1


def test_keras_in_a_staged_loop():
    ours, theirs = keras_parts(), keras_parts()
    train, plain = keras_step(*ours), keras_step(*theirs)

    @ag.function
    def all_of(xs, ys):
        loss = 0.0
        for x, y in zip(xs, ys, strict=True):
            loss = train(x, y)
        return loss

    xs, ys = jnp.tile(XS, (15, 1, 1)), jnp.tile(YS, (15, 1, 1))
    loss = all_of(xs, ys)
    for x, y in zip(xs, ys, strict=True):
        expected = plain(x, y)
    np.testing.assert_allclose(loss, expected, rtol=1e-2)
    assert int(ours[1].iterations.value) == 90
    np.testing.assert_allclose(ours[2].result(), theirs[2].result(), rtol=1e-2)


def test_layers_without_weights_yet_are_refused():
    keras_parts()
    import keras

    model = keras.Sequential([keras.layers.Dense(2)])
    with pytest.raises(
        ag.StagingError, match="was created while tracing(?s:.*)Build the model or the optimizer before"
    ):
        ag.function(lambda x: model(x))(XS[0])


def test_a_metric_of_keras_under_a_traced_condition():
    metric = keras_parts()[2]

    @ag.function
    def positive_mean(xs):
        for x in xs:
            if x > 0:
                metric.update_state(x)
        return metric.result()

    assert float(positive_mean(jnp.array([1.0, -5.0, 3.0]))) == 2.0
    assert float(positive_mean(jnp.array([5.0, -5.0]))) == 3.0
    assert float(metric.result()) == 3.0
    metric.reset_state()
    assert float(positive_mean(jnp.array([4.0]))) == 4.0


# Of Keras' metrics, those that an iteration over data updates: predicted and true values of one of three kinds.
KERAS_METRICS = {
    "Mean": ("values", {}),
    "Sum": ("values", {}),
    "AUC": ("binary", {"num_thresholds": 20}),
    "BinaryAccuracy": ("binary", {}),
    "BinaryCrossentropy": ("binary", {}),
    "MeanSquaredError": ("binary", {}),
    "Precision": ("binary", {}),
    "PrecisionAtRecall": ("binary", {"recall": 0.5, "num_thresholds": 20}),
    "Recall": ("binary", {}),
    "RootMeanSquaredError": ("binary", {}),
    "SparseCategoricalAccuracy": ("classes", {}),
    "SparseCategoricalCrossentropy": ("classes", {}),
    "SparseTopKCategoricalAccuracy": ("classes", {"k": 2}),
    "F1Score": ("columns", {"threshold": 0.5}),
    "R2Score": ("columns", {}),
}


@pytest.mark.filterwarnings("ignore")  # Keras's own
def test_keras_metrics_in_a_loop_over_data():
    keras = pytest.importorskip("keras")
    if keras.backend.backend() != "jax":
        pytest.skip("Keras was imported with another backend before")
    random = np.random.default_rng(0)
    truth, found = random.integers(0, 2, 24), random.random(24).astype(np.float32)
    elements = {
        "values": (found,),
        "binary": (truth, found),
        "classes": (random.integers(0, 3, 24), random.random((24, 3)).astype(np.float32)),
        "columns": (truth[:, None].astype(np.float32), found[:, None]),
    }

    def sets():
        metrics = [getattr(keras.metrics, name)(**options) for name, (_, options) in KERAS_METRICS.items()]
        for metric, (kind, _) in zip(metrics, KERAS_METRICS.values(), strict=True):
            if kind == "columns":  # makes its variables when it is first updated
                metric.update_state(*(part[:1] for part in elements[kind]))
                metric.reset_state()
        return metrics

    plain, staged = sets(), sets()
    data = ag.Dataset.from_tensor_slices(elements).batch(10)

    def update(metrics, batch):
        for metric, (kind, _) in zip(metrics, KERAS_METRICS.values(), strict=True):
            metric.update_state(*batch[kind])

    @ag.function
    def evaluate(data):
        for batch in data:
            update(staged, batch)
        return [metric.result() for metric in staged]

    for batch in data:
        update(plain, batch)
    expected = [np.asarray(metric.result()) for metric in plain]
    for name, ours, kept, theirs in zip(KERAS_METRICS, evaluate(data), staged, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, err_msg=name)
        np.testing.assert_allclose(kept.result(), theirs, rtol=1e-5, err_msg=name)
    assert evaluate.experimental_get_tracing_count() == 1
