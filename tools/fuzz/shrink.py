"""Shrink a failing program while it fails in the same way."""

from __future__ import annotations

import ast
import builtins
import copy
import math
import re
import time
from collections.abc import Callable, Iterator

_BLOCKS = ("body", "orelse")
_SIMPLE = ("0", "1", "True", "0.5")
_VECTOR = re.compile(r"[vw](s\d+)?")  # the names that generated programs give arrays that they write to


def shrink(source: str, still_fails: Callable[[str], bool], seconds: float) -> str:
    """The smallest program found within the time that still fails."""
    deadline = time.monotonic() + seconds
    best = ast.unparse(ast.parse(source))
    if not still_fails(best):
        return source
    shared = _shared_arrays(best)
    progress = True
    while progress and time.monotonic() < deadline:
        progress = False
        for pass_ in (_without_statements, _with_blocks_opened, _with_simpler_expressions):
            position = 0
            while time.monotonic() < deadline:
                candidate = _candidate(pass_, best, position)
                if candidate is None:
                    break
                if candidate != best and len(candidate) <= len(best) and _shared_arrays(candidate) <= shared:
                    if still_fails(candidate):
                        best, progress = candidate, True
                        continue  # what follows has moved to this position
                position += 1
    return best


def _candidate(pass_: Callable[[ast.Module], Iterator[None]], source: str, position: int) -> str | None:
    """The program after the change at this position, in the order of the pass; None past the last."""
    tree = ast.parse(source)
    for number, _ in enumerate(pass_(tree)):
        if number == position:
            try:
                return ast.unparse(ast.fix_missing_locations(copy.deepcopy(tree)))
            except (AttributeError, ValueError):
                return source
    return None


def _shared_arrays(source: str) -> float:
    """In how many places another name may come to refer to an array, so that NumPy shows writes through both."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return math.inf
    count = 0
    for node in ast.walk(tree):
        values: list[ast.expr] = []
        if isinstance(node, ast.Assign | ast.NamedExpr):
            values = [node.value]
        elif isinstance(node, ast.IfExp):
            values = [node.body, node.orelse]
        elif isinstance(node, ast.BoolOp):
            values = node.values
        elif isinstance(node, ast.Call) and not (isinstance(node.func, ast.Name) and hasattr(builtins, node.func.id)):
            values = node.args
        count += sum(isinstance(value, ast.Name) and bool(_VECTOR.fullmatch(value.id)) for value in values)
    return count


# Each pass makes one change at a time to the tree, yields, and takes it back.


def _without_statements(tree: ast.Module) -> Iterator[None]:
    for size in (8, 4, 2, 1):
        for block in _blocks(tree):
            for start in range(0, max(len(block) - size + 1, 0)):
                kept = block[:]
                if all(isinstance(statement, ast.Pass) for statement in block):
                    continue
                block[start : start + size] = []
                if not block and not _is_orelse(tree, block):
                    block.append(ast.Pass())
                yield
                block[:] = kept


def _with_blocks_opened(tree: ast.Module) -> Iterator[None]:
    for block in _blocks(tree):
        for position, statement in enumerate(block[:]):
            for field in _BLOCKS:
                inner = getattr(statement, field, None)
                if isinstance(inner, list) and inner and isinstance(statement, ast.If | ast.For | ast.While):
                    block[position : position + 1] = inner
                    yield
                    block[position : position + len(inner)] = [statement]


def _with_simpler_expressions(tree: ast.Module) -> Iterator[None]:
    for parent in ast.walk(tree):
        for field, value in ast.iter_fields(parent):
            if isinstance(value, ast.expr) and not isinstance(getattr(value, "ctx", None), ast.Store):
                for simpler in _simpler(value):
                    setattr(parent, field, simpler)
                    yield
                setattr(parent, field, value)
            elif isinstance(value, list) and value and isinstance(value[0], ast.expr):
                for position, part in enumerate(value):
                    if isinstance(getattr(part, "ctx", None), ast.Store):
                        continue
                    for simpler in _simpler(part):
                        value[position] = simpler
                        yield
                    value[position] = part
                    if len(value) > 1 and not isinstance(parent, ast.Call | ast.Assign | ast.Compare):
                        del value[position]
                        yield
                        value.insert(position, part)


def _simpler(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.Constant):
        return
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr) and child is not getattr(node, "func", None):
            yield child
    if not isinstance(node, ast.Name):
        for text in _SIMPLE:
            yield ast.parse(text, mode="eval").body


def _blocks(tree: ast.Module) -> Iterator[list[ast.stmt]]:
    for node in ast.walk(tree):
        for field in _BLOCKS:
            block = getattr(node, field, None)
            if isinstance(block, list):
                yield block


def _is_orelse(tree: ast.Module, block: list[ast.stmt]) -> bool:
    return any(getattr(node, "orelse", None) is block for node in ast.walk(tree))
