"""Programs around a ``collections.deque`` that grows and shrinks as the data decide; `PROGRAMS` as in `tests.work_lists`."""

from __future__ import annotations

import collections
from collections import deque

import numpy as np

from tests.work_lists import GRAPH, int32s


def breadth_first_by_a_deque(adjacency, start):
    n = adjacency.shape[0]
    distance = np.full(n, -1)
    distance[start] = 0
    queue = deque([start])
    while queue:
        u = queue.popleft()
        for v in range(n):
            if adjacency[u, v] and distance[v] < 0:
                distance[v] = distance[u] + 1
                queue.append(v)
    return distance


def topological_order_by_a_deque(adjacency):
    n = adjacency.shape[0]
    indegree = adjacency.sum(0)
    ready = collections.deque(v for v in range(n) if indegree[v] == 0)
    order = []
    while len(ready) > 0:
        u = ready.popleft()
        order.append(u)
        for v in range(n):
            if adjacency[u, v]:
                indegree[v] -= 1
                if indegree[v] == 0:
                    ready.append(v)
    return order


def two_ended_search(adjacency, start):
    """Edges of even end are free, and go to the front."""
    n = adjacency.shape[0]
    cost = np.full(n, 99)
    cost[start] = 0
    ends = deque()
    ends.append((start, 0))
    while ends:
        u, c = ends.popleft()
        if c > cost[u]:
            continue
        for v in range(n):
            if adjacency[u, v] and c + v % 2 < cost[v]:
                cost[v] = c + v % 2
                if v % 2 == 0:
                    ends.appendleft((v, cost[v]))
                else:
                    ends.append((v, cost[v]))
    return cost


def moving_average(values):
    window = deque(maxlen=3)
    means = []
    for v in values:
        window.append(v)
        means.append(sum(window) / len(window))
    return means


def newest_first(values):
    """A window that is full drops its last element for one that comes in on the left."""
    newest, seen = deque([0], maxlen=2), 0
    for v in values:
        seen += v in newest
        newest.appendleft(v)
        if v > 5:
            newest.extendleft([v + 1, v + 2])
    return newest, seen


def last_above(values, limit):
    kept = deque(maxlen=4)
    for v in values:
        if v > limit:
            kept.append(v)
    return kept


def largest_in_each_window(values, k):
    candidates = deque()
    found = []
    for i in range(len(values)):
        while candidates and values[candidates[-1]] <= values[i]:
            candidates.pop()
        candidates.append(i)
        if candidates[0] <= i - k:
            candidates.popleft()
        if i >= k - 1:
            found.append(values[candidates[0]])
    return found


def josephus(n, k):
    circle = deque()
    for i in range(n):
        circle.append(i)
    while len(circle) > 1:
        circle.rotate(-(k - 1))
        circle.popleft()
    return circle[0]


def is_palindrome(values, n):
    ends = deque()
    for i in range(n):
        ends.append(values[i])
    while len(ends) > 1:
        if ends.popleft() != ends.pop():
            return False
    return True


PROGRAMS = [
    (breadth_first_by_a_deque, (GRAPH, int32s(0)[0]), (GRAPH, int32s(2)[0])),
    (topological_order_by_a_deque, (GRAPH,)),
    (two_ended_search, (GRAPH, int32s(0)[0])),
    (moving_average, (np.float32([1, 2, 6, 3, 0]),)),
    (newest_first, (int32s(1, 1, 2, 1, 3),), (int32s(1, 2, 7, 9, 9),), (int32s(4),)),
    (last_above, (int32s(1, 5, 2, 7, 8, 9, 3, 6), int32s(4)[0]), (int32s(1, 5, 2, 7, 8, 9, 3, 6), int32s(7)[0])),
    (largest_in_each_window, (int32s(1, 3, -1, -3, 5, 3, 6, 7), int32s(3)[0])),
    (josephus, (int32s(7)[0], int32s(3)[0]), (int32s(1)[0], int32s(2)[0])),
    (is_palindrome, (int32s(1, 2, 3, 2, 1, 9), int32s(5)[0]), (int32s(1, 2, 3, 2, 1, 9), int32s(6)[0])),
]  # fmt: skip
