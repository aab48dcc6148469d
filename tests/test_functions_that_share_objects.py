"""An `ag.function` that another calls shares its objects: what it returns, writes and reads is what the other sees, as in Python."""

from __future__ import annotations

import collections

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from autograph import Function


class Node:
    def __init__(self, value):
        self.value, self.left = value, None

    def get(self):
        return self.value

    def get_left(self):
        return self.left

    def set_left(self, node):
        self.left = node

    def bump(self, amount):
        self.value = self.value + amount


class Tree:
    """A chain of three nodes."""

    def __init__(self):
        self.root = Node(1.0)
        self.root.left = Node(2.0)
        self.root.left.left = Node(3.0)

    def values(self):
        found, node = [], self.root
        while node is not None and len(found) < 8:
            found.append(float(node.value))
            node = node.left
        return found

    def pick(self, x):
        node = self.root
        if x > 0:
            node = node.get_left()
        return node

    def insert_after(self, x):
        node = self.pick(x)
        new = Node(x)
        new.set_left(node.get_left())
        node.set_left(new)
        return node.get_left().get() + node.get()

    def bump_one(self, x):
        self.pick(x).bump(x)
        return self.root.get() + self.root.get_left().get()

    def is_root(self, x):
        return self.pick(x) is self.root

    def last(self, node, x):
        if node.get_left() is None:
            return node
        return self.last(node.get_left(), x)

    def through_recursion(self, x):
        self.last(self.root, x).bump(x)
        return self.last(self.root, x).get()


class Store:
    """Containers that conditions change."""

    def __init__(self):
        self.items, self.places, self.queue = [], {}, collections.deque()

    def values(self):
        return [
            list(map(float, self.items)),
            {int(k): float(v) for k, v in self.places.items()},
            list(map(float, self.queue)),
        ]

    def add(self, x):
        self.items.append(x)
        self.queue.append(x)

    def put(self, x):
        self.places[int(x)] = x

    def total(self):
        return sum(self.items) + len(self.places) + len(self.queue)

    def work(self, x):
        if x > 0:
            self.add(x)
        self.put(x)
        if len(self.items) > 1:
            self.items.pop()
        return self.total()

    def in_a_loop(self, x):
        for k in range(3):
            if x > k:
                self.add(x - k)
        return self.total()


def compiled(kind):
    """A class whose methods are each an `ag.function`."""
    names = [name for name, part in vars(kind).items() if callable(part) and name not in ("__init__", "values")]
    return type(kind)(kind.__name__, (kind,), {name: ag.function(vars(kind)[name]) for name in names})


@pytest.fixture
def compiled_nodes(monkeypatch):
    for name in ("get", "get_left", "set_left", "bump"):
        monkeypatch.setattr(Node, name, ag.function(vars(Node)[name]))


@pytest.mark.parametrize("name", ["insert_after", "bump_one", "is_root", "through_recursion"])
def test_methods_of_linked_objects_call_each_other(name, compiled_nodes):
    mine, others = compiled(Tree)(), Tree()
    assert isinstance(getattr(mine, name), Function)
    for x in (1.0, -1.0, 2.0):
        assert float(getattr(mine, name)(jnp.float32(x))) == float(getattr(others, name)(x))
        assert mine.values() == others.values()


@pytest.mark.parametrize("name", ["work", "in_a_loop"])
def test_methods_that_change_containers_call_each_other(name):
    mine, others = compiled(Store)(), Store()
    for x in (1.0, -1.0, 2.0, 3.0):
        assert float(getattr(mine, name)(jnp.float32(x))) == float(getattr(others, name)(x))
        assert mine.values() == others.values()


@ag.function
def total_of(store):
    return sum(store.items)


def test_a_function_reads_an_object_that_its_caller_made():
    def made(x):
        store = Store()
        for v in x:
            if v > 0:
                store.items.append(v)
        return total_of(store)

    x = np.array([1.0, -2.0, 3.0, 4.0], np.float32)
    for wrap in (ag.function, lambda f: jax.jit(ag.convert(f))):
        assert float(wrap(made)(x)) == 8.0


FIRST, SECOND = Node(1.0), Node(2.0)


@ag.function
def either(x):
    return FIRST if x > 0 else SECOND


def test_a_function_returns_one_of_the_objects_that_its_caller_knows():
    def use(x):
        either(x).value = x
        return FIRST.value, SECOND.value, either(x) is FIRST

    for x in (5.0, -4.0):
        FIRST.value, SECOND.value = 1.0, 2.0
        found = [part.item() for part in ag.function(use)(jnp.float32(x))]
        FIRST.value, SECOND.value = 1.0, 2.0
        assert found == ([5.0, 2.0, True] if x > 0 else [1.0, -4.0, False])


class Stack:
    def __init__(self):
        self.items, self.queue, self.head, self.total = [], collections.deque(), None, 0.0

    @ag.function
    def push(self, x):
        self.items.append(x)
        self.queue.append(x)
        self.head = (x, self.head)
        self.total += x

    @ag.function
    def pop(self):
        return self.items.pop()

    @ag.function
    def popleft(self):
        return self.queue.popleft()

    @ag.function
    def unlink(self):
        x, self.head = self.head
        return x

    @ag.function
    def reset(self):
        self.total, self.items, self.head = 0.0, [], None


@pytest.mark.parametrize("name", ["pop", "popleft", "unlink"])
def test_each_call_takes_an_array_from_a_container_outside(name):
    stack = Stack()
    for x in (1.0, 2.0, 3.0):
        stack.push(jnp.float32(x))
    found = [float(getattr(stack, name)()) for _ in range(3)]
    assert found == ([1.0, 2.0, 3.0] if name == "popleft" else [3.0, 2.0, 1.0])


@pytest.mark.parametrize("is_reset_first", [False, True])
def test_each_call_puts_constants_where_programs_leave_arrays(is_reset_first):
    stack = Stack()
    if is_reset_first:
        stack.reset()
    for _ in range(3):
        stack.push(jnp.float32(2.0))
        assert (float(stack.total), len(stack.items)) == (2.0, 1)
        stack.reset()
        assert (float(stack.total), stack.items, stack.head) == (0.0, [], None)


class Compared:
    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return self.value == other.value  # an array

    __hash__ = None


COMPARED = {name: Compared(jnp.arange(3)) for name in "ab"}


def test_results_are_objects_whose_equality_is_an_array():
    @ag.function
    def get(x, name):
        return COMPARED[name], x

    for name in "abab":
        assert get(jnp.float32(1.0), name)[0] is COMPARED[name]


class Ring:
    """Objects that refer to each other before the place where the first of them stands."""

    def __init__(self):
        self.root, self.count = None, 0

    @ag.function
    def insert(self, *values):
        for value in values:
            new = Node(value)
            new.parent = None
            if self.root is None:
                self.root = new
                continue
            node = self.root
            while True:
                if node.left is None:
                    node.left = new
                    break
                if value > node.left.value:
                    new.left, node.left.parent = node.left, new
                    node.left = new
                    break
                node = node.left
            new.parent = node
        return self

    def pairs(self):
        found, node = [], self.root
        while node is not None:
            found.append((float(node.value), None if node.parent is None else float(node.parent.value)))
            node = node.left
        return found


def test_objects_are_made_where_they_are_first_referred_to():
    mine, others = Ring(), Ring()
    values = (5.0, 3.0, 7.0, 1.0)
    mine.insert(*map(jnp.float32, values))
    Ring.insert.python_function(others, *values)
    assert mine.pairs() == others.pairs()


def test_code_outside_of_traces_calls_programs_that_return_objects():
    traces = []

    @ag.function
    def doubled(x):
        traces.append("trace")
        return (FIRST if x > 0 else SECOND), x * 2

    @ag.convert
    def eager(x):
        return [doubled(x + k)[1] for k in range(3)]

    assert list(map(float, eager(jnp.float32(1.0)))) == [2.0, 4.0, 6.0]
    assert traces == ["trace"]
    assert list(map(float, jax.jit(eager)(jnp.float32(1.0)))) == [2.0, 4.0, 6.0]


class Table:
    def __init__(self):
        self.rows = {}

    @ag.function
    def put(self, x):
        self.rows["last"] = x

    @ag.function
    def drop(self):
        del self.rows["last"]

    @ag.function
    def move(self):
        self.rows["first"] = self.rows.pop("last")


def test_each_call_takes_an_array_out_of_a_dict_outside():
    table = Table()
    for x in (1.0, 2.0, 3.0):
        table.put(jnp.float32(x))
        table.move()
        assert {key: float(row) for key, row in table.rows.items()} == {"first": x}
        table.put(jnp.float32(x))
        table.drop()
        assert {key: float(row) for key, row in table.rows.items()} == {"first": x}


class Fitted:
    def __init__(self):
        self.node = Node(2.0)

    @ag.function(input_signature=[ag.TensorSpec([], jnp.float32)])
    def get(self, x):
        return self.node, x * 2

    @ag.function
    def use(self, x):
        node, doubled = self.get(x)
        node.value = doubled
        return self.node.value + self.get(1)[1]


def test_an_input_signature_holds_in_a_part_of_a_trace():
    fitted = Fitted()
    found = fitted.use(jnp.float32(4.0))
    assert found.dtype == jnp.float32 and float(found) == 10.0 and float(fitted.node.value) == 8.0
    with pytest.raises(TypeError, match="expected float32, got int32"):
        fitted.use(jnp.int32(4))
