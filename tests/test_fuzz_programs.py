"""Generated programs: a fixed few agree with plain Python, and their gradients with finite differences."""

from __future__ import annotations

import sys

import pytest

from autograph.tools.fuzz.campaign import try_program, try_program_gradients
from autograph.tools.fuzz.programs import make_program

PYTHON = sys.version_info.minor % 3  # each Python has programs of its own


@pytest.mark.parametrize("seed", range(PYTHON, 75, 3))
def test_programs_agree(seed):
    failure = try_program(make_program(seed), seconds_to_shrink=0).failure
    assert failure is None, f"{failure.mode}: {failure.text}\n{failure.source}"


@pytest.mark.parametrize("seed", range(PYTHON, 12, 3))
def test_gradients_agree(seed):
    report = try_program_gradients(make_program(seed, smooth=True))
    assert report.failure is None, f"{report.failure.text}\n{report.failure.source}"
