"""Branches in loops in branches, to depth four."""

import jax.numpy as jnp

from tests.corpus import floats, ints, program


@program(examples=[(3.0, 4), (-3.0, 4), (3.0, 0), (0.0, 2)])
def loop_in_each_branch(x, n):
    if x > 0:
        for i in range(n):
            x = x + i
    else:
        while x > -10:
            x = x - abs(x) - 1
    return x


# `jax.vmap` runs both branches for every lane, and in the branch that 3.0 does not take the loop never ends.
@program(examples=[(3.0,), (-3.0,)], vmap=False)
def loop_that_ends_in_its_own_branch_only(x):
    if x < 0:
        while x > -10:
            x = x * 2 - 1
    return x


@program(examples=[(5,), (0,), (9,)])
def branch_in_loop_in_branch(n):
    total = 0
    if n > 3:
        for i in range(n):
            if i % 2 == 0:
                total += i
            else:
                total -= 1
    else:
        total = -n
    return total


@program(examples=[(3,), (0,), (1,)])
def three_loops(n):
    total = 0
    for i in range(n):
        for j in range(i + 1):
            k = 0
            while k < j:
                total += i * j + k
                k += 1
    return total


@program(examples=[(2, 3), (0, 3), (3, 0), (3, 3)])
def inner_bound_from_outer_state(n, start):
    bound = start
    total = 0
    for i in range(n):
        for j in range(bound):
            total += j
        bound = (bound * 2 + i) % 5
    return total, bound


@program(examples=[(4, 3, 2), (1, 1, 1), (0, 2, 2), (4, 0, 2)])
def four_levels(a, b, c):
    total = 0
    for i in range(a):
        if i != 2:
            j = 0
            while j < b:
                if (i + j) % 2 == 0:
                    for k in range(c):
                        if k == 1:
                            continue
                        total += i + j + k
                else:
                    total += 100
                j += 1
    return total


@program(examples=[(6, 4), (6, 0), (0, 1)])
def inner_break_sets_outer_state(n, limit):
    hits = misses = 0
    for i in range(n):
        j = 0
        while True:
            if j * j > i:
                misses += 1
                break
            if j == limit:
                hits += 1
                break
            j += 1
    return hits, misses


@program(examples=[(floats([1, -2, 3], [-1, 5, 6]),), (floats([0, 0, 0], [0, 0, 0]),)])
def rows_then_elements(matrix):
    total = 0.0
    largest = matrix[0, 0]
    for row in matrix:
        for x in row:
            if x < 0:
                continue
            total += x
            if x > largest:
                largest = x
    return total, largest


@program(examples=[(2.0,), (50.0,), (-1.0,)])
def while_in_while(x):
    outer = inner = 0
    while x > 1:
        y = x
        while y > 1:
            y = y / 3
            inner += 1
        x = x / 2 - y / 10
        outer += 1
    return x, outer, inner


@program(examples=[(ints(3, 1, 2), 2), (ints(0, 0, 0), 2), (ints(5, 5, 5), 9)])
def python_loop_around_a_traced_loop(counts, step):
    total = 0
    for position in range(3):
        for _ in range(counts[position]):
            total += step + position
    return total


@program(examples=[(ints(1, 2), 4), (ints(9, 9), 0)])
def traced_loop_around_a_python_loop(offsets, n):
    total = 0
    for i in range(n):
        for position in range(2):
            if i > offsets[position]:
                total += position + 1
    return total


@program(examples=[(8.0, 1.0), (3.0, 1.0), (1.0, 3.0), (8.0, -1.0), (-8.0, 1.0), (-8.0, -1.0)])
def branches_to_depth_four(x, y):
    if x > 0:
        if y > 0:
            if x > y:
                if x > 5:
                    z = x + y
                else:
                    z = x
            else:
                z = y
        else:
            z = x - y
    elif y > 0:
        z = y * 2
    else:
        z = x * y
    return jnp.abs(z)
