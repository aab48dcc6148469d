"""Elements of rows, ``x[i][j]``, of arrays and of lists of lists: read and written without their rows."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests import staged

N = 40
A = jnp.asarray(np.random.default_rng(0).integers(0, 3, N), jnp.int32)
B = jnp.asarray(np.random.default_rng(1).integers(0, 3, N), jnp.int32)


def check_same(found, expected):
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b)


def common_subsequence(a, b):
    n, m = len(a), len(b)
    best = [[0] * (m + 1) for _ in range(n + 1)]
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            if a[i - 1] == b[j - 1]:
                best[i][j] = best[i - 1][j - 1] + 1
            else:
                best[i][j] = max(best[i - 1][j], best[i][j - 1])
    return best[n][m], best[1]


def edit_distance(a, b):
    n, m = len(a), len(b)
    steps = [[0] * (m + 1) for _ in range(n + 1)]
    for i in range(n + 1):
        steps[i][0] = i
    for j in range(m + 1):
        steps[0][j] = j
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            steps[i][j] = min(steps[i - 1][j] + 1, steps[i][j - 1] + 1, steps[i - 1][j - 1] + cost)
    return steps[n][m], steps[2]


def knapsack(weights, values):
    n, room = len(weights), 30
    best = [[0] * (room + 1) for _ in range(n + 1)]
    for i in range(1, n + 1):
        for c in range(room + 1):
            best[i][c] = best[i - 1][c]
            if weights[i - 1] <= c:
                best[i][c] = max(best[i][c], best[i - 1][c - weights[i - 1]] + values[i - 1])
    return best[n][room], best[n]


def shapes_read_in_loops(jaxpr, inside=False):
    """The shapes of what the loops of a program read at traced indices."""
    for equation in jaxpr.eqns:
        is_loop = equation.primitive.name in ("scan", "while")
        if inside and equation.primitive.name == "dynamic_slice":
            yield equation.outvars[0].aval.shape
        for inner in jax.tree.leaves(
            list(equation.params.values()), is_leaf=lambda leaf: isinstance(leaf, jax.extend.core.ClosedJaxpr)
        ):
            if isinstance(inner, jax.extend.core.ClosedJaxpr):
                yield from shapes_read_in_loops(inner.jaxpr, inside or is_loop)


@pytest.mark.parametrize("program", [common_subsequence, edit_distance, knapsack])
def test_a_table_filled_by_nested_loops_is_one_array(program):
    """It was an array for each row, and each element written a select of all rows: minutes for 200 rows."""
    jaxpr = jax.make_jaxpr(ag.convert(program))(A, B + 1)
    (loop,) = [each for each in jaxpr.eqns if each.primitive.name == "scan" and (N + 1,) not in _shapes(each)][-1:]
    assert len(loop.outvars) < 6
    check_same(ag.function(program)(A, B + 1), program(np.asarray(A), np.asarray(B + 1)))


def _shapes(equation):
    return [variable.aval.shape for variable in equation.outvars]


@pytest.mark.parametrize("program", [common_subsequence, edit_distance, knapsack])
def test_loops_read_and_write_no_rows_of_a_table(program):
    jaxpr = jax.make_jaxpr(ag.convert(program))(A, B).jaxpr
    assert {int(np.prod(shape)) for shape in shapes_read_in_loops(jaxpr)} == {1}


X = jnp.where(A > 0, A, -1).astype(jnp.float32)


def test_a_row_that_was_read_before_a_conditional_is_read_in_elements():
    def marked(x, i, j):
        rows = [[0] * 12 for _ in range(N)]
        for k in range(1, N):
            rows[k][i] = rows[k - 1][j] + 1
            if x[k] > 0.0:
                rows[k][j] = rows[k][i] + rows[k - 1][j]
            else:
                rows[k][i] = rows[k][j] + 2
        return rows

    i, j = jnp.int32(2), jnp.int32(5)
    jaxpr = jax.make_jaxpr(ag.convert(marked))(X, i, j).jaxpr
    assert {int(np.prod(shape)) for shape in shapes_read_in_loops(jaxpr)} == {1}
    for i in (2, -4):
        check_same(staged.function(marked)(X, jnp.int32(i), j), marked(np.asarray(X), i, 5))
    found = jax.vmap(ag.convert(lambda *given: marked(*given)[-1][2]), (0, None, 0))(
        jnp.stack([X, -X]), 2, jnp.array([5, 4])
    )
    check_same(found, jnp.array([marked(np.asarray(X), 2, 5)[-1][2], marked(-np.asarray(X), 2, 4)[-1][2]]))


def test_a_row_that_a_conditional_takes_whole_is_read_before_it():
    def totals(x, j):
        rows = [[0.0] * 12 for _ in range(N)]
        for k in range(N):
            row = rows[k]
            row[j] = x[k]
            if x[k] > 0.0:
                rows[k][0] = sum(row) + row[j]
        return rows

    check_same(ag.function(totals)(X, jnp.int32(3)), totals(np.asarray(X), 3))


@pytest.mark.parametrize("i", [-9, -5, -1, 0, 3, 4, 9])
@pytest.mark.parametrize("j", [-9, -4, -1, 0, 2, 3, 9])
def test_indices_out_of_range_are_as_before(i, j):
    """JAX reads the nearest element, and drops writes."""

    def use(x, i, j):
        read = x[i][j]
        if read > -1.0:
            x = x.at[i].set(x[i].at[j].set(-7.0))
            x = x.at[i].set(x[j].at[i].set(-8.0))
        return x, read

    x = jnp.arange(15.0).reshape(5, 3)
    i, j = jnp.int32(i), jnp.int32(j)
    with jax.disable_jit():
        expected = use(x[:3], i, j)
    check_same(jax.jit(ag.convert(use))(x[:3], i, j), expected)


def test_a_table_of_numbers_of_python_stays_pythons():
    def table(x):
        rows = [[0] * 20 for _ in range(20)]
        for i in range(1, 20):
            for j in range(1, 20):
                rows[i][j] = rows[i - 1][j - 1] + 1
        return x + jnp.ones(rows[19][19]).sum()

    check_same(ag.function(table)(jnp.float32(1.0)), 20.0)


def test_another_name_of_a_row_is_that_row():
    def shared(xs):
        rows = [[0.0] * 12 for _ in range(12)]
        first = rows[0]
        for i in range(1, 12):
            for j in range(12):
                rows[i][j] = rows[i - 1][j] + xs[i]
                first[j] = xs[j]
        return rows, first

    xs = np.arange(12.0, dtype=np.float32)
    check_same(ag.function(shared)(jnp.asarray(xs)), shared(xs))
