"""What a program makes of a dataset: its inputs, its traces, what ends it, what it refuses."""

from __future__ import annotations

import gc
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests.dataset_pipelines import (
    PIPELINES,
    PIPELINES_OF_NUMBERS,
    Data,
    generated,
    numbers,
    on_the_device,
    pairs,
    plainly,
    same,
)


def test_arrays_are_inputs_and_one_trace_serves_datasets_alike():
    a, b = numbers(1000), Data.from_tensor_slices(jnp.arange(1000) * 2)

    @ag.function
    def total(data):
        s = 0
        for x in data:
            s += x
        return s

    assert [int(total(a)), int(total(b)), int(total(a.take(3))), int(total(b.take(3)))] == [499500, 999000, 3, 6]
    assert total.experimental_get_tracing_count() == 2

    class Model(ag.Module):
        def __init__(self, data):
            self.data = data

        @ag.function
        def total(self):
            s = 0
            for x in self.data:
                s += x
            return s

    model = Model(a)
    assert int(model.total()) == 499500
    concrete = model.total.get_concrete_function()
    assert "dense" not in "".join(t for t in concrete.graph.as_text("stablehlo").split() if len(t) > 200)
    assert tuple(concrete.variables) == ()
    model.data = b  # another dataset is noticed
    assert int(model.total()) == 999000


def test_two_functions_share_a_dataset_and_each_generator_starts_anew():
    starts = []

    def make():
        starts.append(1)
        yield from (np.float32(k) for k in range(3))

    data = Data.from_generator(make, jnp.float32)

    def total():
        s = 0.0
        for x in data:
            s += x
        return s

    first, second = ag.function(total), ag.function(total)
    assert [float(first()), float(second()), float(first())] == [3, 3, 3]
    assert len(starts) == 3


def test_endless_data_ends_by_a_break_only():
    def run(data):
        total = 0
        for x in data:
            total += x.sum()
            if total > 100:
                break
        return total

    for make in (
        lambda: numbers().shuffle(seed=3).repeat().batch(3),
        lambda: numbers().repeat(),
        lambda: numbers().batch(3).repeat(),
        lambda: generated().repeat().batch(3),
    ):
        assert int(ag.function(run)(make())) == int(run(make()))

    @ag.function
    def forever(data):
        for x in data:
            ag.print(x)

    with pytest.raises(ag.StagingError, match="no `break`"):
        forever(numbers().repeat())


def test_the_gradient_of_a_loop_over_a_dataset():
    x = np.random.default_rng(0).normal(size=(10, 3)).astype(np.float32)
    y = x @ np.array([1.0, -2.0, 0.5], np.float32)
    data = Data.from_tensor_slices((x, y)).shuffle(seed=1, reshuffle_each_iteration=False).batch(4)

    def loss(w, data):
        total = 0.0
        for xs, ys in data:
            total += ((xs @ w - ys) ** 2).sum()
        return total

    w = jnp.ones(3)
    expected = 2 * x.T @ (x @ np.ones(3, np.float32) - y)
    assert np.allclose(ag.function(jax.grad(ag.convert(loss)))(w, data), expected, rtol=1e-4)
    assert np.allclose(jax.jit(jax.grad(ag.convert(loss)))(w, data), expected, rtol=1e-4)
    v = ag.Variable(jnp.ones(3))
    value, (slope,) = ag.function(lambda: ag.value_and_grad(lambda: loss(v.value, data))())()
    assert np.allclose(slope, expected, rtol=1e-4) and np.allclose(value, loss(w, data), rtol=1e-4)


def test_under_a_bare_jit():
    def total(data):
        s = 0
        for x in data:
            s += x.sum()
        return s

    for name in ("slices", "batch, repeat", "same order", "generator, last batch smaller"):
        data = PIPELINES[name]()
        assert int(jax.jit(ag.convert(total))(data)) == int(total(PIPELINES[name]()))
        assert int(jax.jit(ag.convert(lambda: total(data)))()) == int(total(PIPELINES[name]()))
    with pytest.raises(ag.StagingError, match="autograph.function, or shuffle with"):
        jax.jit(ag.convert(total))(numbers().shuffle(seed=1))


def test_slices_of_a_traced_array():
    @ag.function
    def total(x):
        s = 0.0
        for part in Data.from_tensor_slices(x).batch(2):
            s = s * 10 + part.sum()
        return s

    assert float(total(jnp.arange(5.0))) == 100 * 1 + 10 * 5 + 4


def test_a_source_that_is_no_dataset():
    class Plain:
        def __init__(self):
            self.asked = 0

        def __len__(self):
            return 3

        def __getitem__(self, k):
            self.asked += 1
            if not 0 <= k < 3:
                raise IndexError
            return np.float32(k), np.int32(k)

    source = Plain()

    @ag.function
    def total():
        s = 0.0
        for x, y in source:
            s += x * y
        return s

    assert float(total()) == 5 and source.asked >= 3
    before = source.asked
    assert float(total()) == 5 and source.asked == before + 3  # asked again by each execution


def test_arrays_too_large_for_the_device_stay_with_the_host(monkeypatch):
    import autograph.runtime.data.dataset as module

    monkeypatch.setattr(module, "_ON_DEVICE_AT_MOST", 8)
    data = pairs().shuffle(seed=3).batch(3)
    assert "rows" in repr(data) and jax.tree.leaves(data) == []
    monkeypatch.undo()
    same(on_the_device(data), plainly(pairs().shuffle(seed=3).batch(3)))


def test_a_program_does_not_keep_a_generator_of_its_own_going():
    alive = []

    class Held:
        pass

    def make():
        held = Held()
        alive.append(weakref.ref(held))
        for k in range(100):
            yield np.int32(k)
        del held

    @ag.function
    def first():
        for x in Data.from_generator(make, jnp.int32):
            if x >= 3:
                break
        return x

    for _ in range(3):
        assert int(first()) == 3
    gc.collect()
    assert [watch() for watch in alive] == [None] * len(alive)


# What is refused.


def test_a_last_batch_whose_size_nothing_tells():
    @ag.function
    def total(data):
        s = 0
        for x in data:
            s += x.sum()
        return s

    assert int(total(generated(60).batch(20))) == 1770
    with pytest.raises(ValueError, match="last batch has 10 rows of 20.*drop_remainder=True.*length=n"):
        total(generated(50).batch(20))
    with pytest.raises(ValueError, match="by its length"):
        total(generated(50, length=41).batch(20))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Data.from_tensor_slices((np.ones(2), np.ones(3))), "first axes of one length"),
        (lambda: Data.from_tensor_slices(1.0), "first axes of one length"),
        (lambda: Data([]), "this one is empty, so the type of an element is not known"),
        (lambda: Data(iter([1])), "a length and items"),
        (lambda: numbers().batch(0), "batch_size must be 1 or more"),
        (lambda: numbers().batch(2.5), "batch_size must be an int"),
        (lambda: numbers().take(-2), "count must be 0 or more"),
        (lambda: numbers().map(3), "map takes a function"),
        (lambda: numbers().shuffle(seed="a"), "seed must be an int"),
        (lambda: numbers().repeat().shuffle(seed=1), "call shuffle before repeat"),
        (lambda: generated().shuffle(seed=1), "needs a buffer_size"),
        (lambda: numbers().batch(4).batch(3), "drop_remainder=True"),
        (lambda: Data.from_generator([1], jnp.int32), "a function that makes an iterator"),
        (lambda: Data.from_generator(generated, ag.TensorSpec(None)), "known rank"),
        (lambda: len(numbers().repeat()), "without end"),
        (lambda: len(generated()), "unknown length"),
        (lambda: list(Data.from_generator(lambda: [np.ones(2)], jnp.int32)), r"shape \(\).*shape \(2,\)"),
        (lambda: list(Data.from_generator(lambda: [np.float32(1)], jnp.int32)), "dtype int32.*dtype float32"),
    ],
)
def test_what_cannot_be_meant_is_refused(make, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make()


def test_a_generator_that_tracing_would_bake_in():
    with pytest.raises(ag.StagingError, match="Write `for element in dataset:`"):
        ag.function(lambda: sum(list(generated())))()


def test_the_type_of_elements():
    assert pairs().batch(7).element_spec[0] == ag.TensorSpec((7, 3))
    assert pairs().batch(3).element_spec[1]["label"].shape == (None,)
    assert generated().batch(4).element_spec.shape == (None,)


def test_directives():
    def run(data):
        total = 0
        for x in data:
            ag.set_loop_options(maximum_iterations=3)
            total += x.sum()
        return total

    for name in ("slices", "last batch smaller of numbers", "batch, repeat", "generator, last batch smaller"):
        make = PIPELINES_OF_NUMBERS[name]
        assert int(ag.function(run)(make())) == sum(int(x.sum()) for x in make().take(3))
