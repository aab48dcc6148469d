"""`LowerLookups`: reads of items from what may be no array in; operator calls that allow a traced index out."""

from __future__ import annotations

from collections.abc import Iterator

import gast

from autograph._passes.lists import GROWING_METHODS
from autograph._passes.nodes import Context, placed

_WRITES = frozenset(["set_item", "update_item", "put_back_item", "take_item", "update_taken"])
_NUMPY = ("np", "numpy", "onp")


class LowerLookups(gast.NodeTransformer):
    """Rewrites reads from tables: what the function did not make itself, or made as a list, a tuple or with NumPy.

        table[state]       →   ag__.get_item(table, state)

    Python's own sequences and NumPy's arrays cannot be read at a traced index. The function's own variables are left
    alone otherwise: most hold arrays, which can. So are constant indices. An index that is a list is NumPy's, which
    JAX does not take. What an item is written to, as in ``rows[i][j] = v``, is read so in any case.

    Attributes:
      tables: the function's own variables that hold such tables.
      written: names from outside whose writing methods are called: what they hold may not be known while tracing.
      targets: by identity, the nodes that read what an item is then written to.
    """

    applies_to: frozenset[type] | None = frozenset({gast.Subscript})
    introduces: frozenset[type] = frozenset()

    def __init__(self, context: Context) -> None:
        self.context = context
        self.tables: set[str] = set()
        self.written: set[str] = set()
        self.targets: set[int] = set()

    def __call__(self, node: gast.AST) -> gast.AST:
        parts = list(gast.walk(node))
        bindings = [binding for part in parts for binding in _bindings(part)]
        while found := {target.id for target, value in bindings if self._is_table(value)} - self.tables:
            self.tables |= found
        for part in parts:
            if isinstance(part, gast.Attribute) and part.attr in GROWING_METHODS and isinstance(part.value, gast.Name):
                if not self.context.is_own_name(part.value.id):
                    self.written.add(part.value.id)
        return self.visit(node)

    def _is_table(self, node: gast.AST) -> bool:
        """Whether this makes a table, is one of the function's own, or is taken from one."""
        while isinstance(node, gast.Subscript):
            node = node.value
        if self.context.is_operator_call(node) and node.func.attr == "new_list":
            node = node.args[0]
        return (isinstance(node, gast.Name) and node.id in self.tables) or _makes_table(node)

    def visit_FunctionDef(self, node: gast.AST) -> gast.AST:
        """Annotations are no reads."""
        node.body = [self.visit(part) for part in node.body]
        node.args.defaults = [self.visit(part) for part in node.args.defaults]
        node.args.kw_defaults = [part and self.visit(part) for part in node.args.kw_defaults]
        return node

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_AnnAssign(self, node: gast.AST) -> gast.AST:
        if node.value is not None:
            node.value = self.visit(node.value)
        return node

    def visit_Call(self, node: gast.AST) -> gast.AST:
        """Marks what an item is written to."""
        if self.context.is_operator_call(node) and node.func.attr in _WRITES:
            part = node.args[0]
            while isinstance(part, gast.Subscript):
                self.targets.add(id(part))
                part = part.value
        return self.generic_visit(node)

    def visit_Subscript(self, node: gast.AST) -> gast.AST:
        wanted = isinstance(node.ctx, gast.Load) and (
            "__getitem__" in self.context.special_methods
            or has_list(node.slice)
            or (isinstance(node.value, gast.Name) and node.value.id in self.written)
            or ((id(node) in self.targets or self._may_be_table(node.value)) and not _is_known(node.slice))
        )
        node = self.generic_visit(node)
        if not wanted:
            return node
        key = node.slice
        if isinstance(key, gast.Tuple) and any(isinstance(part, gast.Slice) for part in key.elts):
            key = gast.Subscript(self.context.operator("index"), key, gast.Load())
        return placed(self.context.call("get_item", node.value, key), node)

    def _may_be_table(self, node: gast.AST) -> bool:
        if isinstance(node, gast.Attribute):
            return not (isinstance(node.value, gast.Name) and node.value.id == self.context.operators)
        if isinstance(node, gast.Name):
            return node.id in self.tables or not self.context.is_own_name(node.id)
        if isinstance(node, gast.Subscript):
            return self._may_be_table(node.value)
        return isinstance(node, gast.List | gast.Tuple | gast.Dict)


def _bindings(node: gast.AST) -> Iterator[tuple[gast.AST, gast.AST]]:
    """Variables that a statement binds, each with what it comes from."""
    if isinstance(node, gast.Assign):
        pending = [(target, node.value) for target in node.targets]
    elif isinstance(node, gast.AnnAssign) and node.value is not None:
        pending = [(node.target, node.value)]
    elif isinstance(node, gast.For):
        pending = [(node.target, node.iter)]
    else:
        return
    while pending:
        target, value = pending.pop()
        if isinstance(target, gast.Name):
            yield target, value
        elif isinstance(target, gast.Tuple | gast.List):
            is_display = isinstance(value, gast.Tuple | gast.List) and len(value.elts) == len(target.elts)
            pending += zip(target.elts, value.elts if is_display else [value] * len(target.elts), strict=True)


def _makes_table(node: gast.AST) -> bool:
    if isinstance(node, gast.List | gast.Tuple):
        return bool(node.elts)
    if isinstance(node, gast.Dict):
        return bool(node.keys)
    if isinstance(node, gast.BinOp):  # [0] * n, [1] + others
        return isinstance(node.op, gast.Mult | gast.Add) and (_makes_table(node.left) or _makes_table(node.right))
    if isinstance(node, gast.Call):
        is_list = isinstance(node.func, gast.Name) and node.func.id in ("list", "sorted", "tuple")
        return (is_list and bool(node.args)) or _is_of_numpy(node)
    return isinstance(node, gast.ListComp)


def _is_of_numpy(node: gast.AST) -> bool:
    """Whether this is ``np``, something in it, what that returns, or a method of that."""
    while isinstance(node, gast.Call | gast.Attribute):
        node = node.func if isinstance(node, gast.Call) else node.value
    return isinstance(node, gast.Name) and node.id in _NUMPY


def has_list(index: gast.AST) -> bool:
    """Whether an index is a list, or has one in it."""
    return isinstance(index, gast.List) or (isinstance(index, gast.Tuple) and any(map(has_list, index.elts)))


def _is_known(node: gast.AST) -> bool:
    """Whether an index is made of constants and slices, whose bounds another pass looks after."""
    if isinstance(node, gast.Tuple):
        return all(map(_is_known, node.elts))
    if isinstance(node, gast.UnaryOp):
        return _is_known(node.operand)
    return isinstance(node, gast.Constant | gast.Slice | gast.JoinedStr)
