"""Programs that compare lists and tuples of different lengths, and sort in an order that is known only at run time."""

from __future__ import annotations

import heapq


def lists_of_traced_length(n):
    xs = [i for i in range(n)]
    ys = [i for i in range(n - 1)]
    zs = [0, 1, 2, 3]
    within = xs < ys, xs <= ys, xs > ys, xs >= ys, xs <= xs, ys < xs
    return within, xs < zs, zs < xs, zs <= xs, zs >= xs, [] < xs, xs > [], xs == ys, xs != ys


def of_known_lengths(n):
    a, b = (n, [n, 1]), (5, [n])
    c, d = (n, (n, 1), "a"), (5, (n,), "b")
    return (
        a < b,
        a <= b,
        a > b,
        a >= b,
        c < d,
        c > d,
        (n,) < (n, 1),
        (n, 2) >= (n, 2, 0),
        ("a", n) < ("b", None),
        [n] < [3, n],
    )


def the_greatest_so_far(n):
    best = [0]
    for i in range(n):
        candidate = [i % 3] * i
        if candidate > best:
            best = candidate
    return best


def sorted_either_way(n):
    xs = [i * i % 7 for i in range(n)]
    xs.sort(reverse=n > 3)
    pairs = sorted([(1, "a"), (1, "b"), (0, "c")], key=lambda pair: pair[0], reverse=n > 3)
    return xs, pairs, sorted([3, 1, 2], reverse=n > 3), sorted([n, 4, 4], key=lambda v: -v, reverse=n > 3)


def rows_in_order(n):
    rows = [[i % 3] * (n - i) for i in range(n)]
    return sorted(rows), min(rows), max(rows)


def a_few_of_them(n):
    xs = [i * 5 % 7 for i in range(n)]
    return (
        heapq.nsmallest(3, xs),
        heapq.nlargest(2, xs),
        heapq.nlargest(5, [n, 1], key=lambda v: -v),
        heapq.nsmallest(-1, xs),
    )


def a_heap_of_rows(n):
    heap = []
    for i in range(n):
        heapq.heappush(heap, (i * 5 % 3, [i] * i))
    found = []
    while heap:
        key, row = heapq.heappop(heap)
        found.append((key, len(row), sum(row)))
    return found


def equal_sums(n):
    """Comparisons of lists that an expression makes, of which a function without control flow around them has Python's operators."""
    bits, some = [], []
    while n > 0:
        bits.append(n % 2)
        if n % 3:
            some.append(n % 2)
        n -= 1
    doubled = bits * 2 == bits + bits, bits + some == some + bits, bits + [1] != some + [1]
    return doubled, [1] + bits == bits + [1], bits + some == "01", bits + some != None, bits == bits + some  # noqa: E711


PROGRAMS = [
    lists_of_traced_length, of_known_lengths, the_greatest_so_far, sorted_either_way, rows_in_order, a_few_of_them,
    a_heap_of_rows, equal_sums,
]  # fmt: skip
