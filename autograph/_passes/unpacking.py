"""`LowerUnpacking`: what Python iterates by itself in; the same, of dicts that may lack keys, out."""

from __future__ import annotations

import gast

from autograph._passes.nodes import Context, placed

_ITERATED = (gast.Name, gast.Attribute, gast.Subscript, gast.Call)


class LowerUnpacking(gast.NodeTransformer):
    """Rewrites ``*d`` and comprehensions, where the file has dicts of which only some paths may have set a key.

    >>> from autograph._passes.shown import rewritten
    >>> print(rewritten(LowerUnpacking, '''
    ... def f(d):
    ...     return [*d], {k: d[k] for k in d}
    ... ''', lacks_keys=True))
    def f(d):
        return ([*ag__.items_in(d)], {k: d[k] for k in ag__.items_in(d)})
    """

    applies_to: frozenset[type] | None = frozenset({gast.Starred, gast.comprehension})
    introduces: frozenset[type] = frozenset()

    def __init__(self, context: Context) -> None:
        self.context = context

    def __call__(self, node: gast.AST) -> gast.AST:
        return self.visit(node) if self.context.lacks_keys else node

    def visit_Starred(self, node: gast.AST) -> gast.AST:
        self.generic_visit(node)
        if isinstance(node.ctx, gast.Load):
            node.value = self._items(node.value)
        return node

    def visit_comprehension(self, node: gast.AST) -> gast.AST:
        self.generic_visit(node)
        if not node.is_async:
            node.iter = self._items(node.iter)
        return node

    def _items(self, node: gast.AST) -> gast.AST:
        if not isinstance(node, _ITERATED) or self.context.is_operator_call(node):
            return node
        if isinstance(node, gast.Call) and self.context.is_plain_call(node.func):
            return node
        return placed(self.context.call("items_in", node), node)
