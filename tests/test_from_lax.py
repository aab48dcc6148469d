"""Every row of docs/from_lax.md, both programs run: they print what stands after ``# >``."""

from __future__ import annotations

import pytest

from tests.guides import Guide

GUIDE = Guide("from_lax.md", "lax")
ROWS = GUIDE.rows()


@pytest.mark.parametrize("row", ROWS, ids=[row.what for row in ROWS])
def test_row(row, user_folder, capsys):
    assert GUIDE.prints(row.theirs, user_folder, capsys) == row.prints
    assert GUIDE.prints(row.ours, user_folder, capsys) == row.prints


def test_each_row_has_both_sides():
    assert GUIDE.is_complete() and len(ROWS) > 20


def test_the_forms_of_lax_are_there():
    for name in ("cond", "switch", "while_loop", "fori_loop", "scan", "map", "associative_scan", "dynamic_slice"):
        assert any(f"lax.{name}" in row.theirs for row in ROWS), name
