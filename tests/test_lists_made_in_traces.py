"""Lists that converted code makes: lists of Python's to whoever asks for their class, keeps them or is given them."""

from __future__ import annotations

import collections
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag

WAYS = {
    "function": ag.function,
    "jit": lambda f: jax.jit(ag.convert(f)),
    "vmap": lambda f: lambda *args: jax.vmap(ag.convert(f))(*(jnp.stack([x, x]) for x in args)),
}


def test_their_class_is_list():
    def f(x):
        xs, ys = [], [x, 1]
        xs.append(x)
        return (
            type(xs) is list,
            type(ys) is not tuple,
            type(ys).__name__ == "list",
            isinstance(xs, list),
            type(xs)([1, 2]),
        )

    assert jax.tree.map(int, ag.function(f)(1.0)) == jax.tree.map(int, f(1.0))


class Kept:
    pass


def classes_of(value):
    if isinstance(value, dict):
        return {key: classes_of(part) for key, part in value.items()}
    if isinstance(value, list | tuple | collections.deque):
        return type(value), [classes_of(part) for part in value]
    return value


STORE, ITEMS, QUEUE, OWNER = {}, [], collections.deque(), Kept()


@pytest.mark.parametrize("way", WAYS)
def test_what_keeps_them_after_the_trace_has_lists_of_pythons(way):
    def f(x):
        shared = [1, [2, 3]]
        STORE["a"], STORE["b"] = shared, {"inner": [shared]}
        ITEMS.append([4])
        QUEUE.append([5])
        OWNER.one, OWNER.other = ([6], 7), shared
        return x + 1

    def kept():
        found = classes_of([STORE, ITEMS, QUEUE, vars(OWNER)])
        same = STORE["a"] is STORE["b"]["inner"][0] is OWNER.other
        for each in (STORE, ITEMS, QUEUE, vars(OWNER)):
            each.clear()
        return found, same

    f(1.0)
    expected = kept()
    WAYS[way](f)(jnp.float32(1))
    assert kept() == expected


@pytest.mark.parametrize(
    "operation",
    [
        lambda xs, x: xs + x,
        lambda xs, x: x + xs,
        lambda xs, x: xs - x,
        lambda xs, x: x < xs,
        lambda xs, x: {xs: x},
        lambda xs, x: xs.lengthen(x),
    ],
)
def test_what_a_list_of_pythons_cannot_do_they_cannot_do(operation):
    def f(x):
        xs = [1.0]
        xs.append(2.0)
        return operation(xs, x)

    with pytest.raises((TypeError, AttributeError)) as of_python:
        f(jnp.ones(2))
    with pytest.raises(of_python.type) as raised:
        ag.function(f)(jnp.ones(2))
    assert "'list'" in str(raised.value) and "Traced" not in str(raised.value)


def scanned(params, xs):
    def step(carry, v):
        return [carry[0] + v, carry[1] * v], [carry[0], v]

    return jax.lax.scan(step, params, xs)


def branches(params, xs):
    return jax.lax.cond(xs.sum() > 0, lambda: params, lambda: [params[0] * 2, params[1]])


def descended(params, xs):
    slopes = jax.grad(lambda p: ((p[0] * xs) ** 2).sum() + p[1])([params[0] * 1, params[1] * 2])
    moved = [2 * slopes[0], 3 * slopes[1]]
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, moved)


def pulled_back(params, xs):
    out, pull = jax.vjp(lambda p: [p[0] * xs, p[1] * 2], params)
    return out, pull([jnp.ones_like(xs), 1.0])


def switched(params, xs):
    functions = [jnp.sin, jnp.cos, partial(jnp.power, 2.0)]
    return [jax.lax.switch(k, functions, params[0]) for k in range(3)], [f(xs) for f in functions]


def by_numpy(params, xs):
    table = [[1.0, 2.0], [3.0, 4.0]]
    held = np.array(table)
    steps = int(held.sum())
    return held.dtype == np.float64, steps, np.concatenate([held, np.asarray(table)]), np.dot(table, [1.0, 2.0]) * xs[0]


@pytest.mark.parametrize("program", [scanned, branches, descended, pulled_back, switched, by_numpy])
@pytest.mark.parametrize("way", ["function", "jit"])
def test_functions_of_libraries_are_given_lists_of_pythons(program, way):
    given = [jnp.float32(1.5), jnp.float32(2)], jnp.arange(3.0)
    found, expected = WAYS[way](program)(*given), program(*given)
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    jax.tree.map(partial(np.testing.assert_allclose, rtol=1e-5), found, expected)
