"""`NestManagers`: ``with`` statements that an exception of the program may come to in; the same, found, of one manager each, out."""

from __future__ import annotations

import gast

from autograph._analysis.scopes import suspends, walk_scope
from autograph._passes.nodes import Context, Rewriter, placed
from autograph._passes.stops import may_raise, may_raise_for_numbers

# Managers of the standard library that keep exceptions from going on, or call the user's code when they are left.
_OF_LIBRARY = frozenset(["suppress", "closing", "ExitStack"])


class NestManagers(Rewriter):
    """Finds the ``with`` statements that are to be staged as the ``try`` that each is (`Context.managed`).

    They are those whose body may raise when the program runs, and whose manager may be one of the user's.

    >>> from autograph._passes.shown import rewritten
    >>> print(rewritten(NestManagers, '''
    ... def f(x, g):
    ...     with manager(x) as y, y:
    ...         return g(y)
    ... '''))
    def f(x, g):
        with manager(x) as y:
            with y:
                return g(y)
    """

    applies_to: frozenset[type] | None = frozenset({gast.With})
    introduces: frozenset[type] = frozenset()

    def __init__(self, context: Context) -> None:
        self.context = context

    def __call__(self, node: gast.AST) -> gast.AST:
        return node if isinstance(node, gast.Lambda) else self.generic_visit(node)

    def visit_With(self, node: gast.AST) -> gast.AST:
        self.generic_visit(node)
        raises = any(map(self._may_raise, node.body))
        if suspends([node]) or not raises or not any(may_be_of_user(self.context, item) for item in node.items):
            return node
        *outer, last = node.items
        node.items = [last]
        self.context.managed.add(node)
        for item in reversed(outer):
            node = placed(gast.With([item], [node], None), node)
            self.context.managed.add(node)
        return node

    def _may_raise(self, statement: gast.AST) -> bool:
        if may_raise(self.context, statement):
            return True
        # The manager may take what Python raises for numbers, in functions of `math` among others.
        parts = [part for part in walk_scope([statement]) if not self.context.is_operator_call(part)]
        return any(isinstance(part, gast.Call) or may_raise_for_numbers(part) for part in parts)


def may_be_of_user(context: Context, item: gast.AST) -> bool:
    """Whether a manager may be the user's, or one of the library's that calls the user's code or takes exceptions."""
    made = item.context_expr
    if not isinstance(made, gast.Call):
        return True
    name = getattr(made.func, "id", getattr(made.func, "attr", None))
    return name in _OF_LIBRARY or not context.is_plain_call(made.func)
