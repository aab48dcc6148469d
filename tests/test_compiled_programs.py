"""The folder of compiled programs that the processes of a run share."""

from __future__ import annotations

import os
import pathlib

import pytest

from tests.compiled_programs import CompiledPrograms, whole_in


def test_an_entry_is_there_with_all_of_its_bytes_or_not_at_all(tmp_path, monkeypatch):
    seen = []

    def replace(part, entry):
        seen.append((pathlib.Path(entry).exists(), pathlib.Path(part).read_bytes()))
        return os.rename(part, entry)

    monkeypatch.setattr("tests.compiled_programs.os.replace", replace)
    write = whole_in(tmp_path, pathlib.Path.write_bytes)
    assert write(tmp_path / "entry", b"program") == 7
    assert seen == [(False, b"program")]
    assert [(file.name, file.read_bytes()) for file in tmp_path.iterdir()] == [("entry", b"program")]


def test_other_folders_are_written_as_ever(tmp_path):
    written = []
    whole_in(tmp_path, lambda *given: written.append(given))(tmp_path / "below" / "file", b"x")
    assert written == [(tmp_path / "below" / "file", b"x")]


def test_a_write_that_fails_leaves_nothing(tmp_path, monkeypatch):
    def replace(*_):
        raise OSError

    monkeypatch.setattr("tests.compiled_programs.os.replace", replace)
    with pytest.raises(OSError):
        whole_in(tmp_path, pathlib.Path.write_bytes)(tmp_path / "entry", b"program")
    assert list(tmp_path.iterdir()) == []


def test_what_children_compiled_is_moved_to_the_others(tmp_path):
    programs = CompiledPrograms(tmp_path)
    for folder in (programs.shared, programs.of_children):
        folder.mkdir()
        (folder / "old").write_bytes(b"old")
    (programs.of_children / "new").write_bytes(b"new")
    programs.end()
    programs.end()
    assert sorted(file.name for file in programs.shared.iterdir()) == ["new", "old"]
    assert not programs.of_children.exists()
