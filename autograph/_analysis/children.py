"""The nodes in a node, of Python's trees and of gast's.

Operators and contexts are left out: nothing is in them, and they are half of what `ast.iter_child_nodes` finds, in three
times as long.
"""

from __future__ import annotations

import ast
from types import MappingProxyType

import gast

_WITHOUT_NODES = ("Constant", "Pass", "Break", "Continue", "Global", "Nonlocal")
_LEAVES = frozenset([ast.Name, *(getattr(each, name) for each in (ast, gast) for name in _WITHOUT_NODES)])
# The fields of each kind of node that may hold nodes with names in them.
_FIELDS = MappingProxyType(
    {
        kind: tuple(field for field in getattr(kind, "_fields", ()) if field not in ("ctx", "op", "ops"))
        for module in (ast, gast)
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, ast.AST)
    }
)


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes directly in a node, in their order.

    >>> [type(each).__name__ for each in children(ast.parse("f(x + 1, *y)").body[0].value)]
    ['Name', 'BinOp', 'Starred']
    """
    kind = type(node)
    if kind is gast.Name:  # half of all nodes; only a parameter is annotated
        annotation = getattr(node, "annotation", None)
        return [] if annotation is None else [annotation]
    found: list[ast.AST] = []
    if kind not in _LEAVES:
        for field in _FIELDS[kind]:
            value = getattr(node, field, None)
            if value.__class__ is list:
                found += [part for part in value if isinstance(part, ast.AST)]
            elif isinstance(value, ast.AST):
                found.append(value)
    return found


def walk(node: ast.AST) -> list[ast.AST]:
    """The node and all in it, level by level."""
    found = [node]
    for part in found:
        found += children(part)
    return found
