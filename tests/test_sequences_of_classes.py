"""Objects of classes that have only ``__getitem__``: loops over them, comprehensions, builtins and ``in``."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

import autograph as ag
from tests.agreement import differences


class Squares:
    def __init__(self, count):
        self.count = count

    def __getitem__(self, place):
        if not 0 <= place < self.count:
            raise IndexError(place)
        return place * place


class Shelf:
    def __init__(self, items):
        self.items = items

    def __getitem__(self, place):
        return self.items[place]

    def __len__(self):
        return len(self.items)


def in_loops(n):
    total = 0
    for a in Squares(n):
        for b in Squares(a % 3 + 1):
            if b == n:
                break
            total += a * b
        else:
            total += 1
    for v in Squares(n + 2):
        if v > n:
            return total, v
    return total, -1


def in_comprehensions(n):
    return [v for v in Squares(n) if v % 2], {v % 3 for v in Squares(n)}, [a + n for a in Shelf([n, 2, 7])]


def in_builtins(n):
    numbers = Squares(n)
    return sum(numbers), max(numbers), sorted(numbers, reverse=True), tuple(numbers), any(v == 4 for v in numbers)


def with_others(n):
    return list(zip(Squares(n), [5, n, 7], strict=False))[1], list(enumerate(Squares(n))), [*Squares(n), 7]


def of_lists(n):
    return (
        sum(Shelf([n, 2])),
        list(Shelf([k * k for k in range(n)])),
        [sum(row) for row in zip(*Shelf([[n, 1], [2, n]]))],
    )


def taken_apart(n):
    first, *rest = Squares(n)
    return first, rest


def membership(n):
    return n in Shelf([1, 4]), 9 in Squares(n), n not in Shelf([5, n]), 10 in Shelf([k * n for k in range(4)])


def delegated(n):
    def and_one(numbers):
        yield from numbers
        yield 1

    return list(and_one(Squares(n)))


def that_may_be_none(n):
    numbers = Squares(n) if n > 4 else None
    total = 0
    if numbers:
        for v in numbers:
            total += v
    return total


def of_known_numbers(n):
    return [type(v).__name__ for v in Shelf([1, 2])], sum(Squares(3)) + n


PROGRAMS = (
    in_loops,
    in_comprehensions,
    in_builtins,
    with_others,
    of_lists,
    taken_apart,
    membership,
    delegated,
    that_may_be_none,
    of_known_numbers,
)


@pytest.mark.parametrize("program", PROGRAMS)
def test_are_iterated_up_to_an_index_error(program):
    compiled = ag.function(program)
    for n in (4, 5, 2):
        assert list(differences(program(n), compiled(jnp.asarray(n)), widens=True)) == []


def test_in_transforms():
    def weighted(x, n):
        total = 0.0
        for v in Squares(n):
            total += v * x
        return total

    converted = ag.convert(weighted)
    counts = jnp.array([0, 2, 4])
    assert list(jax.jit(jax.vmap(converted, (None, 0)))(2.0, counts)) == [0.0, 2.0, 28.0]
    assert jax.jvp(lambda x: converted(x, jnp.asarray(4)), (1.0,), (1.0,)) == (14.0, 14.0)


def test_another_exception_reaches_the_caller():
    class Failing(Squares):
        def __getitem__(self, place):
            if place == self.count:
                raise ValueError("no more than this")
            return place

    def f(n):
        total = 0
        for v in Failing(n):
            total += v
            if total > 5:
                break
        return total

    compiled = ag.function(f)
    assert int(compiled(jnp.asarray(9))) == f(9)
    with pytest.raises(ValueError, match="no more than this"):
        jax.block_until_ready(compiled(jnp.asarray(2)))
