"""The texts of all errors and warnings, read from the sources, for docs/messages.md: written by `python -m tests.errors.page`."""

from __future__ import annotations

import ast
import functools
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence

from tests.errors.page import Example, escaped, says
from tests.rooms import ROOT, modules

DOCUMENT = ROOT / "docs" / "messages.md"

# What users meet: each class, and what its section says of it.
CLASSES = {
    "ConversionError": "Raised while a function is converted.",
    "StagingError": "Raised while a function is traced.",
    "InvalidArgumentError": "Raised by a concrete or a loaded function that is called with arguments that its signature does not accept.",
    "TargetError": "Raised where a program is lowered or compiled ahead of time.",
    "LoadError": "Raised by `load`, for a directory that is not a saved model, or is damaged.",
    "TypeError": "Raised by a call with an invalid argument.",
    "ValueError": "Raised by a call with an invalid argument.",
    "RuntimeError": "Raised by a call in an invalid state.",
    "IndexError": "Raised at run time, or while tracing where the index is known.",
    "AttributeError": "Raised by reading or writing an attribute.",
    "OverflowError": "Raised while tracing.",
    "ImportError": "Raised where a package is needed that is not installed.",
    "FileExistsError": "Raised by `save`.",
    "StagingWarning": "Issued while a function is traced or called.",
}

_KINDS = {
    "warn": "StagingWarning",
    "warn_once": "StagingWarning",
    "NoArrayOfKinds": "TypeError",
    "OutOfRoom": "IndexError",
    "TooLargeIntError": "OverflowError",
}

_HEAD = """# All messages

All errors and warnings of this package, by class. `…` represents text that depends on the program; most messages begin with
your file, line and source. [Error messages](errors.md) shows programs that cause them, and the corrected programs. Exceptions
that plain Python would raise too have Python's class and message, and are not listed.
"""


@functools.cache
def messages() -> Mapping[str, Sequence[str]]:
    """The texts by class, each once, `…` in the place of what differs."""
    found: dict[str, dict[str, None]] = {name: {} for name in CLASSES}
    for name, path in modules().items():
        if not name.startswith("autograph.tools"):
            for kind, text in _calls(ast.parse(path.read_text(encoding="utf-8")), {}):
                if re.search(r"[a-z]{3} \w", text):
                    found[kind][text] = None
    return {kind: sorted(texts, key=str.lower) for kind, texts in found.items()}


def _calls(tree: ast.AST, known: Mapping[str, Sequence[ast.expr]]) -> Iterator[tuple[str, str]]:
    """The texts that classes and warnings are called with; ``known`` are the texts that a function's names are assigned."""
    for node in ast.iter_child_nodes(tree):
        yield from _calls(node, _assigned(node) if isinstance(node, ast.FunctionDef) else known)
        if isinstance(node, ast.Call) and node.args:
            called = ast.unparse(node.func).rpartition(".")[2]
            kind = _KINDS.get(called, called)
            if kind in CLASSES:
                for text in _texts(node.args[0], known):
                    yield kind, _without_place(text)


def _assigned(function: ast.FunctionDef) -> dict[str, list[ast.expr]]:
    """The texts that the names of a function are assigned, of those that are assigned nothing else."""
    found: dict[str, list[ast.expr]] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                names = [target] if isinstance(target, ast.Name) else []
                for name in names:
                    found.setdefault(name.id, []).append(node.value)
    return {name: values for name, values in found.items() if all(map(_is_sentence, values))}


def _is_sentence(node: ast.expr) -> bool:
    is_text = isinstance(node, ast.Constant | ast.JoinedStr | ast.BinOp | ast.IfExp)
    return is_text and any(re.search(r"[a-z]{3} \w", text) for text in _texts(node, {}))


def _texts(node: ast.expr, known: Mapping[str, Sequence[ast.expr]]) -> list[str]:
    """The texts that an expression may be, as far as they are written in the source."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value]
    if isinstance(node, ast.JoinedStr):
        return _joined([_texts(part, known) for part in node.values])
    if isinstance(node, ast.FormattedValue) and node.conversion < 0:
        return _texts(node.value, known)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _joined([_texts(node.left, known), _texts(node.right, known)])
    if isinstance(node, ast.IfExp):
        return [text for part in (node.body, node.orelse) for text in _texts(part, known)]
    if isinstance(node, ast.Name) and node.id in known and node.id != "where":  # which is no part of the text
        return [text for value in known[node.id] for text in _texts(value, {})]
    return ["…"]


def _joined(parts: Sequence[Sequence[str]]) -> list[str]:
    return ["".join(each) for each in itertools.product(*parts)]


def _without_place(text: str) -> str:
    """A message on one line, without the line of the user's that it begins with."""
    text = re.sub(r"^…\s*\n\s*", "", text)
    return re.sub(r"\s*\n\s*", " ", re.sub(r"…+", "…", text)).strip()


def sections(shown: Sequence[Example]) -> dict[str, Example]:
    """For each text the example that says it, else the one that lists it."""
    said = [(example, re.sub(r"\s+", " ", says(example.program))) for example in shown]
    found = {text: example for example in shown for text in example.others}
    for text in {text for texts in messages().values() for text in texts} - found.keys():
        pattern = re.compile(".*".join(re.escape(part) for part in text.split("…")))
        example = next((each for each, whole in said if pattern.search(whole)), None)
        if example is not None:
            found[text] = example
    return found


def document(shown: Sequence[Example]) -> str:
    """The text of docs/messages.md; each message leads to its section in docs/errors.md."""
    parts, section = [_HEAD], sections(shown)
    for kind, texts in messages().items():
        parts.append(f"## {kind}\n\n{CLASSES[kind]}\n")
        lines = []
        for text in texts:
            example = section.get(text)  # all have one: a test says which has none
            link = "" if example is None else f" ([section](errors.md#{_anchor(example.title)}))"
            lines.append(f"- {escaped(text)}{link}")
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def _anchor(title: str) -> str:
    """The anchor that the site and GitHub make of a heading."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
