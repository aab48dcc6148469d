"""Programs that write to arrays among their arguments, as NumPy's and numba's users do, each with the arguments of two calls."""

from __future__ import annotations

import numpy as np


def swap(a, i, j):
    a[i], a[j] = a[j], a[i]


def quicksort(a):
    stack = np.zeros((32, 2), np.int32)
    top = 1
    stack[0, 0] = 0
    stack[0, 1] = len(a) - 1
    while top > 0:
        top -= 1
        lo = stack[top, 0]
        hi = stack[top, 1]
        if lo < hi:
            p = a[hi]
            i = lo
            for j in range(lo, hi):
                if a[j] < p:
                    swap(a, i, j)
                    i += 1
            swap(a, i, hi)
            stack[top, 0] = lo
            stack[top, 1] = i - 1
            top += 1
            stack[top, 0] = i + 1
            stack[top, 1] = hi
            top += 1


def insertion(a):
    for i in range(1, len(a)):
        key = a[i]
        j = i - 1
        while j >= 0 and a[j] > key:
            a[j + 1] = a[j]
            j -= 1
        a[j + 1] = key


def gauss(A, b):
    n = len(b)
    for k in range(n):
        p = k + np.argmax(np.abs(A[k:, k]))
        if p != k:
            t = A[k].copy()
            A[k] = A[p]
            A[p] = t
            b[k], b[p] = b[p], b[k]
        for i in range(k + 1, n):
            f = A[i, k] / A[k, k]
            A[i, k:] -= f * A[k, k:]
            b[i] -= f * b[k]
    x = np.zeros(n)
    for i in range(n - 1, -1, -1):
        x[i] = (b[i] - A[i, i + 1 :] @ x[i + 1 :]) / A[i, i]
    return x


def life(grid):
    new = grid.copy()
    n, m = grid.shape
    for i in range(n):
        for j in range(m):
            c = 0
            for di in (-1, 0, 1):
                for dj in (-1, 0, 1):
                    if di or dj:
                        c += grid[(i + di) % n, (j + dj) % m]
            if grid[i, j] == 1 and (c < 2 or c > 3):
                new[i, j] = 0
            elif grid[i, j] == 0 and c == 3:
                new[i, j] = 1
    grid[:] = new


def fft(re, im):
    n = len(re)
    j = 0
    for i in range(n - 1):
        if i < j:
            re[i], re[j] = re[j], re[i]
            im[i], im[j] = im[j], im[i]
        m = n >> 1
        while m >= 1 and j & m:
            j ^= m
            m >>= 1
        j |= m
    size = 2
    while size <= n:
        for start in range(0, n, size):
            for k in range(size // 2):
                w = -2 * np.pi * k / size
                a = start + k
                b = a + size // 2
                tr = re[b] * np.cos(w) - im[b] * np.sin(w)
                ti = re[b] * np.sin(w) + im[b] * np.cos(w)
                re[b] = re[a] - tr
                im[b] = im[a] - ti
                re[a] += tr
                im[a] += ti
        size *= 2


def sieve(flags):
    flags[:2] = False
    n = len(flags)
    for i in range(2, n):
        if flags[i]:
            for j in range(i * i, n, i):
                flags[j] = False
    return flags.sum()


def histogram(xs, bins):
    for v in xs:
        k = int(v)
        if 0 <= k < len(bins):
            bins[k] += 1


def prefix(a):
    for i in range(1, len(a)):
        a[i] += a[i - 1]
    return a[-1]


def blur(img):
    out = np.empty_like(img)
    for i in range(img.shape[0]):
        for j in range(img.shape[1]):
            lo = max(i - 1, 0)
            hi = min(i + 2, img.shape[0])
            s = 0.0
            for k in range(lo, hi):
                s += img[k, j]
            out[i, j] = s / (hi - lo)
    img[...] = out


def relax(u, f, steps):
    for _ in range(steps):
        for i in range(1, len(u) - 1):
            u[i] = 0.5 * (u[i - 1] + u[i + 1] + f[i])
    return abs(u).max()


def shuffle(a, r):
    for i in range(len(a) - 1, 0, -1):
        j = r[i] % (i + 1)
        a[i], a[j] = a[j], a[i]


def lu(A, piv):
    n = A.shape[0]
    for k in range(n):
        p = k
        for i in range(k, n):
            if abs(A[i, k]) > abs(A[p, k]):
                p = i
        piv[k] = p
        if p != k:
            for j in range(n):
                A[k, j], A[p, j] = A[p, j], A[k, j]
        for i in range(k + 1, n):
            A[i, k] /= A[k, k]
            for j in range(k + 1, n):
                A[i, j] -= A[i, k] * A[k, j]


def transpose(A):
    for i in range(A.shape[0]):
        for j in range(i):
            A[i, j], A[j, i] = A[j, i], A[i, j]


def pingpong(a, b, n):
    for _ in range(n):
        b[1:-1] = 0.5 * (a[:-2] + a[2:])
        a, b = b, a
    return a


def rows(m):
    for i in range(m.shape[0]):
        row = m[i]
        for j in range(1, len(row)):
            row[j] += row[j - 1]
    return m.sum()


def rows2(m):
    for row in m:
        row[0] = row.sum()


def normalize(m):
    m -= m.mean(axis=0)
    m /= 2
    return m


def axpy(y, a, x):
    y += a * x


def chain(u, v):
    axpy(u, 2.0, v)
    w = u
    w *= 2
    return w[0] + u[1]


def masks(x):
    x[x < 0] = 0
    x[x > 3] *= 0.5
    np.clip(x, 0.5, 2.0, out=x)
    return x.max()


def floyd(d):
    n = len(d)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if d[i, k] + d[k, j] < d[i, j]:
                    d[i, j] = d[i, k] + d[k, j]


def reverse(a):
    i, j = 0, len(a) - 1
    while i < j:
        a[i], a[j] = a[j], a[i]
        i += 1
        j -= 1


def rec(a, lo, hi):
    if lo < hi:
        a[lo], a[hi] = a[hi], a[lo]
        rec(a, lo + 1, hi - 1)


def recrev(a):
    rec(a, a[0] * 0, a[0] * 0 + len(a) - 1)


class Grid:
    def __init__(self, u):
        self.u = u

    def step(self):
        self.u[1:-1] = (self.u[:-2] + self.u[2:]) / 2


def obj(u):
    g = Grid(u)
    for _ in range(3):
        g.step()
    return g.u.sum()


def dct(d):
    d["a"][0] = d["b"].sum()
    d["b"] += 1
    return d["a"] * 2


def lst(xs):
    for x in xs:
        x[0] = 7
    xs[0][1] += xs[1][0]
    return len(xs)


def lstswap(xs):
    xs[0], xs[1] = xs[1], xs[0]
    xs[0][0] = 100.0


def cond(x, c):
    if c > 0:
        x[0] = 1
    else:
        x[1] = 2
    return x[0]


def early(x, c):
    for i in range(len(x)):
        if x[i] > c:
            return i
        x[i] = c
    return -1


def rebound(x):
    x = x + 1
    x[0] = 100
    return x


def rebound2(x, c):
    if c > 0:
        x = x * 2
    x[0] = 9
    return x


def copies(x):
    y = x.copy()
    y[0] = 1
    z = np.array(x)
    z[1] = 1
    w = x.flatten()
    w[0] = 5
    v = x.astype(x.dtype)
    v[0] = 6
    q = x[[0, 1]]
    q[0] = 6
    x[2] = 3
    return y, z, w, v, q


def viewT(m):
    t = m.T
    t[0, 1] = 5
    m[1, 1] = 7
    return t[1]


def meth(x):
    x.sort()
    x[::-1].sort()
    x[1:3].fill(4)
    return x


def trywrite(x, c):
    try:
        x[0] = 5
        if c > 0:
            raise ValueError
        x[1] = 6
    except ValueError:
        x[2] = 7
    return x[0]


def integers(k):
    k[0] = 2.7
    k[1] += 1
    return k[1]


def cumulative(x, out):
    np.cumsum(x, out=out)
    np.add.at(out, np.array([0, 0]), 1.0)


def closure(x):
    def put(i, v):
        x[i] = v

    for i in range(len(x)):
        put(i, i * 2.0)
    return x[0]


def nested_list(a, b):
    pair = [a, b]
    for p in pair:
        p[0] += 1
    pair[0][1] = 50
    return a[0] + b[0]


def while_view(x):
    b = x[1:]
    k = 0
    while b[k] > 0:
        b[k] -= 1
        if b[k] < 1:
            k += 1
    return k


def ternary(a, b, c):
    t = a if c > 0 else b
    t[0] = 9
    t[1:] += 1
    return a[0]


F = np.float32
rng = np.random.default_rng(0)


def A(*values):
    return np.array(values, F)


def M(n, m=None):
    return rng.standard_normal((n, m or n)).astype(F)


def two_buffers(u, n):
    """The loop writes to an array of its own first, to that of the caller then."""
    new, steps = u.copy(), 0
    while True:
        new[1:-1] = 0.5 * (u[:-2] + u[2:])
        u, new, steps = new, u, steps + 1
        if steps >= n:
            break
    return u, new


def three_buffers(u, n):
    a, b = np.zeros(3, np.float32), np.ones(3, np.float32)
    for k in range(n):
        a[0] = k + 5
        a, b, u = b, u, a
    return u, a, b


def trajectory(state, h):
    states = np.empty((4, 3), np.float32)
    for i in range(len(states)):
        x, y, z = state
        states[i] = state
        state += h * np.array([y - x, x * z, x * y - z], np.float32)
    return states


def snapshots(a, b):
    kept = np.zeros((3, 2, 3), np.float32)
    a *= 2
    kept[0] = a
    kept[1] = [a, b]
    kept[1, 0] += b
    b[0] = a[1]
    kept[0, 1] = b[::-1]
    kept[2, :, 0] = b[:2]
    return kept


CASES = [
    (trajectory, [(A(1, 2, 3), F(0.5)), (A(0, 1, 2), F(0.25))]),
    (snapshots, [(A(1, 2, 3), A(4, 5, 6)), (A(3, 2, 1), A(0, 1, 0))]),
    (two_buffers, [(A(1, 0, 2, 8), np.int32(2)), (A(1, 0, 2, 8), np.int32(1))]),
    (three_buffers, [(A(1, 0, 2), np.int32(4)), (A(1, 0, 2), np.int32(1))]),
    (quicksort, [(A(5, 3, 8, 1, 9, 2),), (A(1, 2, 0, 7, 7, -1),)]),
    (insertion, [(A(5, 3, 8, 1),), (A(1, 9, 0, 3),)]),
    (gauss, [(M(4), A(1, 2, 3, 4)), (M(4), A(0, 1, 0, 1))]),
    (life, [((rng.random((5, 5)) < 0.5).astype(np.int32),), ((rng.random((5, 5)) < 0.5).astype(np.int32),)]),
    (fft, [(M(1, 8)[0], M(1, 8)[0]), (M(1, 8)[0], M(1, 8)[0])]),
    (sieve, [(np.ones(30, bool),), (np.arange(30) % 7 > 0,)]),
    (histogram, [(A(0, 1, 1, 5, 2.5), np.zeros(3, np.int64)), (A(2, 2, 2, 0, -0.5), np.ones(3, np.int64))]),
    (prefix, [(A(1, 2, 3),), (A(4, 4, 4),)]),
    (blur, [(M(4),), (M(4),)]),
    (relax, [(A(0, 0, 0, 0, 1), A(0, 1, 1, 0, 0), np.int32(4)), (A(1, 0, 0, 0, 1), A(0, 1, 1, 0, 0), np.int32(4))]),
    (shuffle, [(A(1, 2, 3, 4), np.array([7, 5, 3, 9])), (A(4, 3, 2, 1), np.array([1, 1, 2, 0]))]),
    (lu, [(M(4), np.zeros(4, np.int32)), (M(4), np.zeros(4, np.int32))]),
    (transpose, [(M(4),), (M(4),)]),
    (pingpong, [(A(0, 1, 2, 8, 4), A(0, 0, 0, 0, 0), np.int32(3)), (A(0, 1, 2, 8, 4), A(1, 0, 0, 0, 0), np.int32(4))]),
    (rows, [(M(3),), (M(3),)]),
    (rows2, [(M(3),), (M(3),)]),
    (normalize, [(M(3),), (M(3),)]),
    (chain, [(A(1, 2), A(3, 4)), (A(5, 2), A(3, 4))]),
    (masks, [(A(-1, 2, 9),), (A(4, -2, 1),)]),
    (floyd, [(abs(M(4)),), (abs(M(4)),)]),
    (reverse, [(A(1, 2, 3, 4, 5),), (A(1, 2, 3, 9, 5),)]),
    (recrev, [(np.array([1, 2, 3, 4]),), (np.array([4, 2, 3, 9]),)]),
    (obj, [(A(0, 1, 0, 4, 0),), (A(0, 1, 9, 4, 0),)]),
    (dct, [({"a": A(1, 2), "b": A(3, 4)},), ({"a": A(1, 2), "b": A(5, 4)},)]),
    (lst, [([A(1, 2), A(3, 4)],), ([A(1, 2), A(5, 4)],)]),
    (lstswap, [([A(1, 2), A(3, 4)],), ([A(1, 2), A(5, 4)],)]),
    (cond, [(A(5, 5), F(1)), (A(5, 5), F(-1))]),
    (early, [(A(1, 2, 9, 3), F(5)), (A(1, 2, 3, 3), F(5))]),
    (rebound, [(A(1, 2),), (A(3, 4),)]),
    (rebound2, [(A(1, 2), F(1)), (A(3, 4), F(-1))]),
    (copies, [(A(1, 2, 5),), (A(3, 4, 6),)]),
    (viewT, [(M(3),), (M(3),)]),
    (meth, [(A(1, 2, 9, 3),), (A(8, 2, 3, 3),)]),
    (trywrite, [(A(1, 2, 9, 3), F(1)), (A(8, 2, 3, 3), F(-1))]),
    (integers, [(np.array([1, 2, 2**40]),), (np.array([5, 7, -(2**50)]),)]),
    (cumulative, [(A(1, 2, 9, 3), A(0, 0, 0, 0)), (A(8, 2, 3, 3), A(0, 0, 0, 0))]),
    (closure, [(A(1, 2, 9, 3),), (A(8, 2, 3, 3),)]),
    (nested_list, [(A(1, 2), A(3, 4)), (A(7, 2), A(3, 4))]),
    (while_view, [(A(1, 2, 3, 0),), (A(1, 2, 0, 0),)]),
    (ternary, [(A(1, 2), A(3, 4), F(1)), (A(7, 2), A(3, 4), F(-1))]),
]
