"""Recipes as handbooks have them: of numbers, signs, windows and tables, with classes, closures and generators."""

from __future__ import annotations

import bisect
import collections
import math

import numpy as np

from tests.programs import program


@program((0.5,), (2.0,), (-1.0,), grad=True)
def muller(x):
    # numerical: continued fraction for tan with backward recurrence and a guard
    terms = [x * x / (2 * k + 1) for k in range(6, 0, -1)]
    acc = 1.0
    for n, t in zip(range(13, 1, -2), terms):
        acc = n - x * x / acc if acc != 0 else n
    return x / acc if acc else float("inf")


@program((27,), (1,), (97,))
def collatz_peak(n):
    peak = n
    steps = 0
    while n != 1:
        n = 3 * n + 1 if n & 1 else n >> 1
        peak, steps = max(peak, n), steps + 1
    else:
        steps -= 0
    return peak, steps


@program((-7, 3), (7, -3), (-8, -3), (9, 4))
def divisions(a, b):
    q, r = divmod(a, b)
    return (
        q,
        r,
        a // b,
        a % b,
        -a // b,
        -(a // b),
        (a % b) ** 2,
        abs(a) % abs(b),
        int(a / b),
        round(a / b),
        a << 2,
        a >> 1,
        ~a,
        a ^ b,
        a & b,
        a | b,
    )


@program((2.5,), (3.5,), (-0.5,), (0.5,), (1.25,))
def rounds(x):
    return round(x), round(x, 1), int(x), math.floor(x), math.ceil(x), math.trunc(x), x // 1, x % 1, round(-x)


@program((3,), (0,), (5,))
def while_else(n):
    k = 0
    found = -1
    while k < 5:
        if k == n:
            found = k * 10
            break
        k += 1
    else:
        found = 99
    return found, k


@program((np.array([3.0, 1.0, 2.0]), 2.0), (np.array([3.0, 1.0, 2.0]), 7.0))
def for_else(xs, target):
    for i, v in enumerate(xs):
        if v == target:
            pos = i
            break
    else:
        pos = len(xs)
        v = -v
    return pos, v


@program((np.array([1, 2, 3, 4, 5, 6, 7]),))
def slices_steps(a):
    a = a.copy()
    a[::2] += 10
    a[1::3] *= -1
    a[-3:] -= a[:3]
    b = a[::-1]
    c = b[1:-1:2]
    return a, b, c, a[5:1:-2], a[-1], a[-2:].sum()


@program((np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]),))
def multi_dim(m):
    m = m.copy()
    m[0, :] += m[1, ::-1]
    m[:, 1] = 0
    m[1, -1] **= 2
    m[m > 8] -= 1
    t = m.T
    s = 0.0
    for i in range(t.shape[0]):
        for j in range(t.shape[1]):
            if i != j and t[i, j] > 2:
                s += t[i, j] * (i - j)
    return m, s, m.max(axis=0), m[..., 0]


@program((10.0, 3), (2.0, 5), (1.0, 0))
def closures(x, n):
    def make(k):
        total = 0

        def add(v):
            nonlocal total
            total += v * k
            return total

        return add

    adders = [make(k) for k in (1, 2, 3)]
    i = 0
    while i < n:
        for a in adders:
            a(x)
        x = x / 2
        i += 1
    return [a(0.0) for a in adders]


@program((5.0,), (0.5,), (-2.0,))
def walrus(x):
    out = 0
    while (y := x - 1) > 0:
        x = y
        out += 1
        if (z := y * 2) > 6 and z < 99:
            out += 10
    return out, x, y


@program((np.array([4.0, 8.0, 15.0, 16.0, 23.0, 42.0]),))
def star_unpack(a):
    first, *mid, last = a
    (p, q), *rest = [(mid[0], mid[1]), 3, 4]
    return first + last, sum(mid), p - q, rest, max(*mid), [*mid, last][-1]


@program((1.0, 2.0), (2.0, 1.0), (1.0, 1.0))
def chained(a, b):
    r = 0
    if 0 < a < b <= 2:
        r += 1
    if a <= b >= 1 != a:
        r += 10
    if not a < b < 3:
        r += 100
    r += (a == b == 1.0) * 1000
    return r


@program((3.0,), (-2.0,), (0.0,))
def sign_idiom(x):
    s = (x > 0) - (x < 0)
    t = (x > 1) + (x > 2) * 2
    u = -(x > 0)
    v = +(x > 0)
    w = (x > 0) * 2.5 - (x < 0) / 2
    return s, t, u, v, w, True - (x > 0), (x > 0) // 1, 2 ** (x > 0), (x > 0) << 2, divmod(x > 0, 1)


@program((np.array([1, 5, 2, 8, 3]), 4), (np.array([1, 5, 2, 8, 3]), 0))
def kadane_window(a, k):
    best, cur, start, span = a[0], a[0], 0, (0, 0)
    for i, v in enumerate(a[1:], 1):
        if cur + v - k < v:
            cur, start = v, i
        else:
            cur += v - k
        if cur > best:
            best, span = cur, (start, i)
    return best, span


@program((np.array([2.0, -1.0, 3.0, 0.5]), 1.0))
def signal_gate(x, thr):
    state = {"open": False, "count": 0, "env": 0.0}
    out = []
    for v in x:
        state["env"] = max(abs(v), state["env"] * 0.5)
        if state["env"] > thr and not state["open"]:
            state["open"] = True
            state["count"] += 1
        elif state["env"] < thr / 2:
            state["open"] = False
        out.append(v if state["open"] else 0.0)
    return out, state


@program((4,), (0,), (7,))
def gen_pipeline(n):
    def count(n):
        i = 0
        while i < n:
            yield i
            i += 1

    def squares(src):
        for v in src:
            if v % 2:
                continue
            yield v * v

    def pairwise_sum(src):
        prev = 0
        for v in src:
            yield prev + v
            prev = v

    return sum(pairwise_sum(squares(count(n)))), max(squares(count(n)), default=-1), list(squares(count(4)))


@program((np.array([5, 3, 8, 1]), 4))
def zip_many(a, k):
    out = []
    for i, (x, y) in enumerate(zip(a, reversed(a))):
        if x > y and i < k:
            out.append((i, x - y))
    d = dict(zip("abcd", a))
    m = {v: k for k, v in d.items()} if False else {c: v * 2 for c, v in d.items() if c != "b"}
    return out, d, m, sorted(d, key=d.get), max(d, key=lambda c: d[c]), sum(d.values())


@program((np.array([[0.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]]), 2))
def life(g, n):
    g = g.copy()
    r, c = g.shape
    for _ in range(n):
        new = np.zeros_like(g)
        for i in range(r):
            for j in range(c):
                s = 0
                for di in (-1, 0, 1):
                    for dj in (-1, 0, 1):
                        if (di or dj) and 0 <= i + di < r and 0 <= j + dj < c:
                            s += g[i + di, j + dj]
                new[i, j] = 1 if s == 3 or (g[i, j] and s == 2) else 0
        g = new
    return g


@program((np.array([7, 2, 9, 4]), 11), (np.array([7, 2, 9, 4]), 100))
def two_sum(a, t):

    for i in range(len(a)):
        for j in range(i):
            if a[i] + a[j] == t:
                return (j, i)
    return None


@program(
    (np.array([1.0, 2.0, 4.0, 8.0]), 3.0), (np.array([1.0, 2.0, 4.0, 8.0]), 9.0), (np.array([1.0, 2.0, 4.0, 8.0]), 0.0)
)
def interp(xs, x):
    ys = [v * v for v in xs]
    i = bisect.bisect_right(xs, x)
    if i == 0:
        return ys[0], "left"
    if i == len(xs):
        return ys[-1], "right"
    t = (x - xs[i - 1]) / (xs[i] - xs[i - 1])
    return ys[i - 1] * (1 - t) + ys[i] * t, "in"


@program((100,), (37,), (5,))
def change(n):
    coins = [25, 10, 5, 1]
    out = collections.OrderedDict()
    for c in coins:
        out[c], n = divmod(n, c)
    return dict(out), sum(out.values()), [k for k, v in out.items() if v]


class Matrix:
    def __init__(self, rows):
        self.rows = rows

    def __matmul__(self, o):
        return Matrix([[sum(a * b for a, b in zip(r, c)) for c in zip(*o.rows)] for r in self.rows])

    def __getitem__(self, ij):
        return self.rows[ij[0]][ij[1]]

    def __setitem__(self, ij, v):
        self.rows[ij[0]][ij[1]] = v

    def __eq__(self, o):
        return self.rows == o.rows

    def __iter__(self):
        return iter(self.rows)

    def __contains__(self, v):
        return any(v in r for r in self.rows)


@program((10,), (1,), (25,))
def fib_matrix(n):
    m, r = Matrix([[1, 1], [1, 0]]), Matrix([[1, 0], [0, 1]])
    while n:
        if n & 1:
            r = r @ m
        m = m @ m
        n >>= 1
    r[1, 1] += 0
    return r[0, 1], 55 in r, r == m, [sum(row) for row in r]
