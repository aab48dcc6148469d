"""``reversed`` of ranges: the range of the same items from the last to the first, in loops and wherever else items are consumed."""

from __future__ import annotations

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag

LONG = 70


def in_a_loop(n, x):
    total, last = 0.0, -1
    for i in reversed(range(LONG)):
        total, last = total * 0.9 + x * i, i
    return total, last


def of_a_range_with_a_step(n, x):
    total = 0.0
    for i in reversed(range(3, 4 * LONG, 3)):
        total = total * 0.9 + x * i
    for i in reversed(range(LONG, -LONG, -2)):
        total = total * 0.9 + x * i
    return total


def that_is_left(n, x):
    for i in reversed(range(LONG)):
        if i < 7 * x:
            return i
    return -1


def from_the_end_of_an_array(n, x):
    sums = [x * 0] * (LONG + 1)
    for i in reversed(range(LONG)):
        sums[i] = sums[i + 1] * 0.5 + x * i
    return sums[0], sums[LONG - 3]


def in_nested_loops(n, x):
    total = 0.0
    for i in reversed(range(LONG)):
        for j in reversed(range(i)):
            total = total * 0.9 + x * i - j
    return total


def in_a_comprehension(n, x):
    values = [i * x for i in reversed(range(LONG))]
    return sum(values), values[3], len([i for i in reversed(range(LONG)) if i > 20 * x])


def of_a_range_of_the_package(n, x):
    total = 0.0
    for i in reversed(ag.range(n)):
        total = total * 0.9 + x * i
    for i in reversed(ag.range(1, LONG)):
        total = total * 0.9 + x * i
    return total


def that_next_has_advanced(n, x):
    total, items = 0.0, reversed(range(LONG))
    first = next(items)
    for i in items:
        total = total * 0.9 + x * i
    return total, first, list(items)


LONG_LOOPS = [
    *(in_a_loop, of_a_range_with_a_step, that_is_left, from_the_end_of_an_array, in_nested_loops, in_a_comprehension),
    *(of_a_range_of_the_package, that_next_has_advanced),
]


@pytest.mark.parametrize("program", LONG_LOOPS, ids=lambda program: program.__name__)
def test_a_long_loop_is_staged(program):
    assert_agrees(program, 5)


def of_traced_bounds(n, x):
    total = 0.0
    for i in reversed(range(n)):
        total = total * 0.9 + x * i
    for i in reversed(range(1, 3 * n, 3)):
        total = total * 0.9 + x * i
    for i in reversed(range(3 * n, -1, -2)):
        total = total * 0.9 + x * i
    for i in reversed(range(n, 2 * n, n - 7)):
        total = total * 0.9 + x * i
    for i in range(n)[::-1]:
        total = total * 0.9 + x * i
    return total


def numbered(n, x):
    total = 0.0
    for k, i in enumerate(reversed(range(n))):
        total = total * 0.9 + x * i + k
    return total, [k - i for k, i in enumerate(reversed(range(n)), 3)]


def side_by_side(n, x):
    total, values = 0.0, x * jnp.arange(4.0)
    for i, v in zip(reversed(range(n)), values):
        total = total * 0.9 + v * i
    return total, [(i, j) for i, j in zip(reversed(range(n)), range(n))]


def listed(n, x):
    found = list(reversed(range(n)))
    found.extend(reversed(range(n)))
    found += reversed(range(3))
    return found, tuple(reversed(range(n))), sorted(reversed(range(n))), [i * x for i in reversed(range(n))]


def asked(n, x):
    return (
        sum(reversed(range(n))),
        max(reversed(range(n + 1))),
        3 in reversed(range(n)),
        n in reversed(range(LONG)),
        any(i > x for i in reversed(range(n))),
        sum(i * x for i in reversed(range(n))),
    )


def used_up(n, x):
    items = reversed(range(n))
    return sum(items), list(items)


TRACED_BOUNDS = [of_traced_bounds, numbered, side_by_side, listed, asked, used_up]


@pytest.mark.parametrize("n", [0, 1, 5])
@pytest.mark.parametrize("program", TRACED_BOUNDS, ids=lambda program: program.__name__)
def test_a_range_with_traced_bounds(program, n):
    assert_agrees(program, n)


def test_unsigned_bounds():
    def program(n):
        return list(reversed(range(n))), sum(reversed(range(n)))

    for n in (0, 3):
        found = ag.function(program)(jnp.uint8(n))
        assert (list(map(int, found[0])), int(found[1])) == program(n)


def in_pairs(n, x):
    items = reversed(range(8))
    return [(a * x, b) for a, b in zip(items, items)]


def in_pairs_of_an_array(n, x):
    items, total = reversed(x * jnp.arange(6.0)), 0.0
    for a, b in zip(items, items):
        total = total * 3 + a - 2 * b
    return total


def in_pairs_with_numbers(n, x):
    items = enumerate(x * jnp.arange(6.0))
    return [i * a - j * b for (i, a), (j, b) in zip(items, items)]


def with_another_name(n, x):
    total, items = 0.0, reversed(range(6))
    same = items
    for i in items:
        total = total + i * x
        if i == 3:
            break
    return total, list(same)


@pytest.mark.parametrize("program", [in_pairs, in_pairs_of_an_array, in_pairs_with_numbers, with_another_name])
def test_an_iterator_that_is_used_twice(program):
    assert_agrees(program, 5)


def test_pairs_of_one_iterator_of_traced_length_are_refused():
    def program(n):
        items = reversed(range(n))
        return list(zip(items, items))

    with pytest.raises(ag.StagingError, match="range with traced bounds"):
        ag.function(program)(jnp.int32(4))


def assert_agrees(program, n, x=1.5):
    with warnings.catch_warnings():
        warnings.simplefilter("error", ag.StagingWarning)
        found = ag.function(program)(jnp.int32(n), jnp.float32(x))
    expected = program(n, np.float32(x))
    assert jax.tree_util.tree_structure(found) == jax.tree_util.tree_structure(expected)
    jax.tree_util.tree_map(lambda one, other: np.testing.assert_allclose(one, other, rtol=1e-4), found, expected)
