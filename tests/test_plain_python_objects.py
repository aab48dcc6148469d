"""Calls of converted functions that meet objects, containers and modules of plain values run the code as it is written."""

from __future__ import annotations

import collections
import dataclasses
import enum
import functools
import heapq
import math
import types
import typing

import jax
import jax.numpy as jnp
import pytest

import autograph as ag
from tests.test_plain_python_unconverted import ARRAY, half, run


@dataclasses.dataclass
class Point:
    x: float
    y: float

    @property
    def length(self):
        return math.hypot(self.x, self.y) if self.x > 0 else -self.y


@dataclasses.dataclass(frozen=True, order=True)
class Frozen:
    n: int = 1


class Color(enum.Enum):
    RED = 1
    BLUE = 2

    def is_warm(self):
        return True if self is Color.RED else False


class Pair(typing.NamedTuple):
    a: int
    b: int

    def total(self):
        return self.a + self.b if self.a else 0


class Slotted:
    __slots__ = ("_n", "other")

    def __init__(self, n):
        self._n = n

    @property
    def n(self):
        return self._n if self._n > 0 else 0

    @n.setter
    def n(self, n):
        if n > 0:
            self._n = n


class Stack:
    made = 0

    def __init__(self):
        Stack.made += 1
        self.items = []

    def push(self, item):
        if item is not None:
            self.items.append(item)

    def pop(self):
        return self.items.pop() if self.items else None

    def __len__(self):
        return len(self.items)


class Counting(Stack):
    def __init__(self):
        super().__init__()
        self.count = 0

    def push(self, item):
        super().push(item)
        self.count += 1


class Failed(ValueError):
    def __init__(self, n):
        super().__init__(f"failed at {n}")
        self.n = n


@functools.lru_cache
def cached(n):
    return cached(n - 1) + 1 if n > 0 else 0


SETTINGS = types.ModuleType("settings_of_a_user")
exec("LIMIT = 3\ndef limited(n):\n    return n if n < LIMIT else LIMIT\n", SETTINGS.__dict__)
GRAPH = {0: [1, 2], 1: [3], 2: [3], 3: []}
STACK = Stack()


def breadth_first(start):
    seen, queue, order = {start}, collections.deque([start]), []
    while queue:
        node = queue.popleft()
        order.append(node)
        for other in GRAPH[node]:
            if other not in seen:
                seen.add(other)
                queue.append(other)
    return order


def lengths(points):
    total = 0.0
    for point in points:
        if point.x != 1:
            total += point.length
    return total


def stacks(n):
    stack = Counting()
    for k in range(n):
        stack.push(k if k % 2 else None)
    found = []
    while len(stack):
        found.append(stack.pop())
    return found, stack.count


def heaps(numbers):
    heap = []
    for number in numbers:
        heapq.heappush(heap, (-number, str(number)))
    return [heapq.heappop(heap)[1] for _ in range(len(heap))]


def sorted_by(words):
    return sorted(words, key=lambda word: (-len(word) if word else 0, word))


def adds(n):
    def add(a, b):
        return a + b if a > b else b + a

    total = 0
    for k in range(n):
        total = add(total, k)
    return total


def fails(n):
    try:
        if n > 1:
            raise Failed(n)
    except Failed as error:
        return str(error), error.n
    return None


def of_kinds(color, pair, slotted):
    slotted.n = 5 if color.is_warm() else 7
    return pair.total(), pair._replace(a=0).total(), slotted.n, dataclasses.replace(Frozen(), n=2) > Frozen()


OBJECTS = [
    (breadth_first, lambda: (0,)),
    (lengths, lambda: ([Point(3.0, 4.0), Point(-1.0, 2.0)],)),
    (stacks, lambda: (6,)),
    (heaps, lambda: ([3, 1, 2],)),
    (sorted_by, lambda: (["b", "aa", "", "a"],)),
    (adds, lambda: (5,)),
    (fails, lambda: (3,)),
    (of_kinds, lambda: (Color.RED, Pair(1, 2), Slotted(1))),
    (lambda n: cached(n) if n > 2 else 0, lambda: (5,)),
    (lambda n: SETTINGS.limited(n) if n > SETTINGS.LIMIT else n, lambda: (9,)),
    (lambda f, n: f(n) if n > 1 else n, lambda: (half, 8)),
    (lambda method, n: method(n) if n > 1 else n, lambda: (Stack().push, 8)),
    (lambda n: sum(k for k in range(n) if k % 3), lambda: (9,)),
]


@pytest.mark.parametrize(("f", "arguments"), OBJECTS)
def test_objects_containers_and_modules_run_the_code_as_it_is_written(f, arguments):
    for _ in range(2):
        result, is_rewritten = run(f, *arguments())
        assert result == f(*arguments()) and not is_rewritten


def first_set(target):
    """Only converted code can do this to an array."""
    target.x[0] = 5.0
    return target.x


class Holder:
    def __init__(self, x):
        self.x = x


class Lazy:
    @property
    def x(self):
        return jnp.zeros(2)


class Anything:
    def __getattr__(self, name):
        return jnp.zeros(2)


def with_attribute():
    return with_attribute.array


with_attribute.array = jnp.arange(3.0)


class OfClass:
    array = jnp.arange(3.0)


@functools.singledispatch
def dispatched(n):
    return jnp.zeros(2)


def replaced(x):
    x[0] = 5.0
    return x


@pytest.mark.parametrize(
    "f",
    [
        lambda: first_set(Holder(ARRAY)),
        lambda: first_set(Anything()),
        lambda: replaced(with_attribute.array),
        lambda: replaced(OfClass.array),
        lambda: replaced(OfClass().array),
        lambda: replaced(dispatched(1)),
        lambda: replaced(functools.partial(jnp.zeros, 2)()),
    ],
)
def test_arrays_behind_objects_functions_and_classes_are_found(f):
    result, is_rewritten = run(f)
    assert result[0] == 5 and is_rewritten


def test_an_attribute_that_becomes_an_array_is_seen():
    holder = Holder([1.0, 2.0])
    converted = ag.convert(first_set)
    assert converted(holder) == [5, 2]
    holder.x = jnp.zeros(2)
    holder.other = 3
    with pytest.raises(TypeError, match="immutable"):
        first_set(holder)
    assert converted(holder).tolist() == [5, 0]
    assert converted(Holder({0: 1}))[0] == 5


def test_what_a_module_has_may_become_an_array():
    def f(n):
        values = SETTINGS.values
        values[0] = n
        return values

    SETTINGS.values = [1, 2]
    converted = ag.convert(f)
    assert converted(3) == [3, 2] and not run(f, 3)[1]
    SETTINGS.values = jnp.zeros(2)
    assert converted(3).tolist() == [3, 0]
    del SETTINGS.values
    with pytest.raises(AttributeError):
        converted(3)


def test_a_method_that_is_replaced_is_seen(monkeypatch):
    converted = ag.convert(lambda n: len(make(n)))

    def make(n):
        stack = Stack()
        stack.push(n)
        return stack

    assert converted(1) == 1
    monkeypatch.setattr(Stack, "push", lambda self, item: replaced(jnp.zeros(2)))
    assert converted(1) == 0
    monkeypatch.setattr(Stack, "__len__", lambda self: 7)
    assert converted(1) == 7


def made_in_a_list(n):
    made = []
    made.append(lambda x: x + n if x > 0 else -x)
    return made


def made_in_an_attribute(n):
    STACK.items = [lambda x: x + n if x > 0 else -x]
    return STACK.items


def made_in_a_tuple(n):
    return n, lambda x: x + n if x > 0 else -x


def made_in_an_error(n):
    def clip(x):
        return x + n if x > 0 else -x

    raise Failed(clip)


def a_generator(n):
    def numbers(x):
        for k in range(n):
            yield k if k % 2 else x

    return numbers(1)


def test_functions_that_outlast_the_call_are_converted():
    for f in (made_in_a_list, made_in_an_attribute, made_in_a_tuple):
        assert jax.jit(ag.convert(f)(2)[-1])(3.0) == 5
    with pytest.raises(Failed) as caught:
        ag.convert(made_in_an_error)(2)
    assert jax.jit(caught.value.n)(3.0) == 5
    assert list(ag.convert(a_generator)(3)) == [1, 1, 1]


def test_a_call_that_changes_things_does_so_once():
    def f(stack, n):
        stack.push(n)
        make = lambda k: k + 1 if k else 0  # noqa: E731
        return make

    stack = Stack()
    assert ag.convert(f)(stack, 1)(2) == 3 and len(stack) == 1

    def pops(numbers):
        numbers.pop()
        return lambda k: k if k else 0

    numbers = [1, 2, 3]
    assert ag.convert(pops)(numbers)(1) == 1 and numbers == [1, 2]


def class_of_a_named_tuple():
    return collections.namedtuple("Local", "x y").__module__


def fields_in_order():
    @dataclasses.dataclass
    class Logged:
        a: int
        b: list = dataclasses.field(default_factory=list, init=False)
        c: list = dataclasses.field(default_factory=list)
        d: int = 4

    calls = []
    Logged.__setattr__ = lambda self, name, value: calls.append((name, value))
    Logged(0)
    return calls


def lists_that_equality_clears():
    class Clearing:
        def __init__(self, other):
            self.other = other

        def __eq__(self, other):
            self.other.clear()
            return NotImplemented

    one, other = [], []
    one.append(Clearing(other))
    other.append(Clearing(one))
    return one == other


def dicts_that_equality_clears():
    class Clearing:
        def __eq__(self, other):
            one.clear()
            return True

        def __hash__(self):
            return 13

    one, other = {Clearing(): 0}, {Clearing(): Clearing()}
    return one == other


@pytest.mark.parametrize(
    "f", [class_of_a_named_tuple, fields_in_order, lists_that_equality_clears, dicts_that_equality_clears]
)
def test_classes_and_comparisons_are_those_of_plain_python(f):
    assert ag.convert(f)() == f()
