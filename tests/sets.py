"""Programs with sets of traced elements, in plain Python. They are written here as strangers would write them."""

from __future__ import annotations


def distinct(xs):
    seen = set()
    for v in xs:
        seen.add(v)
    return len(seen)


def distinct_elements(xs):
    seen = set()
    for v in xs:
        seen.add(v)
    return seen


def happy(n):
    seen = set()
    while n != 1 and n not in seen:
        seen.add(n)
        total = 0
        while n > 0:
            d = n % 10
            total += d * d
            n = n // 10
        n = total
    return n == 1, len(seen)


def uniq2(xs):
    return len(set(xs)), sum(set(xs)), sorted(set(xs))


def dup(xs):
    seen = set()
    for v in xs:
        if v in seen:
            return v
        seen.add(v)
    return -1


def two_sum(xs, target):
    seen = set()
    for v in xs:
        if target - v in seen:
            return True
        seen.add(v)
    return False


def ops(xs, ys):
    a = set(xs)
    b = set(ys)
    return a | b, a & b, a - b, a ^ b, a <= b, a == b, a < (a | b), a.isdisjoint(b)


def walk(moves):
    x, y = 0, 0
    seen = {(x, y)}
    for m in moves:
        if m == 0:
            x += 1
        elif m == 1:
            x -= 1
        elif m == 2:
            y += 1
        else:
            y -= 1
        seen.add((x, y))
    return len(seen), (0, 1) in seen


def cond(x):
    s = {1, 2}
    if x > 0:
        s.add(5)
    else:
        s.discard(2)
    return s, len(s), not s


def collatz(n):
    seen = {n}
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        seen.add(n)
    return len(seen), max(seen)


class Visits:
    def __init__(self):
        self.seen = set()

    def visit(self, v):
        fresh = v not in self.seen
        self.seen.add(v)
        return fresh


def obj(xs):
    t = Visits()
    count = 0
    for v in xs:
        if t.visit(v):
            count += 1
    return count, len(t.seen)


def rem(xs):
    s = set(xs)
    s.remove(3)
    s.discard(100)
    return s


def bfs(adj, start):
    seen = {start}
    queue = [start]
    order = 0
    while queue:
        u = queue.pop(0)
        order = order * 10 + u
        for v in range(5):
            if adj[u][v] and v not in seen:
                seen.add(v)
                queue.append(v)
    return order, len(seen)


def loc(xs):
    total = 0
    for v in xs:
        s = set()
        s.add(v)
        s.add(v + 1)
        s.add(v)
        total += len(s)
    return total


def strs(x):
    s = set()
    s.add("a")
    if x > 0:
        s.add("b")
    return len(s), "b" in s


def rebinding(xs):
    s = set()
    for v in xs:
        s = s | {v}
    return s


def inplace(xs, ys):
    s = set(xs)
    s |= set(ys)
    s -= {1}
    s ^= {2, 50}
    s &= {2, 3, 50, 7}
    t = s.copy()
    t.add(99)
    return s, t, s < t, s.issubset(t), t.issuperset(s)


def nested(xs):
    groups = [set(), set()]
    for v in xs:
        if v % 2 == 0:
            groups[0].add(v)
        else:
            groups[1].add(v)
    return groups[0], groups[1]


def dictof(xs):
    d = {"even": set(), "odd": set()}
    for v in xs:
        if v % 2 == 0:
            d["even"].add(v)
        else:
            d["odd"].add(v)
    return d


def comp(xs):
    return {v * v for v in xs}, len({v % 3 for v in xs if v > 1})


def closure(xs):
    seen = set()

    def mark(v):
        if v in seen:
            return 0
        seen.add(v)
        return 1

    n = 0
    for v in xs:
        n += mark(v)
    return n, len(seen)


def clear(xs):
    s = set()
    n = 0
    for v in xs:
        s.add(v)
        if len(s) == 3:
            s.clear()
            n += 1
    return n, s


def whilepop(x):
    s = set()
    i = 0
    while i < x:
        s.add(i * i % 7)
        i += 1
    return sorted(s), min(s), max(s), any(s), all(s)


def tuples(xs, ys):
    s = set()
    for a, b in zip(xs, ys):
        s.add((a, b))
    return len(s), (3, 1) in s, s


def missing(xs):
    s = set(xs)
    try:
        s.remove(77)
    except KeyError:
        return -1
    return len(s)


def static_and(x):
    s = {1, 2, 3}
    s.add(x)
    return s, len(s), 3 in s, x in s


def displays(a, b):
    return len({a, b, 3}), a in {b, 3}


def truth(xs):
    s = set()
    for v in xs:
        if v > 100:
            s.add(v)
    if not s:
        return 0
    return 1


def floats(xs):
    s = set()
    for v in xs:
        s.add(v / 2)
    return s


def argset(x):
    def f(seen, v):
        seen.add(v)
        return len(seen)

    s = set()
    return f(s, x), f(s, x + 1), f(s, x)


def iso(x):
    s = set()
    s.add(x)
    return isinstance(s, set), isinstance(s, list), type(s) is set


def eqs(xs):
    s = set(xs)
    return (
        s == {1, 2, 3, 7},
        {1, 2, 3, 7} == s,
        s != {1},
        s == set(),
        {1, 2} <= s,
        s >= {1},
        {5} & s,
        {1} | s,
        {1, 5} - s,
    )


def bools(x):
    s = {1}
    s.add(x > 0)
    return len(s)


def branchset(x):
    if x > 0:
        s = {1, 2}
    else:
        s = {3}
    return len(s), 3 in s


def symdiff(xs):
    odd = set()
    for v in xs:
        if v in odd:
            odd.remove(v)
        else:
            odd.add(v)
    return odd


def unique_order(xs):
    seen = set()
    out = []
    for v in xs:
        if v not in seen:
            seen.add(v)
            out.append(v)
    return out


def np_in(xs):
    s = set(xs)
    c = 0
    for v in range(10):
        if v in s:
            c += 1
    return c


def addsret(x):
    s = set()
    r = s.add(x)
    return r is None, s


def unpack(x):
    s = {x}
    (v,) = s
    return v


def upd(xs):
    s = {1}
    s.update(xs)
    s.update([2, 50], (60,))
    return s


A = [3, 1, 3, 2, 1, 7]
LINKS = [[0, 1, 1, 0, 0], [1, 0, 0, 1, 0], [1, 0, 0, 1, 0], [0, 1, 1, 0, 0], [0, 0, 0, 0, 0]]
BOUNDED = [
    (distinct, (A,)),
    (uniq2, (A,)),
    (dup, (A,)),
    (two_sum, (A, 9)),
    (two_sum, (A, 100)),
    (walk, ([0, 1, 2, 3, 0, 0],)),
    (obj, (A,)),
    (loc, (A,)),
    (closure, (A,)),
    (np_in, (A,)),
    (truth, ([1, 2],)),
    (truth, ([1, 200],)),
]
PROGRAMS = [
    *BOUNDED,
    (distinct_elements, (A,)),
    (symdiff, ([1, 2, 1, 3, 3, 3],)),
    (happy, (19,)),
    (happy, (20,)),
    (ops, (A, [1, 2, 9])),
    (cond, (1,)),
    (cond, (-1,)),
    (collatz, (27,)),
    (rem, (A,)),
    (bfs, (LINKS, 0)),
    (strs, (1,)),
    (strs, (-1,)),
    (rebinding, ([3, 1, 3],)),
    (inplace, ([3, 1, 2], [7, 8])),
    (nested, ([3, 1, 2, 3, 4],)),
    (dictof, ([3, 1, 2, 3, 4],)),
    (comp, (A,)),
    (clear, ([3, 1, 2, 3, 4, 5],)),
    (whilepop, (6,)),
    (tuples, ([3, 1, 3], [1, 1, 1])),
    (missing, ([3, 1],)),
    (static_and, (2,)),
    (static_and, (9,)),
    (displays, (3, 4)),
    (displays, (4, 4)),
    (floats, ([1, 2, 2],)),
    (argset, (3,)),
    (iso, (3,)),
    (eqs, ([3, 1, 2, 7],)),
    (eqs, ([3, 1, 2],)),
    (bools, (1,)),
    (bools, (-1,)),
    (branchset, (1,)),
    (branchset, (-1,)),
    (unique_order, ([3, 1, 3, 2],)),
    (addsret, (1,)),
    (unpack, (1,)),
    (upd, ([3, 1],)),
]
