"""Comprehensions and loops whose targets have targets in them, or a star, over what is as long as only the run knows."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests.agreement import agrees_when_compiled
from tests.outcomes import agrees_when_transformed

X, Y, NONE = np.array([3.0, 1.0, 2.5, 0.5]), np.array([0.5, 2.0, 4.0, 3.5]), np.array([0.5, -1.0, 1.0, 0.25])


def enumerated(x):
    pairs = [(v, 2 * v) for v in x if v > 1]
    total = 0.0
    for k, (a, b) in enumerate(pairs):
        total += k * a - b
    return sum([k * a + b for k, (a, b) in enumerate(pairs)]), total


def deep(x):
    items = [(v, (2 * v, (3 * v, v))) for v in x if v > 1]
    return sum([a + b * c - d for a, (b, (c, d)) in items]), sum(
        a * d for k, (a, (b, (c, d))) in enumerate(items) if k > 0
    )


def zipped(x):
    pairs = [(v, 2 * v) for v in x if v > 1]
    return sum([a * d + b * c for (a, b), (c, d) in zip(pairs, pairs[1:], strict=False)])


def keyed(x):
    pairs = [(v, 2 * v) for v in x if v > 1]
    found = {k: a * b for k, (a, b) in enumerate(pairs)}
    return found.get(0, -1.0), found.get(1, -1.0), len(found), sum(sorted({a + b for k, (a, b) in enumerate(pairs)}))


def nested(x):
    pairs = [(v, (v, 2 * v)) for v in x if v > 0]
    inner = [sum([a + b + d for c, (b, d) in pairs if b > 1]) for a, (_, _) in pairs]
    return sum(inner), max((b for a, (b, c) in pairs), default=0.0), any(b > 2 for _, (b, _) in pairs)


def starred(x):
    rows = [[v, 2 * v, 3 * v] for v in x if v > 1]
    middles = [k * sum(middle) - last for k, (_, *middle, last) in enumerate(rows)]
    return sum(middles), sum([a + len(rest) * sum(rest) for a, *rest in rows])


def of_python_items(x):
    places = [(0, (1, 2)), (1, (3, 4))]
    return sum([x[a] * b + c for a, (b, c) in places]), sum([x[i] * len(rest) for i, *rest in places if x[i] > 1])


PROGRAMS = [enumerated, deep, zipped, keyed, nested, starred, of_python_items]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_like_plain_python(program):
    agrees_when_compiled(program, (X,), (Y,), (NONE,))
    for x in (X, Y, NONE):
        agrees_when_transformed(program, x, beside=Y)


def rows_of_several_lengths(x):
    rows = []
    for v in x:
        row = [v]
        if v > 2:
            row.append(2 * v)
        rows.append(row)
    return [a + sum(rest) for a, *rest in rows], [len(rest) for k, (a, *rest) in enumerate(rows)]


def two_of_each_row(x):
    rows = []
    for v in x:
        row = [v]
        if v > 2:
            row.append(2 * v)
        if v > 0.75:
            rows.append(row)
    return [b for a, b, *rest in rows]


def test_a_star_takes_as_much_as_there_is():
    agrees_when_compiled(rows_of_several_lengths, (X,), (Y,), (NONE,))
    agrees_when_compiled(two_of_each_row, (np.array([3.0, 2.5]),), (np.array([0.5, 0.25]),))
    with pytest.raises(ValueError, match=r"not enough values to unpack \(expected at least 2, got 1\)"):
        ag.function(two_of_each_row)(jnp.asarray(X))


def test_parts_that_are_too_few_or_none():
    def too_few(x):
        pairs = [(v, (v, 2 * v)) for v in x if v > 1]
        return [c for a, (b, c, d) in pairs]

    def none(x):
        pairs = [(v, v) for v in x if v > 1]
        return [c for a, (b, c) in pairs]

    with pytest.raises(ValueError, match=r"not enough values to unpack \(expected 3, got 2\)"):
        ag.function(too_few)(jnp.asarray(X))
    with pytest.raises(TypeError):
        ag.function(none)(jnp.asarray(X))


def test_a_derivative():
    found = jax.grad(lambda x: sum(ag.convert(deep)(x)))(jnp.asarray(Y))
    steps = np.eye(4) * 1e-4
    wanted = [(sum(deep(Y + step)) - sum(deep(Y - step))) / 2e-4 for step in steps]
    np.testing.assert_allclose(found, wanted, rtol=1e-4)
