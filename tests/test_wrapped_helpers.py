"""What helpers under `ag.convert`, or under a decorator of a library, read and write outside of a compiled function."""

from __future__ import annotations

import contextlib

import jax
import jax.numpy as jnp
import pytest

import autograph as ag
from tests import staged

rate = 2.0
counted = {"n": 0}


@ag.convert
def times_rate(x, of=None):
    return x * rate


@contextlib.contextmanager
def the_rate():
    yield rate


@pytest.mark.parametrize("how", ["convert", "contextmanager"])
def test_what_a_helper_under_a_decorator_of_a_library_reads(how):
    global rate

    @ag.function
    def f(x):
        if how == "convert":
            return times_rate(x)
        with the_rate() as r:
            return x * r

    try:
        for rate in (2.0, 5.0):
            assert float(f(jnp.float32(1))) == rate
    finally:
        rate = 2.0


def test_what_a_converted_helper_keeps_outside():
    @ag.convert
    def count(x):
        counted["n"] = counted["n"] + 1
        return x + counted["n"]

    @ag.function
    def f(n):
        total = 0.0
        for _ in ag.range(n):
            total = total + count(1.0)
        return total

    with pytest.raises(ag.StagingError, match="The dict 'counted' would leak a tracer"):
        f.lower(jnp.array(3))
    assert counted == {"n": 0}
    assert float(f(jnp.array(3))) == 9.0 and int(counted["n"]) == 3


factor = 1


def test_what_functions_of_a_dataset_read():
    global factor
    kept = ag.Dataset.range(4).filter(lambda x: x >= factor)
    pairs = ag.Dataset.zip(kept, ag.Dataset.range(4).map(lambda x: x * factor))

    @ag.function
    def f():
        total = 0
        for x, y in pairs:
            total += x * y
        return total

    try:
        for factor in (1, 2):
            expected = sum(x * y for x, y in zip(range(factor, 4), [factor * k for k in range(4)], strict=False))
            assert int(f()) == expected
            assert sum(int(x) * int(y) for x, y in pairs) == expected
    finally:
        factor = 1


def remembering(function):
    found = {}

    def remembered(n):
        if n not in found:
            found[n] = function(n)
        return found[n]

    return remembered


def negative_first(function):
    return (lambda v: -function(v)) if rate < 0 else function


class Counted:
    def __init__(self, function):
        self.function, self.calls, self.large = function, 0, []

    def __call__(self, value):
        self.calls += 1
        found = self.function(value)
        if found > 5:
            self.large.append(found)
        return found


def with_total(kind):
    sizes = []

    def total(self, value):
        if value > 1:
            sizes.append(value)
        return self.unit * len(sizes)

    kind.total = total
    return kind


def remembered_fibonacci(n):
    @remembering
    def fibonacci(k):
        return k if k < 2 else fibonacci(k - 1) + fibonacci(k - 2)

    return fibonacci(n), fibonacci(n // 2)


def counted_in_a_loop(n):
    @Counted
    def twice(v):
        return v * 2

    total = 0
    for k in range(n):
        if k != 1:
            total += twice(k)
    return total, twice.calls, twice.large


def of_two_decorators(n):
    @negative_first
    @remembering
    def square(k):
        return k * k

    return square(n) + square(n + 1) + square(n)


def of_a_class(n):
    @with_total
    class Box:
        unit = 3

    box = Box()
    return [box.total(n), box.total(n + 1)]


@pytest.mark.parametrize("n", [0, 1, 5])
@pytest.mark.parametrize("f", [remembered_fibonacci, counted_in_a_loop, of_two_decorators, of_a_class])
def test_a_decorator_of_the_users_is_converted(f, n):
    found = staged.function(f)(jnp.int32(n))
    assert jax.tree.map(int, found) == f(n)


def test_a_decorator_of_this_package_marks_a_local_function():
    def f(n):
        @ag.recursion_limit(50)
        def total(k):
            if k <= 0:
                return 0
            rest = total(k - 1)
            return rest + k

        return total(n)

    for n in (0, 5):
        assert int(staged.jitted(f)(jnp.array(n))) == f(n)
