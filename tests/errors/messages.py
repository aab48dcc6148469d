"""The texts of all errors and warnings, read from the sources, for docs/messages.md: written by `python -m tests.errors.page`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.errors.page import Example, says
from tests.rooms import ROOT, modules

DOCUMENT = ROOT / "docs" / "messages.md"

# What users meet: each class, and what its section says of it.
CLASSES = {
    "ConversionError": "Raised while a function is converted.",
    "StagingError": "Raised while a function is traced.",
    "InvalidArgumentError": "Raised by a concrete or a loaded function that is called with other arguments than its own.",
    "TargetError": "Raised where a program is lowered or compiled ahead of time.",
    "TypeError": "Raised by a call with a wrong argument.",
    "ValueError": "Raised by a call with a wrong argument.",
    "RuntimeError": "Raised by a call at the wrong time.",
    "StagingWarning": "Issued while a function is traced or called.",
}

_HEAD = """# All messages

The texts of all errors and warnings of this package, by class. `…` is what differs from program to program: most begin with
the user's file, line and source. [Error messages](errors.md) shows programs that meet them, and the programs as mended. Where
Python itself would raise, the class and the text are Python's, and are not listed.
"""


def messages() -> dict[str, list[str]]:
    """The texts by class, each once, `…` in the place of what differs."""
    found: dict[str, dict[str, None]] = {name: {} for name in CLASSES}
    for name, path in modules().items():
        if not name.startswith("autograph.tools"):
            for kind, text in _calls(ast.parse(path.read_text(encoding="utf-8"))):
                if re.search(r"[a-z]{3} \w", text):
                    found[kind][text] = None
    return {kind: sorted(texts, key=str.lower) for kind, texts in found.items()}


def _calls(tree: ast.AST) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and node.args:
            called = ast.unparse(node.func).rpartition(".")[2]
            kind = "StagingWarning" if called in ("warn", "warn_once") else called
            if kind in CLASSES:
                yield kind, _without_place(_text(node.args[0]))


def _text(node: ast.expr) -> str:
    """A text as far as it is written in the source."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(map(_text, node.values))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _text(node.left) + _text(node.right)
    return "…"


def _without_place(text: str) -> str:
    """A message on one line, without the line of the user's that it begins with."""
    text = re.sub(r"^…\s*\n\s*", "", text)
    return re.sub(r"\s*\n\s*", " ", re.sub(r"…+", "…", text)).strip()


def _escaped(text: str) -> str:
    """Text as Markdown in which nothing but `code` is marked up."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return re.sub(r"([\\`*_\[\]<>|{}])", r"\\\1", text)
    return "`".join(part if k % 2 else re.sub(r"([\\*_\[\]<>|{}])", r"\\\1", part) for k, part in enumerate(parts))


def document(shown: list[Example]) -> str:
    """The text of docs/messages.md; messages that an example shows lead to it."""
    said = [(example, re.sub(r"\s+", " ", says(example.program))) for example in shown]
    parts = [_HEAD]
    for kind, texts in messages().items():
        parts.append(f"## {kind}\n\n{CLASSES[kind]}\n")
        lines = []
        for text in texts:
            pattern = re.compile(".*".join(re.escape(part) for part in text.split("…")))
            example = next((each for each, whole in said if pattern.search(whole)), None)
            link = "" if example is None else f" ([example](errors.md#{_anchor(example.title)}))"
            lines.append(f"- {_escaped(text)}{link}")
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def _anchor(title: str) -> str:
    """The anchor that the site and GitHub make of a heading."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
