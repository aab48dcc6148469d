"""`save` and `load` of modules and their Variables; derivatives, platforms, other processes."""

from __future__ import annotations

import collections
import dataclasses
import enum
import json
import pathlib
import subprocess
import sys
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import safetensors.numpy

import autograph as ag
from tests.saved_models import Network, loaded

Spec = ag.TensorSpec
X = jnp.array([1.0, 2.0, 3.0])


# Modules and Variables.


def test_a_module_with_layers_in_a_list(tmp_path):
    network = Network()
    x = jnp.ones((2, 3))
    expected = network.predict(x, scale=2.0)
    again = loaded(network, tmp_path)
    assert again.predict(x, scale=2.0).tolist() == expected.tolist()
    assert int(again.steps) == 2 and int(network.steps) == 1
    assert [v.name for v in again.variables] == [v.name for v in network.variables]
    assert again.tied is again.layers[0].w and again.units == 4
    assert [v.name for v in again.trainable_variables] == ["b", "w", "b", "w"]
    assert again.layers[2](jnp.ones((2, 4))).shape == (2, 2)
    again.tied.assign(jnp.zeros((3, 4)))
    assert again.predict(x, scale=2.0).tolist() == [[0, 0], [0, 0]]
    saved = safetensors.numpy.load_file(tmp_path / "model" / "variables.safetensors")
    assert sorted(saved) == ["layers.0.b", "layers.0.w", "layers.2.b", "layers.2.w", "steps"]
    assert saved["layers.2.w"].tolist() == network.layers[2].w.numpy().tolist()


Point = collections.namedtuple("Point", "x y")


class Colour(enum.Enum):
    RED = 3


@dataclasses.dataclass
class Scaling:
    mean: np.ndarray
    by: list

    def __post_init__(self):
        self.note = "of the training data"


class Described(ag.Module):
    classes = ("a", "b")
    dtype = jnp.float32

    def __init__(self):
        self.w = ag.Variable(jnp.ones(3), name="w")
        self.rate, self.name, self.steps, self.nothing, self.on = 0.1, "naïve", 3, None, True
        self.options = {"z": 1, "a": [2.5, Point(1, self.w)], 3: {"deep": np.int8(4)}}
        self.table = np.linspace(0, 1, 4)
        self.wide = np.arange(3, dtype=">i8")
        self.scaling = Scaling(self.table, [self.w, jnp.arange(2, dtype=jnp.bfloat16)])
        self.recent = collections.deque([1, 2], maxlen=2)
        self.by_name = collections.OrderedDict(second=self.w, first=2)
        self.kinds = {Colour.RED, 1}
        self.key = jax.random.key(5)
        self.norm = ag.Variable(0.0).assign_add  # what stands for no data

    def not_converted(self, x):
        return x


def test_numbers_texts_and_arrays_in_attributes(tmp_path):
    module = Described()
    again = loaded(loaded(module, tmp_path / "1"), tmp_path / "2")
    assert (again.rate, again.name, again.steps, again.nothing, again.on) == (0.1, "naïve", 3, None, True)
    assert again.classes == ("a", "b") and again.dtype == jnp.float32
    assert list(again.options) == ["z", "a", 3] and again.options["z"] == 1 and again.options["a"][0] == 2.5
    assert again.options["a"][1].y is again.w and type(again.options[3]["deep"]) is np.int8
    assert again.table.tolist() == module.table.tolist() and again.table.dtype == np.float64
    assert again.wide.tolist() == [0, 1, 2] and again.wide.dtype == np.int64
    again.table[0] = 7  # the loaded one's own, as the original was
    assert again.scaling.mean is again.table and again.scaling.by[0] is again.w
    assert isinstance(again.scaling.by[1], jax.Array) and again.scaling.by[1].dtype == jnp.bfloat16
    assert (type(again.scaling).__name__, again.scaling.note) == ("Scaling", "of the training data")
    assert again.recent == collections.deque([1, 2]) and again.recent.maxlen == 2
    assert list(again.by_name) == ["second", "first"] and again.by_name["second"] is again.w
    assert again.kinds == {3, 1}
    assert jax.random.normal(again.key).tolist() == jax.random.normal(module.key).tolist()
    assert [v.name for v in again.variables] == [v.name for v in module.variables] == ["w"]


def test_what_is_no_data_leaves_a_mark(tmp_path):
    network, described = loaded(Network(), tmp_path / "1"), loaded(Described(), tmp_path / "2")
    assert "tanh" in repr(network.layers[1]) and "assign_add" in repr(described.norm)
    with pytest.raises(TypeError, match="tanh> was not saved"):
        network.layers[1](1.0)
    with pytest.raises(AttributeError, match="saved Described has no `not_converted`; it has .*rate"):
        described.not_converted(1.0)


def test_a_program_and_an_attribute_share_a_large_array(tmp_path):
    class Table(ag.Module):
        def __init__(self):
            self.rows = jnp.arange(2**19, dtype=jnp.float32)

        @ag.function
        def __call__(self, i):
            return self.rows[i]

    table = Table()
    table(jnp.array(3))
    again = loaded(table, tmp_path)
    assert float(again(jnp.array(7))) == 7 and again.rows[9] == 9
    assert sum(file.stat().st_size for file in (tmp_path / "model").iterdir()) < 3 * 2**20


def test_items_of_a_dict_that_are_no_functions(tmp_path):
    f = ag.function(lambda x: x + 1, [Spec([])])
    again = loaded({"f": f, "g": 3, "h": [np.arange(3), {"i": jnp.ones(2)}], "signatures": "s"}, tmp_path)
    assert again["g"] == again.g == 3 and again.h[0].tolist() == [0, 1, 2] and again.h[1]["i"].tolist() == [1, 1]
    assert float(again.f(jnp.array(1.0))) == 2 and again["signatures"] == "s"
    assert loaded({"only": np.arange(3)}, tmp_path).only.tolist() == [0, 1, 2]


@pytest.mark.parametrize("lost", [jnp.tanh, object(), [1, object()], np.array(["a"]), {"deep": (1, open)}])
def test_an_item_of_a_dict_that_cannot_be_saved(tmp_path, lost):
    f = ag.function(lambda x: x + 1, [Spec([])])
    with pytest.raises(TypeError, match="'scale' cannot be saved: it is "):
        ag.save({"f": f, "scale": lost}, tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_an_attribute_that_a_loaded_module_has_itself(tmp_path):
    module = Described()
    module.signatures = 3
    with pytest.raises(ValueError, match="`signatures` of Described cannot be saved"):
        ag.save(module, tmp_path / "model")


def test_modules_that_refer_to_each_other(tmp_path):
    parent, child = ag.Module(), ag.Module()
    parent.child, child.parent = child, parent
    parent.same, child.v = child, ag.Variable(3.0)
    again = loaded(parent, tmp_path)
    assert again.child.parent is again and again.same is again.child and float(again.same.v) == 3


def test_a_variable_made_at_the_first_call(tmp_path):
    class Lazy(ag.Module):
        def __init__(self):
            self.v = None

        @ag.function
        def __call__(self, x):
            if self.v is None:
                self.v = ag.Variable(jnp.ones_like(x) * 5)
            return self.v.assign_add(x).value

    module = Lazy()
    module(X)
    again = loaded(module, tmp_path)
    assert again(X).tolist() == [7, 9, 11] and again.v.numpy().tolist() == [7, 9, 11]


def test_variables_of_a_closure_go_along(tmp_path):
    total = ag.Variable(10.0, name="total")
    f = ag.function(lambda x: total.assign_add(x.sum()).value)
    f(X)
    again = loaded(f, tmp_path)
    assert float(again(X)) == 22 and float(total) == 16 and [v.name for v in again.variables] == ["total"]


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint32", "float16", "bfloat16", "float32", "complex64", "float8_e5m2", "int4"]
)
def test_variables_of_every_dtype(tmp_path, dtype):
    module = ag.Module()
    module.v = ag.Variable(jnp.array([[0, 1, 1]], dtype))
    module.empty = ag.Variable(jnp.zeros((0, 3), dtype))
    again = loaded(module, tmp_path)
    assert again.v.dtype == module.v.dtype and again.v.numpy().tolist() == module.v.numpy().tolist()
    assert again.empty.shape == (0, 3)


def test_a_variable_of_keys(tmp_path):
    module = ag.Module()
    module.key = ag.Variable(jax.random.key(3))
    assert (
        jax.random.key_data(loaded(module, tmp_path).key.value).tolist()
        == jax.random.key_data(jax.random.key(3)).tolist()
    )


def test_large_variables_lie_in_their_file(tmp_path):
    module = ag.Module()
    values = np.arange(2**20, dtype=np.float32)
    module.large, module.odd = ag.Variable(values), ag.Variable(jnp.arange(3, dtype=jnp.int8))

    @ag.function(donate_variables=True)
    def double():
        module.large.assign(module.large * 2)

    double()
    again = loaded({"module": module, "double": double}, tmp_path)
    if sys.platform == "linux":
        assert "variables.safetensors" in pathlib.Path("/proc/self/maps").read_text()
    assert (again["module"].large.numpy() == values * 2).all()
    again["double"]()
    assert (again["module"].large.numpy() == values * 4).all()
    assert (ag.load(tmp_path / "model")["module"].large.numpy() == values * 2).all()


def test_large_constants_go_along_once(tmp_path):
    table = jnp.arange(2**19, dtype=jnp.float32)
    f = ag.function(lambda i: table[i])
    f(jnp.array(3)), f(jnp.array([1, 2]))
    again = loaded(f, tmp_path)
    assert float(again(jnp.array(7))) == 7 and again.variables == ()
    assert sum(file.stat().st_size for file in (tmp_path / "model").iterdir()) < 3 * 2**20


def test_random_numbers_go_on(tmp_path):
    class Noisy(ag.Module):
        def __init__(self):
            self.generator = ag.random.Generator.from_seed(1)

        @ag.function
        def __call__(self, x):
            keep = self.generator.bernoulli(0.5, (3,))
            return jnp.where(keep, x, 0) + ag.random.normal((3,))

    ag.random.set_seed(7)
    noisy = Noisy()
    noisy(X)
    again = loaded(noisy, tmp_path)
    assert [again(X).tolist() for _ in range(3)] == [noisy(X).tolist() for _ in range(3)]
    assert float(again.generator.normal()) == float(noisy.generator.normal())


def test_a_loop_over_a_dataset_goes_along(tmp_path):
    data = ag.Dataset.from_tensor_slices(jnp.arange(6.0)).shuffle(seed=3).batch(2)

    @ag.function
    def total(x):
        for batch in data:
            x = x * 2 + batch.sum()
        return x

    expected = [float(total(jnp.array(0.0))) for _ in range(1)]
    again = loaded(total, tmp_path)
    assert [float(again(jnp.array(0.0))) for _ in range(2)] == [float(total(jnp.array(0.0))) for _ in range(2)]
    assert len(expected) == 1


# Saving again.


def test_what_was_loaded_is_saved_again(tmp_path):
    network = Network()
    x = jnp.ones((2, 3))
    expected = network.predict(x)
    again = loaded(loaded(network, tmp_path / "a"), tmp_path / "b")
    assert again.predict(x).tolist() == expected.tolist() and int(again.steps) == 2
    assert [v.name for v in again.variables] == [v.name for v in network.variables]


def test_loaded_twice_are_two(tmp_path):
    network = Network()
    network.predict(jnp.ones((2, 3)))
    first, second = loaded(network, tmp_path), ag.load(tmp_path / "model")
    first.predict(jnp.ones((2, 3)))
    assert int(first.steps) == 2 and int(second.steps) == 1


def test_a_save_replaces_the_one_before(tmp_path):
    module = ag.Module()
    module.v = ag.Variable(1.0)
    first = loaded(module, tmp_path)
    module.v.assign(2.0)
    assert float(loaded(module, tmp_path).v) == 2 and float(first.v) == 1
    assert [each.name for each in tmp_path.iterdir()] == ["model"]


def test_what_is_no_save_is_not_replaced(tmp_path):
    f = ag.function(lambda x: x, [Spec([])])
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_text("mine")
    (tmp_path / "file").write_text("mine")
    for name in ("notes", "file"):
        with pytest.raises(FileExistsError, match="not a saved model"):
            ag.save(f, tmp_path / name)
    assert (tmp_path / "notes" / "a.txt").read_text() == (tmp_path / "file").read_text() == "mine"


def test_a_save_that_fails_leaves_the_old_one(tmp_path, monkeypatch):
    module = ag.Module()
    module.v = ag.Variable(1.0)
    ag.save(module, tmp_path / "model")
    module.f = ag.function(lambda x: ag.print(x))
    module.f(X)
    with pytest.raises(ag.StagingError):
        ag.save(module, tmp_path / "model")
    assert float(ag.load(tmp_path / "model").v) == 1
    assert [each.name for each in tmp_path.iterdir()] == ["model"]


def test_one_state_while_another_thread_trains(tmp_path):
    a, b = ag.Variable(jnp.zeros(1000)), ag.Variable(jnp.zeros(()))
    module = ag.Module()
    module.a, module.b = a, b

    @ag.function
    def step():
        a.assign_add(jnp.ones(1000))
        b.assign_add(1.0)

    done = threading.Event()

    def train():
        while not done.is_set():
            step()

    thread = threading.Thread(target=train)
    thread.start()
    try:
        for _ in range(20):
            again = loaded(module, tmp_path)
            assert again.a.numpy().tolist() == [float(again.b)] * 1000
    finally:
        done.set()
        thread.join()


# Derivatives and platforms.


def test_derivatives_go_along(tmp_path):
    w = ag.Variable(2.0, name="w")

    @ag.function(input_signature=[Spec([])])
    def root(x):
        y = x
        while abs(y * y - x * w) > 1e-6 * x:
            y = (y + x * w / y) / 2
        return y

    again = loaded(root, tmp_path)
    value, (slope,) = ag.value_and_grad(again)(jnp.array(8.0))
    assert float(value) == pytest.approx(4) and float(slope) == pytest.approx(1, rel=1e-3)
    assert float(jax.grad(lambda x: again(x))(8.0)) == pytest.approx(0.25, rel=1e-3)


def test_derivatives_of_a_higher_order_on_request(tmp_path):
    f = ag.function(lambda x: x**4, [Spec([])])
    once, twice = loaded(f, tmp_path / "1"), loaded(f, tmp_path / "2", derivatives=2)
    assert float(jax.grad(jax.grad(lambda x: twice(x)))(2.0)) == 48
    with pytest.raises(ag.StagingError, match="^(?!fun_vjp).* was saved with derivatives of order 1"):
        jax.grad(jax.grad(lambda x: once(x)))(2.0)
    with pytest.raises(ag.StagingError, match="saved with derivatives of order 0"):
        jax.grad(lambda x: loaded(f, tmp_path / "0", derivatives=0)(x))(2.0)


def test_a_training_step_goes_along(tmp_path):
    w = ag.Variable(jnp.zeros(3), name="w")

    @ag.function(input_signature=[Spec(["n", 3]), Spec(["n"])])
    def train(x, y):
        loss, (slope,) = ag.value_and_grad(lambda: ((x @ w - y) ** 2).mean(), [w])()
        w.assign_sub(0.1 * slope)
        return loss

    again = loaded(train, tmp_path)
    x = jnp.array([[1.0, 2.0, 3.0], [0.0, 1.0, 0.0]])
    losses = [float(again(x, jnp.array([1.0, 2.0]))) for _ in range(5)]
    assert losses == [float(train(x, jnp.array([1.0, 2.0]))) for _ in range(5)] and losses[-1] < losses[0]


def test_one_artifact_for_several_platforms(tmp_path):
    f = ag.function(lambda x: x + 1, [Spec([None])])
    assert loaded(f, tmp_path, platforms=("cpu", "cuda", "tpu"))(X).tolist() == [2, 3, 4]
    other = loaded(f, tmp_path, platforms=["tpu"])
    with pytest.raises(ag.StagingError, match="saved for tpu, and this machine has cpu"):
        other(X)


@pytest.mark.parametrize("platforms", [("tpu",), ("cpu", "tpu")])
def test_a_program_for_one_platform_is_not_lowered_for_another(tmp_path, platforms):
    f = ag.function(lambda x: x + 1, [Spec([None])])
    again = loaded(f, tmp_path)
    with pytest.raises(ag.StagingError, match="was saved for cpu, and is lowered for tpu here"):
        jax.jit(lambda x: again(x)).trace(X).lower(lowering_platforms=platforms)
    with pytest.raises(ag.StagingError, match="for cpu, and is lowered for tpu here"):
        ag.save(again, tmp_path / "for both", platforms=platforms)


def test_a_program_that_solves_goes_along(tmp_path):
    f = ag.function(lambda a, b: jnp.linalg.solve(a @ a.T, b), [Spec(["n", "n"]), Spec(["n"])])
    again = loaded(f, tmp_path)
    assert again(2 * jnp.eye(2), jnp.array([4.0, 8.0])).tolist() == [1, 2]


def test_in_loops_branches_and_other_functions(tmp_path):
    again = loaded(ag.function(lambda x: x * 2, [Spec([])]), tmp_path)

    @ag.function
    def f(x):
        while x < 100:
            x = again(x)
            if x > 50:
                x = again(x) + 1
        return x

    assert float(f(jnp.array(3.0))) == 193
    assert float(jax.jit(lambda x: again(x))(3.0)) == 6


def test_what_a_function_implements_is_in_the_manifest(tmp_path):
    f = ag.function(lambda x: x, [Spec([])], experimental_implements="com.example.identity")
    ag.save(loaded(f, tmp_path), tmp_path / "again")
    manifest = json.loads((tmp_path / "again" / "manifest.json").read_text())
    assert manifest["functions"][0]["implements"] == "com.example.identity"
    ag.save(f.get_concrete_function(), tmp_path / "program")
    manifest = json.loads((tmp_path / "program" / "manifest.json").read_text())
    assert manifest["functions"][0]["implements"] == "com.example.identity"


def test_in_another_process(tmp_path):
    network = Network()
    expected = network.predict(jnp.ones((2, 3)))
    ag.save(network, tmp_path / "model")
    program = (
        "import sys, autograph as ag, jax.numpy as jnp\nprint(ag.load(sys.argv[1]).predict(jnp.ones((2, 3))).tolist())"
    )
    run = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "model")],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=True,
    )
    assert json.loads(run.stdout) == expected.tolist()
