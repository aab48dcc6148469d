"""docs/targets.md: its code blocks, and what it says of programs."""

from __future__ import annotations

from tests.rooms import ROOT
from tests.targets.programs import corpus, kinds, mapped_corpus
from tests.targets.test_programs import EXCEPTIONS
from tests.test_readme import test_code_blocks as run_code_blocks

DOCUMENT = "docs/targets.md"


def test_code_blocks_of_the_document(user_folder, capsys):
    run_code_blocks(DOCUMENT, user_folder, capsys)


def test_every_program_and_every_exception_is_in_it():
    text = (ROOT / DOCUMENT).read_text(encoding="utf-8")
    for target in kinds():
        assert f"| {target.name} | {target.chips.rpartition(':')[2]} |" in text
    for name, _ in EXCEPTIONS:
        assert f"`{name.rpartition('-')[0]}`" in text
    (row,) = (line for line in text.splitlines() if line.startswith("| all |"))
    assert [cell.strip() for cell in row.split("|")][2] == str(len(corpus()))
    assert [cell.strip() for cell in row.split("|")][5] == str(len(mapped_corpus()))
