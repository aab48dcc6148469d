"""`itertools` over several lists of traced length: tuples of their items, and lists side by side."""

from __future__ import annotations

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
