"""`LowerLists`: displays of lists that may come to grow in; operator calls that make such lists out."""

from __future__ import annotations

import gast

from autograph._passes.nodes import Context, placed

GROWING_METHODS = frozenset({"append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse"})


class LowerLists(gast.NodeTransformer):
    """Rewrites a list display whose list may come to have a length that only run time knows.

        found = []            →   found = ag__.new_list([])
        found.append(x)           found.append(x)

    Those are empty ones, and those assigned to a name, or an attribute, whose ``append`` (or a like method) is
    written somewhere in the function.

    Attributes: growing (names and attributes whose growing methods are called).
    """

    applies_to: frozenset[type] | None = frozenset({gast.List, gast.ListComp, gast.Call})
    introduces: frozenset[type] = frozenset()

    def __init__(self, context: Context) -> None:
        self.context = context
        self.growing: frozenset[str] = frozenset()

    def __call__(self, node: gast.AST) -> gast.AST:
        self.growing = frozenset(_grown(node))
        return self.visit(node)

    def visit_Assign(self, node: gast.AST) -> gast.AST:
        self.generic_visit(node)
        if any(_name(target) in self.growing for target in node.targets) and self._makes_list(node.value):
            node.value = self._new(node.value)
        return node

    def visit_AnnAssign(self, node: gast.AST) -> gast.AST:
        self.generic_visit(node)
        if node.value is not None and _name(node.target) in self.growing and self._makes_list(node.value):
            node.value = self._new(node.value)
        return node

    def visit_List(self, node: gast.AST) -> gast.AST:
        self.generic_visit(node)
        return self._new(node) if isinstance(node.ctx, gast.Load) and not node.elts else node

    def visit_Call(self, node: gast.AST) -> gast.AST:
        if not self.context.is_plain_call(node.func):
            return self.generic_visit(node)
        node.args = [a if isinstance(a, gast.List) and not a.elts else self.visit(a) for a in node.args]
        node.keywords = [self.visit(keyword) for keyword in node.keywords]
        return node

    def visit_ClassDef(self, node: gast.AST) -> gast.AST:
        """What a class body binds is the class's for good: only its methods are rewritten."""
        node.body = [self.visit(part) if isinstance(part, gast.FunctionDef) else part for part in node.body]
        return node

    def _makes_list(self, node: gast.AST) -> bool:
        if isinstance(node, gast.Call):
            return isinstance(node.func, gast.Name) and node.func.id == "list" and not self.context.is_own_name("list")
        return isinstance(node, gast.ListComp | gast.List)

    def _new(self, node: gast.AST) -> gast.AST:
        return placed(self.context.call("new_list", node), node)


def _grown(node: gast.AST) -> set[str]:
    names = set()
    for part in gast.walk(node):
        if isinstance(part, gast.Attribute) and part.attr in GROWING_METHODS:
            names.add(_name(part.value))
        elif isinstance(part, gast.AugAssign) and isinstance(part.op, gast.Add):
            names.add(_name(part.target))
    return {name for name in names if name is not None}


def _name(node: gast.AST) -> str | None:
    if isinstance(node, gast.Name):
        return str(node.id)
    return str(node.attr) if isinstance(node, gast.Attribute) else None
