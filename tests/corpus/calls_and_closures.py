"""Functions that call functions: helpers, closures, lambdas, recursion, keyword arguments, partials."""

import functools

import jax.numpy as jnp

from tests.corpus import floats, program

SCALE = 3.0


def clamp(x, low=0.0, high=1.0):
    if x < low:
        return low + 0 * x
    if x > high:
        return high + 0 * x
    return x


def count_halvings(x):
    count = 0
    while x > 1:
        x = x / 2
        count += 1
    return count


def apply_twice(f, x):
    return f(f(x))


@program(examples=[(0.5,), (-1.0,), (2.0,)], grad="reverse")
def helper_with_branches(x):
    return clamp(x) + clamp(x, high=5.0) * 2


@program(examples=[(10.0,), (0.5,)])
def helper_with_a_loop(x):
    return count_halvings(x) + count_halvings(x * 8)


@program(examples=[(2.0, 3), (2.0, 0), (-20.0, 3)])
def helper_called_in_a_loop(x, n):
    total = 0.0
    for i in range(n):
        total += clamp(x - i, -1.0, 1.5)
    return total


@program(examples=[(2.0,), (-2.0,)], grad="reverse")
def inner_function(x):
    def leaky(value):
        if value > 0:
            return value
        return 0.1 * value

    return leaky(x) + leaky(-x) * 2


@program(examples=[(2.0, 5.0), (7.0, 5.0)])
def inner_function_reads_a_later_value(x, limit):
    def limited(value):
        return value if value < limit else limit

    first = limited(x)
    limit = limit / 2
    return first, limited(x)


@program(examples=[(2.0,), (-2.0,)], grad="reverse")
def lambda_with_a_conditional(x):
    absolute = lambda value: value if value > 0 else -value  # noqa: E731
    return absolute(x) + absolute(x - 3)


@program(examples=[(2.0,), (-2.0,)])
def two_lambdas_on_one_line(x):
    up, down = (lambda v: v + 1 if v > 0 else v), (lambda v: v - 1 if v > 0 else v * 2)
    return up(x), down(x)


@program(examples=[(0.9,), (-0.5,), (4.0,)])
def function_as_argument(x):
    return apply_twice(clamp, x * 2) + apply_twice(lambda v: v * 2 if v < 1 else v, x)


@program(examples=[(3.0, 2.0), (1.0, 2.0)])
def partial_application(x, limit):
    capped = functools.partial(clamp, high=limit)
    return capped(x) + functools.partial(clamp, low=limit, high=10.0)(x)


@program(examples=[(2.0, 5), (2.0, 0), (2.0, 1)], static=("n",))
def recursion_on_a_python_int(x, n):
    if n == 0:
        return x * 0 + 1
    half = recursion_on_a_python_int(x, n // 2)
    squared = half * half
    if n % 2:
        squared = squared * x
    return squared if squared < 20 else squared / 2


@program(examples=[(1.0, 2.0, 3.0), (3.0, 2.0, 1.0)])
def variadic(x, y, z):
    def largest(*values, offset=0.0):
        best = values[0]
        for value in values[1:]:
            if value > best:
                best = value
        return best + offset

    parts = [x, y, z]
    return largest(*parts), largest(x, y, **{"offset": z})


@program(examples=[(2.0,), (-2.0,)])
def reads_a_global(x):
    if x > 0:
        return x * SCALE
    return x / SCALE


@program(examples=[(2.0,), (4.0,)])
def function_made_in_a_factory(x):
    def power(n):
        def raised(value):
            result = value * 0 + 1
            for _ in range(n):
                if result < 10:
                    result = result * value
            return result

        return raised

    square, cube = power(2), power(3)
    return square(x), cube(x)


@program(examples=[(0.0, 4), (0.0, 0)])
def closure_called_from_a_traced_loop(x, n):
    rate = 0.25

    def derivative(value):
        return 1.0 - value if value < 0.6 else rate * value

    for _ in range(n):
        x = x + rate * derivative(x)
    return x


@program(examples=[(floats(1, 2, 3),), (floats(3, 2, 1),)])
def results_unpacked(xs):
    def extremes(values):
        low = high = values[0]
        for value in values:
            if value < low:
                low = value
            if value > high:
                high = value
        return low, high

    low, high = extremes(xs)
    (a, b), c = extremes(xs * 2), low + high
    return high - low, a, b, c


@program(examples=[(0.3, 0.7), (0.7, 0.3)])
def sort_key_of_python_values(x, y):
    """A lambda that only meets Python values, beside one that meets arrays."""
    names = sorted(["bb", "a", "ccc"], key=lambda name: -len(name))
    pick = lambda left, right: left if left > right else right  # noqa: E731
    return pick(x, y) * len(names[0])


@program(examples=[(2.0,), (-2.0,), (0.5,)])
def mutual_calls(x):
    def even_part(value, depth):
        if depth == 0:
            return value
        return odd_part(value + 1 if value > 0 else value - 1, depth - 1)

    def odd_part(value, depth):
        if depth == 0:
            return -value
        return even_part(jnp.abs(value), depth - 1)

    return even_part(x, 3), odd_part(x, 2), even_part(x, 2)
