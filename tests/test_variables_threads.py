"""Variables in calls from many threads: each call reads and writes them as if it ran alone."""

import threading
import time

import jax.numpy as jnp

import autograph as ag
from autograph.runtime.function.program_state import State


def test_many_threads_lose_nothing():
    a, b = ag.Variable(0), ag.Variable(0)

    @ag.function
    def step(x):
        a.assign_add(x)
        b.assign(a * 2)
        return a, b

    @ag.function
    def swap_order(x):
        b.assign_add(x)
        a.assign_add(x)

    pairs = []

    def work():
        for _ in range(1000):
            one, two = step(jnp.array(1))
            pairs.append(int(two) - 2 * int(one))

    run_all([work] * 32)
    assert int(a) == 32_000 and int(b) == 64_000 and set(pairs) == {0}
    assert step.experimental_get_tracing_count() == 1
    run_all(
        [
            lambda: [step(jnp.array(1)) for _ in range(200)],
            lambda: [swap_order(jnp.array(1)) for _ in range(200)],
        ]
        * 4
    )
    assert int(a) == 32_000 + 8 * 200


def test_first_calls_from_many_threads_make_one_trace():
    v = ag.Variable(0)

    @ag.function
    def f(x):
        threading.Event().wait(0.05)
        if x > 0:
            v.assign_add(1)
        return v

    run_all([lambda: f(jnp.array(1))] * 16)
    assert f.experimental_get_tracing_count() == 1 and int(v) == 16


def test_calls_while_the_first_writes_how_variables_are_passed(monkeypatch):
    function = State.function

    def slow(self, count):
        time.sleep(0.2)
        return function(self, count)

    monkeypatch.setattr(State, "function", slow)
    v = ag.Variable(0)
    step = ag.function(lambda x: v.assign_add(x))

    def call(number):
        time.sleep(number * 0.02)
        step(jnp.array(1))

    run_all([lambda number=number: call(number) for number in range(32)])
    assert int(v) == 32


def test_created_by_one_of_many_threads():
    class Count:
        v = None

        @ag.function
        def __call__(self, x):
            if self.v is None:
                threading.Event().wait(0.05)
                self.v = ag.Variable(jnp.zeros_like(x))
            self.v.assign_add(x)

    count = Count()
    run_all([lambda: count(jnp.array(1))] * 16)
    assert int(count.v) == 16


def test_plain_updates_from_many_threads():
    v = ag.Variable(0)
    add = ag.function(lambda: v.assign_add(1))
    run_all([lambda: [v.assign_add(1) for _ in range(100)], lambda: [add() for _ in range(100)]] * 4)
    assert int(v) == 800


def test_calls_that_read_what_others_write_act_one_after_the_other():
    left, right = ag.Variable(0), ag.Variable(0)

    def slow(amount):  # leaves the other threads time, between the call's reading and its writing
        for _ in range(20_000):
            amount = amount * 3 % 7
        return amount * 0

    @ag.function
    def take_left(zero):
        if left + right > 0:
            left.assign_sub(1 + slow(zero))

    @ag.function
    def take_right(zero):
        if left + right > 0:
            right.assign_sub(1 + slow(zero))

    def take(function):
        barrier.wait()
        function(zero)

    zero = jnp.array(0)
    take_left(zero), take_right(zero)
    barrier = threading.Barrier(4)
    for _ in range(25):
        left.assign(1), right.assign(0)
        run_all([lambda: take(take_left), lambda: take(take_right)] * 2)
        assert int(left) + int(right) == 0


def run_all(tasks):
    errors = []

    def guarded(task):
        try:
            task()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(task,)) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
