"""The benchmark of the programs that were ported from TensorFlow: each runs, learns, and has its row."""

from __future__ import annotations

import pytest

from autograph.tools.bench.ports import __main__ as command


def test_the_ports_run_by_step_and_are_listed(capsys, monkeypatch):
    pytest.importorskip("optax")
    pytest.importorskip("flax")
    found = command.ours(quick=True)
    assert set(found) == set(command.TASKS)
    assert found["dqn"]["check"] == 2 * 10 + 200  # updates: of two runs of 510 steps and one of 700, from step 500 on
    assert 0 < found["transformer"]["check"] < 2.5 and 0 < found["heat"]["check"] < 1
    assert all(figures["first"] > 0 for figures in found.values())

    monkeypatch.setattr(command, "ours", lambda quick: found)
    assert command.main(["--repeats", "1", "--no-peer", "--quick"]) == 0
    printed = capsys.readouterr().out
    assert "TensorFlow: not asked for" in printed and "autograph: 220 updates" in printed
    assert all(f"| {about} | {found[task]['step'] * 1e3:.3g} ms |" in printed for task, about in command.TASKS.items())


def test_the_table_has_medians_and_a_column_for_each_library():
    def figures(step):
        return {task: {"step": step, "first": 2.0, "check": 1.0} for task in command.TASKS}

    lines = command.table({"autograph": [figures(k / 1e3) for k in (1, 9, 2)], "TensorFlow": [figures(0.5)]})
    assert lines[0] == "| task | autograph, a step | first run | TensorFlow, a step | first run |"
    assert lines[1].count("---:") == 4 and len(lines) == 5
    assert all(line.endswith("| 2 ms | 2.0 s | 500 ms | 2.0 s |") for line in lines[2:])
