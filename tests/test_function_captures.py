"""Captured Python values: a function is traced again when one that it reads has changed."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from autograph.runtime.function import reads

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
    with pytest.raises(ValueError, match="after its first"):
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


class Lazy(ag.Module):
    """Makes its Variable on the first call, and counts what it does while it is traced."""

    def __init__(self):
        self.total = None
        self.scale = 1
        self.traces = 0

    @ag.function
    def add(self, x):
        self.traces += 1
        if self.total is None:
            self.total = ag.Variable(jnp.zeros_like(x))
        return self.total.assign_add(x * self.scale).value

    @ag.function
    def doubled(self, x):
        self.scale *= 2
        return x * self.scale


def test_a_variable_that_was_made_lazily_and_is_replaced():
    model = Lazy()
    assert [float(model.add(one())) for _ in range(2)] == [1, 2]
    first, model.total = model.total, ag.Variable(jnp.array(10.0))
    assert [float(model.add(one())) for _ in range(2)] == [11, 12]
    model.total = first
    assert float(model.add(one())) == 3
    assert model.traces == 3  # two on the first call: with the Variable made, and with it there


def test_a_variable_that_was_made_lazily_and_is_reset():
    model = Lazy()
    model.add(one())
    model.total = None
    with pytest.raises(ValueError, match="after its first"):
        model.add(one())
    assert model.total is None


def test_what_a_trace_assigns_and_reads_and_its_caller_replaces():
    model = Lazy()
    assert [float(model.doubled(one())) for _ in range(2)] == [2, 2]  # assigned once for each trace
    model.scale = 5
    assert [float(model.doubled(one())) for _ in range(2)] == [10, 10]
    assert model.doubled.experimental_get_tracing_count() == 2


def test_what_traces_for_several_shapes_assign_makes_no_new_traces():
    model = Lazy()
    for _ in range(3):
        model.doubled(one()), model.doubled(jnp.ones(3))
    assert model.doubled.experimental_get_tracing_count() == 2


def test_an_object_that_a_trace_made_is_looked_at_afterwards():
    class Part:
        def __init__(self):
            self.rate = 2

    class Whole:
        part = None

        @ag.function
        def scaled(self, x):
            if self.part is None:
                self.part = Part()
            return x * self.part.rate

    whole = Whole()
    assert float(whole.scaled(one())) == 2
    assert [v.tolist() for v in (whole.scaled(jnp.ones(2)), whole.scaled(one()))] == [[2, 2], 2]
    whole.part.rate = 3
    assert float(whole.scaled(one())) == 3
    assert whole.scaled.experimental_get_tracing_count() == 3


@pytest.mark.parametrize("depth", [3, 30])
def test_functions_that_lead_to_each_other_are_looked_at_once(monkeypatch, depth):
    """Not again for each of them: what else is captured, large arrays of NumPy's among it, would be compared that often."""
    walks = []
    monkeypatch.setattr(reads, "_walk_all", lambda *args, _all=reads._walk_all: walks.append(0) or _all(*args))
    begun = []
    monkeypatch.setattr(
        reads._Walk, "__init__", lambda self, *args, _init=reads._Walk.__init__: begun.append(0) or _init(self, *args)
    )

    def linked(inner):
        return lambda x: inner(x) + 1

    steps = [1.0]
    f = lambda x: x + steps[0]  # noqa: E731
    for _ in range(depth):
        f = linked(f)
    compiled = ag.function(f)
    assert float(compiled(jnp.float32(0))) == depth + 1
    assert len(begun) == len(walks)  # none had to begin again
    steps[0] = 2.0
    assert float(compiled(jnp.float32(0))) == depth + 2 and compiled.experimental_get_tracing_count() == 2
