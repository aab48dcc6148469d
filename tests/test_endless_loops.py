"""`while True` that only an exception ends: of the program's own, when it runs, or one that Python raises while tracing."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests.test_keys_by_path import plain


class Stack:
    def __init__(self, items):
        self.items = list(items)

    def pop(self):
        if not self.items:
            raise IndexError("empty stack")
        return self.items.pop()


def doublings(x):
    n = 0
    try:
        while True:
            x = x * 2
            n += 1
            if x > 100:
                raise ValueError("large")
    except ValueError:
        return n


def emptied(x):
    items, out = [x, x + 1], []
    if x > 2:
        items.pop()
    try:
        while True:
            out.append(items.pop())
    except IndexError:
        out.append(-1.0)
    return out


def emptied_by_a_method(x):
    stack, total = Stack([x, x + 1, 2 * x]), 0.0
    if x > 2:
        stack.items.append(x * 5)
    try:
        while True:
            total += stack.pop()
    except IndexError:
        return total


def a_loop_in_it_raises(x):
    n = 0
    try:
        while True:
            for k in range(3):
                x = x + k
                if x > 20:
                    raise KeyError(k)
            n += 1
    except KeyError as error:
        return x, n, error.args[0]


def ended_in_each_iteration(x):
    def step(x):
        if x > 50:
            raise StopIteration
        return x * 3 + 1

    n = 0
    while 1:
        try:
            x = step(x)
        except StopIteration:
            return x, n
        n += 1


def ended_by_an_iterator(x):
    items = iter([1.0, 2.0, 3.0])
    try:
        while True:
            x = x + next(items)
    except StopIteration:
        return x


def ended_by_an_iterator_or_by_the_run(x):
    items = iter([1.0, 2.0, 3.0])
    try:
        while True:
            v = next(items)
            if v * x > 7:
                raise OverflowError
            x = x + v
    except StopIteration:
        return x
    except OverflowError:
        return -x


def ended_by_a_known_number(x):
    n = 0
    try:
        while True:
            n += 1
            if n > 5:
                raise ValueError("done")
            x = x * 2
    except ValueError:
        return x + jnp.ones(n).sum()


PROGRAMS = [
    *(doublings, emptied, emptied_by_a_method, a_loop_in_it_raises, ended_in_each_iteration),
    *(ended_by_an_iterator, ended_by_an_iterator_or_by_the_run, ended_by_a_known_number),
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_as_in_python(program):
    staged = ag.function(program)
    for x in (3.0, 1.0, 30.0):
        np.testing.assert_equal(plain(staged(jnp.float32(x))), plain(program(np.float32(x))))


def test_without_a_handler():
    @ag.function
    def grown(x):
        while True:
            x = x * 2
            if x > 100:
                raise ValueError("too large")

    with pytest.raises(ValueError, match="too large"):
        grown(jnp.float32(3.0))

    @ag.function
    def asserted(x):
        while True:
            x = x + 1
            assert x < 10, "past the end"

    with pytest.raises(AssertionError, match="past the end"):
        asserted(jnp.float32(3.0))
