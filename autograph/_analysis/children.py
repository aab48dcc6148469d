"""The nodes in a node, of Python's trees and of gast's.

Operators and contexts are left out: nothing is in them, and they are half of what `ast.iter_child_nodes` finds, in three
times as long.
"""

from __future__ import annotations

import ast
from types import MappingProxyType

import gast

_WITHOUT_NODES = frozenset(["Constant", "Global", "Nonlocal", "MatchSingleton"])
_TEXTS = "arg asname attr id kind kwd_attrs module rest str tag type_comment"
_NUMBERS = "conversion is_async level simple"
_WITHOUT_NAMES = frozenset(["ctx", "op", "ops", *_TEXTS.split(), *_NUMBERS.split()])

_WITH_GAPS = frozenset(["keys", "kw_defaults"])  # the lists that may hold None


def _fields(kind: type) -> tuple[str, ...]:
    """The fields that hold nodes with names in them, lists of such, or None."""
    if kind.__name__ in _WITHOUT_NODES:
        return ()
    is_named_by_node = kind.__name__ == "TypeAlias" or kind is gast.ExceptHandler
    fields: tuple[str, ...] = getattr(kind, "_fields", ())
    return tuple(field for field in fields if field not in _WITHOUT_NAMES and (is_named_by_node or field != "name"))


FIELDS = MappingProxyType(
    {
        kind: _fields(kind)
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
    found: list[ast.AST] = []
    values = node.__dict__
    for field in FIELDS[node.__class__]:
        value = values.get(field)
        if value.__class__ is list:
            found += [part for part in value if part is not None] if field in _WITH_GAPS else value
        elif value is not None:
            found.append(value)
    return found


def walk(node: ast.AST) -> list[ast.AST]:
    """The node and all in it, level by level."""
    found = [node]
    add = found.append
    for part in found:  # `children`, in place: a function is walked some forty times
        values = part.__dict__
        for field in FIELDS[part.__class__]:
            value = values.get(field)
            if value.__class__ is list:
                found += [each for each in value if each is not None] if field in _WITH_GAPS else value
            elif value is not None:
                add(value)
    return found
