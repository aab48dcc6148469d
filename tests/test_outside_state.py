"""Attributes, variables and containers from outside that an `ag.function` assigns traced values to are what Python leaves there."""

from __future__ import annotations

import collections
import gc
import threading
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests.stateful_programs import (
    XS,
    Arrays,
    Best,
    Counted,
    Door,
    Fit,
    Grid,
    Loops,
    Moments,
    Momentum,
    Namespaces,
    Property,
    Recursive,
    Replaced,
    Ring,
    Shared,
    Slotted,
    Smooth,
    Stack,
    Swapped,
    Temporary,
    Toggled,
    Tree,
    plain,
)

# A list that grows, and is read, is of another length on each call.
pytestmark = pytest.mark.filterwarnings("ignore::autograph.StagingWarning")

total = 0.0
weights = np.zeros(3, np.float32)


@pytest.mark.parametrize(
    "kind, method",
    [
        (Moments, "add"), (Door, "push"), (Best, "see"), (Fit, "step"), (Smooth, "mean"), (Ring, "put"), (Slotted, "add"),
        (Property, "raise_by"), (Shared, "add"), (Grid, "add"), (Replaced, "add"), (Temporary, "add"), (Tree, "add"),
        (Stack, "push"), (Loops, "add"), (Recursive, "run"), (Arrays, "add"), (Swapped, "add"), (Counted, "add"), (Toggled, "add"),
        (Namespaces, "add"),
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


def test_a_numpy_array_by_two_names():
    class Both:
        def __init__(self):
            self.one = self.other = np.zeros(2, np.float32)

    both = Both()

    @ag.function
    def f(x):
        both.one[0] += x
        return both.other.sum()

    assert float(f(jnp.float32(1))) == 1.0 and float(f(jnp.float32(2))) == 3.0
    assert both.one is both.other and both.one.tolist() == [3.0, 0.0]


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


def test_defaults_that_are_changed():
    @ag.function
    def f(x, seen=[], table={"n": 0.0}):  # noqa: B006
        seen.append(x)
        table["n"] += x
        return sum(seen) + table["n"]

    for k in range(len(XS)):
        assert float(f(jnp.float32(XS[k]))) == 2 * sum(XS[: k + 1])
    assert len(f(jnp.float32(1), [], table := {"n": 1.0}).shape) == 0 and float(table["n"]) == 2.0


def test_one_that_writes_and_one_that_reads():
    moments = Moments()

    @ag.function
    def mean(x):
        return moments.mean / moments.n + x

    push = ag.function(moments.add)
    for k, x in enumerate((2.0, 3.0, 7.0), 1):
        push(jnp.float32(x))
        assert float(mean(jnp.float32(1))) == pytest.approx(sum((2.0, 3.0, 7.0)[:k]) / k / k + 1)


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


class Owner:
    def __init__(self):
        self.sum = 0.0

    @ag.function
    def add(self, x):
        self.sum += x
        return self.sum


def test_an_instance_goes_with_its_programs():
    made = Owner()
    made.add(jnp.float32(1))
    reference = weakref.ref(made)
    gc.disable()
    try:
        del made
        assert reference() is None
    finally:
        gc.enable()
