"""Saves of processes that are killed, and saves while others load: what stands at the path is always one whole save."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import jax.numpy as jnp
import pytest

import autograph as ag

SIZE = 2**16
PROGRAM = f"""
import itertools, sys
import jax.numpy as jnp
import autograph as ag

model = ag.Module()
model.number, model.large = ag.Variable(0.0), ag.Variable(jnp.zeros({SIZE}))
for k in itertools.count(1):
    model.number.assign(k)
    model.large.assign(jnp.full({SIZE}, float(k)))
    ag.save(model, sys.argv[1])
    print(k, flush=True)
"""


def started(path):
    return subprocess.Popen([sys.executable, "-c", PROGRAM, str(path)], stdout=subprocess.PIPE, text=True)


def number_of(path):
    """The number of a save, all of which says the same."""
    model = ag.load(path)
    assert model.large.shape == (SIZE,) and (model.large.numpy() == float(model.number)).all()
    return int(model.number)


def end(process):
    process.send_signal(signal.SIGKILL)
    out, _ = process.communicate(timeout=60)
    return [int(line) for line in out.split()]


def is_saving(path):
    return any(path.parent.glob(".*saving-*"))


def kill_while_it_saves(process, path):
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if is_saving(path):
            process.send_signal(signal.SIGSTOP)
            os.waitpid(process.pid, os.WUNTRACED)  # until it has stopped
            if is_saving(path):
                return
            process.send_signal(signal.SIGCONT)
    raise AssertionError("no save was seen")


@pytest.mark.skipif(sys.platform == "win32", reason="processes cannot be stopped and killed so there")
def test_a_process_that_is_killed_while_it_saves(tmp_path):
    path = tmp_path / "model"
    for wait in (1, 4):
        process = started(path)
        try:
            said = [int(process.stdout.readline()) for _ in range(wait)]
            kill_while_it_saves(process, path)
        finally:
            said += end(process)
        assert said[-1] <= number_of(path) <= said[-1] + 1
    assert len(list(tmp_path.iterdir())) > 1, "it was not killed while it saved"
    model = ag.Module()
    model.number, model.large = ag.Variable(0.0), ag.Variable(jnp.zeros(SIZE))
    ag.save(model, path)  # removes what those have left
    assert [each.name for each in tmp_path.iterdir()] == ["model"] and number_of(path) == 0


@pytest.mark.skipif(sys.platform == "win32", reason="processes cannot be killed so there")
def test_what_is_loaded_while_another_process_saves(tmp_path):
    path = tmp_path / "model"
    process = started(path)
    try:
        process.stdout.readline()
        numbers = [number_of(path) for _ in range(200)]
    finally:
        last = end(process)[-1]
    assert numbers == sorted(numbers) and numbers[0] < numbers[-1] <= last + 1


def test_a_load_begins_again_where_a_save_has_taken_the_files_away(tmp_path, monkeypatch):
    path = tmp_path / "model"
    model = ag.Module()
    model.number, model.large = ag.Variable(1.0), ag.Variable(jnp.full(SIZE, 1.0))
    ag.save(model, path)

    from autograph.runtime.saving import manifest

    read, saves = manifest.read, []

    def read_and_be_overtaken(directory):
        body = read(directory)
        if len(saves) < 3:
            saves.append(directory)
            model.number.assign_add(1.0)
            model.large.assign_add(jnp.ones(SIZE))
            ag.save(model, path)
        return body

    monkeypatch.setattr(manifest, "read", read_and_be_overtaken)
    assert number_of(path) == 4 and len(saves) == 3
    (path / manifest.VARIABLES).unlink()
    with pytest.raises(ag.LoadError, match="missing"):
        ag.load(path)
