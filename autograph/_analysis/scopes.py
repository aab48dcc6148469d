"""Which names a function, statement or expression binds and reads, by Python's scoping rules.

Everything here looks at one scope: inside a nested function, lambda, class or comprehension only the names that
reach out of it count.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import gast

from autograph._analysis.children import children, walk

FUNCTIONS = (gast.FunctionDef, gast.AsyncFunctionDef, gast.Lambda)
COMPREHENSIONS = (gast.ListComp, gast.SetComp, gast.DictComp, gast.GeneratorExp)
LOOPS = (gast.For, gast.AsyncFor, gast.While)
_SCOPES = frozenset({*FUNCTIONS, gast.ClassDef, *COMPREHENSIONS})
_NAMED = frozenset({gast.FunctionDef, gast.AsyncFunctionDef, gast.ClassDef})
_DECLARING = frozenset({gast.Global, gast.Nonlocal})
_BINDING = (gast.Import, gast.ImportFrom, gast.ExceptHandler, gast.pattern)
_CAPTURES = frozenset({gast.MatchAs, gast.MatchStar, gast.MatchMapping})
_BINDS = frozenset({gast.Store, gast.Del})
_CAPTURING = frozenset({*FUNCTIONS, gast.ClassDef, gast.GeneratorExp})
_FRAME_READERS = frozenset({"locals", "vars", "eval", "exec", "dir"})
_SUSPENDS = frozenset({gast.Yield, gast.YieldFrom, gast.Await, gast.AsyncFor, gast.AsyncWith})


@dataclass(frozen=True)
class Scope:
    """The names of one function.

    Attributes:
      parameters: what the caller binds.
      bound: the function's own local variables, parameters included.
      global_names, nonlocal_names: declared so.
      captures: for each nested function, lambda, class or generator expression, the names it takes from outside.
      dynamic: the function looks at its own frame (``locals()``, ``eval`` …), so every name may be read anywhere.
    """

    parameters: frozenset[str]
    bound: frozenset[str]
    global_names: frozenset[str]
    nonlocal_names: frozenset[str]
    captures: tuple[tuple[gast.AST, frozenset[str]], ...]
    dynamic: bool

    @property
    def captured(self) -> frozenset[str]:
        """Names of this function that outlive a statement because a nested function holds them."""
        return frozenset().union(*(names for _, names in self.captures))


def scope_of(function: gast.AST) -> Scope:
    """Return the scope of a ``FunctionDef``, ``AsyncFunctionDef`` or ``Lambda``."""
    parameters = frozenset(parameter_names(function.args))
    parts = walk_scope(_body(function))
    global_names, nonlocal_names = declared_names(parts, gast.Global), declared_names(parts, gast.Nonlocal)
    bound = (_bound_by(parts) | parameters) - global_names - nonlocal_names
    captures = tuple((part, frozenset(free_names(part))) for part in parts if type(part) in _CAPTURING)
    calls = (part for part in parts if type(part) is gast.Call)
    dynamic = any(type(call.func) is gast.Name and call.func.id in _FRAME_READERS for call in calls)
    return Scope(parameters, frozenset(bound), global_names, nonlocal_names, captures, dynamic)


def parameter_names(arguments: gast.arguments) -> list[str]:
    """The names that a call binds, in order of declaration."""
    every = [
        *arguments.posonlyargs,
        *arguments.args,
        arguments.vararg,
        *arguments.kwonlyargs,
        arguments.kwarg,
    ]
    return [argument.id for argument in every if argument is not None]


def walk_scope(nodes: Iterable[gast.AST]) -> list[gast.AST]:
    """The nodes that run in this scope, nested scopes' own nodes themselves but not their bodies.

    What a nested function evaluates here (defaults, decorators, annotations) and a comprehension's first iterable
    belong to this scope. A comprehension's other parts are left out.
    """
    found: list[gast.AST] = []
    add = found.append
    pending = [*nodes]
    pending.reverse()
    while pending:
        node = pending.pop()
        add(node)
        kind = node.__class__
        if kind in _SCOPES:
            pending += _evaluated_outside(node)[::-1]
        elif kind is gast.AnnAssign and not node.simple and node.value is None:  # `(x): int` makes no local variable
            continue
        elif kind is not gast.Name:  # half of all nodes; only a parameter is annotated
            inner = children(node)
            inner.reverse()
            pending += inner
    return found


def _evaluated_outside(node: gast.AST) -> list[gast.AST]:
    """What of a nested scope is evaluated in the scope around it."""
    kind = type(node)
    if kind in FUNCTIONS:
        defaults = [default for default in (*node.args.defaults, *node.args.kw_defaults) if default is not None]
        return [*defaults, *getattr(node, "decorator_list", ())]
    if kind is gast.ClassDef:
        return [*node.bases, *(keyword.value for keyword in node.keywords), *node.decorator_list]
    return [node.generators[0].iter]


def definitions_in(node: gast.ClassDef) -> Iterator[gast.AST]:
    """Yield the functions and classes that a class's body defines, those in its ``if``, ``for``, ``with`` included."""
    for part in walk_scope(node.body):
        if isinstance(part, gast.FunctionDef | gast.AsyncFunctionDef | gast.ClassDef):
            yield part


def bound_names(nodes: Iterable[gast.AST]) -> set[str]:
    """Names that these statements bind (or delete) in their own scope."""
    return _bound_by(walk_scope(nodes))


def _bound_by(parts: Iterable[gast.AST]) -> set[str]:
    """Names that these nodes of one scope bind."""
    names: set[str] = set()
    for node in parts:
        kind = type(node)
        if kind is gast.Name:
            if type(node.ctx) in _BINDS:
                names.add(node.id)
        elif kind in _NAMED:
            names.add(node.name)
        elif kind is gast.alias:
            names.add((node.asname or node.name).partition(".")[0])
        elif kind is gast.ExceptHandler:
            if node.name is not None:
                names.add(node.name if isinstance(node.name, str) else node.name.id)
        elif kind in COMPREHENSIONS:
            names |= _walrus_names(node)
        elif kind in _CAPTURES:
            captured = node.rest if kind is gast.MatchMapping else node.name
            if captured:
                names.add(captured)
    return names


def read_names(nodes: Iterable[gast.AST]) -> set[str]:
    """Names of the surrounding scope that evaluating these nodes may read, nested scopes included."""
    return _read_by(walk_scope(nodes))


def _read_by(parts: Iterable[gast.AST]) -> set[str]:
    """Names that these nodes of one scope, and the scopes in them, may read."""
    names: set[str] = set()
    for node in parts:
        kind = type(node)
        if kind is gast.Name:
            if type(node.ctx) is gast.Load:
                names.add(node.id)
        elif kind is gast.AugAssign:
            if type(node.target) is gast.Name:
                names.add(node.target.id)
        elif kind in _SCOPES:
            names |= free_names(node)
    return names


def bound_and_read(nodes: Iterable[gast.AST]) -> tuple[set[str], set[str]]:
    """`bound_names` and `read_names` of the same nodes."""
    parts = walk_scope(nodes)
    return _bound_by(parts), _read_by(parts)


def free_names(node: gast.AST) -> set[str]:
    """Names that a nested scope takes from around it, for reading or (``nonlocal``) writing."""
    if isinstance(node, FUNCTIONS):
        scope = walk_scope(_body(node))
        outer = declared_names(scope, gast.Nonlocal)
        own = (_bound_by(scope) | set(parameter_names(node.args))) - outer
        return (_read_by(scope) - own - declared_names(scope, gast.Global)) | outer
    if isinstance(node, gast.ClassDef):
        return read_names(node.body)
    assert isinstance(node, COMPREHENSIONS)
    targets: set[str] = set()
    parts: list[gast.AST] = []
    for generator in node.generators:
        targets |= bound_names([generator.target])
        parts += [generator.iter, *generator.ifs]
    parts += [node.key, node.value] if isinstance(node, gast.DictComp) else [node.elt]
    return read_names(parts) - targets | _walrus_names(node)


def names_in(parts: Iterable[gast.AST]) -> frozenset[str]:
    """Every identifier that these nodes bind, read or declare."""
    names: set[str] = set()
    for part in parts:
        kind = type(part)
        if kind is gast.Name:
            names.add(part.id)
        elif kind in _NAMED:
            names.add(part.name)
        elif kind in _DECLARING:
            names.update(part.names)
        elif kind is gast.alias:
            names.add((part.asname or part.name).partition(".")[0])
    return frozenset(names)


def bound_anywhere(parts: Iterable[gast.AST]) -> frozenset[str]:
    """Names that are variables of the definition which these nodes are, or of a scope inside it, so that a global of
    that name is not meant.
    """
    names: set[str] = set()
    for part in parts:
        kind = type(part)
        if kind is gast.Name:
            if type(part.ctx) is not gast.Load:
                names.add(part.id)
        elif kind in _SCOPES:
            if kind not in COMPREHENSIONS:
                names |= bound_names([part]) | set(parameter_names(part.args) if hasattr(part, "args") else ())
        elif isinstance(part, _BINDING):
            names |= bound_names([part])
    return frozenset(names)


def bound_inside(function: gast.AST) -> set[str]:
    """Variables of a function that functions in it may bind, by ``nonlocal`` or by a write to an item: an array becomes another."""
    names: set[str] = set()
    for inner in walk(function):
        if isinstance(inner, gast.Nonlocal):
            names.update(inner.names)
        elif isinstance(inner, gast.FunctionDef | gast.AsyncFunctionDef) and inner is not function:
            for part in walk(inner):
                if isinstance(part, gast.Subscript) and not isinstance(part.ctx, gast.Load):
                    names.update(each.id for each in walk(part.value) if isinstance(each, gast.Name))
    return names


def surely_bound(node: gast.AST) -> set[str]:
    """Names that ``:=`` binds whenever the node is evaluated, whatever comes out."""
    return bound_if(node, None)


def bound_if(test: gast.AST, truth: bool | None) -> set[str]:
    """Names that ``:=`` has bound once a test has turned out true, or false; None: either.

    >>> text = "(a := f()) and (b := g())"
    >>> test = gast.parse(text, mode="eval").body
    >>> sorted(bound_if(test, True)), sorted(bound_if(test, False))
    (['a', 'b'], ['a'])
    """
    if isinstance(test, (*FUNCTIONS, *COMPREHENSIONS, gast.ClassDef)):
        return set()
    if isinstance(test, gast.NamedExpr):
        return {test.target.id} | bound_if(test.value, truth)
    if isinstance(test, gast.UnaryOp) and isinstance(test.op, gast.Not):
        return bound_if(test.operand, None if truth is None else not truth)
    if isinstance(test, gast.BoolOp):
        if truth is isinstance(test.op, gast.And):  # then all operands have been evaluated, and came out so
            return set().union(*(bound_if(value, truth) for value in test.values))
        return surely_bound(test.values[0])
    if isinstance(test, gast.Compare):
        parts = [test.left, *(test.comparators if truth else test.comparators[:1])]
        return set().union(*map(surely_bound, parts))
    if isinstance(test, gast.IfExp):
        return surely_bound(test.test)
    return set().union(*map(surely_bound, gast.iter_child_nodes(test)))


def contains(nodes: Iterable[gast.AST], kinds: type | tuple[type, ...]) -> bool:
    """Whether a node of one of these kinds runs in this scope among ``nodes``."""
    return any(isinstance(node, kinds) for node in walk_scope(nodes))


def suspends(nodes: Iterable[gast.AST]) -> bool:
    """Whether these statements ``yield`` or ``await`` in this scope, so that they cannot move into another function."""
    return suspends_in(walk_scope(nodes))


def suspends_in(parts: Iterable[gast.AST]) -> bool:
    """Whether one of these nodes of one scope does."""
    for node in parts:
        kind = type(node)
        if kind in _SUSPENDS:
            return True
        if (
            kind in _SCOPES
            and kind in COMPREHENSIONS
            and any(
                generator.is_async or any(isinstance(n, gast.Await) for n in gast.walk(node))
                for generator in node.generators
            )
        ):
            return True
    return False


def declared_names(parts: Iterable[gast.AST], kind: Any) -> frozenset[str]:
    """Names that these nodes declare ``global`` or ``nonlocal``."""
    return frozenset(name for part in parts if isinstance(part, kind) for name in part.names)


def _walrus_names(comprehension: gast.AST) -> set[str]:
    return {node.target.id for node in gast.walk(comprehension) if isinstance(node, gast.NamedExpr)}


def _body(function: gast.AST) -> list[gast.AST]:
    return [function.body] if isinstance(function, gast.Lambda) else list(function.body)
