"""Whether the functions of a file make tuples that lists and other containers hold, as far as its text tells."""

from __future__ import annotations

import ast
from collections.abc import Sequence

_PAIRING = frozenset(["zip", "enumerate"])  # iterables of tuples
_COLLECTING = frozenset(["list", "sorted"])


def has_tuple_items(nodes: Sequence[ast.AST]) -> bool:
    """Whether a tuple of more than constants is an item of a container, or is given to a function that may make it one.

    >>> import ast
    >>> texts = "[(v, k) for v in vs]", "heap.push((v, k))", "list(zip(a, b))", "xs[0] = v, k", "x.reshape((2, 3))", "return v, k"
    >>> [has_tuple_items(list(ast.walk(ast.parse(f"def f():\\n {text}")))) for text in texts]
    [True, True, True, True, False, False]
    """
    return any(map(_makes_item, nodes))


def _makes_item(node: ast.AST) -> bool:
    if isinstance(node, ast.List):
        return any(map(_is_tuple, node.elts))
    if isinstance(node, ast.ListComp | ast.GeneratorExp):
        return _is_tuple(node.elt)
    if isinstance(node, ast.Assign):
        return _is_tuple(node.value) and any(isinstance(target, ast.Subscript) for target in node.targets)
    return isinstance(node, ast.Call) and (any(map(_is_tuple, node.args)) or _collects_tuples(node))


def _is_tuple(node: ast.AST) -> bool:
    return isinstance(node, ast.Tuple) and not all(isinstance(part, ast.Constant) for part in node.elts)


def _collects_tuples(node: ast.Call) -> bool:
    """Whether this is ``list(zip(…))``, ``sorted(enumerate(…))`` or ``list(table.items())``."""
    if not (isinstance(node.func, ast.Name) and node.func.id in _COLLECTING and node.args):
        return False
    given = node.args[0].func if isinstance(node.args[0], ast.Call) else None
    if isinstance(given, ast.Attribute):
        return given.attr == "items"
    return isinstance(given, ast.Name) and given.id in _PAIRING
