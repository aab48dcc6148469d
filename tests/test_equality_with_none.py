"""`==` and `!=` of what may be None: None equals nothing else, and comparing with it raises nothing."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

import autograph as ag
from tests import staged


class Point:
    def __init__(self, x):
        self.x = x

    def __eq__(self, other):
        return isinstance(other, Point) and self.x == other.x


def runs_of_equal_values(x):
    previous, runs = None, 0
    for value in [x, x, 2.0, 2.0, x]:
        if value != previous:
            runs += 1
        previous = value
    return runs


def runs_of_bits(x):
    previous, runs, n = None, 0, x * 0 + 13
    while n > 0:
        if n % 2 != previous:
            runs += 1
        previous = n % 2
        n = n // 2
    return runs


def two_that_may_be_none(x):
    a = b = None
    if x > 0:
        a = x
    if x > 2:
        b = x
    return a == b, a != b, b == a, (x + 1) != a, x * 1 == a, [a] == [b], a == a


def texts(x):
    kind = None
    if x > 0:
        kind = "positive"
    return kind == "positive", "positive" != kind, kind == None  # noqa: E711 (that is the question)


def lists_and_objects(x):
    pair = point = None
    if x > 0:
        pair, point = [x, 1.0], Point(x)
    return pair == [x, 1.0], [x, 1.0] == pair, pair != [x, 2.0], point == Point(1.0), Point(1.0) != point


@pytest.mark.parametrize(
    "program", [runs_of_equal_values, runs_of_bits, two_that_may_be_none, texts, lists_and_objects]
)
def test_as_in_python(program):
    for x in (1.0, -1.0, 3.0):
        wanted = jax.tree.map(int, program(x))
        for run in (staged.function(program), staged.jitted(program)):
            assert jax.tree.map(int, run(jnp.float32(x))) == wanted
    mapped = jax.jit(jax.vmap(ag.convert(program)))(jnp.array([1.0, -1.0]))
    assert jax.tree.map(lambda v: int(v[1]), mapped) == jax.tree.map(int, program(-1.0))


@pytest.mark.parametrize("compile", [ag.function, lambda f: jax.jit(ag.convert(f))])
def test_a_number_equals_no_container(compile):
    def compared(x):
        others = ({}, {1: 2}, {1}, [1], (1,), [], ())
        return [(x == other, x != other, other == x) for other in others]

    assert jax.tree.map(bool, compile(compared)(jnp.int32(1))) == compared(1)
