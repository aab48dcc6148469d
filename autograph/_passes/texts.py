"""`LowerTexts`: texts of values in; calls that make them of values that may be traced, or one of several constants, out."""

from __future__ import annotations

import gast

from autograph._passes.nodes import Context, Rewriter
from autograph._passes.raises import DeferTexts, is_format

_DEFERRING = frozenset(["text", "text_now"])  # make a text of the values that they are given


class LowerTexts(Rewriter):
    """Rewrites f-strings, and texts that are made by ``%``, ``*`` and `str.format`.

    One that a ``print``, a logger or ``warnings.warn`` is given is made when that prints.

    >>> from autograph._passes.shown import rewritten
    >>> print(rewritten(LowerTexts, '''
    ... def f(loss, mode):
    ...     print(f'loss {loss}')
    ...     return f'{mode}-loss'
    ... '''))
    def f(loss, mode):
        print(ag__.text(lambda value: f'loss {value}', loss))
        return ag__.text_now(lambda value_1: f'{value_1}-loss', mode)
    """

    applies_to: frozenset[type] | None = frozenset({gast.JoinedStr, gast.BinOp, gast.Call})
    introduces: frozenset[type] = frozenset()

    def __init__(self, context: Context) -> None:
        self.context = context

    def __call__(self, node: gast.AST) -> gast.AST:
        return self.visit(node)

    def visit_JoinedStr(self, node: gast.AST) -> gast.AST:
        self.generic_visit(node)
        return DeferTexts(self.context, "text_now").visit(node)

    def visit_BinOp(self, node: gast.AST) -> gast.AST:
        self.generic_visit(node)
        return DeferTexts(self.context, "text_now").visit(node) if is_format(node) else node

    def visit_FormattedValue(self, node: gast.AST) -> gast.AST:
        node.value = self.visit(node.value)  # and not the format, a text of its own
        return node

    def visit_AnnAssign(self, node: gast.AST) -> gast.AST:
        node.value = node.value and self.visit(node.value)
        return node

    def visit_Call(self, node: gast.AST) -> gast.AST:
        if self.context.is_operator_call(node):
            if node.func.attr not in _DEFERRING:
                return self.generic_visit(node)
            make, *values = node.args
            node.args = [make, *map(self.visit, values)]
            return node
        name = getattr(node.func, "attr", getattr(node.func, "id", None))
        if name == "print" or (isinstance(node.func, gast.Attribute) and self.context.is_logging(node.func)):
            node.args = [
                DeferTexts(self.context).visit(part) if isinstance(part, gast.JoinedStr) else part for part in node.args
            ]
        self.generic_visit(node)
        return DeferTexts(self.context, "text_now").visit(node) if is_format(node) else node
