"""Writes of traced values to objects from outside where no call can make them: refused, and nothing is lost."""

from __future__ import annotations

import gc
import re
import sys

import jax
import jax.numpy as jnp
import pytest

import autograph as ag

total = 0


class Counter:
    def __init__(self):
        self.count = 0
        self.calls = 0
        self.last = None

    @ag.function
    def bump(self, x):
        self.calls += 1
        if x > 0:
            self.count += 1
        return x + self.count

    @ag.function
    def remember(self, x):
        self.last = x * 2
        return self.last

    @ag.function
    def scratch(self, x):
        self.last = x * 2
        y = self.last + 1
        self.last = None
        return y

    def loop(self, n):
        for i in range(n):
            self.count += i


@pytest.mark.parametrize("method", ["bump", "remember"])
def test_an_attribute_that_would_keep_a_traced_value_is_refused(method):
    counter = Counter()
    with pytest.raises(ag.StagingError) as error:
        getattr(counter, method).lower(jnp.asarray(1))
    for word in ("test_leaked_writes.py:", "'Counter.count'" if method == "bump" else "'Counter.last'", "Variable"):
        assert word in str(error.value)
    assert counter.count == 0 and counter.last is None and counter.calls == 0


def test_a_write_inside_a_callee_in_a_loop_is_refused():
    counter = Counter()

    @ag.function
    def run(n):
        counter.loop(n)
        return n

    with pytest.raises(ag.StagingError, match=r"'Counter.count' would leak a tracer"):
        run.lower(jnp.asarray(3))
    assert counter.count == 0
    run(jnp.asarray(3))
    assert int(counter.count) == 3


def test_what_is_put_back_before_the_end_is_fine():
    counter = Counter()
    assert int(counter.scratch(jnp.asarray(3))) == 7
    assert counter.last is None


def test_globals_and_nonlocals_of_outer_functions_are_refused():
    seen = 0

    @ag.function
    def write_global(x):
        global total
        total = total + x
        return x

    @ag.function
    def write_nonlocal(x):
        nonlocal seen
        seen += x
        return x

    for function, name in ((write_global, "total"), (write_nonlocal, "seen")):
        with pytest.raises(ag.StagingError, match=rf"variable '{name}' would leak a tracer"):
            function.get_concrete_function(jnp.asarray(1))
    assert total == 0 and seen == 0


def test_objects_of_the_trace_itself_may_hold_anything():
    @jax.tree_util.register_pytree_node_class
    class Point:
        def __init__(self, x):
            self.x = x

        def tree_flatten(self):
            return (self.x,), None

        @classmethod
        def tree_unflatten(cls, aux, children):
            return cls(*children)

    @ag.function
    def shift(point, by):
        point = Point(point.x)
        point.x = point.x + by
        counter = Counter()
        counter.last = by
        made = Point(by)
        made.x = made.x * 3

        def inner():
            nonlocal by
            by = by + 1

        inner()
        return point, made, by, counter.last

    point = Point(jnp.asarray(1.0))
    moved, made, by, last = shift(point, jnp.asarray(2.0))
    assert [float(part) for part in (point.x, moved.x, made.x, by, last)] == [1.0, 3.0, 6.0, 3.0, 2.0]


def test_python_values_are_trace_time_effects():
    class Model(ag.Module):
        def __init__(self):
            self.traces = 0
            self.weight = None

        @ag.function
        def __call__(self, x):
            self.traces += 1
            if self.weight is None:
                self.weight = ag.Variable(jnp.ones(2))
            self.weight.assign_add(x)
            return self.weight.value

    model = Model()
    model(jnp.ones(2))
    model(jnp.ones(2))
    assert model.traces >= 1
    assert model.weight.value.tolist() == [3.0, 3.0]


class Node:
    def __init__(self, value, following=None):
        self.value, self.following = value, following
        self.before = None
        if following is not None:
            following.before = self


kept = []


def chain(v):
    head = None
    for k in range(3):
        head = Node(v[k], head)
    return head


@ag.function
def sum_of_chain(v):
    node, total = chain(v), 0.0
    while node is not None:
        if node.value > 0:
            total += node.value
        node = node.following
    return total


@ag.function
def keeps_one_of_a_chain(v):
    kept.append(chain(v).following)
    return v.sum()


@ag.function
def local_nodes(v):
    class Pair:
        def __init__(self, left, right):
            self.left, self.right, self.both = left, right, [left, right]

    a = Pair(v[0], None)
    b = Pair(v[1], a)
    a.right = b
    if v[2] > 0:
        b.left += v[2]
    return b.left + b.right.left


def test_objects_that_refer_to_each_other_go_with_the_trace():
    v = jnp.array([3.0, 4.0, -1.0])
    assert float(sum_of_chain(v)) == float(sum_of_chain.python_function(v)) == 7.0
    for sign in (1, -1):
        assert float(local_nodes(sign * v)) == float(local_nodes.python_function(sign * v))


def test_one_that_is_kept_keeps_those_that_it_leads_to():
    v = jnp.array([3.0, 4.0, -1.0])
    with pytest.raises(ag.StagingError, match="'Node.value' would leak a tracer"):
        keeps_one_of_a_chain.lower(v)
    assert not kept
    keeps_one_of_a_chain(v)
    (node,) = kept
    assert [float(node.value), float(node.following.value)] == [4.0, 3.0] and node.following.before is node
    assert float(node.before.value) == -1.0
    kept.clear()


class Bag:
    """Empty, and so false."""

    def __init__(self):
        self.value = None
        self.owner = self

    def __len__(self):
        return 0


def test_an_object_that_is_false_is_held_all_the_same():
    bag = Bag()

    @ag.function
    def write(x):
        bag.value = x * 2
        return x

    with pytest.raises(ag.StagingError, match="'Bag.value' would leak a tracer"):
        write.lower(jnp.float32(1))
    assert bag.value is None
    write(jnp.float32(1))
    assert float(bag.value) == 2.0


external = []
table = {}


class Totals:
    total = 0
    log = []


def remembers(a):
    remembers.last = a + 1
    return remembers.last


def appends(x):
    external.append(x)
    return x


def stores(x):
    table["x"] = [x]
    return x


def writes_the_class(x):
    Totals.total = x
    return x


def appends_to_the_class(x):
    Totals.log.append({"x": x})
    return x


def stores_a_closure(x):
    external.append(lambda: x)
    return x


hooks = [external.append]


def calls_a_hook(x):
    for hook in hooks:
        hook(x)
    return x


def stores_a_node(x):
    node = Node(x)
    table["node"] = node
    return x


@pytest.mark.parametrize(
    "f, name",
    [
        (appends, "external"), (stores, "table"), (writes_the_class, "Totals.total"),
        (appends_to_the_class, "Totals.log"), (remembers, "function.last"), (stores_a_closure, "external"),
        (stores_a_node, "Node.value"), (calls_a_hook, "hooks[0]"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)  # fmt: skip
def test_nothing_traced_is_left_outside(f, name):
    for _ in range(2):
        with pytest.raises(ag.StagingError, match=rf"(?s)test_leaked_writes.*'{re.escape(name)}' would leak a tracer"):
            ag.function(f).lower(jnp.float32(1))
        assert not external and not table and not Totals.log and Totals.total == 0 and not hasattr(remembers, "last")


def test_a_function_that_holds_a_traced_value_is_kept_nowhere():
    with pytest.raises(ag.StagingError, match="holds a traced value, which has no meaning after tracing"):
        ag.function(stores_a_closure)(jnp.float32(1))
    assert not external


def test_what_is_taken_out_again_is_no_concern():
    @ag.function
    def f(x):
        external.append(x)
        table["x"] = external
        total = external[0] + table["x"][0]
        external.clear()
        del table["x"]
        return total

    assert float(f(jnp.float32(1))) == 2 and not external and not table


def test_local_functions_lists_and_closures_may_hold_anything():
    @ag.function
    def f(x):
        def leak(a):
            leak.last = a + 1
            return leak.last

        kept = []
        kept.append(lambda: x)
        holder = Totals()
        holder.kept = kept
        return leak(x) + kept[0]() + holder.kept[0]()

    assert float(f(jnp.float32(1))) == 4


class Failing:
    def __init__(self):
        self.last, self.seen, self.fail = None, [], True

    @ag.function
    def run(self, x):
        self.last = x * 2
        self.seen.append(x)
        if x > 0:
            self.last = x * 3
        if self.fail:
            raise ValueError("not now")
        self.last = None
        self.seen.clear()
        return x

    @ag.function
    def fail_in_a_branch(self, x):
        if x > 0:
            self.last = x
            self.seen.append(x)
            jnp.ones(2) @ jnp.ones(3)
        return x


@pytest.mark.parametrize("name, error", [("run", ValueError), ("fail_in_a_branch", TypeError)])
def test_a_trace_that_fails_leaves_nothing(name, error):
    model = Failing()
    with pytest.raises(error):
        getattr(model, name)(jnp.float32(1))
    assert model.last is None and model.seen == []
    model.fail = False
    assert float(model.run(jnp.float32(1))) == 1.0


def test_who_else_holds_a_reference_does_not_matter():
    """A debugger, a profiler or a notebook keeps what it has seen."""
    seen = []

    def hook(frame, event, argument):
        # CPython 3.13.0 crashes when it is asked for the locals of some comprehensions, of which ours have many.
        held = dict(frame.f_locals) if frame.f_code.co_filename == __file__ else None
        frame.f_trace_lines = held is not None  # each line of others would only be one more reference to the same frame
        seen.append((frame, held, argument))
        return hook

    v = jnp.array([3.0, 4.0, -1.0])
    gc.disable()  # it would walk all that is held, again and again
    sys.settrace(hook)
    try:
        first, second = (
            float(ag.function(sum_of_chain.python_function)(v)),
            float(ag.function(local_nodes.python_function)(v)),
        )
    finally:
        sys.settrace(None)
        gc.enable()
    assert first == float(sum_of_chain.python_function(v)) and second == float(local_nodes.python_function(v))
    assert any(held for _, held, _ in seen)
