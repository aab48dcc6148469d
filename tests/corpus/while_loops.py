"""`while`: what is carried, what is not, and tests that begin as Python values."""

import jax.numpy as jnp

from tests.corpus import floats, program


@program(examples=[(10.0,), (1.0,), (0.5,)], grad="forward")
def halve(x):
    count = 0
    while x > 1:
        x = x / 2
        count += 1
    return x, count


@program(examples=[(5,), (0,), (-1,)])
def sum_below(n):
    i = total = 0
    while i < n:
        total += i
        i += 1
    return total


@program(examples=[(100.0, 50), (100.0, 2), (1.0, 50)])
def compound_test(x, limit):
    steps = 0
    while x > 2 and steps < limit:
        x = jnp.sqrt(x)
        steps += 1
    return x, steps


@program(examples=[(3.0,), (1e-3,), (50.0,)], grad="forward")
def test_starts_as_a_python_bool(x):
    """`error` is a Python float at the first test and traced at the second."""
    error = float("inf")
    while error > 1e-3:
        update = 0.5 * (x + 1.0)
        error = abs(update - x)
        x = update
    return x


@program(examples=[(3.0,), (300.0,)])
def flag_variable(x):
    done = False
    rounds = 0
    while not done:
        x = x * 2
        rounds += 1
        done = x > 100
    return x, rounds


@program(examples=[(floats(8, 1, 3),), (floats(0.5, 0.5, 0.5),)], grad=None)
def array_state(x):
    while jnp.max(x) > 1:
        x = jnp.where(x > 1, x / 2, x)
    return x


@program(examples=[(5.0,), (-5.0,)])
def temporaries_are_not_carried(x):
    """`delta` and `label` live for one iteration; `label` is no array."""
    while x > 0:
        delta = x / 3 + 0.5
        label = "step"
        x = x - delta * len(label) / 4
    return x


@program(examples=[(6,), (0,), (1,)])
def parallel_update(n):
    a, b = 0, 1
    while n > 0:
        a, b = b, a + b
        n -= 1
    return a, b


@program(examples=[(3.0,), (30.0,)])
def reads_what_it_does_not_write(x):
    step = x / 4
    position = x * 0
    while position + step <= x:
        position = position + step
    return position


@program(examples=[(4,), (0,)])
def two_loops_in_a_row(n):
    up = 0
    while up < n:
        up += 1
    down = up * 2
    while down > n:
        down -= 3
    return up, down


@program(examples=[(2.0,), (20.0,), (0.0,)])
def branch_in_the_body(x):
    rises = 0
    for_safety = 0
    while x < 100 and for_safety < 30:
        if x < 10:
            x = x + 7
            rises += 1
        else:
            x = x * 1.7
        for_safety += 1
    return x, rises


@program(examples=[(10, 3), (2, 3), (0, 3)])
def test_calls_a_helper(n, divisor):
    def can_divide(value):
        return value >= divisor

    quotient = 0
    while can_divide(n):
        n -= divisor
        quotient += 1
    return quotient, n


@program(examples=[(5.0, 3), (5.0, 0)], static=("rounds",), grad="reverse")
def python_counter_stays_python(x, rounds):
    """The test never meets a traced value, so the loop runs in Python and `powers` stays a list."""
    powers = []
    while rounds > 0:
        x = x * 0.5
        powers.append(x)
        rounds -= 1
    return x + sum(powers)


@program(examples=[(17.0,), (1.0,)])
def state_replaced_without_being_read(x):
    last = x
    count = 0
    while x > 1:
        last = x * 10
        x = x - 3
        count = count + 1
    return last, count
