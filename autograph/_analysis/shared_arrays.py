"""Writes to items that more than one name may show: those to parameters, and to variables that another name leads to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import gast

from autograph._analysis.children import walk
from autograph._analysis.scopes import parameter_names, walk_scope

_VIEWS = frozenset(["reshape", "ravel", "view", "transpose", "squeeze", "swapaxes", "diagonal"])


class SharedWrites(NamedTuple):
    """Lines of a function, and of those in it.

    Attributes:
      by_names: those of writes to what another variable may lead to.
      by_callers: those of writes to parameters of the function that it does not return, so that its caller may show them.
      sorts: those of statements ``x.sort()``.
    """

    by_names: frozenset[int] = frozenset()
    by_callers: frozenset[int] = frozenset()
    sorts: frozenset[int] = frozenset()


def shared_writes(function: gast.AST, parts: Sequence[gast.AST]) -> SharedWrites:
    """Find these lines; ``parts`` are all nodes of the function."""
    by_names: set[int] = set()
    by_callers: set[int] = set()
    for each in parts:
        if isinstance(each, gast.FunctionDef):
            own = walk_scope(each.body)
            by_names |= _lines_of_writes(own, _shared_names(own))
            parameters = frozenset(parameter_names(each.args)) - _returned(own)
            (by_callers if each is function else by_names).update(_lines_of_writes(own, parameters))
    sorts = {part.lineno for part in parts if isinstance(part, gast.Expr) and _is_method(part.value, {"sort"})}
    return SharedWrites(frozenset(by_names), frozenset(by_callers), frozenset(sorts))


def _shared_names(parts: Sequence[gast.AST]) -> frozenset[str]:
    """The variables that are bound to what there is already, or that something else has been bound to."""
    found: set[str] = set()
    for part in parts:
        if isinstance(part, gast.Assign):
            for target in part.targets:
                for one, value in _pairs(target, part.value):
                    found |= _shared_by(one, value)
        elif isinstance(part, gast.For):
            found |= {name.id for name in walk(part.target) if isinstance(name, gast.Name)}
    return frozenset(found)


def _pairs(target: gast.AST, value: gast.AST) -> Iterator[tuple[gast.AST, gast.AST]]:
    pair = (gast.Tuple, gast.List)
    if not (isinstance(target, pair) and isinstance(value, pair) and len(target.elts) == len(value.elts)):
        yield target, value
    elif sorted(map(gast.unparse, target.elts)) != sorted(map(gast.unparse, value.elts)):  # else they are exchanged
        for one, other in zip(target.elts, value.elts, strict=True):
            yield from _pairs(one, other)


def _shared_by(target: gast.AST, value: gast.AST) -> set[str]:
    values = [value.body, value.orelse] if isinstance(value, gast.IfExp) else [value]
    held = {name.id for each in values for name in _held(each)}
    is_view = any(isinstance(each, gast.Subscript | gast.Attribute) or _is_method(each, _VIEWS) for each in values)
    return held | {target.id} if isinstance(target, gast.Name) and (held or is_view) else held


def _held(value: gast.AST) -> Iterator[gast.AST]:
    """The variables that a value is, or that a display of it holds."""
    if isinstance(value, gast.Name):
        yield value
    elif isinstance(value, gast.List | gast.Tuple):
        for each in value.elts:
            yield from _held(each)
    elif isinstance(value, gast.Dict):
        for each in value.values:
            yield from _held(each)


def _is_method(node: gast.AST, names: frozenset[str] | set[str]) -> bool:
    return isinstance(node, gast.Call) and isinstance(node.func, gast.Attribute) and node.func.attr in names


def _returned(parts: Sequence[gast.AST]) -> frozenset[str]:
    returned = [part.value for part in parts if isinstance(part, gast.Return) and part.value is not None]
    return frozenset(name.id for value in returned for name in _held(value))


def _lines_of_writes(parts: Sequence[gast.AST], names: frozenset[str]) -> set[int]:
    lines: set[int] = set()
    for part in parts if names else ():
        is_item = isinstance(part, gast.Subscript) and isinstance(part.ctx, gast.Store)
        if not is_item and not (isinstance(part, gast.AugAssign) and isinstance(part.target, gast.Name)):
            continue
        root = part if is_item else part.target
        while isinstance(root, gast.Subscript):
            root = root.value
        if isinstance(root, gast.Name) and root.id in names:
            lines.update(range(part.lineno, (part.end_lineno or part.lineno) + 1))
    return lines
