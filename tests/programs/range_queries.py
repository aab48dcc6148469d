"""Data structures over ranges: a segment tree in one list, suffixes in order."""

from __future__ import annotations

from tests.programs import program


class SegmentTree:
    def __init__(self, data):
        self.n = len(data)
        self.t = [0] * self.n + list(data)
        for i in range(self.n - 1, 0, -1):
            self.t[i] = min(self.t[2 * i], self.t[2 * i + 1])

    def update(self, i, v):
        i += self.n
        self.t[i] = v
        while i > 1:
            i //= 2
            self.t[i] = min(self.t[2 * i], self.t[2 * i + 1])

    def query(self, l, r):
        res = None
        l += self.n
        r += self.n
        while l < r:
            if l & 1:
                res = self.t[l] if res is None else min(res, self.t[l])
                l += 1
            if r & 1:
                r -= 1
                res = self.t[r] if res is None or self.t[r] < res else res
            l //= 2
            r //= 2
        return res


@program(([5, 2, 8, 1, 9, 3], 1, 5), ([1, 1, 1, 1, 1, 1], 2, 2), ([7, 3], 0, 2))
def segment_tree(data, l, r):
    tree = SegmentTree(data)
    first = tree.query(l, r)
    tree.update(1, 0)
    return first, tree.query(l, r), tree.t


@program(([2, 1, 3, 1, 3, 1],), ([1, 1, 1, 1, 1, 1],), ([9, 8, 9],))
def suffix_array(s):
    order = sorted(range(len(s)), key=lambda i: tuple(s[i:]) + (-1,) * i)
    lcp = []
    for a, b in zip(order, order[1:]):
        n = 0
        while a + n < len(s) and b + n < len(s) and s[a + n] == s[b + n]:
            n += 1
        lcp.append(n)
    return list(order), lcp
