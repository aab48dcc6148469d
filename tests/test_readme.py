"""Every code block of the documents, run as a reader would run it.

A `python` block is saved under the name in its first line (`# collatz.py`) and run; a `sh` block is a list of
`make`, `autograph` and `pip` commands. A `text` block is what the block before it prints.
"""

from __future__ import annotations

import os
import re
import runpy
import shlex
import subprocess
import sys
from typing import NamedTuple

import pytest

from autograph.tools import cli
from tests.rooms import ROOT

# These pages show another library's programs, other magics, or rows that are run: their own tests run them.
ELSEWHERE = (
    "errors",
    "from_lax",
    "from_numba",
    "from_tensorflow",
    "generated_programs",
    "language",
    "notebooks",
    "targets",
)
PAGES = sorted(
    path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md") if path.stem not in ELSEWHERE
)
DOCUMENTS = ("README.md", "CONTRIBUTING.md", *PAGES)

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


class Block(NamedTuple):
    language: str
    text: str
    prints: str | None  # the `text` block that follows


def blocks(document: str) -> list[Block]:
    """The code blocks of a document, in order."""
    found = _FENCE.findall((ROOT / document).read_text(encoding="utf-8"))
    following = [*found[1:], ("", "")]
    return [
        Block(language, text, after if kind == "text" else None)
        for (language, text), (kind, after) in zip(found, following)
        if language != "text"
    ]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_code_blocks(document, user_folder, capsys):
    sys.path.insert(0, str(user_folder))  # a block may import the file of another
    for number, block in enumerate(blocks(document)):
        if block.language == "python":
            name = re.match(r"# (\w+\.py)\n", block.text)
            path = user_folder / (name[1] if name else f"block_{number}.py")
            path.write_text(block.text)
            runpy.run_path(str(path), run_name="__main__")
        elif block.language == "sh":
            for line in block.text.splitlines():
                run_command(line)
        elif block.language != "tensorflow":  # shown beside its counterpart
            pytest.fail(f"a code block in the language {block.language!r}, which is not run:\n{block.text}")
        out = capsys.readouterr().out
        assert block.prints is None or out == block.prints, block.text


@pytest.mark.parametrize("block", blocks("docs/programs.md"), ids=lambda block: block.text.split()[1])
def test_a_program_does_the_same_without_the_decorator(block, user_folder, capsys):
    path = user_folder / "plain.py"
    assert block.text.count("@ag.function\n") == 1
    path.write_text(block.text.replace("@ag.function\n", ""))
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out == block.prints


def run_command(line: str) -> None:
    """Run a command of the package; of a make target, see only that there is one and what it would do."""
    command, *arguments = shlex.split(line)
    if command == "autograph":
        assert cli.main(arguments) == 0, line
    elif command == "make":
        # Without the flags of a make that runs these tests.
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("MAKE", "MFLAGS"))}
        subprocess.run(["make", "-n", *arguments], cwd=ROOT, env=environment, check=True, capture_output=True)
    elif command == "pip":
        assert arguments in (["install", "."], ["install", "autograph-xla"]), line  # with what pyproject.toml says
    else:
        pytest.fail(f"a command that is not run: {line}")


def test_there_is_something_to_run():
    assert {block.language for block in blocks("README.md")} == {"python", "sh"}
    assert any(block.prints for block in blocks("README.md"))


def test_the_readme_is_one_screen_and_begins_with_the_two_commands():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    first = next(block for block in blocks("README.md") if block.language == "sh")
    assert first.text == "make demo\nmake test\n"
    assert text.index(first.text) < text.index("## ")
    outside = _FENCE.sub("", text)
    assert len(outside.splitlines()) < 50


def test_links_lead_somewhere():
    """Those within the repository, in all documents; `make docs` checks those of the site, anchors included."""
    documents = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    dead = [
        f"{path.relative_to(ROOT)}: {link}"
        for path in documents
        for link in re.findall(r"\]\(([^)#\s]+)", _FENCE.sub("", path.read_text(encoding="utf-8")))
        if not link.startswith(("http:", "https:")) and not (path.parent / link).exists()
    ]
    assert not dead
