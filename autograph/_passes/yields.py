"""`LowerYields`: generator functions in; functions that may also hand their values to a callback out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import gast

from autograph._analysis.children import walk
from autograph._analysis.scopes import contains, parameter_names, read_names, scope_of, walk_scope
from autograph._passes.nodes import Context, Rewriter, assign, constant, copied, function, load, placed, rewrite_blocks

_YIELDS = (gast.Yield, gast.YieldFrom)
_BRANCHING = (gast.If, gast.For, gast.While, gast.Match)
_WITH = (gast.With, gast.AsyncWith)


class LowerYields(Rewriter):
    """Adds two forms to a generator function, in which each ``yield`` calls what takes the place of it: the body of a loop.

    The statements around a ``yield`` are then as any others, so that they can be staged. ``each`` is for loops that run to
    their end. ``each_until`` is for those that may be left, which it asks after each ``yield``, and returns. The function
    as it was written, inside of itself, is what runs in all other places.

    Left alone are functions with several ``yield`` statements, all outside of branches and loops, and those that Python alone
    can run: they use what ``send`` sends, or `types.coroutine` marks them. Those that would see an exception of the loop's
    body have the forms for `contextlib.contextmanager`.

    >>> from autograph._passes.shown import rewritten
    >>> print(rewritten(LowerYields, '''
    ... def f(x):
    ...     while x > 1:
    ...         x = x / 2
    ...         yield x
    ... '''))
    def f(x):
    <BLANKLINE>
        def f(x):
            while x > 1:
                x = x / 2
                yield x
    <BLANKLINE>
        def each(body, x):
            while x > 1:
                x = x / 2
                ag__.yielded(body, x)
    <BLANKLINE>
        def each_until(body, x):
            while x > 1:
                x = x / 2
                ag__.yielded(body, x)
                if ag__.is_left(body):
                    return
        return ag__.generator_of(f, each, each_until, (x,))
    """

    applies_to: frozenset[type] | None = frozenset(_YIELDS)
    introduces: frozenset[type] = frozenset({gast.If, gast.Return, gast.Call, gast.Attribute})

    def __init__(self, context: Context) -> None:
        self.context = context

    def __call__(self, node: gast.AST) -> gast.AST:
        return (
            self.generic_visit(node) if isinstance(node, gast.Lambda) or self.context.is_coroutine else self.visit(node)
        )

    def visit_FunctionDef(self, node: gast.AST) -> gast.AST:
        self.generic_visit(node)
        if can_call_back(node):
            lower_yields(self.context, node)
        return node


def can_call_back(node: gast.AST) -> bool:
    """Whether there is reason to add the two forms to a function, and it can have them."""
    yields = [part for part in walk_scope(node.body) if isinstance(part, _YIELDS)]
    is_branching = any(isinstance(part, _BRANCHING) and contains([part], _YIELDS) for part in walk_scope(node.body))
    if not yields or not (is_branching or len(yields) == 1 or any(isinstance(part, gast.YieldFrom) for part in yields)):
        return False
    scope = scope_of(node)
    placed_well = {id(part) for each in walk_scope(node.body) if (part := _yield_of(each)) is not None}
    if any(id(part) not in placed_well for part in yields) or scope.dynamic:
        return False
    if any(getattr(each, "attr", getattr(each, "id", None)) == "coroutine" for each in node.decorator_list):
        return False
    augmented = (part.target for part in walk_scope(node.body) if isinstance(part, gast.AugAssign) and _yield_of(part))
    if any(target.id not in scope.bound or target.id in scope.captured for target in augmented):
        return False  # read before the `yield`, which may rebind it
    return len(yields) == 1 or not any(_sees_exceptions(part) for part in walk_scope(node.body))


def _sees_exceptions(node: gast.AST) -> bool:
    """Whether this statement holds a ``yield`` where it would be told of an exception of the loop's body."""
    if isinstance(node, _WITH):
        return contains([node], _YIELDS)
    if not hasattr(node, "handlers"):
        return False
    return contains(node.finalbody, _YIELDS) or (bool(node.handlers) and contains(node.body, _YIELDS))


def _yield_of(node: gast.AST) -> gast.AST | None:
    """The ``yield`` whose value is all that this statement takes."""
    if isinstance(node, gast.Expr) and isinstance(node.value, gast.Yield):
        return node.value
    takes = isinstance(node, gast.Expr | gast.Return | gast.Assign)
    takes = takes or (isinstance(node, gast.AugAssign) and isinstance(node.target, gast.Name))
    return node.value if takes and isinstance(node.value, gast.YieldFrom) else None


def _passes_on(node: gast.AST) -> bool:
    """Whether this is ``for v in items: yield v``."""
    if not (isinstance(node, gast.For) and isinstance(node.target, gast.Name) and len(node.body) == 1) or node.orelse:
        return False
    found = _yield_of(node.body[0])
    return isinstance(found, gast.Yield) and isinstance(found.value, gast.Name) and found.value.id == node.target.id


def _passing_on(statements: Sequence[gast.AST]) -> set[str]:
    """The names that have no other use than in loops that yield each item."""
    parts: list[Any] = [part for node in statements for part in walk(node)]
    loops = Counter(part.target.id for part in parts if _passes_on(part))
    names = Counter(part.id for part in parts if isinstance(part, gast.Name))
    return {name for name, count in loops.items() if names[name] == 2 * count}


def lower_yields(context: Context, node: gast.AST, name: str | None = None) -> None:
    """Replace the body of a generator function by one that makes the generator, of this ``name``, from three forms of it."""
    parameters = parameter_names(node.args)
    docstring = node.body[:1] if gast.get_docstring(node) is not None else []
    statements = node.body[len(docstring) :]
    names = {form: context.names.new(form) for form in ("each", "each_until", "body")}
    # Under its own name, which tracebacks show, unless it reads that, and means what is outside.
    own = node.name if node.name not in read_names(statements) else context.names.new("generator")
    context.generated.update((names["each"], names["each_until"]))
    body = names["body"]
    returns = any(isinstance(part, gast.Return) and part.value is not None for part in walk_scope(statements))
    passing = _passing_on(statements)
    until = _CallingBack(context, body, True, returns, passing).block(copied(statements))
    until += [_in_tuple(constant(None))] if returns else []
    forms = [
        function(own, parameters, statements),
        function(
            names["each"],
            (body, *parameters),
            _CallingBack(context, body, False, False, passing).block(copied(statements)),
        ),
        function(names["each_until"], (body, *parameters), until),
    ]
    keywords = {} if name is None else {"name": constant(name)}
    if any(map(_sees_exceptions, walk_scope(forms[0].body))):
        keywords["sees_exceptions"] = constant(True)
    made = context.call(
        "generator_of",
        *(load(form.name) for form in forms),
        gast.Tuple([load(parameter) for parameter in parameters], gast.Load()),
        **keywords,
    )
    node.body = [placed(part, node) for part in (*docstring, *forms, gast.Return(made))]


class _CallingBack:
    """Rewrites statements so that they call ``body`` in place of each ``yield``, and return after it if the loop ``is_left``.

    What the generator returns is then in a tuple, as against the None of a loop that is left. A loop over ``passing`` names, which
    does nothing but to yield each item, is a ``yield from``.
    """

    def __init__(
        self, context: Context, body: str, may_be_left: bool, tells_returns: bool, passing: Collection[str]
    ) -> None:
        self.context = context
        self.body = body
        self.may_be_left = may_be_left
        self.tells_returns = tells_returns
        self.passing = passing

    def block(self, statements: Iterable[gast.AST]) -> list[gast.AST]:
        return [part for node in statements for part in self.statement(node)]

    def statement(self, node: gast.AST) -> Sequence[gast.AST]:
        if isinstance(node, gast.FunctionDef | gast.AsyncFunctionDef | gast.ClassDef):
            return [node]
        if _passes_on(node) and node.target.id in self.passing:
            node = placed(gast.Expr(gast.YieldFrom(node.iter)), node)
        if (found := _yield_of(node)) is not None:
            return [placed(part, node) for part in self._called(node, found)]
        if isinstance(node, gast.Return) and self.tells_returns:
            return [placed(_in_tuple(constant(None) if node.value is None else node.value), node)]
        rewrite_blocks(node, self.block)
        return [node]

    def _called(self, node: gast.AST, found: gast.AST) -> list[gast.AST]:
        value = found.value if found.value is not None else constant(None)
        if isinstance(found, gast.Yield):
            return [gast.Expr(self.context.call("yielded", load(self.body), value)), *self._check()]
        call = self.context.call("yielded_from", load(self.body), value)
        if isinstance(node, gast.Expr):
            return [gast.Expr(call), *self._check()]
        if isinstance(node, gast.Return) and not self.tells_returns:
            return [gast.Return(call)]
        returned = self.context.names.new("returned")
        if isinstance(node, gast.Return):
            return [assign(returned, call), *self._check(), _in_tuple(load(returned))]
        node.value = placed(load(returned), node)
        return [assign(returned, call), *self._check(), node]

    def _check(self) -> list[gast.AST]:
        if not self.may_be_left:
            return []
        return [gast.If(self.context.call("is_left", load(self.body)), [gast.Return(None)], [])]


def _in_tuple(value: gast.AST) -> gast.AST:
    """``return (value,)``."""
    return gast.Return(gast.Tuple([value], gast.Load()))
