"""Captured Python values: a function is traced again when one that it reads has changed."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag

SCALE = 2
TABLE = [1, 2]
SETTINGS = {"lr": 0.5}
UNUSED = 0


def helper(x):
    return x * SCALE


def uses_helper(x):
    return helper(x)


@pytest.fixture(autouse=True)
def _restore(monkeypatch):
    for name, value in [
        ("SCALE", 2),
        ("TABLE", [1, 2]),
        ("SETTINGS", {"lr": 0.5}),
        ("helper", helper),
        ("UNUSED", 0),
    ]:
        monkeypatch.setitem(globals(), name, value)


def one():
    return jnp.array(1.0)


def test_a_global_number_and_back_again():
    global SCALE
    f = ag.function(uses_helper)
    for value, traces in [(2, 1), (3, 2), (2, 2), (3, 2), (3.0, 3), (True, 4)]:
        SCALE = value
        assert float(f(one())) == float(value)
        assert f.experimental_get_tracing_count() == traces
    assert "captured `SCALE`: Python int 2 → 3; pass it as an argument" in f.explain_retraces()


def test_a_global_that_is_not_read_does_not_matter():
    global UNUSED
    f = ag.function(uses_helper)
    f(one())
    UNUSED = 1
    f(one())
    assert f.experimental_get_tracing_count() == 1


def test_a_helper_that_was_defined_anew():
    global helper
    f = ag.function(uses_helper)
    assert float(f(one())) == 2

    def helper(x):
        return x * 10

    assert float(f(one())) == 10


def test_lists_and_dicts_by_content():
    def f(x):
        return x * sum(TABLE) * SETTINGS["lr"]

    g = ag.function(f)
    assert float(g(one())) == 1.5
    TABLE.append(3)
    assert float(g(one())) == 3
    SETTINGS["lr"] = 1.0
    assert float(g(one())) == 6
    TABLE.pop()
    SETTINGS["lr"] = 0.5
    assert float(g(one())) == 1.5
    assert g.experimental_get_tracing_count() == 3


def test_closure_variables():
    k, unit = 2, jnp.ones(2)

    @ag.function
    def f(x):
        return (x * k + unit).sum()

    assert float(f(one())) == 6
    k = 3
    assert float(f(one())) == 8
    unit = jnp.zeros(3)
    assert float(f(one())) == 9
    unit = np.ones(3)
    assert float(f(one())) == 12


def test_what_the_function_itself_assigns_is_left_alone():
    traces = 0

    @ag.function
    def f(x):
        nonlocal traces
        traces += 1
        return x

    f(one()), f(one())
    traces += 5
    f(one())
    assert traces == 6


def test_a_list_that_the_trace_appends_to_is_appended_to_once():
    seen = []

    @ag.function
    def f(x):
        seen.append(len(seen))
        return x

    for _ in range(3):
        f(one())
    assert seen == [0]


def test_an_attribute_of_the_instance():
    class Model:
        def __init__(self):
            self.rate = 2
            self.training = True

        @ag.function
        def step(self, x):
            return self._scaled(x) if self.training else x

        def _scaled(self, x):
            return x * self.rate

    model, other = Model(), Model()
    assert float(model.step(one())) == 2
    model.rate = 3
    assert float(model.step(one())) == 3 and float(other.step(one())) == 2
    model.training = False
    assert float(model.step(one())) == 1
    model.training = True
    assert float(model.step(one())) == 3
    assert model.step.experimental_get_tracing_count() == 3


def test_a_nested_function_object():
    inner = ag.function(lambda x: x * SCALE)
    outer = ag.function(lambda x: inner(x) + 1)
    global SCALE
    assert float(outer(one())) == 3
    SCALE = 5
    assert float(outer(one())) == 6


def test_a_deleted_name_fails_as_in_python():
    global SCALE
    f = ag.function(uses_helper)
    f(one())
    del SCALE
    with pytest.raises(NameError, match="SCALE"):
        f(one())
    globals()["SCALE"] = 2
    assert float(f(one())) == 2


@pytest.mark.filterwarnings("ignore::autograph.StagingWarning")
def test_what_a_trace_changed_and_its_caller_put_back_is_traced_again():
    made = {"count": None}

    @ag.function
    def count(x):
        if made["count"] is None:
            made["count"] = ag.Variable(0.0)
        return made["count"].assign_add(x).value

    assert [float(count(jnp.array(1.0))) for _ in range(2)] == [1, 2]
    assert len(count.concrete_functions()) == 1
    made["count"] = None
    with pytest.raises(ValueError, match="not its first"):
        count(jnp.array(1.0))
    count.clear_cache()
    assert [float(count(jnp.array(5.0))) for _ in range(2)] == [5, 10]


@pytest.mark.filterwarnings("ignore::autograph.StagingWarning")
def test_a_trace_that_changes_what_is_read_is_one_concrete_function():
    log = []

    @ag.function
    def doubled(x):
        log.append(len(log))
        return x * 2

    concrete = doubled.get_concrete_function(jnp.array(1.0))
    assert doubled.get_concrete_function(jnp.array(2.0)) is concrete
    assert doubled.concrete_functions() == [concrete]
    assert len(log) == 1
