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


def after_a_branch(x):
    pairs = zip([x[0], 1.0], [2.0, 3.0])
    n = 0
    if x[0] > 0:
        n = len(list(pairs))
    return n, len(list(pairs))


def identifiers(x):
    ids, found = itertools.count(1), []
    for v in x:
        if v > 0:
            found.append(next(ids))
    return found, next(ids)


def counted_by_halves(x):
    steps, n = itertools.count(0.5, 0.25), 0.0
    first = next(steps) if x[0] > 0 else 0.0
    while n < 3:
        n += next(steps)
    return first, n, next(steps)


class Tickets:
    def __init__(self):
        self.ids = itertools.count(10, 5)


def of_an_object(x):
    tickets, n = Tickets(), 0
    for v in x:
        if v > 0:
            n += next(tickets.ids)
    return n, next(tickets.ids)


def signs(x):
    sign, total = itertools.cycle([1.0, -1.0, 2.0]), 0.0
    for v in x:
        if v > -2:
            total += v * next(sign)
    return total, next(sign)


def numbered_in_a_loop(x):
    numbers, total, k = enumerate(x, 5), 0.0, 0
    while k < x[1] - 1:
        i, v = next(numbers)
        total += i * v
        k += 1
    return total, list(numbers)


def side_by_side_in_a_loop(x):
    pairs, total, k = zip(x, [1.0, 2.0, 3.0]), 0.0, 0
    while k < x[1] - 1:
        a, b = next(pairs)
        total += a * b
        k += 1
    return total, next(pairs, (0.0, 0.0)), len(list(pairs))


def a_parser(x):
    tokens, total = enumerate("1+2-3"), 0
    sign = 1
    for _ in range(5):
        k, token = next(tokens, (-1, "+"))
        if x[0] < 0 and k == 1:
            k, token = next(tokens)
        if token == "-":
            sign = -1
        elif token != "+":
            total += sign * 10 * k
            sign = 1
    return total


def names_without_end(x):
    names, n = itertools.cycle(["a", "b"]), 0
    for v in x:
        if v > 0:
            n = 2 * n + (1 if next(names) == "a" else 0)
    return n


def pairs_of_a_list(x):
    kept = [v for v in x if v > -2]
    n = 0.0
    for a, b in itertools.pairwise(kept):
        n += a * b
    for a, b in itertools.combinations(kept, 2):
        n += 10 * a * b
    for a, b in itertools.product(kept, [1.0, 3.0]):
        n += a * b
    return n + len(list(itertools.product(kept, repeat=2)))


def pairs_of_a_range(x):
    n = 0
    for a, b in itertools.combinations(range(int(x[1])), 2):
        n += a * b
    for a, b in itertools.product(range(int(x[1])), range(2)):
        n += a - b
    return n


PROGRAMS = [
    *(identifiers, counted_by_halves, of_an_object, signs, numbered_in_a_loop, side_by_side_in_a_loop, a_parser),
    *(names_without_end, pairs_of_a_list, pairs_of_a_range, after_a_branch),
    *(looped_over_twice, numbered, turned_round, a_list_that_grew_turned_round, nested, given_to_a_function),
    *(made_where_it_is_used, used_in_one_branch),
]
ARRAYS = ([2.0, 3.0, -1.0], [-1.0, 2.0, 5.0])


def in_both_branches(x):
    it = iter(x)
    first = next(it) if x[0] > 0 else next(it) + next(it)
    return first, next(it, -9.0), next(it, -9.0)


def to_the_end(x):
    it, total = iter(x), 0.0
    v = next(it, None)
    while v is not None:
        total = 2 * total + v
        if v > 2:
            next(it, None)
        v = next(it, None)
    return total


def until_it_stops(x):
    it, total = iter([*x, 4.0]), 0.0
    while True:
        try:
            total = 3 * total + next(it)
        except StopIteration:
            return total


def more_than_there_are(x):
    it, total = iter(x), 0.0
    while total < 6:
        total += next(it)
    return total, list(it)


def merged(x):
    ours, theirs = iter(sorted(x)), iter((0.0, 2.5, 4.0))
    a, b = next(ours, None), next(theirs, None)
    out = []
    while a is not None and b is not None:
        if a <= b:
            out.append(a)
            a = next(ours, None)
        else:
            out.append(b)
            b = next(theirs, None)
    return out, sum(ours), max(theirs, default=0.0)


def symbols(x):
    it, n = iter("a+b+c"), x[0]
    symbol = next(it, None)
    while symbol is not None and n < 13:
        n += 10 if symbol == "+" else 1
        symbol = next(it, None)
    return n


def two_names_for_one(x):
    it = other = iter(range(5, 50, 5))
    for v in x:
        if v > 0:
            next(it)
    return next(other), list(it), list(other), next(it, None)


def a_list_that_grows(x):
    xs = [x[0]]
    it = iter(xs)
    first = next(it, -1.0)
    if x[1] > 2:
        xs.append(x[1])
    second = next(it, -1.0)
    xs.append(x[2])
    return first, second, next(it, -1.0), next(it, -1.0)


def from_before_a_loop_in_full(x):
    items = iter([1, 2])
    n, k = 0, 0
    while k < x[0]:
        n += sum(items)
        k += 1
    return n


def from_before_a_loop(x):
    pairs = zip(x, x)
    n, k = 0, 0
    while k < x[0]:
        for _ in pairs:
            n += 1
        k += 1
    return n


def looped_over_after_a_branch(x):
    items, n = iter(x), 0
    if x[0] > 0:
        n = next(items)
    for v in items:
        n += v
    return n


def after_a_loop_that_was_left(x):
    numbers = enumerate(x)
    n = 0
    for _, v in numbers:
        if v > 0:
            break
    for _ in numbers:
        n += 1
    return n


class Down:
    def __init__(self, start):
        self.n = start

    def __iter__(self):
        return self

    def __next__(self):
        if self.n <= 0:
            raise StopIteration
        self.n -= 1
        return self.n


def of_a_class(x):
    down, total = Down(x[1]), 0.0
    if x[0] > 0:
        total = next(down)
    n = next(down, -1.0)
    while n >= 0:
        total, n = 2 * total + n, next(down, -1.0)
    return total


@pytest.mark.parametrize(
    "program",
    [
        *(in_both_branches, to_the_end, until_it_stops, more_than_there_are, merged, symbols, two_names_for_one),
        *(a_list_that_grows, from_before_a_loop_in_full, of_a_class),
        *(from_before_a_loop, after_a_loop_that_was_left, looped_over_after_a_branch),
    ],
)
def test_advanced_in_staged_statements(program):
    staged = ag.function(program)
    for value in (*ARRAYS, [0.5, 0.5, 0.25], [1.0, 7.0, 2.0]):
        try:
            wanted = program(np.asarray(value))
        except StopIteration:
            with pytest.raises(StopIteration):
                jax.block_until_ready(staged(jnp.asarray(value)))
        else:
            assert list(differences(wanted, staged(jnp.asarray(value)), widens=True)) == []


def test_derivatives_and_batches_of_an_advanced_iterator():
    converted = ag.convert(to_the_end)
    values = jnp.array([*ARRAYS, [1.0, 7.0, 2.0]])
    np.testing.assert_allclose(jax.vmap(converted)(values), [to_the_end(np.asarray(value)) for value in values])
    np.testing.assert_allclose(jax.grad(converted)(values[0]), [2.0, 1.0, 0.0])


def assert_agrees(program, value):
    wanted = program(np.asarray(value) if isinstance(value, list) else value)
    found = ag.function(program)(jnp.asarray(value))
    assert list(differences(wanted, found, widens=True)) == []


@pytest.mark.parametrize("program", PROGRAMS)
def test_over_arrays(program):
    for value in ARRAYS:
        assert_agrees(program, value)


def first_of_a_filter(x):
    values = [x, x + 1.0, 2.0]
    return next(filter(lambda v: v > 0, values), None), next(filter(None, values), -1.0)


def some_of_a_filter(x):
    positive = filter(lambda v: v > 0, [x, 1.0, 3.0])
    first = next(positive)
    return first, next(positive, 0.0), sum(positive), list(positive)


def each_of_a_filter(x):
    positive, total = filter(lambda v: v > 0, [x, 1.0, x + 2.0]), 0.0
    while (v := next(positive, None)) is not None:
        total = total * 10 + v
    return total


def first_of_a_map(x):
    doubled = map(lambda v: 2 * v, [v for v in [x, 1.0, 3.0] if v > 0])
    return next(doubled), list(doubled)


OF_LISTS = [
    *(filtered_twice, filtered_and_summed, first_of_a_filter, some_of_a_filter, each_of_a_filter, first_of_a_map),
]


@pytest.mark.parametrize("program", OF_LISTS)
def test_over_lists(program):
    for value in (2.0, -1.0):
        assert_agrees(program, value)


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
    [a_generator_after_a_branch, of_a_library_in_a_loop],
)
def test_what_only_run_time_tells(program):
    with pytest.raises(ag.StagingError, match=r"test_iterators\.py:\d+.*\n.*uses an iterator"):
        jax.block_until_ready(ag.function(program)(jnp.array(ARRAYS[0])))
