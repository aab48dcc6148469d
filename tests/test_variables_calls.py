"""Calls that touch Variables: nested, failing, from many threads, under other transforms."""

from __future__ import annotations

import gc
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag


def same(found, expected):
    np.testing.assert_array_equal(np.asarray(found), np.asarray(expected))


# Nested functions.


def test_a_function_in_a_function_updates_the_same_variables():
    v = ag.Variable(1)

    @ag.function
    def inner(x):
        v.assign_add(x)
        return v * 10

    @ag.function
    def outer(x):
        v.assign(v * 2)
        first = inner(x)
        v.assign_add(100)
        if x > 0:
            inner(x)
        for _ in ag.range(2):
            inner(x)
        return first, v

    first, last = outer(jnp.array(3))
    assert int(first) == 50 and int(last) == int(v) == 5 + 100 + 3 + 6
    assert inner.experimental_get_tracing_count() == 1
    assert int(inner(jnp.array(1))) == 1150
    assert inner.experimental_get_tracing_count() == 1


def test_created_in_a_function_in_a_function():
    class Layer:
        w = None

        @ag.function
        def __call__(self, x):
            if self.w is None:
                self.w = ag.Variable(x * 2)
            return x + self.w

    class Model:
        def __init__(self):
            self.layer = Layer()
            self.scale = None

        @ag.function
        def __call__(self, x):
            y = self.layer(x)
            if self.scale is None:
                self.scale = ag.Variable(y.sum())
            return y * self.scale

    model, x = Model(), jnp.array([1.0, 2.0])
    same(model(x), [27, 54])
    same(model(x), [27, 54])
    same(model.layer.w, [2, 4])


# Creation.


def test_created_on_every_call_is_refused_at_once():
    @ag.function
    def f(x):
        v = ag.Variable(x, name="local")
        return v + 1

    with pytest.raises(ValueError, match="'local' is created on calls of 'f' after its first"):
        f(jnp.array(1))


def test_created_on_a_later_call_is_refused():
    made = {}

    @ag.function
    def f(x):
        if x.shape not in made:
            made[x.shape] = ag.Variable(jnp.zeros_like(x))
        return made[x.shape] + x

    f(jnp.ones(2))
    with pytest.raises(ValueError, match="after its first"):
        f(jnp.ones(3))
    same(f(jnp.ones(2)), [1, 1])


def test_created_for_types_only():
    class Scale:
        v = None

        @ag.function
        def __call__(self, x):
            if self.v is None:
                self.v = ag.Variable(jnp.ones_like(x) * 2)
            return self.v * x

    scale = Scale()
    scale.__call__.get_concrete_function(jax.ShapeDtypeStruct((2,), jnp.float32))
    same(scale.v, [2, 2])


def test_created_under_a_traced_condition_is_refused():
    @ag.function
    def f(x):
        if x > 0:
            x = ag.Variable(x * 2) + 1
        return x

    with pytest.raises(ag.StagingError, match="inside a staged branch or loop"):
        f(jnp.array(1))


# Failing calls.


def test_an_error_while_tracing_changes_nothing():
    v = ag.Variable(1)

    @ag.function
    def f(x):
        v.assign_add(x)
        if x > 0:
            v.assign_add(x)
        raise KeyError("stop")

    with pytest.raises(KeyError):
        f(jnp.array(5))
    assert int(v) == 1


def test_an_error_at_run_time_changes_nothing():
    v, w = ag.Variable(1), ag.Variable(1)

    @ag.function
    def f(x):
        v.assign_add(x)
        if x > 2:
            raise ValueError("too large")
        w.assign_add(x)
        return v

    assert int(f(jnp.array(1))) == 2
    with pytest.raises(ValueError, match="too large"):
        f(jnp.array(5))
    assert int(v) == 2 and int(w) == 2


def test_an_error_in_the_call_of_a_function_that_failed_before():
    class Scale:
        v = None

        @ag.function
        def __call__(self, x, fail):
            if self.v is None:
                self.v = ag.Variable(jnp.ones_like(x), name="late")
            if fail:
                raise KeyError("stop")
            return self.v

    scale = Scale()
    with pytest.raises(KeyError):
        scale(jnp.ones(2), True)
    with pytest.raises(ValueError, match="'late' has no value"):
        scale(jnp.ones(2), False)


# Other transforms.


@pytest.mark.parametrize("use", [lambda v: v + 1, lambda v: v.assign(2.0), lambda v: v.assign_add(1)])
def test_a_bare_jit_is_refused_by_name(use):
    v = ag.Variable(1.0, name="state")
    with pytest.raises(ag.StagingError, match="'state'.*autograph does not own") as caught:
        jax.jit(ag.convert(lambda x: use(v) + x))(1.0)
    assert "autograph.function" in str(caught.value)
    with pytest.raises(ag.StagingError, match="'state'"):
        jax.lax.scan(lambda c, x: (c + use(v).sum(), None), 0.0, jnp.ones(3))
    assert float(v) == 1.0


def test_a_jit_that_was_traced_inside_a_function_is_not_stale_outside():
    v = ag.Variable(1.0)
    inner = jax.jit(lambda x: x + v)
    outer = ag.function(lambda x: inner(x))
    assert float(outer(1.0)) == 2.0
    v.assign(5.0)
    assert float(outer(1.0)) == 6.0
    with pytest.raises(Exception, match="deleted|does not own"):
        inner(1.0)


def test_a_function_with_state_inside_a_bare_jit_is_refused():
    v = ag.Variable(1.0, name="state")
    f = ag.function(lambda x: v.assign_add(x))
    with pytest.raises(ag.StagingError, match="'state'"):
        jax.jit(lambda x: f(x))(1.0)
    f(1.0)
    with pytest.raises(ag.StagingError, match="'state'"):
        jax.jit(lambda x: f(x))(1.0)
    assert float(v) == 2.0


@pytest.mark.parametrize("amount", [lambda x: x, lambda x: 1.0])
def test_a_write_inside_vmap_is_refused_by_name(amount):
    v = ag.Variable(1.0, name="state")

    def f(x):
        v.assign_add(amount(x))
        return x

    def branch(x):
        if x > 0:
            v.assign_add(amount(x))
        return x

    for write in (f, branch):
        stateful = ag.function(write)
        for call in (
            lambda x: jax.vmap(f)(x),
            lambda x: ag.function(lambda x: jax.vmap(write)(x))(x),
            lambda x: jax.vmap(stateful)(x),
            lambda x: ag.function(lambda x: jax.vmap(stateful)(x))(x),
        ):
            with pytest.raises(ag.StagingError, match="'state' is written inside jax.vmap"):
                call(jnp.ones(3))
    assert float(v) == 1.0


def test_a_read_inside_vmap_is_not():
    v = ag.Variable(2.0)

    @ag.function
    def f(x):
        def lane(y):
            if y > 1:
                y = y * v
            return y

        v.assign_add(1)
        return jax.vmap(lane)(x)

    same(f(jnp.array([1.0, 2.0])), [1, 6])


def test_derivatives_go_through_assignments_under_grad():
    v = ag.Variable(1.0)

    def loss(x):
        v.assign(x * 2)
        return x * v

    for gradient in (jax.grad(loss), jax.grad(ag.function(loss)), ag.function(lambda x: jax.grad(loss)(x))):
        v.assign(1.0)
        assert float(gradient(3.0)) == 12.0
        assert float(v) == 6.0 and not isinstance(v.value, jax.core.Tracer)


def test_derivatives_go_through_variables_from_call_to_call():
    v = ag.Variable(1.0)

    @ag.function
    def power(x, n):
        while n > 0:
            v.assign(v * x)
            n -= 1
        return v * 1.0

    def loss(x):
        v.assign(1.0)
        return power(power(x, jnp.int32(2)), jnp.int32(3)) + power(x, jnp.int32(1)) + v

    def plain(x):  # v is x^2, then x^2 x^6, then x^9
        return x**8 + x**9 + x**9

    for gradient in (jax.grad(loss), ag.function(lambda x: jax.grad(loss)(x))):
        same(gradient(jnp.float32(1.5)), jax.grad(plain)(1.5))
        same(v, 1.5**9)


def test_a_value_differentiated_twice_is_refused_by_name():
    v = ag.Variable(1.0, name="state")

    def loss(x):
        v.assign(x * 2)
        return x * v

    for f in (loss, ag.function(loss)):
        with pytest.raises(ag.StagingError, match="'state' is assigned a value that is being differentiated"):
            jax.grad(jax.grad(f))(2.0)
    assert float(v) == 1.0


def test_a_stopped_value_may_be_assigned_under_grad():
    v = ag.Variable(1.0)

    @ag.function
    def f(x):
        def loss(x):
            v.assign(jax.lax.stop_gradient(x * 2))
            return x * v

        return jax.grad(loss)(x)

    assert float(f(2.0)) == 4.0 and float(v) == 4.0
    g = ag.function(lambda x: (v.assign_add(1.0), x * v)[1])
    assert float(jax.grad(g)(2.0)) == 5.0 and float(v) == 5.0


# The rest.


def test_settings_of_jax_are_part_of_what_is_recorded():
    v = ag.Variable(jnp.ones((2, 2)))
    f = ag.function(lambda x: v @ x)
    x = jnp.ones((2, 2))
    f(x)
    with jax.default_matmul_precision("highest"):
        f(x)
    assert f.experimental_get_tracing_count() == 2


def test_donated_variables():
    v = ag.Variable(jnp.zeros(1000))
    read = ag.Variable(jnp.ones(1000))

    @ag.function(donate_variables=True)
    def f(x):
        v.assign_add(read * x)
        return v[0]

    f(1.0)
    held = v._value
    f(1.0)
    assert held.is_deleted() and float(v[0]) == 2.0
    mine = v.value
    f(1.0)
    assert not mine.is_deleted() and float(v[0]) == 3.0
    assert not read._value.is_deleted()


def test_an_instance_is_freed_with_its_variables():
    class Counter:
        def __init__(self):
            self.v = ag.Variable(0)

        @ag.function
        def add(self, x):
            self.v.assign_add(x)

    counter = Counter()
    counter.add(jnp.array(1))
    references = weakref.ref(counter), weakref.ref(counter.v)
    del counter
    gc.collect()
    assert [reference() for reference in references] == [None, None]


def test_the_program_shows_state_as_values():
    v = ag.Variable(1.0)

    @ag.function
    def f(x):
        for _ in ag.range(x):
            v.assign_add(1.0)
        return v

    jaxpr = f.get_concrete_function(jnp.array(3)).graph.jaxpr
    assert "Ref" not in str(jaxpr) and len(jaxpr.in_avals) == 2


def test_donated_variables_after_an_exception():
    v, calls = ag.Variable(jnp.ones(3)), ag.Variable(0)

    @ag.function(donate_variables=True)
    def f(x):
        v.assign_add(x * jnp.ones(3))
        calls.assign_add(1)
        if v.value.max() > 3:
            raise ValueError("too large")
        return v.value.sum()

    assert float(f(1.5)) == 7.5
    for _ in range(2):
        with pytest.raises(ValueError, match="too large"):
            f(1.5)
    assert v.numpy().tolist() == [2.5, 2.5, 2.5] and int(calls.value) == 1
    assert float(f(0.25)) == 8.25


def test_a_part_of_a_variable_in_the_state_of_branches_and_loops():
    rows = ag.Variable(jnp.arange(6.0).reshape(3, 2))

    def f(n, row):
        pair, table = (row, 0), {"row": row}
        for i in ag.range(n):
            if i >= 1:
                pair, row = (rows[i], i), rows[i]
                table["row"] = rows[i - 1]
        return pair, row, table

    for n in (1, 3):
        found = ag.function(f)(jnp.array(n), jnp.ones(2))
        for ours, theirs in zip(jax.tree.leaves(found), jax.tree.leaves(f(n, jnp.ones(2))), strict=True):
            assert np.array_equal(ours, theirs)
