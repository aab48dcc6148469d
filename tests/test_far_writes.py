"""Writes by code that is not converted, to objects that are far away: carried with Python's result, or refused."""

import bisect
import collections
import functools
import heapq
import operator

import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests import staged
from tests.outcomes import agrees


class Node:
    def __init__(self):
        self.items = [3.0, 5.0]
        self.count = collections.Counter(a=1)
        self.k = 0
        self.next = None


def last_of(length=5):
    """A chain of objects: the first, which a block sees, and the last, which library code is to write."""
    first = last = Node()
    for _ in range(length):
        last.next = Node()
        last = last.next
    return first


def push(node, x):
    heapq.heappush(node.next.next.next.next.items, x)


def push_by_a_partial(node, x):
    functools.partial(heapq.heappush, node.next.next.next.next.items)(x)


def replace(node, x):
    heapq.heapreplace(node.next.next.next.next.items, x)


def insort(node, x):
    bisect.insort(node.next.next.next.next.items, 4.0)


def update_counter(node, x):
    node.next.next.next.next.count.update(a=2)


def update_dict_unbound(node, x):
    dict.update(node.next.next.next.next.count, a=5)


def append_unbound(node, x):
    list.append(node.next.next.next.next.items, x)


def append_by_map(node, x):
    list(map(node.next.next.next.next.items.append, [x]))


def append_by_name(node, x):
    operator.methodcaller("append", x)(node.next.next.next.next.items)


def set_by_operator(node, x):
    operator.setitem(node.next.next.next.next.items, 0, x)


def set_attribute(node, x):
    setattr(node.next.next.next.next, "k", 7)


def set_attribute_of_object(node, x):
    object.__setattr__(node.next.next.next.next, "k", 7)


def set_in_namespace(node, x):
    vars(node.next.next.next.next)["k"] = 7


def reduce(node, x):
    def add(a, b):
        node.next.next.next.next.k += 1
        return a + b

    node.next.next.next.next.items[0] = functools.reduce(add, [1.0, x, 3.0])


def extend_an_alias(node, x):
    items = node.next.next.next.next.items
    items += [x]


def extend_an_argument(node, x):
    def extend(items, more):
        items += more

    extend(node.next.next.next.next.items, [x])


WRITES = [
    *(push, push_by_a_partial, replace, insort, update_counter, update_dict_unbound, append_unbound, append_by_map),
    *(append_by_name, set_by_operator, set_attribute, set_attribute_of_object, set_in_namespace, reduce),
    *(extend_an_alias, extend_an_argument),
]


@pytest.mark.parametrize("write", WRITES)
def test_a_write_far_away_in_both_branches(write):
    def f(x):
        node = last_of()
        if x > 0:
            write(node, 1.0)
        else:
            write(node, 2.0)
        last = node.next.next.next.next
        return sorted(last.items), last.count["a"], last.k

    agrees(f)


@pytest.mark.parametrize("write", [update_counter, set_attribute, set_attribute_of_object, reduce, replace])
def test_a_write_far_away_in_a_branch_that_may_not_be_taken(write):
    def f(x):
        node = last_of()
        if x > 0:
            write(node, 1.0)
        last = node.next.next.next.next
        return last.items[0], last.count["a"], last.k

    agrees(f)


@pytest.mark.parametrize("write", [push, append_unbound, append_by_name, extend_an_alias, insort])
def test_a_list_that_only_one_branch_lengthens(write):
    def f(x):
        node = last_of()
        if x > 0:
            write(node, 1.0)
        items = node.next.next.next.next.items
        return len(items), items[0], items[-1]

    agrees(f)


def test_a_write_to_the_last_of_many():
    def f(x):
        many = [Node() for _ in range(70)]
        if x > 0:
            setattr(many[68], "k", 7)
            heapq.heapreplace(many[69].items, 9.0)
        return many[68].k, many[69].items[0]

    agrees(f)


@ag.do_not_convert
def unconverted(node, x):
    node.next.next.next.k = node.next.next.next.k + 2
    Node.made = getattr(Node, "made", 0) + 1
    return x


def test_a_function_that_is_not_converted():
    def f(x):
        Node.made = 0
        node = last_of()
        for _ in ag.range(3):
            unconverted(node, x)
        found = node.next.next.next.k, Node.made
        del Node.made
        return found

    agrees(f)


def with_a_write(write):
    def f(x):
        node = last_of()
        node.next.next.next.next.array = np.zeros(3, np.float32)
        if x > 0:
            write(node.next.next.next.next.array)
        return jnp.asarray(node.next.next.next.next.array)

    return f


@pytest.mark.parametrize(
    "write", [lambda a: np.add(a, 1, out=a), lambda a: np.add(a, 1, a), lambda a: np.copyto(a, 1.0)]
)
def test_an_array_that_a_function_writes_in_place(write):
    f = with_a_write(write)
    for x in (-1.0, 1.0):
        assert staged.function(f)(jnp.float32(x)).tolist() == f(x).tolist()


def test_an_array_that_a_method_writes_in_place():
    f = with_a_write(lambda a: a.fill(4.0))
    for x in (-1.0, 1.0):
        assert staged.function(f)(jnp.float32(x)).tolist() == f(x).tolist()


def test_a_large_array_that_is_written_in_place():
    def f(x):
        large = np.zeros(1_000_000)
        if x > 0:
            large += 1
        return jnp.asarray(large[:1])

    def g(x):
        large = np.zeros(1_000_000)
        if x > 0:
            large.sort()
            large.fill(1.0)
        return jnp.asarray(large[:1])

    for x in (-1.0, 1.0):
        assert staged.function(f)(jnp.float32(x)).tolist() == f(x).tolist()
        assert staged.function(g)(jnp.float32(x)).tolist() == g(x).tolist()


def increase(a):
    a += 1


def test_an_array_that_a_function_changes_in_place():
    def f(x):
        a = np.zeros(3)
        if x > 0:
            increase(a)
        return jnp.asarray(a)

    for x in (-1.0, 1.0):
        assert staged.function(f)(jnp.float32(x)).tolist() == f(x).tolist()
