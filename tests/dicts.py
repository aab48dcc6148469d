"""Programs with dicts of traced keys, in plain Python. They are written here as strangers would write them."""

from __future__ import annotations

from collections import Counter, defaultdict

from tests.more_dicts import (
    adj,
    alias,
    anyall,
    boolk,
    condget,
    delloop,
    early,
    eqd,
    fibd,
    gd3,
    groups_in_order,
    groups_written_by_key,
    histogram,
    ids,
    inner_new,
    keys_in_deques,
    keys_in_lists,
    later,
    later2,
    most,
    negz,
    nested,
    param,
    popd,
    popi,
    reads_of_groups,
    reins,
    reset,
    rest_of_views,
    setd,
    setvals,
    sortd,
    topo,
    views,
    views_by_position,
    views_in_handled_code,
    while_memo,
    whiled,
)


def count(xs):
    counts = {}
    for v in xs:
        counts[v] = counts.get(v, 0) + 1
    return counts


def two_sum(xs, t):
    index = {}
    for i, v in enumerate(xs):
        if t - v in index:
            return index[t - v], i
        index[v] = i
    return -1, -1


def memo(xs):
    memo = {}

    def sq(n):
        if n in memo:
            return memo[n]
        r = n * n + 1
        memo[n] = r
        return r

    t = 0
    for v in xs:
        t += sq(v)
    return t, len(memo)


def dd(xs):
    d = defaultdict(int)
    for v in xs:
        d[v] += 1
    return d, max(d.values()), max(d, key=d.get)


def ctr(xs):
    c = Counter(xs)
    return c, c[3], c[99], c.most_common(1), sum(c.values())


def group(xs):
    g = {}
    for v in xs:
        g.setdefault(v % 3, []).append(v)
    return g


def groupdd(xs):
    g = defaultdict(list)
    for v in xs:
        g[v % 3].append(v)
    return g


def bfs(adj, s, t):
    parent = {s: -1}
    queue = [s]
    while queue:
        u = queue.pop(0)
        if u == t:
            break
        for v in range(5):
            if adj[u][v] and v not in parent:
                parent[v] = u
                queue.append(v)
    path = []
    node = t
    while node != -1:
        path.append(node)
        node = parent[node]
    return path[::-1], len(parent)


def iterate(xs):
    d = {}
    for i, v in enumerate(xs):
        d[v] = i
    t = 0
    for k in d:
        t = t * 3 + k
    for k, v in d.items():
        t = t * 2 + k * v
    return t, list(d), list(d.values()), list(d.items()), sorted(d), len(d)


def dele(xs):
    d = {}
    for v in xs:
        d[v] = v * 10
    del d[3]
    p = d.pop(1)
    q = d.pop(55, -1)
    return d, p, q


def tup(xs, ys):
    grid = {}
    for a, b in zip(xs, ys):
        grid[a, b] = grid.get((a, b), 0) + 1
    return grid, (3, 1) in grid


def cond(x):
    d = {1: 10, 2: 20}
    if x > 0:
        d[x] = 5
    return d, len(d), 2 in d


def cond2(x, k):
    d = {}
    if x > 0:
        d[k] = 1
    else:
        d[k + 1] = 2
        d[k] = 3
    return d


def missing(xs):
    d = {}
    for v in xs:
        d[v] = 1
    try:
        return d[77]
    except KeyError:
        return -5


class Cache:
    def __init__(self):
        self.store = {}
        self.hits = 0

    def get(self, n):
        if n in self.store:
            self.hits += 1
            return self.store[n]
        r = n * n
        self.store[n] = r
        return r


def cache(xs):
    c = Cache()
    t = 0
    for v in xs:
        t += c.get(v)
    return t, c.hits, len(c.store)


def zipd(xs, ys):
    d = dict(zip(xs, ys))
    return d, d[3]


def upd(xs):
    d = {}
    for v in xs:
        d[v] = 1
    d.update({7: 70, 8: 80})
    e = {**d, 9: 90}
    f = d | {1: 0}
    return d, e, f, d == e, d == d.copy(), d != f


def collatz(n):
    steps = {}
    i = 0
    while n != 1 and n not in steps:
        steps[n] = i
        i += 1
        n = n // 2 if n % 2 == 0 else 3 * n + 1
    return len(steps), steps[10] if 10 in steps else -1


def floats(xs):
    d = {}
    for v in xs:
        d[v / 2] = v
    return d


def values_float(xs):
    d = {}
    for v in xs:
        d[v] = d.get(v, 0.0) + v / 2
    return d


def tupval(xs):
    d = {}
    for v in xs:
        n, s = d.get(v % 2, (0, 0))
        d[v % 2] = (n + 1, s + v)
    return d


def static(x):
    d = {}
    d["a"] = x
    if x > 0:
        d["b"] = x
    return len(d), d["a"], d.get("b", 0)


def truth(x):
    d = {}
    if not d:
        x = x + 1
    d[x] = 1
    return 1 if d else 0


def first_dup(xs):
    first = {}
    for i, v in enumerate(xs):
        if v in first:
            return first[v], i
        first[v] = i
    return None


def unionfind(pairs):
    parent = {}

    def find(a):
        while parent.get(a, a) != a:
            a = parent[a]
        return a

    for a, b in pairs:
        ra, rb = find(a), find(b)
        if ra != rb:
            parent[ra] = rb
    return find(0) == find(2), find(0) == find(5), len(parent)


def inv(xs):
    d = {v: i for i, v in enumerate(xs)}
    return d


def iso(x):
    d = {}
    d[x] = 1
    return isinstance(d, dict), isinstance(d, list), type(d) is dict


A = [3, 1, 3, 2, 1, 3]
LINKS = [[0, 1, 1, 0, 0], [1, 0, 0, 1, 0], [1, 0, 0, 1, 0], [0, 1, 1, 0, 1], [0, 0, 0, 1, 0]]
EDGES = [[0, 1], [1, 2], [0, 2], [2, 3]]


def counts_of_runs(xs):
    counts, total = Counter(), 0
    for v in xs:
        counts[v] += 1
        if len(counts) > 2:
            counts = Counter()
        total += counts[3]
    return counts, total


def groups_of_runs(xs):
    groups, total = defaultdict(list), 0
    for v in xs:
        groups[v].append(v)
        if len(groups) > 2:
            groups = defaultdict(list)
        total += len(groups[3])
    return groups, total


def read_in_branches(xs):
    found, groups, total = {xs[0]: 1}, {xs[1]: [1, 2]}, 0
    for k in range(5):
        if k in found and found[k]:
            total += 1
        if k in groups:
            total += sum(groups[k])
    if 3 in groups:
        total += groups[3][0]
    return found, groups, total


def beside_keys_by_path(xs):
    named, found, counts = {}, {}, {}
    if xs[0] > 0:
        named["a"] = 1
    for v in xs:
        found |= counts
        counts[v] = found.get(v + 1, 0) + 1
    return found, counts, named.get("a", 5)


def displays(xs):
    found = {xs[0]: 1}
    more = {**found, xs[1]: 8, **{xs[2] + 1: 3}, 5: 6}
    copied = {**found}
    copied[70] = 5
    known = {**{1: 2}, 3: 4}
    known[xs[3]] = 9
    return found, more, copied, known


PROGRAMS = [
    *[(f, (A,)) for f in (count, memo, dd, ctr, group, groupdd, iterate, dele, missing, cache, upd, floats)],
    *[(f, (A,)) for f in (values_float, tupval, first_dup, inv, alias, param, nested, sortd, popi, reset, inner_new)],
    *[
        (f, (A,))
        for f in (
            displays,
            beside_keys_by_path,
            counts_of_runs,
            groups_of_runs,
            read_in_branches,
            early,
            anyall,
            popd,
            delloop,
            reins,
            gd3,
            ids,
            views,
            most,
        )
    ],
    *[
        (f, (A,))
        for f in (
            histogram,
            views_in_handled_code,
            reads_of_groups,
            groups_written_by_key,
            groups_in_order,
            keys_in_lists,
            keys_in_deques,
            views_by_position,
            rest_of_views,
        )
    ],
    (two_sum, (A, 5)),
    (two_sum, (A, 50)),
    (bfs, (LINKS, 0, 4)),
    (tup, (A, [1, 1, 1, 1, 2, 2])),
    (cond, (2,)),
    (cond, (5,)),
    (cond, (-5,)),
    (cond2, (1, 4)),
    (cond2, (-1, 4)),
    (zipd, (A, [1, 2, 3, 4, 5, 6])),
    (collatz, (27,)),
    (static, (1,)),
    (static, (-1,)),
    (truth, (1,)),
    (first_dup, ([1, 2],)),
    (unionfind, ([[0, 1], [2, 3], [1, 3]],)),
    (iso, (1,)),
    (adj, (EDGES,)),
    (topo, (EDGES,)),
    (setvals, (EDGES,)),
    (fibd, (12,)),
    (while_memo, (10,)),
    (whiled, (112233,)),
    (eqd, (A, A[::-1])),
    (eqd, (A, [1, 2, 3, 4, 5, 6])),
    (boolk, (3,)),
    (negz, (0.0,)),
    (setd, (3,)),
    (setd, (1,)),
    (condget, (3,)),
    (condget, (5,)),
    (later, ([5, 7, 5, 9],)),
    (later2, ([5, 7, 5, 9],)),
]
