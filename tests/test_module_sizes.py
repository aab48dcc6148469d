"""A file that grows past what one reading holds is split, or is listed here with the reason why not.

Docstrings do not count: a public name is not to be documented less because its file is long.
"""

from __future__ import annotations

import ast
from pathlib import Path

from tests.rooms import ROOT, modules

LIMIT = 500

# File: why it is better in one piece.
LONG: dict[str, str] = {
    "backends/xla/jax_compat.py": "one file holds all that a release of JAX may break",
    "runtime/data/dataset.py": "one class, each of whose methods comes with its arguments and an example",
    "runtime/data/pipeline.py": "the steps of datasets, a few lines each, and questions to all of them, which name each",
    "runtime/staging/operators.py": "the operators that converted code names, a line each, and the parts that they are methods of",
    "runtime/staging/builtins/python_builtins.py": "the overloads of Python's builtins, a few lines each",
    "tests/generator_programs.py": "programs to run, one after the other",
    "tests/handled_programs.py": "programs to run, one after the other",
    "tests/local_array_programs.py": "programs to run, one after the other",
    "tests/row_programs.py": "programs to run, one after the other",
    "tests/test_jax_compat.py": "a test for each of its functions",
    "tests/test_limits.py": "a function for each item of docs/limits.md",
}


def test_no_file_is_long_without_a_reason():
    files = [*modules().values(), *(ROOT / "tests").rglob("*.py")]
    lengths = {path.relative_to(ROOT).as_posix(): _length(path) for path in files}
    assert {path for path, length in lengths.items() if length > LIMIT} == set(LONG)


def _length(path: Path) -> int:
    source = path.read_text(encoding="utf-8")
    texts = [
        node.body[0]
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node)
    ]
    return len(source.splitlines()) - sum(text.end_lineno - text.lineno + 1 for text in texts)
