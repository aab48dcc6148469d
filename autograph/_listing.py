"""Pair the source of a function with its converted source, line by line."""

from __future__ import annotations

import ast
import itertools
from dataclasses import dataclass


@dataclass(frozen=True)
class Listing:
    """The lines of one definition, and those of its rewritten form.

    Attributes:
      name: the function's qualified name.
      file: where it is defined; first: the number of its first line, a decorator's if it has one.
      source: its lines.
      converted: the lines that it is rewritten to, each with the number of the line that it comes from, if it comes from one;
        empty where it is not rewritten.
    """

    name: str
    file: str
    first: int
    source: tuple[str, ...]
    converted: tuple[tuple[str, int | None], ...] = ()

    def holds(self, file: str, line: int) -> bool:
        """Whether this line is one of the definition's."""
        return file == self.file and self.first <= line < self.first + len(self.source)


def lines_with_origins(tree: ast.AST) -> tuple[tuple[str, int | None], ...]:
    """The text of a rewritten tree, each line with the number of the line that it comes from.

    A tree keeps the places of the source that it was made from. Its text is parsed again, and the two are walked together.

    >>> tree = ast.parse("if x:  # why\\n    y = (1 +\\n      2)\\nz = 3")
    >>> lines_with_origins(tree)
    (('if x:', 1), ('    y = 1 + 2', 2), ('z = 3', 4))
    """
    text = ast.unparse(tree)
    origins: dict[int, int] = {}
    if isinstance(tree, ast.Lambda):
        origins[1] = tree.lineno
    else:
        wrapped = tree if isinstance(tree, ast.Module) else ast.Module([tree], [])  # type: ignore[list-item]
        _pair(wrapped, ast.parse(text), origins)
    return tuple((line, origins.get(number)) for number, line in enumerate(text.splitlines(), 1))


def _pair(made: ast.AST, printed: ast.AST, origins: dict[int, int]) -> None:
    """Note for each statement's line in the text the line that its node was made from."""
    pending = [(made, printed)]
    while pending:
        one, other = pending.pop()
        if type(one) is not type(other):
            continue
        if isinstance(other, ast.stmt | ast.excepthandler) and hasattr(one, "lineno"):
            origins.setdefault(other.lineno, one.lineno)
        pairs = itertools.zip_longest(_statements(one), _statements(other))
        pending += [(a, b) for a, b in pairs if a is not None and b is not None]


def _statements(node: ast.AST) -> list[ast.AST]:
    """The statements, and what holds statements, right below a node."""
    held = (ast.stmt, ast.excepthandler, ast.match_case)
    return [child for child in ast.iter_child_nodes(node) if isinstance(child, held)]
