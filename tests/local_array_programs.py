"""Programs that write in place to arrays that they make, as textbooks of numerical methods do, each with the arguments of two calls."""

from __future__ import annotations

import numpy as np


def fill(a, x):
    for i in range(len(a)):
        a[i] = x + i


def first_then_sum(t):
    t[0] = 5.0
    return t.sum()


def filled_and_one_more(a, x):
    fill(a, x * 2)
    a[0] += 1


def averaged(u, un):
    un[1:-1] = 0.5 * (u[:-2] + u[2:])


def add_and_sum(a, v):
    a += v
    return a.sum()


class Sim:
    def __init__(self, n):
        self.u = np.zeros(n)

    def fill(self, a, x):
        a[0] = x
        self.u[1] += x

    def run(self, x):
        b = np.ones(3)
        self.fill(b, x[0])
        fill(self.u, x[1])
        return (b, self.u)


def norm_inplace(v):
    v /= np.linalg.norm(v)


def ret_same(a):
    a[0] = 1
    return a


def fill_down(a, n):
    if n > 0:
        a[n] = a[n - 1] + n
        fill_down(a, n - 1)


def permute(a, k, out, c):
    if k == len(a):
        out[c] = a[0]
        return c + 1
    for i in range(k, len(a)):
        a[k], a[i] = (a[i], a[k])
        c = permute(a, k + 1, out, c)
        a[k], a[i] = (a[i], a[k])
    return c


def heapify(a, n, i):
    while 2 * i + 1 < n:
        c = 2 * i + 1
        if c + 1 < n and a[c + 1] > a[c]:
            c += 1
        if a[c] <= a[i]:
            break
        a[i], a[c] = (a[c], a[i])
        i = c


def swap_rows(v, i, j):
    if len(v.shape) == 1:
        v[i], v[j] = (v[j], v[i])
    else:
        v[[i, j], :] = v[[j, i], :]


def count_into(data, h):
    for v in data:
        h[int(v)] += 1


class Heap:
    def __init__(self, n):
        self.a = np.zeros(n)
        self.n = 0

    def push(self, v):
        self.a[self.n] = v
        i = self.n
        self.n += 1
        while i > 0 and self.a[(i - 1) // 2] > self.a[i]:
            p_ = (i - 1) // 2
            self.a[p_], self.a[i] = (self.a[i], self.a[p_])
            i = p_

    def dump(self, out):
        out[:] = self.a[: len(out)]


class Rule:
    def apply(self, cells, new):
        for i in range(1, len(cells) - 1):
            new[i] = (cells[i - 1] + cells[i + 1]) % 2


def local_fill(x):
    a = np.zeros(4)
    fill(a, x[0])
    return a


def local_helper(x):
    t = x.copy()
    s = first_then_sum(t)
    return (s, t)


def local_helper_loop(x):
    t = x.copy()
    s = 0.0
    for v in x:
        s += first_then_sum(t)
        t[0] = t[0] * v
    return (s, t)


def local_fill_cond(x):
    a = np.zeros(3)
    if x[0] > 0:
        fill(a, x[1])
    else:
        a[0] = 7
    return a


def local_fill_nested(x):
    a = np.zeros(3)
    filled_and_one_more(a, x[0])
    return (a.sum(), a)


def methods(x):
    s = Sim(3)
    return s.run(x)


def local_fill_slice(x):
    a = np.zeros(5)
    fill(a[1:], x[0])
    return a


def local_fill_rows(x):
    a = np.zeros((3, 4))
    for k in range(3):
        fill(a[k], x[k])
    return a


def local_fill_rows_dyn(x, n):
    a = np.zeros((3, 4))
    k = 0
    while k < n:
        fill(a[k], x[k])
        k += 1
    return a


def fill_in_loop_fresh(x):
    out = np.zeros(len(x))
    for i in range(len(x)):
        t = np.zeros(3)
        fill(t, x[i])
        out[i] = t.sum()
    return out


def pingpong(x, n):
    u = x.copy()
    un = u.copy()
    for _ in range(n):
        averaged(u, un)
        u, un = (un, u)
    return u


def heat_copy(x, n):
    u = x.copy()
    for _ in range(n):
        un = u.copy()
        averaged(un, u)
    return u


def pingpong_new(x, n):
    u = x.copy()
    for _ in range(n):
        un = np.zeros_like(u)
        averaged(u, un)
        u = un
    return u


def two_names(x):
    a = x.copy()
    b = a
    b[0] = 9
    return (a, b)


def two_names_view(x):
    a = x.copy()
    b = a[1:]
    b[0] = 9
    return a


def row_view(x):
    a = np.zeros((2, 3))
    r = a[1]
    r[0] = x[0]
    r += 1
    return a


def augment_helper(x):

    def add(a, v):
        a += v

    t = x * 2
    add(t, 1.0)
    return t


def augment_helper2(x):
    t = x * 2
    s = add_and_sum(t, 1.0)
    return (s, t)


def inlist(x):
    t = x.copy()
    xs = [t, t]
    xs[0][0] = 4
    return (t, xs[1])


def flat_set(x):
    x.flat[1] = 9
    return x


def flat_local(x):
    y = x.copy()
    y.flat[2] = x[0, 0]
    return y


def setitem_comp(x):
    [x.__setitem__(k, k * 2.0) for k in range(len(x))]
    return x


def np_put(x):
    np.put(x, [0, 1], [8, 9])
    return x


def np_put_local(x):
    y = x * 2
    np.put(y, [0, 1], x[:2])
    return y


def fill_diag(m):
    np.fill_diagonal(m, 0)
    return m


def fill_diag_local(m):
    y = m @ m
    np.fill_diagonal(y, m[0, 0])
    return y


def place_local(x):
    y = x.copy()
    np.place(y, x > 1, [7, 8])
    return y


def putmask_local(x):
    y = x + 1
    np.putmask(y, x > 1, 0)
    return y


def add_at_local(x, idx):
    y = np.zeros(4)
    np.add.at(y, idx, x)
    return y


def copyto_local(x):
    y = np.zeros(len(x))
    np.copyto(y, x)
    return y


def out_local(x):
    y = np.empty(len(x))
    np.multiply(x, 2, out=y)
    np.add(y, 1, out=y)
    return y


def cumsum_out_local(x):
    y = np.zeros_like(x)
    np.cumsum(x, out=y)
    return y


def dot_out(m):
    y = np.zeros((3, 3), F)
    np.dot(m, m, out=y)
    return y


def sort_local(x):
    y = x.copy()
    y.sort()
    return y


def sort_zeros(x):
    y = np.zeros(4)
    y[:] = x
    y.sort()
    y[::-1].sort()
    return y


def fill_local(x):
    y = x * 2
    y.fill(x[0])
    return y


def fill_empty(x):
    y = np.empty(3)
    y.fill(x[0])
    return y


def resize_local(x):
    y = x.copy()
    y.resize((2, 2), refcheck=False)
    return y


def itemset(x):
    y = x.copy()
    y.put([0], 4)
    y.partition(1)
    return y


def gauss_pivot(a, b, tol=1e-12):
    n = len(b)
    s = np.zeros(n)
    for i in range(n):
        s[i] = max(np.abs(a[i, :]))
    for k in range(0, n - 1):
        p = np.argmax(np.abs(a[k:n, k]) / s[k:n]) + k
        if p != k:
            swap_rows(b, k, p)
            swap_rows(s, k, p)
            swap_rows(a, k, p)
        for i in range(k + 1, n):
            if a[i, k] != 0.0:
                lam = a[i, k] / a[k, k]
                a[i, k + 1 : n] = a[i, k + 1 : n] - lam * a[k, k + 1 : n]
                b[i] = b[i] - lam * b[k]
    b[n - 1] = b[n - 1] / a[n - 1, n - 1]
    for k in range(n - 2, -1, -1):
        b[k] = (b[k] - np.dot(a[k, k + 1 : n], b[k + 1 : n])) / a[k, k]
    return b


def gram_inplace(A):
    Q = A.copy()
    n = A.shape[1]
    for j in range(n):
        v = Q[:, j]
        for i in range(j):
            v -= np.dot(Q[:, i], v) * Q[:, i]
        v /= np.linalg.norm(v)
    return Q


def heapsort(x):
    a = x.copy()
    n = len(a)
    for i in range(n // 2 - 1, -1, -1):
        heapify(a, n, i)
    for end in range(n - 1, 0, -1):
        a[0], a[end] = (a[end], a[0])
        heapify(a, end, 0)
    return a


def hist_local(data):
    h = np.zeros(5, dtype=np.int32)
    count_into(data, h)
    return h


def zero_d(x):
    t = np.array(0.0)
    t += x[0]
    t[...] = t * 2
    u = t
    t += 1
    return (u, t)


def power_inplace(A_, n):
    v = np.ones(A_.shape[0])
    for _ in range(n):
        w = A_ @ v
        norm_inplace(w)
        v = w
    return v


def power_while(A_, tol):
    v = np.ones(A_.shape[0])
    old = 0.0
    lam = 1.0
    while abs(lam - old) > tol:
        w = A_ @ v
        old = lam
        lam = np.linalg.norm(w)
        norm_inplace(w)
        v = w
    return (v, lam)


def memo_fill(dp, n):
    if dp[n] >= 0:
        return dp[n]
    dp[n] = dp[n] + 1 + n
    return dp[n]


def memo(x, n):
    dp = np.full(5, -1.0)
    a = memo_fill(dp, n)
    b = memo_fill(dp, n)
    return (a, b, dp)


def grid_paths(g):
    n, m = g.shape
    dp = np.zeros_like(g)

    def cell(i, j):
        if i > 0 or j > 0:
            best = np.inf
            if i > 0:
                best = min(best, dp[i - 1, j])
            if j > 0:
                best = min(best, dp[i, j - 1])
            dp[i, j] = best + g[i, j]
        else:
            dp[i, j] = g[i, j]

    for i in range(n):
        for j in range(m):
            cell(i, j)
    return dp[-1, -1]


def heap_class(x):
    h = Heap(8)
    for v in x:
        h.push(v)
    out = np.empty(4)
    h.dump(out)
    return (out, h.n)


def automaton(c, steps):
    cur = c.copy()
    nxt = np.zeros_like(cur)
    r = Rule()
    for _ in range(steps):
        r.apply(cur, nxt)
        cur[:] = nxt
    return cur


def cond_alias(x, y, c):
    a = x.copy()
    b = y.copy()
    t = a if c > 0 else b
    t[0] = 99
    return (a, b)


def cond_alias2(x, y, c):
    a = x.copy()
    b = y.copy()
    t = a
    if c > 0:
        t = b
    fill(t, c)
    return (a, b, t)


def list_of_arrays(x):
    xs = [np.zeros(2) for _ in range(3)]
    for i in range(3):
        fill(xs[i], x[i])
    return xs


def dict_arrays(x):
    d = {"a": np.zeros(2), "b": x[:2].copy()}
    fill(d["a"], x[0])
    s = first_then_sum(d["b"])
    return (d, s)


def early_return(x, n):
    t = np.zeros(4)
    for i in range(n):
        fill(t, x[i])
        if t[1] > 2:
            return (t, i)
    return (t, -1)


def try_fill(x, c):
    t = np.zeros(4)
    try:
        fill(t, x[0])
        if c > 0:
            raise ValueError
        t[0] = 50
    except ValueError:
        t[1] = 60
    return t


def nested_cond(x, n, c):
    t = np.zeros(4)
    for i in range(n):
        if x[i] > c:
            fill(t, x[i])
        else:
            first_then_sum(t)
            if x[i] < -c:
                fill(t[2:], c)
    return t


def matview(m):
    a = m.copy()
    d = a.T
    d[0] = 1
    f = a.reshape(-1)
    f[4] = 50
    r = a.ravel()
    r += 1
    return (a, f)


def reversed_columns(m):
    a = m.copy()
    b = a[:, ::-1]
    b[0, 0] = 5
    fill(b[1], 2.0)
    return a


def sub2(m):
    a = np.zeros((4, 4))
    blk = a[1:3, 1:3]
    blk[:] = m[:2, :2]
    blk[0] += 1
    np.fill_diagonal(blk, 7)
    return a


def rec_local(x, n):
    a = np.zeros(6)
    fill_down(a, n)
    return a


def perms(x):
    a = x[:3].copy()
    out = np.zeros(6)
    permute(a, 0, out, 0)
    return (out, a)


def sum_axis(m):
    t = np.zeros(3)
    np.sum(m, axis=0, out=t)
    t -= t.mean()
    u = np.linalg.norm(t)
    fill(t[1:], u)
    return t


def where_out(x):
    t = np.where(x > 0, x, 0)
    s = first_then_sum(t)
    return (t, s)


def comp(x):
    t = np.array([v * 2 for v in x])
    s = first_then_sum(t)
    return (t, s)


def kwarg(x):
    t = np.zeros(4)
    fill(a=t, x=x[0])
    fill(t[::2], x=1.0)
    return t


def starred(x):
    t = np.zeros(4)
    args = (t, x[0])
    fill(*args)
    return t


def in_a_function(x):
    t = np.zeros(4)

    def g(a):
        return first_then_sum(a)

    s = g(t) + x[0]
    return (t, s)


def zipped(x):
    a = np.zeros(4)
    b = np.ones(4)
    for arr in (a, b):
        fill(arr, x[0])
    return (a, b)


def rows_loop(x):
    m = np.zeros((3, 2))
    for row in m:
        fill(row, x[0])
    for i, row in enumerate(m):
        row[0] += i
    return m


F = np.float32
rng = np.random.default_rng(0)


def A(*values):
    return np.array(values, F)


def M(n, m=None):
    return rng.standard_normal((n, m or n)).astype(F)


def definite(n):
    a = M(n)
    return (a @ a.T + n * np.eye(n)).astype(F)


VECTORS = [(A(1, 2, -3, 4),), (A(-1, 5, 2, 2),)]
SQUARE = [(definite(3),), (definite(3),)]
STEPS = [(A(0, 1, 2, 8, 4), np.int32(3)), (A(0, 1, 2, 8, 4), np.int32(2))]
CASES = [
    *(
        (program, VECTORS)
        for program in (
            local_fill,
            local_helper,
            local_helper_loop,
            local_fill_cond,
            local_fill_nested,
            methods,
            local_fill_slice,
            local_fill_rows,
            fill_in_loop_fresh,
            two_names,
            two_names_view,
            row_view,
            augment_helper,
            augment_helper2,
            inlist,
            setitem_comp,
            np_put,
            np_put_local,
            place_local,
            putmask_local,
            copyto_local,
            out_local,
            cumsum_out_local,
            sort_local,
            sort_zeros,
            fill_local,
            fill_empty,
            resize_local,
            itemset,
            heapsort,
            zero_d,
            heap_class,
            list_of_arrays,
            dict_arrays,
            perms,
            where_out,
            comp,
            kwarg,
            starred,
            in_a_function,
            zipped,
            rows_loop,
        )
    ),
    *(
        (program, SQUARE)
        for program in (
            flat_set,
            flat_local,
            fill_diag,
            fill_diag_local,
            dot_out,
            gram_inplace,
            grid_paths,
            matview,
            reversed_columns,
            sub2,
            sum_axis,
        )
    ),
    *((program, STEPS) for program in (pingpong, heat_copy, pingpong_new)),
    (local_fill_rows_dyn, [(A(1, 2, 3), np.int32(2)), (A(1, 2, 3), np.int32(1))]),
    (add_at_local, [(A(1, 2, 3), np.array([0, 0, 3])), (A(1, 2, 3), np.array([1, 0, 3]))]),
    (gauss_pivot, [(definite(3), A(1, 2, 3)), (definite(3), A(1, 0, 3))]),
    (hist_local, [(A(1, 2, 4, 4),), (A(0, 0, 0, 1),)]),
    (power_inplace, [(definite(3), np.int32(5)), (definite(3), np.int32(3))]),
    (power_while, [(definite(3), F(1e-3)), (definite(3), F(1e-2))]),
    (memo, [(A(1, 2), np.int32(2)), (A(1, 2), np.int32(3))]),
    (automaton, [(np.array([0, 1, 0, 1, 1, 0, 0]), np.int32(3)), (np.array([0, 1, 1, 1, 1, 0, 0]), np.int32(1))]),
    (cond_alias, [(A(1, 2), A(3, 4), F(1)), (A(1, 2), A(3, 4), F(-1))]),
    (cond_alias2, [(A(1, 2), A(3, 4), F(1)), (A(1, 2), A(3, 4), F(-1))]),
    (early_return, [(A(1, 2, -3, 4), np.int32(3)), (A(0, 0, -3, 4), np.int32(2))]),
    (try_fill, [(A(1, 2, -3, 4), F(1)), (A(1, 2, -3, 4), F(-1))]),
    (nested_cond, [(A(1, 2, -3, 4), np.int32(3), F(1.5)), (A(1, 2, -3, 4), np.int32(2), F(0.5))]),
    (rec_local, [(A(1, 2), np.int32(3)), (A(1, 2), np.int32(5))]),
]
