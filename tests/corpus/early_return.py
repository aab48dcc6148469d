"""`return` before the end: in branches, in loops, in loops in loops."""

import jax.numpy as jnp

from tests.corpus import floats, ints, program


@program(examples=[(3.0,), (-3.0,)], grad="reverse")
def guard(x):
    if x < 0:
        return -x
    return x * 2


@program(examples=[(0.5,), (1.5,), (2.5,), (9.0,)], grad="reverse")
def tariff(weight):
    if weight < 1:
        return 2.0 * weight
    if weight < 2:
        return 3.0 * weight
    if weight < 3:
        surcharge = weight - 2
        return 4.0 * weight + surcharge
    return 5.0 * weight


@program(examples=[(2.0,), (-2.0,)])
def return_in_else_only(x):
    if x > 0:
        y = x * 3
    else:
        return x
    y = y + 1
    return y


@program(examples=[(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)])
def returns_in_nested_branches(x, y):
    if x > 0:
        if y > 0:
            return x + y
        z = x * 10
    else:
        z = y * 100
        if y > 0:
            return z - 1
    z = z + 5
    return z


@program(examples=[(3.0, 1.0), (1.0, 3.0), (2.0, 2.0)])
def every_branch_returns(a, b):
    if a > b:
        return a, b
    elif a < b:
        return b, a
    else:
        return a * 0, b * 0


@program(examples=[(floats(1, 5, 9), 0.0), (floats(1, 5, 9), 6.0), (floats(1, 5, 9), 10.0), (floats(), 1.0)])
def first_above(xs, limit):
    for x in xs:
        if x > limit:
            return x
    return limit * 0 - 1


@program(examples=[(2.0, 100.0), (2.0, 1.0), (0.0, 100.0)])
def return_from_while(x, limit):
    steps = 0
    while steps < 20:
        if x > limit:
            return steps
        x = x * 2
        steps += 1
    return -1


@program(examples=[(27,), (1,), (2,)])
def return_is_the_only_exit(n):
    """`while True` left by `return` alone: there is no value after the loop."""
    steps = 0
    while True:
        if n == 1:
            return steps
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1


@program(examples=[(4.0,), (1.0,), (10.0,)])
def nothing_after_a_for(x):
    """Every example returns from within the loop, so no path of these yields None."""
    for i in range(10):
        x = x / 2
        if x < 1:
            return x + i


@program(
    examples=[
        (ints(1, 2, 3, 4), 3),
        (ints(1, 2, 3, 4), 7),
        (ints(1, 2, 3, 4), 5),
        (ints(1, 2, 3, 4), 50),
    ]
)
def return_from_inner_loop(xs, target):
    for i in range(len(xs)):
        for j in range(i + 1, len(xs)):
            if xs[i] + xs[j] == target:
                return i, j
    return -1, -1


@program(examples=[(5, 5), (5, 13), (4, 1000), (0, 1), (1, 1)])
def return_from_third_level(n, target):
    checked = 0
    for a in range(n):
        for b in range(a, n):
            c = b
            while c * c <= a * a + b * b:
                checked += 1
                if a * 7 + b * 2 + c == target:
                    return checked
                c += 1
    return -checked


@program(examples=[(floats(1, 2, 3),), (floats(1, -1, 3),), (floats(1, 200, 3),), (floats(-1, 2, 3),)])
def return_and_break_in_one_loop(xs):
    total = xs[0] * 0
    for x in xs:
        if x < 0:
            return total - 1000
        if x > 100:
            break
        total += x
    return total


@program(examples=[(0,), (-3,), (1,), (5,)])
def guard_before_a_loop(n):
    if n <= 0:
        return 0
    product = 1
    while n > 1:
        product *= n
        n -= 1
    return product


@program(examples=[(floats(3, 0, 2),), (floats(0, 0, 0),), (floats(-3, 1, 1),), (floats(0, 0, -7),)])
def return_beside_continue(xs):
    seen = 0
    for x in xs:
        if x == 0:
            continue
        seen += 1
        if x < 0:
            return seen * 100
        else:
            seen += 10
    return seen


@program(examples=[(3.0,), (30.0,), (-3.0,)])
def return_a_dict(x):
    if x > 10:
        return {"kind": 2, "value": x}
    if x > 0:
        return {"kind": 1, "value": x * 2}
    return {"kind": 0, "value": jnp.zeros_like(x)}


@program(examples=[(1.0,), (5.0,), (50.0,)])
def return_after_the_loop_in_a_branch(x):
    count = 0
    while x < 20:
        x = x * 3
        count += 1
    if count == 0:
        return x
    x = x - 1
    if count > 2:
        return x * 10
    return x * 100


@program(examples=[(6, 3), (6, 60), (0, 1), (3, 0), (6, 5), (5, 2)])
def return_in_both_loops(n, limit):
    total = 0
    for i in range(n):
        for j in range(i):
            total += j
            if total > limit:
                return total
        if total == limit:
            return -1
        total += 1
    return total * 1000
