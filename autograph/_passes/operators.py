"""`LowerOperators`: operators and attributes that may lead to a user's method with control flow in; operator calls out."""

from __future__ import annotations

from collections.abc import Callable, Collection

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
# Of those that work in place, what lists, deques, sets and dicts have.
_OF_CONTAINERS = (gast.Add, gast.Mult, gast.BitOr, gast.BitAnd, gast.Sub, gast.BitXor)


class LowerOperators(gast.NodeTransformer):
    """Rewrites the operators and attributes that the classes around the function give a meaning with control flow in it.

        a + b         →   ag__.operate('+', a, b)
        a += b        →   a = ag__.operate('+=', a, b)
        box.total     →   ag__.get_attr(box, 'total')

    Only those: where no class has a ``__mul__`` with control flow, ``a * b`` stays. An augmented assignment to what may be
    a list that is known elsewhere too writes to that list:

        def extend(items, more):      →   def extend(items, more):
            items += more                     items = ag__.operate('+=', items, more)

    Attributes: shared (names that may be bound to such a list).
    """

    applies_to: frozenset[type] | None = frozenset(
        {gast.BinOp, gast.UnaryOp, gast.Compare, gast.AugAssign, gast.Attribute}
    )
    introduces: frozenset[type] = frozenset({gast.Call})

    def __init__(self, context: Context) -> None:
        self.context = context
        self.shared: set[str] = set()

    def __call__(self, node: gast.AST) -> gast.AST:
        augmented = [part for part in gast.walk(node) if isinstance(part, gast.AugAssign)]
        if augmented:
            names = {part.target.id for part in augmented if isinstance(part.target, gast.Name)}
            self.shared = names - _numbers(node, names, self.context.is_plain_call)
        return self.visit(node) if self.context.special_methods or self.shared else node

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
        if not isinstance(node.target, gast.Name):
            return node
        extends = node.target.id in self.shared and _may_extend(node.op, node.value)
        if not extends and not self._has(name, f"r{name}", f"i{name}"):
            return node
        new = self._operation(f"{symbol}=", node.value, load(node.target.id), node.value)
        return placed(gast.Assign([store(node.target.id)], new, None), node)

    def visit_Attribute(self, node: gast.AST) -> gast.AST:
        self.generic_visit(node)
        is_read = isinstance(node.ctx, gast.Load) and self.context.mangled(node.attr) in self.context.special_methods
        if not is_read or (isinstance(node.value, gast.Name) and node.value.id == self.context.operators):
            return node
        if self.context.is_plain_call(node):  # a function of a module's that has the name of a property
            return node
        name = constant(self.context.mangled(node.attr))
        return placed(self.context.call("get_attr", node.value, name), node)

    def _has(self, *names: str) -> bool:
        return any(f"__{name}__" in self.context.special_methods for name in names)

    def _operation(self, symbol: str, like: gast.AST, *operands: gast.AST) -> gast.AST:
        if all(isinstance(operand, gast.Constant) for operand in operands):
            return like
        return placed(self.context.call("operate", constant(symbol), *operands), like)


def _may_extend(operation: gast.AST, value: gast.AST) -> bool:
    """Whether a list, deque, set or dict may be what this writes to."""
    if isinstance(value, gast.Constant) and not isinstance(value.value, str | bytes):
        return isinstance(operation, gast.Mult) and isinstance(value.value, int)
    return isinstance(operation, _OF_CONTAINERS)


def _numbers(node: gast.AST, names: Collection[str], is_plain_call: Callable[[gast.AST], bool]) -> set[str]:
    """Those of the names that are bound to numbers, arrays and texts only, as far as expressions tell."""
    told: dict[str, bool] = {}

    def bind(target: gast.AST, is_number: bool) -> None:
        for part in gast.walk(target):
            if isinstance(part, gast.Name) and part.id in names and not isinstance(part.ctx, gast.Load):
                told[part.id] = told.get(part.id, True) and is_number

    for part in gast.walk(node):
        if isinstance(part, gast.Assign):
            for target in part.targets:
                for each, value in _pairs(target, part.value):
                    bind(each, isinstance(each, gast.Name) and _is_number(value, is_plain_call))
        elif isinstance(part, gast.AnnAssign | gast.NamedExpr):
            bind(part.target, part.value is None or _is_number(part.value, is_plain_call))
        elif isinstance(part, gast.arguments):
            for each in (*part.posonlyargs, *part.args, *part.kwonlyargs):
                bind(each, False)
        elif not isinstance(part, gast.AugAssign | gast.Tuple | gast.List | gast.Starred):
            for child in gast.iter_child_nodes(part):
                if isinstance(child, gast.Name | gast.Tuple | gast.List):
                    bind(child, False)
    return {name for name, is_number in told.items() if is_number}


def _pairs(target: gast.AST, value: gast.AST) -> list[tuple[gast.AST, gast.AST]]:
    """The parts of an assignment, each with its value, where both are displays."""
    displays = gast.Tuple | gast.List
    if isinstance(target, displays) and isinstance(value, displays) and len(target.elts) == len(value.elts):
        if not any(isinstance(part, gast.Starred) for part in (*target.elts, *value.elts)):
            return list(zip(target.elts, value.elts, strict=True))
    return [(target, value)]


def _is_number(node: gast.AST, is_plain_call: Callable[[gast.AST], bool]) -> bool:
    if isinstance(node, gast.BinOp):
        return not any(isinstance(side, gast.List | gast.ListComp) for side in (node.left, node.right))
    if isinstance(node, gast.Call):
        return is_plain_call(node.func)
    return isinstance(node, gast.Constant | gast.UnaryOp | gast.Compare | gast.JoinedStr)
