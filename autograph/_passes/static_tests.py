"""Find conditions that always evaluate to a Python bool, whatever is traced."""

from __future__ import annotations

import gast

_PREDICATES = ("isinstance", "issubclass", "hasattr", "callable")


def is_static_test(node: gast.AST) -> bool:
    """Whether this expression gives a Python bool even when its operands are traced.

    >>> texts = "type(x) is int", "not isinstance(x, int)", "x is y", "x > 0"
    >>> [is_static_test(gast.parse(text, mode="eval").body) for text in texts]
    [True, True, False, False]
    """
    if isinstance(node, gast.Constant):
        return True
    if isinstance(node, gast.Compare):
        sides = [node.left, *node.comparators]
        is_identity = all(isinstance(op, gast.Is | gast.IsNot) for op in node.ops)
        return is_identity and all(map(_is_of_a_type, sides[:-1], sides[1:]))
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


def is_identity_test(node: gast.AST) -> bool:
    """Whether this compares two values by identity: only run time may know the answer."""
    is_identity = len(node.ops) == 1 and isinstance(node.ops[0], gast.Is | gast.IsNot)
    return is_identity and not _is_of_a_type(node.left, node.comparators[0])


def _is_of_a_type(*sides: gast.AST) -> bool:
    """Whether one of two sides is the type of a value."""
    return any(
        (isinstance(side, gast.Call) and isinstance(side.func, gast.Name) and side.func.id == "type")
        or (isinstance(side, gast.Attribute) and side.attr == "__class__")
        for side in sides
    )
