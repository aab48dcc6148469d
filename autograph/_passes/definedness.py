"""`CheckDefined`: reads of variables that staged control flow may leave undefined in; checked reads out."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence, Set

import gast

from autograph._analysis.scopes import (
    LOOPS,
    bound_if,
    bound_names,
    definitions_in,
    read_names,
    scope_of,
    surely_bound,
    walk_scope,
)
from autograph._passes.nodes import Context, Rewriter, constant, load, placed, thunk
from autograph._passes.static_tests import is_endless

_SIMPLE = (
    gast.Assign,
    gast.AugAssign,
    gast.AnnAssign,
    gast.Expr,
    gast.FunctionDef,
    gast.AsyncFunctionDef,
    gast.ClassDef,
)
_Names = set[str] | None  # None: control does not get here


_COMPREHENSIONS_ARE_FUNCTIONS = sys.version_info < (3, 12)


class CheckDefined:
    """Turns a read of ``y`` that some path reaches without binding ``y`` into ``ag__.bound(lambda: y)``.

    Plain Python raises there by itself. Under staging the variable holds a placeholder on the paths that do not bind
    it, and the operator is what keeps it from being read.

    >>> from autograph._passes.shown import rewritten
    >>> print(rewritten(CheckDefined, '''
    ... def f(x):
    ...     if x > 0:
    ...         y = x
    ...     y += 1
    ...     return lambda: y
    ... '''))
    def f(x):
        if x > 0:
            y = x
        ag__.bound(lambda: y)
        y += 1
        return lambda: y
    """

    applies_to: frozenset[type] | None = None
    introduces: frozenset[type] = frozenset()

    def __init__(self, context: Context) -> None:
        self.context = context

    def __call__(self, node: gast.AST) -> gast.AST:
        if not isinstance(node, gast.Lambda):
            scope = scope_of(node)
            _Walk(self.context, scope.bound, _bound_on_some_path(scope.parameters, node.body)).block(
                node.body, set(scope.parameters)
            )
        return node


class _Walk:
    """A forward walk with the set of names bound on every path.

    Attributes:
      local_names: the function's variables.
      on_some_path: those that a compound statement binds: only they can hold a placeholder.
      exits: sets at break and continue, for each loop around.
    """

    def __init__(self, context: Context, local_names: frozenset[str], on_some_path: set[str]) -> None:
        self.context = context
        self.local_names = local_names
        self.on_some_path = on_some_path
        self.exits: list[tuple[list[_Names], list[_Names]]] = []

    def block(self, statements: list[gast.AST], defined: _Names) -> _Names:
        """Check the statements, and put before each the checks that none of its own expressions can hold."""
        checked: list[gast.AST] = []
        for node in statements:
            if defined is not None:
                checked += self.checks_before(node, defined)
                defined = self.statement(node, defined)
            checked.append(node)
        statements[:] = checked
        return defined

    def checks_before(self, node: gast.AST, defined: set[str]) -> list[gast.AST]:
        """For what ``y += 1``, ``y[0] += 1`` and ``del y`` read of their targets."""
        if not isinstance(node, gast.AugAssign | gast.Delete):
            return []
        targets = node.targets if isinstance(node, gast.Delete) else [node.target]
        return _checks(self.context, sorted(_used(targets) & self.local_names - defined), False, node)

    def statement(self, node: gast.AST, defined: set[str]) -> _Names:
        if isinstance(node, gast.If):
            node.test = self.reads(node.test, defined)
            if_true, if_false = (defined | bound_if(node.test, truth) for truth in (True, False))
            return _meet(self.block(node.body, if_true), self.block(node.orelse, if_false))
        if isinstance(node, LOOPS):
            return self.loop(node, defined)
        if isinstance(node, gast.With | gast.AsyncWith):
            for item in node.items:
                item.context_expr = self.reads(item.context_expr, defined)
            after = self.block(node.body, defined | bound_names(node.items))
            return _meet(set(defined), after) if node in self.context.managed else after
        if isinstance(node, gast.Match):
            node.subject = self.reads(node.subject, defined)
            ends = [self.case(case, defined | bound_names([case.pattern])) for case in node.cases]
            return _meet(set(defined), *ends)
        if hasattr(node, "handlers"):
            return self.attempt(node, defined)
        if isinstance(node, gast.FunctionDef | gast.AsyncFunctionDef):
            CheckDefined(self.context)(node)
            self.reads(node, defined)
        elif isinstance(node, gast.ClassDef):
            self.class_body(node)
            self.reads(node, defined)
        elif not isinstance(node, gast.Delete):
            for field, value in list(gast.iter_fields(node)):
                if isinstance(value, gast.expr) and field != "target":
                    setattr(node, field, self.reads(value, defined))
                elif field == "targets":
                    node.targets = [self.reads(target, defined) for target in node.targets]
        if isinstance(node, gast.Delete):
            return defined - bound_names([node])
        if not _is_bare(node):
            defined |= _bound_by(node)
        if isinstance(node, gast.Break | gast.Continue) and self.exits:
            self.exits[-1][isinstance(node, gast.Continue)].append(set(defined))
        return None if isinstance(node, gast.Return | gast.Raise | gast.Break | gast.Continue) else defined

    def case(self, node: gast.AST, defined: set[str]) -> _Names:
        if node.guard is not None:
            node.guard = self.reads(node.guard, defined)
            defined = defined | bound_if(node.guard, True)
        return self.block(node.body, defined)

    def class_body(self, node: gast.AST) -> None:
        for part in definitions_in(node):
            if isinstance(part, gast.ClassDef):
                self.class_body(part)
            else:
                CheckDefined(self.context)(part)

    def loop(self, node: gast.AST, defined: set[str]) -> _Names:
        self.exits.append(([], []))
        defined = defined - _deleted_in(node)
        if isinstance(node, gast.While):
            node.test = self.reads(node.test, defined)
            end = self.block(node.body, defined | bound_if(node.test, True))
            breaks, _ = self.exits.pop()
            after = None if is_endless(node) else self.block(node.orelse, defined | bound_if(node.test, False))
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
            ends.append(self.handler(handler, defined))
        end = _meet(*ends)
        if end is None:
            self.block(node.finalbody, set(defined))
            return None
        return self.block(node.finalbody, end)

    def handler(self, node: gast.AST, defined: set[str]) -> _Names:
        """An ``except``, whose name is deleted where it is left."""
        name = _names_of([node])
        exits = self.exits[-1] if self.exits else ()
        before = [len(sets) for sets in exits]
        end = self.block(node.body, defined | name)
        for sets, count in zip(exits, before, strict=True):
            sets[count:] = [None if left is None else left - name for left in sets[count:]]
        return None if end is None else end - name

    def reads(self, node: gast.AST, defined: set[str]) -> gast.AST:
        """The expression or definition with its reads of possibly unbound variables checked."""
        unbound = self.local_names - defined
        if not unbound:
            return node
        risky = unbound & read_names([node])
        return _CheckReads(self.context, risky, risky & self.on_some_path).visit(node) if risky else node


class _CheckReads(Rewriter):
    """Checks reads.

    Attributes:
      risky: the names that may be unbound where the node runs.
      later: those that may be when a function made there runs.
      is_free: whether this is such a function: Python's error is another.
    """

    def __init__(self, context: Context, risky: Set[str], later: Set[str], is_free: bool = False) -> None:
        self.context = context
        self.risky = risky
        self.later = later
        self.is_free = is_free

    def visit(self, node: gast.AST) -> gast.AST:
        return super().visit(node) if self.risky else node

    def visit_NamedExpr(self, node: gast.AST) -> gast.AST:
        node.value = self.visit(node.value)
        self.risky = self.risky - {node.target.id}  # of what is evaluated after it
        return node

    def visit_BoolOp(self, node: gast.AST) -> gast.AST:
        node.values[0] = self.visit(node.values[0])
        risky = self.risky
        node.values[1:] = [self.visit(value) for value in node.values[1:]]
        self.risky = risky
        return node

    def visit_IfExp(self, node: gast.AST) -> gast.AST:
        node.test = self.visit(node.test)
        risky = self.risky
        node.body = self.visit(node.body)
        self.risky = risky
        node.orelse = self.visit(node.orelse)
        self.risky = risky
        return node

    def visit_Compare(self, node: gast.AST) -> gast.AST:
        node.left, node.comparators[0] = self.visit(node.left), self.visit(node.comparators[0])
        risky = self.risky
        node.comparators[1:] = [self.visit(part) for part in node.comparators[1:]]
        self.risky = risky
        return node

    def visit_Name(self, node: gast.AST) -> gast.AST:
        if node.id not in self.risky or not isinstance(node.ctx, gast.Load):
            return node
        return placed(_check(self.context, node.id, self.is_free), node)

    def visit_AugAssign(self, node: gast.AST) -> gast.AST | list[gast.AST]:
        """Of a function that was found inside another: the variable is the outer one's."""
        node.value = self.visit(node.value)
        return [*_checks(self.context, sorted(_used([node.target]) & self.risky), self.is_free, node), node]

    def visit_AnnAssign(self, node: gast.AST) -> gast.AST:
        node.value = node.value and self.visit(node.value)
        return node

    def visit_Lambda(self, node: gast.AST) -> gast.AST:
        node.args.defaults = [self.visit(part) for part in node.args.defaults]
        node.args.kw_defaults = [part and self.visit(part) for part in node.args.kw_defaults]
        names = self.later - scope_of(node).bound
        is_function = node not in self.context.comprehension_bodies or _COMPREHENSIONS_ARE_FUNCTIONS
        inner = _CheckReads(self.context, names, names, self.is_free or is_function)
        if isinstance(node, gast.Lambda):
            node.body = inner.visit(node.body)
        else:
            node.decorator_list = [self.visit(part) for part in node.decorator_list]
            inner._visit_block(node.body)
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda

    def visit_ClassDef(self, node: gast.AST) -> gast.AST:
        node.bases = [self.visit(part) for part in node.bases]
        node.decorator_list = [self.visit(part) for part in node.decorator_list]
        inner = _CheckReads(self.context, self.risky - bound_names(node.body), self.later, is_free=True)
        inner._visit_block(node.body)
        return node

    def _visit_block(self, statements: list[gast.AST]) -> None:
        statements[:] = [part for node in statements for part in _as_list(self.visit(node))]

    def visit_ListComp(self, node: gast.AST) -> gast.AST:
        first = node.generators[0]
        first.iter = self.visit(first.iter)
        names = self.risky - bound_names([generator.target for generator in node.generators])
        is_function = isinstance(node, gast.GeneratorExp) or _COMPREHENSIONS_ARE_FUNCTIONS
        inner = _CheckReads(self.context, names, self.later & names, self.is_free or is_function)
        for generator in node.generators:
            generator.ifs = [inner.visit(test) for test in generator.ifs]
            if generator is not first:
                generator.iter = inner.visit(generator.iter)
        for field in ("elt", "key", "value"):
            if hasattr(node, field):
                setattr(node, field, inner.visit(getattr(node, field)))
        return node

    visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_ListComp


def _check(context: Context, name: str, is_free: bool) -> gast.AST:
    return context.call("bound", thunk(load(name)), **({"is_free": constant(True)} if is_free else {}))


def _checks(context: Context, names: Sequence[str], is_free: bool, like: gast.AST) -> list[gast.AST]:
    return [placed(gast.Expr(_check(context, name, is_free)), like) for name in names]


def _as_list(nodes: gast.AST | list[gast.AST]) -> list[gast.AST]:
    return nodes if isinstance(nodes, list) else [nodes]


def _deleted_in(node: gast.AST) -> set[str]:
    """The names that a statement deletes somewhere: a later iteration may find them so."""
    parts = walk_scope([node])
    deleted = {part.id for part in parts if isinstance(part, gast.Name) and isinstance(part.ctx, gast.Del)}
    return deleted | _names_of(part for part in parts if isinstance(part, gast.ExceptHandler))


def _names_of(handlers: Iterable[gast.AST]) -> set[str]:
    """What handlers call the exception: names that are deleted at their ends."""
    names = {getattr(handler.name, "id", handler.name) for handler in handlers}
    return names - {None}


def _bound_by(node: gast.AST) -> set[str]:
    """What a simple statement binds on every path through its expressions."""
    bound = bound_names([node])
    if not bound:
        return bound
    perhaps = {part.target.id for part in walk_scope([node]) if isinstance(part, gast.NamedExpr)}
    return bound - (perhaps - surely_bound(node) if perhaps else perhaps)


def _is_bare(node: gast.AST) -> bool:
    """Whether this is an annotation, which makes a name local and binds no value."""
    return isinstance(node, gast.AnnAssign) and node.value is None


def _bound_on_some_path(parameters: Set[str], body: Sequence[gast.AST]) -> set[str]:
    """The names that compound statements of a function bind before it binds them on all paths, or delete."""
    found: set[str] = set()
    defined = set(parameters)
    for node in body:
        if isinstance(node, gast.Delete):
            defined -= bound_names([node])
        elif isinstance(node, _SIMPLE):
            sure = set() if _is_bare(node) else _bound_by(node)
            found |= bound_names([node]) - sure - defined
            defined |= sure
        else:
            defined -= _deleted_in(node)
            found |= bound_names([node]) - defined
    return found


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


def _used(targets: Sequence[gast.AST]) -> set[str]:
    """The names that an augmented assignment to these targets, or their deletion, reads, those that they bind themselves left out."""
    parts = walk_scope(targets)
    bound = {part.target.id for part in parts if isinstance(part, gast.NamedExpr)}
    return {part.id for part in parts if isinstance(part, gast.Name)} - bound
