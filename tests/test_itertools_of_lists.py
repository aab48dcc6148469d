"""`itertools` over several lists of traced length: tuples of their items, and lists side by side."""

from __future__ import annotations

import heapq
from itertools import combinations, permutations, product, zip_longest

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests.agreement import agrees_when_compiled

XS, YS, ZS = np.array([1.0, -2.0, 3.0, -4.0, 5.0]), np.array([3.0, 1.0, 4.0, 2.0, 2.0]), np.array([-1.0] * 4 + [2.0])


def chosen_in_order(xs, n):
    positive = [v for v in xs if v > 0]
    triples = sum(1 for a, b, c in combinations(positive, 3) if a + b + c > n)
    return triples, [10 * a + b for a, b in combinations(positive, 2)], sum(a for (a,) in combinations(positive, 1))


def sum_of_products_of_four(xs, n):
    return sum(a * b * c * d for a, b, c, d in combinations([v for v in xs if v > -3], 4))


def in_every_order(xs, n):
    positive = [v for v in xs if v > 0]
    best = max((4 * a + 2 * b - c for a, b, c in permutations(positive, 3)), default=-1.0)
    return best, [a - b for a, b in permutations(positive, 2)]


def products(xs, n):
    positive, small = [v for v in xs if v > 0], [v for v in xs if v < n]
    known = [a * b + c for a, b, c in product(positive, [1.0, 2.0], range(2))]
    return (
        known,
        sum(1 for a, b, c in product(small, positive, small) if a + b + c > 0),
        len(list(product(small, repeat=3))),
    )


def to_the_longest(xs, n):
    positive, small = [v for v in xs if v > 0], [v for v in xs if v < n]
    total = 0.0
    for a, b in zip_longest(positive, small):
        if a is not None:
            total += a
        if b is not None:
            total -= 2 * b
    return total, list(zip_longest(positive, small, [1.0], fillvalue=-7.0))


def first_that_fits(xs, n):
    for a, b, c in combinations([v for v in xs if v > -3], 3):
        if a + b == c + n:
            return a, b, c
    return 0.0, 0.0, 0.0


PROGRAMS = (chosen_in_order, sum_of_products_of_four, in_every_order, products, to_the_longest, first_that_fits)


@pytest.mark.parametrize("program", PROGRAMS)
def test_over_lists_of_traced_length(program):
    agrees_when_compiled(program, (XS, 2.0), (YS, 3.0), (ZS, 0.0))


def weighed(xs, n):
    positive = [v for v in xs if v > 0]
    pairs = sum(a * b for a, b in permutations(positive, 2))
    return pairs + sum(2 * a + 3 * b for a, b in zip_longest(positive, [v for v in xs if v < n], fillvalue=0.0))


def test_batches_and_derivatives():
    converted = ag.convert(weighed)
    batch = jax.jit(jax.vmap(converted, (0, None)))(jnp.array([XS, YS, ZS]), 2.5)
    np.testing.assert_allclose(batch, [weighed(xs, 2.5) for xs in (XS, YS, ZS)])
    found = jax.grad(converted)(jnp.array(XS), 2.5)
    np.testing.assert_allclose(found, [2 * (3 + 5) + 2 + 3, 3, 2 * (1 + 5) + 2, 3, 2 * (1 + 3) + 2])


def merged(x):
    return list(heapq.merge([1, 4, x], [2, 5, x + 1]))


def merged_in_a_loop(x):
    total = 0
    for v in heapq.merge([1, x], [0, 7], [x, x]):
        if v > 6:
            break
        total = total * 10 + v
    return total


def merged_by_a_key(x):
    rows = sorted([(x, 3), (2, 1)]), [(5, 9)]
    return [a * 10 + b for a, b in heapq.merge(*rows, key=lambda row: row[0])]


def merged_in_reverse(x):
    return list(heapq.merge([x, 2], (), [9, 3], reverse=True)), list(heapq.merge([x], [x, -x], key=lambda v: -v))


def merged_of_a_traced_length(x):
    first = [k * k for k in range(5) if k < x]
    return [v + 1 for v in heapq.merge(first, [k for k in range(x)])]


@pytest.mark.parametrize(
    "program", [merged, merged_in_a_loop, merged_by_a_key, merged_in_reverse, merged_of_a_traced_length]
)
def test_merge(program):
    compiled = ag.function(program)
    for x in (3, 6, 2):
        assert jax.tree.map(int, compiled(jnp.array(x))) == program(x), x


def test_merge_compares_as_python_does_where_rows_are_in_no_order():
    f = lambda x: list(heapq.merge([x, 1], [2, x, 0]))
    assert [int(v) for v in ag.function(f)(jnp.array(3))] == f(3)
