"""Iterators, which are used up as they are advanced: by loops, branches and builtins, as plain Python has it, or refused."""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests.agreement import differences


def filtered_twice(x):
    positive = filter(lambda v: v > 0, [x, 1.0])
    return list(positive), list(positive)


def filtered_and_summed(x):
    positive = filter(lambda v: v > 0, [x, 1.0, 3.0])
    return sum(positive), sum(positive), max(filter(lambda v: v < 9, [x, 1.0])), sorted(filter(None, [x, 0.0, 1.0]))


def looped_over_twice(x):
    pairs = zip(x, x * 2)
    n = 0
    for a, b in pairs:
        n += 1 if a < b else 2
    for _ in pairs:
        n += 10
    return n


def numbered(x):
    numbers = enumerate(x)
    first, second = next(numbers), next(numbers)
    return first, second, list(numbers), list(numbers)


def turned_round(x):
    last = reversed(x)
    end = next(last)
    for v in last:
        end = end * 10 + v
    return end, list(last)


def a_list_that_grew_turned_round(x):
    kept = []
    for v in x:
        if v > 0:
            kept.append(v)
    backwards = reversed(kept)
    return sum(backwards), sum(backwards), list(reversed(kept))


def nested(x):
    pairs = enumerate(zip(x, x * 2))
    n = 0
    for i, (a, b) in pairs:
        n += i * (1 if a > b else 2)
    return n, list(pairs)


def given_to_a_function(x):
    def count(items):
        n = 0
        for v in items:
            n += 1 if v[0] > 0 else 2
        return n

    pairs = zip(x, x)
    return count(pairs) + 100 * count(pairs)


def made_where_it_is_used(x):
    n, k = 0, 0
    while k < x[0]:
        for i, v in enumerate(x):
            n += i * v
        items = iter([k, 1])
        for v in items:
            n += v
        for v in items:
            n += 1000 * v
        k += 1
    return n


def used_in_one_branch(x):
    pairs = zip(x, x)
    n = 0.0
    if x[0] > 0:
        for a, b in pairs:
            n += a * b
    return n


PROGRAMS = [
    *(looped_over_twice, numbered, turned_round, a_list_that_grew_turned_round, nested, given_to_a_function),
    *(made_where_it_is_used, used_in_one_branch),
]
ARRAYS = ([2.0, 3.0, -1.0], [-1.0, 2.0, 5.0])


def assert_agrees(program, value):
    wanted = program(np.asarray(value) if isinstance(value, list) else value)
    found = ag.function(program)(jnp.asarray(value))
    assert list(differences(wanted, found, widens=True)) == []


@pytest.mark.parametrize("program", PROGRAMS)
def test_over_arrays(program):
    for value in ARRAYS:
        assert_agrees(program, value)


@pytest.mark.parametrize("program", [filtered_twice, filtered_and_summed])
def test_over_lists(program):
    for value in (2.0, -1.0):
        assert_agrees(program, value)


def from_before_a_loop(x):
    pairs = zip(x, x)
    n, k = 0, 0
    while k < x[0]:
        for _ in pairs:
            n += 1
        k += 1
    return n


def a_list_from_before_a_loop(x):
    items = iter([1, 2])
    n, k = 0, 0
    while k < x[0]:
        n += sum(items)
        k += 1
    return n


def after_a_branch(x):
    pairs = zip([x[0], 1.0], [2.0, 3.0])
    n = 0
    if x[0] > 0:
        n = len(list(pairs))
    return n, len(list(pairs))


def after_a_loop_that_was_left(x):
    numbers = enumerate(x)
    n = 0
    for _, v in numbers:
        if v > 0:
            break
    for _ in numbers:
        n += 1
    return n


def a_generator_after_a_branch(x):
    def halves(v):
        while v > 1:
            v = v / 2
            yield v

    values = halves(8.0)
    n = 0
    if x[0] > 0:
        n = len(list(values))
    return n, len(list(values))


def of_a_library_in_a_loop(x):
    numbers = itertools.permutations([1, 2, 3])
    n, k = 0, 0
    while k < x[0]:
        for a, b, _ in numbers:
            n += a - b
        k += 1
    return n


@pytest.mark.parametrize(
    "program",
    [
        *(from_before_a_loop, a_list_from_before_a_loop, after_a_branch, after_a_loop_that_was_left),
        *(a_generator_after_a_branch, of_a_library_in_a_loop),
    ],
)
def test_what_only_run_time_tells(program):
    with pytest.raises(ag.StagingError, match=r"test_iterators\.py:\d+.*\n.*uses an iterator"):
        jax.block_until_ready(ag.function(program)(jnp.array(ARRAYS[0])))
