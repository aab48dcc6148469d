"""Which attributes objects may lack on some paths, as far as the text of a file tells."""

from __future__ import annotations

import ast

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def attributes_that_may_lack(tree: ast.AST) -> frozenset[str]:
    """The attributes that some function sets, and that no ``__init__`` or class body is sure to; and those that one deletes.

    >>> import ast
    >>> sorted(attributes_that_may_lack(ast.parse('''
    ... class Box:
    ...     size: int = 0
    ...     def __init__(self):
    ...         self.total = 0
    ...     def add(self, x):
    ...         self.total += x
    ...         self.last = x
    ...         del self.size
    ... ''')))
    ['last', 'size']
    """
    stored: set[str] = set()
    deleted: set[str] = set()
    sure: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            stored.add(node.attr)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Del):
            deleted.add(node.attr)
        elif isinstance(node, ast.Call) and _is_named(node.func, "setattr", "delattr") and len(node.args) > 1:
            name = node.args[1]
            if isinstance(name, ast.Constant) and isinstance(name.value, str):
                (deleted if _is_named(node.func, "delattr") else stored).add(name.value)
        elif isinstance(node, ast.ClassDef):
            sure |= _surely_set(node)
    return frozenset(deleted | stored - sure)


def _surely_set(node: ast.ClassDef) -> set[str]:
    """What the body of a class, or the statements of its ``__init__``, set on all paths."""
    found: set[str] = set()
    for part in node.body:
        if isinstance(part, ast.Assign | ast.AnnAssign):
            found |= {each.id for each in _targets(part) if isinstance(each, ast.Name)}
        elif isinstance(part, _FUNCTIONS) and part.name == "__init__":
            for statement in part.body:
                if isinstance(statement, ast.Assign | ast.AnnAssign):
                    found |= {each.attr for each in _targets(statement) if isinstance(each, ast.Attribute)}
    return found


def _targets(node: ast.Assign | ast.AnnAssign) -> list[ast.AST]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return [part for target in targets for part in ast.walk(target)]


def _is_named(node: ast.AST, *names: str) -> bool:
    return isinstance(node, ast.Name) and node.id in names
