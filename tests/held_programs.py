"""Classes and functions whose lists, dicts, sets and deques are changed as traced values decide, and outlive the call."""

from __future__ import annotations

import bisect
import collections
import heapq


class Window:
    def __init__(self):
        self.held = []

    def step(self, x):
        if x > 0:
            self.held.append(x)
        if len(self.held) > 2:
            self.held.pop(0)
        return sum(self.held)


class Stack:
    def __init__(self):
        self.items = []

    def push(self, x):
        self.items.append(x)

    def pop(self):
        return self.items.pop()

    def is_empty(self):
        return len(self.items) == 0

    def step(self, x):
        if x > 1:
            self.push(x)
        elif not self.is_empty():
            return self.pop()
        return 0.0 if self.is_empty() else self.items[-1]


class Machine:
    def __init__(self):
        self.stack, self.variables = [], {}

    def run(self, op, v):
        if op == 0:
            self.stack.append(v)
        elif op == 1:
            if len(self.stack) >= 2:
                b = self.stack.pop()
                a = self.stack.pop()
                self.stack.append(a * b)
        elif self.stack:
            self.variables[int(v)] = self.stack[-1]

    def step(self, x):
        self.run(int(abs(x)) % 3, x)
        return len(self.stack) + len(self.variables)


class Undo:
    def __init__(self):
        self.value, self.past = 0.0, []

    def step(self, x):
        if x > 0:
            self.past.append(self.value)
            self.value += x
        elif self.past:
            self.value = self.past.pop()
        return self.value


class Best:
    def __init__(self):
        self.heap = []

    def step(self, x):
        if len(self.heap) < 3:
            heapq.heappush(self.heap, x)
        elif x > self.heap[0]:
            heapq.heapreplace(self.heap, x)
        return self.heap[0]


class Tasks:
    def __init__(self):
        self.heap, self.count = [], 0

    def step(self, x):
        heapq.heappush(self.heap, (x, self.count))
        self.count += 1
        if len(self.heap) > 2:
            priority, _ = heapq.heappop(self.heap)
            return priority
        return 0.0


class Median:
    def __init__(self):
        self.ordered = []

    def step(self, x):
        if x > 0:
            bisect.insort(self.ordered, x)
        n = len(self.ordered)
        return self.ordered[n // 2] if n else 0.0


class Recent:
    def __init__(self):
        self.queue = collections.deque(maxlen=3)

    def step(self, x):
        if x > 0:
            self.queue.append(x)
        return sum(self.queue) / max(len(self.queue), 1)


class Drained:
    def __init__(self):
        self.queue = collections.deque()

    def step(self, x):
        self.queue.append(x)
        while len(self.queue) > 2 or (self.queue and self.queue[0] < 0):
            self.queue.popleft()
        return len(self.queue)


class Seen:
    def __init__(self):
        self.seen = set()

    def step(self, x):
        n = int(x)
        if n in self.seen:
            return True
        self.seen.add(n)
        return False


class Visited:
    def __init__(self):
        self.cells, self.at = set(), (0, 0)

    def step(self, x):
        row, column = self.at
        if x > 0:
            row = row + 1
        else:
            column = column + 1
        self.at = (row, column)
        self.cells.add(self.at)
        return len(self.cells)


class Cache:
    def __init__(self):
        self.known, self.hits = {}, 0

    def square(self, n):
        if n in self.known:
            self.hits += 1
            return self.known[n]
        self.known[n] = n * n
        return self.known[n]

    def step(self, x):
        return self.square(int(x)) + self.square(int(x))


class Lru:
    def __init__(self):
        self.kept = collections.OrderedDict()

    def step(self, x):
        key = int(x)
        if key in self.kept:
            self.kept.move_to_end(key)
            return self.kept[key]
        self.kept[key] = x * x
        if len(self.kept) > 2:
            self.kept.popitem(last=False)
        return -1.0


class Groups:
    def __init__(self):
        self.groups = collections.defaultdict(list)

    def step(self, x):
        self.groups[int(x) % 2].append(x)
        return len(self.groups[0])


class Counts:
    def __init__(self):
        self.counts = collections.Counter()

    def step(self, x):
        self.counts[int(abs(x)) % 3] += 1
        return self.counts[0]


class Rebound:
    def __init__(self):
        self.items = []

    def step(self, x):
        if x < 0:
            self.items = []
        else:
            self.items.append(x)
        return len(self.items)


class Cleared:
    def __init__(self):
        self.items = []

    def step(self, x):
        self.items.append(x)
        if x < 0:
            self.items.clear()
        return len(self.items)


class Particle:
    def __init__(self, x):
        self.x = x


class World:
    def __init__(self):
        self.particles = [Particle(1.0), Particle(2.0)]

    def step(self, x):
        if x > 2:
            self.particles.append(Particle(x))
        total = 0.0
        for particle in self.particles:
            particle.x += 0.1
            total += particle.x
        return total


class Registry:
    items: list = []  # noqa: RUF012 - of the class, as beginners write it

    def step(self, x):
        if x > 0:
            self.items.append(x)
        return len(self.items)


class Grown:
    def __init__(self):
        self.items = []

    def step(self, x):
        v = abs(x)
        while v > 1:
            self.items.append(v)
            v /= 2
        return len(self.items)


class Events:
    def __init__(self):
        self.now, self.events = 0.0, []

    def step(self, x):
        self.events.append(self.now + abs(x))
        self.events.sort()
        if x > 0:
            self.now = self.events.pop(0)
        return self.now


class Log:
    def __init__(self):
        self.state = {"steps": [], "count": 0}

    def step(self, x):
        if x > 0:
            self.state["steps"].append((x, "up"))
            self.state["count"] += 1
        if len(self.state["steps"]) > 2:
            del self.state["steps"][0]
        return sum(v for v, _ in self.state["steps"])


CLASSES = (
    Window, Stack, Machine, Undo, Best, Tasks, Median, Recent, Drained, Seen, Visited, Cache, Lru, Groups, Counts, Rebound, Cleared,
    World, Grown, Events, Log,
)  # fmt: skip


# Containers that are arguments.


def counted(counts, x):
    counts[int(x)] = counts.get(int(x), 0) + 1
    return counts[int(x)]


def tallied(counter, x):
    counter[int(x)] += 1
    return counter[int(x)]


def grouped(groups, x):
    groups[int(x)].append(x)
    return len(groups)


def added(elements, x):
    if x > 0:
        elements.add(int(x))
    return len(elements)


def refreshed(kept, x):
    key = int(x)
    if key in kept:
        kept.move_to_end(key)
    else:
        kept[key] = x
    return len(kept)


def queued(queue, x):
    queue.append(x)
    if x > 0:
        return queue.popleft()
    return 0.0


def drained(queue, x):
    while len(queue) > 1 and queue[0] < x:
        queue.popleft()
    return len(queue)


ARGUMENTS = (
    (counted, dict), (counted, lambda: {2: 5}), (tallied, collections.Counter), (grouped, lambda: collections.defaultdict(list)),
    (added, set), (added, lambda: {1, 2}), (refreshed, collections.OrderedDict), (queued, collections.deque),
    (queued, lambda: collections.deque([1.0, 2.0])), (drained, lambda: collections.deque([1.0, 2.0, 3.0])),
)  # fmt: skip
