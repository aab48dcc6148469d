"""`LowerUnpacking`: what Python iterates by itself in; the same, also of dicts that may lack keys, out."""

from __future__ import annotations

import gast

from autograph._analysis.children import walk
from autograph._passes.nodes import Context, EvaluatedParts, constant, copied, dict_display, placed

_ITERATED = (gast.Name, gast.Attribute, gast.Subscript, gast.Call)
_WITH_ITEMS = (gast.Starred, gast.comprehension, gast.MatchMapping, gast.Dict)
_SEQUENCES = (gast.Tuple, gast.List)


class LowerUnpacking(EvaluatedParts):
    """Rewrites what Python does by itself with dicts, of which only some paths may have set a key, in this file or another.

    That is ``*d``, comprehensions, ``a, b = d``, ``{**d}``, ``d | e`` and ``match``. An operator counts what is
    unpacked into targets, which may be a list of traced length, and another what is unpacked into arguments.

    >>> from autograph._passes.shown import rewritten
    >>> print(rewritten(LowerUnpacking, '''
    ... def f(d):
    ...     return [*d], {k: d[k] for k in d}, {**d, "a": 1}, g(*d)
    ... '''))
    def f(d):
        return ([*ag__.items_in(d)], {k: d[k] for k in ag__.items_in(d)}, ag__.merged(d, {'a': 1}), g(*ag__.arguments(d)))
    """

    applies_to: frozenset[type] | None = None
    introduces: frozenset[type] = frozenset({gast.Call})

    def __init__(self, context: Context) -> None:
        self.context = context

    def __call__(self, node: gast.AST) -> gast.AST:
        return self.visit(node) if any(map(_may_iterate, walk(node))) else node

    def visit_Starred(self, node: gast.AST) -> gast.AST:
        self.generic_visit(node)
        if isinstance(node.ctx, gast.Load):
            node.value = self._items(node.value)
        return node

    def _arguments(self, node: gast.AST) -> None:
        """Have an operator say what of a call's arguments Python unpacks, which may be a list of traced length."""
        for argument in node.args:
            if isinstance(argument, gast.Starred) and self.context.is_operator_call(argument.value):
                value = argument.value
                (value,) = value.args if value.func.attr == "items_in" else (value,)
                argument.value = placed(self.context.call("arguments", value), value)

    def visit_comprehension(self, node: gast.AST) -> gast.AST:
        self.generic_visit(node)
        if not node.is_async:
            node.iter = self._items(node.iter)
        return node

    def visit_Assign(self, node: gast.AST) -> gast.AST:
        self.generic_visit(node)
        if len(node.targets) > 1:
            if any(isinstance(target, _SEQUENCES) for target in node.targets):
                node.value = self._items(node.value)
        elif isinstance(node.targets[0], _SEQUENCES):
            node.value = self._unpacked(node.targets[0], node.value)
        return node

    def _unpacked(self, target: gast.AST, value: gast.AST) -> gast.AST:
        """What Python unpacks into a target, from which a star is taken: the operator makes that list."""
        count = len(target.elts)
        starred = [k for k, part in enumerate(target.elts) if isinstance(part, gast.Starred)]
        if len(starred) == 1:
            (place,) = starred
            target.elts[place] = target.elts[place].value
            counts = constant(place), constant(count - place - 1)
            return placed(self.context.call("unpacked", value, *counts), value)
        if starred or not (self.context.is_operator_call(value) or self._items(value) is not value):
            return value
        return placed(self.context.call("unpacked", value, constant(count)), value)

    def visit_Match(self, node: gast.AST) -> gast.AST:
        self.generic_visit(node)
        if any(isinstance(part, gast.MatchMapping) for case in node.cases for part in gast.walk(case.pattern)):
            node.subject = placed(self.context.call("without_absences", node.subject), node.subject)
        return node

    def visit_Call(self, node: gast.AST) -> gast.AST:
        self.generic_visit(node)
        name = node.func.id if isinstance(node.func, gast.Name) and not self.context.is_own_name(node.func.id) else None
        is_single = len(node.args) == 1
        if name == "zip" and is_single and isinstance(node.args[0], gast.Starred) and not node.keywords:
            return placed(self.context.call("unzipped", node.args[0].value), node)
        if not self.context.is_operator_call(node):
            self._arguments(node)
        if not is_single or isinstance(node.args[0], gast.Starred):
            return node
        if name == "dict" and node.keywords:
            parts = gast.Call(node.func, node.args, []), gast.Call(copied(node.func), [], node.keywords)
            return placed(self.context.call("merged", *parts), node)
        return node

    def visit_Dict(self, node: gast.AST) -> gast.AST:
        self.generic_visit(node)
        if all(key is not None for key in node.keys):
            return node
        parts: list[gast.AST] = []
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                parts.append(value)
                continue
            if not parts or not isinstance(parts[-1], gast.Dict) or parts[-1].lineno is not None:
                display = gast.Dict([], [])
                display.lineno = None
                parts.append(display)
            parts[-1].keys.append(key)
            parts[-1].values.append(value)
        for part in parts:
            placed(part, node)
        made = [dict_display(self.context, part) if isinstance(part, gast.Dict) else part for part in parts]
        return placed(self.context.call("merged", *made), node)

    def visit_BinOp(self, node: gast.AST) -> gast.AST:
        self.generic_visit(node)
        if not isinstance(node.op, gast.BitOr) or isinstance(node.left, gast.Constant | gast.Compare):
            return node
        return placed(self.context.call("operate", gast.Constant("|", None), node.left, node.right), node)

    def _items(self, node: gast.AST) -> gast.AST:
        if not isinstance(node, _ITERATED) or self.context.is_operator_call(node):
            return node
        if isinstance(node, gast.Call) and self.context.is_plain_call(node.func) and not _is_named(node.func, "vars"):
            return node
        if isinstance(node, gast.Attribute) and node.attr == "shape":
            return node
        return placed(self.context.call("items_in", node), node)


def _may_iterate(node: gast.AST) -> bool:
    """Whether this may be something to rewrite."""
    if isinstance(node, gast.Assign):
        return any(isinstance(target, _SEQUENCES) for target in node.targets)
    if isinstance(node, gast.BinOp):
        return isinstance(node.op, gast.BitOr)
    return isinstance(node, _WITH_ITEMS) or (isinstance(node, gast.Call) and _is_named(node.func, "dict", "frozenset"))


def _is_named(node: gast.AST, *names: str) -> bool:
    return isinstance(node, gast.Name) and node.id in names
