"""Converted functions on the backend that stages nothing: each statement means what Python means by it."""

from __future__ import annotations

import pytest

from autograph import _api
from autograph.backends.python import PythonBackend
from tests.agreement import report
from tests.corpus import Program, all_programs

OPERATORS = _api._make_operators(True, PythonBackend(), False, False)


@pytest.mark.parametrize("program", all_programs(), ids=lambda program: program.name)
def test_nothing_is_staged(program: Program):
    converted = _api._convert_with(OPERATORS, program.function)
    assert (problems := report(program, converted)) == "", problems
