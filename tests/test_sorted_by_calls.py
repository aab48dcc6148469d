"""Order in lists of traced length whose elements a ``__lt__`` of the user's compares, or ``functools.cmp_to_key``."""

from __future__ import annotations

import functools
import heapq

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests.agreement import agrees_when_compiled
from tests.outcomes import agrees_when_transformed

X = np.array([3.0, 1.0, 2.5, -0.5, 4.0, 3.0])
Y = np.array([0.25, 2.0, -3.0, 1.5, 2.0, 0.25])
ONE = np.array([-0.25, 2.0, -3.0, -1.5, -2.0, 0.0])


@functools.total_ordering
class Job:
    def __init__(self, priority, number):
        self.priority = priority
        self.number = number

    def __eq__(self, other):
        return self.priority == other.priority and self.number == other.number

    def __lt__(self, other):
        if self.priority != other.priority:
            return self.priority < other.priority
        return self.number > other.number


class ByPriority:
    def __init__(self, job):
        self.job = job

    def __lt__(self, other):
        return self.job.priority < other.job.priority


def jobs_of(x):
    jobs = []
    for i, v in enumerate(x):
        if v > 0:
            jobs.append(Job(v, i))
    return jobs


def weighted(numbers):
    total = 0.0
    for n in numbers:
        total = 3 * total + n
    return total


def sorted_in_place(x):
    jobs = jobs_of(x)
    jobs.sort()
    backwards = sorted(jobs, reverse=True)
    return weighted([j.number for j in jobs]), weighted([j.priority for j in backwards])


def equal_ones_keep_their_order(x):
    jobs = jobs_of(x)
    up = [j.number for j in sorted(jobs, key=ByPriority)]
    down = [j.number for j in sorted(jobs, key=ByPriority, reverse=True)]
    either = [j.number for j in sorted(jobs, key=ByPriority, reverse=bool(x[0] > 1))]
    return weighted(up), weighted(down), weighted(either)


def extremes(x):
    jobs = jobs_of(x)
    none = Job(0.0, -1)
    return (
        max(jobs, default=none).number,
        min(jobs, default=none).number,
        max(jobs, key=ByPriority, default=none).number,
    )


def compared_by_a_function(x):
    def compare(a, b):
        if a[0] // 1 != b[0] // 1:
            return int(b[0] // 1 - a[0] // 1)
        return -1 if a[1] < b[1] else (1 if a[1] > b[1] else 0)

    pairs = [(v, i) for i, v in enumerate(x) if v > 0]
    pairs.sort(key=functools.cmp_to_key(compare))
    best = max(pairs, key=functools.cmp_to_key(compare), default=(0.0, -1))
    return weighted([v + 10 * i for v, i in pairs]), best[1]


def written_after_sorting(x):
    jobs = jobs_of(x)
    total = 0.0
    while jobs:
        jobs.sort()
        jobs[0].priority += 2
        total = total * 2 + jobs[-1].priority
        jobs.pop()
    return total


def heap(x):
    waiting = jobs_of(x)
    heapq.heapify(waiting)
    total = 0.0
    while waiting:
        job = heapq.heappop(waiting)
        total = total * 2 + job.priority
        if job.priority > 3:
            heapq.heappush(waiting, Job(job.priority - 2, job.number))
    return total


PROGRAMS = [
    sorted_in_place, equal_ones_keep_their_order, extremes, compared_by_a_function, written_after_sorting, heap,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_like_plain_python(program):
    agrees_when_compiled(program, (X,), (Y,), (ONE,), (-np.abs(X),))
    if program is not heap:  # which grows without a bound that is known
        for x in (X, Y, -np.abs(X)):
            agrees_when_transformed(program, x, beside=Y)


def test_the_best_of_none():
    with pytest.raises(ValueError, match=r"max\(\) .*empty"):
        ag.function(lambda x: max(jobs_of(x)).number)(jnp.asarray(-np.abs(X)))


def test_a_derivative():
    x = Y + np.arange(6) * 1e-2  # all differ
    steps = np.eye(6) * 1e-4
    wanted = [(sorted_in_place(x + step)[1] - sorted_in_place(x - step)[1]) / 2e-4 for step in steps]
    found = jax.grad(lambda x: ag.convert(sorted_in_place)(x)[1])(jnp.asarray(x))
    np.testing.assert_allclose(found, wanted, rtol=1e-4)


def test_how_often_comparisons_are_made_differs():
    def program(x):
        calls = 0

        def compare(a, b):
            nonlocal calls
            calls += 1
            return -1 if a < b else (1 if a > b else 0)

        return sorted([v for v in x if v > 0], key=functools.cmp_to_key(compare)), calls

    x = np.arange(1.0, 7.0)
    (found, calls), (wanted, in_python) = ag.function(program)(jnp.asarray(x)), program(x)
    np.testing.assert_allclose(found, wanted)
    assert calls > in_python  # which sees that they are in their order


def test_an_exception_of_a_comparison():
    class Checked:
        def __init__(self, v):
            self.v = v

        def __lt__(self, other):
            if self.v == other.v:
                raise ValueError("equal")
            return self.v < other.v

    def program(x):
        return [each.v for each in sorted([Checked(v) for v in x if v > 0])]

    compiled = ag.function(program)
    distinct = X + 10 * np.arange(6)
    np.testing.assert_allclose(compiled(jnp.asarray(distinct)), program(distinct))
    with pytest.raises(ValueError, match="equal"):
        compiled(jnp.asarray(X))
