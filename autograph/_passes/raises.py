"""`LowerRaises`: ``raise`` and ``assert`` in; the same, made known to the operators, out."""

from __future__ import annotations

import gast

from autograph._passes.nodes import Context, Rewriter, arguments, load, placed, thunk

_TEXT_FUNCTIONS = frozenset(["str", "repr", "ascii", "format"])


class LowerRaises(Rewriter):
    """Lets the operators know of exceptions, which may depend on traced conditions.

    ``raise E(x)`` becomes ``raise ag__.raised(ag__.exception(E, x))``, and ``raise E from e`` ``raise ag__.raised(E, e)``;
    ``assert t, m`` becomes ``ag__.assert_stmt(t, lambda: m)``.
    Texts among the arguments can wait for their values: ``f"{x} is bad"`` becomes
    ``ag__.text(lambda value: f"{value} is bad", x)``.

    >>> from autograph._passes.shown import rewritten
    >>> print(rewritten(LowerRaises, '''
    ... def f(x):
    ...     assert x < 9, f'{x} is large'
    ...     raise ValueError(x)
    ... '''))
    def f(x):
        ag__.assert_stmt(x < 9, lambda: ag__.text(lambda value: f'{value} is large', x))
        raise ag__.raised(ag__.exception(ValueError, x))
    """

    applies_to: frozenset[type] | None = frozenset({gast.Raise, gast.Assert})
    introduces: frozenset[type] = frozenset()

    def __init__(self, context: Context) -> None:
        self.context = context

    def __call__(self, node: gast.AST) -> gast.AST:
        return node if isinstance(node, gast.Lambda) else self.generic_visit(node)

    def visit_Raise(self, node: gast.AST) -> gast.AST:
        error = node.exc
        if error is None:
            return node
        if isinstance(error, gast.Call):
            made = DeferTexts(self.context).generic_visit(error)
            named = list(made.keywords)
            error = gast.Call(self.context.operator("exception"), [made.func, *made.args], named)
        parts = [placed(error, node.exc)]
        if node.cause is not None and not isinstance(node.cause, gast.Constant):
            parts.append(node.cause)  # which may be one of several, or None
            node.cause = None
        node.exc = placed(self.context.call("raised", *parts), node.exc)
        return node

    def visit_Assert(self, node: gast.AST) -> gast.AST:
        if not __debug__:
            return node
        self.context.tests.add(node.test)
        parts = [node.test]
        if node.msg is not None:
            parts.append(thunk(DeferTexts(self.context).visit(node.msg)))
        return placed(gast.Expr(self.context.call("assert_stmt", *parts)), node)


class DeferTexts(Rewriter):
    """Turns expressions that put texts together into calls that can wait for traced values.

    Attributes: operator (that of the calls).
    """

    def __init__(self, context: Context, operator: str = "text") -> None:
        self.context = context
        self.operator = operator

    def visit_Lambda(self, node: gast.AST) -> gast.AST:
        return node

    def visit_IfExp(self, node: gast.AST) -> gast.AST:
        return node  # of its branches one value is to be made

    visit_BoolOp = visit_IfExp

    def visit(self, node: gast.AST) -> gast.AST:
        if not _is_text(node):
            return super().visit(node)
        values: list[gast.AST] = []
        names: list[str] = []
        made = self._text(node, names, values)
        if not values:
            return node
        return placed(self.context.call(self.operator, gast.Lambda(arguments(names), made), *values), node)

    def _text(self, node: gast.AST, names: list[str], values: list[gast.AST]) -> gast.AST:
        """The expression with parameters instead of its values, which are taken down with their names."""

        def value(part: gast.AST) -> gast.AST:
            if isinstance(part, gast.Constant):
                return part
            if _is_text(part):
                return self._text(part, names, values)
            if isinstance(part, gast.Starred):
                return gast.Starred(value(part.value), gast.Load())
            names.append(self.context.names.new("value"))
            values.append(part)
            return placed(load(names[-1]), part)

        if isinstance(node, gast.JoinedStr):
            node.values = [value(part) if isinstance(part, gast.Constant) else part for part in node.values]
            for part in node.values:
                if isinstance(part, gast.FormattedValue):
                    part.value = value(part.value)
                    if part.format_spec is not None:
                        part.format_spec = value(part.format_spec)
        elif isinstance(node, gast.BinOp):
            node.left = value(node.left)
            is_tuple = isinstance(node.op, gast.Mod) and isinstance(node.right, gast.Tuple)
            if is_tuple:
                node.right.elts = [value(part) for part in node.right.elts]
            else:
                node.right = value(node.right)
            if isinstance(node.op, gast.Mod):
                node.left = placed(self.context.call("percent", node.left), node.left)
        else:
            node.args = [value(part) for part in node.args]
            for keyword in node.keywords:
                keyword.value = value(keyword.value)
        return node


def _is_text(node: gast.AST) -> bool:
    """Whether this expression makes a text of values."""
    if isinstance(node, gast.JoinedStr):
        return True
    if isinstance(node, gast.BinOp) and isinstance(node.op, gast.Mod):
        return _is_literal(node.left)
    if isinstance(node, gast.BinOp) and isinstance(node.op, gast.Mult):
        return _is_literal(node.left) or _is_literal(node.right)
    if isinstance(node, gast.BinOp) and isinstance(node.op, gast.Add):
        return any(_is_text(side) or _is_literal(side) for side in (node.left, node.right))
    if not isinstance(node, gast.Call):
        return False
    if isinstance(node.func, gast.Attribute):
        return node.func.attr == "format" and _is_literal(node.func.value)
    return isinstance(node.func, gast.Name) and node.func.id in _TEXT_FUNCTIONS and bool(node.args)


def is_format(node: gast.AST) -> bool:
    """Whether this expression puts values into the places of a literal text, or repeats it: ``"…" % x``, ``"…".format(x)``, ``"…" * n``."""
    return _is_text(node) and (
        (isinstance(node, gast.BinOp) and isinstance(node.op, gast.Mod | gast.Mult))
        or (isinstance(node, gast.Call) and isinstance(node.func, gast.Attribute))
    )


def _is_literal(node: gast.AST) -> bool:
    return isinstance(node, gast.Constant) and isinstance(node.value, str)
