"""Lists from outside that an `ag.function` writes traced values to are what Python leaves there."""

from __future__ import annotations

import bisect
import heapq

import jax
import jax.numpy as jnp
import pytest

import autograph as ag
from tests.stateful_programs import XS, Count, plain

# A list that grows, and is read, is of another length on each call.
pytestmark = pytest.mark.filterwarnings("ignore::autograph.StagingWarning")


def appended(items, x):
    items.append(x)
    items.extend([x, x + 1])
    items += [x * 2]
    return x


def read_length(items, x):
    n = len(items)
    items.append(x)
    return n * x


def truth_asked(items, x):
    if not items:
        items.append(x * 10)
    items.append(x)
    return x


def returned(items, x):
    items.append(x)
    return items


def sliced(items, x):
    items.append(x)
    return items[-2:]


def last(items, x):
    items.append(x)
    return items[-1] + items[0]


def inserted(items, x):
    items.append(x)
    items.insert(0, -x)
    items.insert(-1, x * 3)
    items.insert(5, x * 4)
    return x


def cleared(items, x):
    if len(items) > 2:
        items.clear()
    items.append(x)
    return x


def item_written(items, x):
    items.append(x)
    items[-1] = x * 2
    items[0] = x
    return x


def deleted(items, x):
    items.extend([x, x])
    del items[0]
    return items.pop()


def sorted_in_place(items, x):
    bisect.insort(items, x)
    return items[0]


def heaped(items, x):
    heapq.heappush(items, x)
    return heapq.heappop(items) if len(items) > 2 else x * 0


def in_a_loop(items, x):
    items.append(x)
    while x > 1:
        x = x / 2
        items.append(x)
    return x


def before_a_condition(items, x):
    items.append(-x)
    if x > 0:
        items.append(x)
    return x


def after_a_condition(items, x):
    if x > 0:
        items.append(x)
    items.append(-x)
    return x


def of_objects(items, x):
    items.append(Count(x, "a"))
    items.append({"x": x, "y": (x, None)})
    return x


def by_a_function(items, x):
    def note(value):
        items.append(value)

    for k in range(3):
        note(x + k)
    return x


def all_replaced(items, x):
    items.append(x)
    items[:] = [value + x for value in items]
    return sum(items)


@pytest.mark.parametrize(
    "body",
    [
        appended, read_length, truth_asked, returned, sliced, last, inserted, cleared, item_written, deleted, sorted_in_place,
        heaped, in_a_loop, before_a_condition, after_a_condition, of_objects, by_a_function, all_replaced,
    ],
)  # fmt: skip
def test_a_list_from_outside_is_what_python_leaves_it(body):
    mine, others = [], []
    call = ag.function(lambda x: body(mine, x))
    for x in XS:
        result, wanted = call(jnp.float32(x)), body(others, x)
        assert (result is mine) == (wanted is others)
        assert plain(result) == plain(wanted) and plain(mine) == plain(others)


def test_a_list_that_is_only_appended_to_needs_one_program():
    kept = []
    call = ag.function(lambda x: appended(kept, x))
    for x in XS:
        call(jnp.float32(x))
    assert call.experimental_get_tracing_count() == 1 and len(kept) == 4 * len(XS)


def test_a_list_that_is_read_needs_one_for_each_length_while_it_is_short():
    kept = []
    call = ag.function(lambda x: read_length(kept, x))
    for x in XS * 2:
        call(jnp.float32(x))
    assert call.experimental_get_tracing_count() == 6
    explained = call.explain_retraces()
    assert "what `kept` holds, which the function assigns: list of 0 → list of 1" in explained
    assert "list of 4 → list of up to 16" in explained and "argument" not in explained


class Log:
    def __init__(self):
        self.rows = []

    @ag.function
    def always(self, x):
        self.rows.append(x)
        return x

    @ag.function
    def sometimes(self, x):
        if x > 0:
            self.rows.append(x)
        return x


@pytest.mark.parametrize("method", ["always", "sometimes"])
def test_another_list_in_its_place_is_the_one_that_is_written(method):
    log = Log()
    getattr(log, method)(jnp.float32(1))
    first, log.rows = log.rows, []
    getattr(log, method)(jnp.float32(2))
    jax.effects_barrier()
    assert plain(first) == [1.0] and plain(log.rows) == [2.0]


class Stack:
    def __init__(self):
        self.items = [7.0]

    def push(self, x):
        self.items.append(x)

    @property
    def top(self):
        return self.items[-1]


def pushed_in_a_branch(stack, x):
    if x > 0:
        stack.items.append(x)
        return stack.items[-1] + stack.items[0]
    return -1.0


def pushed_before_the_read(stack, x):
    items = stack.items
    if x > 0:
        items.append(x)
    return items[-1]


def pushed_and_read_by_methods(stack, x):
    try:
        if x < 0:
            raise ValueError
        stack.push(x)
    except ValueError:
        return -stack.top
    return stack.top


@pytest.mark.parametrize("is_empty", [False, True])
@pytest.mark.parametrize("program", [pushed_in_a_branch, pushed_before_the_read, pushed_and_read_by_methods])
def test_a_constant_index_reads_what_a_path_has_appended(program, is_empty):
    def run(wrap):
        stack = Stack()
        if is_empty:
            stack.items.clear()
        f = wrap(lambda x: program(stack, x))
        return [(float(f(jnp.float32(x))), plain(stack.items)) for x in (2.0, -1.0, 3.0)]

    assert run(ag.function) == run(lambda f: f)


def chosen(log, x):
    name = "hot" if x > 2 else "cold"
    if x > 0:
        log.append(name)
        log.append((name, x, None if x > 1 else name))
    return x


def texts(log, x):
    if x > 0:
        log.append(f"{int(x)} units")
    return x


def with_keys_by_path(log, x):
    entry = {"x": x}
    if x > 2:
        entry["large"] = x
    if x > 0:
        log.append(entry)
    return x


@pytest.mark.parametrize("program", [chosen, texts, with_keys_by_path])
def test_what_a_path_appends_are_values_of_python(program):
    def run(wrap):
        log = []
        f = wrap(lambda x: program(log, x))
        for x in (1.0, 3.0, -1.0):
            f(jnp.float32(x))
            jax.effects_barrier()
        return jax.tree.map(lambda v: v if isinstance(v, str) else float(v), log)

    assert run(ag.function) == run(lambda f: f)
