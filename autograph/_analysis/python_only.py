"""Find uses of a loop's index that require it to be a Python int, so that the loop cannot be staged."""

from __future__ import annotations

from collections.abc import Iterable

import gast

from autograph._analysis.children import children, walk
from autograph._analysis.scopes import suspends, walk_scope

_BUILTINS = frozenset(
    {
        "str",
        "repr",
        "ascii",
        "format",
        "bytes",
        "bytearray",
        "hash",
        "id",
        "type",
        "vars",
        "locals",
        "globals",
        "dir",
        "eval",
        "exec",
        "open",
        "input",
        "iter",
        "setattr",
        "delattr",
        "memoryview",
        "breakpoint",
        "callable",
    }
)
# Types that tell a Python number from an array; of all others, both are instances or neither is.
_NUMBER_TYPES = frozenset(
    {
        "int",
        "float",
        "complex",
        "bool",
        "object",
        "Number",
        "Complex",
        "Real",
        "Rational",
        "Integral",
        "integer",
        "floating",
        "generic",
        "ndarray",
        "Array",
        "Tracer",
        "ArrayLike",
        "SupportsIndex",
        "SupportsInt",
        "SupportsFloat",
        "Hashable",
        "Sized",
        "Iterable",
        "Any",
        "number",
        "bool_",
        "inexact",
    }
)
_TEXT_METHODS = frozenset({"format", "format_map"})
_TRY_STARS = (gast.TryStar,) if hasattr(gast, "TryStar") else ()
_ASKED = frozenset(
    {gast.Raise, gast.Assert, gast.FormattedValue, *_TRY_STARS, gast.Try, gast.BinOp, gast.Name, gast.Call}
)
_JUMPS = (gast.Return, gast.Break, gast.Continue)


def python_only(nodes: Iterable[gast.AST]) -> str | None:
    """Name the first construct whose meaning a traced number would change without an error, else None.

    An f-string would hold the tracer's own text, `isinstance` would answer otherwise, a handler of a ``try`` that stays
    Python's would catch the error that says the number is traced. What is raised is left out: there text can wait.

    >>> [python_only(gast.parse(text).body) for text in ("y += x[i]", "name = f'w{i}'", "isinstance(x, (int, str))")]
    [None, 'an f-string', 'isinstance']
    """
    pending = list(nodes)[::-1]
    while pending:
        node = pending.pop()
        if type(node) in _ASKED:
            if isinstance(node, gast.Raise):
                continue
            if isinstance(node, gast.Assert):
                pending.append(node.test)
                continue
            reason = _reason(node)
            if reason is not None:
                return reason
        inner = children(node)
        inner.reverse()
        pending += inner
    return None


def _reason(node: gast.AST) -> str | None:
    if isinstance(node, gast.FormattedValue):
        return "an f-string"
    if isinstance(node, _TRY_STARS):
        return "except*"
    if isinstance(node, gast.Try):
        return _reason_of_try(node)
    if isinstance(node, gast.BinOp) and isinstance(node.op, gast.Mod) and _is_text(node.left):
        return "a formatted string"
    if isinstance(node, gast.Name) and node.id in _BUILTINS and isinstance(node.ctx, gast.Load):
        return node.id
    if not isinstance(node, gast.Call):
        return None
    called = node.func
    if isinstance(called, gast.Attribute) and called.attr in _TEXT_METHODS:
        return f"str.{called.attr}"
    if isinstance(called, gast.Name) and called.id in ("isinstance", "issubclass") and len(node.args) == 2:
        named = {getattr(part, "id", getattr(part, "attr", None)) for part in walk(node.args[1])}
        return called.id if named & _NUMBER_TYPES else None
    if isinstance(called, gast.Name) and called.id in ("hasattr", "getattr") and len(node.args) > 1:
        return None if _is_text(node.args[1]) else called.id
    return None


def _reason_of_try(node: gast.AST) -> str | None:
    if node.handlers and suspends([node]):
        return "try with handlers around a yield"
    if any(isinstance(part, _JUMPS) for part in walk_scope(node.finalbody)):
        return "a jump in finally"
    return None


def _is_text(node: gast.AST) -> bool:
    return isinstance(node, gast.Constant) and isinstance(node.value, str)
