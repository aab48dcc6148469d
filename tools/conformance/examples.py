"""Convert the examples of doctests.

An example is a module's top level, and only functions are converted. So each example becomes the body of a function
whose variables are all declared global, and that function is converted and called:

    the example                the function
    n = 3                      def example():
    [n for _ in 'ab']              global n
                                   n = 3
                                   displayhook([n for _ in 'ab'])

What cannot stand in a function (``from m import *``, an annotated global, ``from __future__``) runs as it is. That a
lambda or generator made in an example is now named ``example.<locals>.<lambda>`` is undone where outputs are
compared.
"""

from __future__ import annotations

import ast
import doctest
import linecache
import sys
import types
from typing import Any

counts = {"converted": 0, "as they are": 0}
_DISPLAY = "_conformance_displayhook"


def install() -> None:
    """Make this process's doctests run their examples converted."""
    scope: Any = doctest
    scope.compile, scope.exec = _compile, _execute
    scope.OutputChecker = _Checker


class _Checker(doctest.OutputChecker):
    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        return super().check_output(want, got.replace("example.<locals>.", ""), optionflags)


class _Example:
    def __init__(self, code: types.CodeType, source: str, filename: str, flags: int) -> None:
        self.code = code
        self.source = source
        self.filename = filename
        self.flags = flags


def _compile(source: str, filename: str, mode: str, flags: int, dont_inherit: bool) -> _Example:
    return _Example(compile(source, filename, mode, flags, dont_inherit), source, filename, flags)


def _execute(example: _Example, scope: dict[str, Any]) -> None:
    function = _as_function(example, scope)
    counts["as they are" if function is None else "converted"] += 1
    if function is None:
        exec(example.code, scope)
        return
    import autograph as ag

    ag.convert(function)()


def _as_function(example: _Example, scope: dict[str, Any]) -> types.FunctionType | None:
    """The example as a function of no arguments, with source that can be found; None if it cannot be one."""
    names = sorted(_names_bound(example.code))
    tree = ast.parse(example.source)
    if any(isinstance(part, ast.ImportFrom) and part.module == "__future__" for part in tree.body):
        return None
    tree = _Displayed().visit(tree)
    # What reads `globals` is never run as it is written, whatever its values.
    converted = ast.Expr(ast.Name("globals", ast.Load()))
    tree.body = [ast.FunctionDef("example", _no_arguments(), [*_declared(names), converted, *tree.body], [])]
    text = ast.unparse(ast.fix_missing_locations(tree))
    filename = example.filename.replace(">", " converted>")
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    try:
        code = compile(text, filename, "exec", example.flags, dont_inherit=True)
    except SyntaxError:
        return None
    scope[_DISPLAY] = lambda value: sys.displayhook(value)
    local: dict[str, Any] = {}
    exec(code, scope, local)
    function = local["example"]
    assert isinstance(function, types.FunctionType)
    return function


def _names_bound(code: types.CodeType) -> set[str]:
    """The variables that a top level binds or deletes."""
    import dis

    operations = ("STORE_NAME", "DELETE_NAME")
    return {str(step.argval) for step in dis.get_instructions(code) if step.opname in operations}


def _declared(names: list[str]) -> list[ast.stmt]:
    return [ast.Global(names)] if names else []


class _Displayed(ast.NodeTransformer):
    """Shows the value of each expression that is a statement, as an interactive top level does."""

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        shown = ast.Call(ast.Name(_DISPLAY, ast.Load()), [node.value], [])
        return ast.copy_location(ast.Expr(shown), node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        return node

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.stmt:
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.stmt:
        return node


def _no_arguments() -> ast.arguments:
    return ast.arguments([], [], None, [], [], None, [])
