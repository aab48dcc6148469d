"""`LowerSlices`: slices with computed bounds in; operator calls that allow the bounds to be traced out."""

from __future__ import annotations

import gast

from autograph._passes.nodes import Context, Rewriter, copied, placed, thunk
from autograph._passes.polynomials import difference


class LowerSlices(Rewriter):
    """Rewrites subscripts whose slices have bounds that may be traced.

    XLA reads a piece of an array at a traced place, but not one of a traced size. The size is therefore found here,
    by cancelling what both bounds have in common. Slices between constants stay as they are.

    >>> from autograph._passes.shown import rewritten
    >>> print(rewritten(LowerSlices, '''
    ... def f(x, i):
    ...     return x[i:i + 3], x[:, i:], x[1:]
    ... '''))
    def f(x, i):
        return (ag__.get_item(x, ag__.span(i, i + 3, size=lambda: 3)), ag__.get_item(x, ag__.index[:, ag__.span(i, None)]), x[1:])
    """

    applies_to: frozenset[type] | None = frozenset({gast.Slice})
    introduces: frozenset[type] = frozenset()

    def __init__(self, context: Context) -> None:
        self.context = context

    def __call__(self, node: gast.AST) -> gast.AST:
        return self.visit(node)

    def visit_ClassDef(self, node: gast.AST) -> gast.AST:
        """A lambda in a class body does not see the class's names: only its methods are rewritten."""
        node.body = [self.visit(part) if isinstance(part, gast.FunctionDef) else part for part in node.body]
        return node

    def visit_Subscript(self, node: gast.AST) -> gast.AST:
        has_span = self._has_span(node.slice)
        if self._is_index(node):
            return self._with_spans(node) if has_span else self.generic_visit(node)
        if not isinstance(node.ctx, gast.Load) or not (has_span or self._is_index_with_span(node.slice)):
            return self.generic_visit(node)
        value = self.visit(node.value)
        if not has_span:
            key = self.visit(node.slice)
        elif isinstance(node.slice, gast.Slice):
            key = self._span(node.slice)
        else:
            key = self._with_spans(gast.Subscript(self.context.operator("index"), node.slice, gast.Load()))
        return placed(self.context.call("get_item", value, key), node)

    def _with_spans(self, node: gast.AST) -> gast.AST:
        """``ag__.index[...]`` with spans for the slices that need them."""
        parts = node.slice.elts if isinstance(node.slice, gast.Tuple) else [node.slice]
        parts = [self._span(part) if _may_be_traced(part) else self.visit(part) for part in parts]
        if len(parts) == 1 and not isinstance(node.slice, gast.Tuple):
            return parts[0]
        node.slice = gast.Tuple(parts, gast.Load())
        return node

    def _span(self, node: gast.AST) -> gast.AST:
        bounds = node.lower is not None and node.upper is not None
        size = difference(node.upper, node.lower) if bounds else None
        keywords = {} if size is None else {"size": thunk(placed(copied(size), node.lower))}
        parts = [gast.Constant(None, None) if part is None else self.visit(part) for part in (node.lower, node.upper)]
        if node.step is not None:
            parts.append(self.visit(node.step))
        return self.context.call("span", *parts, **keywords)

    def _is_index(self, node: gast.AST) -> bool:
        return self.context.is_operator(node.value) and node.value.attr == "index"

    def _has_span(self, node: gast.AST) -> bool:
        return any(_may_be_traced(part) for part in (node.elts if isinstance(node, gast.Tuple) else [node]))

    def _is_index_with_span(self, node: gast.AST) -> bool:
        return isinstance(node, gast.Subscript) and self._is_index(node) and self._has_span(node.slice)


def _may_be_traced(node: gast.AST) -> bool:
    """Whether this is a slice with a bound or step that is computed when it runs, and that may move into a call."""
    if not isinstance(node, gast.Slice):
        return False
    bounds = [part for part in (node.lower, node.upper, node.step) if part is not None]
    return any(not _is_constant(part) for part in bounds) and not any(
        isinstance(part, gast.NamedExpr | gast.Await | gast.Yield | gast.YieldFrom)
        for bound in bounds
        for part in gast.walk(bound)
    )


def _is_constant(node: gast.AST) -> bool:
    return isinstance(node.operand if isinstance(node, gast.UnaryOp) else node, gast.Constant)
