"""Lists among arguments that calls lengthen, exchange the rows of, or fill: results and the caller's lists are Python's."""

from __future__ import annotations

import copy
import heapq

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag


def numbers(*values):
    return [jnp.float32(value) for value in values]


def plain(value):
    return jax.tree.map(lambda leaf: np.asarray(leaf, np.float32).round(4).tolist(), value)


def eliminate(a):
    sign = 1.0
    for c in range(len(a)):
        best = c
        for p in range(c + 1, len(a)):
            if abs(a[p][c]) > abs(a[best][c]):
                best = p
        if best != c:
            a[c], a[best] = a[best], a[c]
            sign = -sign
        for r in range(c + 1, len(a)):
            f = a[r][c] / a[c][c]
            for k in range(c, len(a)):
                a[r][k] -= f * a[c][k]
    return sign * a[0][0] * a[1][1] * a[2][2]


class Matrix:
    def __init__(self, rows):
        self.rows = rows

    def pivot(self, c):
        for p in range(c + 1, len(self.rows)):
            if abs(self.rows[p][c]) > abs(self.rows[c][c]):
                self.rows[c], self.rows[p] = self.rows[p], self.rows[c]


def rows_of_an_object(rows):
    m = Matrix(rows)
    m.pivot(0)
    m.pivot(1)
    return m.rows is rows


def bubble_sort(xs):
    is_swapped = True
    while is_swapped:
        is_swapped = False
        for j in range(len(xs) - 1):
            if xs[j] > xs[j + 1]:
                xs[j], xs[j + 1] = xs[j + 1], xs[j]
                is_swapped = True
    return xs


def fill(xs, i, v):
    if i >= len(xs):
        return v
    xs[i] = v
    return fill(xs, i + 1, v + 1)


def filled_by_recursion(xs):
    return fill(xs, xs[0].astype(int), xs[1])


def row_written_at_traced_index(a):
    k = a[0][0].astype(int)
    a[k][1] = 9.0
    return a[1][1]


def cleared(xs):
    while xs and xs[-1] > 1.5:
        xs.pop()
    return xs


def halved(out, x):
    while x > 1:
        out.append(x)
        x = x / 2


def halves_in_a_dict(d):
    halved(d["a"], d["b"][0])
    return len(d["a"])


def slice_lengthened(xs):
    ys = xs[1:]
    halved(ys, xs[0])
    return ys


def heap_of_the_caller(heap):
    heapq.heapify(heap)
    x = heap[0]
    while x < 10:
        heapq.heappush(heap, x)
        x = x * 2
    return heapq.heappop(heap)


def stack_machine(given):
    ops, stack = given
    for op in ops:
        if op == 0:
            stack.append(op)
        elif stack:
            stack.pop()
    return len(stack)


def graph_of_the_caller(given):
    adjacent, ends = given
    for k in range(len(ends) - 1):
        adjacent[ends[k].astype(int)].append(ends[k + 1])
    return adjacent


def first_of_duplicates(xs):
    i = 0
    while i < len(xs) - 1:
        if xs[i] == xs[i + 1]:
            xs.pop(i)
        else:
            i += 1
    return i


def returned_early(xs):
    for i in range(len(xs)):
        if xs[i] < 0:
            return i
    xs.append(1.0)
    return -1


MATRIX = [numbers(0, 2, 1), numbers(1, 1, 0), numbers(3, 2, 1)]
OF_KNOWN_LENGTH = [
    (eliminate, MATRIX),
    (rows_of_an_object, MATRIX),
    (bubble_sort, numbers(5, 1, 4, 2)),
    (filled_by_recursion, numbers(1, 2, 3, 4)),
    (row_written_at_traced_index, [numbers(1, 2), numbers(3, 4)]),
]
OF_TRACED_LENGTH = [
    (cleared, numbers(5, 1, 4, 2)),
    (halves_in_a_dict, {"a": numbers(1), "b": numbers(7)}),
    (slice_lengthened, numbers(7, 2, 3)),
    (heap_of_the_caller, numbers(5, 2, 4)),
    (stack_machine, [numbers(0, 0, 1, 0), []]),
    (graph_of_the_caller, [[[], [], []], numbers(0, 1, 2, 0)]),
    (first_of_duplicates, numbers(1, 1, 2, 2, 3)),
    (returned_early, numbers(1, 2)),
    (returned_early, numbers(1, -2)),
]


@pytest.mark.parametrize(("program", "given"), OF_KNOWN_LENGTH + OF_TRACED_LENGTH)
def test_results_and_arguments(program, given):
    compiled, pythons = ag.function(program), copy.deepcopy(given)
    expected = program(pythons)
    for _ in range(2):
        mine = copy.deepcopy(given)
        found = compiled(mine)
        assert plain(found) == plain(expected)
        assert plain(mine) == plain(pythons)
        assert (found is mine) == (expected is pythons)


@pytest.mark.parametrize(("program", "given"), OF_KNOWN_LENGTH)
def test_transforms(program, given):
    pythons = copy.deepcopy(given)
    expected = program(pythons)
    assert plain(jax.jit(ag.convert(program))(given)) == plain(expected)
    batch = jax.tree.map(lambda x: jnp.stack([x, x]), given)
    assert plain(jax.vmap(ag.convert(program))(batch)) == plain(jax.tree.map(lambda x: jnp.stack([x, x]), expected))

    def calls(given):
        result = ag.convert(program)(given)
        return result, given

    assert plain(jax.jit(calls)(given)) == plain((expected, pythons))  # the list of code that is not converted


def test_a_trace_that_is_made_again_begins_with_the_same_lists():
    def f(xs, k):
        xs[0] = xs[0] + 1
        found = {k: xs[0]}
        found[k + 1] = xs[1]
        return xs[0], found.get(k, 0)

    given = numbers(1, 2), jnp.int32(1)
    assert plain(jax.jit(ag.convert(f))(*given)) == plain(jax.jit(lambda *args: ag.convert(f)(*args))(*given)) == (2, 2)


def test_a_call_that_raises_leaves_them_as_they_were():
    @ag.function
    def f(xs, x):
        xs.append(x)
        if x < 0:
            raise ValueError("negative")
        while x > 1:
            xs.append(x)
            x = x / 2

    given = numbers(1)
    with pytest.raises(ValueError, match="negative"):
        f(given, jnp.float32(-1))
    assert plain(given) == [1]
    f(given, jnp.float32(3))
    assert plain(given) == [1, 3, 3, 1.5]


def test_reading_at_traced_indices_changes_nothing():
    table = [[jnp.float32(10 * i + j) for j in range(9)] for i in range(9)]

    @ag.function
    def f(table, k):
        total = 0.0
        for i in range(9):
            if table[k][i] > 12:
                total += table[i][k]
        return total

    assert float(f(table, jnp.int32(2))) == sum(10.0 * i + 2 for i in range(9))
    assert float(jax.grad(lambda t: f(t, jnp.int32(2)))(table)[3][2]) == 1.0
    f.get_concrete_function(table, jnp.int32(2))  # as it would be refused of one that changes them


def test_functions_of_jax_are_given_lists_of_pythons():
    @ag.function
    def f(xs):
        assert jax.tree.structure(jax.tree.map(lambda x: x, xs)) == jax.tree.structure([0, 0])
        return jax.grad(lambda p: p[0] * p[1])(xs)

    assert plain(f(numbers(2, 3))) == [3, 2]
