"""Recursion that writes to a list, dict or set which the first call makes, and the others are given: Python's result."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

import autograph as ag
from tests.agreement import differences


def memoized(n, memo=None):
    if memo is None:
        memo = {}
    if n in memo:
        return memo[n]
    if n < 2:
        return n
    memo[n] = memoized(n - 1, memo) + memoized(n - 2, memo)
    return memo[n]


def of_an_expression(n, memo=None):
    memo = {} if memo is None else memo
    if n < 2:
        return n
    if n not in memo:
        memo[n] = of_an_expression(n - 1, memo) + of_an_expression(n - 2, memo)
    return memo[n]


def path_length(n, path=None):
    if path is None:
        path = []
    if n == 0:
        return len(path), path
    path.append(n)
    return path_length(n - 1, path)


def cycle_length(n, seen=None):
    if seen is None:
        seen = set()
    if n in seen:
        return len(seen)
    seen.add(n)
    return cycle_length((n * 3 + 1) % 7, seen)


class Numbers:
    def fibonacci(self, n, memo=None):
        if memo is None:
            memo = {}
        if n <= 1:
            return n
        if n not in memo:
            memo[n] = self.fibonacci(n - 1, memo) + self.fibonacci(n - 2, memo)
        return memo[n]


def twice(n):
    numbers = Numbers()
    return numbers.fibonacci(n) + 100 * numbers.fibonacci(n + 1)


def in_a_loop(n):
    total = 0
    for k in range(3):
        if n > k:
            total += memoized(n - k)
    return total


def new_at_each_call(n):
    box = []
    if n > 0:
        box.append(n)
        return new_at_each_call(n - 1) + len(box)
    return 0


@pytest.mark.parametrize(
    "f",
    [memoized, of_an_expression, path_length, cycle_length, twice, in_a_loop, new_at_each_call],
    ids=lambda f: f.__name__,
)
def test_the_first_call_makes_what_all_write_to(f):
    compiled = ag.function(f)
    for n in (6, 1, 4):
        assert list(differences(f(n), compiled(jnp.int32(n)))) == []


def test_a_bare_jit_refuses_what_grows_without_a_bound():
    with pytest.raises(ag.StagingError, match="changes the length of"):
        jax.jit(ag.convert(memoized))(jnp.int32(6))


def test_a_list_that_is_another_in_each_call():
    def f(n, xs):
        if n == 0:
            return xs
        return f(n - 1, [*xs, n])

    found = ag.function(f)(jnp.int32(3), [jnp.int32(1)])
    assert list(map(int, found)) == f(3, [1])
