"""The benchmarks' programs: converted, written by hand, and in plain Python, they compute the same."""

import json
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from autograph.tools.bench import __main__ as bench
from autograph.tools.bench import measure, report
from autograph.tools.bench.workloads import WORKLOADS
from autograph.tools.cli import main as command


def numbers(result):
    return np.concatenate([np.ravel(np.asarray(leaf, np.float64)) for leaf in jax.tree.leaves(result)])


@pytest.mark.parametrize("name", WORKLOADS)
def test_versions_agree(name):
    workload = WORKLOADS[name]
    arguments = workload.arguments(True)
    values = jax.tree.map(jnp.asarray, arguments)
    found = numbers(ag.function(workload.program(jnp))(*values))
    for version, function in workload.by_hand().items():
        np.testing.assert_allclose(found, numbers(jax.jit(function)(*values)), rtol=2e-3, atol=1e-4, err_msg=version)
    if not name.endswith("-gradient"):  # plain Python has no gradients
        np.testing.assert_allclose(found, numbers(workload.program(np)(*arguments)), rtol=2e-3, atol=1e-4)


def test_command_writes_table_plot_and_figures(tmp_path):
    run = [sys.executable, "-m", "autograph.tools.bench", "newton", "--quick", "--rounds", "4", "--out", str(tmp_path)]
    done = subprocess.run(run, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    assert "| newton |" in done.stdout and "| newton |" in (tmp_path / "results.md").read_text()
    figures = json.loads((tmp_path / "results.json").read_text())["newton"]
    assert len(figures["autograph"]["seconds"]) == 4 and figures["lax, straightforward"]["error"] is None
    assert (tmp_path / "results.png").stat().st_size > 1000


def test_unknown_workload_is_one_line(capsys):
    assert command(["bench", "newtn"]) == 2
    message = capsys.readouterr().err
    assert "newtn" in message and "newton" in message and message.count("\n") == 1


def test_another_result_is_not_timed():
    class Process:
        kind = "jax"

        def ask(self, op, **request):
            if op == "time":
                return {"wall": 1e-3, "cpu": 2e-3}
            files = {}
            for version, value in [("autograph", 1.0), ("lax, straightforward", 2.0)]:
                path = f"{request['folder']}/{version}.npy"
                np.save(path, np.array([value]))
                files[version] = {"first": 0.1, "result": path}
            return files

    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        ours, other = measure.measured(WORKLOADS["newton"], [Process()], folder, 3, True)
    assert ours.seconds and not other.seconds and "another result" in other.error
    table = report.markdown({"newton": [ours, other]}, {"newton": "roots"}, "today")
    assert "| newton | 50 µs | – |" in table and "differs by" in table
    assert measure.is_failed([ours, other]) and not measure.is_failed([ours])


@pytest.mark.parametrize("fails", ["load", "time", "version"])
def test_a_workload_that_fails_is_told_by_the_status(fails, tmp_path, monkeypatch, capsys):
    class Process:
        def __init__(self, kind):
            self.kind = kind

        def ask(self, op, **request):
            if op == "versions":
                return {"jax": "0"}
            if op == fails:
                return {"error": "RuntimeError: it fails"}
            if op == "time":
                return {"wall": 1e-3, "cpu": 1e-3}
            path = f"{request['folder']}/result.npy"
            np.save(path, np.array([1.0]))
            good = {"first": 0.1, "result": path}
            return {"autograph": good, "lax, best": {"error": "it fails"} if fails == "version" else good}

        def close(self):
            pass

    monkeypatch.setattr(bench, "Process", Process)
    assert bench.main(["newton", "--rounds", "2", "--out", str(tmp_path)]) == 1
    assert "it fails" in capsys.readouterr().out
