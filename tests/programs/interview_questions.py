"""Puzzles of job interviews, with two pointers, dicts, stacks and windows."""

from __future__ import annotations

import itertools
from collections import deque

import numpy as np

from tests.programs import program


@program(([2, 7, 11, 15], 9), ([3, 2, 4], 6), ([3, 3], 6), ([1, 2, 3], 100), bare="a key may be missing")
def two_sum(nums, target):
    seen = {}
    for i, x in enumerate(nums):
        if target - x in seen:
            return [seen[target - x], i]
        seen[x] = i
    return []


@program(
    (np.array([1, 2, 3, 1, 2]),),
    (np.array([1, 1, 1, 1, 1]),),
    (np.array([1, 2, 3, 4, 5]),),
    bare="a key may be missing",
)
def length_of_longest_substring(s):
    last = {}
    start = best = 0
    for i, ch in enumerate(s):
        if ch in last and last[ch] >= start:
            start = last[ch] + 1
        last[ch] = i
        if i - start + 1 > best:
            best = i - start + 1
    return best


@program(([1, 3], [2]), ([1, 2], [3, 4]), ([1, 1], [1, 1]))
def median_two(a, b):
    if len(a) > len(b):
        a, b = b, a
    m, n = len(a), len(b)
    lo, hi = 0, m
    half = (m + n + 1) // 2
    while lo <= hi:
        i = (lo + hi) // 2
        j = half - i
        aleft = a[i - 1] if i > 0 else float("-inf")
        aright = a[i] if i < m else float("inf")
        bleft = b[j - 1] if j > 0 else float("-inf")
        bright = b[j] if j < n else float("inf")
        if aleft <= bright and bleft <= aright:
            if (m + n) % 2:
                return float(max(aleft, bleft))
            return (max(aleft, bleft) + min(aright, bright)) / 2
        elif aleft > bright:
            hi = i - 1
        else:
            lo = i + 1
    return -1.0


@program(
    (np.array([1, 3, 5]), np.array([2, 3, 6])),
    (np.array([1, 1, 1]), np.array([1, 1, 1])),
    bare="what grows without a bound that is known beforehand",
)
def merge_two(a, b):
    i = j = 0
    out = []
    while i < len(a) or j < len(b):
        if j >= len(b) or (i < len(a) and a[i] < b[j]):
            v = a[i]
            i += 1
        else:
            v = b[j]
            j += 1
        if not out or out[-1] != v:
            out.append(v)
    return out


@program((np.array([4, 3, 2, 1]), 2), (np.array([1, 5, 2, 8]), 4), (np.array([0, 0, 0, 0]), 0))
def sliding_max(xs, w):
    dq, out = deque(), []
    for i, x in enumerate(xs):
        while dq and xs[dq[-1]] <= x:
            dq.pop()
        dq.append(i)
        if dq[0] <= i - w:
            dq.popleft()
        if i >= w - 1 and dq:
            out.append(xs[dq[0]])
    return out


@program((np.array([0, 1, 1, 0, 1, 1, 1]),), (np.array([0, 0, 0, 0, 0, 0, 0]),), (np.array([1, 1, 1, 1, 1, 1, 1]),))
def longest_run(bits):
    best = cur = 0
    start = best_start = -1
    prev = None
    for i, b in enumerate(bits):
        if b == 1:
            if prev != 1:
                start = i
                cur = 0
            cur += 1
            if cur > best:
                best, best_start = cur, start
        prev = b
    return best, best_start, [k for k, g in itertools.groupby(bits)]


@program(([3, 4, 2],), ([1, 1, 1],), ([0, 5, 5],))
def nim_sum_moves(heaps):
    x = 0
    for h in heaps:
        x ^= h
    if x == 0:
        return None
    for i, h in enumerate(heaps):
        if h ^ x < h:
            return i, h - (h ^ x)


@program((2024, 2, 29), (2000, 1, 1), (1999, 12, 31), (2023, 2, 29))
def zeller(y, m, d):
    leap = (y % 4 == 0 and y % 100 != 0) or y % 400 == 0
    days = [31, 29 if leap else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    if not 1 <= d <= days[m - 1]:
        return "invalid", -1
    doy = sum(days[: m - 1]) + d
    if m < 3:
        m += 12
        y -= 1
    k, j = y % 100, y // 100
    h = (d + 13 * (m + 1) // 5 + k + k // 4 + j // 4 + 5 * j) % 7
    names = ["Sat", "Sun", "Mon", "Tue", "Wed", "Thu", "Fri"]
    return names[h], doy


@program((np.array([[1, 2], [3, 4]]), 1), (np.array([[1, 2], [3, 4]]), 9), (np.array([[4, 4], [4, 4]]), 4))
def find_in_grid(g, t):
    pos = None
    for i, row in enumerate(g):
        for j, v in enumerate(row):
            if v == t:
                pos = (i, j)
                break
        if pos:
            break
    if pos is None:
        return "none"
    r, c = pos
    return f"({r},{c})"
