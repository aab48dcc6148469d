"""Which conditions Python always answers with a plain bool, whatever is traced."""

from __future__ import annotations

import gast

_PREDICATES = ("isinstance", "issubclass", "hasattr", "callable")


def is_static_test(node: gast.AST) -> bool:
    """Whether this expression gives a Python bool even when its operands are traced.

    >>> [is_static_test(gast.parse(text, mode="eval").body) for text in ("x is None", "not isinstance(x, int)", "x > 0")]
    [True, True, False]
    """
    if isinstance(node, gast.Constant):
        return True
    if isinstance(node, gast.Compare):
        return all(isinstance(op, gast.Is | gast.IsNot) for op in node.ops)
    if isinstance(node, gast.UnaryOp) and isinstance(node.op, gast.Not):
        return is_static_test(node.operand)
    if isinstance(node, gast.BoolOp):
        return all(is_static_test(value) for value in node.values)
    return isinstance(node, gast.Call) and isinstance(node.func, gast.Name) and node.func.id in _PREDICATES
