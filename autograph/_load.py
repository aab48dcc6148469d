"""Compile a rewritten tree to a function with the original's file, lines, globals, cells, defaults and metadata.

The tree is compiled under the user's own file name with the user's own positions, so tracebacks, ``pdb``, coverage
and XLA's metadata point into the user's source without a source map.
"""

from __future__ import annotations

import ast
import inspect
import sys
import types
from collections.abc import Sequence
from typing import Any, TypeVar

from autograph._analysis.children import children
from autograph._block_code import with_blocks_as_users

_Node = TypeVar("_Node", bound=ast.AST)


def compile_function(
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda,
    original: types.CodeType,
    *,
    free_names: Sequence[str],
    class_name: str | None,
    compiler_flags: int,
) -> types.CodeType:
    """Compile ``node`` to a code object whose free variables are among ``free_names``.

    ``class_name`` is the class the function is written in: private names (``self.__x``) are mangled for it.
    """
    definition: ast.stmt = _as_statement(_without_evaluated_parts(node))
    # The definition and its class bind their names in the factory; code that reads those names means the module's.
    bound_here = {name for name in (getattr(node, "name", None), class_name) if name and name not in free_names}
    if class_name is not None:
        definition = _stamped(ast.ClassDef(class_name, [], [], [definition], [], **_no_type_parameters()), definition)
    arguments = ast.arguments([], [ast.arg(name) for name in free_names], None, [], [], None, [])
    declarations: list[ast.stmt] = [ast.Global(sorted(bound_here))] if bound_here else []
    body = [*declarations, definition]
    factory = _stamped(ast.FunctionDef("factory", arguments, body, [], **_no_type_parameters()), definition)
    module = ast.Module([factory], [])
    _place_all(module)
    code = compile(module, original.co_filename, "exec", compiler_flags, dont_inherit=True)
    for _ in range(2 if class_name is None else 3):
        code = next(constant for constant in code.co_consts if isinstance(constant, types.CodeType))
    code = code.replace(co_flags=code.co_flags | original.co_flags & inspect.CO_ITERABLE_COROUTINE)
    code = with_blocks_as_users(code, original)
    if code.co_qualname == original.co_qualname:
        return code
    return _requalified(code, code.co_qualname, original.co_qualname)


def rebuild_function(
    original: types.FunctionType, code: types.CodeType, extra_cells: dict[str, types.CellType]
) -> types.FunctionType:
    """Return a function that runs ``code`` with everything else taken from ``original``, cells included."""
    cells = dict(zip(original.__code__.co_freevars, original.__closure__ or (), strict=True)) | extra_cells
    function = types.FunctionType(
        code,
        original.__globals__,
        original.__name__,
        original.__defaults__,
        tuple(cells[name] for name in code.co_freevars),
    )
    function.__kwdefaults__ = original.__kwdefaults__
    function.__qualname__ = original.__qualname__
    function.__module__ = original.__module__
    function.__doc__ = original.__doc__
    function.__annotations__ = original.__annotations__
    function.__dict__.update(original.__dict__)
    if hasattr(original, "__type_params__"):
        setattr(function, "__type_params__", original.__type_params__)  # noqa: B010 -- unknown to 3.11's types
    return function


def _as_statement(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> ast.stmt:
    return _stamped(ast.Expr(node), node) if isinstance(node, ast.Lambda) else node


def _without_evaluated_parts(
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda,
) -> ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda:
    """A copy without decorators, annotations, type parameters; defaults only counted: the original has them
    evaluated.
    """
    old = node.args
    blank = ast.Constant(None)
    arguments = ast.arguments(
        [ast.arg(a.arg) for a in old.posonlyargs],
        [ast.arg(a.arg) for a in old.args],
        ast.arg(old.vararg.arg) if old.vararg else None,
        [ast.arg(a.arg) for a in old.kwonlyargs],
        [blank if default else None for default in old.kw_defaults],
        ast.arg(old.kwarg.arg) if old.kwarg else None,
        [blank for _ in old.defaults],
    )
    if isinstance(node, ast.Lambda):
        return ast.copy_location(ast.Lambda(arguments, node.body), node)
    return ast.copy_location(type(node)(node.name, arguments, node.body, [], **_no_type_parameters()), node)


def _no_type_parameters() -> dict[str, Any]:
    """What Python 3.12's nodes require, and 3.11's do not know."""
    return {"type_params": []} if sys.version_info >= (3, 12) else {}


def _stamped(node: _Node, like: ast.AST) -> _Node:
    return ast.copy_location(node, like)


def _place_all(tree: ast.AST) -> None:
    """Give each node that has no position that of the node around it, as `ast.fix_missing_locations` does."""
    pending = [(tree, (1, 0, 1, 0))]
    while pending:
        node, around = pending.pop()
        if node._attributes:
            values = node.__dict__
            line, column = values.setdefault("lineno", around[0]), values.setdefault("col_offset", around[1])
            if values.get("end_lineno") is None:
                values["end_lineno"] = around[2]
            if values.get("end_col_offset") is None:
                values["end_col_offset"] = around[3]
            around = line, column, values["end_lineno"], values["end_col_offset"]
        pending += [(each, around) for each in children(node)]


def _requalified(code: types.CodeType, old: str, new: str) -> types.CodeType:
    """``code`` and all inside it, with the factory's part of the qualified names replaced by the original's."""
    constants = tuple(
        _requalified(constant, old, new) if isinstance(constant, types.CodeType) else constant
        for constant in code.co_consts
    )
    name = new + code.co_qualname[len(old) :] if code.co_qualname.startswith(old) else code.co_qualname
    return code.replace(co_consts=constants, co_qualname=name)
