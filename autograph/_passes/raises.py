"""`LowerRaises`: ``raise``, ``assert`` and ``try`` in; the same, made known to the operators, out."""

from __future__ import annotations

import gast

from autograph._passes.nodes import Context, constant, placed, thunk


class LowerRaises(gast.NodeTransformer):
    """Lets the operators know of exceptions, which may depend on traced conditions.

    ``raise E`` becomes ``raise ag__.raised(E)``; ``assert t, m`` becomes ``ag__.assert_stmt(t, lambda: m)``; the
    body of a ``try`` that has handlers runs under ``with ag__.handlers():``.
    """

    applies_to: frozenset[type] | None = frozenset(
        {gast.Raise, gast.Assert, gast.Try, *((gast.TryStar,) if hasattr(gast, "TryStar") else ())}
    )
    introduces: frozenset[type] = frozenset()

    def __init__(self, context: Context) -> None:
        self.context = context

    def __call__(self, node: gast.AST) -> gast.AST:
        return node if isinstance(node, gast.Lambda) else self.generic_visit(node)

    def visit_Raise(self, node: gast.AST) -> gast.AST:
        if node.exc is not None:
            error = _DeferTexts(self.context).visit(node.exc)
            node.exc = placed(self.context.call("raised", error), node.exc)
        return node

    def visit_Assert(self, node: gast.AST) -> gast.AST:
        if not __debug__:
            return node
        arguments = [node.test]
        if node.msg is not None:
            arguments.append(thunk(_DeferTexts(self.context).visit(node.msg)))
        return placed(gast.Expr(self.context.call("assert_stmt", *arguments)), node)

    def visit_Try(self, node: gast.AST) -> gast.AST:
        self.generic_visit(node)
        if node.handlers:
            with_node = gast.With([gast.withitem(self.context.call("handlers"), None)], node.body, None)
            node.body = [placed(with_node, node.body[0])]
        return node

    visit_TryStar = visit_Try


class _DeferTexts(gast.NodeTransformer):
    """Turns the f-strings of an exception's arguments into calls that can wait for traced values."""

    def __init__(self, context: Context) -> None:
        self.context = context

    def visit_Lambda(self, node: gast.AST) -> gast.AST:
        return node

    def visit_JoinedStr(self, node: gast.AST) -> gast.AST:
        parts = []
        for part in node.values:
            if isinstance(part, gast.FormattedValue):
                spec = part.format_spec if part.format_spec is not None else constant("")
                parts.append(gast.Tuple([part.value, constant(part.conversion), spec], gast.Load()))
            else:
                parts.append(part)
        return placed(self.context.call("text", *parts), node)
