"""Programs that write numbers which are known while tracing into arrays that they make, after they have computed with these, or chosen
one of several. Each is given one array."""

from __future__ import annotations

import numpy as np


def computed_with_before_and_after(x):
    found = []
    for dtype in (np.float64, np.int64, np.float32, np.bool_):
        p = np.zeros(3, dtype)
        before = x + p
        p[0] = 1
        found += [before, x + p, p]
    return found


def the_sign_of_zero(x):
    p = np.zeros(3)
    before = p * np.ones_like(x)
    p[0] = -0.0
    return 1 / (abs(x) + p), before, np.copysign(x, p)


def edit_distance(x):
    target = np.array([1.0, 2.0, 2.0, 0.5])
    before, now = np.arange(5), np.zeros(5, int)
    for i in range(1, 4):
        now[0] = i
        for j in range(1, 5):
            now[j] = min(before[j] + 1, now[j - 1] + 1, before[j - 1] + (0 if x[i - 1] == target[j - 1] else 1))
        before, now = now, before
    return before, now


def filled_and_sorted(x):
    w, total = np.zeros(3), 0.0
    for v in x:
        total += v * w[0]
    np.copyto(w, [3.0, 1.0, 2.0])
    total += (x * w).sum()
    w.sort()
    total += (x * w).sum()
    w.fill(7)
    return total + (x * w).sum()


def one_of_two(x):
    p, q = np.zeros(3), np.ones(3)
    chosen = p if x[0] > 0 else q
    p[0] = 100
    q[1:][0] = 50
    return chosen + 1, p, q


def chosen_in_branches(x):
    p = np.zeros(3)
    if x[0] > 0:
        chosen = p
    else:
        chosen = np.ones(3)
    p[1] += 7
    return chosen


def in_a_list(x):
    rows = [np.zeros(3), np.ones(3)]
    row = rows[(x[0] > 0) * 1]
    rows[0][0] = 100
    rows[1][1] = 7
    return row, rows


def a_row(x):
    m = np.zeros((2, 3))
    row = m[(x[0] > 0) * 1]
    m[1, 0] = 4
    return row, m


class Box:
    def __init__(self, v):
        self.v = v


def held_by_an_object(x):
    p = np.zeros(3)
    box, table = Box(p), {"p": p}
    if x[0] > 0:
        box.v = x
        table["p"] = x
    p[0] = 9
    return box.v + 1, table["p"] + 1


def returned_by_a_function(x):
    def pick(a, b):
        if x[0] > 0:
            return a
        return b

    p = np.zeros(3)
    chosen = pick(x, p)
    p[0] = 9
    return chosen + 1


def bound_together(x):
    q = p = np.zeros(3)
    for v in x:
        if v > 2:
            p = p + 1
    q[0] = x[1]
    r = (s := np.zeros(3))
    r[1] = x[0]
    return p, q, r, s


def copied_again_and_again(x):
    zeros = np.zeros(3)
    seen = []
    for k in range(3):
        own = zeros.copy()
        own[0] += k
        seen.append(own)
    one = np.array(x[:3])
    other = one
    one[1] -= 1
    return other, seen


def written_by_methods(x):
    found = []
    for write in (
        lambda p: p.fill(4),
        lambda p: p.sort(),
        lambda p: p.partition(1),
        lambda p: p.put([0], [9.0]),
        lambda p: p[::-1].sort(),
        lambda p: np.ravel(p).fill(2),
    ):
        p = np.array([3.0, 1.0, 2.0])
        if x[0] > 0:
            chosen = p
        else:
            chosen = np.ones(3)
        write(p)
        found += [chosen + 1, p]
    p = np.array([3.0, 1.0, 2.0])
    chosen = p if x[0] > 0 else x
    p.fill(x.shape[0])
    found.append(chosen + 1)
    sort, p = p.sort, np.arange(3.0)
    chosen = p if x[0] > 0 else x
    fill = p.fill
    fill(8)
    sort()
    return found, chosen + 1, p


def written_by_functions(x):
    p, m, n = np.array([3.0, 1.0, 2.0]), np.zeros((3, 3)), np.zeros((2, 2), int)
    chosen, matrix, numbers = np.ones(3), np.ones((3, 3)), np.ones((2, 2), int)
    for v in x:
        if v > 1:
            chosen, matrix, numbers = p, m, n
    np.copyto(p, [7.0, 8.0, 9.0])
    found = [chosen + 1]
    np.put(p, [0], [5.0])
    found += [chosen + 1]
    np.copyto(src=4.0, dst=p)
    found += [chosen + 1]
    np.add(p, 1, out=p)
    found += [chosen + 1]
    np.multiply(p, 2, p)
    found += [chosen + 1]
    np.add.at(p, [0, 0], 1)
    np.fill_diagonal(m, 4)
    np.put_along_axis(n, np.array([[1], [0]]), 7, 1)
    return found, chosen, matrix, numbers, p


def written_by_another_function(x):
    def clear(a):
        a.fill(3)

    def order():
        q.sort()

    p, q = np.zeros(3), np.array([3.0, 1.0, 2.0])
    one = p if x[0] > 0 else x
    other = q if x[0] > 0 else x
    clear(p)
    order()
    return one + 1, other + 1


def written_without_a_name(x):
    p, q = np.array([3.0, 1.0, 2.0]), np.ones(3)
    one = p if x[0] > 0 else q
    np.asarray(p)[0] = 5
    p.flat[1] = 7
    found = [one + 1]
    (p if x.shape else q)[2] = 8
    list(map(p.fill, found[:0] or [6]))
    return found, one + 1, p


def of_no_dimension(x):
    found = []
    for dtype in (np.float64, np.int64, np.float32, np.int32):
        n = np.array(0, dtype)
        found.append(x + n)
        n += 1
        found.append(x * n)
        n[...] = 2
        found.append(x * n)
        n.fill(3)
        found += [x * n, np.zeros(int(n))]
        np.add(n, 1, out=n)
        found += [x * n, n]
    return found


def found_by_a_function(x):
    k, found = abs(x[0]), []
    p, q = np.zeros(3), np.ones(3)
    best = min(p, q, key=lambda r: r[0] + k)
    p[0] = 4
    found.append(best + 0)
    best = max([p, q], key=lambda r: r[1] * k)
    q[0] = 5
    found.append(best + 0)
    first, second = sorted([p, q], key=lambda r: r[1] * k)
    p[0], q[0] = 7, 8
    return found, first, second


def least_of_two(x):
    k = x[0]
    p, q = np.zeros(3), np.ones(3)
    best = min(p, q, key=lambda r: r[0] + k)
    p[0] = 4
    return best


def next_or_another(x):
    k, q = x[0], np.ones(3)
    best = next((r for r in (x, x + 1) if r[0] > k + 1), q)
    q[0] = 4
    return best


def sorted_and_unpacked(x):
    p, q = np.zeros(3), np.ones(3)
    first, second = sorted([p, q], key=lambda r: r[0] * x[0])
    q[0] = 4
    return first, second


def found_in_a_loop(x):
    p, q, best = np.zeros(3), np.ones(3), x
    for r in (p, q):
        if r[0] + x[0] > 0:
            best = r
    q[0] = 4
    return best


def found_in_pairs(x):
    p, q, best = np.zeros(3), np.ones(3), x
    for r, k in [(p, 0), (q, 1)]:
        if k + x[0] > 0:
            best = r
    q[0] = 4
    return best


def unpacked_by_a_condition(x):
    p, q = np.zeros(3), np.ones(3)
    a, b = (p, q) if x[0] > 0 else (q, p)
    p[0], q[1] = 4, 5
    return a, b


def unpacked_from_a_function(x):
    def both(r, s):
        if x[0] > 0:
            return [r, s]
        return [s, r]

    p, q = np.zeros(3), np.ones(3)
    a, b = both(p, q)
    p[0], q[1] = 4, 5
    return a, b


def gone_over_from_a_function(x):
    def both(r, s):
        return [r, s]

    p, q, best = np.zeros(3), np.ones(3), x
    for r in both(p, q):
        if r[0] + x[0] > 0:
            best = r
    q[0] = 4
    return best


def gone_over_backwards(x):
    p, q, best = np.zeros(3), np.ones(3), x
    for r in reversed([p, q]):
        if r[0] + x[0] > 0:
            best = r
    p[0], q[1] = 4, 5
    return best


CASES = [
    computed_with_before_and_after,
    the_sign_of_zero,
    edit_distance,
    filled_and_sorted,
    one_of_two,
    chosen_in_branches,
    in_a_list,
    a_row,
    held_by_an_object,
    returned_by_a_function,
    bound_together,
    copied_again_and_again,
    written_by_methods,
    written_by_functions,
    written_by_another_function,
    written_without_a_name,
    of_no_dimension,
    least_of_two,
    next_or_another,
    sorted_and_unpacked,
    found_by_a_function,
    found_in_a_loop,
    found_in_pairs,
    unpacked_by_a_condition,
    unpacked_from_a_function,
    gone_over_from_a_function,
    gone_over_backwards,
]
