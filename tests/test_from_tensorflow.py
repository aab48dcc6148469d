"""Every example on the right of docs/from_tensorflow.md, run: it prints what stands after ``# >``."""

from __future__ import annotations

import re
import runpy

import pytest

from tests.rooms import ROOT

TEXT = (ROOT / "docs/from_tensorflow.md").read_text(encoding="utf-8")
PREAMBLE = re.search(r"begins with\n\n```text\n(.*?)```", TEXT, re.DOTALL)[1]
ROWS = re.findall(
    r'<tr><td colspan="2">\n\n(.*?)\n\n</td></tr>\n<tr><td>\n\n```tensorflow\n(.*?)```\n\n</td><td>\n\n```python\n(.*?)```',
    TEXT,
    re.DOTALL,
)


@pytest.mark.parametrize(("what", "theirs", "ours"), ROWS, ids=[what for what, _, _ in ROWS])
def test_example(what, theirs, ours, user_folder, capsys):
    path = user_folder / "example.py"
    code = "".join(line for line in ours.splitlines(keepends=True) if not line.startswith("# > "))
    path.write_text(f"{PREAMBLE}\n\n{code}")
    runpy.run_path(str(path), run_name="__main__")
    expected = "".join(line[4:] for line in ours.splitlines(keepends=True) if line.startswith("# > "))
    out = capsys.readouterr().out
    assert [line.rstrip() for line in out.splitlines()] == [line.rstrip() for line in expected.splitlines()]


def test_each_row_has_both_sides():
    assert len(ROWS) == TEXT.count("```python") == TEXT.count("```tensorflow") > 40
    assert all("# > " in ours for _, _, ours in ROWS)
