"""`if`, `elif`, `else`: values that two or more paths join."""

import jax.numpy as jnp

from tests.corpus import floats, ints, program


@program(examples=[(2.0,), (-2.0,), (0.0,)], grad="reverse")
def both_branches_assign(x):
    if x > 0:
        y = x * x
    else:
        y = -x / 2
    return y


@program(examples=[(3,), (-3,), (0,)])
def sign_by_elif(x):
    if x > 0:
        sign = 1
    elif x < 0:
        sign = -1
    else:
        sign = 0
    return sign


@program(examples=[(3.0,), (-3.0,)], grad="reverse")
def no_else(x):
    y = x
    if y < 0:
        y = -y
    return y + 1


@program(examples=[(1.0, 2.0), (2.0, 1.0), (2.0, 2.0)])
def swap_two_names(low, high):
    if low > high:
        low, high = high, low
    return low, high


@program(examples=[(1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0), (0.0, 0.0)])
def quadrant(x, y):
    if x >= 0:
        if y >= 0:
            q = 1
        else:
            q = 4
    else:
        if y >= 0:
            q = 2
        else:
            q = 3
    return q


@program(examples=[(5.0, 0.0, 3.0), (-5.0, 0.0, 3.0), (1.5, 0.0, 3.0)], grad="reverse")
def temporaries_stay_local(x, low, high):
    """Each branch has its own temporaries, of different types, which no one reads afterwards."""
    if x < low:
        gap = low - x
        y = low - 0.1 * gap
    elif x > high:
        ratio, offset = high / x, (x, 1)
        y = high + 0.1 * ratio + 0 * offset[1]
    else:
        y = x
    return y


@program(examples=[(floats(1, 2, 3),), (floats(-4, 1, 1),), (floats(0, 0, 0),)], grad=None)
def array_valued_branches(x):
    if jnp.sum(x) > 0:
        y = x * x
    else:
        y = -x + 1
    return y


@program(examples=[(floats(0.5, 0.5), 1.0), (floats(0.5, 5.0), 1.0), (floats(3, 4), 1.0)])
def clip_only_if_too_long(gradient, limit):
    norm = jnp.sqrt(jnp.sum(gradient**2))
    if norm > limit:
        gradient = gradient * (limit / norm)
    return gradient, norm


@program(examples=[(500.0,), (1500.0,), (2500.0,), (9000.0,)], grad="reverse")
def tax_by_consecutive_ifs(income):
    tax = income * 0.0
    if income > 1000:
        tax += (income - 1000) * 0.1
    if income > 2000:
        tax += (income - 2000) * 0.1
    if income > 4000:
        tax += (income - 4000) * 0.2
    return tax


@program(examples=[(3, True), (3, False), (-3, True), (-3, False)], static=("double",))
def python_flag_beside_traced_test(x, double):
    if double:
        x = 2 * x
    if x > 0:
        x += 1
        if not double:
            x += 10
    else:
        x -= 1
    return x


@program(examples=[(4.0,), (-4.0,)])
def empty_branch(x):
    if x > 0:
        pass
    else:
        x = -x
    return x


@program(examples=[(1.0, -3.0, 2.0), (1.0, 2.0, 1.0), (1.0, 0.0, 1.0)])
def real_roots(a, b, c):
    discriminant = b * b - 4 * a * c
    if discriminant > 0:
        root = jnp.sqrt(discriminant)
        first, second, count = (-b - root) / (2 * a), (-b + root) / (2 * a), 2
    elif discriminant == 0:
        first = second = -b / (2 * a)
        count = 1
    else:
        first = second = jnp.nan * a
        count = 0
    return first, second, count


@program(examples=[(1, 5.0), (2, 5.0), (3, 5.0), (4, 5.0)])
def select_operation(code, x):
    if code == 1:
        result = x + 1
    elif code == 2:
        result = x - 1
    elif code == 3:
        result = x * 2
    else:
        result = x / 2
    return result


@program(examples=[(2.0, 3.0), (-2.0, 3.0)])
def branch_reads_its_own_update(x, y):
    if x > 0:
        x = x + y
        y = x * y
        x = y - x
    return x, y


@program(examples=[(ints(3, 1, 2),), (ints(1, 2, 3),)])
def branch_calls_jnp(x):
    if x[0] > x[-1]:
        x = jnp.sort(x)
        where = jnp.argmax(x)
    else:
        x = x[::-1]
        where = jnp.argmin(x)
    return x, where


@program(examples=[(1.0, 2.0, 3.0), (2.0, 1.0, 3.0), (3.0, 2.0, 1.0), (2.0, 3.0, 1.0)])
def median_of_three(a, b, c):
    if a > b:
        a, b = b, a
    if b > c:
        b, c = c, b
        if a > b:
            a, b = b, a
    return b


@program(examples=[(0.5,), (1.5,), (2.5,), (-1.0,)], grad="reverse")
def value_replaced_after_the_join(x):
    if x > 1:
        y = x + 1
    else:
        y = x - 1
    z = y
    if y > 0:
        y = z * 3
    else:
        z = y * 5
    return y + z
