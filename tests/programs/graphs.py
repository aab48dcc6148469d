"""Paths, orders and trees in graphs."""

from __future__ import annotations

import heapq
import math
from collections import defaultdict, deque

import numpy as np

from tests.programs import program

NOT_SEEN = -1


@program(
    (np.array([[0, 1, 1, 0, 0], [1, 0, 0, 1, 0], [1, 0, 0, 1, 0], [0, 1, 1, 0, 1], [0, 0, 0, 1, 0]]), 0),
    (np.array([[0, 1, 0, 0, 0], [1, 0, 0, 0, 0], [0, 0, 0, 1, 1], [0, 0, 1, 0, 1], [0, 0, 1, 1, 0]]), 2),
    bare="the queue",
)
def breadth_first(adjacency, start):
    n = len(adjacency)
    level = [NOT_SEEN] * n
    level[start] = 0
    queue = deque([start])
    order = []
    while queue:
        node = queue.popleft()
        order.append(node)
        for other in range(n):
            if adjacency[node, other] == 0:
                continue
            if level[other] == NOT_SEEN:
                level[other] = level[node] + 1
                queue.append(other)
    reached = 0
    for depth in level:
        if depth != NOT_SEEN:
            reached += 1
    return level, order, reached


@program(
    (np.array([[0, 4.0, 1.0, 0], [0, 0, 0, 1.0], [0, 2.0, 0, 5.0], [0, 0, 0, 0]]), 0, 3),
    (np.array([[0, 0, 0, 2.0], [1.0, 0, 0, 0], [0, 2.0, 0, 5.0], [0, 0, 0, 0]]), 0, 1),
    bare="`u` may be None",
)
def dijkstra_without_a_heap(weights, source, target):
    n = weights.shape[0]
    infinity = float("inf")
    distance = [infinity for _ in range(n)]
    previous = [None] * n
    done = [False] * n
    distance[source] = 0.0
    for _ in range(n):
        u = None
        for v in range(n):
            if not done[v] and (u is None or distance[v] < distance[u]):
                u = v
        if distance[u] == infinity:
            break
        done[u] = True
        for v in range(n):
            w = weights[u, v]
            if w > 0 and distance[u] + w < distance[v]:
                distance[v] = distance[u] + w
                previous[v] = u
    hops = 0
    node = target
    while node is not None and previous[node] is not None:
        node = previous[node]
        hops += 1
    return distance[target], hops


def neighbours(edges, node):
    return [(b, w) for a, b, w in edges if a == node]


@program(
    ([(0, 1, 7.0), (0, 2, 3.0), (2, 1, 1.0), (1, 3, 2.0), (2, 3, 8.0)], 0, 4),
    ([(0, 1, 7.0), (0, 2, 3.0), (2, 1, 9.0), (1, 3, 2.0), (2, 3, 1.0)], 2, 4),
    static=("n",),
    bare="the heap",
)
def dijkstra_with_heapq(edges, source, n):
    best = [math.inf] * n
    best[source] = 0.0
    heap = [(0.0, source)]
    settled = 0
    while heap:
        d, u = heapq.heappop(heap)
        if d > best[u]:
            continue  # an old entry
        settled += 1
        for a, b, w in edges:
            if a != u:
                continue
            candidate = d + w
            if candidate < best[b]:
                best[b] = candidate
                heapq.heappush(heap, (candidate, b))
    return best, settled


@program(
    (np.array([0, 0, 1, 2, 3]), np.array([1, 2, 3, 3, 4])),
    (np.array([4, 0, 1, 2, 3]), np.array([0, 2, 3, 4, 1])),
    (np.array([4, 3, 2, 1, 0]), np.array([3, 2, 1, 0, 1])),
    bare="the work list",
)
def topological_order(sources, targets):
    """Kahn's algorithm; None where there is a cycle."""
    n = 5
    waiting = [0] * n
    for t in targets:
        waiting[t] += 1
    ready = [v for v in range(n) if waiting[v] == 0]
    order = []
    while len(ready) > 0:
        v = ready.pop(0)
        order.append(v)
        for s, t in zip(sources, targets):
            if s == v:
                waiting[t] -= 1
                if waiting[t] == 0:
                    ready.append(t)
    if len(order) < n:
        return None
    return order


class DisjointSets:
    def __init__(self, n):
        self.parent = list(range(n))
        self.size = [1] * n
        self.count = n

    def find(self, a):
        while self.parent[a] != a:
            self.parent[a] = self.parent[self.parent[a]]
            a = self.parent[a]
        return a

    def union(self, a, b):
        a, b = self.find(a), self.find(b)
        if a == b:
            return False
        if self.size[a] < self.size[b]:
            a, b = b, a
        self.parent[b] = a
        self.size[a] += self.size[b]
        self.count -= 1
        return True


@program(
    ([(0, 1, 4.0), (1, 2, 8.0), (2, 3, 7.0), (3, 4, 9.0), (0, 4, 1.0), (1, 4, 2.0)],),
    ([(0, 1, 1.0), (0, 1, 2.0), (0, 2, 3.0), (2, 1, 4.0), (3, 4, 5.0), (4, 3, 2.5)],),
)
def kruskal(edges):
    sets = DisjointSets(5)
    total = 0.0
    chosen = []
    for a, b, weight in sorted(edges, key=lambda edge: edge[2]):
        if sets.union(a, b):
            total += weight
            chosen.append((a, b))
        if sets.count == 1:
            break
    return total, len(chosen), sets.count


@program((np.array([[0, 2.0, 0, 6.0], [2.0, 0, 3.0, 8.0], [0, 3.0, 0, 1.0], [6.0, 8.0, 1.0, 0]]),))
def prim(graph):
    n = len(graph)
    in_tree = {0}
    total = 0.0
    key = [float("inf")] * n
    key[0] = 0.0
    visited = [False] * n
    edges = 0
    for step in range(n):
        smallest = float("inf")
        pick = -1
        for v in range(n):
            if visited[v]:
                continue
            if key[v] < smallest:
                smallest = key[v]
                pick = v
        if pick == -1:
            return -1.0, edges
        visited[pick] = True
        total += smallest
        edges += 1 if step > 0 else 0
        for v in range(n):
            w = graph[pick][v]
            if w != 0 and not visited[v] and w < key[v]:
                key[v] = w
    assert len(in_tree) == 1
    return total, edges


@program(
    (np.array([[1, 1, 0, 0], [0, 1, 0, 1], [1, 0, 0, 1], [0, 0, 0, 0]]),),
    (np.array([[1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 1]]),),
    bare="the stack",
)
def count_islands(grid):
    rows, columns = grid.shape
    seen = np.zeros((rows, columns), dtype=bool)
    islands = 0
    largest = 0
    for r in range(rows):
        for c in range(columns):
            if grid[r, c] == 0 or seen[r, c]:
                continue
            islands += 1
            area = 0
            stack = [(r, c)]
            seen[r, c] = True
            while stack:
                i, j = stack.pop()
                area += 1
                for di, dj in ((0, 1), (1, 0), (0, -1), (-1, 0)):
                    y, x = i + di, j + dj
                    if 0 <= y < rows and 0 <= x < columns:
                        if grid[y, x] == 1 and not seen[y, x]:
                            seen[y, x] = True
                            stack.append((y, x))
            largest = max(largest, area)
    return islands, largest


MAZE = ["S.#.", "..#.", "#..G", "...#"]


@program((0, 0, 2, 3), (0, 0, 0, 3), (3, 0, 0, 0), bare="the queue")
def maze(start_row, start_column, goal_row, goal_column):
    """The number of steps through a maze, -1 if there is no way."""
    wall = [[1 if cell == "#" else 0 for cell in row] for row in MAZE]
    height, width = len(wall), len(wall[0])
    distance = [[-1] * width for _ in range(height)]
    distance[start_row][start_column] = 0
    frontier = [(start_row, start_column)]
    while frontier:
        row, column = frontier.pop(0)
        if row == goal_row and column == goal_column:
            return distance[row][column]
        for dr, dc in [(1, 0), (-1, 0), (0, 1), (0, -1)]:
            r, c = row + dr, column + dc
            if r < 0 or r >= height or c < 0 or c >= width:
                continue
            if wall[r][c] == 1 or distance[r][c] >= 0:
                continue
            distance[r][c] = distance[row][column] + 1
            frontier.append((r, c))
    return -1


@program(
    (np.array([[0, 3.0, np.inf, 7.0], [8.0, 0, 2.0, np.inf], [5.0, np.inf, 0, 1.0], [2.0, np.inf, np.inf, 0]]), 1, 3),
    (
        np.array([[0, 1.0, np.inf, 7.0], [8.0, 0, np.inf, np.inf], [5.0, np.inf, 0, 1.0], [2.0, np.inf, np.inf, 0]]),
        1,
        2,
    ),
)
def floyd_warshall_with_path(weights, start, end):
    n = len(weights)
    dist = weights.copy()
    following = [[j if weights[i, j] < np.inf else -1 for j in range(n)] for i in range(n)]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                through = dist[i, k] + dist[k, j]
                if through < dist[i, j]:
                    dist[i, j] = through
                    following[i][j] = following[i][k]
    if following[start][end] == -1:
        return np.inf, 0
    steps, at = 0, start
    while at != end:
        at = following[at][end]
        steps += 1
    return dist[start, end], steps


@program(([(0, 1), (1, 2), (2, 0), (3, 4)],), ([(0, 1), (1, 2), (2, 3), (3, 4)],), ([(0, 1), (0, 2), (0, 3), (1, 2)],))
def two_colouring(edges):
    """Whether a graph is bipartite, by passing colours along edges until nothing changes."""
    colour = defaultdict(int)
    for a, b in edges:
        colour[0] = 0
    colours = [0] * 5
    colours[0] = 1
    changed = True
    conflict = None
    while changed and conflict is None:
        changed = False
        for index, (a, b) in enumerate(edges):
            for u, v in ((a, b), (b, a)):
                if colours[u] != 0 and colours[v] == 0:
                    colours[v] = -colours[u]
                    changed = True
                elif colours[u] != 0 and colours[u] == colours[v]:
                    conflict = index
                    break
            if conflict is not None:
                break
    if conflict is None:
        return "bipartite", colours
    return "odd cycle", colours
