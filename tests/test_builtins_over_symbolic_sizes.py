"""Python's builtins over an array with a symbolic size: one trace serves all sizes."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag

SEVERAL = [ag.TensorSpec([None])]


@pytest.mark.parametrize(
    "f",
    [sum, lambda x: sum(x, 2.0), list, sorted, lambda x: sum(x * x), any, all, lambda x: max(x, default=-1.0)],
    ids=["sum", "sum from", "list", "sorted", "sum of squares", "any", "all", "max"],
)
def test_one_argument(f):
    def call(x):
        return f(x)

    g = ag.function(call, SEVERAL)
    for x in ([3.0, 0.0, 2.0], [], [5.0], [0.0, 0.0]):
        assert jax.tree.map(float, g(jnp.array(x))) == f(np.array(x, np.float32)), x
    assert g.experimental_get_tracing_count() == 2  # one is for no elements


def test_several_in_one_function():
    def f(x):
        weighted = list(x)
        for i in range(len(weighted)):
            weighted[i] = weighted[i] * i
        ordered = sorted(x, key=lambda v: -v)
        first, *rest = x
        if any(v < 0 for v in ordered) or max(x) < min(x) or len(rest) != len(tuple(x)) - 1:
            return first
        return sum(weighted) + ordered[0] + 10 * max(x, key=lambda v: -v) + sum([*x, 1.0])

    g = ag.function(f, SEVERAL)
    for x in ([3.0, 1.0, 2.0], [5.0], [1.0, 2.0], [2.0, -1.0, 4.0]):
        assert g(jnp.array(x)) == f(np.array(x, np.float32)), x
    assert g.experimental_get_tracing_count() == 1


def test_the_rows_of_a_matrix():
    def f(x):
        return sum(x), max(x, key=lambda row: row[0]), list(x)[-1], len(list(x))

    g = ag.function(f, [ag.TensorSpec([None, 2])])
    for x in ([[3.0, 1.0], [4.0, 0.0], [2.0, 2.0]], [[1.0, 2.0]]):
        found, expected = g(jnp.array(x)), f(np.array(x, np.float32))
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other)
    assert g.experimental_get_tracing_count() == 1


def test_gradients():
    def f(x):
        return sum(x) * max(x)

    with_symbolic_size = jax.grad(ag.function(f, SEVERAL))
    np.testing.assert_allclose(with_symbolic_size(jnp.array([1.0, 3.0, 2.0])), [3.0, 9.0, 3.0])
