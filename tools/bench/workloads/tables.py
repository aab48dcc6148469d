"""Dynamic programming over lists of lists, as textbooks write it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from autograph.tools.bench.workloads.workload import Program, Workload


def _subsequence(_: Any) -> Program:
    def subsequence(a, b):
        n, m = len(a), len(b)
        best = [[0] * (m + 1) for _ in range(n + 1)]
        for i in range(1, n + 1):
            for j in range(1, m + 1):
                if a[i - 1] == b[j - 1]:
                    best[i][j] = best[i - 1][j - 1] + 1
                else:
                    best[i][j] = max(best[i - 1][j], best[i][j - 1])
        return best[n][m]

    return subsequence


def _subsequence_by_hand() -> Mapping[str, Program]:
    import jax.numpy as jnp
    from jax import lax

    def whole_table(a, b):
        n, m = len(a), len(b)

        def cell(i, j, best):
            longer = jnp.maximum(best[i - 1, j], best[i, j - 1])
            return best.at[i, j].set(jnp.where(a[i - 1] == b[j - 1], best[i - 1, j - 1] + 1, longer))

        def row(i, best):
            return lax.fori_loop(1, m + 1, lambda j, best: cell(i, j, best), best)

        return lax.fori_loop(1, n + 1, row, jnp.zeros((n + 1, m + 1), jnp.int32))[n, m]

    def by_rows(a, b):
        def row(before, x):
            def cell(carry, given):
                left, diagonal = carry
                y, up = given
                value = jnp.where(x == y, diagonal + 1, jnp.maximum(up, left))
                return (value, up), value

            _, found = lax.scan(cell, (jnp.int32(0), before[0]), (b, before[1:]))
            return jnp.concatenate([jnp.zeros(1, jnp.int32), found]), None

        return lax.scan(row, jnp.zeros(len(b) + 1, jnp.int32), a)[0][-1]

    return {"straightforward": whole_table, "best": by_rows}


def _distance(_: Any) -> Program:
    def distance(a, b):
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
        return steps[n][m]

    return distance


def _distance_by_hand() -> Mapping[str, Program]:
    import jax.numpy as jnp
    from jax import lax

    def whole_table(a, b):
        n, m = len(a), len(b)
        start = jnp.zeros((n + 1, m + 1), jnp.int32).at[:, 0].set(jnp.arange(n + 1)).at[0].set(jnp.arange(m + 1))

        def cell(i, j, steps):
            changed = steps[i - 1, j - 1] + jnp.where(a[i - 1] == b[j - 1], 0, 1)
            return steps.at[i, j].set(jnp.minimum(jnp.minimum(steps[i - 1, j], steps[i, j - 1]) + 1, changed))

        def row(i, steps):
            return lax.fori_loop(1, m + 1, lambda j, steps: cell(i, j, steps), steps)

        return lax.fori_loop(1, n + 1, row, start)[n, m]

    return {"straightforward": whole_table}


def _knapsack(_: Any) -> Program:
    def knapsack(weights, values):
        n = room = len(weights)
        best = [[0] * (room + 1) for _ in range(n + 1)]
        for i in range(1, n + 1):
            for c in range(room + 1):
                best[i][c] = best[i - 1][c]
                if weights[i - 1] <= c:
                    best[i][c] = max(best[i][c], best[i - 1][c - weights[i - 1]] + values[i - 1])
        return best[n][room]

    return knapsack


def _knapsack_by_hand() -> Mapping[str, Program]:
    import jax.numpy as jnp
    from jax import lax

    def whole_table(weights, values):
        n = room = len(weights)

        def cell(i, c, best):
            weight, without = weights[i - 1], best[i - 1, c]
            taken = best[i - 1, jnp.maximum(c - weight, 0)] + values[i - 1]
            return best.at[i, c].set(jnp.where(weight <= c, jnp.maximum(without, taken), without))

        def row(i, best):
            return lax.fori_loop(0, room + 1, lambda c, best: cell(i, c, best), best)

        return lax.fori_loop(1, n + 1, row, jnp.zeros((n + 1, room + 1), jnp.int32))[n, room]

    def by_rows(weights, values):
        places = jnp.arange(len(weights) + 1)

        def row(best, item):
            weight, value = item
            return jnp.where(places >= weight, jnp.maximum(best, best[places - weight] + value), best), None

        return lax.scan(row, jnp.zeros(len(weights) + 1, jnp.int32), (weights, values))[0][-1]

    return {"straightforward": whole_table, "best": by_rows}


def _words(quick: bool) -> tuple[Any, ...]:
    random, n = np.random.default_rng(0), 20 if quick else 200
    return random.integers(0, 4, n).astype(np.int32), random.integers(0, 4, n).astype(np.int32)


def _items(quick: bool) -> tuple[Any, ...]:
    random, n = np.random.default_rng(0), 20 if quick else 200
    return random.integers(1, 50, n).astype(np.int32), random.integers(1, 100, n).astype(np.int32)


TABLES = [
    Workload(
        "subsequence",
        "the longest common subsequence of 200 and 200 symbols, a table as a list of lists",
        _subsequence,
        _words,
        _subsequence_by_hand,
    ),
    Workload(
        "distance",
        "the edit distance of 200 and 200 symbols, a table as a list of lists",
        _distance,
        _words,
        _distance_by_hand,
    ),
    Workload(
        "knapsack",
        "the knapsack problem of 200 items and room for 200, a table as a list of lists",
        _knapsack,
        _items,
        _knapsack_by_hand,
    ),
]
