"""`autograph inspect --target`: what is printed of a program for chips that are not here."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

SAMPLE = """
    def halve(x):
        while x > 1:
            x = x / 2
        return x

    def prints(x):
        if x > 0:
            print(x)
        return x

    def large(x):
        return x @ x.T
"""


def inspected(folder, function, *options):
    (folder / "sample.py").write_text(textwrap.dedent(SAMPLE))
    command = [sys.executable, "-m", "autograph.tools", "inspect", f"sample:{function}", *options]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


SIGNS = {
    "jaxpr": "while[",
    "stablehlo": "stablehlo.while",
    "hlo": "ENTRY",
    "optimized_hlo": "is_scheduled=true",
}


@pytest.mark.parametrize("stage", SIGNS)
def test_each_stage(tmp_path, stage):
    done = inspected(tmp_path, "halve", "--arg", "f32[]", "--target", "tpu:v5e:2x2", "--stage", stage)
    assert SIGNS[stage] in done.stdout and (done.returncode, done.stderr) == (0, "")


def test_a_topology_that_there_is_not_is_one_line(tmp_path):
    done = inspected(tmp_path, "halve", "--arg", "f32[]", "--target", "tpu:v99:2x2", "--stage", "optimized_hlo")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith("autograph: libtpu does not support the target 'tpu:v99:2x2': ")


def test_what_a_target_cannot_do_has_its_line(tmp_path):
    done = inspected(tmp_path, "prints", "--arg", "f32[]", "--target", "tpu:v5e:1x1")
    assert (
        (done.returncode, done.stdout) == (1, "") and "sample.py:9" in done.stderr and "Python is called" in done.stderr
    )


def test_what_has_no_room_on_a_target(tmp_path):
    done = inspected(tmp_path, "large", "--arg", "f32[90000,8]", "--target", "tpu:v5e:1x1")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert "sample:large cannot be compiled for tpu:v5e:1x1: RESOURCE_EXHAUSTED" in done.stderr
