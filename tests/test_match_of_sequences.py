"""Sequence patterns of ``match`` where only the run knows how many items there are."""

from __future__ import annotations

import collections
import collections.abc

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests.agreement import agrees_when_compiled
from tests.outcomes import agrees_when_transformed

X, Y, ONE, NONE = (
    np.array(values)
    for values in ([3.0, 1.0, 2.5, 0.5], [0.5, 2.0, 4.0, 3.5], [0.5, 4.0, 1.0, 0.0], [0.5, -1.0, 1.0, 0.25])
)


def by_length(x):
    xs = [v for v in x if v > 1]
    match xs:
        case []:
            return 0.0
        case [a]:
            return a
        case [a, *rest]:
            return a + 10 * sum(rest)
        case _:
            return -1.0


def in_a_loop(x):
    xs = [v for v in x if v > 1]
    total = 0.0
    while True:
        match xs:
            case []:
                break
            case [a, *rest]:
                total = 2 * total + a
                xs = rest
    return total


def ends_and_guards(x):
    xs = [v for v in x if v > 1]
    match xs:
        case [a, b, *_] if a > b:
            return a * b
        case [first, *middle, last]:
            return first - last + 100 * len(middle)
        case [4.0]:
            return -4.0
        case _:
            return -1.0


def of_pairs(x):
    pairs = [(v, 2 * v) for v in x if v > 1]
    match pairs:
        case [(a, b), (c, d), *_]:
            return a * d - b + c
        case [(a, 8.0 as b)] | [(a, b), _]:
            return a + b
        case _:
            return 0.0


def in_a_tuple(x):
    small, large = [], []
    for v in x:
        (large if v > 1 else small).append(v)
    match small, large:
        case [], _:
            return 1.0
        case [a, *_], [b, *_]:
            return a - b
        case [a, *rest], []:
            return a + sum(rest)
        case _:
            return 0.0


def by_recursion(x):
    def total(xs):
        match xs:
            case []:
                return 0.0
            case [a, *rest]:
                return a + 2 * total(rest)

    return total([v for v in x if v > 1])


PROGRAMS = [by_length, in_a_loop, ends_and_guards, of_pairs, in_a_tuple]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_like_plain_python(program):
    agrees_when_compiled(program, (X,), (Y,), (ONE,), (NONE,))
    for x in (X, Y, ONE, NONE):
        agrees_when_transformed(program, x, beside=Y)


def test_recursion():
    agrees_when_compiled(by_recursion, (X,), (Y,), (NONE,))


def test_a_derivative():
    steps = np.eye(4) * 1e-4
    wanted = [(in_a_loop(Y + step) - in_a_loop(Y - step)) / 2e-4 for step in steps]
    np.testing.assert_allclose(jax.grad(ag.convert(in_a_loop))(jnp.asarray(Y)), wanted, rtol=1e-3)


def what_it_is(value, x):
    match value:
        case [a, [b, *_], *_]:
            return "nested", a, b
        case [*_] as found if len(found) > 2:
            return "long", found[0], x
        case [a, *rest]:
            return "some", a, rest
        case []:
            return "empty", x, x
        case _:
            return "none", x, x


@pytest.mark.parametrize(
    "value",
    [
        [],
        (),
        [1],
        (1, 2),
        range(3),
        "ab",
        b"ab",
        {1: 2},
        {1},
        None,
        [1, [2]],
        (1, (2, 3), 4),
        collections.deque([1, 2]),
    ],
    ids=repr,
)
def test_sequences_of_python(value):
    wanted = what_it_is(value, 1.5)
    assert ag.convert(what_it_is)(value, 1.5) == wanted
    found = []

    def keep(x):
        found.append(ag.convert(what_it_is)(value, x))
        return x

    jax.jit(keep)(1.5)
    kind, first, second = found[0]
    assert (kind, type(second) is list) == (wanted[0], type(wanted[2]) is list)
    if wanted[0] == "some":
        assert (first, list(second)) == wanted[1:]


def test_arrays_are_no_sequences():
    def f(x):
        match x:
            case [a, b]:
                return a + b
            case _:
                return x.sum() * 10

    np.testing.assert_allclose(ag.function(f)(jnp.arange(2.0)), 10.0)
    np.testing.assert_allclose(ag.function(lambda x: f(x[x > 0]))(jnp.arange(3.0)), 30.0)


class Squares(collections.abc.Sequence):
    def __init__(self, size):
        self.size = size

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        if index >= self.size:
            raise IndexError(index)
        return index * index + 1


def ends_of_an_object(n):
    match Squares(n):
        case [first, *_, before, last]:
            return first, before, last
        case [only]:
            return only, 0, 0
    return 0, 0, 0


def test_items_from_the_end_of_an_object_have_the_indices_that_python_asks_for():
    assert [ag.convert(ends_of_an_object)(n) for n in (0, 1, 5)] == [ends_of_an_object(n) for n in (0, 1, 5)]
    agrees_when_compiled(ends_of_an_object, (5,), (0,), (1,), (3,))
