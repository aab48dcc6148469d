"""`LowerLogic`: ``and``, ``or``, ``not``, conditional expressions and chained comparisons in; operator calls with thunks out."""

from __future__ import annotations

import gast

from autograph._analysis.scopes import COMPREHENSIONS, FUNCTIONS
from autograph._passes.nodes import Context, constant, load, placed, store, thunk
from autograph._passes.static_tests import is_static_test


class LowerLogic(gast.NodeTransformer):
    """Rewrites expressions that ask for the truth of a value, keeping Python's order and short circuit.

        x > 0 and y        →   ag__.and_(x > 0, lambda: y)
        not x              →   ag__.not_(x)
        a if c else b      →   ag__.if_exp(c, lambda: a, lambda: b)
        a < b < c          →   ag__.and_(a < b, lambda: b < c)

    Operands that are always Python bools are left alone, and so are expressions whose delayed part binds a name (``:=``) or
    suspends: those cannot move into a lambda.
    """

    applies_to: frozenset[type] | None = None
    introduces: frozenset[type] = frozenset()

    def __init__(self, context: Context) -> None:
        self.context = context

    def __call__(self, node: gast.AST) -> gast.AST:
        return self.visit(node)

    def visit_BoolOp(self, node: gast.AST) -> gast.AST:
        if all(is_static_test(value) for value in node.values[:-1]) or not _can_delay(node.values[1:]):
            return self.generic_visit(node)
        operator = "and_" if isinstance(node.op, gast.And) else "or_"
        first, *rest = (self.visit(value) for value in node.values)
        return placed(self.context.call(operator, first, *(thunk(value) for value in rest)), node)

    def visit_UnaryOp(self, node: gast.AST) -> gast.AST:
        if not isinstance(node.op, gast.Not) or is_static_test(node.operand):
            return self.generic_visit(node)
        return placed(self.context.call("not_", self.visit(node.operand)), node)

    def visit_IfExp(self, node: gast.AST) -> gast.AST:
        if is_static_test(node.test) or not _can_delay([node.body, node.orelse]):
            return self.generic_visit(node)
        parts = (self.visit(node.test), thunk(self.visit(node.body)), thunk(self.visit(node.orelse)))
        return placed(self.context.call("if_exp", *parts), node)

    def visit_Compare(self, node: gast.AST) -> gast.AST:
        if len(node.ops) == 1:
            return self._membership(node)
        if is_static_test(node) or not _can_delay([node]):
            return self.generic_visit(node)
        left = self.visit(node.left)
        pairs = []
        for k, (op, right) in enumerate(zip(node.ops, node.comparators, strict=True)):
            right = self.visit(right)
            shared: gast.AST = right
            if k < len(node.ops) - 1 and not isinstance(right, gast.Name | gast.Constant):
                name = self.context.names.new("middle")
                right, shared = gast.NamedExpr(store(name), right), load(name)
            elif isinstance(right, gast.Name):
                shared = load(right.id)
            elif isinstance(right, gast.Constant):
                shared = constant(right.value)
            pairs.append(self._membership(placed(gast.Compare(left, [op], [right]), node)))
            left = shared
        if any(_binds(pair) for pair in pairs[1:]):
            chain = pairs[-1]  # a bound middle operand must live in the lambda of all that follows it
            for pair in reversed(pairs[:-1]):
                chain = self.context.call("and_", pair, thunk(chain))
            return placed(chain, node)
        return placed(self.context.call("and_", pairs[0], *(thunk(pair) for pair in pairs[1:])), node)

    def _membership(self, node: gast.AST) -> gast.AST:
        node = self.generic_visit(node)
        if not isinstance(node.ops[0], gast.In | gast.NotIn):
            return node
        found = self.context.call("contains", node.left, node.comparators[0])
        return placed(
            self.context.call("not_", found) if isinstance(node.ops[0], gast.NotIn) else found, node
        )


def _can_delay(nodes: list[gast.AST]) -> bool:
    kinds = (gast.NamedExpr, gast.Yield, gast.YieldFrom, gast.Await)
    return not any(_reaches(node, kinds) for node in nodes)


def _reaches(node: gast.AST, kinds: tuple[type, ...]) -> bool:
    """Whether a node of these kinds takes effect in the scope of ``node`` itself."""
    if isinstance(node, kinds):
        return True
    if isinstance(node, FUNCTIONS):
        return False
    if isinstance(node, COMPREHENSIONS) and any(generator.is_async for generator in node.generators):
        return True
    return any(_reaches(child, kinds) for child in gast.iter_child_nodes(node))


def _binds(node: gast.AST) -> bool:
    return any(isinstance(part, gast.NamedExpr) for part in gast.walk(node))
