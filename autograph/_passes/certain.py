"""`CertainValues`: expressions that surely give Python's truth values or Python's numbers, whatever the arguments are."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import gast

from autograph._passes.nodes import Context, bindings_of

_GIVE_TRUTHS = frozenset(["bool", "isinstance", "issubclass", "hasattr", "callable"])
_OPERATORS_OF_TRUTHS = frozenset(["not_", "is_", "is_none", "is_bool", "contains"])
_GIVE_NUMBERS = frozenset(["len", "int", "float"])
_BITS = (gast.BitAnd, gast.BitOr, gast.BitXor)


class CertainValues:
    """What is Python's own truth value or number when plain Python runs a function: no argument can make it an array.

    A comparison is one if both sides are Python's numbers, or one is a text. A variable is one if all that the function binds it to are.

    Args:
      parts: the function's nodes, those of the functions in it among them, after all passes that rewrite its logic.
    """

    def __init__(self, context: Context, parts: Collection[gast.AST]) -> None:
        self._context = context
        bound: dict[str, list[gast.AST | None]] = {}
        for name, value in _bindings(parts):
            bound.setdefault(name, []).append(value)
        self._truths = {name for name, values in bound.items() if None not in values}
        self._numbers = set(self._truths)
        while True:  # all are held to be such until one of their values is seen not to be
            truths = {name for name in self._truths if all(map(self.is_truth, bound[name]))}
            numbers = {name for name in self._numbers if all(map(self.is_number, bound[name]))}
            if (truths, numbers) == (self._truths, self._numbers):
                return
            self._truths, self._numbers = truths, numbers

    def is_truth(self, node: gast.AST) -> bool:
        """Whether this surely gives one of Python's truth values."""
        match node:
            case gast.Constant(value=value):
                return isinstance(value, bool)
            case gast.Name(id=name):
                return name in self._truths
            case gast.UnaryOp(op=gast.Not()):
                return True
            case gast.BinOp(left=left, op=operator, right=right):
                return isinstance(operator, _BITS) and self.is_truth(left) and self.is_truth(right)
            case gast.BoolOp(values=values):
                return all(map(self.is_truth, values))
            case gast.Compare(left=left, ops=operators, comparators=others):
                names = gast.In | gast.NotIn | gast.Is | gast.IsNot
                sides = [left, *others]
                if all(isinstance(each, names) for each in operators) or any(map(_is_text, sides)):
                    return True
                return all(map(self.is_number, sides))
            case gast.Call(func=called, args=arguments):
                if not self._context.is_operator(called):
                    return self._called(called) in _GIVE_TRUTHS
                if called.attr in ("and_", "or_"):
                    return all(map(self._gives_truth, arguments))
                if called.attr == "if_exp":
                    return all(map(self._gives_truth, arguments[1:]))
                return called.attr in _OPERATORS_OF_TRUTHS
        return False

    def is_number(self, node: gast.AST) -> bool:
        """Whether this surely gives one of Python's numbers, truth values among them."""
        match node:
            case gast.Constant(value=value):
                return isinstance(value, int | float)
            case gast.Name(id=name):
                return name in self._numbers
            case gast.UnaryOp(operand=operand):
                return self.is_number(operand)
            case gast.BinOp(left=left, right=right):
                return self.is_number(left) and self.is_number(right)
            case gast.Call(func=called):
                return self._called(called) in _GIVE_NUMBERS or self.is_truth(node)
        return self.is_truth(node)

    def _gives_truth(self, node: gast.AST) -> bool:
        return self.is_truth(node.body if isinstance(node, gast.Lambda) else node)

    def _called(self, called: gast.AST) -> str | None:
        """The builtin that is called, as far as names tell."""
        if isinstance(called, gast.Call) and self._context.is_operator(called.func) and len(called.args) == 1:
            called = called.args[0]
        is_builtin = isinstance(called, gast.Name) and not self._context.is_own_name(called.id)
        return called.id if is_builtin else None


def _is_text(node: gast.AST) -> bool:
    return isinstance(node, gast.Constant) and isinstance(node.value, str)


def _bindings(parts: Collection[gast.AST]) -> Iterator[tuple[str, gast.AST | None]]:
    """The names that nodes bind, each with its value; None for what is not seen."""
    seen: set[int] = set()
    for part in parts:
        match part:
            case gast.Assign():
                pairs = bindings_of(part)
            case gast.AnnAssign(target=target, value=value) | gast.NamedExpr(target=target, value=value):
                pairs = [(target, value)] if value is not None else []
            case gast.AugAssign(target=target, op=operator, value=value) if isinstance(target, gast.Name):
                pairs = [(target, gast.BinOp(gast.Name(target.id, gast.Load(), None, None), operator, value))]
            case _:
                continue
        for target, value in pairs:
            if isinstance(target, gast.Name):
                seen.add(id(target))
                yield target.id, value
    for part in parts:
        if isinstance(part, gast.Name) and not isinstance(part.ctx, gast.Load) and id(part) not in seen:
            yield part.id, None
        elif isinstance(part, gast.Global | gast.FunctionDef | gast.AsyncFunctionDef | gast.ClassDef | gast.alias):
            named = part.names if isinstance(part, gast.Global) else [getattr(part, "asname", None) or part.name]
            yield from ((name, None) for name in named)
        elif isinstance(part, gast.ExceptHandler) and isinstance(part.name, str):
            yield part.name, None
