"""Comprehensions, generator expressions consumed on the spot, walrus."""

import jax.numpy as jnp

from tests.corpus import floats, program


@program(examples=[(floats(1, -2, 3),)])
def list_comprehension_over_an_array(xs):
    return jnp.stack([x * 2 if x > 0 else x for x in xs])


@program(examples=[(2.0,), (-2.0,)])
def list_comprehension_over_python(x):
    return [x * k if x > 0 else x - k for k in range(3) if k != 1]


@program(examples=[(floats(1, 2, 3),)])
def generator_consumed_by_sum(xs):
    return sum(x * x for x in xs)


@program(examples=[(2.0, 3.0)])
def dict_comprehension(x, y):
    values = {"x": x, "y": y}
    return {name: value if value > 2 else -value for name, value in values.items()}


@program(examples=[(floats([1, 2], [3, 4]),)])
def nested_comprehension(matrix):
    return jnp.stack([a * b for a in matrix[0] for b in matrix[1]])


@program(examples=[(20.0,), (0.5,)])
def walrus_in_a_while_test(x):
    count = 0
    while (half := x / 2) > 1:
        x = half
        count += 1
    return x, half, count


@program(examples=[(3.0,), (-3.0,)])
def walrus_in_an_if_test(x):
    if (y := x * 2) > 0:
        return y
    return y - 1
