"""`checkpoints`: state of every kind as arrays, set in place; training that is killed goes on bit for bit."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import orbax.checkpoint as ocp
import pytest

import autograph as ag
from autograph import checkpoints
from tests.rooms import ROOT

Data = ag.Dataset


def through_orbax(state, folder):
    """A state, written and read without its types."""
    with ocp.StandardCheckpointer() as checkpointer:
        checkpointer.save(folder / "state", state)
        checkpointer.wait_until_finished()
        return checkpointer.restore(folder / "state")


class Model(ag.Module):
    def __init__(self):
        self.w = ag.Variable(jnp.arange(3.0), name="w")
        self.layers = [self.w, {"b": ag.Variable(jnp.bfloat16(1), name="b"), 2: ag.Variable([True, False])}]
        self.inner = ag.random.Generator.from_seed(4)
        self.text = "not state"

    @ag.function
    def step(self):
        self.w.assign_add(self.inner.normal((3,)))
        self.layers[1]["b"].assign_add(1)
        return self.w + self.layers[1]["b"]


# What is kept.


def test_names_are_those_of_attributes_and_each_variable_is_there_once():
    state = checkpoints.state(Model())
    assert sorted(state) == ["inner", "layers"] and sorted(state["inner"]) == ["state"]
    assert sorted(state["layers"]) == ["0", "1"] and sorted(state["layers"]["1"]) == ["2", "b"]


def test_a_model_goes_on_in_another_object(tmp_path):
    first, second = Model(), Model()
    first.step(), second.step(), second.step()
    kept = through_orbax(checkpoints.state(first), tmp_path)
    assert checkpoints.restore(second, kept) is second
    assert second.layers[1]["b"].dtype == jnp.bfloat16
    for _ in range(3):
        assert first.step().tolist() == second.step().tolist()
    assert second.step.experimental_get_tracing_count() == 1


def test_a_lone_variable_and_the_global_generator():
    v = ag.Variable(3.0)
    state = checkpoints.state({"v": v, "random": ag.random.get_global_generator()})
    drawn = ag.random.normal().item()
    v.assign(5.0)
    checkpoints.restore({"v": v, "random": ag.random.get_global_generator()}, state)
    assert v.numpy() == 3 and ag.random.normal().item() == drawn
    assert checkpoints.state(v)["value"] == 3


def test_arrays_and_numbers_of_other_trees_keep_their_types():
    mlp = eqx.nn.MLP(2, 1, 4, 1, key=jax.random.key(0))
    tree = {
        "mlp": mlp,
        "key": jax.random.key(3),
        "weak": jnp.asarray(0.5),
        "numpy": np.arange(3, dtype=np.int64),
        "scalar": np.float64(0.1),
        "numbers": (True, 2, 0.1, 1j),
        "none": None,
        "text": "left out",
    }
    state = checkpoints.state(tree)
    assert "text" not in state and "none" not in state
    assert all(isinstance(leaf, jax.Array | np.ndarray | np.generic) for leaf in jax.tree.leaves(state))
    other = jax.tree.map(
        lambda x: x * 0 if eqx.is_array(x) and not jnp.issubdtype(x.dtype, jax.dtypes.prng_key) else x, tree
    )
    other |= {"key": jax.random.key(9), "scalar": np.float64(0), "numbers": (False, 0, 0.0, 0j), "text": "own"}
    found = checkpoints.restore(other, state)
    assert found["numbers"] == (True, 2, 0.1, 1j) and [type(n) for n in found["numbers"]] == [bool, int, float, complex]
    assert found["weak"].weak_type and found["weak"] == 0.5 and found["text"] == "own" and found["none"] is None
    assert (
        type(found["numpy"]) is np.ndarray and found["numpy"].dtype == np.int64 and found["scalar"] == np.float64(0.1)
    )
    assert jax.random.normal(found["key"]) == jax.random.normal(tree["key"])
    x = jnp.ones(2)
    assert found["mlp"](x) == mlp(x) and found["mlp"].activation is mlp.activation


def test_the_values_are_those_of_one_moment():
    first, second = ag.Variable(0), ag.Variable(0)

    @ag.function
    def both():
        first.assign_add(1)
        second.assign_add(1)

    stop = threading.Event()

    def train():
        while not stop.is_set():
            both()

    thread = threading.Thread(target=train)
    thread.start()
    try:
        for _ in range(200):
            state = checkpoints.state([first, second])
            assert state["0"] == state["1"]
    finally:
        stop.set()
        thread.join()


# Places in datasets.


def counted():
    yield from range(40)


ITERATED = {
    "numbers": lambda: Data.range(40),
    "batches": lambda: Data.range(40).batch(4),
    "shuffled": lambda: Data.range(40).shuffle(seed=3),
    "shuffled twice": lambda: Data.range(10).shuffle(seed=3).repeat(4).shuffle(seed=1, reshuffle_each_iteration=False),
    "endless": lambda: Data.from_tensor_slices(jnp.arange(7)).shuffle(seed=0).repeat(),
    "generator": lambda: Data.from_generator(counted, np.int32, length=40),
    "shuffled generator": lambda: (
        Data.from_generator(counted, np.int32).shuffle(5, seed=1).batch(2, drop_remainder=True)
    ),
}


def elements(draw, count):
    return [np.asarray(draw()).tolist() for _ in range(count)]


@pytest.mark.parametrize("kind", ITERATED)
def test_an_iterator_goes_on_where_it_was(kind, tmp_path):
    """Also one whose program was traced for another place and another order."""
    data = ITERATED[kind]()
    list(zip(data, range(2)))  # an order is used up
    first = iter(data)
    elements(lambda: next(first), 5)
    kept = through_orbax(checkpoints.state(first), tmp_path)

    expected = elements(lambda: next(first), 5)
    following = elements(iter(data).__next__, 3)

    for taking in ("in Python", "in a function", "in a traced function"):
        other = ITERATED[kind]()
        second = iter(other)
        draw = ag.function(lambda second=second: next(second)) if "function" in taking else second.__next__
        if taking == "in a traced function":
            elements(draw, 2)
        checkpoints.restore(second, kept)
        assert elements(draw, 5) == expected, taking
        # The iterations that follow have the same orders.
        assert elements(iter(other).__next__, 3) == following, taking


@pytest.mark.parametrize("kind", ["shuffled", "generator"])
def test_a_loop_over_an_iterator_goes_on(kind):
    data = ITERATED[kind]()
    place = iter(data)

    @ag.function
    def some(count):
        taken = []
        for k in place:
            ag.set_loop_options(maximum_length=40)
            taken.append(k)
            if len(taken) == count:
                break
        return taken

    some(jnp.array(4))
    kept = checkpoints.state(place)
    expected = np.asarray(some(jnp.array(6))).tolist()
    some(jnp.array(3))
    checkpoints.restore(place, kept)
    assert np.asarray(some(jnp.array(6))).tolist() == expected


def test_a_dataset_counts_on():
    first, second = (Data.range(9).shuffle(seed=2) for _ in range(2))

    @ag.function
    def order(data):
        digits = jnp.array(0)
        for k in data:
            digits = digits * 9 + k
        return digits

    order(first), order(first), order(second)
    checkpoints.restore([second], checkpoints.state([first]))
    assert int(order(first)) == int(order(second))
    assert [int(k) for k in first] == [int(k) for k in second]


# What is refused.


def test_a_shuffle_without_a_seed():
    with pytest.raises(ValueError, match="model.rows.seeds.1 is shuffled without a seed"):
        checkpoints.state({"model": {"rows": iter(Data.range(5).shuffle())}})


def test_what_does_not_fit_changes_nothing():
    model = Model()
    before = jax.tree.map(np.asarray, checkpoints.state(model))
    generator, inner = {"state": jnp.uint32([9, 9])}, before["layers"]["1"]
    wrong = {
        "layers.0 is float32[3], and in the state float32[4]": {"0": jnp.ones(4), "1": inner},
        "layers.0 is float32[3], and in the state int32[3]": {"0": jnp.arange(3), "1": inner},
        "layers.2 is in the state, and not here": {**before["layers"], "2": jnp.ones(4)},
        "is there after its first call": {**before["layers"], "2": jnp.ones(4)},
        "layers.1.b is not in the state": {"0": before["layers"]["0"], "1": {"2": inner["2"]}},
    }
    for text, layers in wrong.items():
        with pytest.raises(ValueError, match=re.escape(text)):
            checkpoints.restore(model, {"inner": generator, "layers": layers})
    after = checkpoints.state(model)
    assert jax.tree.all(jax.tree.map(lambda a, b: bool((np.asarray(a) == b).all()), after, before))


def test_other_data():
    one, other = (iter(Data.range(9).shuffle(seed=seed)) for seed in (1, 2))
    with pytest.raises(ValueError, match="another seed"):
        checkpoints.restore(one, checkpoints.state(other))
    long, short = (iter(Data.from_generator(lambda n=n: iter(range(n)), np.int32)) for n in (9, 3))
    elements(lambda: next(long), 5)
    next(short)
    with pytest.raises(ValueError, match="5 elements of a dataset had been taken, and now it has 3"):
        checkpoints.restore(short, checkpoints.state(long))
    assert int(next(short)) == 1


def test_a_function_has_no_state_of_its_own():
    v = ag.Variable(1.0)
    with pytest.raises(TypeError, match="Name the Variables"):
        checkpoints.state({"f": ag.function(lambda: v + 1)})


def test_names_that_are_the_same():
    with pytest.raises(ValueError, match="two parts of the state have the name of.1"):
        checkpoints.state(Twice())


class Twice(ag.Module):
    def __init__(self):
        self.of = {1: ag.Variable(1.0), "1": ag.Variable(2.0)}


def test_not_in_a_program():
    v = ag.Variable(1.0)
    with pytest.raises(ag.StagingError, match="checkpoints.state is called in a function that is being traced"):
        ag.function(lambda: checkpoints.state(v)["value"])()
    with pytest.raises(ag.StagingError, match="checkpoints.restore is called"):
        jax.jit(lambda x: checkpoints.restore(v, {"value": x}))(1.0)


# Training that is killed.

STEPS = 12


class Run:
    """`killed_training` in a process of its own."""

    def __init__(self, folder, cache, writes=False):
        least = "0" if writes else "1000"  # what is killed leaves no half entry there
        settings = os.environ | {"JAX_COMPILATION_CACHE_DIR": str(cache), "JAX_PLATFORMS": "cpu"}
        settings |= {
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": least,
            "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
        }
        command = [sys.executable, "-m", "tests.killed_training", str(folder), str(STEPS)]
        self.process = subprocess.Popen(
            command, cwd=ROOT, env=settings, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.steps: dict[int, str] = {}

    def go(self, steps):
        """Read what so many steps print."""
        for line, _ in zip(self.process.stdout, range(steps)):
            number, sums = line.split()
            self.steps[int(number)] = sums
        return self

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        out, _ = self.process.communicate()
        assert self.process.returncode == -signal.SIGKILL
        self.steps |= {int(line.split()[0]): line.split()[1] for line in out.splitlines() if len(line) > 65}


def is_saving(folder: Path) -> bool:
    return any("tmp" in path.name for path in folder.iterdir())


def kill_while_it_saves(run: Run, folder: Path) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and run.process.poll() is None:
        if is_saving(folder):
            run.process.send_signal(signal.SIGSTOP)
            if is_saving(folder):
                run.kill()
                return
            run.process.send_signal(signal.SIGCONT)
        time.sleep(0.0005)
    raise AssertionError("no save was seen")


def test_training_that_is_killed_goes_on_bit_for_bit(tmp_path):
    """Once while a checkpoint is written, and at a random moment."""
    cache, folder = tmp_path / "compiled", tmp_path / "checkpoints"
    whole = Run(tmp_path / "whole", cache, writes=True).go(STEPS)
    _, errors = whole.process.communicate()
    assert whole.process.returncode == 0 and sorted(whole.steps) == list(range(1, STEPS + 1)), errors

    chance, runs = random.Random(), []
    runs.append(Run(folder, cache).go(2))
    kill_while_it_saves(runs[-1], folder)
    runs.append(Run(folder, cache).go(chance.randint(1, 3)))
    time.sleep(chance.uniform(0, 0.1))
    runs[-1].kill()
    runs.append(Run(folder, cache).go(STEPS))
    _, errors = runs[-1].process.communicate()
    assert runs[-1].process.returncode == 0, errors

    for run in runs:
        assert run.steps == {k: whole.steps[k] for k in run.steps}
    assert STEPS in runs[-1].steps and min(runs[1].steps) > 1
