"""Refuse unsupported syntax before any pass runs."""

from __future__ import annotations

from collections.abc import Iterable

import gast

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


def check_syntax(parts: Iterable[gast.AST], filename: str) -> None:
    """Refuse, among the nodes of a function, what the passes have no rule for.

    Raises:
      ConversionError: names the file, the line and the construct.
    """
    for part in parts:
        kind = type(part)
        if kind is gast.Name:
            if part.id.startswith("ag__"):
                raise ConversionError(
                    f"{describe_location(filename, part.lineno)}\n  The name {part.id!r} is reserved for converted "
                    "code. Rename it, or mark "
                    "the function with autograph.do_not_convert if it is already converted."
                )
        elif kind not in _SUPPORTED and isinstance(part, (gast.stmt, gast.expr)):
            place = describe_location(filename, part.lineno)
            raise ConversionError(
                f"{place}\n  {kind.__name__} is not supported by the conversion. Move it into a function marked "
                "with autograph.do_not_convert."
            )
