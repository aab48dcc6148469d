"""Loops over datasets on the device give what the same loops give in Python: the elements, their order, the rest."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests.dataset_pipelines import (
    PIPELINES,
    PIPELINES_OF_NUMBERS,
    Data,
    Source,
    generated,
    numbers,
    on_the_device,
    plainly,
    same,
)


@pytest.mark.parametrize("name", PIPELINES)
def test_the_same_elements_in_the_same_order(name):
    make = PIPELINES[name]
    expected = plainly(make())
    same(on_the_device(make()), expected)
    if hasattr(type(make()), "__len__") and "generator" not in name:
        assert len(make()) == len(expected)


@pytest.mark.parametrize("name", ["shuffle", "shuffle, repeat, batch", "batch, shuffle", "generator, shuffle, batch"])
def test_each_iteration_has_an_order_of_its_own_and_the_seed_chooses_them(name):
    plain, staged = PIPELINES[name](), PIPELINES[name]()
    expected = plainly(plain) + plainly(plain)
    same(on_the_device(staged, times=2), expected)
    half = len(expected) // 2
    assert any(a.tolist() != b.tolist() for a, b in zip(expected[:half], expected[half:]))
    if "repeat" not in name:
        rows = [np.concatenate([np.ravel(v) for v in part]) for part in (expected[:half], expected[half:])]
        assert sorted(rows[0].tolist()) == sorted(rows[1].tolist())


def test_a_shuffle_is_a_permutation_and_differs_by_seed():
    for n in (1, 2, 3, 8, 1000):
        data = numbers(n).shuffle(seed=11).batch(n)
        (first,) = data
        assert sorted(first.tolist()) == list(range(n))
        if n in (3, 8):
            assert len({tuple(int(k) for k in numbers(n).shuffle(seed=seed)) for seed in range(8)}) > 2
    counts = np.zeros((4, 4))
    for seed in range(10):
        data = numbers(4).shuffle(seed=seed).batch(4)
        for _ in range(12):  # epochs, each with an order of its own
            (order,) = data
            counts[np.arange(4), order] += 1
    assert (abs(counts - 30) < 25).all()  # five standard deviations


def train(data):
    seen, total = 0, 0.0
    for epoch in range(3):
        for x in data:
            total = total * 0.5 + x.sum() * (epoch + 1)
            seen += 1
    return total, seen


def test_epochs_in_python_and_in_a_function():
    make = lambda: Data.from_tensor_slices(np.linspace(0, 1, 10, dtype=np.float32)).shuffle(seed=3).batch(4)
    expected = train(make())
    total, seen = ag.function(train)(make())
    assert int(seen) == expected[1] == 9 and np.allclose(total, expected[0])


def test_epochs_in_a_staged_loop():
    data = numbers().shuffle(seed=3)
    seen = []

    @ag.function
    def run(n):
        for _ in ag.range(n):
            for x in data:
                ag.py_function(lambda v: seen.append(int(v)), [x], None)

    run(jnp.array(3))
    plain = numbers().shuffle(seed=3)
    assert seen == [int(x) for _ in range(3) for x in plain]


# The body.


def first_above(data, limit):
    steps = 0
    for x in data:
        if x.sum() < 2:
            continue
        steps += 1
        if x.sum() > limit:
            break
    else:
        steps = -steps
    return steps


def found(data, limit):
    for k, x in enumerate(data):
        if x.sum() > limit:
            return k
    return -1


def last_or_none(data):
    best = None
    for x in data:
        value = x.sum()
        if best is None or value > best:
            best = value
    return best


BODIES = ["slices", "last batch smaller of numbers", "batch, repeat", "generator", "generator, last batch smaller"]


@pytest.mark.parametrize("name", BODIES)
def test_break_continue_and_else(name):
    make = PIPELINES_OF_NUMBERS[name]
    run = ag.function(first_above)
    for limit in (-1, 4, 8, 16, 1000):
        assert int(run(make(), jnp.asarray(limit))) == first_above(make(), limit)


@pytest.mark.parametrize("name", BODIES)
def test_return_from_the_loop(name):
    make = PIPELINES_OF_NUMBERS[name]

    @ag.function
    def run(data, limit):
        for k, x in data.enumerate():
            if x.sum() > limit:
                return k
        return -1

    for limit in (-1, 4, 16, 1000):
        assert int(run(make(), jnp.asarray(limit))) == found(make(), limit)


def test_enumerate_and_zip_of_a_dataset():
    def run(data):
        total = 0
        for k, x in enumerate(data):
            total += (k + 1) * x.sum()
        for x, y in zip(data, data):
            total += (x * y).sum()
        return total

    for name in ("slices", "last batch smaller of numbers"):
        make = PIPELINES_OF_NUMBERS[name]
        assert int(ag.function(run)(make())) == int(run(make()))


@pytest.mark.parametrize("name", BODIES[:3])
def test_state_that_only_the_first_iteration_sees(name):
    make = PIPELINES_OF_NUMBERS[name]
    assert int(ag.function(last_or_none)(make())) == int(last_or_none(make()))


@pytest.mark.parametrize("name", BODIES)
def test_variables_and_nested_loops(name):
    make = PIPELINES_OF_NUMBERS[name]
    inner = Data.from_tensor_slices(jnp.array([1, 2, 3]))

    def run(v, outer):
        for x in outer:
            for y in inner:
                if (x.sum() + y) % 2 == 0:
                    v.assign_add(x.sum() * y)
        return v.value + 0

    expected = int(run(ag.Variable(0), make()))
    v = ag.Variable(0)
    f = ag.function(lambda outer: run(v, outer))
    assert int(f(make())) == expected == int(v.value)
    assert int(f(make())) == run(ag.Variable(expected), make())


def test_the_same_generator_in_two_nested_loops():
    data = generated(4)

    def run():
        total = 0
        for x in data:
            for y in data:
                total += x * y
                if y > x:
                    break
        return total

    assert int(ag.function(run)()) == int(run())


# Functions of elements.


def test_map_with_state_random_numbers_and_calls_of_python():
    seen = ag.Variable(0)
    log = []

    def count(x):
        seen.assign_add(x)
        ag.py_function(lambda v: log.append(int(v)), [x], None)
        return x + seen

    data = numbers(5).map(count).batch(2)
    expected = plainly(data)
    assert log == [0, 1, 2, 3, 4] and [x.tolist() for x in expected] == [[0, 2], [5, 9], [14]]
    seen.assign(0)
    same(on_the_device(data), expected)
    assert log == [0, 1, 2, 3, 4] * 2

    noise = ag.random.Generator.from_seed(1)
    noisy = lambda: Data.range(6).map(lambda k: k + noise.normal([])).batch(3)
    values = np.concatenate(on_the_device(noisy()))
    assert len(set((values - np.arange(6)).tolist())) == 6


class Bad(Exception):
    pass


def test_an_exception_in_a_mapped_function():
    def check(x):
        if x > 3:
            raise Bad("too large")
        return x

    v = ag.Variable(0)

    @ag.function
    def run(data):
        for x in data:
            v.assign_add(x.sum())

    for data in (numbers().map(check), numbers().map(check).batch(2)):
        with pytest.raises(Bad, match="too large"):
            run(data)
        assert int(v.value) == 0
        with pytest.raises(Bad, match="too large"):
            list(data)


@pytest.mark.parametrize("batched", [False, True])
def test_an_exception_of_a_generator_or_source_reaches_the_caller(batched):
    def make():
        yield np.int32(1)
        yield np.int32(2)
        raise Bad("no more")

    class Broken(Source):
        def __getitem__(self, k):
            if k == 2:
                raise Bad("no more")
            return np.int32(k)

    v = ag.Variable(10)

    @ag.function
    def run(data):
        for x in data:
            v.assign_add(x.sum())

    for data in (Data.from_generator(make, jnp.int32), Data(Broken(4))):
        data = data.batch(1) if batched else data
        with pytest.raises(Bad, match="no more"):
            run(data)
        assert int(v.value) == 10
        with pytest.raises(Bad, match="no more"):
            list(data)
