"""Subtract one integer expression from another and cancel equal terms, to find slices of constant size."""

from __future__ import annotations

from collections import Counter

import gast

from autograph._passes.nodes import constant, copied

_PURE_CALLS = ("len", "int", "min", "max", "abs")

# From products of atoms (their dumps, sorted) to integer coefficients.
Terms = Counter[tuple[str, ...]]


def difference(minuend: gast.AST, subtrahend: gast.AST) -> gast.AST | None:
    """``minuend - subtrahend`` with equal terms cancelled, None where that cannot be told.

    Both must be sums and products of integers and of expressions that may be evaluated again without effect; these
    represent themselves.

    >>> upper, lower = (gast.parse(text, mode="eval").body for text in ("(i + 1) * k", "i * k"))
    >>> gast.unparse(difference(upper, lower))
    'k'
    """
    atoms: dict[str, gast.AST] = {}
    left, right = _terms(minuend, atoms), _terms(subtrahend, atoms)
    if left is None or right is None:
        return None
    left.subtract(right)
    return _expression(left, atoms)


def _terms(node: gast.AST, atoms: dict[str, gast.AST]) -> Terms | None:
    if isinstance(node, gast.Constant):
        return Counter({(): node.value}) if type(node.value) is int else None
    if isinstance(node, gast.UnaryOp) and isinstance(node.op, gast.USub):
        inner = _terms(node.operand, atoms)
        return None if inner is None else Counter({key: -count for key, count in inner.items()})
    if isinstance(node, gast.BinOp) and isinstance(node.op, gast.Add | gast.Sub | gast.Mult):
        left, right = _terms(node.left, atoms), _terms(node.right, atoms)
        if left is None or right is None:
            return None
        if isinstance(node.op, gast.Add):
            left.update(right)
            return left
        if isinstance(node.op, gast.Sub):
            left.subtract(right)
            return left
        product: Terms = Counter()
        for first, count in left.items():
            for second, other in right.items():
                product[tuple(sorted(first + second))] += count * other
        return product
    if not _is_repeatable(node):
        return None
    key = gast.dump(node)
    atoms.setdefault(key, node)
    return Counter({(key,): 1})


def _expression(terms: Terms, atoms: dict[str, gast.AST]) -> gast.AST:
    total: gast.AST | None = None
    for factors, count in sorted(terms.items(), key=lambda item: (item[0] == (), item[1] < 0)):
        if count == 0:
            continue
        part: gast.AST | None = None if factors and abs(count) == 1 else constant(abs(count))
        for key in factors:
            atom = copied(atoms[key])
            part = atom if part is None else gast.BinOp(part, gast.Mult(), atom)
        if total is None:
            total = part if count > 0 else gast.UnaryOp(gast.USub(), part)
        else:
            total = gast.BinOp(total, gast.Add() if count > 0 else gast.Sub(), part)
    return constant(0) if total is None else total


def _is_repeatable(node: gast.AST) -> bool:
    """Whether evaluating this again returns the same and does nothing."""
    if isinstance(node, gast.Name | gast.Constant):
        return True
    if isinstance(node, gast.Attribute):
        return _is_repeatable(node.value)
    if isinstance(node, gast.Subscript):
        return _is_repeatable(node.value) and _is_repeatable(node.slice)
    if isinstance(node, gast.BinOp):
        return _is_repeatable(node.left) and _is_repeatable(node.right)
    if isinstance(node, gast.UnaryOp):
        return _is_repeatable(node.operand)
    if isinstance(node, gast.Call) and isinstance(node.func, gast.Name) and not node.keywords:
        return node.func.id in _PURE_CALLS and all(_is_repeatable(part) for part in node.args)
    return False
