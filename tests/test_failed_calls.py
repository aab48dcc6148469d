"""A call that fails leaves every Variable as it was, however it fails; the next call works."""

from __future__ import annotations

import _thread
import gc
import signal
import threading
import weakref

import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag


class Bad(Exception):
    pass


class State:
    """Variables of each kind: read only, written before the failure, written in a branch and a loop."""

    def __init__(self):
        self.read = ag.Variable(2.0)
        self.total = ag.Variable(0.0)
        self.table = ag.Variable([1, 2, 3])
        self.inner = ag.Variable(0)

    def update(self, x):
        self.total.assign_add(x * self.read)
        for i in range(3):
            if self.table[i] > 1:
                self.table[i].assign_add(1)
        for _ in ag.range(2):
            self.inner.assign_add(1)

    @property
    def values(self):
        return [v.numpy().tolist() for v in (self.read, self.total, self.table, self.inner)]


def while_tracing(error):
    def fail(x, fails):
        if fails:
            raise error

    return fail


def at_run_time(error):
    def fail(x, fails):
        if x < 0 and fails:
            raise error

    return fail


def in_a_call_of_python(error):
    def raise_it():
        raise error

    def fail(x, fails):
        if fails:
            ag.py_function(raise_it, [], None)

    return fail


def in_a_loop_over_a_generator(error):
    def rows():
        yield np.int32(1)
        raise error

    data = ag.Dataset.from_generator(rows, jnp.int32)

    def fail(x, fails):
        if fails:
            for _ in data:
                x = x + 1

    return fail


WAYS = [while_tracing, at_run_time, in_a_call_of_python, in_a_loop_over_a_generator]


CASES = [
    (way, error, nested)
    for way in WAYS
    for error in (Bad("no"), KeyboardInterrupt())
    for nested in (False, True)
    if way is not at_run_time or isinstance(error, Bad)
]


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize(("way", "error", "nested"), CASES)
def test_nothing_is_written(way, error, nested, first):
    state, fail = State(), way(error)
    inner = ag.function(lambda x, fails: fail(x, fails))

    @ag.function
    def step(x, fails):
        state.update(x)
        inner(x, fails) if nested else fail(x, fails)
        state.total.assign_add(100.0)

    x = jnp.array(-1.0)
    if not first:
        step(x, False)
    before = state.values
    for _ in range(2):
        with pytest.raises(type(error)) as caught:
            step(x, True)
        assert isinstance(caught.value, KeyboardInterrupt) or str(caught.value) == "no"
        assert state.values == before
    step(x, False)
    assert state.values != before


def test_a_variable_made_by_the_call_that_fails():
    class Lazy:
        v = None

        @ag.function
        def __call__(self, x):
            if self.v is None:
                self.v = ag.Variable(jnp.zeros_like(x))
            if x < 0:
                raise Bad("negative")
            return self.v.assign_add(x).value

    lazy = Lazy()
    with pytest.raises(Bad):
        lazy(jnp.array(-1.0))
    assert [float(lazy(jnp.array(2.0))), float(lazy(jnp.array(2.0)))] == [2, 4]


def test_an_interrupt_from_outside_leaves_all_or_nothing():
    a, b = ag.Variable(0), ag.Variable(0)
    started = threading.Event()

    def interrupt():
        started.set()
        _thread.interrupt_main()

    @ag.function
    def step(n):
        a.assign_add(1)
        ag.py_function(interrupt, [], None)
        for i in range(n):
            b.assign_add(i % 2)
        b.assign(a.value)

    # A shell starts what runs in the background with interrupts ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        for k in range(3):
            with pytest.raises(KeyboardInterrupt):
                step(jnp.array(100_000))
                for _ in range(1000):  # it may come when the call is over
                    threading.Event().wait(0.01)
            assert started.is_set() and int(a.value) == int(b.value) <= k + 1
    finally:
        signal.signal(signal.SIGINT, before)


def _raises_while_it_is_traced(weight, x):
    y = weight * x
    raise ValueError(str(y.ndim))


def _raises_at_run_time(weight, x):
    weight.assign_add(x)
    if weight > 100:
        raise ValueError("too large")
    return weight.value


@pytest.mark.parametrize("program", [_raises_while_it_is_traced, _raises_at_run_time])
def test_a_call_that_raised_keeps_no_variable_alive(program):
    def run():
        weight = ag.Variable(1.0)
        f = ag.function(lambda x: program(weight, x))
        for _ in range(2):
            with pytest.raises(ValueError):
                f(jnp.float32(1000.0))
        return weakref.ref(weight), weakref.ref(f)

    gc.collect()
    gc.disable()
    try:
        assert [kept() for kept in run()] == [None, None]
    finally:
        gc.enable()
