"""Programs in which arrays have several names, and items are written by one: `CASES`."""

from __future__ import annotations

import numpy as np


def scale(a, k):
    for i in range(len(a)):
        a[i] = a[i] * k
    return a


def scaled_by_a_function(x):
    t = x.copy()
    u = scale(t, 2.0)
    return t, u


def clip(a):
    a[a < 0] = 0
    return a


def clipped(x):
    y = x - 1.5
    clip(y)
    return y


def clipped_twice(x):
    y = x - 1.5
    z = clip(y)
    return y.sum() + z.sum()


def a_row_before_its_matrix_is_written(x):
    m = np.zeros((2, 3))
    row = m[0]
    m[0, 0] = x[0]
    return row.sum()


def a_row_of_a_product(x):
    m = np.ones((2, 3)) * x
    row = m[1]
    m[1, 2] = 10.0
    return row[2] + row.sum()


class Particle:
    def __init__(self, x):
        self.pos = x * 1.0
        self.vel = np.ones(3)

    def move(self, dt):
        self.pos += self.vel * dt

    def reset(self):
        self.pos[:] = 0


def position_that_is_replaced(x):
    p = Particle(x)
    old = p.pos
    p.pos = p.pos + 1
    return old, p.pos


def position_that_is_reset(x):
    p = Particle(x)
    q = p.pos
    p.reset()
    return q


def one_array_in_a_list(x):
    hist = []
    s = np.zeros(3)
    for v in x:
        s[0] += v
        hist.append(s)
    return hist


def copies_in_a_list(x):
    hist = []
    s = np.zeros(3)
    for v in x:
        s += v
        hist.append(s.copy())
    return hist


def item_of_a_dict(x):
    d = {"a": x * 2}
    q = d["a"]
    d["a"][0] = 9.0
    return q


def swap(a, i, j):
    a[i], a[j] = a[j], a[i]
    return a


def swapped_in_place(x):
    y = x.copy()
    swap(y, 0, 2)
    swap(y, 1, 2)
    return y


def swapped_and_returned(x):
    y = x.copy()
    z = swap(y, 0, 2)
    return y, z


def bubble(a):
    n = len(a)
    for i in range(n):
        for j in range(n - 1 - i):
            if a[j] > a[j + 1]:
                a[j], a[j + 1] = a[j + 1], a[j]
    return a


def sorted_by_a_function(x):
    y = x.copy()
    z = bubble(y)
    return y - x, z


def argument_sorted_by_a_function(x):
    z = bubble(x)
    return x - 1, z


def part_of_an_argument(x):
    left = x[:2]
    x[0] = 9.0
    return left


def two_parts(x):
    y = x * 2
    left, right = y[:2], y[2:]
    y[0] = 9.0
    return left, right


def an_element(x):
    y = x * 2
    first = y[0]
    y[0] = 9.0
    return first, y


class Grid:
    def __init__(self, n):
        self.cells = np.zeros((n, n))

    def row(self, i):
        return self.cells[i]

    def set(self, i, j, v):
        self.cells[i, j] = v


def a_row_that_a_method_returns(x):
    g = Grid(3)
    r = g.row(1)
    g.set(1, 2, x[0])
    return r, g.cells


def a_copy_of_an_argument(x):
    old = x.copy()
    x[0] = 5
    x += 1
    return old, x


def best_copy(x):
    best = x.copy()
    cur = x.copy()
    for i in range(4):
        cur[i % 3] -= 1
        if cur.sum() < best.sum():
            best = cur.copy()
    return best, cur


def best_without_a_copy(x):
    best = x
    cur = x.copy()
    for i in range(4):
        cur[i % 3] -= 1
        if cur.sum() < 100:
            best = cur
    return best, cur


def exchanged_in_a_loop(x):
    a = np.zeros(3)
    b = np.zeros(3)
    for i in range(3):
        a[i] = x[i]
        a, b = b, a
    return a, b


def rows_that_a_loop_fills(x):
    grid = np.zeros((3, 3))
    for i in range(3):
        row = grid[i]
        for j in range(3):
            row[j] = x[j] * i
    return grid


def transposed_before_a_write(x):
    m = np.outer(x, x)
    d = m.diagonal().copy()
    t = m.T
    m[0, 1] = 9
    return t, d


def a_matrix_that_its_rows_write(x):
    m = np.outer(x, x)
    for row in m:
        m[0, 0] += row[1]
    return m


def two_names_of_a_dict(x):
    d = {}
    for k in ("a", "b"):
        d[k] = x * 1
    e = d
    e["a"][1] = 7
    return d["a"], d["b"]


def written_by_a_closure(x):
    def inc():
        y[0] += 1

    y = x * 1
    z = y
    inc()
    return z, y


def unpacked_before_a_write(x):
    xs = [x * 1, x * 2]
    a, b = xs
    xs[0][0] = 3
    return a, b


def a_tuple_of_one_array_twice(x):
    a = x * 1
    t = (a, a)
    t[0][1] = 4
    return t


def made_in_branches(x):
    if x[0] > 0:
        y = x * 1
    else:
        y = x * 2
    z = y
    z[1] = 8
    return y


def one_of_two(x):
    y = np.zeros(3)
    z = y if x[0] > 0 else np.ones(3)
    z[1] = x[1]
    return y, z


def a_name_that_is_bound_again(x):
    u = x.copy()
    for i in range(1, 3):
        u[i] = u[i - 1] + u[i]
    v = u
    u = u * 2
    u[0] = -1
    return u, v


def a_buffer_that_is_replaced(x):
    buf = np.zeros(3)
    outs = []
    n = 0
    while n < x.sum() and n < 4:
        buf[n % 3] = n
        n += 1
    outs.append(buf)
    buf = np.zeros(3)
    buf[0] = x[0]
    outs.append(buf)
    return outs


def written_by_an_inner_function(x):
    def written(a):
        a[0] = 9.0
        return a

    y = x * 1
    written(y)
    z = written(x * 2)
    return y, z, x[0]


CASES = [
    written_by_an_inner_function,
    a_row_that_a_method_returns,
    a_copy_of_an_argument,
    best_copy,
    best_without_a_copy,
    exchanged_in_a_loop,
    rows_that_a_loop_fills,
    transposed_before_a_write,
    a_matrix_that_its_rows_write,
    two_names_of_a_dict,
    written_by_a_closure,
    unpacked_before_a_write,
    a_tuple_of_one_array_twice,
    made_in_branches,
    one_of_two,
    a_name_that_is_bound_again,
    a_buffer_that_is_replaced,
    scaled_by_a_function,
    clipped,
    clipped_twice,
    a_row_before_its_matrix_is_written,
    a_row_of_a_product,
    position_that_is_replaced,
    position_that_is_reset,
    one_array_in_a_list,
    copies_in_a_list,
    item_of_a_dict,
    swapped_in_place,
    swapped_and_returned,
    sorted_by_a_function,
    argument_sorted_by_a_function,
    part_of_an_argument,
    two_parts,
    an_element,
]
