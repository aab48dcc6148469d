"""Programs in which arrays have several names, and are written by one: `CASES`, and `AUGMENTED` of those with ``x += v``."""

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


def normalize(v):
    v /= v.sum()
    return v


def normalized(x):
    w = x + 1
    n = normalize(w)
    return w, n


def of_an_expression(x):
    w = np.zeros(3)
    w[0] = x[0]
    n = normalize(w + 1)
    return w, n


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


def position_of_a_particle(x):
    p = Particle(x)
    q = p.pos
    p.move(0.5)
    return q, p.pos


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


def item_of_a_dict_augmented(x):
    d = {"a": x * 2}
    q = d["a"]
    d["a"] += 1
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


def newton(x):
    change = 1.0
    while change > 1e-3:
        before = x
        x -= (x * x - 2) / (4 * abs(x) + 1)
        change = abs(x - before).max()
    return x


def change_of_a_copy(x):
    x = x * 1.0
    before = x
    x -= x * 0.5
    return abs(x - before)


def named_again(x):
    z = x * 2
    y = z
    z += 1
    return y


def filled_by_an_argument(x):
    z = np.zeros(3)
    y = z
    z += x
    return y, z


def filled_by_an_element(x):
    z = np.zeros(3)
    y = z
    z += x[1]
    return y, z


def filled_by_a_number(x):
    z = np.zeros(3)
    y = z
    z += 1
    return y + x


def rows(x):
    m = np.ones((2, 1)) * x
    for row in m:
        row += 1
    return m


def of_a_loop(x):
    best = x
    for _ in range(4):
        x *= 0.5
        if x.sum() < 2:
            best = x
    return best, x


def by_a_function_of_numpys(x):
    y = np.sin(x)
    z = y
    y += 1
    return z


NUMPYS_OR_JAXS = [
    newton,
    change_of_a_copy,
    named_again,
    filled_by_an_argument,
    filled_by_an_element,
    filled_by_a_number,
    rows,
    of_a_loop,
]


CASES = [
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
AUGMENTED = [normalized, of_an_expression, position_of_a_particle, item_of_a_dict_augmented]
