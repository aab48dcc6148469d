"""Programs ported line by line from Fortran, MATLAB, C and R: indices from one, flags, error codes, arrays as records."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tests.programs import program


@program((np.array([4.0, 1.0, 3.0, 2.0, 9.0]), 5), (np.array([0.0, -1.0, 3.0, 2.0, -9.0]), 3), static=("n",))
def shell_sort(a, n):
    inc = 1
    while True:
        inc = 3 * inc + 1
        if inc > n:
            break
    while True:
        inc = inc // 3
        for i in range(inc + 1, n + 1):
            v = a[i - 1]
            j = i
            while a[j - inc - 1] > v:
                a[j - 1] = a[j - inc - 1]
                j = j - inc
                if j <= inc:
                    break
            a[j - 1] = v
        if inc <= 1:
            break
    return a


@program((30,), (2,), (3,))
def sieve_by_strides(n):
    flags = np.ones(40, dtype=bool)
    flags[:2] = False
    i = 2
    while i * i <= n:
        if flags[i]:
            flags[i * i :: i] = False
        i += 1
    return flags, flags[:n].sum()


class Common:
    pass


@program((np.array([[4.0, 3.0], [6.0, 3.0]]),), (np.array([[0.0, 0.0], [1.0, 0.0]]),))
def crout(a):
    block = Common()
    block.info, block.det = 0, 1.0
    n = a.shape[0]
    lu = [[float(a[i, j]) for j in range(n)] for i in range(n)]
    for k in range(n):
        for i in range(k, n):
            lu[i][k] -= sum(lu[i][m] * lu[m][k] for m in range(k))
        if lu[k][k] == 0.0:
            block.info = k + 1
            break
        for j in range(k + 1, n):
            lu[k][j] = (lu[k][j] - sum(lu[k][m] * lu[m][j] for m in range(k))) / lu[k][k]
        block.det *= lu[k][k]
    return block.info, block.det, lu


OK, INVALID, DIVISION = 0, -1, -2


def divide(x, y, out):
    if y == 0:
        return DIVISION
    if x < 0:
        return INVALID
    out[0] = x // y
    out[1] = x % y
    return OK


@program((12, 5), (12, 0), (-7, 2), bare="a dict is read at a traced key")
def error_codes(a, b):
    out = [0, 0]
    code = divide(a, b, out)
    return code, out, {OK: "ok", INVALID: "invalid", DIVISION: "division"}[code]


@program((np.array([1, 1, 0, 1, 1, 1, 0, 0]),), (np.array([0, 0, 0, 0, 0, 0, 0, 0]),))
def runs_of_ones(s):
    found = []
    start = None
    for i, c in enumerate(s):
        if c == 1:
            if start is None:
                start = i
        elif start is not None:
            found.append((start, i))
            start = None
    if start is not None:
        found.append((start, len(s)))
    return found, max((b - a for a, b in found), default=0)


@program((np.array([[1, 3], [2, 6], [8, 10], [15, 18]]),), (np.array([[1, 4], [4, 5], [0, 2], [3, 5]]),))
def merged_intervals(spans):
    spans = sorted([list(map(int, span)) for span in spans])
    merged = [spans[0]]
    for start, end in spans[1:]:
        if start <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([start, end])
    return merged


@dataclass
class Generator:
    state: list
    index: int = 0


@program((12345, 7), (99, 3), static=("n",))
def xorshift(seed, n):
    made = Generator([0] * 4)
    for i in range(4):
        seed = (seed * 69069 + 1) & 0x7FFFFFFF
        made.state[i] = seed
    out = []
    for _ in range(n):
        t = made.state[made.index]
        t ^= (t << 5) & 0x7FFFFFFF
        t ^= t >> 7
        made.state[made.index] = t
        made.index = (made.index + 1) & 3
        if t & 1:
            made.index = (made.index + (t & 2)) & 3
        out.append(t % 100)
    return out, made.index


@program(
    (np.array([1.0, 0.0, -1.0, 0.0, 1.0, 0.0, -1.0, 0.0]), 2),
    (np.array([1.0, 1.0, 1.0, 1.0, -1.0, -1.0, -1.0, -1.0]), 1),
)
def goertzel(x, k):
    w = 2 * math.pi * k / len(x)
    c = 2 * math.cos(w)
    s1 = s2 = 0.0
    for v in x:
        s1, s2 = v + c * s1 - s2, s1
    z = complex(s1 * math.cos(w) - s2, s1 * math.sin(w))
    return abs(z), abs(z) > 3, z.conjugate()
