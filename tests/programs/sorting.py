"""Orders, by algorithms of textbooks."""

from __future__ import annotations

import numpy as np

from tests.programs import program

SAMPLES = (np.array([5, 2, 9, 1, 5, 6, 3]),), (np.array([7, 6, 5, 4, 3, 2, 1]),), (np.array([1, 1, 1, 1, 1, 1, 1]),)


@program(*SAMPLES)
def insertion_sort(values):
    a = list(values)
    moves = 0
    for i in range(1, len(a)):
        key = a[i]
        j = i - 1
        while j >= 0 and a[j] > key:
            a[j + 1] = a[j]
            j -= 1
            moves += 1
        a[j + 1] = key
    already = moves == 0
    return a, moves, already


@program(*SAMPLES, bare="an exception")
def bubble_sort(values):
    a = values.copy()
    n = len(a)
    passes = 0
    swapped = True
    while swapped:
        swapped = False
        for i in range(n - 1):
            if a[i] > a[i + 1]:
                a[i], a[i + 1] = a[i + 1], a[i]
                swapped = True
        passes += 1
        if passes > n:
            raise RuntimeError("does not end")
    inversions = 0
    for i in range(n):
        for j in range(i + 1, n):
            if values[i] > values[j]:
                inversions += 1
    return a, passes, inversions


@program(*SAMPLES)
def heap_sort(values):
    a = list(values)
    n = len(a)

    def sift(start, end):
        root = start
        while 2 * root + 1 < end:
            child = 2 * root + 1
            if child + 1 < end and a[child] < a[child + 1]:
                child += 1
            if a[root] >= a[child]:
                return
            a[root], a[child] = a[child], a[root]
            root = child

    for start in range(n // 2 - 1, -1, -1):
        sift(start, n)
    for end in range(n - 1, 0, -1):
        a[0], a[end] = a[end], a[0]
        sift(0, end)
    return a


@program(*SAMPLES)
def quickselect(values):
    """The median, with the pivot at the right."""
    a = values.copy()
    k = len(a) // 2
    lo, hi = 0, len(a) - 1
    rounds = 0
    while lo < hi:
        pivot = a[hi]
        i = lo
        for j in range(len(a)):
            if j < lo or j >= hi:
                continue
            if a[j] < pivot:
                a[i], a[j] = a[j], a[i]
                i += 1
        a[i], a[hi] = a[hi], a[i]
        rounds += 1
        if i == k:
            break
        if i < k:
            lo = i + 1
        else:
            hi = i - 1
    return a[k], rounds


@program(*SAMPLES)
def counting_and_merging(values):
    counts = [0] * 10
    for v in values:
        counts[v] += 1
    first = []
    for v in range(10):
        first.append(sum(counts[:v]))
    left, right = sorted(values[:3]), sorted(values[3:])
    merged = []
    i = j = 0
    for _ in range(len(values)):
        if j >= len(right) or (i < len(left) and left[i] <= right[j]):
            merged.append(left[i])
            i += 1
        else:
            merged.append(right[j])
            j += 1
    same = True
    for v in values:
        if merged[first[v]] != v:
            same = False
    return merged, same


@program(([(3, 1.0), (1, 2.0), (3, 0.5), (2, 9.0)],), ([(1, 1.0), (1, 1.0), (1, 0.0), (0, 5.0)],))
def league_table(results):
    """Points first, then goals; ties share a place."""
    ordered = sorted(results, key=lambda r: (r[0], r[1]), reverse=True)
    places = []
    place = 0
    previous = None
    for k, (points, goals) in enumerate(ordered, start=1):
        if previous is None or previous != (points, goals):
            place = k
        places.append(place)
        previous = (points, goals)
    champion = ordered[0]
    return places, champion[0], champion[1]


@program(*SAMPLES)
def binary_search_tree(values):
    """A tree in three lists, walked in order with a stack of known size."""
    n = len(values)
    left, right = [-1] * n, [-1] * n
    deepest = 1
    for k in range(1, n):
        at, depth = 0, 1
        while True:
            depth += 1
            if values[k] < values[at]:
                if left[at] == -1:
                    left[at] = k
                    break
                at = left[at]
            else:
                if right[at] == -1:
                    right[at] = k
                    break
                at = right[at]
        deepest = max(deepest, depth)
    smallest = 0
    while left[smallest] != -1:
        smallest = left[smallest]
    leaves = sum(1 for k in range(n) if left[k] == -1 and right[k] == -1)
    return values[smallest], deepest, leaves
