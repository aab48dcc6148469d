"""`LowerPrints`: texts of values that are printed in; texts that can wait for traced values out."""

from __future__ import annotations

import gast

from autograph._passes.nodes import Context
from autograph._passes.raises import DeferTexts


class LowerPrints(gast.NodeTransformer):
    """Rewrites the f-strings that a ``print``, a logger or ``warnings.warn`` is given, so that they are made when it prints.

    >>> from autograph._passes.shown import rewritten
    >>> print(rewritten(LowerPrints, '''
    ... def f(loss):
    ...     print(f'loss {loss}')
    ... '''))
    def f(loss):
        print(ag__.text(lambda value: f'loss {value}', loss))
    """

    applies_to: frozenset[type] | None = frozenset({gast.JoinedStr})
    introduces: frozenset[type] = frozenset()

    def __init__(self, context: Context) -> None:
        self.context = context

    def __call__(self, node: gast.AST) -> gast.AST:
        return self.visit(node)

    def visit_Call(self, node: gast.AST) -> gast.AST:
        self.generic_visit(node)
        name = getattr(node.func, "attr", getattr(node.func, "id", None))
        if name == "print" or (isinstance(node.func, gast.Attribute) and self.context.is_logging(node.func)):
            node.args = [
                DeferTexts(self.context).visit(part) if isinstance(part, gast.JoinedStr) else part for part in node.args
            ]
        return node
