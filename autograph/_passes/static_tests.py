"""Which conditions Python always answers with a plain bool, whatever is traced."""

from __future__ import annotations

import gast

_PREDICATES = ("isinstance", "issubclass", "hasattr", "callable")


def is_static_test(node: gast.AST) -> bool:
    """Whether this expression gives a Python bool even when its operands are traced.

    >>> [is_static_test(gast.parse(text, mode="eval").body) for text in ("x is y", "not isinstance(x, int)", "x > 0")]
    [True, True, False]
    """
    if isinstance(node, gast.Constant):
        return True
    if isinstance(node, gast.Compare):
        return all(isinstance(op, gast.Is | gast.IsNot) for op in node.ops) and not is_singleton_test(node)
    if isinstance(node, gast.UnaryOp) and isinstance(node.op, gast.Not):
        return is_static_test(node.operand)
    if isinstance(node, gast.BoolOp):
        return all(is_static_test(value) for value in node.values)
    return isinstance(node, gast.Call) and isinstance(node.func, gast.Name) and node.func.id in _PREDICATES


def is_singleton_test(node: gast.AST) -> bool:
    """Whether this compares one value with None, True or False by identity: only run time may know the answer."""
    return (
        isinstance(node, gast.Compare)
        and len(node.ops) == 1
        and isinstance(node.ops[0], gast.Is | gast.IsNot)
        and isinstance(node.comparators[0], gast.Constant)
        and (node.comparators[0].value is None or isinstance(node.comparators[0].value, bool))
    )
