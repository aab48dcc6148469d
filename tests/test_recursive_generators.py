"""Generators that go over what they make by calling themselves under traced conditions."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests.agreement import agrees_when_compiled

LEFT, RIGHT = np.array([1, 3, -1, -1, -1]), np.array([2, 4, -1, -1, -1])


def in_order(left, right, i):
    if i >= 0:
        yield from in_order(left, right, left[i])
        yield i
        yield from in_order(left, right, right[i])


def consumed_whole(left, right, i):
    return (
        list(in_order(left, right, i)),
        sum(in_order(left, right, i)),
        [10 * v for v in in_order(left, right, i) if v != 1],
    )


def left_at_four(left, right, i):
    total = 0
    for v in in_order(left, right, i):
        if v == 4:
            break
        total = 10 * total + v
    return total


class Tree:
    def __init__(self, left, right):
        self.left, self.right, self.met = left, right, 0

    def walk(self, i, depth=0):
        if i < 0:
            return
        self.met += 1
        yield i, depth
        yield from self.walk(self.left[i], depth + 1)
        yield from self.walk(self.right[i], depth + 1)


def a_method(left, right, i):
    tree, deepest = Tree(left, right), 0
    for _, depth in tree.walk(i):
        deepest = max(deepest, depth)
    return deepest, tree.met


def loops_that_pass_on(left, right, i):
    def after(i):
        if i >= 0:
            for v in after(left[i]):
                yield v
            for v in after(right[i]):
                yield v
            yield i

    return list(after(i))


def what_it_returns(left, right, i):
    seen = []

    def sizes(i):
        if i < 0:
            return 0
        seen.append(i)
        below = yield from sizes(left[i])
        beside = yield from sizes(right[i])
        yield below + beside
        return below + beside + 1

    return list(sizes(i)), seen


@pytest.mark.parametrize("program", [consumed_whole, left_at_four, a_method, loops_that_pass_on, what_it_returns])
def test_generators_that_call_themselves_are_as_in_python(program):
    agrees_when_compiled(program, *[(LEFT, RIGHT, i) for i in (0, 1, -1)])


def halves(n):
    if n > 1:
        yield from halves(n // 2)
        yield n


def a_number_and_how_many(n):
    met = 0
    for v in halves(n):
        met += 1
        if v > 2:
            return v, met * 1.5
        if v == 5:
            return 0, 0.5
    return None


def the_second(n):
    for k, v in enumerate(halves(n)):
        if k == 1:
            return v * 0.5
    return -1


def a_text(n):
    for v in halves(n):
        if v > 5:
            return "more"
        if v == 5:
            return "five"
    return "less"


class Box:
    def __init__(self, number):
        self.number = number


def an_object(n):
    one, other = Box(1), Box(2)

    def chosen():
        for v in halves(n):
            if v > 5:
                return one
        return other

    found = chosen()
    found.number += 5
    return one.number, other.number, found.number


def a_list(n):
    box = [1]

    def chosen():
        for v in halves(n):
            if v > 5:
                return box
        return [0]

    found = chosen()
    found[0] += 5
    return box[0], found[0]


def a_list_in_a_tuple(n):
    box = [1]

    def chosen():
        for v in halves(n):
            if v > 5:
                return v, box
        return n, [0]

    found = chosen()[1]
    found[0] += 5
    return box[0], found[0]


@pytest.mark.parametrize("program", [a_number_and_how_many, the_second, a_text])
def test_a_return_ends_the_loop(program):
    agrees_when_compiled(program, *[(n,) for n in (1, 2, 5, 9, 40)])


def a_loop_in_a_loop(n):
    total = 0
    for v in halves(n):
        for w in halves(v):
            total += w
    return total


OF_CONTAINERS = "a `return` of a list, dict or object"


@pytest.mark.parametrize(
    "program, words",
    [(a_loop_in_a_loop, "without end"), *((each, OF_CONTAINERS) for each in (a_list, an_object, a_list_in_a_tuple))],
)
def test_what_is_refused(program, words):
    with pytest.raises(ag.StagingError, match=words):
        ag.function(program)(jnp.array(9))


def a_variable_read_after_the_loop(n):
    def evens(n):
        for v in range(n):
            yield v
        if n > 0:
            yield v + 100

    return list(evens(n))


def test_a_loop_that_passes_on_binds_its_variable():
    agrees_when_compiled(a_variable_read_after_the_loop, (3,), (1,))
