"""What an assignment binds, in Python's trees."""

from __future__ import annotations

import ast
from collections.abc import Iterator


def pairs_of(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """A target with its value; the parts of both, where both are written out.

    >>> statement = ast.parse("(a, b), c = (f(), 1), x").body[0]
    >>> [f"{ast.unparse(target)}: {ast.unparse(value)}" for target, value in pairs_of(statement.targets[0], statement.value)]
    ['a: f()', 'b: 1', 'c: x']
    """
    displays = ast.Tuple | ast.List
    if isinstance(target, displays) and isinstance(value, displays) and len(target.elts) == len(value.elts):
        for part, given in zip(target.elts, value.elts, strict=True):
            yield from pairs_of(part, given)
    else:
        yield target, value
