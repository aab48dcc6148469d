"""Translate a syntax tree of Python's to one of gast's, and back, in a third of the time that gast takes.

Most kinds of node have the same fields in both: for these, what a node holds is copied as it stands. All others are left
to gast's own translators.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from types import MappingProxyType, ModuleType
from typing import Any

import gast
from gast.ast3 import Ast3ToGAst, GAstToAst3

_WITHOUT_FIELDS = (ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop)


def to_gast(node: ast.AST) -> gast.AST:
    """The tree of gast's for one of Python's, which stays as it is.

    >>> node = ast.parse("def f(x, *y):\\n    return x + y[0]")
    >>> gast.dump(to_gast(node)) == gast.dump(gast.ast_to_gast(node))
    True
    """
    return _ToGast().visit(node)


def to_ast(node: gast.AST) -> Any:
    """The tree of Python's for one of gast's.

    >>> text = "def f(x, *y):\\n    return x + y[0]"
    >>> ast.unparse(to_ast(gast.parse(text))) == text
    True
    """
    return _ToAst().visit(node)


class _Quick:
    """The part of a translator that is the same for all kinds of node.

    Attributes:
      made_of: for each kind of node, what makes its counterpart.
      counterparts: for each kind of node the kind that it becomes, and the fields that a node has to have for that.
    """

    made_of: MappingProxyType[type, Callable[[Any, Any], Any]]
    counterparts: MappingProxyType[type, tuple[Any, frozenset[str]]]

    def __init_subclass__(cls, source: ModuleType, target: ModuleType) -> None:
        kinds = {kind for kind in vars(source).values() if isinstance(kind, type) and issubclass(kind, ast.AST)}
        made_of: dict[type, Callable[[Any, Any], Any]] = {}
        counterparts = {}
        for kind in kinds:
            name, counterpart = f"visit_{kind.__name__}", getattr(target, kind.__name__, None)
            if hasattr(cls, name) and not hasattr(ast.NodeVisitor, name):
                made_of[kind] = getattr(cls, name)
            elif counterpart is None:
                made_of[kind] = cls.generic_visit
            elif issubclass(kind, _WITHOUT_FIELDS):
                made_of[kind] = _always(counterpart())
            else:
                made_of[kind], counterparts[kind] = cls._copied, (counterpart, frozenset(kind._fields))
        cls.made_of, cls.counterparts = MappingProxyType(made_of), MappingProxyType(counterparts)

    def generic_visit(self, node: Any) -> Any:
        """What gast makes of a node."""
        return super().generic_visit(node)  # type: ignore[misc]

    def visit(self, node: Any) -> Any:
        return self.made_of[node.__class__](self, node)

    def _visit(self, value: Any) -> Any:
        """A node, a list of what is in a node, or something else in one, which stays the same."""
        kind = value.__class__
        if kind is list:
            return list(map(self._visit, value))
        make = self.made_of.get(kind)
        return value if make is None else make(self, value)

    def _copied(self, node: Any) -> Any:
        """The counterpart of a node that has the same fields."""
        kind, fields = self.counterparts[node.__class__]
        values = node.__dict__
        if not fields <= values.keys():
            return self.generic_visit(node)
        made = kind.__new__(kind)
        translated, made_of = made.__dict__, self.made_of
        for name, value in values.items():
            if value.__class__ is list:
                translated[name] = list(map(self._visit, value))
            else:
                make = made_of.get(value.__class__)
                translated[name] = value if make is None else make(self, value)
        return made


def _always(node: Any) -> Callable[[Any, Any], Any]:
    return lambda _, __: node


class _ToGast(_Quick, Ast3ToGAst, source=ast, target=gast):
    def visit_Name(self, node: ast.Name) -> gast.AST:
        made = gast.Name.__new__(gast.Name)
        made.__dict__.update(node.__dict__, ctx=self._visit(node.ctx), annotation=None, type_comment=None)
        return made


class _ToAst(_Quick, GAstToAst3, source=gast, target=ast):
    def visit_Name(self, node: gast.AST) -> ast.Name:
        made = ast.Name.__new__(ast.Name)
        values = made.__dict__
        values.update(node.__dict__, ctx=self._visit(node.ctx))
        values.pop("annotation", None)
        values.pop("type_comment", None)
        return made
