"""`try` around what a list of traced length, or a search of a list, raises: handlers run under a bare `jax.jit`, too."""

from __future__ import annotations

from collections import deque

import jax
import jax.numpy as jnp
import pytest

import autograph as ag


def popped(x):
    xs, missed = [x, 2.0], 0
    for _ in ag.range(4):
        try:
            xs.pop()
        except IndexError:
            missed += 1
    return len(xs), missed


def removed(x):
    xs, missed = [x, 2.0], 0
    for k in ag.range(4):
        try:
            xs.remove(k)
        except ValueError as error:
            missed += len(error.args)
    return len(xs), sum(xs), missed


def found(x):
    xs, place = [1.0, 2.0, 4.0], 0
    try:
        place = xs.index(x)
    except ValueError:
        place = -1
    return place


def an_item(x):
    xs, total = [], 0.0
    for k in ag.range(4):
        if k < x:
            xs.append(k)
        try:
            total += xs[1]
        except LookupError:
            total -= 1
        else:
            total += 10
    return total


def an_item_written(x):
    xs, log = [], 0
    for k in ag.range(4):
        ag.set_loop_options(maximum_length=4)
        if k < x:
            xs.append(k)
        try:
            xs[2] = 9
            log += 1
        except IndexError:
            log += 100
    return sum(xs), log


def an_end_of_a_deque(x):
    queue, missed = deque([1.0, 2.0]), 0
    for k in ag.range(4):
        try:
            if k < x:
                queue.popleft()
        except IndexError:
            missed += 1
    return len(queue), missed


def the_largest(x):
    xs, largest = [], 0.0
    for k in ag.range(3):
        if k < x:
            xs.append(k + 0.5)
    try:
        largest = max(xs)
    except ValueError:
        largest = -1.0
    return largest


def the_first(x):
    try:
        return next(each for each in jnp.arange(4.0) if each > x)
    except StopIteration:
        return -1.0


def of_a_function_in_a_handler(x):
    xs = [x, 2.0]

    def take():
        return xs.pop()

    total = 0.0
    for _ in ag.range(3):
        try:
            total += take()
        except KeyError:
            total += 1000
        except IndexError:
            total += 100
        finally:
            total += 1
    return total, len(xs)


def rows_of_which_one_is_chosen(x):
    rows = [[x, 1.0], [x + 1, 2.0]]
    row = rows[jnp.int32(x) % 2]
    try:
        row.append(x)
        if x > 2:
            raise KeyError(x)
        rows[0].append(9.0)
    except KeyError:
        rows[jnp.int32(x) % 3 % 2].append(5.0)
        if x > 3:
            rows[0][0] = 1.0
    return list(map(sum, rows)), list(map(len, rows)), row[0], row[-1], len(row)


def lists_at_keys_of_a_path(x):
    groups = {}
    for v in (x, x * x, x - 2):
        kind = "small" if v < 2 else "large"
        try:
            groups[kind].append(v)
        except KeyError:
            groups[kind] = [v]
    return [sum(groups[kind]) if kind in groups else 0 for kind in ("small", "large")]


PROGRAMS = [
    popped, rows_of_which_one_is_chosen, lists_at_keys_of_a_path,
    removed, found, an_item, an_item_written, an_end_of_a_deque, the_largest, the_first, of_a_function_in_a_handler,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("wrap", [ag.function, lambda f: jax.jit(ag.convert(f))], ids=["function", "jit"])
def test_as_in_python(program, wrap):
    staged = wrap(program)
    for x in (0.0, 1.0, 3.0, 4.0):
        assert jax.tree.map(float, staged(jnp.float32(x))) == jax.tree.map(float, program(x))
