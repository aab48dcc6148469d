"""Tables of numbers of known size as lists of lists, written at computed places: textbook algorithms on matrices and grids."""

from __future__ import annotations

import numpy as np

from tests.programs import program

WORDS = (
    (np.array([3, 1, 4, 1, 5, 9, 2, 6, 5, 3]), np.array([1, 4, 1, 4, 2, 1, 3, 5, 6])),
    (np.arange(10), np.arange(9) + 5),
)


@program(*WORDS)
def longest_common_subsequence(a, b):
    n, m = len(a), len(b)
    best = [[0] * (m + 1) for _ in range(n + 1)]
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            if a[i - 1] == b[j - 1]:
                best[i][j] = best[i - 1][j - 1] + 1
            else:
                best[i][j] = max(best[i - 1][j], best[i][j - 1])
    return best[n][m], best[n], len(best), len(best[1])


@program(*WORDS)
def shortest_paths_of_all_pairs(a, b):
    n = 9
    far = 1000
    distance = [[far for _ in range(n)] for _ in range(n)]
    for i in range(n):
        distance[i][i] = 0
    for k in range(len(b)):
        u, v = a[k] % n, b[k] % n
        distance[u][v] = distance[v][u] = min(distance[u][v], k + 1)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if distance[i][k] + distance[k][j] < distance[i][j]:
                    distance[i][j] = distance[i][k] + distance[k][j]
    return distance


@program(*WORDS)
def ways_to_change(a, b):
    ways = [1] + [0] * 80
    for coin in (1, 5, 10):
        for amount in range(coin, 81):
            ways[amount] += ways[amount - coin] * a[1]
    ring, total, peak = [0] * 8, 0, 0
    for t in range(90):
        value = b[t % 9]
        total += value - ring[t % 8]
        ring[t % 8] = value
        peak = max(peak, total)
    return ways[80], ways[3], peak, ring


@program(*WORDS)
def rows_of_pascal(a, b):
    row = [b[0]]
    for _ in range(6):
        following = [row[0]]
        for k in range(len(row) - 1):
            following.append(row[k] + row[k + 1])
        following.append(row[-1])
        row = following
    return row


@program(*WORDS)
def rows_with_names(a, b):
    counts = [[0] * 9 for _ in range(9)]
    totals = [[0] * 9] * 9
    first, last = counts[0], counts[-1]
    for k in range(9):
        row = counts[a[k] % 9]
        row[b[k] % 9] += 1
        row[0] += row[b[k] % 9]
        totals[a[k] % 9][b[k] % 9] += 1
    first[3] = 50
    last.append(7)
    return counts, first, totals[0], totals[8]


@program(*WORDS)
def rows_of_a_lower_triangle(a, b):
    lower = [[0.0] * (i + 1) for i in range(9)]
    for i in range(9):
        for j in range(i + 1):
            lower[i][j] = a[i] * b[j] + (1.0 if i == j else 0.0)
    counts = [[0, 0, 0] for _ in range(3)]
    for x, y in zip(a, b):
        counts[x % 3][y % 3] += 1
    return [sum(row) for row in lower], counts, max(max(row) for row in counts)


@program(*WORDS)
def determinant(a, b):
    n = 4
    m = [[float(a[(i * 3 + j * j) % 10]) + (0.5 if i == j else 0.0) for j in range(n)] for i in range(n)]
    sign = 1
    for c in range(n):
        p = c
        for r in range(c + 1, n):
            if abs(m[r][c]) > abs(m[p][c]):
                p = r
        if abs(m[p][c]) < 1e-9:
            return 0.0
        if p != c:
            m[c], m[p] = m[p], m[c]
            sign = -sign
        for r in range(c + 1, n):
            factor = m[r][c] / m[c][c]
            for k in range(c, n):
                m[r][k] -= factor * m[c][k]
    product = sign * 1.0
    for i in range(n):
        product *= m[i][i]
    return product


@program(*WORDS)
def rows_exchanged(a, b):
    rows = [[a[k], b[k], k] for k in range(9)]
    for k in range(9):
        i, j = a[k] % 9, b[k] % 9
        rows[i], rows[j] = rows[j], rows[i]
        rows[i][2] += 1
    p = b[0] % 9
    rows[-1], rows[p] = rows[p], rows[-1]
    return rows
