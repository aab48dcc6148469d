"""Elements drawn from several datasets, and elements left out so that classes come as often as they are wanted."""

from __future__ import annotations

import numpy as np
import pytest

import autograph as ag
from tests.dataset_pipelines import Data, generated, numbers, on_the_device, plainly


def labelled(n=2000):
    """One of twenty is of class 1."""
    rows = np.arange(n)
    return Data.from_tensor_slices((rows, (rows % 20 == 0).astype(np.int32)))


def test_a_balanced_dataset_of_two_that_repeat():
    negative = labelled().filter(lambda x, y: y == 0).repeat()
    positive = labelled().filter(lambda x, y: y == 1).repeat()
    balanced = Data.sample_from_datasets([negative, positive], [0.5, 0.5], seed=3).batch(10)

    @ag.function
    def share(data):
        total = 0
        for _, y in data:
            total += y.sum()
        return total

    assert abs(int(share(balanced.take(200))) - 1000) < 80


def test_all_elements_come_once_and_a_seed_repeats_them():
    def drawn(seed):
        return Data.sample_from_datasets([numbers(5), generated(20).skip(10)], [0.8, 0.2], seed=seed)

    found = [int(k) for k in drawn(1)]
    assert sorted(found) == [*range(5), *range(10, 20)] and found != sorted(found)
    assert found == [int(k) for k in on_the_device(drawn(1))] != [int(k) for k in drawn(2)]
    data = drawn(1)
    assert [int(k) for k in data] == found != [int(k) for k in data]
    short = Data.sample_from_datasets([numbers(5), numbers(5)], seed=1, stop_on_empty_dataset=True)
    assert 5 <= len(plainly(short)) < 10
    assert short.cardinality() == Data.UNKNOWN_CARDINALITY
    assert Data.sample_from_datasets([numbers().repeat()]).cardinality() == Data.INFINITE_CARDINALITY


@pytest.mark.parametrize("initial", [None, [0.95, 0.05]])
def test_classes_come_as_often_as_they_are_wanted(initial):
    data = labelled(4000).rejection_resample(lambda x, y: y, [0.5, 0.5], initial, seed=5)
    found = [(int(kind), int(y)) for kind, (_, y) in data.batch(8, drop_remainder=True).unbatch()]
    assert all(kind == y for kind, y in found)
    ones = sum(kind for kind, _ in found)
    assert 180 <= ones <= 200 and abs(len(found) - 2 * ones) < 80


def test_a_class_function_that_branches():
    def parity(k):
        if k % 4 == 0:
            return 1
        return 0

    found = [int(k) for kind, k in numbers(800).rejection_resample(parity, [0.0, 1.0], [0.75, 0.25], seed=1)]
    assert found == list(range(0, 800, 4))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Data.choose_from_datasets([], numbers()), "takes a list of datasets"),
        (lambda: Data.choose_from_datasets([numbers(), 3], numbers()), "takes a list of datasets"),
        (lambda: Data.choose_from_datasets([numbers()], numbers().map(lambda k: k * 0.5)), "integers for the numbers"),
        (lambda: Data.choose_from_datasets([numbers(), numbers().batch(2)], numbers()), "elements of the same type"),
        (
            lambda: plainly(Data.choose_from_datasets([numbers()], numbers())),
            "has 1 datasets, and is given the number 1",
        ),
        (lambda: on_the_device(Data.choose_from_datasets([numbers()], numbers())), "is given the number 1"),
        (lambda: Data.sample_from_datasets([numbers()], [0.5, 0.5]), "a number for each of 1; got 2"),
        (lambda: Data.sample_from_datasets([numbers()], [-1]), "numbers of 0 or more"),
        (lambda: numbers().rejection_resample(lambda k: 0, [0, 0]), "one of which is more"),
        (lambda: numbers().rejection_resample(3, [1.0]), "takes a function"),
    ],
)
def test_what_cannot_be_meant_is_refused(make, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make()
