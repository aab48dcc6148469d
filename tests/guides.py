"""Guides that show another library's programs beside ours: their rows, and what a program of theirs prints."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import NamedTuple

from tests.rooms import ROOT


class Row(NamedTuple):
    """What a row is about, the two programs, and what they print."""

    what: str
    theirs: str
    ours: str
    prints: list[str]


class Guide:
    """A document of such rows.

    Args:
      name: the document's, in `docs/`.
      language: that of the blocks on the left.
    """

    def __init__(self, name: str, language: str) -> None:
        self.text = (ROOT / "docs" / name).read_text(encoding="utf-8")
        self.language = language
        self.preamble = re.search(r"[Bb]egins with\n\n```text\n(.*?)```", self.text, re.DOTALL)[1]

    def rows(self) -> list[Row]:
        pattern = r'<tr><td colspan="2">\n\n(.*?)\n\n</td></tr>\n<tr><td>\n\n```%s\n(.*?)```\n\n</td><td>\n\n```python\n(.*?)```'
        found = re.findall(pattern % self.language, self.text, re.DOTALL)
        return [Row(what, theirs, *_split(ours)) for what, theirs, ours in found]

    def is_complete(self) -> bool:
        """Whether each block belongs to a row, and each row says what it prints."""
        rows = self.rows()
        counts = [self.text.count(f"```{language}\n") for language in ("python", self.language)]
        return counts == [len(rows)] * 2 and all(row.prints for row in rows)

    def prints(self, code: str, folder: Path, capsys) -> list[str]:
        """What a program prints that begins as the guide says."""
        path = folder / "example.py"
        path.write_text(f"{self.preamble}\n\n{code}")
        runpy.run_path(str(path), run_name="__main__")
        return [line.rstrip() for line in capsys.readouterr().out.splitlines()]


def _split(ours: str) -> tuple[str, list[str]]:
    lines = ours.splitlines(keepends=True)
    code = "".join(line for line in lines if not line.startswith("# > "))
    return code, [line[4:].rstrip() for line in lines if line.startswith("# > ")]
