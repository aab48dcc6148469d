"""`LowerLogic`: ``and``, ``or``, ``not``, conditional expressions and chained comparisons in.

Operator calls with thunks out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import gast

from autograph._analysis.scopes import COMPREHENSIONS, FUNCTIONS
from autograph._passes.declared import Declared
from autograph._passes.nodes import (
    Context,
    EvaluatedParts,
    arguments,
    constant,
    function,
    load,
    names_tuple,
    placed,
    store,
    thunk,
)
from autograph._passes.static_tests import is_identity_test, is_singleton_test, is_static_test

_SUSPENDS = (gast.Yield, gast.YieldFrom, gast.Await)


class LowerLogic(EvaluatedParts):
    """Rewrites expressions that ask for the truth of a value, keeping Python's order and short circuit.

    Where only the truth of an ``and`` or ``or`` is asked for, its operands need not be of one type: ``is_test=True``.
    Operands that are always Python bools are left alone. A delayed part that binds a name (``:=``) becomes a function that
    stands before the statement; where none can stand, or the part suspends, the expression stays Python's, and its tests must
    not be traced.

    Attributes:
      operands: the functions to stand before the present statement; None where none can.
      declared: what the function declares.
      reads: in a lambda, how often it reads each name.
      is_in_iterable: of a comprehension, where Python allows no ``:=``, not in a lambda either.

    >>> from autograph._passes.shown import rewritten
    >>> print(rewritten(LowerLogic, '''
    ... def f(x, y):
    ...     w = 0 < x < (z := y + 1) and y
    ...     return (not w) if z else y
    ... '''))
    def f(x, y):
        z: object
    <BLANKLINE>
        def operand():
            nonlocal z
            return x < (z := (y + 1))
        w = ag__.and_(ag__.and_(0 < x, operand, names=('z',)), lambda: y)
        return ag__.if_exp(z, lambda: ag__.not_(w), lambda: y)
    """

    applies_to: frozenset[type] | None = None
    introduces: frozenset[type] = frozenset()

    def __init__(self, context: Context) -> None:
        self.context = context
        self.operands: list[gast.AST] | None = None
        self.declared = Declared()
        self.reads: Counter[str] | None = None
        self.is_in_iterable = False

    def __call__(self, node: gast.AST) -> gast.AST:
        return self.visit(node)

    def visit_FunctionDef(self, node: gast.AST) -> gast.AST:
        outer = self.operands, self.declared, self.reads
        self.operands = self.reads = None
        self.declared = Declared.in_body(node.body)
        self.generic_visit(node)
        self.operands, self.declared, self.reads = outer
        return node

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: gast.AST) -> gast.AST:
        outer = self.operands, self.reads
        self.operands, self.reads = None, _reads_in([node.body])
        self.generic_visit(node)
        self.operands, self.reads = outer
        return node

    def visit_ListComp(self, node: gast.AST) -> gast.AST:
        outer = self.operands, self.reads
        self.operands = self.reads = None
        self.generic_visit(node)
        self.operands, self.reads = outer
        return node

    visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_ClassDef = visit_ListComp

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

    visit_Assign = visit_AnnAssign = visit_AugAssign = visit_Return = visit_Raise = visit_Delete = visit_Expr

    def visit_BoolOp(self, node: gast.AST) -> gast.AST:
        is_test = node in self.context.tests
        if is_test:
            self.context.tests.update(node.values)
        if all(is_static_test(value) for value in node.values[:-1]):
            return self.generic_visit(node)
        if not self._can_delay(node.values[1:]):
            node.values[:-1] = [self._asked(value, node.values[1:]) for value in node.values[:-1]]
            return self.generic_visit(node)
        operator = "and_" if isinstance(node.op, gast.And) else "or_"
        keywords: dict[str, gast.AST] = {}
        if is_test and not all(map(_is_truth, node.values)):
            keywords["is_test"] = constant(True)
        if self.operands is None and self._bound_by(node.values[1:]):
            return placed(self._nested(operator, node.values, keywords), node)
        names = self._bound_by(node.values[1:])
        first, *rest = node.values
        operands = [self._delayed(value) for value in rest]
        return placed(self.context.call(operator, self.visit(first), *operands, **_named(names), **keywords), node)

    def _nested(self, operator: str, values: list[gast.AST], keywords: dict[str, gast.AST]) -> gast.AST:
        """The operands each in the lambda of the one before: there they see the names that it binds."""
        first, *rest = values
        if not rest:
            return self.visit(first)
        return self.context.call(operator, self.visit(first), thunk(self._nested(operator, rest, keywords)), **keywords)

    def visit_UnaryOp(self, node: gast.AST) -> gast.AST:
        if isinstance(node.op, gast.Not):
            self.context.tests.add(node.operand)
        if not isinstance(node.op, gast.Not) or is_static_test(node.operand):
            return self.generic_visit(node)
        return placed(self.context.call("not_", self.visit(node.operand)), node)

    def visit_IfExp(self, node: gast.AST) -> gast.AST:
        self.context.tests.add(node.test)
        if node in self.context.tests:
            self.context.tests.update((node.body, node.orelse))
        if is_static_test(node.test):
            return self.generic_visit(node)
        branches = [node.body, node.orelse]
        if not self._can_delay(branches):
            node.test = self._asked(node.test, branches)
            return self.generic_visit(node)
        names = self._bound_by(branches)
        operands = [self._delayed(part) for part in branches]
        return placed(self.context.call("if_exp", self.visit(node.test), *operands, **_named(names)), node)

    def _can_delay(self, nodes: list[gast.AST]) -> bool:
        """Whether these operands may move into functions."""
        if any(_reaches(node, _SUSPENDS) for node in nodes):
            return False
        if self.operands is not None or not (names := self._bound_by(nodes)):
            return True
        if self.reads is None:
            return False
        inside = _reads_in(nodes)
        return all(inside[name] == self.reads[name] for name in names)

    def _asked(self, test: gast.AST, delayed: list[gast.AST]) -> gast.AST:
        """A test that Python asks, since what depends on it cannot be delayed."""
        if is_static_test(test):
            return test
        suspended = next((kind for kind in _SUSPENDS if any(_reaches(node, kind) for node in delayed)), None)
        why = "walrus" if suspended is None else "await" if suspended is gast.Await else "yield"
        return placed(self.context.call("python_test", test, constant(why)), test)

    def _bound_by(self, nodes: list[gast.AST]) -> list[str]:
        return sorted({part.target.id for node in nodes for part in _walruses(node)})

    def _delayed(self, operand: gast.AST) -> gast.AST:
        """A thunk of the operand, rewritten: a lambda, or the name of a function that shares what it binds."""
        bound = self._bound_by([operand])
        operand = self.visit(operand)
        return thunk(operand) if not bound or self.operands is None else self._named_operand(operand, bound)

    def _named_operand(self, operand: gast.AST, bound: list[str]) -> gast.AST:
        assert self.operands is not None
        self.operands += self.declared.owning(bound, operand)
        function_name = self.context.names.new("operand")
        self.context.generated.add(function_name)
        made = function(function_name, (), [*self.declared.sharing(bound), gast.Return(operand)])
        self.operands.append(placed(made, operand))
        return load(function_name)

    def visit_Compare(self, node: gast.AST) -> gast.AST:
        if len(node.ops) == 1:
            return self._membership(self._of_identities(node))
        if is_static_test(node) or not self._can_delay(node.comparators[1:]):
            return self.generic_visit(node)
        if self.is_in_iterable:
            operands = [self.visit(operand) for operand in (node.left, *node.comparators)]
            return placed(self._chain_of_parameters(operands[0], node.ops, operands[1:]), node)
        return placed(self._chain(node.left, node.ops, node.comparators, node), node)

    def _chain(self, left: gast.AST, ops: list[gast.AST], rest: list[gast.AST], like: gast.AST) -> gast.AST:
        """``a < b < c …``: the comparisons after the first in thunks; one that keeps its right operand, in that of all after it."""
        pairs = []
        for k, (op, right) in enumerate(zip(ops, rest, strict=True)):
            shared: gast.AST = right
            is_kept = False
            if isinstance(right, gast.Name):
                shared = load(right.id)
            elif isinstance(right, gast.Constant):
                shared = constant(right.value)
            elif is_kept := k < len(ops) - 1:
                name = self.context.names.new("middle")
                right, shared = placed(gast.NamedExpr(store(name), right), right), load(name)
            bound = self._bound_by([part for part in (rest[k],) if k])
            pairs.append((placed(gast.Compare(left, [op], [right]), like), is_kept, bound))
            left = shared
        return self._joined_pairs(pairs)

    def _joined_pairs(self, pairs: list[tuple[gast.AST, bool, list[str]]]) -> gast.AST:
        (first, _, _), *others = pairs
        made = self._membership(first)
        if not others:
            return made
        names = sorted({name for _, _, bound in others for name in bound})
        if not names and not any(is_kept for _, is_kept, _ in others):
            return self.context.call("and_", made, *(thunk(self._membership(pair)) for pair, _, _ in others))
        chain = placed(self._joined_pairs(others), first)
        rest = self._named_operand(chain, names) if names and self.operands is not None else thunk(chain)
        return self.context.call("and_", made, rest, **_named(names if self.operands is not None else []))

    def _chain_of_parameters(self, left: gast.AST, ops: list[gast.AST], rest: list[gast.AST]) -> gast.AST:
        """``(lambda a, b: and_(a < b, lambda: b < c))(a, b)``."""
        if len(ops) == 1:
            return self._membership(gast.Compare(left, ops, rest))
        first, middle = self.context.names.new("left"), self.context.names.new("middle")
        pair = self._membership(gast.Compare(load(first), [ops[0]], [load(middle)]))
        others = self._chain_of_parameters(load(middle), ops[1:], rest[1:])
        made = gast.Lambda(arguments([first, middle]), self.context.call("and_", pair, thunk(others)))
        return gast.Call(made, [left, rest[0]], [])

    def _of_identities(self, node: gast.AST) -> gast.AST:
        """``id(a) == id(b)`` as ``a is b``, which is as true."""
        sides = (node.left, *node.comparators)
        kinds = {gast.Eq: gast.Is, gast.NotEq: gast.IsNot}
        if type(node.ops[0]) not in kinds or self.context.is_own_name("id") or not all(map(_is_identity, sides)):
            return node
        left, right = (side.args[0] for side in sides)
        return placed(gast.Compare(left, [kinds[type(node.ops[0])]()], [right]), node)

    def _membership(self, node: gast.AST) -> gast.AST:
        node = self.generic_visit(node)
        (op,), (right,) = node.ops, node.comparators
        if is_singleton_test(node):
            operator, rest = ("is_none", []) if right.value is None else ("is_bool", [constant(right.value)])
        elif is_identity_test(node):
            operator, rest = "is_", [right]
        elif isinstance(op, gast.In | gast.NotIn):
            operator, rest = "contains", [right]
        else:
            return node
        asked = self.context.call(operator, node.left, *rest)
        return placed(self.context.call("not_", asked) if isinstance(op, gast.IsNot | gast.NotIn) else asked, node)


def _is_truth(node: gast.AST) -> bool:
    """Whether this returns a truth value itself: then it is of one type with others."""
    if isinstance(node, gast.BoolOp):
        return all(map(_is_truth, node.values))
    is_not = isinstance(node, gast.UnaryOp) and isinstance(node.op, gast.Not)
    return is_not or isinstance(node, gast.Compare) or is_static_test(node)


def _is_identity(node: gast.AST) -> bool:
    """Whether this is ``id(x)``."""
    is_call = isinstance(node, gast.Call) and isinstance(node.func, gast.Name) and node.func.id == "id"
    return is_call and len(node.args) == 1 and not node.keywords and not isinstance(node.args[0], gast.Starred)


def _reads_in(nodes: Iterable[gast.AST]) -> Counter[str]:
    """How often each name is read, nested scopes included."""
    names = (part for node in nodes for part in gast.walk(node) if isinstance(part, gast.Name))
    return Counter(name.id for name in names if isinstance(name.ctx, gast.Load))


def _walruses(node: gast.AST) -> list[gast.AST]:
    """The ``:=`` that bind a name of the scope that ``node`` itself runs in."""
    if isinstance(node, FUNCTIONS):
        return []
    own = [node] if isinstance(node, gast.NamedExpr) else []
    return own + [part for child in gast.iter_child_nodes(node) for part in _walruses(child)]


def _named(names: list[str]) -> dict[str, gast.AST]:
    return {"names": names_tuple(names)} if names else {}


def _reaches(node: gast.AST, kinds: type | tuple[type, ...]) -> bool:
    """Whether a node of these kinds takes effect in the scope of ``node`` itself."""
    if isinstance(node, kinds):
        return True
    if isinstance(node, FUNCTIONS):
        return False
    if isinstance(node, COMPREHENSIONS) and any(generator.is_async for generator in node.generators):
        return True
    return any(_reaches(child, kinds) for child in gast.iter_child_nodes(node))
