"""Programs around a list that grows and shrinks as the data decide, as textbooks write them.

`PROGRAMS`: each with the arguments that it is called with.
"""

from __future__ import annotations

import bisect

import numpy as np

GRAPH = np.zeros((7, 7), np.int32)
for _a, _b in [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4), (2, 5)]:
    GRAPH[_a, _b] = 1
WEIGHTS = np.where(GRAPH > 0, (np.arange(49).reshape(7, 7) % 5 + 1.0), 0.0).astype(np.float32)


def breadth_first(adjacency, start):
    n = adjacency.shape[0]
    distance = [-1] * n
    distance[start] = 0
    queue = [start]
    while queue:
        u = queue.pop(0)
        for v in range(n):
            if adjacency[u, v] and distance[v] < 0:
                distance[v] = distance[u] + 1
                queue.append(v)
    return distance


def breadth_first_by_an_index(adjacency, start):
    n = adjacency.shape[0]
    seen = np.zeros(n, bool)
    seen[start] = True
    order = [start]
    head = 0
    while head < len(order):
        u = order[head]
        head += 1
        for v in range(n):
            if adjacency[u, v] and not seen[v]:
                seen[v] = True
                order.append(v)
    return order


def depth_first(adjacency, start):
    n = adjacency.shape[0]
    visited = np.zeros(n, bool)
    stack = [start]
    order = []
    while stack:
        u = stack.pop()
        if visited[u]:
            continue
        visited[u] = True
        order.append(u)
        for v in reversed(range(n)):
            if adjacency[u, v] and not visited[v]:
                stack.append(v)
    return order


def topological_order(adjacency):
    n = adjacency.shape[0]
    indegree = adjacency.sum(0)
    ready = [v for v in range(n) if indegree[v] == 0]
    order = []
    while ready:
        u = ready.pop()
        order.append(u)
        for v in range(n):
            if adjacency[u, v]:
                indegree[v] -= 1
                if indegree[v] == 0:
                    ready.append(v)
    return order


def quicksort(values):
    a = values.copy()
    stack = [(0, len(a) - 1)]
    while stack:
        low, high = stack.pop()
        if low >= high:
            continue
        pivot = a[high]
        i = low
        for j in range(low, high):
            if a[j] < pivot:
                a[i], a[j] = a[j], a[i]
                i += 1
        a[i], a[high] = a[high], a[i]
        stack.append((low, i - 1))
        stack.append((i + 1, high))
    return a


def queens(n):
    solutions = 0
    columns = []
    candidate = 0
    while candidate < n or columns:
        if candidate < n:
            safe = True
            for row in range(len(columns)):
                gap = len(columns) - row
                if columns[row] == candidate or columns[row] - candidate == gap or candidate - columns[row] == gap:
                    safe = False
            if safe:
                columns.append(candidate)
                candidate = 0
                if len(columns) == n:
                    solutions += 1
                    candidate = columns.pop() + 1
            else:
                candidate += 1
        else:
            candidate = columns.pop() + 1
    return solutions


def adaptive_quadrature(low, high, tolerance):
    intervals = [(low, high)]
    total = 0.0
    while intervals:
        a, b = intervals.pop()
        m = (a + b) / 2
        whole = (b - a) * (a * a * a + 4 * m * m * m + b * b * b) / 6
        coarse = (b - a) * (a * a * a + b * b * b) / 2
        if abs(whole - coarse) < tolerance:
            total += whole
        else:
            intervals.append((a, m))
            intervals.append((m, b))
    return total


def tokens(text):
    """Numbers out of digits (0 to 9); anything else parts them."""
    found = []
    i = 0
    while i < len(text):
        if text[i] > 9:
            i += 1
            continue
        number = 0
        while i < len(text) and text[i] <= 9:
            number = number * 10 + text[i]
            i += 1
        found.append(number)
    return found


def reverse_polish(program):
    """Negative entries are operators: -1 adds, -2 multiplies, -3 subtracts."""
    stack = []
    for word in program:
        if word >= 0:
            stack.append(word)
        else:
            right = stack.pop()
            left = stack.pop()
            if word == -1:
                stack.append(left + right)
            elif word == -2:
                stack.append(left * right)
            else:
                stack.append(left - right)
    return stack.pop()


def flood_fill(image, row, column, colour):
    height, width = image.shape
    picture = image.copy()
    old = picture[row, column]
    todo = [(row, column)]
    while todo:
        r, c = todo.pop()
        if r < 0 or r >= height or c < 0 or c >= width or picture[r, c] != old:
            continue
        picture[r, c] = colour
        todo.append((r + 1, c))
        todo.append((r - 1, c))
        todo.append((r, c + 1))
        todo.append((r, c - 1))
    return picture


def cheapest_paths(weights, start):
    n = weights.shape[0]
    cost = np.full(n, np.inf, np.float32)
    cost[start] = 0.0
    frontier = [(0.0, start)]
    while frontier:
        best = 0
        for k in range(len(frontier)):
            if frontier[k][0] < frontier[best][0]:
                best = k
        d, u = frontier.pop(best)
        if d > cost[u]:
            continue
        for v in range(n):
            if weights[u, v] > 0 and d + weights[u, v] < cost[v]:
                cost[v] = d + weights[u, v]
                frontier.append((cost[v], v))
    return cost


def roots_by_bisection(shift):
    found = []
    stack = [(-3.0, 3.0)]
    while stack:
        low, high = stack.pop()
        middle = (low + high) / 2
        if high - low < 0.01:
            at_low = low * low - shift
            at_high = high * high - shift
            if at_low * at_high <= 0:
                found.append(middle)
        else:
            stack.append((low, middle))
            stack.append((middle, high))
    return found


def collatz(n):
    path = [n]
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        path.append(n)
    return path


def digits(n):
    found = []
    while n > 0:
        found.append(n % 10)
        n //= 10
    return found[::-1]


def prime_factors(n):
    factors = []
    d = 2
    while d * d <= n:
        while n % d == 0:
            factors.append(d)
            n //= d
        d += 1
    if n > 1:
        factors.append(n)
    return factors


def squares(n):
    return [i * i for i in range(n)]


def evens_below(n):
    return [i for i in range(n) if i % 2 == 0]


def powers_below(base, limit):
    powers = [1]
    while powers[-1] * base < limit:
        powers.append(powers[-1] * base)
    return powers


def run_lengths(values):
    runs = []
    i = 0
    while i < len(values):
        j = i
        while j < len(values) and values[j] == values[i]:
            j += 1
        runs.append((values[i], j - i))
        i = j
    return runs


def merged_runs(values):
    runs = []
    i = 0
    while i < len(values):
        total = values[i]
        i += 1
        while i < len(values) and values[i] >= values[i - 1]:
            total += values[i]
            i += 1
        runs.append(total)
    best = runs[0]
    for r in runs:
        best = max(best, r)
    return best, len(runs)


def newton_iterates(x):
    guesses = [x]
    while abs(guesses[-1] * guesses[-1] - x) > 1e-3:
        guesses.append((guesses[-1] + x / guesses[-1]) / 2)
    return guesses[-1], len(guesses)


def balanced(brackets):
    """1 opens, -1 closes; 2 and -2 likewise."""
    stack = []
    for b in brackets:
        if b > 0:
            stack.append(b)
        elif stack and stack[-1] == -b:
            stack.pop()
        else:
            return False
    return not stack


class Stack:
    def __init__(self):
        self.items = []

    def push(self, item):
        self.items.append(item)

    def pop(self):
        return self.items.pop()

    def __len__(self):
        return len(self.items)


def stack_of_a_class(n):
    stack = Stack()
    stack.push(n)
    leaves = 0
    while len(stack) > 0:
        k = stack.pop()
        if k <= 1:
            leaves += 1
        else:
            stack.push(k - 1)
            stack.push(k - 2)
    return leaves


def two_stacks(n):
    small, large = [0], [n]
    moves = 0
    while large:
        k = large.pop()
        if k > 3:
            large.append(k // 2)
            large.append(k - k // 2)
        else:
            small.append(k)
        moves += 1
    total = 0
    for k in small:
        total += k
    return total, moves, len(small)


def list_made_in_each_iteration(xs):
    longest = 0
    for x in xs:
        path = [x]
        while path[-1] > 1:
            path.append(path[-1] // 2)
        longest = max(longest, len(path))
    return longest


def outer_and_inner_work(n):
    queue = [n]
    done = []
    while queue:
        k = queue.pop(0)
        parts = []
        while k > 0:
            parts.append(k % 3)
            k //= 3
        s = 0
        for p in parts:
            s += p
        done.append(s)
        if s > 1:
            queue.append(s - 1)
    return done


def hanoi(n):
    work = [(n, 0, 2, 1)]
    moves = 0
    weight = 0
    while len(work) > 0:
        k, source, target, spare = work.pop()
        if k == 1:
            moves += 1
            weight += source * 3 + target
        else:
            work.append((k - 1, spare, target, source))
            work.append((1, source, target, spare))
            work.append((k - 1, source, spare, target))
    return moves, weight


def spread(n):
    """Extends and clears: two waves."""
    wave = [n]
    seen = 0
    while wave:
        new = []
        for k in wave:
            seen += 1
            if k > 1:
                new.append(k - 1)
            if k > 2:
                new.append(k - 2)
        wave = new
    return seen


def helper(stack, k):
    stack.append(k // 2)
    if k % 2:
        stack.append(k // 2)


def through_a_helper(n):
    stack = [n]
    count = 0
    while stack:
        k = stack.pop()
        count += 1
        if k > 1:
            helper(stack, k)
    return count


def insertion_by_hand(values):
    out = []
    k = 0
    while k < len(values):
        place = 0
        while place < len(out) and out[place] < values[k]:
            place += 1
        out.insert(place, values[k])
        k += 1
    return out


def int32s(*values):
    return np.array(values, np.int32)


def kept_in_order(values):
    kept, total = sorted([]), 0
    for v in values:
        if v % 2 == 0:
            total += bisect.bisect(kept, v)
            bisect.insort(kept, v)
    return kept, total


PROGRAMS = [
    (kept_in_order, (int32s(4, 2, 9, 2, 8),), (int32s(1, 3),)),
    (breadth_first, (GRAPH, int32s(0)[0]), (GRAPH, int32s(2)[0])),
    (breadth_first_by_an_index, (GRAPH, int32s(0)[0]), (GRAPH, int32s(3)[0])),
    (depth_first, (GRAPH, int32s(0)[0]), (GRAPH, int32s(2)[0])),
    (topological_order, (GRAPH,)),
    (quicksort, (int32s(5, 2, 9, 1, 7, 3),), (int32s(3, 3, 1, 2, 1, 0),)),
    (queens, (int32s(4)[0],), (int32s(5)[0],)),
    (adaptive_quadrature, (np.float32(0), np.float32(2), np.float32(0.01)), (np.float32(0), np.float32(2), np.float32(1.0))),
    (tokens, (int32s(1, 2, 99, 7, 98, 99, 4, 0, 5),), (int32s(99, 99, 99, 99, 99, 99, 99, 99, 1),)),
    (reverse_polish, (int32s(3, 4, -1, 2, -2),), (int32s(9, 4, 2, -3, -1),)),
    (flood_fill, (int32s(1, 1, 0, 1, 0, 0, 1, 1, 1).reshape(3, 3), int32s(0)[0], int32s(0)[0], int32s(7)[0])),
    (cheapest_paths, (WEIGHTS, int32s(0)[0]), (WEIGHTS, int32s(2)[0])),
    (roots_by_bisection, (np.float32(2.0),), (np.float32(4.5),)),
    (collatz, (int32s(6)[0],), (int32s(27)[0],)),
    (digits, (int32s(90210)[0],), (int32s(0)[0],)),
    (prime_factors, (int32s(360)[0],), (int32s(97)[0],)),
    (squares, (int32s(5)[0],), (int32s(0)[0],), (int32s(100)[0],)),
    (evens_below, (int32s(9)[0],), (int32s(0)[0],)),
    (powers_below, (int32s(3)[0], int32s(1000)[0]), (int32s(2)[0], int32s(2)[0])),
    (run_lengths, (int32s(1, 1, 2, 3, 3, 3),), (int32s(1, 2, 3, 4, 5, 6),)),
    (merged_runs, (int32s(1, 2, 1, 5, 6, 0),), (int32s(6, 5, 4, 3, 2, 1),)),
    (newton_iterates, (np.float32(2.0),), (np.float32(100.0),)),
    (balanced, (int32s(1, 2, -2, -1),), (int32s(1, 2, -1, -2),), (int32s(1, 1, 1, -1),)),
    (stack_of_a_class, (int32s(5)[0],), (int32s(8)[0],)),
    (two_stacks, (int32s(17)[0],), (int32s(300)[0],)),
    (list_made_in_each_iteration, (int32s(5, 100, 17),)),
    (outer_and_inner_work, (int32s(100)[0],), (int32s(5)[0],)),
    (hanoi, (int32s(3)[0],), (int32s(6)[0],)),
    (spread, (int32s(4)[0],), (int32s(7)[0],)),
    (through_a_helper, (int32s(13)[0],), (int32s(63)[0],)),
    (insertion_by_hand, (int32s(5, 2, 9, 1, 7, 3),)),
]  # fmt: skip
