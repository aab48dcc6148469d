"""Containers of one's own, observers, pipelines, and objects that hold arrays."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from tests.programs import program


class Node:
    def __init__(self, value):
        self.value = value
        self.next = None


class LinkedList:
    def __init__(self):
        self.head = None
        self.size = 0

    def push(self, value):
        node = Node(value)
        node.next = self.head
        self.head = node
        self.size += 1

    def __iter__(self):
        node = self.head
        while node is not None:
            yield node.value
            node = node.next

    def __len__(self):
        return self.size

    def find(self, wanted):
        for k, value in enumerate(self):
            if value == wanted:
                return k
        return -1


@program((3, 1, 4), (1, 1, 1), (9, 4, 2))
def linked_list(a, b, c):
    items = LinkedList()
    for value in (a, b, c, a + b):
        items.push(value)
    return items.find(b), items.find(7), sum(items), len(items), max(items)


class Matrix:
    def __init__(self, rows):
        self.rows = rows

    def __matmul__(self, other):
        n, m, p = len(self.rows), len(other.rows), len(other.rows[0])
        out = [[0.0] * p for _ in range(n)]
        for i in range(n):
            for j in range(p):
                for k in range(m):
                    out[i][j] += self.rows[i][k] * other.rows[k][j]
        return Matrix(out)

    def __getitem__(self, key):
        i, j = key
        return self.rows[i][j]

    def __eq__(self, other):
        return self.rows == other.rows

    @property
    def trace(self):
        return sum(self.rows[i][i] for i in range(len(self.rows)))

    def __pow__(self, n):
        result = Matrix([[1.0 if i == j else 0.0 for j in range(len(self.rows))] for i in range(len(self.rows))])
        base = self
        while n > 0:
            if n % 2 == 1:
                result = result @ base
            base = base @ base
            n //= 2
        return result


@program((1.0, 5), (0.5, 12), (2.0, 0))
def matrix_class(a, n):
    m = Matrix([[a, 1.0], [1.0, 0.0]])
    p = m**n
    same = p == Matrix([[1.0, 0.0], [0.0, 1.0]])
    return p[0, 1], p.trace, same


class Counter:
    instances = 0

    def __init__(self, step=1):
        self.count = 0
        self.step = step
        self.listeners = []

    def on_change(self, listener):
        self.listeners.append(listener)
        return self

    def __call__(self, times):
        for _ in range(times):
            self.count += self.step
            for listener in self.listeners:
                listener(self.count)
        return self


@program((3, 2), (6, 5), (0, 1))
def observers(times, step):
    seen = {"total": 0, "last": None, "even": 0}

    def note(value):
        seen["total"] += value
        seen["last"] = value

    def note_even(value):
        if value % 2 == 0:
            seen["even"] += 1

    Counter(step).on_change(note).on_change(note_even)(times)
    return seen["total"], seen["last"], seen["even"]


class Stack:
    def __init__(self, items=()):
        self._items = list(items)

    def push(self, item):
        self._items.append(item)

    def pop(self):
        if not self._items:
            raise IndexError("pop from empty stack")
        return self._items.pop()

    @property
    def top(self):
        return self._items[-1]

    def __len__(self):
        return len(self._items)

    def __bool__(self):
        return len(self._items) > 0


@program(([1, 2, 11, 3, 12],), ([1, 2, 3, 12, 11],), ([11],), bare="an empty stack")
def calculator(codes):
    """Numbers below 10 are pushed; 11 adds, 12 multiplies."""
    stack = Stack()
    for code in codes:
        if code == 11:
            b, a = stack.pop(), stack.pop()
            stack.push(a + b)
        elif code == 12:
            b, a = stack.pop(), stack.pop()
            stack.push(a * b)
        else:
            stack.push(code)
    return stack.top, len(stack), bool(stack)


class Pipeline:
    def __init__(self):
        self.steps = []

    def step(self, function):
        self.steps.append(function)
        return function

    def run(self, value):
        return functools.reduce(lambda v, f: f(v), self.steps, value)


@program((4.5,), (-3.0,), grad=True)
def decorated_pipeline(x):
    pipeline = Pipeline()

    @pipeline.step
    def clip(v):
        return v if v > 0 else 0.1 * v

    @pipeline.step
    def square(v):
        return v * v

    @pipeline.step
    def damp(v):
        while v > 2.0:
            v = v / 2
        return v

    return pipeline.run(x), len(pipeline.steps)


@dataclass
class Particle:
    position: np.ndarray
    velocity: np.ndarray
    mass: float = 1.0

    @property
    def energy(self):
        return 0.5 * self.mass * (self.velocity**2).sum()

    def __post_init__(self):
        if self.mass <= 0:
            self.mass = 1.0


@program((np.array([0.5, 0.2]), 2.0), (np.array([1.5, -0.2]), -1.0))
def particles(start, mass):
    bodies = [Particle(start, start * 0 + 0.3, mass), Particle(-start, start * 0 - 0.1)]
    bounces = 0
    for _ in range(8):
        for body in bodies:
            body.position = body.position + 0.5 * body.velocity
            if (abs(body.position) > 1.0).any():
                body.velocity = -body.velocity
                bounces += 1
    return bodies[0].energy + bodies[1].energy, bounces, bodies[0].position
