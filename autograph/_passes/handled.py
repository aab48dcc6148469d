"""`handled_parts`: what runs where a handler may take what it raises."""

from __future__ import annotations

import builtins
from collections.abc import Collection
from typing import Any

import gast

from autograph._analysis.children import walk
from autograph._passes.managers import may_be_of_user
from autograph._passes.nodes import Context


def handled_parts(
    context: Context, parts: Collection[gast.AST], raised: tuple[type[Exception], ...]
) -> Collection[gast.AST]:
    """Those of a function's nodes that may run where a handler takes one of these exceptions.

    They are in functions made of the bodies of ``try`` and ``with`` statements, in such statements that stay Python's,
    or in a function that is called in one.
    """
    if context.stops:
        return parts
    calls = [part for part in parts if type(part) is gast.Call and context.is_operator_call(part)]
    bodies = {part.args[place].id for part in calls for place in _handled_body(part, raised)}
    inside = [part for part in parts if isinstance(part, gast.FunctionDef) and part.name in bodies] if bodies else []
    inside += [
        part
        for part in parts
        if isinstance(part, gast.With) and any(_may_suppress(context, item) for item in part.items)
    ]
    return [each for part in inside for each in walk(part)]


def _handled_body(node: gast.AST, raised: tuple[type[Exception], ...]) -> tuple[int, ...]:
    """Where, among an operator's arguments, the name of a body is around which handlers may take what it raises."""
    if node.func.attr == "with_stmt":
        return (1,)
    is_try = node.func.attr == "try_stmt" and isinstance(node.args[0], gast.Name)
    return (0,) if is_try and any(_may_handle(each, raised) for each in node.args[1].elts) else ()


def _may_handle(handler: gast.AST, raised: tuple[type[Exception], ...]) -> bool:
    """Whether a handler (its classes first) may take one of these exceptions."""
    kinds = handler.elts[0]
    names = [part.id for part in walk(kinds) if isinstance(part, gast.Name)]
    known: list[Any] = [getattr(builtins, name, None) for name in names]
    if not names or not all(isinstance(kind, type) and issubclass(kind, BaseException) for kind in known):
        return True  # a bare `except`, or what is not seen to be something else
    return any(issubclass(each, kind) or issubclass(kind, each) for kind in known for each in raised)


def _may_suppress(context: Context, item: gast.AST) -> bool:
    """Whether a manager may take exceptions: the user's, `contextlib.suppress`, or what stands in a ``try`` that stays Python's."""
    names = (getattr(part, "attr", getattr(part, "id", None)) for part in walk(item.context_expr))
    return "handlers" in names or may_be_of_user(context, item)
