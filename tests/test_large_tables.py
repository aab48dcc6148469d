"""Large lists and tables of numbers in staged loops: one array from the start, not an operand for each number."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from autograph.runtime.staging.statements.loop_state import BodyEnd

N = 20


@pytest.fixture
def operands(monkeypatch):
    """How many operands each trace of a body had."""
    found = []
    count = property(lambda self: self.__dict__["state_count"], lambda self, value: self._count(value))

    def counted(self, value):
        self.__dict__["state_count"] = value
        found.append(value)

    monkeypatch.setattr(BodyEnd, "_count", counted, raising=False)
    monkeypatch.setattr(BodyEnd, "state_count", count, raising=False)
    return found


def shortest(costs):
    n = len(costs)
    best = [[0] * n for _ in range(n)]
    for i in range(n):
        for j in range(n):
            best[i][j] = costs[i, j]
            if i > 0 and j > 0:
                best[i][j] += min(best[i - 1][j], best[i][j - 1])
            elif i > 0:
                best[i][j] += best[i - 1][j]
            elif j > 0:
                best[i][j] += best[i][j - 1]
    return best[n - 1][n - 1]


def coins(values):
    fewest = [0] + [10**6] * 400
    for value in values:
        for amount in range(1, 401):
            if amount >= value:
                fewest[amount] = min(fewest[amount], fewest[amount - value] + 1)
    return fewest[391], fewest[:5]


def smoothed(x):
    kept = [0.0] * 300
    kept[0] = x
    for i in range(1, 300):
        kept[i] = kept[i - 1] * 0.5 + i
    return kept[299], kept[3]


def in_an_object(x):
    class Grid:
        def __init__(self):
            self.cells = [[0] * N for _ in range(N)]

        def step(self, by):
            for i in range(N):
                for j in range(N):
                    if (i + j) % 3 == by % 3:
                        self.cells[i][j] += by

    grid = Grid()
    grid.step(x)
    grid.step(x + 1)
    return grid.cells[0][0], grid.cells[3][5], sum(sum(row) for row in grid.cells)


def of_products(x):
    a = [[i + j for j in range(N)] for i in range(N)]
    b = [[i - j for j in range(N)] for i in range(N)]
    c = [[0] * N for _ in range(N)]
    for i in range(N):
        for j in range(N):
            total = 0
            for k in range(N):
                total += a[i][k] * b[k][j]
            c[i][j] = total * x
    return c[3][4], c[19][19]


def through_a_row(x):
    cells = [[0] * N for _ in range(N)]
    for i in range(N):
        row = cells[i]
        for j in range(N):
            row[j] = i * j + x
            if j > 0:
                row[j] += row[j - 1]
    return cells[3][4], cells[19]


def a_row_by_another_name(x):
    cells = [[0] * N for _ in range(N)]
    top = cells[0]
    for i in range(N):
        for j in range(N):
            cells[i][j] = i * j + x
            top[0] += 1
    return top[0], top[3], cells[0][0], cells[5][5], top is cells[0]


def one_row_many_times(x):
    cells = [[0] * N] * N
    for i in range(N):
        for j in range(N):
            cells[i][j] += x
    return cells[3][4], cells[19][0]


def rows_that_change_places(x):
    cells = [[i * N + j for j in range(N)] for i in range(N)]
    for i in range(N // 2):
        cells[i], cells[N - 1 - i] = cells[N - 1 - i], cells[i]
    for i in range(N):
        for j in range(N):
            cells[i][j] += x
    return cells[0][0], cells[19][19]


def rows_that_grow(x):
    cells = [[0] * N for _ in range(N)]
    for i in range(N):
        if x > i:
            cells[i].append(x)
    return len(cells[0]), len(cells[19]), sum(map(len, cells))


def rows_bound_anew(x):
    cells = [[0] * N for _ in range(N)]
    for i in range(N):
        if x > i:
            cells[i] = [x, i]
    return cells[0], cells[19], len(cells[0])


def longer(x):
    kept = [0] * 300
    for i in range(100):
        if x > i:
            kept.append(i)
    return len(kept), kept[-1]


def shorter(x):
    kept = list(range(300))
    total = 0
    while kept and kept[-1] > x:
        total += kept.pop()
    return total, len(kept)


def two_generations(x):
    cells = [[(i * j + i) % 3 == 0 for j in range(N)] for i in range(N)]
    for _ in range(2):
        new = [[False] * N for _ in range(N)]
        for i in range(N):
            for j in range(N):
                alive = 0
                for a in (-1, 0, 1):
                    for b in (-1, 0, 1):
                        if (a or b) and cells[(i + a) % N][(j + b) % N]:
                            alive += 1
                new[i][j] = alive == 3 or (cells[i][j] and alive == 2)
        cells = new
    return sum(sum(row) for row in cells) + x


COSTS = np.random.default_rng(0).integers(1, 9, (N, N)).astype(np.int32)
PROGRAMS = [
    *[(shortest, COSTS), (coins, np.array([1, 5, 7, 25], np.int32)), (smoothed, np.float32(1.5))],
    *[(in_an_object, 8), (of_products, 3), (through_a_row, 3), (a_row_by_another_name, 3), (one_row_many_times, 3)],
    *[
        (rows_that_change_places, 3),
        (rows_that_grow, 8),
        (rows_bound_anew, 8),
        (longer, 8),
        (longer, -2),
        (shorter, 290),
    ],
    (two_generations, 3),
]


@pytest.mark.parametrize("function, argument", PROGRAMS, ids=lambda value: getattr(value, "__name__", ""))
def test_as_python(function, argument):
    want = jax.tree.leaves(function(argument))
    got = jax.tree.leaves(ag.function(function)(jnp.asarray(argument)))
    assert len(want) == len(got) and all(np.allclose(a, b) for a, b in zip(want, got, strict=True))


@pytest.mark.parametrize("function, argument", PROGRAMS[:5], ids=lambda value: getattr(value, "__name__", ""))
def test_no_number_is_an_operand(function, argument, operands):
    ag.function(function)(jnp.asarray(argument))
    assert operands and max(operands) < N


def test_under_vmap_and_in_gradients():
    xs = jnp.array([1.5, -2.0], jnp.float32)
    found = jax.vmap(ag.convert(smoothed))(xs)
    for k, x in enumerate(xs):
        assert np.allclose([each[k] for each in found], smoothed(float(x)))
    assert np.allclose(jax.grad(lambda x: ag.convert(smoothed)(x)[1])(2.0), 0.125)


def test_a_large_table_that_is_only_read_is_one_loop_in_one_loop():
    """Though all of its numbers are known, and no name leads to a row."""

    def f(x):
        cells = [[(i * j) % 7 for j in range(N)] for i in range(N)]
        total = x * 0
        for i in range(N):
            for j in range(N):
                if cells[i][j] > x:
                    total += cells[i][j]
        return total

    for x in (3, -1, 9):
        assert int(ag.function(f)(jnp.array(x))) == int(f(x))
    assert len(jax.make_jaxpr(ag.convert(f))(jnp.array(3)).eqns) < N


def test_shapes_of_its_numbers():
    """Where a number of the list must be known, the trace is made again with the numbers apart."""

    def f(x):
        sizes = list(range(300))
        for i in ag.range(x):
            x = x + jnp.zeros(sizes[3]).shape[0] + i
            sizes[4] = i
        return x

    assert int(ag.function(f)(jnp.array(7))) == 7 * 4 + 21
