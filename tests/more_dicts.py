"""Programs with dicts of traced keys, in plain Python. More of `tests.dicts`, which are written here as strangers would write them."""

from __future__ import annotations

from collections import Counter, defaultdict, deque


def count(xs):
    counts = {}
    for v in xs:
        counts[v] = counts.get(v, 0) + 1
    return counts


def alias(xs):
    a = {}
    b = a
    holder = [a]
    for v in xs:
        a[v] = 1
    b[77] = 2
    return len(a), len(b), a is b, 77 in holder[0]


def param(xs):
    def bump(d, k):
        d[k] = d.get(k, 0) + 1

    d = {}
    for v in xs:
        bump(d, v)
    return d


def nested(xs):
    d = {}
    for v in xs:
        if v not in d:
            d[v] = {"n": 0, "last": 0}
        d[v]["n"] += 1
        d[v]["last"] = v * 2
    return d


def adj(edges):
    g = {}
    for a, b in edges:
        g.setdefault(a, []).append(b)
        g.setdefault(b, []).append(a)
    t = 0
    for n in g:
        for m in g[n]:
            t = (t * 7 + n * m) % 1000
    return t, g


def views(xs):
    d = count(xs)
    return d.keys() & {1, 2}, 3 in d.keys(), 3 in d.values(), d.keys() == {1, 2, 3}, (3, 3) in d.items()


def sortd(xs):
    d = count(xs)
    return (
        sorted(d.items(), key=lambda kv: (-kv[1], kv[0])),
        max(d, key=d.get),
        min(d.items()),
        sorted(d, key=lambda k: d[k]),
    )


def popi(xs):
    d = count(xs)
    k, v = d.popitem()
    d.clear()
    return k, v, d


def fibd(n):
    d = {0: 0, 1: 1}
    i = 2
    while i <= n:
        d[i] = d[i - 1] + d[i - 2]
        i += 1
    return d[n], len(d)


def eqd(xs, ys):
    return Counter(xs) == Counter(ys), {v: 1 for v in xs} == {v: 1 for v in ys}


def topo(edges):
    indeg = {}
    for a, b in edges:
        indeg[b] = indeg.get(b, 0) + 1
        if a not in indeg:
            indeg[a] = 0
    zero = [n for n in indeg if indeg[n] == 0]
    return indeg, zero


def whiled(n):
    d = {}
    while n > 0:
        d[n % 10] = d.get(n % 10, 0) + 1
        n //= 10
    return d


def boolk(x):
    d = {1: "a"}
    d[x > 0] = "b"
    return d


def negz(x):
    d = {}
    d[x] = 1
    d[-x] = 2
    return d, len(d)


def setvals(edges):
    g = defaultdict(set)
    for a, b in edges:
        g[a].add(b)
    return g


def most(xs):
    c = count(xs)
    return max(c.values()), len(c)


def reset(xs):
    d = {}
    n = 0
    for v in xs:
        if v in d:
            d = {}
            n += 1
        d[v] = 1
    return n, len(d)


def inner_new(xs):
    out = 0
    for v in xs:
        d = {}
        d[v] = 1
        d[v + 1] = 2
        d[v] = 5
        out += len(d) * 100 + d[v]
    return out


def setd(x):
    d = {1: 2.0}
    y = d.setdefault(x, 7.0)
    return y, d


def while_memo(n):
    memo = {0: 0, 1: 1}
    stack = [n]
    while stack:
        k = stack[-1]
        if k in memo:
            stack.pop()
        elif k - 1 in memo and k - 2 in memo:
            memo[k] = memo[k - 1] + memo[k - 2]
            stack.pop()
        else:
            if k - 1 not in memo:
                stack.append(k - 1)
            if k - 2 not in memo:
                stack.append(k - 2)
    return memo[n]


def early(xs):
    first = {}
    for i, v in enumerate(xs):
        if v in first:
            break
        first[v] = i
    return first


def anyall(xs):
    d = {v: v > 1 for v in xs}
    return any(d), all(d.values()), sum(d), min(d), max(d), len(d), bool(d)


def popd(xs):
    d = {v: i for i, v in enumerate(xs)}
    a = d.pop(3)
    b = d.pop(100, None)
    return a, b is None, list(d)


def delloop(xs):
    d = {v: 1 for v in xs}
    for k in list(d):
        if k > 2:
            del d[k]
    return d


def reins(xs):
    d = {v: 1 for v in xs}
    del d[3]
    d[3] = 9
    return list(d.items())


def condget(x):
    d = {1: 2.0, 3: 4.0}
    return d.get(x, 0.0), d.get(x), x in d


def gd3(xs):
    g = {}
    for v in xs:
        if v not in g:
            g[v] = []
        g[v].append(v)
    return g


def ids(xs):
    ids = defaultdict(lambda: len(ids))
    out = 0
    for v in xs:
        out = out * 10 + ids[v]
    return out, ids[99], len(ids)


def later(xs):
    d = {}
    t = 0
    for i, v in enumerate(xs):
        if i > 0:
            t += d[0]
        d[0] = v
        d[v] = i
    return t, d


def later2(xs):
    d = {}
    t = 0
    for v in xs:
        if v > 6:
            t += d[5]
        d[v] = v
    return t


def grouped(xs):
    g = {}
    for v in xs:
        g.setdefault(v % 3, []).append(v)
    return g


def reads_of_groups(xs):
    g = grouped(xs)
    total = 0
    for k, v in g.items():
        total += k * len(v) + v[0]
    for v in g.values():
        total += v[-1]
    longest = max(g.values(), key=len)
    return (
        total,
        longest,
        {k: sum(v) for k, v in g.items()},
        sum(len(v) for v in g.values()),
        any(v[0] > 2 for v in g.values()),
    )


def groups_written_by_key(xs):
    g = grouped(xs)
    for k in g:
        g[k].append(k)
        g[k].sort(reverse=True)
    return {k: v[0] for k, v in g.items()}, [len(v) for v in g.values()]


def groups_in_order(xs):
    g = grouped(xs)
    return sorted(g.items()), list(g.values()), {k: v for k, v in g.items() if len(v) > 2}


def keys_in_lists(xs):
    g = {v % 4: v for v in xs}
    a = [9]
    a.extend(g)
    a += g
    b = [1, 2]
    b[1:1] = g
    first, *rest = g
    return a, b, [*g, 5], first, rest, [*g.values()], [*g.items()]


def keys_in_deques(xs):
    g = {v % 4: v for v in xs}
    q = deque(g)
    q.extend(g)
    return list(q)


def histogram(xs):
    counts = dict.fromkeys(range(8), 0)
    for v in xs:
        counts[v] += 1
    kept = [v for v in xs if v > 1]
    return counts, list(dict.fromkeys(xs)), dict.fromkeys([xs[0], xs[1]], 1), dict.fromkeys(kept, 2)


def views_in_handled_code(xs):
    total = 0
    try:
        if xs[0] > 100:
            raise ValueError
        d = {0: 2, 1: 3}
        for v in xs:
            d[v % 3] = v
        total = sum(d.values()) + len(d.items()) + max(d.keys())
    except ValueError:
        total = -1
    return total


def rest_of_views(xs):
    d = {}
    for v in xs:
        d[v] = v + 1
    pairs, values = zip(d.keys(), d.values()), iter(d.values())
    return next(pairs), list(pairs), next(values), sum(values)


def views_by_position(xs):
    d, pairs = {}, {xs[0]: (1, 2.5), 7: (3, 4.5)}
    for v in xs:
        d[v % 4] = d.get(v % 4, 0) + v
    total = 0
    for k, v in zip(pairs.keys(), pairs.values()):
        total += k * v[0]
    values, items = iter(d.values()), iter(pairs.items())
    while total < 9:
        k, (i, x) = next(items)
        total += k + i + int(x)
    return total, next(values), next(values), next(iter(d.keys())), next(iter(pairs.values()))
