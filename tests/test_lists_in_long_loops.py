"""Lists that long loops over Python ranges, or `while` loops on Python numbers, lengthen, shorten and read: one staged loop."""

import bisect
import heapq
import warnings
from collections import defaultdict

import jax.numpy as jnp
import pytest

import autograph as ag
from tests.jaxprs import Counts
from tests.long_loops import agree

X = jnp.array(1.5, jnp.float32)
N = 100


def kept_by_conditions(x):
    large, small = [], []
    for k in range(N):
        if jnp.sin(x * k) > 0:
            large.append(k)
        elif large:
            small.append((large.pop(), x * k))
    return len(large), len(small), sum(k for k, _ in small), large[-1]


def of_what_came_before(x):
    sums, fibonacci = [0.0], [x, x]
    for k in range(N):
        sums.append(sums[-1] + x * k)
        fibonacci.append((fibonacci[-1] + fibonacci[-2]) % 97)
    return sums[-1], sums[10], fibonacci, len(sums), jnp.zeros(len(sums)).sum()


def windows(x):
    window, batch, total, flushed = [], [], 0.0, 0
    for k in range(N):
        window.append(jnp.sin(x * k))
        batch.append(k)
        if len(window) > 5:
            window.pop(0)
        if len(batch) == 7:
            total, flushed, batch = total + sum(batch), flushed + 1, []
        total += max(window)
    return total, flushed, len(batch), window


def increasing_stack(x):
    stack, deepest = [], 0
    for k in range(N):
        height = jnp.sin(x * k)
        while stack and stack[-1] > height:
            stack.pop()
        stack.append(height)
        deepest = max(deepest, len(stack))
    return deepest, stack[0]


def grouped(x):
    groups = {"rising": [], "falling": []}
    for k in range(N):
        groups["rising" if jnp.cos(x * k) > 0 else "falling"].append(k)
    return len(groups["rising"]), sum(groups["falling"])


def largest_in_a_heap(x):
    heap = []
    for k in range(N):
        heapq.heappush(heap, jnp.sin(x * k))
        if len(heap) > 5:
            heapq.heappop(heap)
    return heap[0], len(heap)


def in_order(x):
    found = []
    for k in range(N):
        y = jnp.sin(x * k)
        if bisect.bisect(found, y) < 7:
            bisect.insort(found, y)
    return found[3], len(found)


def counted_by_a_while(x):
    kept, window, k, total = [], [], 0, 0.0
    while k < N:
        y = jnp.sin(x * k)
        if y > 0:
            kept.append(k)
        window.append(y)
        if len(window) > 3:
            total += window.pop(0)
        k += 1
    return len(kept), sum(kept), total, k


def until_a_list_is_empty(x):
    todo = list(range(N))
    while todo:
        x = x * 0.9 + todo.pop()
    return x, jnp.zeros(len(todo)).sum()


@pytest.mark.parametrize(
    "program",
    [
        kept_by_conditions,
        of_what_came_before,
        windows,
        increasing_stack,
        grouped,
        largest_in_a_heap,
        in_order,
        counted_by_a_while,
        until_a_list_is_empty,
    ],
)
def test_lists_that_a_loop_lengthens_and_reads_make_one_loop(program):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        agree(program(X), ag.function(program)(X))
    assert 1 <= Counts(ag.convert(program), X).loops <= 8


def handled(x):
    stack, absent, total = [], 0, 0.0
    for k in range(N):
        try:
            if jnp.sin(x * k) > 0:
                stack.append(k)
            else:
                total += stack.pop()
        except IndexError:
            absent += 1
    return len(stack), absent, total


def raised_and_handled(x):
    count = 0
    for k in range(N):
        try:
            if k % 7 == 3:
                raise ValueError(k)
            if x * k > 50:
                raise KeyError(k)
            x = x + [1.0, 2.0][k]
        except (IndexError, TypeError):
            x = x * 0.9
        except ValueError as error:
            count += error.args[0]
        except KeyError:
            x = x * 0.99
        else:
            x = x + 0.1
        finally:
            count += 1
    return x, count


def grouped_by_the_index(x):
    groups = defaultdict(list)
    for k in range(N):
        if jnp.sin(x * k) > 0:
            groups[k % 3].append(k)
    return sum(groups[0]), len(groups[1]), len(groups)


@pytest.mark.parametrize("program", [handled, raised_and_handled, grouped_by_the_index])
def test_loops_whose_lists_have_no_bound_are_one_loop_in_programs_that_may_run_again(program):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        agree(program(X), ag.function(program)(X))
