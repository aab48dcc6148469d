"""Loops over sets that only run time knows: those whose iterations may come in any order run, the rest are refused."""

from __future__ import annotations

from collections import defaultdict

import jax
import jax.numpy as jnp
import numpy as np
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


def counted_by_value(xs):
    counts, seen = [0] * 10, [False] * 10
    for v in set(xs):
        counts[v] += v
        counts[0] -= 1
        seen[v] = True
    return counts, seen


def counted_in_an_array(xs):
    counts = np.zeros(10, int)
    for v in frozenset(xs):
        if v > 1:
            counts[v % 4] += xs[0]
    return counts


def counted_in_a_dict(xs):
    counts = {0: 0, 1: 5}
    for v in set(xs):
        counts[v % 2] += v
    return counts


def longest_run(xs):
    items, best = set(xs), 0
    for v in items:
        if v - 1 not in items:
            length = 1
            while v + length in items:
                length += 1
            best = max(best, length)
    return best


def counted_again(xs):
    counts = [0] * 10
    for v in set(xs):
        n = 0
        for w in xs:
            if w != v:
                continue
            n += 1
        counts[n] += 1
    return counts


def pairs(xs):
    count = 0
    for v in set(xs):
        for w in set(xs):
            if v + w == 8:
                count += 1
    return count


def neighbours(xs):
    items, counts = set(xs), [0] * 10
    for v in items:
        for w in items:
            if w == v + 1:
                counts[v] += 1
    return counts


def bound_and_listed(xs):
    total = 0
    for v in set(xs):
        half = v // 2
        total += half
    return total, [v for v in xs], sum(v for v in set(xs))


def appended(xs):
    large, small, pairs = [], [], []
    for v in set(xs):
        if v > 2:
            large.append(v)
        else:
            small.append(-v)
        pairs.append((v, v * v))
    small.append(7)
    total = 0
    for v in large:
        total += v
    pairs.sort()
    return total, len(large), max(small), 7 in small, sum(sorted(v for v in large if v > 3)[:1]), pairs[0], len(pairs)


def appended_in_each_iteration(xs):
    found, again = [], []
    for k in range(3):
        each = []
        for v in set(xs):
            if v > k:
                each.append(v)
        found.append(sum(each))
        for v in set(xs):
            again.append(v * k)
    return found, sorted(again)[-1], len(again)


PROGRAMS = [
    *(
        added,
        counted,
        greatest_and_least,
        found,
        noted,
        common,
        skipped,
        counted_by_value,
        counted_in_an_array,
    ),
    *(longest_run, counted_again, pairs, neighbours, bound_and_listed, appended, appended_in_each_iteration),
]


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


def test_numbers_of_a_dict_may_be_added_to_in_any_order():
    compiled = ag.function(counted_in_a_dict)
    for row in [[5, 3, 5, 2], [1, 1, 1, 1]]:
        assert list(differences(counted_in_a_dict(row), compiled([*map(jnp.array, row)]))) == []


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


def reads_items_that_it_writes(xs):
    counts = [1] * 10
    for v in set(xs):
        counts[v] += counts[v - 1]
    return counts


def writes_by_two_names(xs):
    counts = [1] * 10
    others = counts
    for v in set(xs):
        counts[v] += 1
        others[v] *= 2
    return counts


def reads_by_another_name(xs):
    counts = [1] * 10
    others = counts
    for v in set(xs):
        counts[v] += others[v - 1]
    return counts


def reads_by_a_view(xs):
    rows = np.ones((2, 10), int)
    row = rows[0]
    for v in set(xs):
        row[v] += rows[0, v - 1]
    return rows


def writes_its_values(xs):
    last = [0] * 10
    for v in set(xs):
        last[v % 2] = v
    return last


def writes_items_of_items(xs):
    rows = [[0] for _ in range(10)]
    for v in set(xs):
        row = rows[v % 2]
        row += [v]
    return rows


def keeps_from_an_iteration_before(xs):
    total = last = 0
    for v in set(xs):
        if v > 2:
            half = v
        if v < 100:
            last = half
            total += last
    return total


def makes_keys(xs):
    counts = defaultdict(int)
    for v in set(xs):
        counts[v] += 1
    return list(counts)


def appends(xs):
    items = []
    for v in set(xs):
        items.append(v)
    return items


def reads_by_another_name_what_it_appends(xs):
    items = others = []
    for v in set(xs):
        items.append(v)
    return others[0]


def goes_over_what_it_appends(xs):
    items, number = [], 0
    for v in set(xs):
        items.append(v)
    for v in items:
        number = number * 10 + v
    return number


def reads_what_it_appends_to(xs):
    items = []
    for v in set(xs):
        items.append(v * len(items))
    return sum(items)


def reads_by_another_name_what_it_appends_to(xs):
    items = []
    others = [items]
    for v in set(xs):
        items.append(v * len(others[0]))
    return sum(items)


def appends_to_one_list_by_two_names(xs):
    items = others = []
    for v in set(xs):
        if v > 2:
            items.append(v)
        else:
            others.append(0)
    return items


def appends_on_one_path(xs):
    items = [1]
    if xs[0] > 2:
        for v in set(xs):
            items.append(v)
    return items


@pytest.mark.parametrize(
    "f",
    [
        *(reads_items_that_it_writes, writes_by_two_names, reads_by_another_name, reads_by_a_view, writes_its_values),
        *(writes_items_of_items, keeps_from_an_iteration_before, makes_keys),
        *(reads_what_it_changes, doubles, mixes, reads_the_last, returns_the_first, lengthens_a_list, lengthens_a_text),
        *(appends, reads_by_another_name_what_it_appends, goes_over_what_it_appends, reads_what_it_appends_to),
        *(reads_by_another_name_what_it_appends_to, appends_to_one_list_by_two_names, appends_on_one_path),
        *(adds_keys, asks_an_iterator, calls_a_function, keeps_the_present_total),
    ],
    ids=lambda f: f.__name__,
)
def test_iterations_of_which_the_order_counts_are_refused(f):
    with pytest.raises(ag.StagingError, match="order of a set"):
        ag.function(f)([*map(jnp.array, [5, 3, 5, 2])])
