"""Converted functions under a bare `jax.jit`, `jax.grad` or `jax.vmap` that write traced values to what outlives the trace."""

from __future__ import annotations

import functools
import types

import jax
import jax.numpy as jnp
import pytest

import autograph as ag

total = 0.0
last = types.SimpleNamespace(seen=0.0)
seen = []
by_name = {"x": 0.0}


class Settings:
    rate = 0.5


def writes_global(x):
    global total
    if x > 0:
        total = total + x
    return x


def writes_module(x):
    types.seen_last = x
    return x


def writes_class(x):
    Settings.rate = x * 2
    return x


def writes_attribute(x):
    last.seen = x
    return x


def writes_list(x):
    seen.append(x)
    return x


def writes_dict(x):
    by_name["x"] = x
    return x


def remember(x):
    global total
    total = x


def writes_in_a_helper(x):
    remember(x * 2)
    return x


WRITES = {
    writes_global: "total",
    writes_module: "module.seen_last",
    writes_class: "Settings.rate",
    writes_attribute: "SimpleNamespace.seen",
    writes_list: "seen",
    writes_dict: "by_name",
    writes_in_a_helper: "total",
}


def held():
    return total, getattr(types, "seen_last", None), Settings.rate, last.seen, list(seen), dict(by_name)


@pytest.mark.parametrize("function", WRITES)
@pytest.mark.parametrize("transform", [jax.jit, jax.grad, jax.vmap])
def test_the_write_is_refused_and_taken_back(function, transform):
    before = held()
    x = jnp.ones(2) if transform is jax.vmap else 2.0
    with pytest.raises(ag.StagingError, match=f"'{WRITES[function]}' is written in {function.__name__}") as error:
        transform(ag.convert(function))(x)
    assert "test_leaks_in_transforms.py:" in str(error.value)
    assert held() == before
    assert ag.convert(writes_attribute)(3.0) == 3.0  # outside of transforms it is Python's
    assert last.seen == 3.0
    last.seen = 0.0


def test_a_variable_of_a_function_around_is_refused():
    count = 0.0

    def add(x):
        nonlocal count
        count = count + x
        return count

    with pytest.raises(ag.StagingError, match="'count' is written in"):
        jax.jit(ag.convert(add))(2.0)
    assert count == 0.0


def test_an_object_that_a_function_closes_over_is_refused():
    counter = types.SimpleNamespace(n=0)

    def bump(x):
        if x > 0:
            counter.n += 1
        return x

    with pytest.raises(ag.StagingError, match="'SimpleNamespace.n' is written in"):
        jax.jit(ag.convert(bump))(2.0)
    assert counter.n == 0


def test_what_is_put_back_and_what_belongs_to_the_trace_may_be_written():
    @ag.convert
    def scratch(x):
        global total
        before, total = total, x
        doubled = total * 2
        total = before
        return doubled

    @jax.jit
    def around(x):
        count = 0.0
        box = types.SimpleNamespace(n=x)

        @ag.convert
        def add(v, box):
            nonlocal count
            if v > 1:
                count = count + v
                box.n = box.n + 1
            return v

        add(x, box)
        add(-x, box)
        return count, box.n

    assert jax.jit(scratch)(2.0) == 4.0 and total == 0.0
    assert [float(each) for each in around(2.0)] == [2.0, 3.0]


def test_python_values_are_written_once_for_a_trace():
    traces = []

    @jax.jit
    @ag.convert
    def f(x):
        traces.append(len(x))
        return x * 2

    f(jnp.ones(2))
    f(jnp.ones(2))
    assert traces == [2]


@pytest.mark.parametrize("transform", [jax.vmap, jax.jit, jax.checkpoint])
def test_lists_that_a_write_may_have_changed_are_those_of_the_function(transform):
    def grouped(keys, values):
        groups = {}
        for key, value in zip(keys, values):
            groups.setdefault(key, []).append(value)
        return sum(len(group) ** 2 for group in groups.values())

    inner = ag.convert(grouped)

    def summed(keys, values):
        return inner(list(keys), list(values))

    keys, values = jnp.array([[1, 2, 1], [3, 3, 3], [4, 5, 6]]), jnp.ones((3, 3))
    expected = [grouped(lane.tolist(), [1.0] * 3) for lane in keys]
    compiled = ag.function(transform(summed))
    if transform is jax.vmap:
        assert compiled(keys, values).tolist() == expected
    else:
        assert [int(compiled(lane, values[0])) for lane in keys] == expected


class Ledger:
    def __init__(self):
        self.entries, self.last = [0.0], 0.0

    def add(self, x):
        self.entries.append(x)
        return x

    def replace(self, x):
        self.entries[0] = x
        return x

    def bind(self, x):
        self.last = x * 2
        return x

    @functools.partial(jax.jit, static_argnums=0)
    @ag.convert
    def compiled(self, x):
        return self.add(x)

    def scratch(self, x):
        self.entries.append(x)
        return self.entries.pop() + len(self.entries)


@pytest.mark.parametrize(
    "method, name", [("add", "self.entries"), ("replace", "self.entries"), ("bind", "Ledger.last")]
)
@pytest.mark.parametrize("transform", [jax.jit, jax.grad, jax.vmap])
def test_the_instance_of_a_method_is_from_outside(method, name, transform):
    ledger = Ledger()
    x = jnp.ones(2) if transform is jax.vmap else 2.0
    with pytest.raises(ag.StagingError, match=f"'{name}' is written in Ledger.{method}"):
        transform(ag.convert(getattr(ledger, method)))(x)
    assert ledger.entries == [0.0] and ledger.last == 0.0
    assert ag.convert(getattr(ledger, method))(2.0) == 2.0  # outside of transforms it is Python's


def test_a_static_argument_is_from_outside():
    ledger, other = Ledger(), Ledger()
    with pytest.raises(ag.StagingError, match="'self.entries' is written in Ledger.compiled"):
        ledger.compiled(2.0)
    with pytest.raises(ag.StagingError, match="'self.entries' is written in Ledger.add"):
        jax.jit(ag.convert(Ledger.add), static_argnums=0)(other, 2.0)
    assert ledger.entries == other.entries == [0.0]
    assert jax.jit(ag.convert(ledger.scratch))(2.0) == 3.0 and ledger.entries == [0.0]


def test_an_instance_that_the_trace_makes_may_be_written():
    @jax.jit
    def around(x):
        ledger = Ledger()
        ag.convert(ledger.add)(x)
        ag.convert(ledger.bind)(x)
        return ledger.entries[1] + ledger.last

    assert around(2.0) == 6.0
