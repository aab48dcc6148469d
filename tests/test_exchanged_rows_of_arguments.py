"""Elimination with a pivot: a function that exchanges and writes the rows of a list of lists that another function has made."""

from __future__ import annotations

import copy

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests import staged

MATRICES = [[[0.0, 2.0, 1.0], [1.0, 1.0, 0.0], [3.0, 2.0, 1.0]], [[5.0, 2.0, 1.0], [1.0, 1.0, 0.0], [3.0, 2.0, 1.0]]]


def determinant(m):
    sign, n = 1.0, len(m)
    for k in range(n):
        pivot = k
        for i in range(k + 1, n):
            if abs(m[i][k]) > abs(m[pivot][k]):
                pivot = i
        if pivot != k:
            m[k], m[pivot] = m[pivot], m[k]
            sign = -sign
        for i in range(k + 1, n):
            m[i][k] /= m[k][k]
            for j in range(k + 1, n):
                m[i][j] -= m[i][k] * m[k][j]
    return sign * m[0][0] * m[1][1] * m[2][2]


def solve(m, b):
    n = len(m)
    for i in range(n):
        best = i
        for j in range(i + 1, n):
            if abs(m[j][i]) > abs(m[best][i]):
                best = j
        if best != i:
            row = m[i]
            m[i] = m[best]
            m[best] = row
            b[i], b[best] = b[best], b[i]
        for j in range(i + 1, n):
            factor = m[j][i] / m[i][i]
            for k in range(i, n):
                m[j][k] -= factor * m[i][k]
            b[j] -= factor * b[i]
    x = [0.0] * n
    for i in reversed(range(n)):
        x[i] = (b[i] - sum(m[i][j] * x[j] for j in range(i + 1, n))) / m[i][i]
    return x


def of_copied_rows(a):
    return determinant([row[:] for row in a])


def of_lists_of_rows(a):
    return determinant([list(row) for row in a]), determinant([a[0][:], list(a[1]), [2 * v for v in a[2]]])


def of_mapped_and_copied_rows(a):
    first, second, third = [list(row) for row in a]
    return determinant(list(map(list, a))), determinant(copy.deepcopy(a)), determinant([first, second, third])


def of_a_variable(a):
    m = [[2 * v for v in row] for row in a] if len(a) == 3 else None
    return determinant(m), m


def of_rows_with_names(a):
    first, second, third = [list(row) for row in a]
    return determinant([first[:], list(second), third[:]])


def of_a_dict(a):
    state = {"m": [list(row) for row in a]}
    return determinant(state["m"])


def of_a_system(a):
    b = [row[0] for row in a]
    return solve([row[:] for row in a], b), b


def of_made_rows(a):
    def made():
        return [[2.0, a[0][0], 1.0], [3.0, a[0][1], 1.0], [a[0][2], 2.0, 1.0]]

    return determinant(made())


@pytest.mark.parametrize(
    "program",
    [
        of_made_rows,
        of_copied_rows,
        of_lists_of_rows,
        of_mapped_and_copied_rows,
        of_a_variable,
        of_rows_with_names,
        of_a_dict,
        of_a_system,
    ],
)
def test_as_in_python(program):
    compiled, jitted = ag.function(program), jax.jit(ag.convert(program))
    for matrix in MATRICES:
        expected = jax.tree.leaves(program(copy.deepcopy(matrix)))
        for run in (compiled, jitted):
            np.testing.assert_allclose(
                jax.tree.leaves(run(jax.tree.map(jnp.array, matrix))), expected, rtol=1e-5, atol=1e-6
            )


def test_batches_and_derivatives():
    found = jax.vmap(ag.convert(lambda a: of_copied_rows([list(row) for row in a])))(jnp.array(MATRICES))
    np.testing.assert_allclose(found, [of_copied_rows(copy.deepcopy(each)) for each in MATRICES], rtol=1e-5)
    matrix = jnp.array(MATRICES[1])
    found = jax.grad(ag.convert(lambda a: of_copied_rows([list(row) for row in a])))(matrix)
    np.testing.assert_allclose(found, np.linalg.det(matrix) * np.linalg.inv(matrix).T, rtol=1e-4)


def read_by_another_name(a):
    m = [list(row) for row in a]
    first = m[0]
    found = determinant(m)
    return found, first[0]


def test_a_row_with_another_name_is_refused_or_as_in_python():
    for matrix in MATRICES:
        try:
            found = staged.function(read_by_another_name)(jax.tree.map(jnp.array, matrix))
        except ag.StagingError:
            continue
        np.testing.assert_allclose(found, read_by_another_name(copy.deepcopy(matrix)), rtol=1e-5)
