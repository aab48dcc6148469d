"""Pipelines of datasets, and what gives their elements: a Python loop, and a loop on the device."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

import autograph as ag

Data = ag.Dataset


def numbers(n=10):
    return Data.from_tensor_slices(jnp.arange(n))


def pairs(n=7):
    x = np.arange(3.0 * n, dtype=np.float32).reshape(n, 3)
    return Data.from_tensor_slices((x, {"label": np.arange(n)}))


def generated(n=10, length=None):
    def make():
        for k in range(n):
            yield np.int32(k)

    return Data.from_generator(make, jnp.int32, length)


class Source:
    """A sequence as data loaders have it: a length, and items by number."""

    def __init__(self, n):
        self.n = n
        self.asked = []

    def __len__(self):
        return self.n

    def __getitem__(self, k):
        self.asked.append(k)
        return {"x": np.full(2, k, np.float32), "y": k}


PIPELINES = {
    "slices": lambda: numbers(),
    "tuple of dict": lambda: pairs(),
    "batch": lambda: numbers().batch(5),
    "last batch smaller": lambda: pairs().batch(3),
    "one batch, too small": lambda: numbers(3).batch(5),
    "drop remainder": lambda: pairs().batch(3, drop_remainder=True),
    "nothing left": lambda: numbers(3).batch(5, drop_remainder=True),
    "shuffle": lambda: numbers().shuffle(seed=7),
    "shuffle, batch": lambda: pairs().shuffle(seed=7).batch(2),
    "batch, shuffle": lambda: numbers().batch(3).shuffle(seed=2),
    "same order": lambda: numbers().shuffle(seed=7, reshuffle_each_iteration=False),
    "shuffle, repeat, batch": lambda: numbers().shuffle(seed=1).repeat(3).batch(4),
    "batch, repeat": lambda: numbers().batch(4).repeat(2),
    "batch, repeat, skip": lambda: numbers().batch(4).repeat(3).skip(2),
    "repeat, take": lambda: numbers(4).repeat().take(10),
    "endless batches, take": lambda: numbers(4).shuffle(seed=3).repeat().batch(3).take(9),
    "take, skip": lambda: numbers().take(7).skip(2),
    "shard": lambda: numbers().shard(3, 1),
    "shard of batches, with the smaller one": lambda: numbers().batch(4).shard(2, 0),
    "shard of batches, without it": lambda: numbers().batch(4).shard(2, 1),
    "shuffle, shard, batch": lambda: numbers().shuffle(seed=3).shard(2, 1).batch(2),
    "same order, repeat": lambda: numbers(5).shuffle(seed=7, reshuffle_each_iteration=False).repeat(3),
    "from tensors": lambda: Data.from_tensors((np.arange(3), {"a": 1.0})).repeat(2),
    "cache, prefetch": lambda: numbers().cache().batch(3, num_parallel_calls=2).prefetch(1),
    "take of batches": lambda: numbers().batch(4).take(2),
    "batches of batches": lambda: numbers(13).batch(2).batch(3),
    "map": lambda: pairs().map(lambda x, y: x.sum() + y["label"]),
    "map, batch": lambda: numbers().map(lambda k: k * k if k % 2 == 0 else -k).batch(4),
    "batch, map": lambda: numbers().batch(4).map(lambda x: (x, x.sum())),
    "enumerate": lambda: pairs().enumerate(),
    "enumerate, shuffle, batch": lambda: numbers().enumerate(5).shuffle(seed=4).batch(3),
    "range": lambda: Data.range(3, 20, 4).batch(2),
    "empty": lambda: numbers().take(0),
    "two shuffles": lambda: numbers().shuffle(seed=1).shuffle(seed=2).repeat(2),
    "generator": lambda: generated(),
    "generator, batch": lambda: generated().batch(5),
    "generator, last batch smaller": lambda: generated().batch(4),
    "generator, known length": lambda: generated(50, length=50).batch(20),
    "generator, drop remainder": lambda: generated().batch(4, drop_remainder=True),
    "generator, batch, repeat": lambda: generated(5).batch(3).repeat(2),
    "generator, repeat, take": lambda: generated(3).repeat().take(7),
    "generator, shard": lambda: generated().shard(4, 3),
    "generator, same order": lambda: generated(6).shuffle(3, seed=1, reshuffle_each_iteration=False).repeat(2),
    "generator, skip": lambda: generated().skip(4),
    "generator, shuffle, batch": lambda: generated().shuffle(seed=5, buffer_size=4).batch(3),
    "generator, map, batch": lambda: generated().map(lambda k: k + 1 if k > 4 else k * 2).batch(4),
    "generator, enumerate, batch": lambda: generated().enumerate().batch(4),
    "generator, empty": lambda: generated(0),
    "source": lambda: Data(Source(5)),
    "source, shuffle, batch": lambda: Data(Source(5)).shuffle(seed=0).batch(2),
}


PIPELINES_OF_NUMBERS = {**PIPELINES, "last batch smaller of numbers": lambda: numbers().batch(4)}


def plainly(data):
    return [jax.tree.map(np.asarray, element) for element in data]


def on_the_device(data, times=1):
    seen = []

    @ag.function
    def run(data):
        for element in data:
            ag.py_function(lambda value: seen.append(jax.tree.map(np.asarray, value)), [element], None)

    for _ in range(times):
        run(data)
    return seen


def same(a, b):
    assert len(a) == len(b)
    for one, other in zip(a, b):
        assert jax.tree.structure(one) == jax.tree.structure(other)
        for x, y in zip(jax.tree.leaves(one), jax.tree.leaves(other)):
            assert x.dtype == y.dtype and x.shape == y.shape and (x == y).all()
