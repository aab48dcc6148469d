"""What datasets are asked beside their elements: reductions, sizes, single elements, other forms of them."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests.dataset_pipelines import Data, generated, numbers, pairs, plainly


def both(function, *args):
    """What a function returns in Python and compiled, each with data of its own."""
    return function(*(make() for make in args)), ag.function(function)(*(make() for make in args))


# Reductions.


@pytest.mark.parametrize("make", [numbers, generated, lambda: numbers().batch(4), lambda: generated().batch(4)])
def test_reduce_is_that_of_functools(make):
    def step(state, x):
        return state * 3 + x.sum() if x.sum() % 2 == 0 else state - 1

    expected = functools.reduce(step, make(), 1)
    for found in both(lambda data: data.reduce(1, step), make):
        assert int(found) == int(expected)


def test_reduce_to_a_container_from_elements_that_are_tuples():
    def step(state, element):
        x, y = element
        low, high = state["range"]
        return {"range": (jnp.minimum(low, x.min()), jnp.maximum(high, x.max())), "count": state["count"] + y["label"]}

    start = {"range": (jnp.inf, -jnp.inf), "count": 0}
    for found in both(lambda data: data.reduce(start, step), pairs):
        assert jax.tree.map(float, found) == {"range": (0.0, 20.0), "count": 21.0}


def test_reduce_may_write_to_its_state():
    """As in `tf.data`'s guide, where the states are dicts."""

    def count(counts, batch):
        counts["odd"] += (batch % 2 == 1).sum()
        if batch.sum() > 10:
            counts["large"] += 1
        return counts

    start = {"odd": 0, "large": 0}
    for found in both(lambda data: data.reduce(start, count), lambda: numbers(10).batch(3)):
        assert jax.tree.map(int, found) == {"odd": 5, "large": 2}
    assert start == {"odd": 0, "large": 0}
    states = numbers(4).scan(start, lambda state, k: (count(state, k * 6), state["large"]))
    assert [int(k) for k in states] == [0, 0, 1, 2]


def test_reduce_of_nothing_and_with_effects():
    seen = []

    def step(state, x):
        ag.py_function(lambda value: seen.append(int(value)), [x], None)
        return state + x

    assert [int(found) for found in both(lambda data: data.reduce(7, step), lambda: numbers().take(0))] == [7, 7]
    assert [int(found) for found in both(lambda data: data.reduce(0, step), lambda: numbers(3))] == [3, 3]
    assert seen == [0, 1, 2, 0, 1, 2]


def test_reduce_counts_an_iteration_of_a_shuffled_dataset():
    def digits(data):
        return data.reduce(0, lambda state, x: state * 10 + x)

    plain, staged = numbers(6).shuffle(seed=2), numbers(6).shuffle(seed=2)
    compiled = ag.function(lambda: digits(staged))
    expected = [functools.reduce(lambda state, x: state * 10 + int(x), plain, 0) for _ in range(3)]
    assert [int(compiled()), int(digits(staged)), int(compiled())] == expected and len(set(expected)) > 1


def test_the_gradient_of_a_reduction():
    data = Data.from_tensor_slices(jnp.array([1.0, 2.0, 4.0]))

    def loss(w):
        return data.reduce(0.0, lambda total, x: total + (w * x) ** 2)

    assert float(jax.jit(jax.grad(ag.convert(loss)))(3.0)) == 2 * 3 * 21
    assert float(ag.function(jax.grad(ag.convert(loss)))(3.0)) == 2 * 3 * 21


# Other forms.


def test_as_numpy_iterator():
    x, y = next(pairs().as_numpy_iterator())
    assert type(x) is np.ndarray and type(y["label"]) is np.int32
    assert list(Data.range(3).as_numpy_iterator()) == [0, 1, 2]
    with pytest.raises(ag.StagingError, match=r"(?s)test_dataset_methods.*for element in dataset"):
        ag.function(lambda: next(Data.range(3).as_numpy_iterator()))()


def test_the_single_element():
    for make in (lambda: numbers(4).batch(4), lambda: numbers(4).skip(3), lambda: Data.from_tensors([1, 2, 3])):
        (expected,) = plainly(make())
        for found in both(lambda data: data.get_single_element(), make):
            assert np.array_equal(found, expected)
    assert int(generated(1).get_single_element()) == 0
    for make, count in ((numbers, "10"), (lambda: generated(5), "2"), (lambda: numbers(0), "none")):
        with pytest.raises(ValueError, match=f"this one has {count}"):
            make().get_single_element()
    with pytest.raises(ag.StagingError, match=r"(?s)test_dataset_methods.*next\(iter\(dataset\)\)"):
        ag.function(lambda data: data.get_single_element())(generated(1))


def test_how_many_elements():
    assert numbers().batch(3).cardinality() == len(numbers().batch(3)) == 4
    assert numbers().repeat().cardinality() == Data.INFINITE_CARDINALITY
    assert generated().cardinality() == Data.UNKNOWN_CARDINALITY
    assert generated(9, length=9).batch(2).shard(2, 1).cardinality() == 2
    assert generated().repeat().cardinality() == Data.INFINITE_CARDINALITY


def test_cache_keeps_the_order():
    for make in (lambda: numbers().shuffle(seed=3), lambda: generated().shuffle(5, seed=3)):
        assert plainly(make().cache().repeat(2)) == plainly(make().cache()) * 2
        cached, plain = make().cache(), make()
        assert plainly(cached) == plainly(cached) == plainly(plain) != plainly(plain)


def test_get_next():
    it = iter(Data.range(2))
    compiled = ag.function(lambda: it.get_next())
    assert [int(compiled()), int(it.get_next())] == [0, 1]
    for take in (compiled, it.get_next):
        with pytest.raises(StopIteration):
            take()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: numbers().shard(0, 0), "num_shards must be 1 or more"),
        (lambda: numbers().shard(2, 2), "less than num_shards, 2"),
        (lambda: Data.from_tensors(()), "got none"),
        (lambda: numbers().apply(lambda data: 3), "returns a Dataset; got int"),
        (lambda: numbers().reduce(0, 3), "reduce takes a function"),
        (lambda: numbers().repeat().reduce(0, lambda a, b: a + b), "reduce .* infinite"),
    ],
)
def test_what_cannot_be_meant_is_refused(make, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make()
