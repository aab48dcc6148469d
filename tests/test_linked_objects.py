"""Objects that lead to each other, chosen by traced conditions: each write is seen by all that lead to the object, as in Python."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from autograph.runtime.staging.statements.loop_settling import Settling
from tests import staged


class Node:
    def __init__(self, value, next=None):
        self.value = value
        self.next = next


@dataclass(eq=False)
class Field:
    value: float
    next: Any = None


class Slotted:
    __slots__ = ("next", "value")

    def __init__(self, value, next=None):
        self.value = value
        self.next = next


class Holder:
    def __init__(self):
        self.items = []
        self.next = None


class Tree:
    def __init__(self, value):
        self.value = value
        self.left = None
        self.right = None


def weighed(node):
    total, weight = 0.0, 1.0
    while node is not None:
        total += weight * node.value
        weight *= 2.0
        node = node.next
    return total


def a_write_to_one_that_leads_to_the_other(xs):
    a, b = Node(1.0), Node(2.0)
    a.next = b
    p = a if xs[0] > 0 else b
    q = p.next
    p.next = Node(7.0)
    return weighed(a), weighed(b), q is b, p is a, a.next is b, a.next is p.next


def appended_under_conditions(xs):
    first = last = Node(0.0)
    for k in range(3):
        if xs[k] > 0:
            last.next = Node(xs[k])
            last = last.next
    return weighed(first), last is first


def what_a_walk_has_come_to(xs):
    c = Node(xs[2])
    b = Node(xs[1], c)
    q = b
    while q.next is not None and q.value < 2.5:
        q = q.next
    return q is b, q is c, b.next is q


def made_under_a_condition(xs):
    a, kept = Node(1.0), None
    if xs[0] > 0:
        made = Node(5.0)
        a.next = made
        kept = made
    if kept is not None:
        kept.value = 8.0
    total = weighed(a)
    if a.next is not None:
        a.next.value = 9.0
    return total, kept is None, kept is a.next, 0.0 if kept is None else kept.value


def made_on_both_paths(xs):
    if xs[0] > 0:
        n = Node(1.0)
        m = n
    else:
        n = Node(2.0)
        m = Node(3.0, n)
    n.value = 10.0
    if xs[1] > 0:
        m = m if m.next is None else m.next
    m.value += 1
    return n.value, m.value, m is n, weighed(m)


def the_greatest_of_a_list(xs):
    nodes = [Node(xs[0]), Node(xs[1]), Node(xs[2])]
    for k in range(2):
        nodes[k].next = nodes[k + 1]
    best = nodes[0]
    for node in nodes:
        if node.value > best.value:
            best = node
    best.next = None
    best.value = best.value + 100
    return weighed(nodes[0]), best is nodes[1], sum(node.value for node in nodes), nodes.index(best)


def lists_of_nodes(xs):
    a, b = Holder(), Holder()
    a.next = b
    p = a if xs[0] > 0 else b
    p.items.append(xs[1])
    if xs[1] > 0:
        p.next = Holder()
        p.next.items.append(xs[2])
    node, total = a, 0.0
    while node is not None:
        total = total * 2 + sum(node.items) + len(node.items)
        node = node.next
    return total


def fields_in_a_loop(xs):
    first = last = Field(0.0)
    for v in xs:
        if v > 0:
            last.next = Field(v)
            last = last.next
    return weighed(first)


def slots_in_a_loop(xs):
    first = Slotted(-100.0)
    for v in xs:
        node = first
        while node.next is not None and node.next.value < v:
            node = node.next
        node.next = Slotted(v, node.next)
    return weighed(first.next)


def a_ring(xs):
    a, b, c = Node(xs[0]), Node(xs[1]), Node(xs[2])
    a.next, b.next, c.next = b, c, a
    at = a
    for v in xs:
        if v > 0:
            at = at.next
        at.value = at.value + v
    at.next.value = 50.0
    return a.value, b.value, c.value, at is a, at.next is a


def inserted_by_loops_that_end(xs):
    root = Tree(xs[0])
    for v in xs[1:]:
        node = root
        while True:
            if v < node.value:
                if node.left is None:
                    node.left = Tree(v)
                    break
                node = node.left
            else:
                if node.right is None:
                    node.right = Tree(v)
                    break
                node = node.right
    node, depth = root, 0
    while node is not None and node.value != xs[2]:
        node = node.left if xs[2] < node.value else node.right
        depth += 1
    return depth, root.left is None, root.right is None


def written_by_the_inner_of_two_loops(xs):
    first = Node(xs[0], Node(xs[1], Node(xs[2])))
    far = first.next.next
    for v in xs:
        for w in xs:
            if far.value > v:
                first.next.value = far.value + w
            far = first.next
            far.value = far.value + 1.0
    return weighed(first), far is first.next


def chosen_by_the_inner_of_two_loops(xs):
    first = Node(xs[0], Node(xs[1], Node(xs[2])))
    far = first.next.next
    for v in xs:
        for w in xs:
            if far.value > v:
                first.next.value = far.value + w
            if w > v:
                far = first.next
            far.value = far.value + 1.0
    return weighed(first), far is first.next


def replaced_after_the_inner_of_two_loops(xs):
    first = Node(xs[0], Node(xs[1], Node(xs[2])))
    far = first.next.next
    total = 0.0
    for v in xs:
        for w in xs:
            if w > v:
                far = first.next
            far.value = far.value + 1.0
        total += weighed(far)
        far = Node(v)
    return total, weighed(first)


class Parent:
    def __init__(self, value, children=()):
        self.value, self.children = value, list(children)

    def find(self, value):
        if self.value == value:
            return self
        for child in self.children:
            found = child.find(value)
            if found is not None:
                return found
        return None


def found_three_levels_deep(xs):
    root = Parent(1.5, [Parent(2.5, [Parent(-1.0)]), Parent(3.0)])
    found = root.find(xs[0])
    if found is None:
        return -1.0, 0
    return found.value, len(found.children)


def chosen_of_three_levels(xs):
    leaf = Parent(-1.0)
    middle = Parent(2.5, [leaf])
    root = Parent(1.5, [middle])
    if xs[0] == 1.5:
        found = root
    elif xs[0] == 2.5:
        found = middle
    else:
        found = leaf
    return found.value


PROGRAMS = [
    *(found_three_levels_deep, chosen_of_three_levels),
    *(
        a_write_to_one_that_leads_to_the_other,
        appended_under_conditions,
        what_a_walk_has_come_to,
        made_under_a_condition,
    ),
    *(made_on_both_paths, the_greatest_of_a_list, lists_of_nodes, fields_in_a_loop, slots_in_a_loop, a_ring),
    *(inserted_by_loops_that_end, written_by_the_inner_of_two_loops, chosen_by_the_inner_of_two_loops),
    replaced_after_the_inner_of_two_loops,
]
VALUES = [[1.5, -2.0, 3.0], [-1.0, -2.0, -3.0], [3.0, 2.0, 1.0], [2.5, 2.5, 0.5], [-4.0, 6.0, -1.0]]


def numbers(found):
    return [float(each) for each in jax.tree.leaves(found)]


@pytest.mark.parametrize("program", PROGRAMS)
def test_as_in_python(program):
    compiled, jitted = ag.function(program), jax.jit(ag.convert(program))
    for values in VALUES:
        xs = jnp.array(values)
        np.testing.assert_allclose(numbers(compiled(xs)), numbers(program(values)), rtol=1e-6)
        np.testing.assert_allclose(numbers(jitted(xs)), numbers(program(values)), rtol=1e-6)
    for run in (jax.vmap(ag.convert(program)), jax.jit(jax.vmap(ag.convert(program)))):
        rows = zip(*jax.tree.leaves(run(jnp.array(VALUES))), strict=True)
        for row, values in zip(rows, VALUES, strict=True):
            np.testing.assert_allclose(list(map(float, row)), numbers(program(values)), rtol=1e-6)


def test_the_derivative_follows_the_links():
    derivative = jax.grad(ag.convert(lambda xs: weighed_in_order(xs)))
    np.testing.assert_allclose(derivative(jnp.array([3.0, 1.0, 2.0])), [4.0, 1.0, 2.0])
    np.testing.assert_allclose(derivative(jnp.array([1.0, 3.0, 2.0])), [1.0, 4.0, 2.0])


def weighed_in_order(xs):
    first = Node(-100.0)
    for v in xs:
        node = first
        while node.next is not None and node.next.value < v:
            node = node.next
        node.next = Node(v, node.next)
    return weighed(first.next)


def test_the_loop_of_a_walk_knows_its_test():
    def total(xs):
        first = None
        for v in xs:
            if v > 0:
                first = Node(v, first)
        return weighed(first)

    assert float(jax.jit(ag.convert(total))(jnp.array([1.0, -1.0, 3.0]))) == 5.0


def any_number(x):
    first = Node(0.0)
    while x > 1:
        first.next = Node(x, first.next)
        x = x / 2
    return weighed(first)


def not_in_the_last_iteration(x):
    first = node = Node(0.0)
    count, done = 0, False
    while not done or count < 3:
        if x > count:
            node.next = Node(x)
            node = node.next
            done = True
        count += 1
        if count > 5:
            done = True
    return weighed(first)


def of_many_items(x):
    first = None
    for v in jnp.arange(100.0) * x:
        first = Node(v, first)
    return weighed(first)


@pytest.mark.parametrize(
    "program, name", [(any_number, "Node.next"), (not_in_the_last_iteration, "node"), (of_many_items, "first")]
)
def test_nodes_of_any_number_are_refused_by_name(program, name):
    with pytest.raises(
        ag.StagingError,
        match=rf"test_linked_objects.py:\d+.*\n  '{name}': an iteration of this staged loop makes a Node",
    ) as refusal:
        ag.function(program)(jnp.float32(5))
    assert type(refusal.value) is ag.StagingError


def test_a_node_that_is_made_unseen_in_a_branch_is_refused():
    def copies(x):
        a = Node(x)
        b = Node(x, a)
        p = a if x > 0 else b
        p.next = Node(9.0)
        if x > 1:
            b.next = copy.copy(p)
        return weighed(b)

    with pytest.raises(
        ag.StagingError, match=r"A branch of this statement makes a Node.*\n.*Call the class itself: Node"
    ):
        ag.function(copies)(jnp.float32(5))


def chain_of(xs):
    first = None
    for v in xs[::-1]:
        first = Node(v, first)
    return first


def walked(xs):
    node, count = chain_of(xs), 0
    while node is not None and node.value < 90.0:
        node = node.next
        count += 1
    return count, -1.0 if node is None else node.value


def walked_by_two(xs):
    slow = fast = chain_of(xs)
    while fast is not None and fast.next is not None and fast.value < 90.0:
        slow = slow.next
        fast = fast.next.next
    return slow.value, fast is None


def written_at_the_end(xs):
    first = node = chain_of(xs)
    while node.next is not None and node.value < 90.0:
        node = node.next
    node.value = 7.0
    return weighed(first)


def reversed_up_to_one(xs):
    node, previous = chain_of(xs), None
    while node is not None and node.value < 90.0:
        following = node.next
        node.next = previous
        previous, node = node, following
    return weighed(previous)


def to_the_last_of_another_class(xs):
    last = Tree(50.0)
    node = Node(xs[0], Node(xs[1], Node(xs[2], Node(xs[3], last))))
    total = 0.0
    while node.value < 40.0:
        total += node.value
        node = node.next
    return total, node.value


@pytest.mark.parametrize(
    "program", [walked, walked_by_two, written_at_the_end, reversed_up_to_one, to_the_last_of_another_class]
)
def test_a_loop_finds_all_that_it_walks_over_at_once(program, monkeypatch):
    rounds = []
    begun = Settling.begin_round
    monkeypatch.setattr(Settling, "begin_round", lambda self: [rounds.append(self), begun(self)][1])
    chains = [np.arange(1.0, n + 1) for n in (6, 12)]
    counts = []
    for chain in chains:
        found = [staged.function(program)(jnp.array(chain)), program(chain)]
        np.testing.assert_allclose(*map(numbers, found), rtol=1e-6)
        counts.append(len(rounds))
        rounds.clear()
        chain[3] = 95.0
        found = [staged.function(program)(jnp.array(chain)), program(chain)]
        np.testing.assert_allclose(*map(numbers, found), rtol=1e-6)
        rounds.clear()
    assert counts[0] == counts[1] < 24  # of the loop, and of that which weighs the nodes


def test_an_insertion_into_a_search_tree_is_traced_a_few_times(monkeypatch):
    rounds = []
    begun = Settling.begin_round
    monkeypatch.setattr(Settling, "begin_round", lambda self: [rounds.append(self), begun(self)][1])
    counts = []
    for n in (4, 6):
        values = np.array([4.0, 1.0, 6.0, 5.0, 2.0, 7.0])[:n]
        found = [staged.function(inserted_by_loops_that_end)(jnp.array(values)), inserted_by_loops_that_end(values)]
        np.testing.assert_allclose(*map(numbers, found), rtol=1e-6)
        counts.append(len(rounds))
        rounds.clear()
    assert counts[1] - counts[0] <= 2 * 5


@pytest.mark.parametrize("program", [written_by_the_inner_of_two_loops, chosen_by_the_inner_of_two_loops])
def test_loops_around_one_with_references_have_them_at_once(program, monkeypatch):
    rounds = []
    begun = Settling.begin_round
    monkeypatch.setattr(Settling, "begin_round", lambda self: [rounds.append(self), begun(self)][1])
    jax.make_jaxpr(ag.convert(program))(jnp.ones(3))
    assert len(rounds) <= 24


def of_a_class_of_its_own(x):
    class Link:
        def __init__(self, v, following=None):
            self.v, self.following = v, following

    last = Link(2.0)
    middle = Link(1.0, last)
    current = Link(0.0, middle)
    while current is not None:
        if current.v > x:
            break
        current = current.following
    middle.v, last.v = 10.0, 20.0
    return current.v if current is not None else -1.0


@pytest.mark.parametrize("x", [0.5, 1.5, 2.5])
def test_nodes_of_a_class_that_the_function_makes(x):
    assert float(ag.function(of_a_class_of_its_own)(jnp.float32(x))) == of_a_class_of_its_own(x)
