"""Programs as they come from other languages: Fortran, C, Java, Haskell, MATLAB, BASIC, Lua."""

from __future__ import annotations

import numpy as np

from tests.programs import program


@program((27,), (1,), (8,))
def goto_machine(n):
    label = 10
    steps = 0
    while label != 99:
        if label == 10:
            if n == 1:
                label = 99
            elif n % 2 == 0:
                label = 20
            else:
                label = 30
        elif label == 20:
            n = n // 2
            steps += 1
            label = 10
        elif label == 30:
            n = 3 * n + 1
            steps = steps + 1
            label = 10
    return steps


@program((np.array([1, 5, 3, -1, 7]), 3), (np.array([1, 5, 3, -1, 7]), 99), (np.array([-1, 5, 3, 2, 7]), 5))
def sentinel_search(data, key):
    i = 0
    found = 0
    while data[i] != -1:
        if data[i] == key:
            found = 1
            break
        i += 1
    else:
        found = 2
    return i, found


def foldl(f, z, xs):
    for x in xs:
        z = f(z, x)
    return z


def foldr(f, z, xs):
    if not xs:
        return z
    head, *tail = xs
    return f(head, foldr(f, z, tail))


@program(([1, 2, 3],), ([3.0, -1.0, 2.0],), ([5],))
def folds(xs):
    s = foldl(lambda a, b: a * 2 + b, 0, xs)
    m = foldl(lambda acc, b: b if acc is None or b > acc else acc, None, xs)
    r = foldr(lambda a, b: a - b, 0, xs)
    return s, m, r


@program(
    (np.array([1.0, -2.0, 3.0, -4.0]),), (np.array([-1.0, -2.0, -3.0, -4.0]),), (np.array([np.nan, 1.0, 0.0, -0.0]),)
)
def masks(x):
    y = np.zeros(4)
    idx = x > 0
    y[idx] = x[idx] ** 2
    y[~idx] = -1
    n = idx.sum()
    if not idx.any():
        m = 0.0
    else:
        m = x[idx].mean()
    first = np.flatnonzero(idx)
    k = first[0] if len(first) > 0 else -1
    return y, n, m, k


@program((7, 3), (100, 7), (5, 0), (0, 4), (-7, 3))
def basic_divide(A, B):
    if B == 0:
        return "DIVISION BY ZERO", 0, 0
    S = 1
    if A < 0:
        S = -S
        A = -A
    if B < 0:
        S = -S
        B = -B
    Q = 0
    while A >= B:
        A = A - B
        Q = Q + 1
    return "OK", S * Q, A


@program((255,), (0,), (8,), (1,), bare="what grows without a bound that is known beforehand")
def binary_string(n):
    s = ""
    m = n
    while True:
        s = str(m % 2) + s
        m = m // 2
        if m == 0:
            break
    ones = s.count("1")
    return s, int(s, 2) == n, ones, s.zfill(8) if False else s.rjust(8, "0"), bin(n) if False else s.lstrip("0")


@program((np.array([1, 0, 1, 1]),), (np.array([0, 0, 0, 0]),), (np.array([2, 0, 0, 0]),))
def from_bits(bits):
    s = "".join(str(b) for b in bits)
    try:
        return int(s, 2)
    except ValueError:
        return -1
