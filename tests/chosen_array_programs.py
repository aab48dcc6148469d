"""Programs that write to a NumPy array which is a part of another on one path, or another part, or an array of its own."""

from __future__ import annotations

import dataclasses

import numpy as np


def best_row(m, c):
    best = np.zeros(3)
    top = c
    for i in range(len(m)):
        if m[i].sum() > top:
            top = m[i].sum()
            best = m[i]
    best[0] = 100.0
    return best, m


def row_or_column(m, c):
    line = m[0] if c > 0 else m[:, 0][:3]
    line[1] = 50.0
    line += 1
    return m, line.sum()


def row_or_copy(m, c):
    row = m[0] if c > 0 else m[1].copy()
    row[1] = 7.0
    row *= 2
    return row, m


def parts_of_parts(m, c):
    row = m[0] if c > 0 else np.ones(3)
    part = row[1:]
    part[0] = 8
    row.sort()
    return m, row, part


def new_from_chosen(m, c):
    row = m[0] if c > 0 else np.ones(3)
    made = row * 2
    same = made
    same[0] = 100
    row = row + 1
    row[2] = 5
    return m, made, same, row


def chosen_in_a_loop(m, c):
    row = m[0] if c > 0 else np.ones(3)
    for k in range(3):
        row[k] += k
        if row[k] > 2:
            row = m[k]
    row.fill(3)
    return m, row


def longest(m, c):
    found = m[0]
    for i in range(1, 4):
        row = m[i]
        if row @ row > found @ found + c:
            found = row
    found /= np.sqrt(found @ found)
    return m, found


def exchanged(m, c):
    other = np.zeros((4, 3))
    source, target = m, other
    for k in range(3):
        target[1:] = source[:-1] * 2
        target[0] = k
        if target[0, 0] < c:
            source, target = target, source
    source[0, 0] = 77
    return m, other, source


def exchanged_in_a_dict(m, c):
    held = {"old": m, "new": np.zeros((4, 3))}
    first, k = held["old"], 0
    while k < 3 + c:
        held["new"][:] = held["old"] * 2
        held["new"][0] = k
        held["old"], held["new"] = held["new"], held["old"]
        k += 1
    return m, first, held["old"], held["new"]


def exchanged_in_a_list(m, c):
    held = [m, np.zeros((4, 3))]
    k = 0
    while k < 2 + c:
        held[1][k] = held[0][k - 1] + k
        held[0], held[1] = held[1], held[0]
        k += 1
    return m, held


def found_or_none(m, c):
    best = None
    for i in range(4):
        if m[i, 0] > c:
            best = m[i]
            break
    if best is None:
        return m
    best[2] = -5
    return m


def returned_by_branches(m, c):
    def pick(k):
        if c > k:
            return m[k]
        return np.zeros(3)

    a, b = pick(0), pick(1)
    a += 5
    b -= 5
    return m, a, b


def halves(m, c):
    if c > 0:
        low, high = m[:2], m[2:]
    else:
        low, high = m[2:], m[:2]
    low[...] = 1
    high[0] = 2
    return m


def in_a_dict(m, c):
    held = {"row": m[0]}
    if c > 0:
        held["row"] = m[2]
    held["row"][1] = 44
    return m


class Cursor:
    def __init__(self, row):
        self.row = row

    def move(self, row, c):
        if c > 0:
            self.row = row


def in_an_object(m, c):
    cursor = Cursor(np.ones(3))
    cursor.move(m[3], c)
    cursor.row += 10
    cursor.row[0] = -1
    return m, cursor.row


def in_a_list(m, c):
    rows = []
    for k in range(4):
        rows.append(m[k] if c > k else np.full(3, 9.0))
    rows[0][0] = 100
    rows[3][0] = 200
    return m, rows


def flat_or_new(m, c):
    x = m.ravel() if c > 0 else np.arange(12.0)
    x[3] = 99
    return m, x


def reversed_row(m, c):
    row = m[1] if c > 0 else m[1][::-1]
    row[0] = 5
    return m


def functions_with_out(m, c):
    row = m[0] if c > 0 else m[1].copy()
    out = np.zeros(3)
    np.add(row, 1, out=row)
    np.copyto(m[2] if c > 0 else out, 6.0)
    out[:] += row
    return m, out, row.mean(), row.max(), row[0]


def whole_or_copy(m, c):
    x = m if c > 0 else m.copy()
    for row in x:
        row[0] += 1
    for column in x.T:
        column[-1] = 0
    x.T[0, 1] = 55
    x.reshape(-1)[2] = 66
    x[1:, :2][0] *= 3
    return m, x


def copies_of_chosen(m, c):
    x = np.asarray(m if c > 0 else m.copy())
    x[0] = 1
    y = np.array(x)
    y[0] = 2
    z = x.copy()
    z[1] = 3
    return m, x, y, z


def masks_and_lists(m, c):
    x = m[0] if c > 0 else m[1].copy()
    x[x > 3] = 0
    x[[0, 2]] += 2
    x[:2] = x[1:].copy()
    return m, x, np.sort(x)


def chosen_of_chosen(m, c):
    x = m[0] if c > 0 else m[1]
    y = x[1:] if c > 0.5 else m[2][:2]
    y -= 3
    x, y = y, x
    y[0] = 6
    return m, x, y


def written_by_a_function(m, c):
    def bump(v):
        v += 1
        v[2] = 0

    bump(m[0] if c > 0 else m[1])
    bump(m[3])
    return m


def rebound_in_a_loop(m, c):
    x = m[0].copy()
    for k in range(4):
        if m[k, 0] > c:
            x = m[k]
        x[1] += k
    return m, x


def rebound_in_a_while(m, c):
    x = np.zeros(3)
    k = 0
    while k < 4 and x[0] < 4 + c:
        x = m[k]
        x[2] = c
        k += 1
    return m, x


def nested_loops(m, c):
    top = m[0]
    for row in m:
        for other in m:
            if row[0] + other[1] > top[2] + c:
                top = other
        top[0] += 1
    return m


def chosen_again(m, c):
    x = m[0] if c > 0 else np.ones(3)
    if x[0] > 0:
        x[1] = 7
    elif x[2] > 1:
        x = np.zeros(3)
    x[2] = 4
    return m, x


def in_nested_loops(m, c):
    own = np.arange(3.0)
    row = own
    row[1] = c
    total = 0.0
    for _ in range(3):
        for value in m[0] + c:
            total += row.sum()
            row = m[int(value > 0)]
        row[0] += 1
    return m, own, row, total


def in_a_branch_of_a_loop(m, c):
    own = np.arange(3.0)
    row = own
    for k in range(70):
        if m[0, 0] + c < k:
            row = m[k % 4]
        row[2] = k
    return m, own, row


def known_numbers(m, c):
    own, other = np.zeros(3), np.ones(3)
    row = own
    if c > 0:
        row = m[0]
    row[2] = 1
    one = own if c > 0 else other
    one[0] = 7
    one[1:] += 2
    for k in range(3):
        if c > k:
            row = m[k]
        row[1] = k
    return m, own, other, row


def tournament(m, c):
    def play(a, b):
        return a if a[0] * c > b[0] * c else b

    w = play(play(m[0], m[1]), play(m[2], m[3]))
    w[2] = -1
    return m, w


def recursion_returning_a_part(m, c):
    def pick(k):
        if k == 0:
            return m[0]
        r = pick(k - 1)
        if r[0] + c > m[k, 0]:
            return r
        return m[k]

    r = pick(3)
    r[:] = 0
    return m


def farthest_point(m, c):
    centre = m.mean(axis=0)
    far = m[0]
    for p in m:
        if ((p - centre) ** 2).sum() > ((far - centre) ** 2).sum() + c:
            far = p
    far[:] = centre
    return m


@dataclasses.dataclass
class Particle:
    pos: np.ndarray
    vel: np.ndarray


def particles(m, c):
    ps = [Particle(m[i], m[i] * 0) for i in range(4)]
    lead = ps[0]
    for p in ps[1:]:
        if p.pos[0] * c > lead.pos[0] * c:
            lead = p
    lead.pos += 100
    lead.vel[0] = 3
    return m, [p.vel for p in ps]


def rows_exchanged_by_names(m, c):
    a, b = m[0], m[1]
    if c > 0:
        a, b = b, a
    tmp = a.copy()
    a[:] = b
    b[:] = tmp + c
    return m


def given_or_new(m, c):
    def f(out=None):
        if out is None:
            out = np.zeros(3)
        out[0] += 1
        return out

    x = f()
    y = f(m[0]) if c > 0 else f(m[1])
    y[1] = 7
    return m, x, y


def handlers(m, c):
    row = m[0]
    try:
        if c < 0:
            raise ValueError
        row = m[1]
    except ValueError:
        row = m[2]
    finally:
        row[0] = 77
    return m


def best_and_worst(m, c):
    best, worst = m[0], m[0]
    for r in m[1:]:
        if r.sum() > best.sum() + c:
            best = r
        if r.sum() < worst.sum() - c:
            worst = r
    best -= worst
    worst[0] = -1
    return m


def matched(m, c):
    match int(c > 0):
        case 0:
            row = m[0]
        case _:
            row = m[3]
    row[:2] = [5, 6]
    return m


def best_by_a_key(m, c):
    row = max(m, key=lambda each: each[1] * c)
    row[0] = -3
    other = min(m[1:], key=lambda each: each[0] * c)
    other += 1
    return m, row


PROGRAMS = [
    value
    for value in list(globals().values())
    if getattr(value, "__module__", None) == __name__ and not isinstance(value, type)
]
