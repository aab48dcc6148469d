"""The Newton loop as it was written and as the converter rewrote it."""

from __future__ import annotations

import inspect
import itertools
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import autograph as ag
from autograph.tools.demo import newton

WIDTH = 110


def beside(left: str, right: str, width: int = WIDTH) -> str:
    """Two texts in two columns; one above the other where the columns are too narrow for them."""
    texts = [text.strip("\n").splitlines() for text in (left, right)]
    first, second = (max(map(len, lines)) for lines in texts)
    if first + len(" | ") + second > width:
        return "\n".join([*texts[0], "-" * width, *texts[1]])
    rows = itertools.zip_longest(*texts, fillvalue="")
    return "\n".join(f"{a:{first}} | {b}".rstrip() for a, b in rows)


def before_and_after(function: Callable[..., Any]) -> str:
    """The function's own source and its converted source."""
    original = textwrap.dedent(inspect.getsource(function))
    return beside("# As written\n" + original, "# As converted\n" + ag.to_code(function))


def main(output: Path) -> bool:
    """Print both sources; does the converted one parse?"""
    del output
    python_function = newton.solve.python_function
    print(before_and_after(python_function))
    compile(ag.to_code(python_function), "<to_code>", "exec")
    return True
