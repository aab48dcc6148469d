"""`AllowAnyOrder`: loops over sets in; such whose result depends on no order are said to be so out."""

from __future__ import annotations

from collections.abc import Iterable

import gast

from autograph._analysis.children import walk
from autograph._passes.nodes import Context, EvaluatedParts, load, placed

_ADDS = (gast.Add, gast.Sub)
_TOGETHER = (gast.Mult, gast.BitOr, gast.BitAnd, gast.BitXor)
_CALLED = frozenset(["abs", "bool", "float", "int", "len", "pow", "round", "max", "min"])
_METHODS = frozenset(["count", "index", "get", "bit_length", "bit_count"])
_EXPRESSIONS = (
    *(
        gast.Constant,
        gast.BinOp,
        gast.UnaryOp,
        gast.BoolOp,
        gast.Compare,
        gast.IfExp,
        gast.Subscript,
        gast.Slice,
        gast.Tuple,
    ),
    *(gast.operator, gast.unaryop, gast.boolop, gast.cmpop, gast.expr_context),
)
_SETS = frozenset(["union", "intersection", "difference", "symmetric_difference", "copy"])


class SetNames:
    """Which expressions of a function make a set, and which names are bound to such."""

    def __init__(self, context: Context, parts: Iterable[gast.AST]) -> None:
        self.context = context
        self.names: frozenset[str] = frozenset()
        self.names = frozenset(
            target.id
            for part in parts
            if isinstance(part, gast.Assign) and self.makes_set(part.value)
            for target in part.targets
            if isinstance(target, gast.Name)
        )

    def makes_set(self, node: gast.AST) -> bool:
        """Whether this is a set, as far as the function tells."""
        if isinstance(node, gast.Name):
            return node.id in self.names
        if isinstance(node, gast.BinOp):
            return self.makes_set(node.left) or self.makes_set(node.right)
        if isinstance(node, gast.Call) and isinstance(node.func, gast.Attribute):
            return node.func.attr in _SETS and self.makes_set(node.func.value)
        if isinstance(node, gast.Call) and isinstance(node.func, gast.Name) and len(node.args) < 2:
            is_list = node.func.id == "list" and bool(node.args) and self.makes_set(node.args[0])
            return (node.func.id == "set" or is_list) and not self.context.is_own_name(node.func.id)
        return isinstance(node, gast.Set | gast.SetComp)


class AllowAnyOrder(EvaluatedParts):
    """Marks loops over sets of which each iteration does what may come in any order: adds to a number or a set, keeps the greatest.

    The operator is given what the iterations change: they may come in any order if these are numbers, or sets.

    >>> from autograph._passes.shown import rewritten
    >>> print(rewritten(AllowAnyOrder, '''
    ... def f(xs):
    ...     total = 0
    ...     for v in set(xs):
    ...         if xs.count(v) > 1:
    ...             total += v
    ...     return total
    ... '''))
    def f(xs):
        total = 0
        for v in ag__.in_any_order(set(xs), total, asked=(xs,)):
            if xs.count(v) > 1:
                total += v
        return total
    """

    applies_to: frozenset[type] | None = frozenset({gast.For})
    introduces: frozenset[type] = frozenset({gast.Call})

    def __init__(self, context: Context) -> None:
        self.context = context
        self.parts: list[gast.AST] = []
        self.sets = SetNames(context, ())

    def __call__(self, node: gast.AST) -> gast.AST:
        self.parts = list(walk(node))
        self.sets = SetNames(self.context, self.parts)
        return self.visit(node)

    def visit_For(self, node: gast.AST) -> gast.AST:
        self.generic_visit(node)
        if not self.sets.makes_set(node.iter) or node.orelse:
            return node
        body = _Body(self.context, _names([node.target]))
        is_kept = body.allows(node.body) and _names([node.iter]).isdisjoint(body.changes)
        if not is_kept or not self._ends_with(node, body.own):
            return node
        keywords = {"asked": gast.Tuple([*map(load, sorted(body.asked))], gast.Load())} if body.asked else {}
        call = self.context.call("in_any_order", node.iter, *map(load, body.changed), **keywords)
        node.iter = placed(call, node.iter)
        return node

    def _ends_with(self, loop: gast.AST, own: set[str]) -> bool:
        """Whether nothing reads these names outside of the loop, where they have what the last iteration left."""
        inside = set(walk(loop))
        for part in self.parts:
            if isinstance(part, gast.For | gast.comprehension) and part is not loop and _names([part.target]) & own:
                inside.update(walk(part))
        names = {part.id for part in self.parts if isinstance(part, gast.Name) and part not in inside}
        shared = (part.names for part in self.parts if isinstance(part, gast.Global | gast.Nonlocal))
        return own.isdisjoint(names.union(*shared))


class _Body:
    """The statements of a loop.

    Attributes: own (the names that have a value of the iteration), changes (what iterations change, by name, each with how), asked (the
    names of what is asked for items).
    """

    def __init__(self, context: Context, own: set[str]) -> None:
        self.context = context
        self.own = own
        self.changes: dict[str, object] = {}
        self.reads: set[str] = set()
        self.returns: set[str] = set()
        self.asked: set[str] = set()

    @property
    def changed(self) -> list[str]:
        """The names of what is changed, and must be a number or a set."""
        return [name for name, how in self.changes.items() if not isinstance(how, str)]

    def allows(self, statements: list[gast.AST]) -> bool:
        """Whether these may be run in any order of the elements."""
        if not all(map(self._statement, statements)):
            return False
        is_kept = self.reads.isdisjoint(self.changes) and self.own.isdisjoint(self.changes)
        return is_kept and len(self.returns) < 2 and not (self.returns and self.changes)

    def _statement(self, node: gast.AST) -> bool:
        if isinstance(node, gast.If):
            kept = _kept(node)
            if kept is not None:
                return self._changes(*kept)
            return self._pure(node.test) and all(map(self._statement, [*node.body, *node.orelse]))
        if isinstance(node, gast.AugAssign) and isinstance(node.target, gast.Name):
            return self._changes(node.target.id, node.op, node.value)
        if isinstance(node, gast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], gast.Name):
            return self._assigns(node.targets[0].id, node.value)
        if isinstance(node, gast.Return):
            self.returns.add(gast.dump(node.value) if node.value is not None else "None")
            return node.value is None or isinstance(node.value, gast.Constant)
        if isinstance(node, gast.Expr) and isinstance(node.value, gast.Call):
            called, values = node.value.func, node.value.args
            is_added = (
                isinstance(called, gast.Attribute) and isinstance(called.value, gast.Name) and called.attr == "add"
            )
            return is_added and len(values) == 1 and self._changes(called.value.id, gast.BitOr(), values[0])
        return isinstance(node, gast.Pass | gast.Continue)

    def _assigns(self, name: str, value: gast.AST) -> bool:
        """``total = total + v``, ``best = max(best, v)``, ``is_found = True``."""
        if isinstance(value, gast.Constant):
            kind = f"{type(value.value).__name__} {value.value!r}"
            return self.changes.setdefault(name, kind) == kind
        if isinstance(value, gast.BinOp) and _is_name(value.left, name):
            return self._changes(name, value.op, value.right)
        if isinstance(value, gast.Call) and isinstance(value.func, gast.Name) and value.func.id in ("max", "min"):
            is_own = self.context.is_own_name(value.func.id)
            if not is_own and len(value.args) == 2 and not value.keywords and _is_name(value.args[0], name):
                return self._changes(name, value.func.id == "max", value.args[1])
        return False

    def _changes(self, name: str, how: object, value: gast.AST) -> bool:
        """Note that a name is changed by a value, if that commutes with what else changes it."""
        kind: object = how
        if isinstance(how, gast.AST):
            kind = next(
                (each for each in _TOGETHER if isinstance(how, each)), _ADDS if isinstance(how, _ADDS) else None
            )
        is_kept = kind is not None and self.changes.setdefault(name, kind) == kind
        return is_kept and self._pure(value)

    def _pure(self, node: gast.AST) -> bool:
        """Whether an expression of values from before the loop, and of the element, does nothing but have a value."""
        if isinstance(node, gast.Name):
            self.reads.add(node.id)
            return True
        if isinstance(node, gast.Call):
            return self._is_called_purely(node)
        if isinstance(node, gast.Subscript) and not self._asks(node.value):
            return False
        if isinstance(node, gast.Compare) and any(isinstance(op, gast.In | gast.NotIn) for op in node.ops):
            return self._pure(node.left) and len(node.ops) == 1 and self._asks(node.comparators[0])
        return isinstance(node, _EXPRESSIONS) and all(map(self._pure, gast.iter_child_nodes(node)))

    def _asks(self, node: gast.AST) -> bool:
        """Note that this, a name of what is there before the loop, is asked for items."""
        if isinstance(node, gast.Name) and node.id not in self.own:
            self.reads.add(node.id)
            self.asked.add(node.id)
            return True
        return isinstance(node, gast.Subscript) and self._asks(node.value) and self._pure(node.slice)

    def _is_called_purely(self, node: gast.AST) -> bool:
        if node.keywords or not all(map(self._pure, node.args)):
            return False
        if isinstance(node.func, gast.Attribute):
            return node.func.attr in _METHODS and self._asks(node.func.value)
        is_known = isinstance(node.func, gast.Name) and node.func.id in _CALLED
        is_known = is_known and (node.func.id not in ("max", "min") or len(node.args) > 1)
        return is_known and not self.context.is_own_name(node.func.id)


def _kept(node: gast.AST) -> tuple[str, bool, gast.AST] | None:
    """The name, whether the greatest is kept, and the value, of ``if v > best: best = v``; None of another statement."""
    test = node.test
    is_one = len(node.body) == 1 and not node.orelse and isinstance(test, gast.Compare) and len(test.ops) == 1
    if not is_one or not isinstance(node.body[0], gast.Assign) or len(node.body[0].targets) != 1:
        return None
    target, value, op = node.body[0].targets[0], node.body[0].value, test.ops[0]
    if not isinstance(target, gast.Name) or not isinstance(op, gast.Lt | gast.Gt):
        return None
    sides = test.left, test.comparators[0]
    for k in range(2):
        if _is_name(sides[k], target.id) and gast.dump(sides[1 - k]) == gast.dump(value):
            return target.id, isinstance(op, gast.Lt) is (k == 0), value
    return None


def _is_name(node: gast.AST, name: str) -> bool:
    return isinstance(node, gast.Name) and node.id == name


def _names(nodes: Iterable[gast.AST]) -> set[str]:
    return {part.id for node in nodes for part in walk(node) if isinstance(part, gast.Name)}
