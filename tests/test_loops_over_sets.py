"""Loops over sets that only run time knows: those whose iterations may come in any order run, the rest are refused."""

from __future__ import annotations

from collections import defaultdict

import jax
import jax.numpy as jnp
import pytest

import autograph as ag
from tests.agreement import differences


def added(xs):
    total, product = 0, 1
    for v in set(xs):
        total += v
        product = product * v
    for v in list(set(xs)):
        total -= 2 * v
    return total, product


def counted(xs):
    count = 0
    for v in set(xs):
        if xs.count(v) > 1 and not v == 9:
            count += 1
    return count


def greatest_and_least(xs):
    items = set(xs)
    best, least, last = 0, 99, -1
    for v in items:
        if v > best:
            best = v
        least = min(least, v)
        if last < v % 4:
            last = v % 4
    return best, least, last


def found(xs):
    for v in set(xs):
        if v > 4:
            return True
    return False


def noted(xs):
    seen, has_three = {1}, False
    for v in set(xs):
        seen.add(v % 3)
        if v == 3:
            has_three = True
    return len(seen), has_three


def common(xs):
    total = 0
    for v in set(xs) & {2, 3, 7}:
        if v in xs and xs[0] != v:
            total += v * xs[1]
    return total


def skipped(xs):
    total = 0
    for v in set(xs):
        if v % 2:
            continue
        total += v
    return total


PROGRAMS = [added, counted, greatest_and_least, found, noted, common, skipped]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_iterations_that_may_come_in_any_order_run(f):
    rows = [[5, 3, 5, 2], [1, 1, 1, 1], [2, 4, 3, 9]]
    expected = [f(row) for row in rows]
    compiled = ag.function(f)
    for row, value in zip(rows, expected, strict=True):
        assert list(differences(value, compiled([*map(jnp.array, row)]))) == []
    assert list(differences(expected[0], jax.jit(ag.convert(f))([*map(jnp.array, rows[0])]))) == []
    batch = jax.vmap(ag.convert(f))([*jnp.array(rows).T])
    for k, value in enumerate(expected):
        assert list(differences(value, jax.tree.map(lambda leaf: leaf[k], batch))) == []  # noqa: B023


def test_a_sum_in_a_loop_has_a_gradient():
    def f(xs):
        total = 0.0
        for v in set(xs):
            total += v * v
        return total

    assert jax.grad(lambda xs: ag.convert(f)(list(xs)))(jnp.array([1.0, 3.0, 1.0])).tolist() == [2.0, 6.0, 0.0]


def reads_what_it_changes(xs):
    total = 0
    for v in set(xs):
        if total < 6:
            total += v
    return total


def doubles(xs):
    total = 0
    for v in set(xs):
        total = 2 * total + v
    return total


def mixes(xs):
    total = 0
    for v in set(xs):
        total += v
        total *= 2
    return total


def reads_the_last(xs):
    total = 0
    for v in set(xs):
        total += v
    return total + v


def returns_the_first(xs):
    for v in set(xs):
        if v > 1:
            return v
    return 0


def lengthens_a_list(xs):
    items = []
    for v in set(xs):
        items += [v]
    return items


def lengthens_a_text(xs):
    text = ""
    for v in set(xs):
        text += str(v)
    return text


def adds_keys(xs):
    counts, total = defaultdict(int), 0
    for v in set(xs):
        total += counts[v]
    return total, list(counts)


def asks_an_iterator(xs):
    items, total = iter([1, 2, 3]), 0
    for v in set(xs):
        if v in items:
            total += v
    return total


def calls_a_function(xs):
    total, seen = 0, []

    def note(v):
        seen.append(v)
        return v

    for v in set(xs):
        total += note(v)
    return total, seen


def keeps_the_present_total(xs):
    total = last = 0
    for v in set(xs):
        total += v
        last = total
    return last


@pytest.mark.parametrize(
    "f",
    [
        *(reads_what_it_changes, doubles, mixes, reads_the_last, returns_the_first, lengthens_a_list, lengthens_a_text),
        *(adds_keys, asks_an_iterator, calls_a_function, keeps_the_present_total),
    ],
    ids=lambda f: f.__name__,
)
def test_iterations_of_which_the_order_counts_are_refused(f):
    with pytest.raises(ag.StagingError, match="order of a set"):
        ag.function(f)([*map(jnp.array, [5, 3, 5, 2])])
