"""Objects in heaps, sorted lists and lists that are written at traced indices: each is one object, whoever leads to it."""

from __future__ import annotations

import heapq
from collections import deque
from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests import staged

TIMES = [5.0, 1.0, 3.0]
ROADS = [[0.0, 4.0, 1.0], [4.0, 0.0, 2.0], [1.0, 2.0, 0.0]]


class Node:
    def __init__(self, name, dist):
        self.name = name
        self.dist = dist
        self.is_done = False

    def __lt__(self, other):
        return self.dist < other.dist


class Linked(Node):
    def __init__(self, name, dist):
        super().__init__(name, dist)
        self.next = None


@dataclass(order=True)
class Event:
    time: float
    number: int = field(compare=False)
    left: int = field(compare=False, default=2)


def changed_between_pop_and_push(times):
    heap = [Node(i, time) for i, time in enumerate(times)]
    heapq.heapify(heap)
    names = []
    for _ in range(3):
        node = heapq.heappop(heap)
        names.append(node.name)
        node.dist = node.dist * 2 + 1
        heapq.heappush(heap, node)
    return names


def changed_until_all_are_late(times):
    heap = [Node(i, time) for i, time in enumerate(times)]
    heapq.heapify(heap)
    count = 0
    while heap[0].dist < 20:
        node = heapq.heappop(heap)
        node.dist = node.dist * 2 + 1
        heapq.heappush(heap, node)
        count += 1
    return count, [node.dist for node in heap]


def simulation(times):
    queue = [Event(time, i) for i, time in enumerate(times)]
    heapq.heapify(queue)
    log = []
    while queue:
        event = heapq.heappop(queue)
        log.append((event.time, event.number))
        event.left -= 1
        if event.left > 0:
            event.time += event.number + 1.5
            heapq.heappush(queue, event)
    return log


def simulation_of_tuples(times):
    queue = []
    for i, time in enumerate(times):
        heapq.heappush(queue, (time, i, Event(time, i)))
    log = []
    while queue:
        _, _, event = heapq.heappop(queue)
        log.append((event.time, event.number))
        event.left -= 1
        if event.left > 0:
            event.time += event.number + 1.5
            heapq.heappush(queue, (event.time, event.number, event))
    return log


def nearest_first(roads):
    nodes = [Node(i, 1e9) for i in range(len(roads))]
    nodes[0].dist = 0.0
    heap = [nodes[0]]
    while heap:
        node = heapq.heappop(heap)
        if node.is_done:
            continue
        node.is_done = True
        for k, other in enumerate(nodes):
            dist = node.dist + roads[node.name][k]
            if dist < other.dist:
                other.dist = dist
                heapq.heappush(heap, other)
    return [node.dist for node in nodes]


def nearest_first_by_tuples(roads):
    nodes = [Node(i, 1e9) for i in range(len(roads))]
    nodes[0].dist = 0.0
    heap = [(0.0, 0, nodes[0])]
    while heap:
        dist, _, node = heapq.heappop(heap)
        if node.is_done:
            continue
        node.is_done = True
        for k, other in enumerate(nodes):
            further = dist + roads[node.name][k]
            if further < other.dist:
                other.dist = further
                heapq.heappush(heap, (further, k, other))
    return [node.dist for node in nodes]


def ranked(times):
    nodes = [Node(i, time) for i, time in enumerate(times)]
    for rank, node in enumerate(sorted(nodes, key=lambda each: each.dist)):
        node.rank = rank
    return [node.rank for node in nodes]


def in_turns(times):
    queue = deque(Event(time, i) for i, time in enumerate(times))
    done = []
    while queue:
        event = queue.popleft()
        event.time -= 2.0
        if event.time > 0:
            queue.append(event)
        else:
            done.append(event.number)
    return done


def linked_exchanged_at_a_traced_index(times):
    items = [Linked(i, time) for i, time in enumerate(times)]
    items[0].next, items[1].next = items[1], items[0]
    place = 1 if times[0] > 2 else 0
    held = items[place]
    items[place] = items[1 - place]
    items[1 - place] = held
    count = 0
    while count < times[1]:
        items[1].dist = items[1].dist * 2 + 1
        count += 1
    return [node.dist for node in items]


def late(items):
    found = []
    for node in items:
        if node.dist > 2:
            found.append(node)
    return found


def linked_of_a_list_that_only_the_loop_has(times):
    items = [Linked(i, time) for i, time in enumerate(times)]
    items[0].next, items[1].next = items[1], items[0]
    for node in late(items):
        node.dist += 10
    for k, node in enumerate(late(items)):
        node.dist += 100 * k
    return [node.dist for node in items]


def latest_of_linked(times):
    items = [Linked(i, time) for i, time in enumerate(times)]
    items[0].next, items[1].next = items[1], items[0]
    latest = max(late(items), key=lambda node: node.dist)
    latest.dist = -1.0
    return [node.dist for node in items]


OF_TIMES = [
    linked_of_a_list_that_only_the_loop_has,
    latest_of_linked,
    changed_between_pop_and_push,
    changed_until_all_are_late,
    simulation,
    simulation_of_tuples,
    ranked,
    in_turns,
    linked_exchanged_at_a_traced_index,
]


@pytest.mark.parametrize(
    ("program", "argument"),
    [(f, TIMES) for f in OF_TIMES] + [(f, ROADS) for f in (nearest_first, nearest_first_by_tuples)],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_as_in_python(program, argument):
    found = jax.tree.leaves(ag.function(program)(jax.tree.map(jnp.float32, argument)))
    np.testing.assert_allclose(found, jax.tree.leaves(program(argument)), rtol=1e-6)


def test_a_comparison_of_two_that_may_be_several_is_made_once():
    def are_in_order(x):
        nodes = [Node(i, x + i) for i in range(4)]
        one, other = (nodes[0], nodes[1]) if x > 0 else (nodes[2], nodes[3])
        one.dist += 1
        return one < other, one.dist, [node.dist for node in nodes]

    calls = []
    lt = Node.__lt__

    def counted(self, other):
        calls.append(1)
        return self.dist < other.dist

    Node.__lt__ = counted
    try:
        for x in (1.0, -1.0):
            found = jax.tree.leaves(staged.function(are_in_order)(jnp.float32(x)))
            calls_of_trace = len(calls)
            np.testing.assert_allclose(found, jax.tree.leaves(are_in_order(x)))
            assert calls_of_trace <= 4
            calls.clear()
    finally:
        Node.__lt__ = lt


def exchanged(x):
    one, other = Linked(0, x), Linked(1, 2 * x)
    one.next, other.next = other, one
    items = [one, other]
    while x < 3:
        items.append(items[0])
        items[0].dist += 1
        if x > 1:
            items[0], items[1] = items[1], items[0]
        x += 1
    return {"items": items, "one": one}, items[0]


def test_a_list_of_objects_that_conditions_choose_is_returned_with_the_objects():
    (found, first), (expected, _) = ag.function(exchanged)(jnp.float32(0.5)), exchanged(0.5)
    assert [float(node.dist) for node in found["items"]] == [node.dist for node in expected["items"]]
    assert [float(node.next.dist) for node in found["items"]] == [node.next.dist for node in expected["items"]]
    assert first is found["items"][0]
    assert [node is found["one"] for node in found["items"]] == [node is expected["one"] for node in expected["items"]]


def test_it_is_refused_in_a_bare_jit():
    def shortened(x):
        items = [Linked(0, x), Linked(1, 2 * x)]
        items[0].next, items[1].next = items[1], items[0]
        if x > 1:
            items[0], items[1] = items[1], items[0]
        if x > 2:
            items.pop()
        return items

    with pytest.raises(ag.StagingError, match=r"which objects its elements are(.|\n)*autograph.function"):
        jax.jit(ag.convert(shortened))(3.0)
    assert [float(node.dist) for node in ag.function(shortened)(jnp.float32(3))] == [6.0]
