"""Functions that call themselves and pass on functions, methods or partial functions that write."""

from __future__ import annotations

import functools

import pytest

from tests.agreement import agrees_when_compiled


class Log:
    def __init__(self):
        self.total, self.items = 0, []

    def note(self, n):
        self.total += n
        self.items.append(n)

    def down(self, n):
        def step(note, left):
            if left > 0:
                note(left)
                step(self.note, left - 1)  # another bound method in each call

        step(self.note, n)
        return self.total, self.items


def each_down(visit, n):
    if n > 0:
        visit(n)
        each_down(visit, n - 1)


def visitors_that_are_given(n):
    total, best, items, log = 0, None, [], Log()

    def add(k):
        nonlocal total, best
        if best is None or k * (5 - k) > best:
            best = k * (5 - k)
        total += k

    def twice(k):
        add(k)
        add(2 * k)

    each_down(twice, n)
    each_down(items.append, n)
    each_down(log.note, n)
    each_down(functools.partial(Log.note, log), n)
    each_down(lambda k: items.append(-k), n)
    return total, best, items, log.total, log.items


def a_visitor_by_default(n):
    total = 0

    def add(k):
        nonlocal total
        total += k

    def down(k, visit=add):
        if k > 0:
            visit(k)
            down(k - 1)

    down(n)
    return total


def visitors_of_leaves_and_nodes(n):
    leaves, nodes = [], 0

    def count(k):
        nonlocal nodes
        nodes += k

    def halve(k, on_leaf, on_node=None):
        if k <= 1:
            on_leaf(k)
            return 1
        if on_node is not None:
            on_node(k)
        return halve(k // 2, on_leaf, on_node) + halve(k - k // 2, on_leaf, on_node=on_node)

    return halve(n, leaves.append, count), leaves, nodes


def a_method_as_visitor(n):
    return Log().down(n)


@pytest.mark.parametrize(
    "program", [visitors_that_are_given, a_visitor_by_default, visitors_of_leaves_and_nodes, a_method_as_visitor]
)
def test_what_functions_among_the_arguments_write_is_written(program):
    agrees_when_compiled(program, *[(n,) for n in (0, 1, 3, 5)])
