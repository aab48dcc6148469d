"""`StopAtRaises`: statements that may follow an exception of the program in; the same, where there was none, out."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

import gast

from autograph._analysis.children import walk
from autograph._analysis.scopes import bound_inside, scope_of, walk_scope
from autograph._passes.evaluation import Steps
from autograph._passes.nodes import Context, assign, blocks_in, copied, load, placed, store

_DEFINITIONS = (gast.FunctionDef, gast.AsyncFunctionDef, gast.ClassDef)
_LOOPS = (gast.For, gast.While)
# Builtins and methods that raise nothing when a program runs, or only where their arguments do; `range` by its step.
_SAFE = frozenset(["print", "len", "enumerate", "zip", "isinstance", "float", "int", "bool", "abs", "str", "append"])
# The expressions that statements begin with, and evaluate once.
_FIELDS: Mapping[type, str] = MappingProxyType(
    {
        gast.Assign: "value",
        gast.AnnAssign: "value",
        gast.AugAssign: "value",
        gast.Return: "value",
        gast.Expr: "value",
        gast.If: "test",
        gast.For: "iter",
    }
)
# Operators that may raise.
_RAISING = frozenset(["assert_stmt", "yielded", "yielded_from"])
# What raises for the values of numbers: operators, and builtins of two arguments by what they compute.
_RAISING_OPERATORS = (gast.Div, gast.FloorDiv, gast.Mod, gast.Pow, gast.LShift, gast.RShift)
RAISING_BUILTINS: Mapping[str, str] = MappingProxyType({"divmod": "divmod", "pow": "**"})
_SIMPLE = (gast.Name, gast.Constant, gast.Tuple, gast.expr_context)


class StopAtRaises:
    """Puts what follows a statement that may have raised when the program runs under ``if ag__.goes_on():``.

    In the body of a ``try``, and everywhere in functions that are called in one (`Context.stops`): an exception that a handler
    catches does not leave the program, so what comes after it must not happen.

    >>> from autograph._passes.shown import rewritten
    >>> print(rewritten(StopAtRaises, '''
    ... def f(x, g):
    ...     try:
    ...         x = x / g(x)
    ...     except ValueError:
    ...         pass
    ...     return x
    ... '''))
    def f(x, g):
        try:
            value = g(x)
            if ag__.goes_on():
                x = x / value
            else:
                raise ag__.stopped()
        except ValueError:
            pass
        return x
    """

    applies_to: frozenset[type] | None = None
    introduces: frozenset[type] = frozenset({gast.If, gast.Raise})

    def __init__(self, context: Context) -> None:
        self.context = context
        self._fixed: frozenset[str] = frozenset()  # names that no call binds, of the function that is being rewritten

    def __call__(self, node: gast.AST) -> gast.AST:
        has_try = any(isinstance(part, gast.Try) for part in walk(node))
        if not isinstance(node, gast.Lambda) and (has_try or self.context.managed or self.context.stops):
            self._fixed = _fixed_names(node)
            node.body = self._block(node.body, self.context.stops)
        return node

    def _block(self, statements: Sequence[gast.AST], stops: bool) -> list[gast.AST]:
        out: list[gast.AST] = []
        guarded: list[gast.AST] | None = None  # what is under the last test
        for statement in self._in_steps(statements) if stops else statements:
            self._inside(statement, stops)
            raises = stops and may_raise(self.context, statement)
            if guarded is not None and not _is_simple(statement):
                if not guarded:
                    out.append(self._guard(guarded, statement))
                guarded.append(statement)
            else:
                out.append(statement)
            if raises or (guarded and out[-1] is statement):  # what follows a jump must not run before it
                guarded = []
        return out

    def _in_steps(self, statements: Sequence[gast.AST]) -> Iterator[gast.AST]:
        """The statements, calls that may raise in the middle of an expression before them."""
        for statement in statements:
            field = _FIELDS.get(type(statement))
            if field is None or getattr(statement, field) is None:
                yield statement
            elif isinstance(statement, gast.AugAssign):
                yield from self._augmented(statement)
            else:
                steps = self._steps()
                setattr(statement, field, steps.rest(getattr(statement, field)))
                yield from steps.before
                yield statement

    def _steps(self) -> Steps:
        return Steps(self.context, functools.partial(_raises, self.context), self._fixed.__contains__)

    def _augmented(self, statement: gast.AST) -> Iterator[gast.AST]:
        """``a += f()``: what ``a`` is before the call, the call, and the addition."""
        steps, target = self._steps(), statement.target
        value = steps.rest(statement.value)
        is_name = isinstance(target, gast.Name)
        if not steps.before and not (is_name and _raises(self.context, value)):
            yield statement  # the call and the addition are one step, or there is no call
            return
        statement.value = steps.kept(value) if _raises(self.context, value) else value
        if is_name and target.id in self._fixed:
            yield from [*steps.before, statement]
            return
        first = self._steps()
        for field in () if is_name else ("value", "slice"):
            part = getattr(target, field, None)
            if isinstance(part, gast.AST) and not isinstance(part, gast.Name):
                setattr(target, field, first.kept(part))
        found = copied(target)
        found.ctx = gast.Load()
        name = self.context.names.new("value")
        statement.target = placed(store(name), target)
        yield from first.before
        yield placed(assign(name, found), statement)
        yield from [*steps.before, statement]
        yield placed(gast.Assign([target], load(name), None), statement)

    def _guard(self, body: list[gast.AST], like: gast.AST) -> gast.AST:
        stop = gast.Raise(self.context.call("stopped"), None)
        return placed(gast.If(self.context.call("goes_on"), body, [stop]), like)

    def _inside(self, node: gast.AST, stops: bool) -> None:
        outer = self._fixed
        if isinstance(node, gast.FunctionDef | gast.AsyncFunctionDef):
            stops = True  # it may be called in a `try`
            self._fixed = _fixed_names(node)
        runs_tried = isinstance(node, gast.Try) or node in self.context.managed
        for part, field, block in blocks_in(node):
            is_tried = runs_tried and part is node and field == "body"
            setattr(part, field, self._block(block, stops or is_tried))
        if stops and isinstance(node, _LOOPS) and any(may_raise(self.context, part) for part in node.body):
            guarded: list[gast.AST] = [*node.body]  # an iteration before may have raised
            node.body = [self._guard(guarded, node.body[0])]
        self._fixed = outer


def _fixed_names(function: gast.AST) -> frozenset[str]:
    """The names of a function that nothing else binds, as nested functions may."""
    return scope_of(function).bound - bound_inside(function)


def may_raise(context: Context, statement: gast.AST) -> bool:
    """Whether a statement may raise when the program runs."""
    if isinstance(statement, _DEFINITIONS):
        return False
    return any(_raises(context, part) for part in walk_scope([statement]))


def _raises(context: Context, node: gast.AST) -> bool:
    if isinstance(node, gast.Raise | gast.Assert):
        return True
    if isinstance(node, gast.Subscript):
        return "__getitem__" in context.special_methods
    if isinstance(node, gast.Expr) and context.is_operator_call(node.value):
        return node.value.func.attr in _RAISING
    if not isinstance(node, gast.Call) or context.is_operator_call(node):
        return False
    name = getattr(node.func, "id", getattr(node.func, "attr", None))
    if name == "range":
        return len(node.args) > 2 and not any(isinstance(part, gast.Constant) for part in walk(node.args[2]))
    return name not in _SAFE and not context.is_plain_call(node.func)


def may_raise_for_numbers(node: gast.AST) -> bool:
    """Whether this is an operation that Python refuses for some numbers."""
    if isinstance(node, gast.Call):
        return isinstance(node.func, gast.Name) and len(node.args) == 2 and node.func.id in RAISING_BUILTINS
    return isinstance(node, gast.BinOp | gast.AugAssign) and isinstance(node.op, _RAISING_OPERATORS)


def _is_simple(statement: gast.AST) -> bool:
    """Whether a statement computes nothing and is seen by nobody after an exception."""
    if isinstance(statement, gast.Pass | gast.Break | gast.Continue | gast.Global | gast.Nonlocal):
        return True
    if not isinstance(statement, gast.Return):
        return False
    return all(isinstance(part, _SIMPLE) for part in walk(statement) if part is not statement)
