"""`CheckDefined`: reads of variables that staged control flow may leave undefined in; checked reads out."""

from __future__ import annotations

from collections.abc import Sequence

import gast

from autograph._analysis.scopes import (
    COMPREHENSIONS,
    FUNCTIONS,
    LOOPS,
    bound_names,
    definitions_in,
    scope_of,
    walk_scope,
)
from autograph._passes.nodes import Context, load, placed, thunk

_Names = set[str] | None  # None: control does not get here


class CheckDefined:
    """Turns a read of ``y`` that some path reaches without binding ``y`` into ``ag__.bound(lambda: y)``.

    Plain Python raises there by itself. Under staging the variable holds a placeholder on the paths that do not bind
    it, and the operator is what keeps it from being read.
    """

    applies_to: frozenset[type] | None = None
    introduces: frozenset[type] = frozenset()

    def __init__(self, context: Context) -> None:
        self.context = context

    def __call__(self, node: gast.AST) -> gast.AST:
        if not isinstance(node, gast.Lambda):
            scope = scope_of(node)
            _Walk(self.context, scope.bound).block(node.body, set(scope.parameters))
        return node


class _Walk:
    """A forward walk with the set of names bound on every path. Attributes: exits (sets at break, continue, per
    loop).
    """

    def __init__(self, context: Context, local_names: frozenset[str]) -> None:
        self.context = context
        self.local_names = local_names
        self.exits: list[tuple[list[_Names], list[_Names]]] = []

    def block(self, statements: Sequence[gast.AST], defined: _Names) -> _Names:
        for node in statements:
            if defined is None:
                break
            defined = self.statement(node, defined)
        return defined

    def statement(self, node: gast.AST, defined: set[str]) -> _Names:
        if isinstance(node, gast.If):
            node.test = self.reads(node.test, defined)
            defined |= bound_names([node.test])
            return _meet(self.block(node.body, set(defined)), self.block(node.orelse, set(defined)))
        if isinstance(node, LOOPS):
            return self.loop(node, defined)
        if isinstance(node, gast.With | gast.AsyncWith):
            for item in node.items:
                item.context_expr = self.reads(item.context_expr, defined)
            return self.block(node.body, defined | bound_names(node.items))
        if isinstance(node, gast.Match):
            node.subject = self.reads(node.subject, defined)
            ends = [self.block(case.body, defined | bound_names([case.pattern])) for case in node.cases]
            return _meet(set(defined), *ends)
        if hasattr(node, "handlers"):
            return self.attempt(node, defined)
        if isinstance(node, gast.FunctionDef | gast.AsyncFunctionDef):
            CheckDefined(self.context)(node)
        elif isinstance(node, gast.ClassDef):
            self.class_body(node)
        elif not isinstance(node, gast.Delete):
            for field, value in list(gast.iter_fields(node)):
                if isinstance(value, gast.expr) and field != "target":
                    setattr(node, field, self.reads(value, defined))
                elif field == "targets":
                    node.targets = [self.reads(target, defined) for target in node.targets]
        if isinstance(node, gast.Delete):
            return defined - bound_names([node])
        defined |= bound_names([node])
        if isinstance(node, gast.Break | gast.Continue) and self.exits:
            self.exits[-1][isinstance(node, gast.Continue)].append(set(defined))
        return None if isinstance(node, gast.Return | gast.Raise | gast.Break | gast.Continue) else defined

    def class_body(self, node: gast.AST) -> None:
        for part in definitions_in(node):
            if isinstance(part, gast.ClassDef):
                self.class_body(part)
            else:
                CheckDefined(self.context)(part)

    def loop(self, node: gast.AST, defined: set[str]) -> _Names:
        self.exits.append(([], []))
        if isinstance(node, gast.While):
            node.test = self.reads(node.test, defined)
            defined = defined | bound_names([node.test])
            end = self.block(node.body, set(defined))
            breaks, _ = self.exits.pop()
            endless = isinstance(node.test, gast.Constant) and bool(node.test.value)
            after = None if endless else self.block(node.orelse, set(defined))
            return _meet(after, *breaks)
        node.iter = self.reads(node.iter, defined)
        end = self.block(node.body, defined | bound_names([node.target]))
        breaks, continues = self.exits.pop()
        exhausted: _Names = set(defined)
        if _surely_runs(node.iter):
            exhausted = _meet(end, *continues)
        if exhausted is not None:
            exhausted = self.block(node.orelse, exhausted)
        return _meet(exhausted, *breaks)

    def attempt(self, node: gast.AST, defined: set[str]) -> _Names:
        ends = []
        body = self.block(node.body, set(defined))
        if body is not None:
            body = self.block(node.orelse, body)
        ends.append(body)
        for handler in node.handlers:
            name = handler.name if isinstance(handler.name, str) or handler.name is None else handler.name.id
            ends.append(self.block(handler.body, defined | ({name} if name else set())))
        end = _meet(*ends)
        if end is None:
            self.block(node.finalbody, set(defined))
            return None
        return self.block(node.finalbody, end)

    def reads(self, node: gast.AST, defined: set[str]) -> gast.AST:
        """The expression with its reads of possibly unbound variables checked."""
        risky = {
            part.id for part in walk_scope([node]) if isinstance(part, gast.Name) and isinstance(part.ctx, gast.Load)
        } & (self.local_names - defined)
        risky -= bound_names([node])
        return _CheckReads(self.context, risky).visit(node) if risky else node


class _CheckReads(gast.NodeTransformer):
    def __init__(self, context: Context, risky: set[str]) -> None:
        self.context = context
        self.risky = risky

    def visit(self, node: gast.AST) -> gast.AST:
        if isinstance(node, gast.Name) and isinstance(node.ctx, gast.Load) and node.id in self.risky:
            return placed(self.context.call("bound", thunk(load(node.id))), node)
        if isinstance(node, (*FUNCTIONS, *COMPREHENSIONS)):
            return node
        return super().generic_visit(node)


def _meet(*paths: _Names) -> _Names:
    reached = [names for names in paths if names is not None]
    return set.intersection(*reached) if reached else None


def _surely_runs(iterable: gast.AST) -> bool:
    """Whether this is ``range`` of constants that is not empty."""
    if not (isinstance(iterable, gast.Call) and isinstance(iterable.func, gast.Name) and iterable.func.id == "range"):
        return False
    try:
        return bool(range(*(gast.literal_eval(argument) for argument in iterable.args)))
    except (ValueError, TypeError):
        return False
