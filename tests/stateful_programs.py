"""Objects whose methods assign to what they have, as they are written without a thought of tracing."""

from __future__ import annotations

import collections
import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

XS = (2.0, -1.0, 3.0, 0.5, -4.0, 6.0)


def plain(value):
    """A value, and all that it holds, as Python's numbers, lists and dicts."""
    if isinstance(value, (jax.Array, np.ndarray, np.generic)):
        value = np.asarray(value)
        return (
            [value.real.round(4).tolist(), value.imag.round(4).tolist()]
            if value.dtype.kind == "c"
            else value.astype(float).round(4).tolist()
        )
    if isinstance(value, complex):
        return [round(value.real, 4), round(value.imag, 4)]
    if isinstance(value, bool | int | float):
        return round(float(value), 4)
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple | collections.deque):
        return [plain(part) for part in value]
    if value is None or isinstance(value, str):
        return value
    slots = [name for name in getattr(type(value), "__slots__", ()) if name != "__weakref__" and hasattr(value, name)]
    held = getattr(value, "__dict__", None) or {name: getattr(value, name) for name in slots}
    return {name: plain(part) for name, part in held.items() if not callable(part)}


class Moments:
    def __init__(self):
        self.n, self.mean, self.m2 = 0, 0.0, 0.0

    def push(self, x):
        self.n += 1
        delta = x - self.mean
        self.mean += delta / self.n
        self.m2 += delta * (x - self.mean)

    def add(self, x):
        if x > 0:
            self.push(x)
        return self.m2 / (self.n - 1) if self.n > 1 else 0.0


class Door:
    def __init__(self):
        self.mode, self.opened = "closed", 0

    def push(self, x):
        if self.mode == "closed" and x > 0:
            self.mode = "open"
            self.opened += 1
        elif self.mode == "open" and x < 0:
            self.mode = "closed"
        return self.opened


class Best:
    def __init__(self):
        self.value = self.twice = None
        self.is_started = False

    def see(self, x):
        if not self.is_started:
            self.is_started = True
        if self.value is None or x > self.value:
            self.value, self.twice = x, x * 2
        return self.value


class Momentum:
    def __init__(self):
        self.velocity, self.steps = 0.0, 0

    def step(self, gradient):
        self.steps += 1
        self.velocity = 0.9 * self.velocity + gradient
        return self.velocity


class Fit:
    def __init__(self):
        self.params = {"w": jnp.array([1.0, 2.0]), "b": jnp.array(0.0)}
        self.rate, self.losses, self.optimizer = 0.01, [], Momentum()

    def loss(self, params, x):
        return ((params["w"] * x).sum() + params["b"] - 1.0) ** 2

    def step(self, x):
        loss, gradient = jax.value_and_grad(self.loss)(self.params, x)
        self.params = jax.tree.map(lambda p, g: p - self.rate * g, self.params, gradient)
        self.losses.append(loss)
        return loss + 0 * self.optimizer.step(loss)


class Smooth:
    def __init__(self):
        self.window, self.last = [], collections.deque(maxlen=3)

    def mean(self, x):
        self.window.append(x)
        if len(self.window) > 3:
            self.window.pop(0)
        self.last.append(x * 2)
        return sum(self.window) / len(self.window) + sum(self.last)


class Ring:
    def __init__(self):
        self.cells, self.at = [0.0] * 4, 0

    def put(self, x):
        if x > 0:
            self.cells[self.at % 4] = x
            self.at += 1
        return sum(self.cells)


class Slotted:
    __slots__ = ("value", "writes")

    def __init__(self):
        self.value, self.writes = 0.0, 0

    def add(self, x):
        if x > 0:
            self.value += x
        self.writes += 1
        return self.value


class Property:
    def __init__(self):
        self._level, self.sets = 0.0, 0

    @property
    def level(self):
        return self._level

    @level.setter
    def level(self, new):
        self._level = new
        self.sets += 1

    def raise_by(self, x):
        if x > 0:
            self.level = self.level + x
        return self.level


class Shared:
    """One dict by two names."""

    def __init__(self):
        self.one = {"v": 0.0, "size": 3}
        self.other = self.one

    def add(self, x):
        if x > 0:
            self.one["v"] += x
        self.other["v"] *= 2
        return jnp.zeros(self.one["size"]) + self.one["v"]


class Grid:
    def __init__(self):
        self.cells = [[0.0, 0.0], [0.0, 0.0]]

    def add(self, x):
        for i in range(2):
            for j in range(2):
                if x > i - j:
                    self.cells[i][j] += x * (i + 1)
        return self.cells[0][0] + self.cells[1][1]


Pair = collections.namedtuple("Pair", "left right")


@dataclasses.dataclass(frozen=True)
class Count:
    sum: object
    n: object


class Replaced:
    def __init__(self):
        self.pair, self.count, self.seen = Pair(0.0, 1.0), Count(0.0, 0), []

    def add(self, x):
        if x > 0:
            self.pair = self.pair._replace(left=self.pair.left + x)
            self.count = dataclasses.replace(self.count, sum=self.count.sum + x, n=self.count.n + 1)
        self.seen = [*self.seen, x]
        return self.pair.left * self.pair.right + self.count.n


class Temporary:
    def __init__(self):
        self.value, self.depth, self.good = 0.0, 0, 0

    def add(self, x):
        self.twice = x * 2
        self.value += self.twice
        del self.twice
        self.depth += 1
        try:
            if x < 0:
                raise ValueError("negative")
            self.good += 1
        except ValueError:
            return -1.0
        finally:
            self.depth -= 1
        return self.value


class Node:
    def __init__(self, value, left=None, right=None):
        self.value, self.left, self.right, self.hits = value, left, right, 0


class Tree:
    def __init__(self):
        self.root = Node(1.0, Node(0.5), Node(2.0))

    def add(self, x):
        self.root.hits += 1
        side = self.root.left if x < self.root.value else self.root.right
        side.value += x
        side.hits += 1
        return self.root.left.value + self.root.right.value


class Stack:
    def __init__(self):
        self.head, self.size = None, 0

    def push(self, x):
        self.head = Node(x, self.head)
        self.size += 1
        sum_of_all, node = 0.0, self.head
        while node is not None:
            sum_of_all += node.value
            node = node.left
        return sum_of_all


class Loops:
    def __init__(self):
        self.halvings, self.rounds = 0, 0.0

    def add(self, x):
        while x > 1:
            x = x / 2
            self.halvings += 1
        for i in range(5):
            self.rounds += i
            if x < i:
                break
        else:
            self.rounds += 100
        return self.halvings


class Recursive:
    def __init__(self):
        self.calls = 0

    def fibonacci(self, n):
        self.calls += 1
        return n if n <= 1 else self.fibonacci(n - 1) + self.fibonacci(n - 2)

    def run(self, x):
        return self.fibonacci(x + 1)


class Arrays:
    """NumPy arrays that attributes and items lead to."""

    def __init__(self):
        self.w, self.rows = np.zeros(2, np.float32), [np.zeros(3, np.float32), np.ones(2, np.float32)]
        self.made = np.zeros(2, np.float32)

    def add(self, x):
        self.w[0] += x
        self.rows[0][1] = x
        self.rows[1] += x
        self.made = self.made + x
        return self.w.sum() + self.rows[1].sum()


class Swapped:
    """Objects that change places, and one that is chosen."""

    def __init__(self):
        self.one, self.other = Momentum(), Momentum()
        self.chosen = self.one

    def add(self, x):
        self.one, self.other = self.other, self.one
        self.one.velocity += x
        self.chosen = self.one if x > 0 else self.other
        self.chosen.velocity += 10
        return self.one.velocity - self.other.velocity


class Counted:
    def __init__(self):
        self.counts, self.sums = collections.Counter(), collections.defaultdict(float)

    def add(self, x):
        self.counts["all"] += 1
        if x > 0:
            self.counts["positive"] += 1
        self.sums["positive" if x > 0 else "other"] += x
        return self.counts["positive"] / self.counts["all"]


class Toggled:
    """Texts, truth values, large ints and complex numbers."""

    def __init__(self):
        self.name, self.names, self.is_on, self.best, self.z = "a", [], False, 10**12, 1 + 0j

    def add(self, x):
        self.name = {"a": "b", "b": "c", "c": "a"}[self.name]
        self.names.append(self.name)
        self.is_on = not self.is_on
        if x < self.best:
            self.best = x
        self.z = self.z * 1j + x
        return self.best if self.is_on else self.z.real


class Namespaces:
    def __init__(self):
        object.__setattr__(self, "held", {"v": 0.0, "writes": 0})

    def __setattr__(self, name, value):
        self.held[name] = value
        self.held["writes"] += 1

    def __getattr__(self, name):
        return self.held[name]

    def add(self, x):
        self.v = self.v + x
        self.__dict__["last"] = x
        return self.v * self.writes
