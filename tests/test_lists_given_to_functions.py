"""Lists of known items, made in one function, whose length the functions change that they are given to."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

import autograph as ag
from tests import row_programs
from tests.row_programs import push as pushed
from tests.test_elements_of_lists import plain, shape_of

XS = jnp.array([1, 4, 3, 2, 7, 1])


def push(stack, value):
    stack.append(value)


def push_twice(value, *, onto):
    push(onto, value)
    push(onto, value)


def swap(items, i, j):
    items[i], items[j] = items[j], items[i]


def heap_push(heap, value):
    push(heap, value)
    i = len(heap) - 1
    while i > 0 and heap[(i - 1) // 2] > heap[i]:
        swap(heap, i, (i - 1) // 2)
        i = (i - 1) // 2


class Path:
    def lengthen(self, places, value):
        places.append(value)

    def walked(self, xs):
        places = [0]
        for v in xs:
            if v > 2:
                self.lengthen(places, v)
        return places


def by_a_function(xs):
    stack = [0]
    for v in xs:
        if v > 2:
            push(stack, v)
    return stack


def by_a_function_that_passes_it_on(xs):
    stack = [0]
    for v in xs:
        if v > 2:
            push_twice(v, onto=stack)
    return stack


def by_a_method(xs):
    return Path().walked(xs)


def heap_of_ones_own(xs):
    heap = [5]
    for v in xs:
        if v > 1:
            heap_push(heap, v)
    return heap


def by_functions_of_another_file(xs):
    stack, others = [0], [1]
    for v in xs:
        if v > 2:
            pushed(stack, v)
        else:
            row_programs.push(others, v)
    return stack, others


def drained(queue):
    total = 0
    while queue:
        v = queue.pop()
        if v > 3:
            queue.append(v // 2)
        total += v
    return total


def display_as_an_argument(xs):
    return drained([xs[0], xs[1], xs[4]])


def rows_given_to_a_function(xs):
    rows = [[0], [1]]
    for v in xs:
        push(rows[0], v)
        if v > 2:
            push(rows[1], v)
    return rows


PROGRAMS = [
    by_a_function,
    by_a_function_that_passes_it_on,
    by_a_method,
    heap_of_ones_own,
    by_functions_of_another_file,
    display_as_an_argument,
    rows_given_to_a_function,
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_function_may_lengthen_what_it_is_given(program):
    assert shape_of(ag.function(program)(XS)) == shape_of(program(plain(XS)))


def test_under_jit_and_vmap():
    def size_and_least(xs):
        heap = heap_of_ones_own(xs)
        return len(heap), heap[0]

    batch = jnp.stack([XS, XS + 1])
    sizes, least = jax.jit(jax.vmap(ag.convert(size_and_least)))(batch)
    assert list(zip(sizes, least, strict=True)) == [size_and_least(row.tolist()) for row in batch]


def merged(left, right):
    found = []
    while left and right:
        found.append((left if left[0] <= right[0] else right).pop(0))
    return found + left + right


def sorted_by_merging(xs):
    def merge(left, right):
        found = []
        while left and right:
            found.append(left.pop(0) if left[0] <= right[0] else right.pop(0))
        found.extend(left)
        found.extend(right)
        return found

    if len(xs) <= 1:
        return xs
    middle = len(xs) // 2
    return merge(sorted_by_merging(xs[:middle]), sorted_by_merging(xs[middle:]))


def sorted_by_merging_names(xs):
    if len(xs) <= 1:
        return xs
    left, right = sorted_by_merging_names(xs[: len(xs) // 2]), sorted_by_merging_names(xs[len(xs) // 2 :])
    found = []
    while left and right:
        found.append(left.pop(0) if left[0] <= right[0] else right.pop(0))
    return found + left + right


def merge_in_place(xs, low, middle, high):
    xs[low : high + 1] = merged(xs[low:middle], xs[middle : high + 1])
    return xs


def sorted_in_place(xs):
    xs = list(xs)
    width = 2
    while width <= 2 * len(xs):
        for low in range(0, len(xs), width):
            xs = merge_in_place(xs, low, low + width // 2, low + width - 1)
        width *= 2
    return xs


def drop_equal(xs, value):
    for i in range(len(xs) - 1, -1, -1):
        if xs[i] == value:
            del xs[i]


def without_ones(xs):
    rest = list(xs)
    drop_equal(rest, 1)
    return rest


@pytest.mark.parametrize(
    "program", [sorted_by_merging, sorted_by_merging_names, sorted_in_place, without_ones], ids=lambda f: f.__name__
)
def test_lists_that_a_function_returns_or_writes_slices_of(program):
    items = [1, 4, 3, 2, 7, 1]
    assert [int(v) for v in ag.function(program)([jnp.int32(v) for v in items])] == program(list(items))


def test_a_slice_of_an_argument_is_replaced_by_items_of_traced_number():
    def f(xs):
        xs[:2] = [v for v in xs if v > 2]
        return xs

    given, expected = [jnp.int32(v) for v in (1, 3, 4)], [1, 3, 4]
    assert ag.function(f)(given) is given
    assert list(map(int, given)) == f(expected)
