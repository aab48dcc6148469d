"""Values whose types meet at a join: Python numbers and arrays, ints and floats, weak and strong."""

import jax.numpy as jnp

from tests.corpus import floats, ints, program


@program(examples=[(3.0,), (-3.0,)])
def python_number_in_one_branch(x):
    if x > 0:
        y = x
    else:
        y = 0.0
    return y


@program(examples=[(3,), (-3,)])
def two_python_numbers(x):
    return 10 if x > 0 else 20


@program(examples=[(3,), (-3,)], widens=True)
def int_or_float(x):
    if x > 0:
        y = 1
    else:
        y = 2.5
    return y


@program(examples=[(3,), (-3,)], widens=True)
def bool_or_int(x):
    return True if x > 0 else 7


@program(examples=[(4,), (0,)], widens=True)
def int_turns_float_in_a_loop(n):
    total = 0
    for _ in range(n):
        total = total + 0.5
    return total


@program(examples=[(4,), (0,)])
def int_stays_int_in_a_loop(n):
    total = 0
    for i in range(n):
        total = total + 2 * i
    return total


@program(examples=[(floats(1, 2, 3),), (floats(),)])
def python_zero_start(xs):
    total = 0.0
    for x in xs:
        total += x
    return total


@program(examples=[(7.0, 3), (7.0, 0)], widens=True)
def two_steps_to_settle(x, n):
    """`a` turns float only after `b` has: types need two rounds to settle."""
    a = b = 0
    for _ in range(n):
        a = a + b
        b = b + x
    return a, b


@program(examples=[(3, 2), (0, 2)], widens=True)
def promotion_in_nested_loops(n, m):
    total = 0
    for _ in range(n):
        for _ in range(m):
            total = total + 0.25
        total = total * 2
    return total


@program(examples=[(ints(1, 2),), (ints(-1, -2),)], widens=True)
def int_array_or_float_array(x):
    if x[0] > 0:
        return x * 2
    return x / 2


@program(examples=[(True,), (False,)])
def equal_python_values_stay_python(flag):
    """Both branches bind 3, so `size` is still a Python int, usable as a shape."""
    if flag:
        size = 3
        x = 1.0
    else:
        size = 3
        x = 2.0
    return jnp.ones(size) * x


@program(examples=[(5, 3), (5, 0)], static=("size",), vmap=False)
def unchanged_python_value_in_a_loop(n, size):
    total = jnp.zeros(size)
    for _ in range(n):
        total = total + jnp.ones(size)
    return total


@program(examples=[(3.0,), (-3.0,)])
def bool_results(x):
    found = False
    if x > 0:
        found = True
    return found


@program(examples=[(5,), (-1,)])
def bool_carried_by_a_loop(n):
    even = True
    while n > 0:
        even = not even
        n -= 1
    return even


@program(examples=[(6, 4), (8, 2), (-7, 2)], widens=True)
def division_kinds(n, d):
    if n % d == 0:
        return n / d
    return n // d


@program(examples=[(3.0,), (-3.0,)])
def numpy_style_constants(x):
    level = jnp.float32(0.0)
    if x > 0:
        level = 1.0
    return level + jnp.int32(2)


@program(examples=[(2, 3.0), (-2, 3.0)], widens=True)
def arguments_of_two_types(n, x):
    if n > 0:
        result = n
    else:
        result = x
    return result


@program(examples=[(3,), (0,)], widens=True)
def scalar_becomes_a_float_mid_loop(n):
    x = 1
    for i in range(n):
        if i == 1:
            x = x / 2
        else:
            x = x + 1
    return x
