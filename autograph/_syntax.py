"""Refuse unsupported syntax before any pass runs."""

from __future__ import annotations

import gast

from autograph._analysis.children import walk
from autograph.runtime.errors import ConversionError, describe_location

_STATEMENTS = """
    FunctionDef AsyncFunctionDef ClassDef Return Delete Assign AugAssign AnnAssign TypeAlias For AsyncFor While If With AsyncWith
    Match Raise Try TryStar Assert Import ImportFrom Global Nonlocal Expr Pass Break Continue
"""
_EXPRESSIONS = """
    BoolOp NamedExpr BinOp UnaryOp Lambda IfExp Dict Set ListComp SetComp DictComp GeneratorExp Await Yield YieldFrom Compare Call
    FormattedValue JoinedStr Constant Attribute Subscript Starred Name List Tuple Slice
"""
_SUPPORTED = frozenset(getattr(gast, name) for name in (_STATEMENTS + _EXPRESSIONS).split() if hasattr(gast, name))


def check_syntax(node: gast.AST, filename: str) -> None:
    """Refuse what the passes have no rule for.

    Raises:
      ConversionError: names the file, the line and the construct.
    """
    for part in walk(node):
        if isinstance(part, gast.stmt | gast.expr) and type(part) not in _SUPPORTED:
            place = describe_location(filename, part.lineno)
            raise ConversionError(
                f"{place}\n  {type(part).__name__} is not supported by the conversion. Move it into a function marked "
                "with autograph.do_not_convert."
            )
        if isinstance(part, gast.Name) and part.id.startswith("ag__"):
            raise ConversionError(
                f"{describe_location(filename, part.lineno)}\n  The name {part.id!r} is reserved for converted "
                "code. Rename it, or mark "
                "the function with autograph.do_not_convert if it is already converted."
            )
