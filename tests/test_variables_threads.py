"""Variables in calls from many threads: each call reads and writes them as if it ran alone."""

import sys
import threading
import time

import jax.numpy as jnp

import autograph as ag
from autograph.runtime.function.program_state import State
from autograph.runtime.state.commits import COMMITS


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


def test_calls_without_locks_beside_those_with_them():
    """Calls, plain assignments, a program that waits for Python, and a generator: all read, then write, in any order."""
    v, w, u = ag.Variable(0), ag.Variable(0), ag.Variable(0)
    generator = ag.random.Generator.from_seed(0)
    drawn = []

    @ag.function
    def both():
        v.assign_add(1)
        w.assign_add(1)

    @ag.function
    def others():
        w.assign_add(1)
        u.assign(u + 1)

    @ag.function
    def waits():
        ag.py_function(lambda: None, [], [])
        u.assign_add(1)

    draw = ag.function(lambda: generator.uniform((4,)))
    work = {both: 300, others: 300, waits: 20, (lambda: v.assign_add(1)): 60, (lambda: u.assign_sub(1)): 60}
    work |= {(lambda: drawn.append(tuple(draw().tolist()))): 100}
    work |= {(lambda: drawn.append(tuple(generator.uniform((4,)).tolist()))): 100}
    for step in (both, others, waits, draw):
        step()

    def run(step, times):
        for _ in range(times):
            step()

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=run, args=each) for each in [*work.items()] * 2]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert int(v) == 1 + 2 * (300 + 60) and int(w) == 2 + 2 * (300 + 300) and int(u) == 2 + 2 * (300 + 20 - 60)
    assert len(set(drawn)) == len(drawn) == 400
    assert COMMITS.busy == COMMITS.give_arrays_away
