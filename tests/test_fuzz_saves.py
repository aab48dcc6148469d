"""The campaign of `make fuzz-load`: that it runs, and that it would find something."""

from __future__ import annotations

import pytest

from autograph.runtime.saving import manifest, schema
from autograph.runtime.saving.directory import Reading
from autograph.tools.fuzz import saves


@pytest.mark.fuzz
def test_changed_saves_are_refused_or_right():
    outcomes = saves.run(0, 100)
    assert outcomes.total() == 100 and outcomes["refused"] > 50


def test_a_manifest_that_is_believed_is_found(monkeypatch):
    monkeypatch.setattr(manifest, "check", lambda *_: None)
    monkeypatch.setattr(schema, "check", lambda *_: None)
    with pytest.raises(AssertionError, match="seed"):
        saves.run(0, 100)


def test_files_whose_sums_are_not_looked_at_are_found(monkeypatch):
    monkeypatch.setattr(Reading, "_check_sum", lambda *_: None)
    with pytest.raises(AssertionError, match="seed"):
        saves.run(0, 200)
