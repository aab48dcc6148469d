"""The benchmark of saving: two processes, the second of which has no source."""

import pytest

from autograph.tools.bench.saving import __main__ as command


def test_a_second_process_loads_predicts_raises_and_retrains(tmp_path, capsys, monkeypatch):
    pytest.importorskip("sklearn")
    found = command.ours(tmp_path)
    digits, ode = found["digits"], found["ode"]
    assert digits["others"] == 0 and digits["accuracy"] > 0.95 and digits["retrained"] > 0.95
    assert digits["raised"] == "ValueError: a grey level of 2.0 is more than 1"
    assert digits["bytes"] == sum(file.stat().st_size for file in (tmp_path / "digits").iterdir())
    assert ode["apart"] == 0 and ode["slopes apart"] < 1e-4

    monkeypatch.setattr(command, "ours", lambda folder: found)
    assert command.main(["--repeats", "1", "--no-peer"]) == 0
    printed = capsys.readouterr().out
    assert f"reads {digits['accuracy']:.1%} of the held-out digits" in printed and digits["raised"] in printed
    wanted = {f"| {model}: {what} |" for model in found for what in (*command.TIMES[:4], "bytes")}
    assert wanted | {"| ode: first gradient |", "| ode: next gradient |"} == {
        line[: line.index("|", 2) + 1] for line in printed.splitlines() if line.startswith(("| digits", "| ode"))
    }
