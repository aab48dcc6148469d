"""`LowerCalls`: calls of what may need conversion in; the same calls of ``ag__.call(f)`` out."""

from __future__ import annotations

import builtins

import gast

from autograph._analysis.scopes import parameter_names
from autograph._passes.nodes import Context, Rewriter, after_declarations, assign, constant, load, names_tuple, placed

_WRITING_METHODS = frozenset(
    [
        "append",
        "extend",
        "insert",
        "remove",
        "pop",
        "clear",
        "sort",
        "reverse",
        "update",
        "popitem",
        "setdefault",
        "add",
        "discard",
        "appendleft",
        "popleft",
    ]
)
# What may leave a generator before its end.
_LEAVING = frozenset({"next", "any", "all", "zip", "islice", "takewhile"})
_AROUND_TRY = frozenset(["handlers", "finally_block", "tried"])


class LowerCalls(Rewriter):
    """Rewrites ``f(x, *args, k=v)`` to ``ag__.call(f)(x, *args, k=v)``: arguments and their order stay as written.

    Calls that need nothing at run time stay as they are: array libraries' functions of constants, and builtins that treat
    traced values as any other. ``with`` calls the methods of what ``ag__.manager`` returns. ``super()`` is
    spelled out in nested functions that passes made, where its implicit arguments are
    lost; what ``locals()``, ``vars()`` and ``dir()`` return is rid of the names that passes made.

    Attributes: first_parameters (the enclosing user functions' first parameters, innermost last), is_moved (whether
    this code has moved out of the user's function into one that passes made).

    >>> from autograph._passes.shown import rewritten
    >>> print(rewritten(LowerCalls, '''
    ... def f(g, x):
    ...     with g(x) as y:
    ...         return y.total(x, *y)
    ... '''))
    def f(g, x):
        with ag__.manager(ag__.call(g)(x)) as y:
            return ag__.call(y.total)(x, *y)

    What is unpacked into arguments (`LowerUnpacking`) may be a list of traced length, and so may ``*args`` be:

    >>> print(rewritten(LowerCalls, '''
    ... def f(g, *args):
    ...     return g(*ag__.arguments(args))
    ... '''))
    def f(g, *args):
        args = ag__.gathered(args)
        return ag__.call_unpacking(g)(*ag__.arguments(args))
    """

    applies_to: frozenset[type] | None = None
    introduces: frozenset[type] = frozenset()

    def __init__(self, context: Context) -> None:
        self.context = context
        self.first_parameters: list[str | None] = []
        self.is_moved = False

    def __call__(self, node: gast.AST) -> gast.AST:
        return self.visit(node)

    def visit_FunctionDef(self, node: gast.AST) -> gast.AST:
        every = [*node.args.posonlyargs, *node.args.args]
        generated = node.name in self.context.generated
        outer, self.is_moved = self.is_moved, generated
        if not generated:
            self.first_parameters.append(every[0].id if every else None)
        node.decorator_list = list(map(self._decorator, node.decorator_list))
        node.body = [self.visit(statement) for statement in node.body]
        node.args.defaults = [self.visit(default) for default in node.args.defaults]
        node.args.kw_defaults = [d if d is None else self.visit(d) for d in node.args.kw_defaults]
        if not generated:
            self.first_parameters.pop()
            self._gather(node)
        self.is_moved = outer
        return node

    def _gather(self, node: gast.AST) -> None:
        """Have an operator make the value of the parameter ``*args``: a list of traced length may be unpacked into it."""
        if node.args.vararg is not None:
            name = node.args.vararg.id
            gather = assign(name, self.context.call("gathered", load(name)))
            place = after_declarations(node)
            node.body.insert(place, placed(gather, node.body[min(place, len(node.body) - 1)]))

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_ClassDef(self, node: gast.AST) -> gast.AST:
        decorators, node.decorator_list = node.decorator_list, []
        self.generic_visit(node)
        node.decorator_list = list(map(self._decorator, decorators))
        return node

    def _decorator(self, node: gast.AST) -> gast.AST:
        """A decorator, which is called as any function is, though no call is written."""
        plain = self.context.is_plain_call(node)
        visited = self.visit(node)
        if plain:
            return visited
        self.context.has_calls = True
        return placed(self.context.call("decorator", visited), node)

    def visit_Lambda(self, node: gast.AST) -> gast.AST:
        outer, self.is_moved = self.is_moved, self.is_moved or not parameter_names(node.args)
        self.generic_visit(node)
        self.is_moved = outer
        return node

    def visit_AnnAssign(self, node: gast.AST) -> gast.AST:
        if node.value is not None:
            node.value = self.visit(node.value)
        return node

    def visit_With(self, node: gast.AST) -> gast.AST:
        self.generic_visit(node)
        for item in node.items:
            if not self._surrounds_try(item.context_expr):
                item.context_expr = placed(self.context.call("manager", item.context_expr), item.context_expr)
        return node

    def visit_Call(self, node: gast.AST) -> gast.AST:
        if self.context.is_operator_call(node):
            self.generic_visit(node)
            if node.func.attr == "contains":
                node.args = self._temporary(node.args)
            return node
        if _is_named(node.func, "super") and not node.args and not node.keywords:
            if self.is_moved and self.first_parameters and self.first_parameters[-1] is not None:
                node.args = [placed(load("__class__"), node), placed(load(self.first_parameters[-1]), node)]
            return node
        if _is_named(node.func, "type") and len(node.args) == 3:  # a class is of the module that `type` is called in
            return self.generic_visit(node)
        if isinstance(node.func, gast.Name) and node.func.id in ("locals", "vars", "dir") and not node.args:
            made = names_tuple([self.context.operators, *self.context.names.made])
            return placed(self.context.call("without_names", node, made), node)
        # Of `pow`, only the form with a modulus means anything else where values are traced.
        plain = self.context.is_plain_call(node.func) and not (_is_named(node.func, "pow") and len(node.args) > 2)
        plain = plain and not (_is_named(node.func, "abs") and "__abs__" in self.context.special_methods)
        unpacks = any(isinstance(each, gast.Starred) and self._is_arguments(each.value) for each in node.args)
        plain = plain and not (unpacks or _may_take_traced_length(node))
        self.generic_visit(node)
        if getattr(node.func, "id", _name_of(node.func)) in _LEAVING:
            node.args = self._temporary(node.args)
        if not plain:
            self.context.has_calls = True
            is_outside = self._writes_outside(node.func)
            if unpacks:
                called = self.context.call("call_unpacking", node.func, *[constant(True)] * is_outside)
            else:
                called = self.context.call("call_outside" if is_outside else "call", node.func)
            node.func = placed(called, node.func)
        return node

    def _temporary(self, args: list[gast.AST]) -> list[gast.AST]:
        """Arguments of what may leave a generator before its end, which has no other use where it is made for the call."""
        return [placed(self.context.call("temporary", each), each) if _is_call_of(each) else each for each in args]

    def _is_arguments(self, node: gast.AST) -> bool:
        """Whether an operator says what of these are unpacked as arguments."""
        return self.context.is_operator_call(node) and node.func.attr == "arguments"

    def _surrounds_try(self, node: gast.AST) -> bool:
        """Whether this context manager is one that a pass has put around a ``try`` statement."""
        return self.context.is_operator_call(node) and node.func.attr in _AROUND_TRY

    def _writes_outside(self, called: gast.AST) -> bool:
        """Whether this is a method, such as ``append``, of a variable that is not the function's own."""
        return (
            isinstance(called, gast.Attribute)
            and isinstance(called.value, gast.Name)
            and called.attr in _WRITING_METHODS
            and not self.context.is_own_name(called.value.id)
            and called.value.id not in self.context.generated
        )


def _may_take_traced_length(node: gast.AST) -> bool:
    """Whether this call, of an array library's function, may be given an array or a size that is traced."""
    if isinstance(node.func, gast.Name) and hasattr(builtins, node.func.id):
        return False
    given = [*node.args, *(keyword.value for keyword in node.keywords)]
    return not all(map(_is_constant, given))


def _is_constant(node: gast.AST) -> bool:
    """Whether this is a number, a text, or a display of such."""
    if isinstance(node, gast.Tuple | gast.List):
        return all(map(_is_constant, node.elts))
    return isinstance(node.operand if isinstance(node, gast.UnaryOp) else node, gast.Constant)


def _name_of(called: gast.AST) -> str | None:
    return called.attr if isinstance(called, gast.Attribute) else None


def _is_named(node: gast.AST, name: str) -> bool:
    return isinstance(node, gast.Name) and node.id == name


def _is_call_of(node: gast.AST) -> bool:
    """Whether this is a call by ``ag__.call``, of what may be a generator function."""
    called = node.func if isinstance(node, gast.Call) else None
    return isinstance(called, gast.Call) and getattr(called.func, "attr", None) in ("call", "call_unpacking")
