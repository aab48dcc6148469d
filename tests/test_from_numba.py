"""Every row of docs/from_numba.md: ours printed what stands after ``# >``, and numba's where it is installed."""

from __future__ import annotations

import pytest

from tests.guides import Guide

GUIDE = Guide("from_numba.md", "numba")
ROWS = GUIDE.rows()
NAMES = "from numba import float64, njit, objmode, prange, vectorize\nfrom numba.experimental import jitclass\n\n"


@pytest.mark.parametrize("row", ROWS, ids=[row.what for row in ROWS])
def test_ours(row, user_folder, capsys):
    assert GUIDE.prints(row.ours, user_folder, capsys) == row.prints


@pytest.mark.parametrize("row", ROWS, ids=[row.what for row in ROWS])
def test_theirs(row, user_folder, capsys):
    pytest.importorskip("numba")
    assert GUIDE.prints(NAMES + row.theirs, user_folder, capsys) == row.prints


def test_each_row_has_both_sides():
    assert GUIDE.is_complete() and len(ROWS) > 9
