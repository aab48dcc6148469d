"""Rows of a list of lists that a condition exchanges, in one assignment or through a variable, before writes to them."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests import staged
from tests.agreement import differences

A = [[0.0, 2.0, 1.0, 3.0], [2.0, 1.0, 1.0, 4.0], [1.0, 1.0, 5.0, 7.0]]
B = [[4.0, 2.0, 1.0, 3.0], [2.0, 1.0, 3.0, 4.0], [8.0, 1.0, 5.0, 7.0]]
C = [[9.0, 2.0, 1.0, 3.0], [2.0, 1.0, 3.0, 4.0], [8.0, 1.0, 5.0, 7.0]]


def row_of_the_pivot(rows, i):
    p = i
    for j in range(i + 1, len(rows)):
        if abs(rows[j][i]) > abs(rows[p][i]):
            p = j
    return p


def solved(table):
    rows, n = [list(row) for row in table], len(table)
    for i in range(n):
        p = row_of_the_pivot(rows, i)
        if p != i:
            kept = rows[i]
            rows[i] = rows[p]
            rows[p] = kept
        for j in range(i + 1, n):
            f = rows[j][i] / rows[i][i]
            for k in range(i, n + 1):
                rows[j][k] -= f * rows[i][k]
    x = [0.0] * n
    for i in range(n - 1, -1, -1):
        x[i] = rows[i][n]
        for j in range(i + 1, n):
            x[i] -= rows[i][j] * x[j]
        x[i] = x[i] / rows[i][i]
    return x


class Matrix:
    def __init__(self, table):
        self.rows = [list(row) for row in table]

    def exchange(self, i, p):
        self.rows[i], self.rows[p] = self.rows[p], self.rows[i]

    def exchange_through_a_variable(self, i, p):
        kept = self.rows[i]
        self.rows[i] = self.rows[p]
        self.rows[p] = kept


def of_an_object(table):
    one, other = Matrix(table), Matrix(table)
    for i in range(3):
        p = row_of_the_pivot(one.rows, i)
        if p != i:
            one.exchange(i, p)
            other.exchange_through_a_variable(i, p)
        for j in range(i + 1, 3):
            one.rows[j][i] -= one.rows[i][i] * 0.5
            other.rows[j][i] -= other.rows[i][i] * 0.5
    return one.rows, other.rows


def variable_written_after(table):
    rows = [list(row) for row in table]
    p = row_of_the_pivot(rows, 0)
    kept = rows[0]
    rows[0] = rows[p]
    rows[p] = kept
    kept[1] = 50.0
    rows[0][2] = 60.0
    return rows, kept, rows[p][1]


def numbers(table):
    xs, p = list(table[0]), 1
    if xs[2] < xs[3]:
        p = 3
    kept = xs[0]
    xs[0] = xs[p]
    xs[p] = kept
    return xs, kept


@pytest.mark.parametrize("f", [solved, of_an_object, variable_written_after, numbers])
def test_rows_are_written_after_an_exchange(f):
    for table in (A, B, C):
        wanted, given = f(table), jnp.array(table)
        assert list(differences(wanted, staged.function(f)(given))) == []
        assert list(differences(wanted, staged.jitted(f)(given))) == []
    mapped = jax.vmap(ag.convert(f))(jnp.array([A, C]))
    assert list(differences(f(C), jax.tree.map(lambda part: part[1], mapped))) == []


class Noted:
    """Items whose reads and writes are noted, in order."""

    def __init__(self, items):
        self.items, self.log = items, []

    def __getitem__(self, key):
        self.log.append(("read", key))
        return self.items[key]

    def __setitem__(self, key, value):
        self.log.append(("written", key))
        self.items[key] = value


def test_items_of_a_class_are_read_and_written_in_the_same_order():
    def f(x):
        noted = Noted([x, x + 1])
        kept = noted[0]
        noted[0] = noted[1]
        noted[1] = kept
        return noted.items, noted.log

    items, log = ag.function(f)(jnp.array(3))
    assert (list(map(int, items)), log) == f(3)


def test_views_of_a_numpy_array_are_exchanged_as_in_python():
    def f(x):
        table = np.arange(6.0).reshape(3, 2)
        kept = table[0]
        table[0] = table[2]
        table[2] = kept
        return table + x, kept + x

    assert list(differences(f(1.0), ag.function(f)(jnp.array(1.0)))) == []
