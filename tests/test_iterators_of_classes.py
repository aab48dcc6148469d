"""Iterators of the user's classes that end where only run time knows: in loops, comprehensions and builtins."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests.agreement import differences

XS, YS = np.array([1.0, -2.0, 3.0, -4.0, 5.0]), np.array([3.0, 1.0, 4.0, 2.0, 2.0])


class Countdown:
    def __init__(self, start):
        self.left = start

    def __iter__(self):
        return self

    def __next__(self):
        if self.left <= 0:
            raise StopIteration
        self.left -= 1
        return self.left


class Until:
    """The items up to the first that is over a limit."""

    def __init__(self, items, limit):
        self.items, self.limit, self.place = items, limit, 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.place >= len(self.items) or self.items[self.place] > self.limit:
            raise StopIteration
        item = self.items[self.place]
        self.place += 1
        return item


class Fibonacci:
    def __init__(self, most):
        self.most = most

    def __iter__(self):
        self.a, self.b = 0, 1
        return self

    def __next__(self):
        found = self.a
        if found > self.most:
            raise StopIteration()
        self.a, self.b = self.b, found + self.b
        return found


def in_a_loop(xs, n):
    total = 0
    for k in Countdown(n):
        total += k * xs[k]
    return total


def in_a_comprehension(xs, n):
    return [2 * v for v in Until(xs, n)]


def in_builtins(xs, n):
    return (
        list(Until(xs, n)),
        sum(Countdown(n)),
        max(Until(xs, n), default=0.0),
        sorted(Until(xs, n)),
        tuple(Fibonacci(n)),
    )


def with_others(xs, n):
    pairs = [v * k for v, k in zip(Until(xs, n), [1, 2, 3, 4], strict=False)]
    return pairs, [k * v for k, v in enumerate(Fibonacci(5 * n))]


def started_again_by_each_loop(xs, n):
    numbers, total = Fibonacci(n), 0
    for a in numbers:
        total += a
    for b in numbers:
        total += 10 * b
    return total


def left_and_resumed(xs, n):
    numbers, total = Countdown(n + 3), 0
    for k in numbers:
        if k * 2 < n:
            break
        total += k
    return total, numbers.left, list(numbers), numbers.left


def in_a_branch_of_a_loop(xs, n):
    numbers, total = Countdown(n + 2), 0.0
    for x in xs:
        if x > 0:
            for k in numbers:
                total += k * x
                if k < 2:
                    break
        else:
            total -= next(numbers, 100)
    return total, numbers.left


class Line:
    def __init__(self, items, limit):
        self.items, self.limit = items, limit

    def __iter__(self):
        return Until(self.items, self.limit)


def of_an_iterable_that_makes_one(xs, n):
    line, total = Line(xs, n), 0.0
    for v in line:
        if v < 0:
            break
        total += v
    for v in line:
        total = 2 * total + v
    return total


def of_numbers_that_are_known(xs, n):
    found = []
    for k in Countdown(3):
        found.append("even" if k % 2 == 0 else "odd")
    return found, [type(k).__name__ for k in Countdown(2)]


PROGRAMS = (
    in_a_loop,
    in_a_comprehension,
    in_builtins,
    with_others,
    started_again_by_each_loop,
    left_and_resumed,
    in_a_branch_of_a_loop,
    of_an_iterable_that_makes_one,
    of_numbers_that_are_known,
)


@pytest.mark.parametrize("program", PROGRAMS)
def test_iterators_that_end_at_run_time(program):
    compiled = ag.function(program)
    for xs, n in ((XS, 2), (YS, 3), (XS, 0)):
        assert list(differences(program(xs, n), compiled(jnp.asarray(xs), jnp.asarray(n)), widens=True)) == []


def sum_of_squares(xs, limit):
    total = 0.0
    for v in Until(xs, limit):
        total += v * v
    return total


def test_iterators_in_transforms():
    converted = ag.convert(sum_of_squares)
    limits = jnp.array([0.0, 3.0, 9.0])
    wanted = [sum_of_squares(XS, limit) for limit in (0.0, 3.0, 9.0)]
    np.testing.assert_allclose(jax.jit(jax.vmap(converted, (None, 0)))(jnp.array(XS), limits), wanted)
    np.testing.assert_allclose(jax.grad(converted)(jnp.array(XS), 3.5), [2.0, -4.0, 6.0, -8.0, 0.0])


def test_another_exception_of_an_iterator_reaches_the_caller():
    class Failing(Countdown):
        def __next__(self):
            if self.left == 1:
                raise ValueError("no more than this")
            return super().__next__()

    def f(n):
        total = 0
        for k in Failing(n):
            total += k
        return total

    compiled = ag.function(f)
    assert int(compiled(jnp.array(0))) == f(0) == 0
    with pytest.raises(ValueError, match="no more than this"):
        jax.block_until_ready(compiled(jnp.array(3)))
