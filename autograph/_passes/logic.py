"""`LowerLogic`: ``and``, ``or``, ``not``, conditional expressions and chained comparisons in.

Operator calls with thunks out.
"""

from __future__ import annotations

import gast

from autograph._analysis.scopes import COMPREHENSIONS, FUNCTIONS, walk_scope
from autograph._passes.nodes import Context, arguments, constant, function, load, names_tuple, placed, store, thunk
from autograph._passes.static_tests import is_singleton_test, is_static_test


class LowerLogic(gast.NodeTransformer):
    """Rewrites expressions that ask for the truth of a value, keeping Python's order and short circuit.

        x > 0 and y        →   ag__.and_(x > 0, lambda: y)
        not x              →   ag__.not_(x)
        a if c else b      →   ag__.if_exp(c, lambda: a, lambda: b)
        a < b < c          →   ag__.and_(a < b, lambda: b < c)

    Operands that are always Python bools are left alone, and so are expressions whose delayed part binds a name
    (``:=``) or suspends: those cannot move into a lambda.
    """

    applies_to: frozenset[type] | None = None
    introduces: frozenset[type] = frozenset()

    def __init__(self, context: Context) -> None:
        self.context = context
        self.operands: list[gast.AST] | None = None
        self.declared: tuple[frozenset[str], frozenset[str]] = (frozenset(), frozenset())
        self.is_in_iterable = False  # of a comprehension, where Python allows no `:=`, not in a lambda either

    def __call__(self, node: gast.AST) -> gast.AST:
        return self.visit(node)

    def visit_FunctionDef(self, node: gast.AST) -> gast.AST:
        outer = self.operands, self.declared
        self.operands = None
        declarations = [part for part in walk_scope(node.body) if isinstance(part, gast.Nonlocal | gast.Global)]
        self.declared = (
            frozenset(n for part in declarations if isinstance(part, gast.Nonlocal) for n in part.names),
            frozenset(n for part in declarations if isinstance(part, gast.Global) for n in part.names),
        )
        self.generic_visit(node)
        self.operands, self.declared = outer
        return node

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: gast.AST) -> gast.AST:
        outer, self.operands = self.operands, None
        self.generic_visit(node)
        self.operands = outer
        return node

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_ClassDef = visit_Lambda

    def visit_comprehension(self, node: gast.AST) -> gast.AST:
        outer, self.is_in_iterable = self.is_in_iterable, True
        node.iter = self.visit(node.iter)
        self.is_in_iterable = outer
        node.ifs = [self.visit(test) for test in node.ifs]
        return node

    def visit_Expr(self, node: gast.AST) -> gast.AST | list[gast.AST]:
        """A simple statement: the named operands of its expressions go before it."""
        outer, self.operands = self.operands, []
        self.generic_visit(node)
        operands, self.operands = self.operands, outer
        return [*operands, node]

    visit_Assign = visit_AugAssign = visit_Return = visit_Raise = visit_Expr

    def visit_BoolOp(self, node: gast.AST) -> gast.AST:
        if all(is_static_test(value) for value in node.values[:-1]) or not self._can_delay(node.values[1:]):
            return self.generic_visit(node)
        operator = "and_" if isinstance(node.op, gast.And) else "or_"
        names = self._bound_by(node.values[1:])
        first, *rest = (self.visit(value) for value in node.values)
        call = self.context.call(operator, first, *(self._delayed(value, names) for value in rest), **_named(names))
        return placed(call, node)

    def visit_UnaryOp(self, node: gast.AST) -> gast.AST:
        if not isinstance(node.op, gast.Not) or is_static_test(node.operand):
            return self.generic_visit(node)
        return placed(self.context.call("not_", self.visit(node.operand)), node)

    def visit_IfExp(self, node: gast.AST) -> gast.AST:
        if is_static_test(node.test) or not self._can_delay([node.body, node.orelse]):
            return self.generic_visit(node)
        names = self._bound_by([node.body, node.orelse])
        operands = [self._delayed(self.visit(part), names) for part in (node.body, node.orelse)]
        return placed(self.context.call("if_exp", self.visit(node.test), *operands, **_named(names)), node)

    def _can_delay(self, nodes: list[gast.AST]) -> bool:
        if any(_reaches(node, (gast.Yield, gast.YieldFrom, gast.Await)) for node in nodes):
            return False
        return self.operands is not None or not self._bound_by(nodes)

    def _bound_by(self, nodes: list[gast.AST]) -> list[str]:
        return sorted({part.target.id for node in nodes for part in _walruses(node)})

    def _delayed(self, operand: gast.AST, names: list[str]) -> gast.AST:
        """A thunk of the operand: a lambda, or the name of a function that shares what it binds."""
        bound = [name for name in names if any(part.target.id == name for part in _walruses(operand))]
        if not bound:
            return thunk(operand)
        assert self.operands is not None
        nonlocal_names, global_names = self.declared
        body: list[gast.AST] = []
        if shared := [name for name in bound if name not in global_names]:
            body.append(gast.Nonlocal(shared))
        if declared := [name for name in bound if name in global_names]:
            body.append(gast.Global(declared))
        for name in shared:
            if name not in nonlocal_names:  # the function around owns the name: let it have one that binds nothing
                own = gast.AnnAssign(store(name), load("object"), None, 1)
                self.operands.append(placed(own, operand))
        function_name = self.context.names.new("operand")
        self.context.generated.add(function_name)
        made = function(function_name, (), [*body, gast.Return(operand)])
        self.operands.append(placed(made, operand))
        return load(function_name)

    def visit_Compare(self, node: gast.AST) -> gast.AST:
        if len(node.ops) == 1:
            return self._membership(node)
        if is_static_test(node) or not self._can_delay([node]) or self._bound_by([node]):
            return self.generic_visit(node)
        if self.is_in_iterable:
            operands = [self.visit(operand) for operand in (node.left, *node.comparators)]
            return placed(self._chain_of_parameters(operands[0], node.ops, operands[1:]), node)
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

    def _chain_of_parameters(self, left: gast.AST, ops: list[gast.AST], rest: list[gast.AST]) -> gast.AST:
        """``(lambda a, b: and_(a < b, lambda: b < c))(a, b)``."""
        if len(ops) == 1:
            return self._membership(gast.Compare(left, ops, rest))
        first, middle = self.context.names.new("left"), self.context.names.new("middle")
        pair = self._membership(gast.Compare(load(first), [ops[0]], [load(middle)]))
        others = self._chain_of_parameters(load(middle), ops[1:], rest[1:])
        made = gast.Lambda(arguments([first, middle]), self.context.call("and_", pair, thunk(others)))
        return gast.Call(made, [left, rest[0]], [])

    def _membership(self, node: gast.AST) -> gast.AST:
        node = self.generic_visit(node)
        if is_singleton_test(node):
            singleton = node.comparators[0].value
            operator, rest = ("is_none", []) if singleton is None else ("is_bool", [constant(singleton)])
            asked = self.context.call(operator, node.left, *rest)
            return placed(self.context.call("not_", asked) if isinstance(node.ops[0], gast.IsNot) else asked, node)
        if not isinstance(node.ops[0], gast.In | gast.NotIn):
            return node
        found = self.context.call("contains", node.left, node.comparators[0])
        return placed(self.context.call("not_", found) if isinstance(node.ops[0], gast.NotIn) else found, node)


def _walruses(node: gast.AST) -> list[gast.AST]:
    """The ``:=`` that bind a name of the scope that ``node`` itself runs in."""
    if isinstance(node, FUNCTIONS):
        return []
    own = [node] if isinstance(node, gast.NamedExpr) else []
    return own + [part for child in gast.iter_child_nodes(node) for part in _walruses(child)]


def _named(names: list[str]) -> dict[str, gast.AST]:
    return {"names": names_tuple(names)} if names else {}


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
