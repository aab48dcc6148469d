"""`LowerOperators`: operators and attributes that may lead to a user's method with control flow in; operator calls out."""

from __future__ import annotations

import gast

from autograph._passes.nodes import Context, constant, load, placed, store

_BINARY: dict[type, tuple[str, str]] = {
    gast.Add: ("+", "add"),
    gast.Sub: ("-", "sub"),
    gast.Mult: ("*", "mul"),
    gast.MatMult: ("@", "matmul"),
    gast.Div: ("/", "truediv"),
    gast.FloorDiv: ("//", "floordiv"),
    gast.Mod: ("%", "mod"),
    gast.Pow: ("**", "pow"),
    gast.LShift: ("<<", "lshift"),
    gast.RShift: (">>", "rshift"),
    gast.BitAnd: ("&", "and"),
    gast.BitOr: ("|", "or"),
    gast.BitXor: ("^", "xor"),
}
_COMPARISONS: dict[type, tuple[str, tuple[str, ...]]] = {
    gast.Lt: ("<", ("lt", "gt")),
    gast.LtE: ("<=", ("le", "ge")),
    gast.Gt: (">", ("lt", "gt")),
    gast.GtE: (">=", ("le", "ge")),
    gast.Eq: ("==", ("eq",)),
    gast.NotEq: ("!=", ("ne", "eq")),
}
_UNARY: dict[type, tuple[str, str]] = {gast.USub: ("-", "neg"), gast.UAdd: ("+", "pos"), gast.Invert: ("~", "invert")}


class LowerOperators(gast.NodeTransformer):
    """Rewrites the operators and attributes that the classes around the function give a meaning with control flow in it.

        a + b         →   ag__.operate('+', a, b)
        a += b        →   a = ag__.operate('+=', a, b)
        box.total     →   ag__.get_attr(box, 'total')

    Only those: where no class has a ``__mul__`` with control flow, ``a * b`` stays.
    """

    applies_to: frozenset[type] | None = frozenset(
        {gast.BinOp, gast.UnaryOp, gast.Compare, gast.AugAssign, gast.Attribute}
    )
    introduces: frozenset[type] = frozenset({gast.Call})

    def __init__(self, context: Context) -> None:
        self.context = context

    def __call__(self, node: gast.AST) -> gast.AST:
        return self.visit(node) if self.context.special_methods else node

    def visit_AnnAssign(self, node: gast.AST) -> gast.AST:
        """Annotations are read by whoever evaluates them."""
        node.target = self.visit(node.target)
        node.value = node.value and self.visit(node.value)
        return node

    def visit_arguments(self, node: gast.AST) -> gast.AST:
        node.defaults = [self.visit(default) for default in node.defaults]
        node.kw_defaults = [default and self.visit(default) for default in node.kw_defaults]
        return node

    def visit_FunctionDef(self, node: gast.AST) -> gast.AST:
        node.args = self.visit(node.args)
        node.body = [self.visit(part) for part in node.body]
        node.decorator_list = [self.visit(part) for part in node.decorator_list]
        return node

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_BinOp(self, node: gast.AST) -> gast.AST:
        self.generic_visit(node)
        symbol, name = _BINARY[type(node.op)]
        if not self._has(name, f"r{name}"):
            return node
        return self._operation(symbol, node, node.left, node.right)

    def visit_Compare(self, node: gast.AST) -> gast.AST:
        self.generic_visit(node)
        if len(node.ops) > 1 or type(node.ops[0]) not in _COMPARISONS:
            return node
        symbol, names = _COMPARISONS[type(node.ops[0])]
        return self._operation(symbol, node, node.left, *node.comparators) if self._has(*names) else node

    def visit_UnaryOp(self, node: gast.AST) -> gast.AST:
        self.generic_visit(node)
        if type(node.op) not in _UNARY:
            return node
        symbol, name = _UNARY[type(node.op)]
        return self._operation(symbol, node, node.operand) if self._has(name) else node

    def visit_AugAssign(self, node: gast.AST) -> gast.AST:
        self.generic_visit(node)
        symbol, name = _BINARY[type(node.op)]
        if not isinstance(node.target, gast.Name) or not self._has(name, f"r{name}", f"i{name}"):
            return node
        new = self._operation(f"{symbol}=", node.value, load(node.target.id), node.value)
        return placed(gast.Assign([store(node.target.id)], new, None), node)

    def visit_Attribute(self, node: gast.AST) -> gast.AST:
        self.generic_visit(node)
        is_read = isinstance(node.ctx, gast.Load) and self.context.mangled(node.attr) in self.context.special_methods
        if not is_read or (isinstance(node.value, gast.Name) and node.value.id == self.context.operators):
            return node
        name = constant(self.context.mangled(node.attr))
        return placed(self.context.call("get_attr", node.value, name), node)

    def _has(self, *names: str) -> bool:
        return any(f"__{name}__" in self.context.special_methods for name in names)

    def _operation(self, symbol: str, like: gast.AST, *operands: gast.AST) -> gast.AST:
        if all(isinstance(operand, gast.Constant) for operand in operands):
            return like
        return placed(self.context.call("operate", constant(symbol), *operands), like)
