"""Ranges with traced bounds: compared, searched, and given to what collects their items."""

from __future__ import annotations

import operator

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests.agreement import agrees_when_compiled


def compared(n):
    return range(n) == range(4), range(n) != range(4), range(0, n, 2) == range(0, n - 1, 2), range(n, n) == range(0)


def places(n):
    found = (
        operator.countOf(range(n), 2),
        operator.indexOf(range(n), 2),
        operator.countOf([n, 4], 4),
        operator.countOf("aba", "a"),
    )
    return range(n).index(2), range(1, n).count(n), range(1, 9, 2).index(2 * n - 3), range(0, n, 2).count(2), found


def added_to_lists(n):
    items = [1]
    items.extend(range(n))
    items += range(2, n)
    items.extend(i * i for i in range(n))
    return items, sorted(range(n), key=lambda i: -i), any(range(n)), all(range(1, n))


def added_to_sets(n):
    found = set()
    found.update(range(n), (i * i for i in range(n)))
    rest = {1, 9} | {n}
    rest.difference_update(range(2, n))
    return sorted(found), sorted(rest.union(range(n))), {1}.issubset(range(n)), {7}.isdisjoint(range(n))


def added_to_dicts(n):
    squares = {}
    squares.update((i, i * i) for i in range(n))
    return squares


def best_by_key(n):
    xs = [4, 1, 9, 3, 7]
    nearest = []
    for k in range(1, n):
        nearest.append(min(range(k), key=lambda i: xs[i] % 4))
    return (
        max(range(n), key=lambda i: -xs[i]),
        min(range(n - 3), key=xs.__getitem__, default=-1),
        max(range(n), key=None),
        nearest,
    )


@pytest.mark.parametrize("function", [compared, places, added_to_lists, added_to_sets, added_to_dicts, best_by_key])
def test_what_takes_the_items_of_a_range(function):
    agrees_when_compiled(function, (4,), (5,), (3,))


def test_the_best_of_no_items_by_a_key():
    for best in (max, min):
        with pytest.raises(ValueError, match="empty"):
            ag.function(lambda n: best(range(n), key=lambda i: -i))(jnp.array(0))  # noqa: B023 (called at once)


def test_a_number_that_is_not_in_a_range():
    with pytest.raises(ValueError, match="7 is not in range"):
        ag.function(lambda n: range(n).index(n + 2))(jnp.array(5))
    with pytest.raises(ValueError, match="7 is not in range"):
        range(5).index(7)


def test_bytes_of_a_range_need_its_length():
    assert ag.function(lambda n: list(bytes(range(3))) + [n])(jnp.array(5)) == [0, 1, 2, 5]
    with pytest.raises(ag.StagingError, match="A range with traced bounds"):
        ag.function(lambda n: bytes(range(n)))(jnp.array(5))


def test_unsigned_bounds_of_ranges_count_downwards_under_64_bits():
    def total(start, stop, step):
        found = 0
        for i in range(start, stop, step):
            found += i
        return found, len(range(start, stop, step))

    with jax.enable_x64(True):
        given = np.uint64(6), np.uint64(0), np.int64(-2)
        assert tuple(map(int, ag.function(total)(*given))) == total(*given) == (12, 3)
