"""Systems of linear equations, as lists of lists: elimination with a pivot that is found while the program runs."""

from __future__ import annotations

from tests.programs import program

FIRST = ([[0.5, 2.0, -1.0], [-3.0, -1.0, 2.0], [-2.0, 1.0, 2.0]], [8.0, -11.0, -3.0])
SECOND = ([[4.0, 2.0, -1.0], [-3.0, -1.0, 2.0], [-2.0, 7.0, 2.0]], [1.0, 0.5, -2.0])


@program(FIRST, SECOND, grad=True)
def solved(rows, right):
    n = len(rows)
    a = [[rows[i][j] for j in range(n)] + [right[i]] for i in range(n)]
    for k in range(n):
        p = k
        for i in range(k + 1, n):
            if abs(a[i][k]) > abs(a[p][k]):
                p = i
        a[k], a[p] = a[p], a[k]
        for i in range(k + 1, n):
            f = a[i][k] / a[k][k]
            for j in range(k, n + 1):
                a[i][j] -= f * a[k][j]
    x = [0.0] * n
    for i in range(n - 1, -1, -1):
        s = a[i][n]
        for j in range(i + 1, n):
            s -= a[i][j] * x[j]
        x[i] = s / a[i][i]
    return x


@program(FIRST, SECOND)
def triangular(rows, right):
    n = len(rows)
    a = [list(row) for row in rows]
    b = list(right)
    for k in range(n):
        p = k
        for i in range(k + 1, n):
            if abs(a[i][k]) > abs(a[p][k]):
                p = i
        if p != k:
            a[k], a[p] = a[p], a[k]
            b[k], b[p] = b[p], b[k]
        for i in range(k + 1, n):
            f = a[i][k] / a[k][k]
            for j in range(k, n):
                a[i][j] -= f * a[k][j]
            b[i] -= f * b[k]
    return a, b


@program((FIRST[0],), (SECOND[0],), ([[1.0, 2.0], [2.0, 4.0]],))
def determinant(rows):
    n = len(rows)
    a = [[rows[i][j] for j in range(n)] for i in range(n)]
    d = 1.0
    for k in range(n):
        p = k
        for i in range(k + 1, n):
            if abs(a[i][k]) > abs(a[p][k]):
                p = i
        if a[p][k] == 0:
            return 0.0
        if p != k:
            a[p], a[k] = a[k], a[p]
            d = -d
        d *= a[k][k]
        for i in range(k + 1, n):
            f = a[i][k] / a[k][k]
            for j in range(k + 1, n):
                a[i][j] -= f * a[k][j]
    return d


@program((FIRST[0],), (SECOND[0],))
def inverse(rows):
    n = len(rows)
    a = [[rows[i][j] for j in range(n)] + [1.0 if i == j else 0.0 for j in range(n)] for i in range(n)]
    for column in range(n):
        pivot = column
        best = abs(a[column][column])
        for r in range(column + 1, n):
            if abs(a[r][column]) > best:
                best = abs(a[r][column])
                pivot = r
        temp = a[column]
        a[column] = a[pivot]
        a[pivot] = temp
        d = a[column][column]
        for j in range(2 * n):
            a[column][j] /= d
        for r in range(n):
            if r != column:
                f = a[r][column]
                for j in range(2 * n):
                    a[r][j] -= f * a[column][j]
    return [row[n:] for row in a]


@program(FIRST, SECOND)
def solved_by_rows(rows, right):
    n = len(rows)
    a = [[*row, b] for row, b in zip(rows, right, strict=True)]
    for k in range(n):
        p = max(range(k, n), key=lambda i: abs(a[i][k]))
        a[k], a[p] = a[p], a[k]
        for i in range(n):
            if i != k:
                f = a[i][k] / a[k][k]
                a[i] = [u - f * v for u, v in zip(a[i], a[k], strict=True)]
    return [a[i][n] / a[i][i] for i in range(n)]
