"""Every example on the right of docs/from_tensorflow.md, run: it prints what stands after ``# >``."""

from __future__ import annotations

import pytest

from tests.guides import Guide

GUIDE = Guide("from_tensorflow.md", "tensorflow")
ROWS = GUIDE.rows()
OF_KERAS = [row for row in ROWS if "import keras" in row.ours]
OTHERS = [row for row in ROWS if row not in OF_KERAS]


@pytest.mark.parametrize("row", OTHERS, ids=[row.what for row in OTHERS])
def test_example(row, user_folder, capsys):
    assert GUIDE.prints(row.ours, user_folder, capsys) == row.prints


@pytest.mark.filterwarnings("ignore")  # Keras's own
@pytest.mark.parametrize("row", OF_KERAS, ids=[row.what for row in OF_KERAS])
def test_example_with_keras(row, user_folder, capsys, monkeypatch):
    monkeypatch.setenv("KERAS_BACKEND", "jax")
    keras = pytest.importorskip("keras")
    if keras.backend.backend() != "jax":
        pytest.skip("Keras was imported with another backend before")
    assert GUIDE.prints(row.ours, user_folder, capsys) == row.prints


def test_each_row_has_both_sides():
    assert GUIDE.is_complete() and len(ROWS) > 40 and OF_KERAS
