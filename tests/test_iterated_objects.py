"""Objects whose `__iter__` returns an iterator: loops over them, `in`, and builtins that consume them."""

from __future__ import annotations

import itertools

import pytest

from tests.agreement import agrees_when_compiled


class Evens:
    def __init__(self, count):
        self.items = []
        k = 0
        while k < count:
            self.items.append(k * 2)
            k += 1


class Stack(Evens):
    def __iter__(self):
        return iter(self.items[::-1])


class WithoutTwo(Evens):
    def __iter__(self):
        return (item for item in self.items if item != 2)


class Raised(Evens):
    def __iter__(self):
        return map(lambda item: item + 1, self.items)


class Closed(Evens):
    def __iter__(self):
        return itertools.chain(self.items, [7])


class Pair:
    def __init__(self, first, second):
        self.first, self.second = first, second

    def __iter__(self):
        return iter((self.first, self.second))


class Multiples:
    def __init__(self, step):
        self.step = step

    def __iter__(self):
        return MultiplesIterator(self.step)


class MultiplesIterator:
    def __init__(self, step):
        self.step, self.number = step, 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.number >= 3:
            raise StopIteration
        self.number += 1
        return self.number * self.step


def consumed(n):
    stack = Stack(n)
    return list(stack), sum(stack), sorted(stack), max(stack, default=-1), tuple(stack)


def searched(n):
    stack = Stack(n)
    return 4 in stack, 5 in stack, any(item > 4 for item in stack), 4 not in Multiples(n), 3 in Pair(n, 3)


def comprehended(n):
    stack = Stack(n)
    return [item + 1 for item in stack], sum(item for item in stack if item > 2), list(map(lambda v: v * 2, stack))


def looped(n):
    stack, total = Stack(n), 0
    for item in stack:
        if item == 4:
            continue
        total += item
    for k, item in enumerate(stack):
        total += k * item
    for one, other in zip(stack, stack):
        total += one * other
    return total


def by_generator(n):
    total = 0
    for item in WithoutTwo(n):
        total += item
    return total, list(WithoutTwo(n)), sum(WithoutTwo(n))


def by_map_and_chain(n):
    return list(Raised(n)), sum(Closed(n)), [item for item in Closed(n)]


def unpacked(n):
    first, second = Pair(n, n + 1)
    head, *rest = Pair(n, 2)
    return first, second, head, rest, [*Pair(n, 1), 5]


def by_an_iterator_of_a_class(n):
    multiples, total = Multiples(n), 0
    for item in multiples:
        if item > n * 2:
            break
        total += item
    for item in multiples:
        total += item
    return total, list(multiples), sum(multiples)


class Once:
    """Whose iterator is the same each time."""

    def __init__(self, items):
        self.rest = iter(items)
        self.asked = 0

    def __iter__(self):
        self.asked += 1
        return self.rest


def by_one_iterator(n):
    once, total = Once([n, 2, 3]), 0
    for item in once:
        total += item
    for item in once:
        total += 100 * item
    return total, sum(once), next(once.rest, -1), once.asked


class Tree:
    def __init__(self, key):
        self.key, self.left, self.right = key, None, None

    def __iter__(self):
        if self.left:
            yield from self.left
        yield self.key
        if self.right:
            yield from self.right

    def insert(self, key):
        side = "left" if key < self.key else "right"
        node = getattr(self, side)
        if node is None:
            setattr(self, side, Tree(key))
        else:
            node.insert(key)


def by_recursion(n):
    tree, total = Tree(10), 0
    for key in (n, 3, n + 1):
        tree.insert(key)
    for key in tree:
        total = total * 3 + key
    return total, list(tree)


PROGRAMS = [
    *(consumed, searched, comprehended, looped, by_generator, by_map_and_chain, unpacked, by_an_iterator_of_a_class),
    by_one_iterator,
    by_recursion,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_are_iterated_as_in_python(program):
    agrees_when_compiled(program, (4,), (1,))
