"""Attributes, variables and containers from outside that an `ag.function` assigns traced values to are what Python leaves there."""

from __future__ import annotations

import bisect
import collections
import dataclasses
import gc
import heapq
import threading
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag

XS = (2.0, -1.0, 3.0, 0.5, -4.0, 6.0)
# A list that grows, and is read, is of another length on each call.
pytestmark = pytest.mark.filterwarnings("ignore::autograph.StagingWarning")

total = 0.0
weights = np.zeros(3, np.float32)


def plain(value):
    """A value, and all that it holds, as Python's numbers, lists and dicts."""
    if isinstance(value, (jax.Array, np.ndarray, np.generic)):
        return np.asarray(value).astype(float).round(4).tolist()
    if isinstance(value, bool | int | float):
        return round(float(value), 4)
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple | collections.deque):
        return [plain(part) for part in value]
    if value is None or isinstance(value, str):
        return value
    slots = [name for name in getattr(type(value), "__slots__", ()) if name != "__weakref__" and hasattr(value, name)]
    held = getattr(value, "__dict__", None) or {name: getattr(value, name) for name in slots}
    return {name: plain(part) for name, part in held.items() if not callable(part)}


class Moments:
    def __init__(self):
        self.n, self.mean, self.m2 = 0, 0.0, 0.0

    def push(self, x):
        self.n += 1
        delta = x - self.mean
        self.mean += delta / self.n
        self.m2 += delta * (x - self.mean)

    def add(self, x):
        if x > 0:
            self.push(x)
        return self.m2 / (self.n - 1) if self.n > 1 else 0.0


class Door:
    def __init__(self):
        self.mode, self.opened = "closed", 0

    def push(self, x):
        if self.mode == "closed" and x > 0:
            self.mode = "open"
            self.opened += 1
        elif self.mode == "open" and x < 0:
            self.mode = "closed"
        return self.opened


class Best:
    def __init__(self):
        self.value = self.twice = None
        self.is_started = False

    def see(self, x):
        if not self.is_started:
            self.is_started = True
        if self.value is None or x > self.value:
            self.value, self.twice = x, x * 2
        return self.value


class Momentum:
    def __init__(self):
        self.velocity, self.steps = 0.0, 0

    def step(self, gradient):
        self.steps += 1
        self.velocity = 0.9 * self.velocity + gradient
        return self.velocity


class Fit:
    def __init__(self):
        self.params = {"w": jnp.array([1.0, 2.0]), "b": jnp.array(0.0)}
        self.rate, self.losses, self.optimizer = 0.01, [], Momentum()

    def loss(self, params, x):
        return ((params["w"] * x).sum() + params["b"] - 1.0) ** 2

    def step(self, x):
        loss, gradient = jax.value_and_grad(self.loss)(self.params, x)
        self.params = jax.tree.map(lambda p, g: p - self.rate * g, self.params, gradient)
        self.losses.append(loss)
        return loss + 0 * self.optimizer.step(loss)


class Smooth:
    def __init__(self):
        self.window, self.last = [], collections.deque(maxlen=3)

    def mean(self, x):
        self.window.append(x)
        if len(self.window) > 3:
            self.window.pop(0)
        self.last.append(x * 2)
        return sum(self.window) / len(self.window) + sum(self.last)


class Ring:
    def __init__(self):
        self.cells, self.at = [0.0] * 4, 0

    def put(self, x):
        if x > 0:
            self.cells[self.at % 4] = x
            self.at += 1
        return sum(self.cells)


class Slotted:
    __slots__ = ("value", "writes")

    def __init__(self):
        self.value, self.writes = 0.0, 0

    def add(self, x):
        if x > 0:
            self.value += x
        self.writes += 1
        return self.value


class Property:
    def __init__(self):
        self._level, self.sets = 0.0, 0

    @property
    def level(self):
        return self._level

    @level.setter
    def level(self, new):
        self._level = new
        self.sets += 1

    def raise_by(self, x):
        if x > 0:
            self.level = self.level + x
        return self.level


class Shared:
    """One dict by two names."""

    def __init__(self):
        self.one = {"v": 0.0, "size": 3}
        self.other = self.one

    def add(self, x):
        if x > 0:
            self.one["v"] += x
        self.other["v"] *= 2
        return jnp.zeros(self.one["size"]) + self.one["v"]


class Grid:
    def __init__(self):
        self.cells = [[0.0, 0.0], [0.0, 0.0]]

    def add(self, x):
        for i in range(2):
            for j in range(2):
                if x > i - j:
                    self.cells[i][j] += x * (i + 1)
        return self.cells[0][0] + self.cells[1][1]


Pair = collections.namedtuple("Pair", "left right")


@dataclasses.dataclass(frozen=True)
class Count:
    sum: object
    n: object


class Replaced:
    def __init__(self):
        self.pair, self.count, self.seen = Pair(0.0, 1.0), Count(0.0, 0), []

    def add(self, x):
        if x > 0:
            self.pair = self.pair._replace(left=self.pair.left + x)
            self.count = dataclasses.replace(self.count, sum=self.count.sum + x, n=self.count.n + 1)
        self.seen = [*self.seen, x]
        return self.pair.left * self.pair.right + self.count.n


class Temporary:
    def __init__(self):
        self.value, self.depth, self.good = 0.0, 0, 0

    def add(self, x):
        self.twice = x * 2
        self.value += self.twice
        del self.twice
        self.depth += 1
        try:
            if x < 0:
                raise ValueError("negative")
            self.good += 1
        except ValueError:
            return -1.0
        finally:
            self.depth -= 1
        return self.value


class Node:
    def __init__(self, value, left=None, right=None):
        self.value, self.left, self.right, self.hits = value, left, right, 0


class Tree:
    def __init__(self):
        self.root = Node(1.0, Node(0.5), Node(2.0))

    def add(self, x):
        self.root.hits += 1
        side = self.root.left if x < self.root.value else self.root.right
        side.value += x
        side.hits += 1
        return self.root.left.value + self.root.right.value


class Stack:
    def __init__(self):
        self.head, self.size = None, 0

    def push(self, x):
        self.head = Node(x, self.head)
        self.size += 1
        sum_of_all, node = 0.0, self.head
        while node is not None:
            sum_of_all += node.value
            node = node.left
        return sum_of_all


class Loops:
    def __init__(self):
        self.halvings, self.rounds = 0, 0.0

    def add(self, x):
        while x > 1:
            x = x / 2
            self.halvings += 1
        for i in range(5):
            self.rounds += i
            if x < i:
                break
        else:
            self.rounds += 100
        return self.halvings


class Recursive:
    def __init__(self):
        self.calls = 0

    def fibonacci(self, n):
        self.calls += 1
        return n if n <= 1 else self.fibonacci(n - 1) + self.fibonacci(n - 2)

    def run(self, x):
        return self.fibonacci(x + 1)


class Arrays:
    """NumPy arrays that attributes and items lead to."""

    def __init__(self):
        self.w, self.rows = np.zeros(2, np.float32), [np.zeros(3, np.float32), np.ones(2, np.float32)]
        self.made = np.zeros(2, np.float32)

    def add(self, x):
        self.w[0] += x
        self.rows[0][1] = x
        self.rows[1] += x
        self.made = self.made + x
        return self.w.sum() + self.rows[1].sum()


@pytest.mark.parametrize(
    "kind, method",
    [
        (Moments, "add"), (Door, "push"), (Best, "see"), (Fit, "step"), (Smooth, "mean"), (Ring, "put"), (Slotted, "add"),
        (Property, "raise_by"), (Shared, "add"), (Grid, "add"), (Replaced, "add"), (Temporary, "add"), (Tree, "add"),
        (Stack, "push"), (Loops, "add"), (Recursive, "run"), (Arrays, "add"),
    ],
)  # fmt: skip
def test_an_object_is_what_python_leaves_it(kind, method):
    mine, others = kind(), kind()
    call = ag.function(getattr(mine, method))
    for x in XS:
        assert plain(call(jnp.float32(x))) == plain(getattr(others, method)(x))
        assert plain(mine) == plain(others)


def test_one_program_serves_all_calls():
    moments = Moments()
    call = ag.function(moments.add)
    for x in XS:
        call(jnp.float32(x))
    assert call.experimental_get_tracing_count() == 2
    assert (
        "what `Moments.mean` holds, which the function assigns: weak float32[] → float32[]" in call.explain_retraces()
    )
    moments.mean = jnp.float32(7)  # what a call finds is what it goes on with
    call(jnp.float32(8))
    assert call.experimental_get_tracing_count() == 2 and 7 < float(moments.mean) < 8


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


def test_a_list_that_is_read_needs_one_for_each_length():
    kept = []
    call = ag.function(lambda x: read_length(kept, x))
    for x in XS:
        call(jnp.float32(x))
    assert call.experimental_get_tracing_count() == len(XS)
    assert "what `kept` holds, which the function assigns: list of 0 → list of 1" in call.explain_retraces()


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


def test_variables_of_modules_and_functions():
    count, best = 0, None

    @ag.function
    def f(x):
        global total
        nonlocal count, best
        total += x
        if x > 0:
            count += 1
        best = x if best is None else jnp.maximum(best, x)
        return total * count

    def helper(x):
        helper.calls += 1
        if x > 0:
            helper.last = x
        return helper.calls

    helper.calls, helper.last = 0, 0.0
    called = ag.function(helper)
    wanted = positives = 0
    for calls, x in enumerate(XS, 1):
        wanted, positives = wanted + x, positives + (x > 0)
        assert float(f(jnp.float32(x))) == wanted * positives
        assert int(called(jnp.float32(x))) == calls
    assert float(total) == wanted and int(count) == positives and float(best) == max(XS)
    assert int(helper.calls) == len(XS) and float(helper.last) == 6.0


def test_a_numpy_array_of_a_module_is_written_in_place():
    held = weights

    @ag.function
    def f(x):
        weights[1] = weights[0] + x
        weights[0] = x
        return weights.sum()

    assert float(f(jnp.float32(2))) == 4.0 and float(f(jnp.float32(3))) == 8.0
    assert weights is held and held.tolist() == [3.0, 5.0, 0.0]


def test_a_numpy_array_by_two_names_is_refused():
    class Both:
        def __init__(self):
            self.one = self.other = np.zeros(2, np.float32)

    both = Both()

    @ag.function
    def f(x):
        both.one[0] += x
        return both.other.sum()

    with pytest.raises(
        ag.StagingError, match="'Both.one' is written in place by f, and shares memory with another array"
    ):
        f(jnp.float32(1))
    assert both.one.tolist() == [0.0, 0.0]


def test_classes_dicts_and_sets():
    class Shop:
        sold = 0.0

    prices, names, seen = {"n": 0, "sum": 0.0, "name": "a"}, collections.OrderedDict(), set()

    @ag.function
    def f(x):
        Shop.sold += x
        prices["n"] += 1
        if x > 0:
            prices["sum"] += x
        names["last"] = x
        names["best"] = jnp.maximum(names.get("best", x), x)
        seen.add("a")
        return prices["sum"] / prices["n"] + len(seen)

    for k, x in enumerate(XS, 1):
        positives = sum(v for v in XS[:k] if v > 0)
        assert float(f(jnp.float32(x))) == pytest.approx(positives / k + 1)
        assert plain(prices) == plain({"n": k, "sum": positives, "name": "a"})
        assert plain(names) == {"last": x, "best": max(XS[:k])} and seen == {"a"}
    assert float(Shop.sold) == sum(XS)


def test_an_object_among_the_arguments():
    first, second = Momentum(), Momentum()

    @ag.function
    def f(object, x):
        if x > 0:
            object.velocity += x
        return object.velocity

    for x in XS:
        f(first, jnp.float32(x))
        f(second, jnp.float32(-x))
    assert float(first.velocity) == 11.5 and float(second.velocity) == 5.0


def test_an_object_that_is_returned_is_itself():
    momentum, table = Momentum(), {"v": 0.0}

    @ag.function
    def f(x):
        momentum.velocity += x
        table["v"] = x
        return momentum, table, momentum.velocity

    for k in (1, 2):
        found, held, velocity = f(jnp.float32(1))
        assert found is momentum and held is table and float(velocity) == k == float(momentum.velocity)


def test_a_call_that_raises_leaves_all_as_it_was():
    momentum, kept = Momentum(), []

    @ag.function
    def f(x):
        momentum.velocity = x * 100
        kept.append(x)
        if x > 5:
            raise ValueError("too large")
        return x

    f(jnp.float32(1))
    with pytest.raises(ValueError, match="too large"):
        f(jnp.float32(10))
    assert float(momentum.velocity) == 100.0 and plain(kept) == [1.0]


def test_a_function_of_ours_that_calls_one():
    momentum = Momentum()

    @ag.function
    def add(x):
        if x > 0:
            momentum.velocity += x
        momentum.steps += 1
        return momentum.velocity

    @ag.function
    def thrice(x):
        sum_of_all = 0.0
        for _ in ag.range(3):
            sum_of_all += add(x)
        return sum_of_all

    assert float(thrice(jnp.float32(2))) == 12.0
    assert float(thrice(jnp.float32(-1))) == 18.0
    assert float(add(jnp.float32(1))) == 7.0 and int(momentum.steps) == 7


@pytest.mark.parametrize("is_known", [False, True])
@pytest.mark.parametrize(
    "run",
    [
        lambda f: jax.jit(f)(1.0), lambda f: jax.grad(f)(1.0), lambda f: jax.vmap(f)(jnp.ones(2)),
        lambda f: f.get_concrete_function(jnp.float32(1)), lambda f: f.lower(jnp.float32(1)),
        lambda f: f.eval_shape(jnp.float32(1)), lambda f: jax.jit(ag.convert(lambda x: f(x)))(1.0),
    ],
)  # fmt: skip
def test_what_no_call_can_write_is_refused(run, is_known):
    momentum = Momentum()

    @ag.function
    def f(x):
        momentum.velocity = momentum.velocity + x
        return momentum.velocity

    if is_known:
        f(jnp.float32(1))
    with pytest.raises(ag.StagingError, match="'?Momentum.velocity'?|'velocity'"):
        run(f)
    assert float(momentum.velocity) == is_known
    assert float(f(jnp.float32(1))) == is_known + 1


@pytest.mark.parametrize(
    "options",
    [
        {"reduce_retracing": True}, {"input_signature": [ag.TensorSpec([None], jnp.float32)]}, {"donate_argnums": 0},
        {"jit_compile": False}, {},
    ],
    ids=str,
)  # fmt: skip
def test_options(options):
    momentum = Momentum()

    @ag.function(**options)
    def f(x):
        momentum.velocity = momentum.velocity + x.sum()
        return x * momentum.velocity

    for size in (1, 2, 3, 4):
        assert float(f(jnp.ones(size))[0]) == size * (size + 1) / 2 == float(momentum.velocity)


def test_threads_see_no_tracer():
    momentum, found = Momentum(), []

    @ag.function
    def f(x):
        if x.sum() > 0:
            momentum.velocity = momentum.velocity + x.sum()
        return momentum.velocity

    def run():
        for size in range(1, 5):
            found.append(f(jnp.ones(size)))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 16 and not any(isinstance(each, jax.core.Tracer) for each in (*found, momentum.velocity))


def test_an_instance_goes_with_its_programs():
    log = Log()
    log.always(jnp.float32(1))
    reference = weakref.ref(log)
    gc.disable()
    try:
        del log
        assert reference() is None
    finally:
        gc.enable()
