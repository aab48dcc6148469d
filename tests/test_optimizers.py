"""`ag.optim.from_optax`: the updates are optax's own, in functions, branches and loops, and the state is kept."""

from __future__ import annotations

import copy

import cloudpickle
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import autograph as ag

X = np.asarray(jax.random.normal(jax.random.key(0), (16, 3)))
Y = X @ np.array([1.0, -2.0, 0.5], np.float32)
START = (np.zeros(3, np.float32), np.float32(0.0))


def schedule(count):
    if count < 2:
        return 0.1
    rate = 0.1
    while rate * count > 0.26:
        rate = rate / 2
    return rate


def schedule_by_hand(count):
    return jnp.where(count < 3, 0.1, jnp.where(count < 6, 0.05, 0.025))


def loss_at(w, b):
    return jnp.mean((X @ w + b - Y) ** 2)


def make():
    return ag.Variable(START[0], name="w"), ag.Variable(START[1], name="b")


def by_optax(tx, steps):
    """The values and the state after so many steps, in plain Python."""
    values = list(map(jnp.asarray, START))
    state = tx.init(values)
    for _ in range(steps):
        updates, state = tx.update(jax.grad(lambda values: loss_at(*values))(values), state, values)
        values = optax.apply_updates(values, updates)
    return values, state


def check(variables, optimizer, tx, steps):
    values, state = by_optax(tx, steps)
    for variable, value in zip(variables, values, strict=True):
        np.testing.assert_allclose(variable.numpy(), value, rtol=1e-4, atol=1e-6)
    for variable, leaf in zip(optimizer.state.values(), jax.tree.leaves(state), strict=True):
        np.testing.assert_allclose(variable.numpy(), leaf, rtol=1e-4, atol=1e-6)
    assert int(optimizer.iterations) == steps


TRANSFORMATIONS = {
    "adam": lambda schedule: optax.adam(0.1),
    "clipped by a traced norm": lambda schedule: optax.chain(
        optax.clip_by_global_norm(0.5), optax.sgd(0.1, momentum=0.9)
    ),
    "decay of what a mask names": lambda schedule: optax.adamw(
        0.1, weight_decay=0.1, mask=lambda values: [True, False]
    ),
    "a schedule that branches": lambda schedule: optax.sgd(schedule),
    "a schedule of a hyperparameter": lambda schedule: optax.inject_hyperparams(optax.sgd)(learning_rate=schedule),
    "several steps at once": lambda schedule: optax.MultiSteps(optax.sgd(schedule), 2),
    "a number of steps that branches": lambda schedule: optax.MultiSteps(optax.sgd(0.1), lambda n: 1 if n < 2 else 3),
    "optax's own schedule": lambda schedule: optax.adam(optax.warmup_cosine_decay_schedule(0.0, 0.1, 3, 10)),
}


@pytest.mark.parametrize("what", TRANSFORMATIONS)
def test_a_staged_loop_takes_the_steps_that_optax_takes(what):
    variables = make()
    optimizer = ag.optim.from_optax(TRANSFORMATIONS[what](schedule))

    @ag.function
    def fit(steps):
        for _ in ag.range(steps):
            with ag.GradientTape() as tape:
                loss = loss_at(*variables)
            optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))

    fit(jnp.array(4))
    fit(jnp.array(5))
    assert fit.experimental_get_tracing_count() == 1
    check(variables, optimizer, TRANSFORMATIONS[what](schedule_by_hand), 9)


def test_outside_of_functions_and_in_another_order():
    variables = w, b = make()
    optimizer = ag.optim.from_optax(optax.adam(schedule))
    for k in range(5):
        slopes = ag.grad(lambda: loss_at(w, b), [w, b])()
        pairs = list(zip(slopes, variables))
        optimizer.apply_gradients(pairs[::-1] if k % 2 else pairs)
    check(variables, optimizer, optax.adam(schedule), 5)


def test_minimize_in_a_branch_a_nested_function_and_a_loop_over_batches():
    variables = make()
    optimizer = ag.optim.from_optax(optax.adam(0.1))

    @ag.function
    def step(x):
        if x > 0:
            optimizer.minimize(lambda: loss_at(*variables), variables)

    @ag.function
    def run(xs):
        for x in xs:
            step(x)

    step(jnp.array(-1.0))
    assert int(optimizer.iterations) == 0 and variables[0].numpy().tolist() == [0.0] * 3
    run(jnp.array([1.0, -1.0, 2.0]))
    step(jnp.array(1.0))
    check(variables, optimizer, optax.adam(0.1), 3)


def test_minimize_with_a_tape_and_with_variables_by_a_function():
    variables = make()
    optimizer = ag.optim.from_optax(optax.sgd(0.1))
    with ag.GradientTape() as tape:
        loss = loss_at(*variables)
    assert optimizer.minimize(loss, lambda: list(variables), tape=tape) is loss
    assert float(optimizer.minimize(lambda: loss_at(*variables), variables)) < float(loss)
    check(variables, optimizer, optax.sgd(0.1), 2)


@pytest.mark.parametrize(("kind", "steps"), [(ag.function, 4), (lambda f: f, 1)], ids=["function", "python"])
def test_a_line_search_evaluates_the_loss_and_writes_nothing_by_it(kind, steps):
    w, b = make()
    calls = ag.Variable(0)
    optimizer = ag.optim.from_optax(optax.lbfgs())

    def loss():
        calls.assign_add(1)
        return loss_at(w, b)

    step = kind(lambda: optimizer.minimize(loss, [w, b]))
    losses = [float(step()) for _ in range(steps)]
    assert int(calls) == steps and float(loss_at(w, b)) < min(losses) / 2
    if steps > 1:
        np.testing.assert_allclose(w.numpy(), [1.0, -2.0, 0.5], atol=0.1)


def test_a_line_search_cannot_evaluate_a_loss_that_raises():
    w, b = make()
    optimizer = ag.optim.from_optax(optax.lbfgs())

    def loss():
        if w[0] > 10:
            raise ValueError("too large")
        return loss_at(w, b)

    with pytest.raises(ag.StagingError, match=r"(?s)loss may raise.*line search"):
        ag.function(lambda: optimizer.minimize(loss, [w, b]))()


def test_the_learning_rate_is_read_and_assigned_where_it_is_state():
    w, b = make()
    optimizer = ag.optim.from_optax(optax.inject_hyperparams(optax.sgd)(learning_rate=0.5))
    with pytest.raises(AttributeError, match=r"build\(variables\) first"):
        optimizer.learning_rate

    @ag.function
    def step(slope):
        optimizer.apply_gradients([(slope, b)])
        if slope > 1:
            optimizer.learning_rate = 0.25
        else:
            optimizer.learning_rate *= 2
        return optimizer.learning_rate.value

    assert [float(step(jnp.array(slope))) for slope in (1.0, 2.0, 0.5)] == [1.0, 0.25, 0.5]
    assert float(b) == -0.5 - 2.0 - 0.125
    with pytest.raises(AttributeError, match="inject_hyperparams"):
        made = ag.optim.from_optax(optax.sgd(0.1))
        made.build([w])
        made.learning_rate


class Trainer(ag.Module):
    def __init__(self):
        self.w, self.b = make()
        noise = optax.add_noise(0.1, 0.5, jax.random.key(0))
        self.optimizer = ag.optim.from_optax(optax.chain(noise, optax.adam(schedule)), name="adam")

    @ag.function
    def step(self):
        return self.optimizer.minimize(lambda: loss_at(self.w, self.b), [self.w, self.b])


def test_the_state_is_saved_restored_copied_and_pickled(tmp_path):
    trainer = Trainer()
    for _ in range(3):
        trainer.step()
    state = ag.checkpoints.state(trainer)
    assert sorted(state["optimizer"]) == ["iterations", "state"]
    assert {v.name for v in trainer.optimizer.variables} >= {"adam/iterations", "adam/1.0.mu.0"}
    assert id(trainer.w) not in map(id, trainer.optimizer.variables) and trainer.optimizer.trainable_variables == ()
    fresh = Trainer()
    fresh.optimizer.build([fresh.w, fresh.b])
    ag.checkpoints.restore(fresh, state)
    copied = copy.deepcopy((trainer.optimizer, trainer.w, trainer.b))
    sent = cloudpickle.loads(cloudpickle.dumps((trainer.optimizer, trainer.w, trainer.b)))
    ag.save(trainer, tmp_path / "saved")
    loaded = ag.load(tmp_path / "saved")
    expected = [float(trainer.step()) for _ in range(2)]
    assert [float(fresh.step()) for _ in range(2)] == expected == [float(loaded.step()) for _ in range(2)]
    for optimizer, w, b in (copied, sent):
        steps = [float(optimizer.minimize(lambda: loss_at(w, b), [w, b])) for _ in range(2)]
        np.testing.assert_allclose(steps, expected, rtol=1e-5)


def test_all_is_made_in_the_first_call():
    class Model(ag.Module):
        w = None

        @ag.function
        def fit(self, steps):
            if self.w is None:
                self.w, self.b = make()
                self.optimizer = ag.optim.from_optax(optax.adam(0.1))
            for _ in ag.range(steps):
                self.optimizer.minimize(lambda: loss_at(self.w, self.b), [self.w, self.b])

    model = Model()
    model.fit(jnp.array(2))
    model.fit(jnp.array(3))
    check((model.w, model.b), model.optimizer, optax.adam(0.1), 5)


def test_a_state_that_starts_from_the_values():
    """That of schedule-free optimizers, which keep the values themselves: it is made where the Variables have them."""
    w, b = make()
    tx = optax.contrib.schedule_free_sgd(0.1)

    def fit(optimizer, is_built, steps):
        w.assign(START[0] + 1)
        if is_built:
            optimizer.build([w, b])
        for _ in ag.range(steps):
            optimizer.minimize(lambda: loss_at(w, b), [w, b])

    with pytest.raises(ag.StagingError, match=r"(?s)starts from the Variables' values.*build\(variables\)"):
        ag.function(fit)(ag.optim.from_optax(tx), False, jnp.array(2))
    assert w.numpy().tolist() == [0.0] * 3
    optimizer = ag.optim.from_optax(tx)
    ag.function(fit)(optimizer, True, jnp.array(0))
    assert optimizer.state["z.0"].numpy().tolist() == [1.0] * 3


def test_a_call_that_fails_leaves_the_state_as_it_was():
    w, b = make()
    optimizer = ag.optim.from_optax(optax.adam(0.1))

    @ag.function
    def step(limit):
        if optimizer.minimize(lambda: loss_at(w, b), [w, b]) > limit:
            raise ValueError("diverged")

    step(jnp.array(100.0))
    before = [v.numpy() for v in (w, b, *optimizer.variables)]
    with pytest.raises(ValueError, match="diverged"):
        step(jnp.array(0.0))
    for variable, value in zip((w, b, *optimizer.variables), before, strict=True):
        np.testing.assert_array_equal(variable.numpy(), value)


def test_any_object_with_init_and_update():
    class Signs:
        def init(self, params):
            return {"flips": 0}

        def update(self, updates, state, params):
            if updates[0] > 0:
                return [-1.0], state
            return [1.0], {"flips": state["flips"] + 1}

    w = ag.Variable(0.0)
    optimizer = ag.optim.from_optax(Signs())
    step = ag.function(lambda slope: optimizer.apply_gradients([(slope, w)]))
    for slope in (1.0, -1.0, -3.0):
        step(jnp.array(slope))
    assert float(w) == 1.0 and int(optimizer.state["flips"]) == 2


def test_what_cannot_be_meant():
    w, b = make()
    with pytest.raises(TypeError, match="got function, which has no init"):
        ag.optim.from_optax(optax.adam)
    optimizer = ag.optim.from_optax(optax.adam(0.1), name="mine")
    with pytest.raises(ValueError, match="given no gradients"):
        optimizer.apply_gradients([(None, w)])
    optimizer.apply_gradients([(np.ones(3), w), (None, b)])
    with pytest.raises(ValueError, match="'mine'.*built for other Variables.*'b'"):
        optimizer.apply_gradients([(np.ones(3), w), (1.0, b)])
    with pytest.raises(ValueError, match=r"gradient of 'w' has the shape \(\), and the Variable \(3,\)"):
        optimizer.apply_gradients([(1.0, w)])
    with pytest.raises(ValueError, match="'w' is given twice"):
        optimizer.apply_gradients([(np.ones(3), w)] * 2)
    with pytest.raises(TypeError, match="pairs of a gradient and a Variable"):
        optimizer.apply_gradients([w])
    with pytest.raises(TypeError, match="updates Variables; got ndarray"):
        optimizer.apply_gradients([(np.ones(3), w.numpy())])
    with pytest.raises(TypeError, match="a list of Variables"):
        optimizer.minimize(lambda: loss_at(w, b), w)
    with pytest.raises(TypeError, match="a function without arguments"):
        optimizer.minimize(3.0, [w])
    both = ag.optim.from_optax(optax.adam(0.1))
    both.build([w, b])
    with pytest.raises(ValueError, match="no gradient of 'b'.*unconnected_gradients='zero'"):
        both.apply_gradients([(np.ones(3), w), (None, b)])
    with pytest.raises(ag.StagingError, match="ag.function|autograph.function"):
        jax.jit(lambda g: optimizer.apply_gradients([(g, w)]))(np.ones(3))
