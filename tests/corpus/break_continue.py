"""`break` and `continue`, on the first, a middle, the last and no iteration."""

import jax.numpy as jnp

from tests.corpus import floats, ints, program


@program(examples=[(0.5, 1e-4), (100.0, 1e-4), (3.0, 10.0), (1e9, 1e-30)], grad="forward")
def break_at_the_end_of_a_bounded_loop(x, tolerance):
    guess = x
    for _ in range(30):
        step = (guess * guess - x) / (2 * guess)
        guess = guess - step
        if abs(step) < tolerance:
            break
    return guess


@program(examples=[(1.0, 1), (1.0, 4), (1.0, 5), (1.0, 99)])
def break_at_the_top(x, stop):
    count = 0
    for i in range(5):
        if i == stop:
            break
        x = x * 2
        count += 1
    return x, count


@program(examples=[(1.0, 0), (1.0, 2), (1.0, 4), (1.0, 99)])
def break_in_the_middle(x, stop):
    before = after = 0
    for i in range(5):
        before += i
        x = x * 2
        if i == stop:
            break
        after += i
        x = x - 1
    return x, before, after


@program(examples=[(3,), (0,), (100,)])
def while_true_with_break(n):
    k = 0
    while True:
        if k * k >= n:
            break
        k += 1
    return k


@program(examples=[(3.0,), (0.1,), (1000.0,)], grad="forward")
def while_true_break_last(x):
    while True:
        x = x / 2
        if x < 1:
            break
    return x


@program(examples=[(floats(1, -2, 3),), (floats(-1, -2, -3),), (floats(1, 2, 3),), (floats(),)])
def continue_skips(xs):
    total = 0.0
    for x in xs:
        if x < 0:
            continue
        total += x
    return total


@program(examples=[(10,), (0,), (1,), (7,)])
def continue_in_while(n):
    odd_sum = 0
    i = 0
    while i < n:
        i += 1
        if i % 2 == 0:
            continue
        odd_sum += i
    return odd_sum


@program(examples=[(ints(4, 0, 3, 9, 1),), (ints(0, 0, 0, 0, 0),), (ints(9, 1, 1, 1, 1),), (ints(1, 1, 1, 1, 9),)])
def break_and_continue(xs):
    total = visited = 0
    for x in xs:
        visited += 1
        if x == 0:
            continue
        if x > 8:
            break
        total += x
    return total, visited


@program(examples=[(4, 3), (4, 0), (0, 3), (6, 100)])
def break_inner_loop_only(n, limit):
    total = 0
    for i in range(n):
        for j in range(n):
            if i * j > limit:
                break
            total += 1
        total += 10
    return total


@program(examples=[(5, 20), (5, 0), (5, 10**6), (0, 5)])
def break_both_loops(n, limit):
    total = 0
    for i in range(n):
        for j in range(n):
            total += i + j
            if total > limit:
                break
        if total > limit:
            break
        total += 1
    return total


@program(examples=[(1.0,), (40.0,), (-1.0,), (0.001,)])
def two_breaks(x):
    reason = 0
    for _ in range(12):
        if x > 30:
            reason = 1
            break
        x = x * 1.5
        if x < 0:
            reason = 2
            break
    return x, reason


@program(examples=[(10, 3), (10, 30), (0, 3), (3, 2)])
def break_under_nested_branches(n, limit):
    total = 0
    i = 0
    while i < n:
        if i % 2 == 0:
            total += i
            if total > limit:
                total = -total
                break
            else:
                total += 1
        else:
            total += 2
        i += 1
    return total, i


@program(examples=[(ints(1, 2, 3, 4),), (ints(2, 4, 6, 8),), (ints(1, 3, 5, 7),)])
def continue_under_nested_branches(xs):
    small = large = other = 0
    for x in xs:
        if x % 2 == 0:
            if x > 3:
                large += x
                continue
            small += x
        else:
            other += 1
            if x > 4:
                continue
            other += 10
        small += 100
    return small, large, other


@program(examples=[(floats(5, 3, 8), 3.0), (floats(3, 5, 8), 3.0), (floats(5, 8, 3), 3.0), (floats(5, 8, 9), 3.0)])
def value_set_before_break(xs, wanted):
    position = -1
    for i in range(3):
        if xs[i] == wanted:
            position = i
            break
    return position


@program(examples=[(3.0,), (-3.0,), (0.0,)])
def break_in_else(x):
    count = 0
    while count < 6:
        if x > 0:
            x = x - 1
            count += 1
        else:
            count += 100
            break
    return x, count


@program(examples=[(9, 2), (9, 0), (0, 2)])
def continue_in_inner_loop(n, skip):
    total = 0
    for i in range(n):
        if i == skip:
            continue
        for j in range(3):
            if j == skip:
                continue
            total += i * j
        total += 1
    return total


@program(examples=[(floats([1, 2], [3, 4]),), (floats([-1, 2], [3, 4]),), (floats([1, 2], [-3, 4]),)])
def break_over_rows(matrix):
    total = jnp.zeros(2)
    for row in matrix:
        if jnp.any(row < 0):
            break
        total = total + row
    return total


@program(examples=[(3.0, True), (3.0, False), (-3.0, True)], static=("stop",))
def break_on_a_python_flag(x, stop):
    for i in range(4):
        x = x + i
        if stop:
            break
    if x > 0:
        x = -x
    return x


@program(examples=[(2.0,), (200.0,), (20.0,)])
def break_with_work_in_both_arms(x):
    rounds = 0
    while True:
        rounds += 1
        if x > 100:
            x = x - 100
            break
        else:
            x = x * x
    return x, rounds
