"""Elements of differing shapes: what a generator says of them, and batches that are filled up."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests.dataset_pipelines import Data, numbers, on_the_device, pairs, plainly, same

SIZES = [1, 3, 2, 5, 4]
OPEN = (ag.TensorSpec([], jnp.int32), ag.TensorSpec([None], jnp.float32))


def ragged(sizes=SIZES):
    def make():
        for k in sizes:
            yield k, np.arange(1, k + 1, dtype=np.float32)

    return Data.from_generator(make, OPEN)


def filled(sizes, width, to=None, value=0.0):
    """The same batches by NumPy."""
    made = []
    for k in range(0, len(sizes), width):
        some = sizes[k : k + width]
        rows = np.full((len(some), max(some) if to is None else to), value, np.float32)
        for row, size in zip(rows, some):
            row[:size] = np.arange(1, size + 1)
        made.append((np.array(some, np.int32), rows))
    return made


def test_elements_that_differ_in_shape_are_iterated_in_python():
    data = ragged()
    assert data.element_spec == OPEN
    assert [x.tolist() for _, x in data.skip(1).take(2)] == [[1, 2, 3], [1, 2]]
    assert sorted(len(x) for _, x in data.shuffle(3, seed=1).repeat(2)) == sorted(SIZES * 2)
    mapped = data.map(lambda k, x: (k, x * 2 if k > 2 else x))
    assert mapped.element_spec == OPEN
    assert [float(x.sum()) for _, x in mapped] == [1, 12, 3, 30, 20]
    assert [(int(k), len(x)) for k, (_, x) in data.enumerate()] == list(enumerate(SIZES))


@pytest.mark.parametrize("width", [1, 2, 5, 7])
def test_batches_are_as_long_as_their_longest_element(width):
    data = ragged().padded_batch(width)
    same(plainly(data), filled(SIZES, width))
    assert len(plainly(ragged().padded_batch(width, drop_remainder=True))) == len(SIZES) // width
    assert data.element_spec == (ag.TensorSpec([None], jnp.int32), ag.TensorSpec([None, None], jnp.float32))


@pytest.mark.parametrize("width", [2, 5])
def test_batches_of_one_shape_are_a_programs(width):
    data = ragged().padded_batch(width, padded_shapes=([], [6]), padding_values=(0, -1.0))
    expected = filled(SIZES, width, 6, -1)
    same(plainly(data), expected)
    same(on_the_device(data), expected)
    same(
        on_the_device(data.map(lambda k, x: (k, jnp.where(x > 2, x, -x))).repeat(2)),
        plainly(data.map(lambda k, x: (k, jnp.where(x > 2, x, -x)))) * 2,
    )
    even = ragged().padded_batch(width, ([], [6]), -1, drop_remainder=True)
    taken = ag.function(lambda it: next(it))
    it = iter(even)
    same([taken(it)], filled(SIZES, width, 6, -1)[:1])


def test_a_sequence_model_over_padded_batches():
    embedding = ag.Variable(jnp.zeros(6))

    @ag.function
    def counts(data):
        for tokens in data:
            for row in tokens:
                for token in row:
                    if token == 0:
                        break
                    embedding[token].assign(embedding[token] + 1)
        return embedding.read_value()

    words = [[1, 2], [3], [3, 3, 5], [2]]
    data = Data.from_generator(lambda: iter(words), output_signature=ag.TensorSpec([None], jnp.int32))
    assert counts(data.padded_batch(2, padded_shapes=[4], drop_remainder=True)).tolist() == [0, 1, 2, 3, 0, 1]


def test_elements_of_one_shape():
    data = numbers(5).batch(2, drop_remainder=True).padded_batch(2, padded_shapes=[3], padding_values=7)
    assert [x.tolist() for x in data] == [[[0, 1, 7], [2, 3, 7]]]
    same(on_the_device(data), plainly(data))
    same(plainly(pairs(3).padded_batch(2)), plainly(pairs(3).batch(2)))
    matrices = Data.from_tensors(np.ones((2, 1), np.float32)).padded_batch(1, padded_shapes=[None, 2])
    assert jax.jit(ag.convert(lambda: matrices.get_single_element()))().tolist() == [[[1, 0], [1, 0]]]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: list(ragged().padded_batch(2, ([], [3]))), r"up to shape \(3,\), and one has shape \(5,\)"),
        (lambda: on_the_device(ragged().padded_batch(2, ([], [3]))), r"up to shape \(3,\), and one has shape \(5,\)"),
        (lambda: ragged().padded_batch(2, [3]), "padded_shapes has the structure of an element"),
        (lambda: ragged().padded_batch(2, ([2], [3])), "of another rank"),
        (lambda: ragged().padded_batch(2, padding_values=0.5), "0.5 for an array of dtype int32"),
        (lambda: ragged().padded_batch(2, padding_values=(0, "a")), "'a' for an array of dtype float32"),
        (lambda: numbers(6).batch(3).padded_batch(2, [2]), "which is larger"),
        (lambda: numbers(5).batch(3).padded_batch(2, [4]), "pass drop_remainder=True to the first batch"),
        (lambda: ragged().map(lambda k, x: x).padded_batch(2), "put padded_batch before map"),
        (lambda: list(ragged().batch(2)), r"cannot be batched; got \[\(1,\), \(3,\)\]. Use padded_batch"),
        (lambda: on_the_device(ragged()), "differ in shape, .*a program needs one shape"),
        (lambda: on_the_device(ragged().padded_batch(2)), "padded_shapes=...\\) with a number for each size"),
        (lambda: list(ragged().filter(lambda k, x: k > 1)), "a program needs one shape"),
        (lambda: Data.from_generator(lambda: [], ag.TensorSpec(None)), "must have a known rank"),
        (lambda: Data.from_generator(lambda: []), "takes the type of an element"),
    ],
)
def test_what_cannot_be_is_refused(make, message):
    with pytest.raises((TypeError, ValueError, ag.StagingError), match=message):
        make()


def test_a_place_among_padded_batches_is_kept_and_restored():
    data = ragged().padded_batch(2, ([], [5]), drop_remainder=True)
    it = iter(data)
    next(it)
    kept = ag.checkpoints.state(it)
    expected = [jax.tree.map(np.asarray, element) for element in it]
    again = iter(data)
    ag.checkpoints.restore(again, kept)
    same(plainly(again), expected)
