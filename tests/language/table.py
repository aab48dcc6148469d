"""Examples of constructs, and the document that shows them: `python -m tests.language.table` writes docs/language.md.

An example is the body of a function `f` of the variables after ``?``; what stands before ``---`` is module level.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import html
import linecache
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import autograph as ag
from tests.rooms import ROOT

DOCUMENT = ROOT / "docs" / "language.md"
_HERE = Path(__file__).parent
DEVIATES = "deviates"


@dataclass
class Row:
    section: str
    what: str
    construct: str
    code: str
    inputs: dict[str, Any] = field(default_factory=dict)

    @property
    def filename(self) -> str:
        return f"<{self.construct}>"

    def error(self) -> type[Exception]:
        return getattr(ag, self.what_in_full.split()[1])

    what_in_full: str = ""

    @property
    def status(self) -> str:
        """What the table says: of a refused row, also the line of docs/limits.md that it is an example of."""
        return f"refused ({self.limit})" if self.what == "refused" else self.what

    @property
    def limit(self) -> int:
        """The number of that line."""
        return int(self.what_in_full.split()[2])

    def source(self) -> str:
        setup, _, body = self.code.rpartition("---\n")
        lines = "".join(f"    {line}\n" for line in body.splitlines())
        return f"{setup}def f({', '.join(self.inputs)}):\n{lines}"

    def function(self) -> Any:
        """The example as a new function."""
        source = self.source()
        linecache.cache[self.filename] = (len(source), None, source.splitlines(keepends=True), self.filename)
        scope = {
            "jax": jax,
            "jnp": jnp,
            "np": np,
            "ag": ag,
            "contextlib": contextlib,
            "functools": functools,
            "__name__": "example",
        }
        exec(compile(source, self.filename, "exec"), scope)
        return scope["f"]

    def arguments(self, make: Any = jnp.asarray) -> list[Any]:
        return [make(np.asarray(value, _kind(value))) for value in self.inputs.values()]

    def run(self, way: Any, make: Any = jnp.asarray) -> Any:
        """What the example returns, or raises."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return way(self.function())(*self.arguments(make))
            except Exception as error:
                return error


def _kind(value: Any) -> Any:
    return {"f": np.float32, "i": np.int32}[np.asarray(value).dtype.kind]


def _read(name: str) -> list[Row]:
    found: list[Row] = []
    section, what, construct, code = "", "", "", ""
    for line in (_HERE / name).read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            section = line[2:]
        elif line.startswith(": "):
            what, construct = line[2:].split(": ", 1)
            code = ""
        elif line.startswith("? "):
            call = ast.parse(f"dict({line[2:]})", mode="eval").body
            assert isinstance(call, ast.Call)
            inputs = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
            found.append(Row(section, what.split()[0], construct, code, inputs, what))
        else:
            code += line + "\n"
    return found


def as_python(value: Any) -> Any:
    """An array as Python's own numbers and lists."""
    return value.tolist()


def rows() -> list[Row]:
    return _read("rows.txt")


def deviations() -> list[Row]:
    return _read("deviations.txt")


def shown(value: Any) -> str:
    """A result as the table shows it."""
    if isinstance(value, Exception):
        is_long = isinstance(value, ag.StagingError | ag.ConversionError | jax.errors.JAXTypeError)
        return f"raises `{type(value).__name__}`" if is_long else f"raises `{type(value).__name__}: {value}`"
    plain = jax.tree.map(lambda leaf: leaf if isinstance(leaf, str) else np.asarray(leaf).tolist(), value)
    return f"`{plain}`"


def _example(row: Row) -> str:
    code = html.escape(row.code.replace("---\n", "\n").rstrip("\n"), quote=False)
    for mark in "|*_`[":  # which Markdown gives a meaning in a table's cell, between tags of HTML, too
        code = code.replace(mark, f"&#{ord(mark)};")
    return "<pre>" + code.replace("\n", "<br>") + "</pre>"


def _given(row: Row) -> str:
    return ", ".join(f"`{name} = {value}`" for name, value in row.inputs.items())


def results(row: Row) -> str:
    """What the row's line shows that its example gives: where it deviates in Python, too."""
    staged = shown(row.run(ag.function))
    return f"{shown(row.run(lambda f: f, as_python))} | {staged}" if row.what == DEVIATES else staged


def line(row: Row, found: str) -> str:
    """The row's line in its table, with these results."""
    status = "" if row.what == DEVIATES else f" {row.status} |"
    return f"| {row.construct} |{status} {_example(row)} | {_given(row)} | {found} |"


def document(found: Callable[[Row], str] = results) -> str:
    """The text of docs/language.md, with the results that a function has found."""
    out = [(_HERE / "preface.md").read_text(encoding="utf-8").rstrip("\n"), ""]
    out += ["| construct | status | example | arguments | result |", "| --- | --- | --- | --- | --- |"]
    section = None
    for row in rows():
        if row.section != section:
            section = row.section
            out.append(f"| **{section}** | | | | |")
        out.append(line(row, found(row)))
    out += ["", "## Differences from plain Python", "", "| difference | example | arguments | Python | `ag.function` |"]
    out.append("| --- | --- | --- | --- | --- |")
    out += [line(row, found(row)) for row in deviations()]
    return "\n".join(out) + "\n"


if __name__ == "__main__":
    DOCUMENT.write_text(document(), encoding="utf-8")
