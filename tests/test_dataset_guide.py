"""What `tf.data`'s guide shows, written for this package, beside what TensorFlow 2.21 printed for its own form of each program.

Each program runs in Python, and where it is a loop over a dataset, on the device too.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests.dataset_pipelines import Data, on_the_device, plainly


def features_and_labels(batch):
    return batch[:-2], batch[-2:]


def windows_of_five():
    return Data.range(100).window(5, shift=2, stride=1).flat_map(lambda part: part.batch(5, drop_remainder=True))


# Each: the program, and TensorFlow's record of `list(dataset.as_numpy_iterator())`, arrays as lists.
RECORDED = {
    "slices of a list": (lambda: Data.from_tensor_slices([8, 3, 0, 8, 2, 1]), [8, 3, 0, 8, 2, 1]),
    "batches of pairs": (
        lambda: Data.zip(Data.range(1000), Data.range(0, -1000, -1)).batch(4).take(3).map(lambda up, down: down),
        [[0, -1, -2, -3], [-4, -5, -6, -7], [-8, -9, -10, -11]],
    ),
    "next steps": (
        lambda: Data.range(30).batch(5, drop_remainder=True).map(lambda batch: (batch[:-1], batch[1:])).take(3),
        [([0, 1, 2, 3], [1, 2, 3, 4]), ([5, 6, 7, 8], [6, 7, 8, 9]), ([10, 11, 12, 13], [11, 12, 13, 14])],
    ),
    "features and labels": (
        lambda: Data.range(30).batch(6, drop_remainder=True).map(features_and_labels).take(2),
        [([0, 1, 2, 3], [4, 5]), ([6, 7, 8, 9], [10, 11])],
    ),
    "windows": (lambda: windows_of_five().take(3), [[0, 1, 2, 3, 4], [2, 3, 4, 5, 6], [4, 5, 6, 7, 8]]),
    "windows with a stride": (
        lambda: Data.range(8).window(3, shift=1, stride=2, drop_remainder=True).flat_map(lambda part: part.batch(3)),
        [[0, 2, 4], [1, 3, 5], [2, 4, 6], [3, 5, 7]],
    ),
    "numbered from five": (lambda: Data.from_tensor_slices([5, 6]).enumerate(start=5), [(5, 5), (6, 6)]),
    "three side by side": (
        lambda: Data.zip(Data.range(1, 4), Data.range(4, 7), Data.range(7, 13).batch(2)),
        [(1, 4, [7, 8]), (2, 5, [9, 10]), (3, 6, [11, 12])],
    ),
    "running sums": (
        lambda: Data.range(10).scan(jnp.asarray(0), lambda total, i: (total + i, total + i)),
        [0, 1, 3, 6, 10, 15, 21, 28, 36, 45],
    ),
    "while below five": (lambda: Data.range(10).take_while(lambda x: x < 5), [0, 1, 2, 3, 4]),
    "rows of rows": (
        lambda: Data.from_tensor_slices([[1, 2, 3], [1, 2, 0], [1, 2, 1]]).unbatch(),
        [1, 2, 3, 1, 2, 0, 1, 2, 1],
    ),
    "one of three workers": (lambda: Data.range(10).shard(3, 0), [0, 3, 6, 9]),
    "two in turn, four of each": (
        lambda: Data.range(1, 6).interleave(lambda x: Data.from_tensors(x).repeat(6), cycle_length=2, block_length=4),
        [1, 1, 1, 1, 2, 2, 2, 2, 1, 1, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 3, 3, 4, 4, 5, 5, 5, 5, 5, 5],
    ),
    "flattened": (
        lambda: Data.from_tensor_slices([[1, 2, 3], [4, 5, 6], [7, 8, 9]]).flat_map(Data.from_tensor_slices),
        [1, 2, 3, 4, 5, 6, 7, 8, 9],
    ),
    "squares of the odd, twice": (
        lambda: Data.range(10).filter(lambda x: x % 2 == 1).map(lambda x: x * x).skip(1).repeat(2),
        [9, 25, 49, 81, 9, 25, 49, 81],
    ),
}


def lists(elements):
    return [tuple(part.tolist() for part in e) if isinstance(e, tuple) else np.asarray(e).tolist() for e in elements]


@pytest.mark.parametrize("name", RECORDED)
def test_the_elements_are_those_that_tensorflow_printed(name):
    make, recorded = RECORDED[name]
    assert lists(plainly(make())) == recorded
    assert lists(on_the_device(make())) == recorded


def test_lengths_of_batches():
    assert [len(x) for x in Data.range(10).repeat(3).batch(7)] == [7, 7, 7, 7, 2]
    assert [len(x) for x in Data.range(10).batch(7).repeat(3)] == [7, 3, 7, 3, 7, 3]
    assert Data.range(20).batch(7).element_spec.shape == (None,)
    assert Data.range(20).batch(7, drop_remainder=True).element_spec.shape == (7,)
    assert sum(1 for _ in windows_of_five()) == 48


def test_reduce_and_cardinality():
    assert int(Data.from_tensor_slices([8, 3, 0, 8, 2, 1]).reduce(0, lambda state, value: state + value)) == 22
    numbers = Data.range(42)
    data = [
        *(numbers, numbers.repeat(), numbers.filter(lambda x: True), Data.range(10).batch(3)),
        *(
            Data.zip(Data.range(3), Data.range(5).repeat()),
            Data.range(3).concatenate(Data.range(5)),
            Data.range(7).window(3, shift=2),
        ),
    ]
    assert [one.cardinality() for one in data] == [42, -1, -2, 4, 3, 8, 4]


def test_an_iterator():
    it = iter(Data.range(4))
    assert [int(next(it)), int(next(it))] == [0, 1]
    assert [bool(it.get_next_as_optional().has_value()) for _ in range(3)] == [True, True, False]


def test_steps_per_execution():
    """The guide's training loop, with as many steps in one call as the caller asks for."""
    data = iter(Data.range(8).map(lambda k: k * 0.5).repeat().batch(4))
    weight = ag.Variable(0.0)

    @ag.function
    def train(steps):
        for _ in ag.range(steps):
            weight.assign_add(next(data).sum())
        return weight.value + 0

    assert [float(train(2)), float(train(jnp.asarray(3)))] == [14.0, 31.0]
