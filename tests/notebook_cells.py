"""Cells, run in a notebook's own kernel, and what they show."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat

START = "import autograph as ag, jax, jax.numpy as jnp"

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
# A process of its own: a client warns of much that is no affair of the tests, in which warnings are errors.
_EXECUTE = """
import sys, nbclient, nbformat
notebook = nbformat.read(sys.argv[1], as_version=4)
nbclient.NotebookClient(notebook, timeout=240, kernel_name="python3", allow_errors=True).execute(cwd=sys.argv[2])
nbformat.write(notebook, sys.argv[1])
"""


def run(*cells: str) -> list[str]:
    """What each cell shows, as text: streams, values and errors."""
    return [shown(cell) for cell in executed(notebook(*cells))]


def notebook(*cells: str) -> Any:
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])


def executed(given: Any) -> Any:
    """The cells of a notebook, run from the first to the last, those after an error too."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "executed.ipynb")
        nbformat.write(given, path)
        command = [sys.executable, "-W", "ignore", "-c", _EXECUTE, str(path), folder]
        done = subprocess.run(command, capture_output=True, text=True, timeout=280)
        assert done.returncode == 0, done.stderr
        return nbformat.read(path, as_version=4).cells


def shown(cell: Any, kind: str = "text/plain") -> str:
    """The outputs of a cell, one below the other; the kernel may send one stream in several pieces."""
    outputs = itertools.groupby(cell.get("outputs", ()), lambda output: output.get("name"))
    texts = [
        "".join(_text(output, kind) for output in each) if name else "\n".join(_text(output, kind) for output in each)
        for name, each in outputs
    ]
    return "\n".join(_COLOURS.sub("", text) for text in texts)


def _text(output: Any, kind: str) -> str:
    if output.output_type == "stream":
        return str(output.text)
    if output.output_type == "error":
        return "\n".join(output.traceback)
    return str(output.data.get(kind, ""))


def arrows(text: str) -> list[tuple[int, str]]:
    """The lines that a traceback's arrows stand on: their numbers and their text."""
    return [(int(number), line.strip()) for number, line in re.findall(r"^-+> (\d+) (.*)$", text, re.MULTILINE)]
