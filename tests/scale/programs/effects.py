"""Random numbers, exceptions, prints and calls of Python."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

import autograph as ag
from tests.scale.programs.arrays import ROWS
from tests.scale.world import World, program, refused


def outcome(call, *args):
    """What a call gives, or the exception that it raises."""
    try:
        return call(*args)
    except Exception as error:
        return type(error).__name__, str(error)


@program
def random_numbers(world: World):
    """The stream is the same whatever the mesh."""
    generator = ag.random.Generator.from_seed(7)

    @ag.function
    def noisy(x):
        while x.sum() < 100:
            x = x + generator.uniform(x.shape)
        return x, generator.normal((2,))

    x = world.array(ROWS, "data")
    return noisy(x), noisy(x), generator.state.value


@program
def random_dropout(world: World):
    ag.random.set_seed(3)

    @ag.function
    def dropped(x):
        for _ in ag.range(4):
            keep = ag.random.bernoulli(0.7, x.shape)
            x = jnp.where(keep, x / 0.7, 0.0)
        return x

    return dropped(world.array(ROWS, "data")), ag.random.permutation(10)


@program
def raise_at_run_time(world: World):
    """All processes raise, and go on."""

    @ag.function
    def step(x, limit):
        x = x * 2
        if x.max() > limit:
            raise ValueError(f"too large: {x.max()}")
        return x.sum()

    x = world.array(ROWS, "data")
    return outcome(step, x, 10.0), outcome(step, x, 50.0), outcome(step, x, 5.0)


@program
def variables_after_a_raise(world: World):
    """They keep the values of before the call, donated or not."""
    found = []
    for donate in (False, True):
        v = ag.Variable(ROWS, sharding=world.sharding("data"))
        calls = ag.Variable(0)

        @ag.function(donate_variables=donate)
        def step(x, v=v, calls=calls):
            v.assign_add(x)
            calls.assign_add(1)
            if v.value.max() > 15:
                raise ValueError("too large")
            return v.value.sum()

        x = world.array(ROWS, "data")
        messages = [outcome(step, x) for _ in range(3)]
        assert [type(message) is tuple for message in messages] == [False, True, True], messages
        if not ag.functions_run_eagerly():
            assert int(calls.value) == 1
            found.append(v.value)
        else:  # Python keeps what was done before the exception
            found.append(jnp.asarray(2 * ROWS))
    return found


@program
def raise_in_a_loop_with_sharded_values_in_the_message(world: World):
    @ag.function
    def step(x):
        while True:
            x = x * 1.5
            if x.sum() > 300:
                raise ArithmeticError("diverged", x[:, 0])
            if x.sum() < 0:
                break
        return x

    def arguments(x):
        try:
            return step(x)
        except ArithmeticError as error:
            return error.args[1:]

    return arguments(world.array(ROWS, "data")), arguments(world.array(-ROWS, "data"))


@program
def assert_at_run_time(world: World):
    @ag.function
    def f(x):
        for row in x:
            assert row.sum() < 15, "row too large"
        return x.sum()

    return outcome(f, world.array(ROWS, "data")), outcome(f, world.array(ROWS / 2, "data"))


@program
def raise_of_pythons_own(world: World):
    @ag.function
    def f(x):
        names = {"a": 1.0}
        if x.max() > 3:
            return x.sum() * names["b"]
        return x.sum() * names["a"]

    return outcome(f, world.array(ROWS, "data")), outcome(f, world.array(ROWS / 9, "data"))


@program
def prints(world: World):
    @ag.function
    def f(x):
        i = 0
        while x.max() > 2:
            print("largest", x.max(), i)
            x = x / 2
            i += 1
        ag.print("first rows", x[:2])
        return x

    f(world.array(ROWS, "data"))
    return f(world.array(ROWS * 2, "data"))


@program
def call_of_python(world: World):
    @ag.function
    def f(x):
        total = 0.0
        for row in x:
            total = total + ag.py_function(lambda r: np.asarray(r).sum() * 2, [row], jnp.float32)
        return total

    return f(world.array(ROWS, "data"))


@program
def exception_in_a_call_of_python(world: World):
    """It reaches the caller in each process, what comes after it does not happen, and the next call is as if nothing had been."""
    total, calls = ag.Variable(0.0), []

    def checked(value):
        calls.append(value)
        if value > 100:
            raise KeyError("too large")
        return value

    @ag.function
    def f(x):
        total.assign_add(1.0)
        y = ag.py_function(checked, [x.sum()], jnp.float32)
        while ag.py_function(checked, [y], jnp.float32) > 1:
            y = y / 2
        return y + x.sum()

    def outcome(x):
        before = len(calls)
        try:
            result = float(f(x))
        except (KeyError, RuntimeError) as error:  # the latter in a process that did not call Python
            is_known = type(error) is KeyError or "raised an exception in process 0" in str(error)
            result = -1.0 if is_known else 0.0
        return result, len(calls) - before

    outcomes = [outcome(world.array(ROWS * factor, "data")) for factor in (0.5, 100, 0.5)]
    (first, of_first), (failed, of_failed), (again, of_again) = outcomes
    assert of_failed <= 1 and of_first == of_again
    assert float(total) == (3 if ag.functions_run_eagerly() else 2)  # Python keeps what was done before the exception
    return {"first": first, "failed": failed, "again": again}


@refused("Python is called in one process of this job's then, not in all", ("processes",))
def write_to_an_outside_list_at_run_time(world: World):
    log = []

    @ag.function
    def f(x):
        if x.max() > 3:
            log.append(1)
        return x.sum()

    f(world.array(ROWS, "data"))
    f(world.array(ROWS / 9, "data"))
    f(world.array(ROWS * 2, "data"))
    return len(log)
