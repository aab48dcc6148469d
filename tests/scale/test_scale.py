"""Decorated functions find the same on one device, on a mesh of eight, and in two processes: what plain Python finds."""

from __future__ import annotations

import fcntl
import os
import pickle

import jax
import numpy as np
import pytest

import tests.scale.programs  # noqa: F401  registers them
from tests.scale import settings
from tests.scale.world import PROGRAMS, REFUSED

pytestmark = pytest.mark.slow

STAGED = ("one", "mesh", "processes")
AGREEING = [(name, setting) for name in PROGRAMS for setting in STAGED if setting not in REFUSED.get(name, ("", ()))[1]]


@pytest.fixture(scope="session", name="found")
def all_settings(tmp_path_factory):
    """A function of a setting: what each of its processes found. Each setting is run once, by whichever of pytest's
    workers comes first.
    """
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:  # the folder above is the run's; without workers it is that of all runs
        folder = folder.parent
    folder /= "scale"
    folder.mkdir(exist_ok=True)
    known = {}

    def found(setting):
        if setting not in known:
            file = folder / f"{setting}.pickle"
            with (folder / f"{setting}.lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                if not file.exists():
                    file.write_bytes(pickle.dumps(settings.run(setting, folder)))
            known[setting] = pickle.loads(file.read_bytes())
        return known[setting]

    return found


def result_of(program, found, what):
    assert program in found, f"{what} did not get as far as this program, or hangs in it"
    assert found[program]["failure"] is None, f"{what}: {found[program]['failure']}"
    return found[program]["result"]


@pytest.mark.parametrize("name, setting", AGREEING, ids=map("-".join, AGREEING))
def test_as_in_python(name, setting, found):
    (plain,) = found("plain")
    wanted, structure = jax.tree.flatten(result_of(name, plain, "plain Python"))
    for number, process in enumerate(found(setting)):
        leaves, own = jax.tree.flatten(result_of(name, process, f"process {number} of {setting!r}"))
        assert own == structure
        for value, other in zip(leaves, wanted, strict=True):
            assert np.shape(value) == np.shape(other)
            if np.asarray(other).dtype.kind in "fc":
                np.testing.assert_allclose(value, other, rtol=2e-5, atol=1e-6)
            else:
                np.testing.assert_array_equal(value, other)


@pytest.mark.parametrize("name", [name for name, (_, where) in REFUSED.items()])
def test_refused_with_the_users_line(name, found):
    words, where = REFUSED[name]
    for setting in where:
        for process in found(setting):
            failure = process[name]["failure"]
            assert failure is not None, f"{setting!r} gives {process[name]['result']}"
            message = failure.partition("StagingError: ")[2]
            assert words in message
            assert "tests/scale/programs/" in message.splitlines()[0]


def test_one_process_prints(found):
    """That of the mesh's first device, in the program's order, as Python does."""
    (plain,) = found("plain")
    wanted = plain["prints"]["printed"]
    assert wanted.count("largest") == 5
    assert found("one")[0]["prints"]["printed"] == wanted
    assert found("mesh")[0]["prints"]["printed"] == wanted
    assert [process["prints"]["printed"] for process in found("processes")] == [wanted, ""]


def test_in_shard_map_each_device_prints(found):
    lines = [process["print_in_shard_map"]["printed"].splitlines() for process in found("processes")]
    assert [len(mine) for mine in lines] == [4, 4]
    assert {line for mine in lines for line in mine} == set(
        found("one")[0]["print_in_shard_map"]["printed"].splitlines()
    )


@pytest.mark.parametrize(
    "program", ["random_numbers", "random_dropout", "random_numbers_in_shard_map", "parallel_chains"]
)
def test_the_same_stream_to_the_last_bit(program, found):
    wanted = jax.tree.leaves(found("one")[0][program]["result"])
    for setting in ("mesh", "processes"):
        for process in found(setting):
            for value, other in zip(jax.tree.leaves(process[program]["result"]), wanted, strict=True):
                np.testing.assert_array_equal(value, other)
