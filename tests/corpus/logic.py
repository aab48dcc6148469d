"""`and`, `or`, `not`, chained comparison, conditional expressions."""

import jax.numpy as jnp

from tests.corpus import bools, floats, ints, program


@program(examples=[(1.0, 2.0), (-1.0, 2.0), (1.0, -2.0), (-1.0, -2.0)])
def and_in_a_test(a, b):
    if a > 0 and b > 0:
        return a + b
    return a - b


@program(examples=[(1.0, 2.0), (-1.0, 2.0), (1.0, -2.0), (-1.0, -2.0)])
def or_in_a_test(a, b):
    if a > 0 or b > 0:
        return a + b
    return a - b


@program(examples=[(True, True), (True, False), (False, True), (False, False)])
def boolean_values(p, q):
    return p and q, p or q, not p, not (p and not q), (p or q) and not (p and q)


@program(examples=[(1.0, 5.0, 9.0), (1.0, 0.0, 9.0), (1.0, 10.0, 9.0)])
def chained_comparison(low, x, high):
    if low <= x < high:
        return x
    return -x


@program(examples=[(1, 2, 3, 4), (1, 2, 2, 4), (4, 3, 2, 1), (1, 3, 2, 4)])
def long_chain(a, b, c, d):
    return a < b < c < d, a <= b <= c <= d, a > b > c, a != b != c


@program(examples=[(3.0, 2.0), (2.0, 3.0)], grad="reverse")
def conditional_expression(a, b):
    return a * 2 if a > b else b * 3


@program(examples=[(0.5,), (1.5,), (2.5,)], grad="reverse")
def nested_conditional_expressions(x):
    return x if x < 1 else x * x if x < 2 else x * x * x


@program(examples=[(2.0,), (-2.0,)])
def conditional_expression_as_argument(x):
    return jnp.exp(x if x < 0 else -x) + (1 if x > 0 else 2)


@program(examples=[(6, 2), (6, 0), (7, 2)])
def guard_before_the_operand(n, divisor):
    """The second operand is only meaningful where the first is true."""
    if divisor != 0 and n % divisor == 0:
        return 1
    return 0


@program(examples=[(3.0, True), (3.0, False), (-3.0, True), (-3.0, False)], static=("enabled",))
def python_and_traced_operands(x, enabled):
    if enabled and x > 0:
        x = x * 2
    if x < 0 or not enabled:
        x = x - 1
    return x


@program(examples=[(3.0, None), (3.0, 2.0), (-3.0, 2.0)], static=("limit",), vmap=False)
def none_guard_keeps_short_circuit(x, limit):
    if limit is not None and x > limit:
        x = x * 0 + limit
    return x


@program(examples=[(ints(2, 4, 6),), (ints(2, 3, 6),), (ints(1, 3, 5),)])
def any_and_all(xs):
    even = xs % 2 == 0
    if jnp.all(even):
        return 2
    elif jnp.any(even):
        return 1
    return 0


@program(examples=[(1.0,), (-1.0,), (0.0,)])
def not_in_a_test(x):
    positive = x > 0
    if not positive:
        x = x - 10
    return x, not positive


@program(examples=[(5, 3), (5, 0), (0, 3)])
def mixed_in_a_while_test(n, reserve):
    used = 0
    while (n > 0 or reserve > 0) and not used >= 7:
        if n > 0:
            n -= 1
        else:
            reserve -= 1
        used += 1
    return n, reserve, used


@program(examples=[(bools(True, True),), (bools(True, False),), (bools(False, False),)])
def comparison_of_booleans(flags):
    first, second = flags
    if first == second:
        return 1.0 if first else 2.0
    return 3.0


@program(examples=[(2.0, 1.0, 3.0), (0.0, 1.0, 3.0), (5.0, 1.0, 3.0)])
def comparison_stored_then_tested(x, low, high):
    inside = low < x < high
    outside = not inside
    count = 0
    if inside:
        count += 1
    if outside:
        count += 10
    return count, inside, outside


@program(examples=[(floats(1, 2), 1.5), (floats(1, 2), 5.0)])
def conditional_expression_of_arrays(x, limit):
    y = x * 2 if jnp.max(x) > limit else x + 1
    return y


@program(examples=[(3.0,), (-3.0,)])
def conditional_expression_of_tuples(x):
    small, large = (x, x * 2) if x > 0 else (x * 2, x)
    return small, large
