"""Tuples that are compared, sorted or held in a heap, with traced items and None in them: Python's result."""

from __future__ import annotations

import heapq

import jax
import jax.numpy as jnp
import pytest

import autograph as ag
from tests import staged
from tests.agreement import differences


def none_behind_what_decides(xs):
    rows = [(v, k, None) for k, v in enumerate(xs)]
    best = max((v, k, None if v > 2 else k) for k, v in enumerate(xs))
    one = (xs[0], None if xs[0] > 2 else 5)
    return [k for _, k, _ in sorted(rows)], best[1], one < (xs[1], 7), one < (xs[2], None)


def leaves_of_a_heap(xs):
    heap = [(v, k, None, None) for k, v in enumerate(xs)]
    heapq.heapify(heap)
    total, count = 0, len(xs)
    while len(heap) > 1:
        one, other = heapq.heappop(heap), heapq.heappop(heap)
        total += one[0] + other[0]
        heapq.heappush(heap, (one[0] + other[0], count, one[1], other[1]))
        count += 1
    return total, heap[0][0]


@pytest.mark.parametrize("f", [none_behind_what_decides, leaves_of_a_heap])
@pytest.mark.parametrize("xs", [[5, 9, 1], [1, 2, 3], [9, 4, 1], [0, 7, 1]])
def test_none_in_tuples_does_no_harm_where_it_does_not_decide(f, xs):
    assert list(differences(f(xs), staged.function(f)(jnp.array(xs)))) == []


def test_none_in_tuples_raises_where_it_decides():
    def f(x, y):
        return (x, None if x > 2 else 5) < (y, 7)

    g = ag.function(f)
    assert bool(g(1, 1)) and bool(g(3, 4)) and not bool(g(4, 3))
    with pytest.raises(TypeError):
        f(3, 3)
    with pytest.raises(TypeError, match="None was used"):
        g(jnp.array(3), jnp.array(3))


def pairs_in_a_bubble_sort(xs):
    pairs = [(v, -k) for k, v in enumerate(xs)]
    for i in range(len(pairs)):
        for j in range(len(pairs) - 1 - i):
            if pairs[j] > pairs[j + 1]:
                pairs[j], pairs[j + 1] = pairs[j + 1], pairs[j]
    return pairs


def pairs_in_a_heap_by_hand(xs):
    heap = []

    def push(item):
        heap.append(item)
        i = len(heap) - 1
        while i > 0 and heap[i] < heap[(i - 1) // 2]:
            heap[i], heap[(i - 1) // 2] = heap[(i - 1) // 2], heap[i]
            i = (i - 1) // 2

    for k, v in enumerate(xs):
        if v > 0:
            push((v, k))
    return heap[0], len(heap)


def the_best_pair_so_far(xs):
    best = (0, -1)
    for k, v in enumerate(xs):
        pair = (v, k)
        if pair >= best:
            best = pair
    return best


@pytest.mark.parametrize("f", [pairs_in_a_bubble_sort, pairs_in_a_heap_by_hand, the_best_pair_so_far])
@pytest.mark.parametrize("xs", [[5, 1, 5, 2], [1, 1, 1, 1], [0, 3, 2, 2]])
def test_items_of_a_list_of_tuples_are_compared(f, xs):
    assert list(differences(f(xs), staged.function(f)(jnp.array(xs)))) == []
    assert list(differences(f(xs), staged.jitted(f)(jnp.array(xs)))) == []


class Heap:
    def __init__(self):
        self.items = []

    def push(self, priority, value):
        self.items.append((priority, value))
        i = len(self.items) - 1
        while i > 0 and self.items[i] < self.items[(i - 1) // 2]:
            self.items[i], self.items[(i - 1) // 2] = self.items[(i - 1) // 2], self.items[i]
            i = (i - 1) // 2

    def pop(self):
        top, last = self.items[0], self.items.pop()
        if self.items:
            self.items[0] = last
            self.sift_down(0)
        return top

    def sift_down(self, i):
        while True:
            smallest = i
            for child in (2 * i + 1, 2 * i + 2):
                if child < len(self.items) and self.items[child] < self.items[smallest]:
                    smallest = child
            if smallest == i:
                return
            self.items[i], self.items[smallest] = self.items[smallest], self.items[i]
            i = smallest


def a_heap_class(xs):
    heap = Heap()
    for k, v in enumerate(xs):
        if v > 0:
            heap.push(v, k)
    total = 0
    while heap.items:
        v, k = heap.pop()
        total = 7 * total + 10 * v + k
    return total


def partition(pairs, low, high):
    pivot, i = pairs[high], low
    for j in range(low, high):
        if pairs[j] < pivot:
            pairs[i], pairs[j] = pairs[j], pairs[i]
            i += 1
    pairs[i], pairs[high] = pairs[high], pairs[i]
    return i


def pairs_that_a_function_partitions(xs):
    pairs = list(zip(xs, -xs, strict=True))
    return partition(pairs, 0, 3), pairs


@pytest.mark.parametrize("f", [a_heap_class, pairs_that_a_function_partitions])
@pytest.mark.parametrize("xs", [[5, 1, 5, 2], [1, 1, 1, 1], [0, 3, 2, 2]])
def test_items_are_compared_that_another_function_has_made_tuples(f, xs):
    wanted = f(jnp.array(xs))
    assert list(differences(wanted, staged.function(f)(jnp.array(xs)))) == []
    assert list(differences(wanted, staged.jitted(f)(jnp.array(xs)))) == []
    rows = jax.vmap(ag.convert(f))(jnp.array([xs, xs]))
    assert list(differences(wanted, jax.tree.map(lambda part: part[1], rows))) == []


def is_before(one, other):
    return one < other


def greater(one, other):
    return one if one > other else other


def greatest_row(rows):
    best = rows[0]
    for row in rows:
        best = greater(best, row)
    return best


def rows_before(rows, limit):
    count = 0
    for k in range(len(rows)):
        if is_before(rows[k], limit) and not limit <= rows[k]:
            count += 1
    return count


@pytest.mark.parametrize("kind", [tuple, list])
def test_parameters_that_are_tuples_or_lists_are_compared(kind):
    rows = [kind(row) for row in ([2, 5], [1, 9], [2, 7], [0, 0])]
    traced = jax.tree.map(jnp.array, rows)
    for transform in (ag.function, lambda f: jax.jit(ag.convert(f))):
        assert list(differences(greatest_row(rows), transform(greatest_row)(traced))) == []
        assert int(transform(rows_before)(traced, traced[0])) == rows_before(rows, rows[0]) == 2
    batch = jax.tree.map(lambda leaf: jnp.stack([leaf, leaf]), traced)
    assert jax.vmap(ag.convert(rows_before))(batch, batch[0]).tolist() == [2, 2]


def test_parameters_are_compared_in_a_function_that_has_printed_only_where_it_may_be_traced_again(capsys):
    def f(one, other):
        ag.print("compared")
        return one < other

    pair = (jnp.int32(1), jnp.int32(2))
    assert not ag.function(lambda one, other: f(one, other))(pair, pair)
    capsys.readouterr()

    def g(one, other):
        ag.print("compared")
        return one <= other

    with pytest.raises(ag.StagingError, match="return one <= other"):
        jax.jit(ag.convert(g))(pair, pair)
