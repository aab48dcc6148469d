"""Calls of one function from many threads, while it is traced."""

import threading
import time

import jax.numpy as jnp
import pytest

import autograph as ag
from autograph.runtime.function.function import Function
from autograph.runtime.function.program_state import State

pytestmark = pytest.mark.filterwarnings("ignore:(?s).*was traced 6 times")


def test_first_calls_from_many_threads_make_one_trace():
    count = []

    def slow(x, n):
        count.append(n)  # a captured value, which the other threads look at while this one traces
        time.sleep(0.2)
        return x * n

    f = ag.function(slow)
    barrier = threading.Barrier(32)
    results = []

    def call(number):
        barrier.wait()
        time.sleep(number * 0.01)
        if number % 4 == 3:
            f.get_concrete_function(jnp.ones(()), 3)
        results.append(float(f(jnp.ones(()), 3)))

    threads = [threading.Thread(target=call, args=(number,)) for number in range(32)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [3.0] * 32 and len(count) == 1 == f.experimental_get_tracing_count()


def _traces_of_two_threads(monkeypatch, owner, name, before=0.0, after=0.0):
    """How often a function that appends to a captured list is traced by two threads' first calls, with pauses around one step."""
    step, count, results = getattr(owner, name), [], []

    def paused(*args):
        time.sleep(before)
        result = step(*args)
        time.sleep(after)
        return result

    def slow(x, n):
        time.sleep(0.3)
        count.append(n)
        return x * n

    f = ag.function(slow)
    monkeypatch.setattr(owner, name, paused)

    def call(pause, ask):
        time.sleep(pause)
        ask(jnp.ones(()), 3)
        results.append(float(f(jnp.ones(()), 3)))

    for ask in (f, f.get_concrete_function):
        count.clear()
        f.clear_cache()
        threads = [threading.Thread(target=call, args=(0.0, f)), threading.Thread(target=call, args=(0.1, ask))]
        threads.append(threading.Thread(target=call, args=(0.4, ask)))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert not any(thread.is_alive() for thread in threads)
        assert len(count) == f.experimental_get_tracing_count()
        yield len(count)
    assert results == [3.0] * 6


def test_a_call_waits_until_what_a_trace_has_changed_is_settled(monkeypatch):
    # The third call finds the list changed, and the trace at an end that has not said so.
    assert list(_traces_of_two_threads(monkeypatch, Function, "_note", before=0.4)) == [1, 1]


def test_a_trace_is_not_settled_between_two_steps_of_a_call(monkeypatch):
    # The second call has looked at the list before the trace changes it, and finds its program after.
    assert list(_traces_of_two_threads(monkeypatch, Function, "_split", after=0.4)) == [1, 1]


def test_state_is_published_when_it_can_be_called(monkeypatch):
    v = ag.Variable(0.0)
    f = ag.function(lambda x: v.assign_add(x))
    make = State.function

    def slow(self, arrays):
        made = make(self, arrays)
        time.sleep(0.3)
        return made

    monkeypatch.setattr(State, "function", slow)
    failed = []

    def call(pause):
        time.sleep(pause)
        try:
            f(jnp.ones(()))
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=call, args=(0.05 * number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert not failed and float(v) == 12 and f.experimental_get_tracing_count() == 1


def test_many_threads_many_signatures():
    f = ag.function(lambda x, n: x * n)
    wrong = []

    def call(k):
        for n in range(40):
            if float(f(jnp.ones(()), (n + k) % 10)) != (n + k) % 10:
                wrong.append(n)

    threads = [threading.Thread(target=call, args=(k,)) for k in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and f.experimental_get_tracing_count() == 10
