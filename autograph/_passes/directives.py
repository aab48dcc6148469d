"""`TakeLoopOptions`: ``set_loop_options(...)`` at the head of a loop's body in; a loop without it out."""

from __future__ import annotations

import gast

from autograph._analysis.scopes import suspends
from autograph._passes.nodes import Context, Rewriter, placed


class TakeLoopOptions(Rewriter):
    """Takes the directive out of the body; `Context.loop_options` keeps the options for whoever outlines the loop.

    They are evaluated once, before the loop. A directive anywhere else stays a call, which reports itself when it is
    reached, and so does one in a loop that suspends, which stays Python's.

    >>> from autograph._passes.shown import rewritten
    >>> print(rewritten(TakeLoopOptions, '''
    ... def f(x):
    ...     while x > 1:
    ...         set_loop_options(maximum_iterations=9)
    ...         x = x / 2
    ...     return x
    ... '''))
    def f(x):
        while x > 1:
            x = x / 2
        return x
    """

    applies_to: frozenset[type] | None = frozenset({gast.For, gast.While})
    introduces: frozenset[type] = frozenset()

    def __init__(self, context: Context) -> None:
        self.context = context

    def __call__(self, node: gast.AST) -> gast.AST:
        return node if isinstance(node, gast.Lambda) else self.generic_visit(node)

    def visit_For(self, node: gast.AST) -> gast.AST:
        self.generic_visit(node)
        first = node.body[0]
        is_call = isinstance(first, gast.Expr) and isinstance(first.value, gast.Call)
        if is_call and self.context.is_loop_directive(first.value.func) and not suspends([node]):
            directive = first.value
            call = gast.Call(self.context.operator("loop_options"), directive.args, directive.keywords)
            self.context.loop_options[node] = placed(call, directive)
            node.body = node.body[1:] or [placed(gast.Pass(), first)]
        return node

    visit_While = visit_For
