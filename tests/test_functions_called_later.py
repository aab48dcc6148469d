"""Functions that a program calls when it runs: what they read then is as it is then, and needs no new trace."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import pytest
from jax.experimental import io_callback

import autograph as ag

NUMBER = jax.ShapeDtypeStruct((), jnp.float32)
history: list[float] = []
factors = [2.0]


def keep(a):
    history.append(float(a))


def keep_as(name, a):
    history.append(float(a))


def times(a):
    return a * factors[0]


@ag.py_function(Tout=None)
def kept(a):
    history.append(float(a))


def by_debug_callback(x):
    jax.debug.callback(keep, x)


def by_io_callback(x):
    io_callback(keep, None, x, ordered=True)


def by_py_function(x):
    ag.py_function(keep, [x], None)


def by_numpy_function(x):
    ag.numpy_function(keep, [x], None)


def by_a_decorated_function(x):
    kept(x)


def by_a_lambda(x):
    jax.debug.callback(lambda a: history.append(float(a)), x)


def by_a_function_within(x):
    def note(a):
        history.append(float(a))

    jax.debug.callback(note, x)


def by_a_partial_function(x):
    jax.debug.callback(functools.partial(keep_as, "x"), x)


def under_a_condition(x):
    if x > -1:
        jax.debug.callback(keep, x)


def in_a_loop(x):
    for _ in ag.range(jnp.int32(x * 0 + 1)):
        ag.py_function(lambda a: history.append(float(a)), [x], None)


LOGGING = [
    by_debug_callback,
    by_io_callback,
    by_py_function,
    by_numpy_function,
    by_a_decorated_function,
    by_a_lambda,
    by_a_function_within,
    by_a_partial_function,
    under_a_condition,
    in_a_loop,
]


@pytest.mark.parametrize("log", LOGGING)
def test_a_callback_that_appends_to_a_list_needs_no_trace_for_each_call(log):
    traces = []

    @ag.function
    def step(x):
        traces.append(None)
        log(x)
        return x * 2

    history.clear()
    for k in range(4):
        assert step(jnp.float32(k)) == 2 * k
    jax.effects_barrier()
    assert history == [0, 1, 2, 3]
    assert len(traces) == 1


def test_a_method_that_appends_to_a_list_of_its_object():
    traces = []

    class Model:
        def __init__(self):
            self.losses = []
            self.rate = 2.0

        def note(self, loss):
            self.losses.append(float(loss))

        @ag.function
        def train(self, x):
            traces.append(None)
            jax.debug.callback(self.note, x)
            return x * self.rate

    model = Model()
    for k in range(3):
        assert model.train(jnp.float32(k)) == 2 * k
    model.rate = 3.0
    assert model.train(jnp.float32(1)) == 3
    jax.effects_barrier()
    assert model.losses == [0, 1, 2, 1]
    assert len(traces) == 2


def test_a_function_that_calls_one_with_a_callback():
    traces = []
    inner = ag.function(lambda x: (jax.debug.callback(keep, x), x + 1)[1])

    @ag.function
    def outer(x):
        traces.append(None)
        return inner(x) * 2

    inner(jnp.float32(1))
    for k in range(3):
        assert outer(jnp.float32(k)) == 2 * k + 2
    jax.effects_barrier()
    assert len(traces) == 1


def test_a_callback_reads_what_is_there_when_it_runs():
    f = ag.function(lambda x: jax.pure_callback(times, NUMBER, x))
    for factor in (2.0, 5.0):
        factors[0] = factor
        assert f(jnp.float32(3)) == 3 * factor
    assert f.experimental_get_tracing_count() == 1


def called_as_well(x):
    return jax.pure_callback(times, NUMBER, x) + times(x)


def mapped_as_well(x):
    return jax.pure_callback(times, NUMBER, x) + jax.vmap(times)(x[None])[0]


def called_by_another_as_well(x):
    def twice(function, value):
        return function(value) + function(value) * 0

    return jax.pure_callback(times, NUMBER, x) + twice(times, x)


@pytest.mark.parametrize("program", [called_as_well, mapped_as_well, called_by_another_as_well])
def test_a_function_that_the_trace_calls_too(program):
    f = ag.function(program)
    for factor in (2.0, 5.0, 7.0):
        factors[0] = factor
        assert f(jnp.float32(3)) == 6 * factor


def test_a_function_that_another_trace_calls():
    f = ag.function(lambda x, now: times(x) if now else jax.pure_callback(times, NUMBER, x))
    for factor, now in ((2.0, False), (3.0, True), (5.0, True), (7.0, False), (9.0, True)):
        factors[0] = factor
        assert f(jnp.float32(3), now) == 3 * factor
