"""Programs in which functions, and methods of arrays, write to NumPy arrays in place, or return what others write to."""

from __future__ import annotations

import operator
import queue

import numpy as np


def conjugates_of_real_numbers(x):
    p = np.zeros(3)
    q = p.conj()
    r = p.conjugate()
    if x[0] > 0:
        p[0] = x[1]
    r[2] = 7
    return p, q, r


def chosen(x):
    p, q = np.arange(3.0), np.array([5.0, -6.0, 7.5])
    return p, q, p if x[0] > 0 else q


def functions_of_operators(x):
    p, q, r = chosen(x)
    operator.iadd(r, 2)
    s = operator.imul(r, [1, 2, 3])
    s[0] = 9
    operator.setitem(r, 1, -4)
    return p, q, r, s


def functions_of_operators_under_a_condition(x):
    p = np.zeros(3)
    if x[0] > 0:
        operator.isub(p, [1, 2, 3])
        operator.setitem(p, slice(1), 8)
    return p, p + x


def functions_of_operators_on_lists(x):
    p = [1.0, 2.0]
    if x[0] > 0:
        operator.setitem(p, 0, x[1])
    operator.iadd(p, [x[2]])
    operator.delitem(p, 1)
    return p


def methods_with_out(x):
    p, q, r = chosen(x)
    r.clip(0, 2, out=r)
    p.cumsum(out=p)
    (q + x).round(1, q)
    return p, q, r


def methods_with_out_by_position(x):
    p, total = np.zeros(3), np.zeros(())
    s = p
    m = np.ones((3, 3)) * x[0]
    m.sum(0, None, p)
    m.max(out=total)
    x.dot(m, s)
    np.cumsum(p, 0, None, p)
    m.take([0, 1, 2], 1, m, "clip")
    return s, total, m


def methods_with_out_under_a_condition(x):
    p, q = np.arange(3.0), np.zeros(3)
    r = q
    if x[0] > 0:
        p.cumsum(out=p)
        p.clip(0, 1, out=q)
    else:
        np.cumsum(p, 0, None, q)
    return p, q, r


def several_results(x):
    p, q, r = chosen(x)
    s = np.zeros(3)
    np.modf(r * 1.7, out=(r, s))
    whole, _ = np.divmod(r, 0.7, out=(None, s))
    np.divmod(whole, 2, s, r)
    return p, q, r, s, whole


def numbers_instead_of_nan(x):
    p, q, r = chosen(x)
    p[1] = q[1] = np.nan
    s = np.nan_to_num(r, copy=False, nan=x[1])
    s[0] = 3
    t = np.nan_to_num(p)
    t[0] = 100
    return p, q, r, s


def numbers_instead_of_nan_under_a_condition(x):
    p = np.array([1.0, np.nan])
    if x[0] > 0:
        np.nan_to_num(p, copy=False)
    return p


def views_of_one_element(x):
    p = np.arange(3.0)
    v, w, u = p[1, ...], p[:1].reshape(()), np.squeeze(p[2:])
    p[1] = x[1]
    if x[0] > 0:
        p[0] = 6
        p[2] = 8
    return v * 1, w * 1, u * 1, v > 0


def writes_to_views_of_one_element(x):
    p = np.arange(4.0)
    v, w, u = p[1, ...], p[:1].reshape(()), np.squeeze(p[2:3])
    v[...] = x[1]
    w[()] = x[2]
    u += 3
    u *= x.sum().item() > 0
    if x[0] > 0:
        v += 7
    return p, v, w, u


def a_number_and_its_copy(x):
    s = x[0] * 1
    t = s
    s += 1
    return s, t


def written_at_tuples_of_arrays(x):
    m, order = np.zeros((3, 3)), np.array([2, 0, 1])
    n = m
    for k in range(2):
        m[...] = x
        m[np.diag_indices(3)] += k
        if x[0] > k:
            m[np.arange(3), order] = x * 2
            m[(order, order)] -= x
    return n, n[np.diag_indices(3)], n[order, 0]


class Shelf:
    """With methods that are called as those of arrays are."""

    def __init__(self):
        self.rows = []

    def put(self, row):
        self.rows.append(row)

    def fill(self, row):
        self.rows.append(row)

    def item(self, k):
        return self.rows[k]

    def sum(self):
        return self.rows[0].sum()


def kept_by_methods_of_such_names(x):
    shelf, waiting = Shelf(), queue.Queue()
    a, b, c = x * 2, x * 3, x * 4
    shelf.put(a)
    shelf.fill(b)
    waiting.put(c)
    a[0] = b[1] = c[2] = 50
    total = shelf.sum()
    shelf.item(0)[1] = 7
    row = shelf.item(1)
    row[0] = 9
    return a, b, shelf.rows[1], total, waiting.get()


def shuffled_constants(x):
    p = np.arange(6.0)
    q = p
    before = p + x.sum()
    np.random.default_rng(1).shuffle(p)
    p[0] = -1
    np.random.RandomState(2).shuffle(p)
    return q, before


CASES = [
    conjugates_of_real_numbers,
    functions_of_operators,
    functions_of_operators_under_a_condition,
    functions_of_operators_on_lists,
    methods_with_out,
    methods_with_out_by_position,
    methods_with_out_under_a_condition,
    several_results,
    numbers_instead_of_nan,
    numbers_instead_of_nan_under_a_condition,
    views_of_one_element,
    writes_to_views_of_one_element,
    a_number_and_its_copy,
    written_at_tuples_of_arrays,
    kept_by_methods_of_such_names,
    shuffled_constants,
]
