"""`heapq` and `bisect` on traced values, and in staged statements: as their Python source has it."""

import bisect
import dataclasses
import heapq

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests import staged


def smallest_first(x):
    h = [x, 1.0, x * 2, 0.5]
    heapq.heapify(h)
    heapq.heappush(h, x - 1)
    return heapq.heappop(h), heapq.heappop(h), heapq.heapreplace(h, 9.0), heapq.heappushpop(h, x)


def largest_kept(x):
    h = []
    for v in [3.0, 1.0, 2.0, -4.0]:
        heapq.heappush(h, v * x)
        if len(h) > 2:
            heapq.heappop(h)
    return sorted(h)


def in_a_staged_loop(x):
    h, total = [5.0, 6.0, 7.0], 0.0
    for i in ag.range(3):
        total += heapq.heappushpop(h, x * i + 5)
        heapq.heapreplace(h, total)
    return sorted(h), total


def pairs(x):
    h = [(x, 1), (0.25, 2), (x * 2, 3)]
    heapq.heapify(h)
    first, second = heapq.heappop(h), heapq.heappop(h)
    return first[1], second[1], first[0]


def sorted_insertion(x):
    values = [-3.0, 0.0, 1.0, 3.0]
    bisect.insort(values, x)
    bisect.insort_left(values, x * 2)
    if x > 0:
        bisect.insort(values, x + 0.25)
    else:
        bisect.insort(values, x - 0.25)
    return values, bisect.bisect(values, x), bisect.bisect_left(values, 0.0)


def insertion_and_removal_at_a_traced_index(x):
    values = [1.0, 2.0, 3.0]
    removed = values.pop(jnp.int32(x > 0))
    values.insert(jnp.int32(x > 2), 9.0)
    return values, removed


class Task:
    def __init__(self, cost):
        self.cost = cost
        self.asked = 0

    def __lt__(self, other):
        self.asked += 1
        return self.cost < other.cost if self.cost > 0 else True


def objects_with_an_order_of_their_own(x):
    tasks = [Task(2.0), Task(x), Task(1.0)]
    h = []
    if x > -5:
        for task in tasks[:2]:
            heapq.heappush(h, task.cost)
        tasks[0] < tasks[2]
    else:
        h = [0.0, 0.0]
    return h, tasks[0].asked


@dataclasses.dataclass(order=True)
class Event:
    time: float
    number: int = dataclasses.field(compare=False)


class Job:
    __slots__ = ("cost", "name")

    def __init__(self, cost, name):
        self.cost = cost
        self.name = name

    def __lt__(self, other):
        return (self.cost, self.name) < (other.cost, other.name)


def objects_in_their_order(x):
    h = []
    for number, cost in enumerate((2.0, x, x * x, 1.0)):
        heapq.heappush(h, Job(cost, -number))
    return [(job.cost, job.name) for job in (heapq.heappop(h), heapq.heappop(h), heapq.heappop(h))]


def events_in_their_order(x):
    events = [Event(2.0, 0), Event(x, 1), Event(x * x, 2)]
    heapq.heapify(events)
    found = []
    for _ in range(3):
        event = heapq.heappop(events)
        found.append((event.time, event.number))
        heapq.heappush(events, Event(event.time + 1.5, 3))
    return found


def an_object_in_its_place(x):
    jobs = [Job(1.0, 0), Job(3.0, 1)]
    bisect.insort(jobs, Job(x, 2))
    return [job.cost for job in jobs]


PROGRAMS = [
    *(objects_in_their_order, events_in_their_order, an_object_in_its_place),
    *(smallest_first, largest_kept, in_a_staged_loop, pairs, sorted_insertion, insertion_and_removal_at_a_traced_index),
    objects_with_an_order_of_their_own,
]


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("way", [staged.function, staged.jitted, ag.convert])
@pytest.mark.parametrize("value", [2.5, -1.5, 0.0])
def test_heaps_are_those_of_plain_python(program, way, value):
    expected = program(jnp.float32(value))
    found = way(program)(jnp.float32(value))
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6), found, expected)


def test_outside_of_traces_the_library_runs_as_it_is():
    calls = []

    def f(values):
        heap = list(values)
        heapq.heapify(heap)
        calls.append(heapq.heappop(heap))
        return heap

    assert ag.convert(f)([3, 1, 2]) == [2, 3]
    assert calls == [1]
