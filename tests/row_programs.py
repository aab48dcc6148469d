"""Programs with lists of traced length whose elements differ: lists in length, texts, and None."""

from __future__ import annotations

import collections

import jax.numpy as jnp

N, XS = jnp.int32(5), jnp.array([1.0, 5.0, 2.0, 7.0])


def pascal(n):
    table = []
    for i in range(n):
        row = [1]
        for j in range(1, i):
            row.append(table[-1][j - 1] + table[-1][j])
        if i > 0:
            row.append(1)
        table.append(row)
    return table


def written_under_the_name_that_was_appended(n):
    table = []
    for i in range(n):
        row = []
        table.append(row)
        row.append(i)
        row.append(i * 2)
    return table


def read_from_the_end(n):
    table = [[1]]
    for i in range(1, n):
        prev = table[-1]
        row = [1]
        for j in range(len(prev) - 1):
            row.append(prev[j] + prev[j + 1])
        row.append(1)
        table.append(row)
    return table[-1][-1], table[n - 1][n // 2], len(table[n - 2]), table[-1]


def read_by_loops_and_comprehensions(n):
    table = []
    for i in range(n):
        row = [i * j for j in range(i)]
        table.append(row)
    sums = [sum(r) for r in table]
    lens = [len(r) for r in table]
    total = 0
    for r in table:
        for v in r:
            total += v
    return sums, lens, total


def comprehension_of_comprehensions(n):
    table = [[i * j for j in range(i)] for i in range(n)]
    return table


def rows_made_of_the_row_before(n):
    row = [1]
    out = []
    for i in range(n):
        out.append(row)
        row = [1] + [row[k] + row[k + 1] for k in range(len(row) - 1)] + [1]
    return out


def adjacency_lists(n):
    adj = [[] for _ in range(n)]
    for u in range(n):
        for v in range(u):
            if (u + v) % 2 == 0:
                adj[u].append(v)
                adj[v].append(u)
    return adj


def breadth_first_search(n):
    adj = []
    for i in range(n):
        adj.append([])
    for u in range(n - 1):
        adj[u].append(u + 1)
        adj[u + 1].append(u)
    queue = [0]
    dist = [-1] * 6
    dist[0] = 0
    while queue:
        u = queue.pop(0)
        for v in adj[u]:
            if dist[v] < 0:
                dist[v] = dist[u] + 1
                queue.append(v)
    return dist


def buckets(xs):
    b = [[] for _ in range(4)]
    for x in xs:
        b[int(x) % 4].append(x)
    out = []
    for g in b:
        for x in g:
            out.append(x)
    return out, b


def list_of_deques(n):
    qs = []
    for i in range(n):
        q = collections.deque()
        q.append(i)
        qs.append(q)
    for i in range(n):
        qs[i].append(i * 10)
        qs[0].appendleft(i)
    return qs[1].popleft(), qs[0][0], len(qs[0])


def texts_by_a_condition(xs):
    names = []
    for v in xs:
        if v > 1.5:
            if v > 4:
                names.append("big")
            else:
                names.append("small")
    c = 0
    for nme in names:
        if nme == "big":
            c += 1
    return names, c, names[0] == "big"


def none_or_a_number(xs):
    out = []
    for x in xs:
        if x < 1.5:
            out.append(None)
        else:
            out.append(x)
    k = 0
    for o in out:
        if o is None:
            k += 1
    return out, k


def none_before_the_loop(n):
    out = [None]
    i = 0
    while i < n:
        out.append(None if i % 2 == 0 else i)
        i += 1
    return out


def tuples_with_texts_and_none(n):
    out = []
    for i in range(n):
        out.append((i, "odd" if i % 2 else "even", None if i < 2 else i))
    return out


def none_in_an_expression(xs):
    out = []
    for x in xs:
        out.append(None if x < 2 else x)
    return out


def texts_in_an_expression(xs):
    out = []
    for v in xs:
        out.append("up" if v > 2 else "down")
    return out


def texts_by_a_condition_and_an_expression(xs):
    out = []
    for v in xs:
        if v > 1.5:
            out.append("up" if v > 2 else "down")
    return out, out[0] == "down"


def none_by_a_condition(xs):
    out = []
    for x in xs:
        if x > 1.5:
            out.append(None if x < 3 else x)
    return out


def pairs_with_texts(xs):
    out = []
    for x in xs:
        if x > 1.5:
            out.append((x, "big" if x > 3 else "small"))
    return out


def texts_in_both_branches(xs):
    out = []
    for x in xs:
        if x > 1.5:
            out.append("a")
        else:
            out.append("b")
    return out


def rows_of_one_length_compared(n):
    a = []
    b = []
    for i in range(n):
        a.append([i] * 2)
        b.append([i, i])
    return a == b, [1, 1] in a, [1, 2] in a


def rows_compared(n):
    a, b = [], []
    for i in range(n):
        r, s = [], []
        for j in range(i):
            r.append(j)
            s.append(j)
        a.append(r)
        b.append(s)
    same = a == b
    b[2].append(7)
    return same, a == b, [0, 1] in a, [0, 2] in a, a != b


def rows_sorted_reversed_and_sliced(n):
    a = []
    for i in range(n):
        r = []
        for j in range(i):
            r.append((j * 7 + i * 3) % 5)
        a.append(r)
    return sorted(a), sorted(a, key=len, reverse=True), list(reversed(a)), a[1:3], a[::2]


OF_N = [
    rows_of_one_length_compared,
    rows_compared,
    rows_sorted_reversed_and_sliced,
    pascal,
    written_under_the_name_that_was_appended,
    read_from_the_end,
    read_by_loops_and_comprehensions,
    comprehension_of_comprehensions,
    rows_made_of_the_row_before,
    adjacency_lists,
    breadth_first_search,
    list_of_deques,
    none_before_the_loop,
    tuples_with_texts_and_none,
]
OF_XS = [
    buckets,
    texts_by_a_condition,
    none_or_a_number,
    none_in_an_expression,
    texts_in_an_expression,
    texts_by_a_condition_and_an_expression,
    none_by_a_condition,
    pairs_with_texts,
    texts_in_both_branches,
]
