"""Programs that ask for the length, or for elements, of lists that their loops lengthen and shorten."""

from __future__ import annotations

import dataclasses

import jax.numpy as jnp

import autograph as ag


def sum_from_the_third_on(xs):
    seen = []
    late = 0.0
    for v in xs:
        if len(seen) >= 2:
            late += v
        seen.append(v)
    return late


def sliding_window(xs):
    win = []
    best = 0.0
    for v in xs:
        win.append(v)
        if len(win) > 3:
            win.pop(0)
        s = sum(win)
        if s > best:
            best = s
    return best


def sums_of_the_last_three(xs):
    hist = []
    t = 0.0
    for v in xs:
        hist.append(v)
        t += sum(hist[-3:])
    return t


def fibonacci(xs):
    out = [1.0, 1.0]
    for i in ag.range(6):
        out.append(out[-1] + out[-2])
    return out[-1]


def monotone_stack(xs):
    st = []
    for v in xs:
        while len(st) >= 2 and st[-1] > v:
            st.pop()
        st.append(v)
    return st


def flushed_at_three(xs):
    buf = []
    tot = 0.0
    n = 0
    for v in xs:
        buf.append(v)
        if len(buf) == 3:
            tot += buf[0] * buf[1] * buf[2]
            n += 1
            buf = []
    return tot, n, len(buf)


def cleared_at_three(xs):
    buf = []
    tot = 0.0
    n = 0
    for v in xs:
        buf.append(v)
        if len(buf) == 3:
            tot += sum(buf)
            n += 1
            buf.clear()
    return tot, n, len(buf)


def one_list_decides_about_another(xs):
    seen = []
    d = []
    for e in xs:
        if seen:
            d.append(e)
        seen.append(e)
    return len(d)


class Counter:
    def __init__(self):
        self.k = 0


def a_length_decides_about_an_object(xs):
    s = []
    o = Counter()
    for v in xs:
        if len(s) == 2:
            o.k += 1
        s.append(v)
    return o.k


class Window:
    def __init__(self):
        self.items = []

    def push(self, v):
        self.items.append(v)
        if len(self.items) > 3:
            self.items.pop(0)

    def mean(self):
        return sum(self.items) / len(self.items)


def window_of_an_object(xs):
    w = Window()
    t = 0.0
    for v in xs:
        w.push(v)
        t += w.mean()
    return t


def window_of_a_closure(xs):
    items = []

    def push(v):
        if len(items) >= 2:
            items.pop(0)
        items.append(v)

    for v in xs:
        push(v)
    return items[0], len(items)


def window_in_a_dict(xs):
    d = {"w": [], "n": 0}
    for v in xs:
        d["w"].append(v)
        if len(d["w"]) > 2:
            d["w"].pop(0)
            d["n"] += 1
    return d["n"], sum(d["w"])


def lists_in_a_list(xs):
    rows = [[], []]
    for v in xs:
        if len(rows[0]) >= 2:
            rows[1].append(v)
        else:
            rows[0].append(v)
    return len(rows[0]), len(rows[1])


def moving_average(xs):
    out = []
    win = []
    for v in xs:
        win.append(v)
        if len(win) > 3:
            win.pop(0)
        out.append(sum(win) / len(win))
    return out


def mean_of_the_stack(xs):
    kept = []
    for v in xs:
        if v > 2:
            kept.append(v)
    return jnp.mean(jnp.stack(kept)), jnp.stack(kept).min(), len(kept)


def popped_twice(xs):
    l = [1, 2, 3, 4]
    for v in xs[:2]:
        if v > 0:
            l.pop()
    return jnp.sum(jnp.array(l)), len(l)


def primes(xs):
    found = []
    for n in range(2, 30):
        ok = True
        for q in found:
            if (n + 0 * xs[0]) % q == 0:
                ok = False
        if ok:
            found.append(n + 0 * xs[0])
    return found


def shortened_by_slices(xs):
    out = []
    i = 0
    while i < 8:
        out.append(xs[i])
        i += 1
        if len(out) == 3:
            out = out[1:]
    return sum(out)


def insertion_sort(xs):
    out = []
    for v in xs:
        k = 0
        while k < len(out) and out[k] < v:
            k += 1
        out.insert(k, v)
    return out


def longest_increasing(xs):
    best = []
    for i in range(8):
        b = 1
        for j in range(i):
            if xs[j] < xs[i] and best[j] + 1 > b:
                b = best[j] + 1
        best.append(b)
    return max(best)


def josephus(xs):
    people = []
    for v in xs:
        people.append(v)
    i = 0
    while len(people) > 1:
        i = (i + 2) % len(people)
        people.pop(i)
    return people[0]


def differences_of_neighbours(xs):
    h = []
    t = []
    for v in xs:
        h.append(v)
        if len(h) >= 2:
            t.append(h[-1] - h[-2])
    return t


def the_first_three(xs):
    got = []
    for v in xs:
        if len(got) == 3:
            break
        if v > 1:
            got.append(v)
    return got, sum(got)


def places_of_the_greatest(xs):
    out = []
    for v in xs:
        if not out or v > out[0]:
            out = [v]
        elif v == out[0]:
            out.append(v)
    return out


def running_median(xs):
    w = []
    r = []
    for v in xs:
        w.append(v)
        if len(w) > 3:
            del w[0]
        s = sorted(w)
        r.append(s[len(s) // 2])
    return r


def alternating_signs(xs):
    out = []
    for v in xs:
        out.append(v)
        x = 1.0 if len(out) % 2 == 0 else -1.0
        out[-1] = out[-1] * x
    return out


def two_groups(xs):
    groups = [[], []]
    for v in xs:
        if v > 3:
            groups[0].append(v)
        else:
            groups[1].append(v)
    return len(groups[0]), sum(groups[1])


def until_seen_before(xs):
    seen = []
    for v in xs:
        if v in seen:
            return len(seen)
        seen.append(v)
    return -1


def two_names(xs):
    a = []
    b = a
    for v in xs:
        a.append(v)
        if len(b) > 4:
            a.pop(0)
    return len(b), b[0]


def lists_in_a_tuple(xs):
    st = ([], [])
    for v in xs:
        st[0].append(v)
        if len(st[0]) > 2:
            st[1].append(st[0].pop(0))
    return st[0], sum(st[1])


def polynomial_of_roots(xs):
    c = [1.0]
    for r in xs[:4]:
        n = [0.0] + c
        for i in range(len(c)):
            n[i] -= r * c[i]
        c = n
    return c


def object_that_flushes(xs):
    class A:
        def __init__(self):
            self.h = []
            self.total = 0.0

        def push(self, v):
            self.h.append(v)
            if len(self.h) == 3:
                self.total += sum(self.h)
                self.h = []

    a = A()
    for v in xs:
        a.push(v)
    return a.total, len(a.h)


def the_last_three_of_pairs(xs):
    buf = []
    for v in xs:
        buf.extend([v, v + 1])
        buf = buf[-3:]
    return buf


def reversed_by_popping(xs):
    s = []
    for v in xs:
        s.append(v)
    out = []
    while s:
        out.append(s.pop())
    return out


def parentheses(xs):
    st = []
    ok = True
    for v in xs:
        if v < 3:
            st.append(v)
        else:
            if len(st) == 0:
                ok = False
            else:
                st.pop()
    return ok, len(st)


def two_back(xs):
    out = []
    for i, v in enumerate(xs):
        if i >= 2:
            out.append(out[i - 1] + v)
        else:
            out.append(v)
    return out


def length_bound_in_a_test(xs):
    out = []
    for v in xs:
        if (n := len(out)) < 4:
            out.append(v * n)
    return out


def counts_so_far(xs):
    out = []
    for v in xs:
        out.append(out.count(v))
    return out


def numbers_for_names(xs):
    names = []
    ids = []
    for v in xs:
        if v not in names:
            names.append(v)
        ids.append(names.index(v))
    return ids, len(names)


@dataclasses.dataclass
class History:
    scale: float
    items: list = dataclasses.field(default_factory=list)


def window_of_a_dataclass(xs):
    one, other = History(2.0), History(1.0, items=[5.0])
    for v in xs:
        if len(one.items) > 1:
            other.items.append(one.items.pop(0))
        one.items.append(v * one.scale)
    return one.items, sum(other.items)


def lists_in_displays(xs):
    rows, table = [[0.0], [1.0, 2.0]], {"a": [5.0]}
    for v in xs:
        if len(rows[0]) > 2:
            rows[1].append(v)
        rows[0].append(v)
        if len(table["a"]) > 2:
            table["a"].pop(0)
        table["a"].append(v)
    return sum(rows[0]), rows[1], table


PROGRAMS = [value for value in list(globals().values()) if type(value) is type(sliding_window)]
