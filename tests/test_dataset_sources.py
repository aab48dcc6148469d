"""Data of other libraries as datasets: by number, or one element after the other."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests.dataset_pipelines import Data, on_the_device, plainly, same


class Loader:
    """What data loaders have in common: it can be iterated again and again."""

    def __init__(self, elements):
        self.elements = elements
        self.started = 0

    def __iter__(self):
        self.started += 1
        return iter(self.elements)


def test_a_loader_is_iterated_by_each_loop_anew():
    loader = Loader([{"x": np.full(2, k, np.float32), "y": k} for k in range(5)])
    data = Data.from_iterable(loader)
    assert data.element_spec == {"x": ag.TensorSpec((2,), np.float32), "y": ag.TensorSpec((), np.int32)}
    expected = [{"x": np.full(2, k, np.float32), "y": np.int32(k)} for k in range(5)]
    same(plainly(data), expected)
    same(on_the_device(data, times=2), expected * 2)
    assert loader.started == 4
    later = Data.from_iterable(loader, length=5).filter(lambda row: row["y"] > 1).batch(2)
    assert (
        [row["y"].tolist() for row in plainly(later)]
        == [row["y"].tolist() for row in on_the_device(later)]
        == [[2, 3], [4]]
    )


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: iter([1]), "not an iterator"),
        (lambda: 3, "not an iterator"),
        (lambda: Loader([]), "is empty"),
        (lambda: Loader(["a"]), "arrays of numbers"),
    ],
)
def test_what_cannot_be_meant_is_refused(make, message):
    with pytest.raises((TypeError, ValueError), match=message):
        Data.from_iterable(make())


def test_grain():
    grain = pytest.importorskip("grain")
    source = grain.MapDataset.range(10).map(np.float32).shuffle(seed=1)
    order = [float(source[k]) for k in range(10)]
    for data in (Data(source), Data.from_iterable(source.to_iter_dataset())):
        assert [float(x) for x in data] == [float(x) for x in on_the_device(data)] == order
        assert [x.tolist() for x in on_the_device(data.batch(4))] == [order[:4], order[4:8], order[8:]]


def test_hugging_face_datasets():
    datasets = pytest.importorskip("datasets")
    table = datasets.Dataset.from_dict({"x": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], "y": [0, 1, 0]}).with_format("numpy")
    for data in (Data(table), Data.from_iterable(table)):
        same(on_the_device(data), plainly(data))
        assert [row["x"].tolist() for row in data] == [[1, 2], [3, 4], [5, 6]]
        assert [row["y"].tolist() for row in on_the_device(data.batch(2))] == [[0, 1], [0]]


def test_a_loaders_smaller_last_batch_is_refused_with_the_way_out():
    loader = Loader([np.zeros((2, 3)), np.zeros((1, 3))])
    for run in (plainly, on_the_device):
        with pytest.raises(ValueError, match=r"\(2, 3\) received one of shape \(1, 3\)(?s:.*)drop_last=True"):
            run(Data.from_iterable(loader))


def test_training_from_a_torch_loader():
    torch = pytest.importorskip("torch")
    x = torch.randn(64, 3, generator=torch.Generator().manual_seed(0))
    rows = torch.utils.data.TensorDataset(x, x @ torch.tensor([1.0, -2.0, 0.5]))
    loader = torch.utils.data.DataLoader(rows, batch_size=16, shuffle=True, drop_last=True)
    w = ag.Variable(jnp.zeros(3))

    @ag.function
    def train(data, epochs):
        loss = 0.0
        for _ in ag.range(epochs):
            for inputs, targets in data:
                loss, slope = ag.value_and_grad(lambda: jnp.mean((inputs @ w - targets) ** 2), [w])()  # noqa: B023
                w.assign_sub(0.2 * slope[0])
        return loss

    assert float(train(Data.from_iterable(loader), 12)) < 1e-3
    assert np.allclose(w.numpy(), [1.0, -2.0, 0.5], atol=0.05)
    streamed = torch.utils.data.DataLoader(loader.dataset, batch_size=None)
    assert [len(y) for _, y in on_the_device(Data.from_iterable(streamed).batch(12))] == [12] * 5 + [4]


def test_torch():
    torch = pytest.importorskip("torch")
    rows = torch.utils.data.TensorDataset(torch.arange(8.0).reshape(4, 2), torch.arange(4))
    loader = torch.utils.data.DataLoader(rows, batch_size=2)
    for data in (Data(rows).batch(2), Data.from_iterable(loader)):
        assert [y.tolist() for x, y in on_the_device(data)] == [[0, 1], [2, 3]]
        assert [x.tolist() for x, y in data] == [[[0, 1], [2, 3]], [[4, 5], [6, 7]]]
