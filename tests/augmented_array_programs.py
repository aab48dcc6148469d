"""Programs in which arrays have several names, and ``x += v`` is of one: `AUGMENTED`, and `NUMPYS_OR_JAXS`, which run with both."""

from __future__ import annotations

import numpy as np

from tests.shared_array_programs import Particle


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


def position_of_a_particle(x):
    p = Particle(x)
    q = p.pos
    p.move(0.5)
    return q, p.pos


def item_of_a_dict_augmented(x):
    d = {"a": x * 2}
    q = d["a"]
    d["a"] += 1
    return q


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


def changes_in_a_history(x):
    prev = None
    hist = []
    for i in range(3):
        prev = x
        x = x * 0.5
        hist.append(abs(prev - x).max())
    return hist, x


def updated(p, lr):
    p["w"] -= lr
    return p


def parameters_in_a_dict(x):
    p = {"w": x * 2}
    w = p["w"]
    q = updated(p, 0.5)
    return w, q["w"]


def times(v, k):
    v *= k
    return v


def scaled_and_added(x):
    v = x * 1
    return times(v, 2).sum() + v.sum()


def scaled_twice(x):
    v = x * 1
    w = times(times(v, 2), 3)
    return v, w


def one_sum_in_a_list(x):
    acc = np.zeros(3)
    outs = []
    for v in (x, x * 2):
        acc += v
        outs.append(acc)
    return outs


def sums_of_sums(x):
    s = x
    t = s
    t = t + 1
    s = s - 1
    s += t
    return s, t


AUGMENTED = [
    normalized,
    of_an_expression,
    position_of_a_particle,
    item_of_a_dict_augmented,
]
NUMPYS_OR_JAXS = [
    changes_in_a_history,
    parameters_in_a_dict,
    scaled_and_added,
    scaled_twice,
    one_sum_in_a_list,
    sums_of_sums,
    newton,
    change_of_a_copy,
    named_again,
    filled_by_an_argument,
    filled_by_an_element,
    filled_by_a_number,
    rows,
    of_a_loop,
]
