"""Run a program as plain Python on NumPy values, and decide which inputs must give equal results."""

from __future__ import annotations

import ast
import contextlib
import copy
import io
import linecache
import types
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import numpy as np

import autograph as ag

_MOST_ITERATIONS = 2000
_LARGEST_INT = 2**20
_LARGEST_FLOAT, _PARTS = (
    2**13,
    2**9,
)  # such floats, and their sums, are exact in 24 bits: nothing is ever rounded

GIVEN = {"ag": ag, "np": np, "NamedTuple": NamedTuple}  # what a program may use without importing it


class Unsuitable(Exception):
    """A run whose numbers grow past what 32 bits hold exactly, or that does not end soon."""


@dataclass(frozen=True)
class Outcome:
    """What a call did: its result, or the type and arguments of what it raised; and what it printed, None if the call
    ended while it was traced, before its program could print anything.
    """

    result: Any = None
    error: BaseException | None = None
    printed: str | None = ""

    @property
    def raised(self) -> tuple[str, tuple[Any, ...]] | None:
        return None if self.error is None else (type(self.error).__name__, self.error.args)


def load(source: str, filename: str) -> types.ModuleType:
    """The module with this text; its source can be looked up, as that of a module from a file."""
    module = types.ModuleType("generated")
    module.__dict__.update(GIVEN)
    module.__dict__["__file__"] = filename
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    exec(compile(source, filename, "exec", dont_inherit=True), module.__dict__)
    return module


def run(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Outcome:
    """Call the function on copies of the arguments."""
    output = io.StringIO()
    try:
        with np.errstate(all="ignore"), contextlib.redirect_stdout(output):
            result = function(*copy.deepcopy(arguments))
            jax.effects_barrier()
    except Unsuitable:
        raise
    except Exception as error:
        return Outcome(error=error, printed=output.getvalue())
    return Outcome(result, printed=output.getvalue())


def suitable(source: str, inputs: tuple[tuple[Any, ...], ...]) -> list[int]:
    """Which inputs to compare on: those whose every number is small and exact, and whose loops are short."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            guarded = _guarded(source)
    except Exception:  # a program that shrinking has broken
        return []
    kept = []
    for position, arguments in enumerate(inputs):
        guarded.__dict__["count__"].left = _MOST_ITERATIONS
        with contextlib.suppress(Unsuitable):
            outcome = run(guarded.__dict__["f"], arguments)
            if _meant(outcome.error) and all(map(_is_number, jax.tree.leaves(outcome.result))):
                kept.append(position)
    return kept


def _is_number(value: Any) -> bool:
    return isinstance(value, bool | int | float | np.generic | np.ndarray)


def _meant(error: BaseException | None) -> bool:
    """Whether an exception is one that the program raises itself: those have a text like ``e1``."""
    return error is None or (len(error.args) == 1 and str(error.args[0])[:1] in ("e", "a") and len(error.args[0]) == 2)


def _guarded(source: str) -> types.ModuleType:
    tree = ast.fix_missing_locations(_Guards().visit(ast.parse(source)))
    module = types.ModuleType("guarded")
    module.__dict__.update(GIVEN, check__=_check, count__=_Countdown())
    exec(compile(tree, "<guarded>", "exec", dont_inherit=True), module.__dict__)
    assert callable(module.__dict__["f"])
    return module


class _Countdown:
    left = 0

    def __call__(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise Unsuitable


def _check(value: Any) -> Any:
    if isinstance(value, float | np.floating) or (isinstance(value, np.ndarray) and value.dtype.kind == "f"):
        scaled = np.asarray(value, np.float64) * _PARTS
        if not (np.all(np.abs(scaled) <= _LARGEST_FLOAT * _PARTS) and np.all(scaled == np.round(scaled))):
            raise Unsuitable
    elif isinstance(value, int | np.integer | np.ndarray):
        if not np.all(np.abs(np.asarray(value, np.int64)) <= _LARGEST_INT):
            raise Unsuitable
    return value


class _Guards(ast.NodeTransformer):
    """Passes every computed value through `_check`, and counts the iterations of loops."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        return _call("check__", node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        return _call("check__", node)

    def visit_AugAssign(self, node: ast.AugAssign) -> list[ast.AST]:
        self.generic_visit(node)
        read = ast.parse(ast.unparse(node.target), mode="eval").body
        return [node, ast.Expr(_call("check__", read))]

    def visit_For(self, node: ast.For) -> ast.AST:
        return self._loop(node)

    def visit_While(self, node: ast.While) -> ast.AST:
        return self._loop(node)

    def _loop(self, node: ast.For | ast.While) -> ast.AST:
        self.generic_visit(node)
        node.body.insert(0, ast.Expr(_call("count__")))
        return node


def _call(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])
