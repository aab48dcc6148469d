"""Find conditions that always evaluate to a Python bool, whatever is traced."""

from __future__ import annotations

import gast


def is_static_test(node: gast.AST) -> bool:
    """Whether this expression returns a Python bool even when its operands are traced.

    What an object is may be known only at run time: it may be one of several.

    >>> texts = "True", "not (True and False)", "type(x) is int", "x > 0"
    >>> [is_static_test(gast.parse(text, mode="eval").body) for text in texts]
    [True, True, False, False]
    """
    if isinstance(node, gast.Constant):
        return True
    if isinstance(node, gast.UnaryOp) and isinstance(node.op, gast.Not):
        return is_static_test(node.operand)
    return isinstance(node, gast.BoolOp) and all(is_static_test(value) for value in node.values)


def is_endless(node: gast.While) -> bool:
    """Whether only a jump or an exception ends this loop."""
    return isinstance(node.test, gast.Constant) and bool(node.test.value)


def is_singleton_test(node: gast.AST) -> bool:
    """Whether this compares one value with None, True or False by identity: only run time may know the answer."""
    return (
        isinstance(node, gast.Compare)
        and len(node.ops) == 1
        and isinstance(node.ops[0], gast.Is | gast.IsNot)
        and isinstance(node.comparators[0], gast.Constant)
        and (node.comparators[0].value is None or isinstance(node.comparators[0].value, bool))
    )


def is_identity_test(node: gast.AST) -> bool:
    """Whether this compares two values by identity: only run time may know the answer."""
    return len(node.ops) == 1 and isinstance(node.ops[0], gast.Is | gast.IsNot)
