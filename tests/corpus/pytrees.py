"""Tuples, lists, dicts, named tuples and dataclasses as state of branches and loops."""

import collections

import jax.numpy as jnp

from tests.corpus import floats, program

Point = collections.namedtuple("Point", ["x", "y"])


@program(examples=[({"w": 2.0, "b": 1.0}, 3.0), ({"w": -2.0, "b": 1.0}, 3.0)])
def dict_argument(params, x):
    y = params["w"] * x + params["b"]
    if y > 0:
        return {"out": y, "params": params}
    return {"out": -y, "params": {"w": params["w"] * 0, "b": params["b"]}}


@program(examples=[(1.0, 5), (1.0, 0)])
def tuple_state_in_a_loop(x, n):
    state = (x, x * 0)
    for _ in range(n):
        position, velocity = state
        velocity = velocity - 0.1 * position
        state = (position + 0.1 * velocity, velocity)
    return state


@program(examples=[(1.0,), (30.0,)])
def namedtuple_state_in_a_while(x):
    point = Point(x, x + 1)
    while point.x < 20:
        point = Point(point.x * 2, point.y + 1)
    return point


@program(examples=[(3.0,), (-3.0,)])
def list_from_both_branches(x):
    if x > 0:
        values = [x, x + 1]
    else:
        values = [x * 2, x]
    return values[0] - values[1], values


@program(examples=[(floats(1, 2), 3), (floats(1, 2), 0)])
def dict_state_replaced_in_a_loop(weights, steps):
    state = {"w": weights, "loss": jnp.sum(weights**2)}
    for _ in range(steps):
        gradient = 2 * state["w"]
        moved = state["w"] - 0.1 * gradient
        state = {"w": moved, "loss": jnp.sum(moved**2)}
    return state


@program(examples=[(3.0,), (-3.0,)])
def nested_structure(x):
    tree = {"a": (x, [x + 1, x + 2]), "b": {"c": x * 0}}
    if x > 0:
        first, rest = tree["a"]
        tree = {"a": (first * 2, [rest[1], rest[0]]), "b": {"c": first}}
    return tree


@program(examples=[(1.0, 2.0, 6), (1.0, 2.0, 0), (9.0, 9.0, 6)])
def complex_pair_squared(real, imaginary, n):
    z = (real * 0, imaginary * 0)
    c = (real / 4, imaginary / 4)
    for _ in range(n):
        if z[0] * z[0] + z[1] * z[1] > 4:
            break
        z = (z[0] * z[0] - z[1] * z[1] + c[0], 2 * z[0] * z[1] + c[1])
    return z


@program(examples=[(4.0,), (0.5,)])
def static_fields_stay_python(x):
    """`name` and `order` agree on both paths, so they remain Python values that Python code can use."""
    config = ("adam", 2, x)
    if x > 1:
        config = ("adam", 2, x / 2)
    name, order, rate = config
    return rate ** range(5)[order] * len(name)


@program(examples=[((1.0, 2.0), [3.0, 4.0]), ((5.0, 2.0), [3.0, 4.0])])
def nested_arguments(pair, values):
    a, b = pair
    total = a
    for value in values:
        if value > a:
            total = total + value * b
    return total, pair


@program(examples=[(2.0,), (-1.0,)])
def empty_structures(x):
    nothing = ()
    if x > 0:
        nothing = ()
        x = x * 2
    return x, nothing


@program(examples=[(Point(1.0, 2.0),), (Point(2.0, 1.0),)])
def namedtuple_replaced_in_a_branch(point):
    if point.x < point.y:
        point = point._replace(x=point.y)
    else:
        point = Point(y=point.x, x=point.y)
    return point
