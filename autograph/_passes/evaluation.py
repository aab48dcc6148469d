"""`Steps`: an expression in which calls may raise in; one step for each such call, and the rest, out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import gast

from autograph._passes.nodes import Context, assign, load, placed

# The parts of an expression that are evaluated once and in any case, in Python's order.
_OPERANDS: Mapping[type, tuple[str, ...]] = MappingProxyType(
    {
        gast.BinOp: ("left", "right"),
        gast.UnaryOp: ("operand",),
        gast.Attribute: ("value",),
        gast.Subscript: ("value", "slice"),
        gast.Slice: ("lower", "upper", "step"),
        gast.Tuple: ("elts",),
        gast.List: ("elts",),
        gast.Dict: (),
        gast.Call: ("func", "args", "keywords"),
        gast.keyword: ("value",),
        gast.Starred: ("value",),
        gast.Compare: ("left", "comparators"),
        gast.BoolOp: ("values",),
        gast.IfExp: ("test",),
    }
)
_WRAPPERS = (gast.Starred, gast.keyword, gast.Slice)  # no expressions of their own
_FIRST_ONLY = (gast.BoolOp, gast.Compare)  # after which others are perhaps not evaluated


class Steps:
    """Takes calls out of expressions, one statement for each, in the order in which Python evaluates.

    Args:
      raises: whether evaluating a node itself, its parts left out, may raise when the program runs.
      is_fixed: whether no call can bind a name, which then may be read after it as well as before.

    Attributes: before (the statements to run before what is left of the expression).
    """

    def __init__(self, context: Context, raises: Callable[[gast.AST], bool], is_fixed: Callable[[str], bool]) -> None:
        self._context = context
        self._raises = raises
        self._is_fixed = is_fixed
        self.before: list[gast.AST] = []

    def rest(self, node: gast.AST) -> gast.AST:
        """The expression, of which the last step is left."""
        places = list(_operands(node))
        raising = [k for k, (owner, field, index) in enumerate(places) if self._may_raise(_part(owner, field, index))]
        for k, (owner, field, index) in enumerate(places[: raising[-1] + 1] if raising else ()):
            part = _part(owner, field, index)
            if k in raising:
                part = self.rest(part)
                part = self.kept(part) if self._raises(part) or k < raising[-1] else part
            elif field != "func" or not _is_path(part):  # methods are seldom rebound, and are known by their objects
                part = self.kept(part)
            _put(owner, field, index, part)
        return node

    def kept(self, node: gast.AST) -> gast.AST:
        """What to read later for the value that this expression has now."""
        if isinstance(node, _WRAPPERS):
            for place in list(_operands(node)):
                _put(*place, self.kept(_part(*place)))
            return node
        if isinstance(node, gast.Constant) or (isinstance(node, gast.Name) and self._is_fixed(node.id)):
            return node
        name = self._context.names.new("value")
        self.before.append(placed(assign(name, node), node))
        return placed(load(name), node)

    def _may_raise(self, node: gast.AST) -> bool:
        return self._raises(node) or any(self._may_raise(_part(*place)) for place in _operands(node))


def _operands(node: gast.AST) -> Iterator[tuple[gast.AST, str, int | None]]:
    """Where the parts are that are surely evaluated, in order."""
    for field in _OPERANDS.get(type(node), ()):
        held = getattr(node, field)
        if isinstance(held, list):
            count = 1 if isinstance(node, _FIRST_ONLY) else len(held)
            yield from ((node, field, k) for k in range(count))
        elif held is not None:
            yield node, field, None


def _part(owner: gast.AST, field: str, index: int | None) -> Any:
    held = getattr(owner, field)
    return held if index is None else held[index]


def _put(owner: gast.AST, field: str, index: int | None, part: gast.AST) -> None:
    if index is None:
        setattr(owner, field, part)
    else:
        getattr(owner, field)[index] = part


def _is_path(node: gast.AST) -> bool:
    """Whether this is a name, or an attribute of one."""
    return _is_path(node.value) if isinstance(node, gast.Attribute) else isinstance(node, gast.Name)
