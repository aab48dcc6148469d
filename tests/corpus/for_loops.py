"""`for` over arrays, over `range` with Python and with array bounds, over Python iterables."""

import jax.numpy as jnp

from tests.corpus import floats, ints, program


@program(examples=[(floats(1, 2, 3),), (floats(),)], grad=None)
def sum_an_array(xs):
    total = 0.0
    for x in xs:
        total = total + x
    return total


@program(examples=[(floats(1, 2, 3), 0.5), (floats(0, 0, 0), 0.5), (floats(5), 2.0)])
def horner_over_an_array(coefficients, x):
    value = x * 0
    for c in coefficients:
        value = value * x + c
    return value


@program(examples=[(5,), (0,), (1,), (-2,)])
def range_with_array_bound(n):
    total = 0
    for i in range(n):
        total += i * i
    return total


@program(examples=[(2, 6), (6, 2), (3, 3)])
def range_from_to(start, stop):
    total = 100
    for i in range(start, stop):
        total = total * 2 - i
    return total


@program(examples=[(0, 10, 3), (10, 0, -3), (0, 10, -1), (5, 6, 100), (9, -1, -1)])
def range_with_step(start, stop, step):
    total = count = 0
    for i in range(start, stop, step):
        total += i
        count += 1
    return total, count


@program(examples=[(2.0, 3), (2.0, 0)], static=("n",), grad="reverse")
def range_with_python_bound(x, n):
    for i in range(n):
        x = x * 1.5 + i
    return x


@program(examples=[(2.0,), (-2.0,)], grad="reverse")
def index_used_as_python(x):
    """The index of a plain `range` of Python ints may index a Python list."""
    weights = [1.0, 0.5, 0.25]
    total = x * 0
    for i in range(3):
        total += weights[i] * x**i
    return total


@program(examples=[(2.0,), (-2.0,)], grad="reverse")
def over_a_tuple(x):
    for scale in (1.0, 2.0, 3.0):
        if x > 0:
            x = x + scale
        else:
            x = x - scale
    return x


@program(examples=[(floats([1, 2], [3, 4], [5, 6]),), (floats([0, 0], [0, 0], [0, 0]),)])
def over_rows(matrix):
    total = jnp.zeros(2)
    for row in matrix:
        total = total + row * row
    return total


@program(examples=[(floats([1, 2], [3, 4]),), (floats([-1, -2], [-3, -4]),)])
def unpacked_rows(points):
    area = 0.0
    for x, y in points:
        area += x * y
    return area


@program(examples=[(ints(3, 1, 2),), (ints(1, 2, 3),), (ints(-5, -5, -5),)])
def branch_in_the_body(xs):
    largest = xs[0]
    where = 0
    for i in range(len(xs)):
        if xs[i] > largest:
            largest = xs[i]
            where = i
    return largest, where


@program(examples=[(floats(1, 2), floats(3, 4)), (floats(0, 0), floats(0, 0))])
def two_arrays_by_index(xs, ys):
    dot = 0.0
    for i in range(xs.shape[0]):
        dot += xs[i] * ys[i]
    return dot


@program(examples=[(3, 4), (0, 4), (3, 0)])
def loop_in_a_loop(n, m):
    total = 0
    for i in range(n):
        for j in range(m):
            total += i * j + 1
    return total


@program(examples=[(1.0, 4), (1.0, 0)])
def traced_bound_float_state(x, n):
    velocity = 0.0
    for _ in range(n):
        velocity = velocity - 0.1 * x
        x = x + 0.1 * velocity
    return x, velocity


@program(examples=[(floats(1, 2, 3),), (floats(-1, -2, -3),)])
def iterated_array_rebound_in_the_body(xs):
    """The loop goes over the array that `xs` was when the loop began."""
    total = 0.0
    for x in xs:
        xs = xs + 1
        total += x
    return total, xs


@program(examples=[(5,), (0,)])
def bound_rebound_in_the_body(n):
    """`range(n)` is evaluated once."""
    count = 0
    for i in range(n):
        n = n - 2
        count += 1 + 0 * i
    return count, n


@program(examples=[(2.0,), (-1.0,)])
def over_a_dict_of_arrays(x):
    layers = {"first": 2.0, "second": 0.5}
    for name in layers:
        if x > 0:
            x = x * layers[name]
        else:
            x = x + len(name)
    return x


@program(examples=[(floats(1, 2, 3),), (floats(3, 2, 1),)])
def enumerate_python_list(xs):
    a, b, c = xs
    total = 0.0
    for i, value in enumerate([a, b, c]):
        if value > 1.5:
            total += i * value
    return total
