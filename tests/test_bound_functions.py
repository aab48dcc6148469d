"""A decorated method, looked up on an instance, keeps the instance, as a bound method does; the instance's programs do not."""

from __future__ import annotations

import gc
import weakref

import jax.numpy as jnp
import pytest

import autograph as ag


class Model(ag.Module):
    def __init__(self, w=2.0):
        self.w = ag.Variable(w)

    @ag.function
    def scaled(self, x):
        if x > 0:
            return x * self.w
        return x

    def plain(self, x):
        return x * self.w


@pytest.fixture(autouse=True)
def no_collector():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def test_of_an_instance_that_nobody_else_holds():
    assert float(Model().scaled(3.0)) == 6
    scaled = Model(5.0).scaled
    assert float(scaled(3.0)) == 15 and float(scaled(-3.0)) == -3
    assert float(Model().scaled.get_concrete_function(jnp.array(1.0))(jnp.array(4.0))) == 8


def test_it_holds_the_instance_and_lets_it_go():
    model = Model()
    gone = weakref.ref(model)
    scaled = model.scaled
    scaled(1.0)
    del model
    assert gone() is not None and float(scaled(2.0)) == 4
    del scaled
    assert gone() is None


def test_one_instance_has_one_set_of_traces():
    model = Model()
    assert model.scaled == model.scaled
    model.scaled(jnp.array(1.0))
    model.scaled(jnp.array(2.0))
    assert model.scaled.experimental_get_tracing_count() == 1
    model.scaled.clear_cache()
    assert model.scaled.experimental_get_tracing_count() == 0
    assert float(model.scaled(jnp.array(2.0))) == 4


def test_a_held_one_outlasts_what_its_class_forgets():
    scaled = Model().scaled
    assert float(scaled(jnp.array(1.0))) == 2
    Model.scaled.clear_cache()
    assert float(scaled(jnp.array(3.0))) == 6


def test_it_runs_eagerly_while_all_do():
    scaled = Model().scaled
    for _ in range(2):
        scaled(jnp.array(1.0))
    ag.run_functions_eagerly(True)
    try:
        assert float(scaled(2.0)) == 4
        assert float(Model().scaled(2.0)) == 4
    finally:
        ag.run_functions_eagerly(False)
    assert float(scaled(jnp.array(3.0))) == 6


def test_each_lookup_is_equal_to_the_others_of_its_instance():
    model, other = Model(), Model()
    assert model.scaled == model.scaled and model.scaled != other.scaled and model.scaled != Model.scaled
    assert len({model.scaled, model.scaled, other.scaled}) == 2
    model.scaled.note = 1
    assert model.scaled.note == 1 and not hasattr(other.scaled, "note")
    del model.scaled.note
    assert not hasattr(model.scaled, "note")
    assert isinstance(model.scaled, type(Model.scaled)) and model.scaled.__name__ == "scaled"


@pytest.mark.parametrize("name", ["scaled", "plain"])
def test_as_an_argument_it_is_told_apart_by_its_instance_and_does_not_hold_it(name):
    @ag.function
    def applied(f, x):
        return f(x) + 1 if x > 0 else x

    model, other = Model(), Model(5.0)
    assert [float(applied(getattr(each, name), jnp.array(1.0))) for each in (model, other, model, other)] == [
        3,
        6,
        3,
        6,
    ]
    assert applied.experimental_get_tracing_count() == 2
    scaled = getattr(model, name)
    assert float(applied(scaled, jnp.array(1.0))) == 3 and applied.experimental_get_tracing_count() == 2
    gone = weakref.ref(model), weakref.ref(model.w)
    del model, scaled
    assert [each() for each in gone] == [None, None]


@pytest.mark.parametrize("first", [True, False])
def test_calls_that_a_method_does_not_take_are_refused_as_python_does(first):
    class Plain:
        def run(self, x, *, k=1):
            return x * k

    class Ours(Plain):
        run = ag.function(Plain.run)

    ours, plain = Ours(), Plain()
    if not first:
        ours.run(jnp.ones(2), k=2), ours.run(jnp.ones(2))
    for args, kwargs in [((), {}), ((1, 2), {}), ((1,), {"z": 1}), ((1,), {"x": 1})]:
        with pytest.raises(TypeError) as expected:
            plain.run(*args, **kwargs)
        with pytest.raises(TypeError) as found:
            ours.run(*args, **kwargs)
        assert str(found.value) == str(expected.value).rpartition(".")[2]
