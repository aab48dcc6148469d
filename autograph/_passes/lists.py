"""`LowerLists`: displays and comprehensions in; operator calls that make lists, sets and dicts out."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

import gast

from autograph._analysis.children import walk
from autograph._passes.nodes import OF_NAMES_AND_CONSTANTS, Context, Rewriter, dict_display, placed

_Binding = tuple[str | None, gast.AST]  # a name, None for what is bound to others, and the expression for its value
_PURE = (*OF_NAMES_AND_CONSTANTS, gast.List, gast.Dict)
GROWING_METHODS = frozenset({"append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse"})
# Of `heapq` and `bisect`, which write to their first argument.
_GROWING_FUNCTIONS = frozenset(
    {"heappush", "heappop", "heapify", "heappushpop", "heapreplace", "insort", "insort_left", "insort_right"}
)


class LowerLists(Rewriter):
    """Rewrites what makes a list: inside a trace, the operators return lists that may come to have a traced length.

        [v, w]                         →   ag__.new_list([v, w])
        [v for v in a for w in v]      →   ag__.new_list([v for v in a for w in v])
        [v, *xs]                       →   ag__.extended([v], xs)
        {v, w}                         →   ag__.set_of_list((v, w))
        {v, *xs}                       →   ag__.set_of_list(ag__.extended([v], xs, in_any_order=True))
        {v: w}                         →   ag__.dict_of((v, w))
        [0] * n                        →   ag__.repeated([0], n)
        x, *rest = xs                  →   x, rest = ag__.unpacked(xs, 1, 0)
        d.setdefault(k, [v])           →   ag__.setdefault(d, k, lambda: ag__.new_list([v]))

    A slice or a sum may be that of arrays. It is rewritten where the name or attribute that it is bound to is one of a list, as far
    as the function tells: a method that changes lists is called of it, or lists of other lengths are bound to it. So is a slice
    that is an argument of a function of the user's, or an item.

    Attributes: lists (these names and attributes).

    >>> from autograph._passes.shown import rewritten
    >>> print(rewritten(LowerLists, '''
    ... def f(x, xs):
    ...     found = []
    ...     rest, later = xs[1:], x[1:]
    ...     rest.append(x)
    ... '''))
    def f(x, xs):
        found = ag__.new_list([])
        rest, later = (ag__.new_list(xs[1:]), x[1:])
        rest.append(x)
    """

    applies_to: frozenset[type] | None = frozenset(
        {gast.List, gast.ListComp, gast.Call, gast.Set, gast.Dict, gast.Slice, gast.Starred}
    )
    introduces: frozenset[type] = frozenset()

    def __init__(self, context: Context) -> None:
        self.context = context
        self.lists: frozenset[str] = frozenset()

    def __call__(self, node: gast.AST) -> gast.AST:
        parts = walk(node)
        bindings = [pair for part in parts for target, value in _assigned(part) for pair in _bound(target, value)]
        changed = {name for each in parts for part in _changed(each) if (name := _root(part)) is not None}
        self.lists = frozenset(_with_sources(changed | _rebound(bindings), bindings))
        return self.visit(node)

    def visit_FunctionDef(self, node: gast.AST) -> gast.AST:
        """Annotations make no lists."""
        node.body = [self.visit(part) for part in node.body]
        node.decorator_list = [self.visit(part) for part in node.decorator_list]
        node.args.defaults = [self.visit(part) for part in node.args.defaults]
        node.args.kw_defaults = [part and self.visit(part) for part in node.args.kw_defaults]
        return node

    def visit_ClassDef(self, node: gast.AST) -> gast.AST:
        """What a class body binds is the class's for good: only its methods are rewritten."""
        node.body = [self.visit(part) if isinstance(part, gast.FunctionDef) else part for part in node.body]
        return node

    def visit_Assign(self, node: gast.AST) -> gast.AST:
        self.generic_visit(node)
        for target in node.targets:
            node.value = self._value_for(target, node.value)
        return node

    def visit_AnnAssign(self, node: gast.AST) -> gast.AST:
        if node.value is not None:
            node.value = self._value_for(node.target, self.visit(node.value))
        return node

    def _value_for(self, target: gast.AST, value: gast.AST) -> gast.AST:
        """What is bound to a target, or to the targets in it, in place of ``value``."""
        if isinstance(target, gast.Tuple | gast.List) and isinstance(value, gast.Tuple):
            if len(target.elts) == len(value.elts) and not any(isinstance(e, gast.Starred) for e in target.elts):
                value.elts = [self._value_for(*pair) for pair in zip(target.elts, value.elts, strict=True)]
            return value
        if isinstance(value, gast.IfExp):
            value.body, value.orelse = (self._value_for(target, each) for each in (value.body, value.orelse))
            return value
        return self._new(value) if _name(target) in self.lists and _may_make_list(value) else value

    def visit_List(self, node: gast.AST) -> gast.AST:
        self.generic_visit(node)
        if not isinstance(node.ctx, gast.Load):
            return node
        node.elts = list(map(self._kept, node.elts))
        return self._extended(node) if _has_star(node) else self._new(node)

    def visit_ListComp(self, node: gast.AST) -> gast.AST:
        return self._new(self.generic_visit(node))

    def visit_Tuple(self, node: gast.AST) -> gast.AST:
        self.generic_visit(node)
        if not isinstance(node.ctx, gast.Load) or not _has_star(node):
            return node
        return placed(self.context.call("tuple_of_list", self._extended(node)), node)

    def visit_Set(self, node: gast.AST) -> gast.AST:
        self.generic_visit(node)
        items = self._extended(node, in_any_order=True) if _has_star(node) else gast.Tuple(node.elts, gast.Load())
        return placed(self.context.call("set_of_list", items), node)

    def visit_Dict(self, node: gast.AST) -> gast.AST:
        self.generic_visit(node)
        return dict_display(self.context, node)

    def visit_Compare(self, node: gast.AST) -> gast.AST:
        """A set of constants that is only searched stays as it is, a constant of Python's."""
        pairs = zip(node.ops, node.comparators, strict=True)
        stays = [isinstance(op, gast.In | gast.NotIn) and _is_constant_set(other) for op, other in pairs]
        node.left = self.visit(node.left)
        node.comparators = [
            other if is_kept else self.visit(other) for other, is_kept in zip(node.comparators, stays, strict=True)
        ]
        return node

    def _extended(self, node: gast.AST, **options: bool) -> gast.AST:
        """A display with stars, from left to right as Python makes it."""
        made: gast.AST | None = None
        for is_star, run in itertools.groupby(node.elts, lambda item: isinstance(item, gast.Starred)):
            items = list(run)
            for part in [item.value for item in items] if is_star else [gast.List(items, gast.Load())]:
                if made is None and not is_star:
                    made = part
                else:
                    first = gast.List([], gast.Load()) if made is None else made
                    named = {name: gast.Constant(value, None) for name, value in options.items()}
                    made = self.context.call("extended", first, part, **named)
        return placed(made, node)

    def visit_BinOp(self, node: gast.AST) -> gast.AST:
        sides = node.left, node.right
        is_repeated = isinstance(node.op, gast.Mult) and not any(isinstance(side, gast.Constant) for side in sides)
        is_repeated = is_repeated and any(isinstance(side, gast.List) and side.elts for side in sides)
        node.left, node.right = (self._display(side) if is_repeated else self.visit(side) for side in sides)
        return placed(self.context.call("repeated", node.left, node.right), node) if is_repeated else node

    def visit_Call(self, node: gast.AST) -> gast.AST:
        if self.context.is_plain_call(node.func):  # which keeps no list
            node.args = list(map(self._display, node.args))
            for keyword in node.keywords:
                keyword.value = self._display(keyword.value)
            return node
        is_default = _is_default(node)
        self.generic_visit(node)
        if not self.context.is_operator_call(node):
            node.args = list(map(self._kept, node.args))
            for keyword in node.keywords:
                keyword.value = self._kept(keyword.value)
        elif _is_comprehension(node):
            node.args[0].body = self._kept(node.args[0].body)
        return self._by_default(node) if is_default else node

    def _kept(self, node: gast.AST) -> gast.AST:
        """An item of a list or an argument, which a list of its own may have to be."""
        return self._new(node) if _is_slice(node) else node

    def _display(self, node: gast.AST) -> gast.AST:
        """A display as it is, with what makes lists in it rewritten."""
        if not isinstance(node, gast.List) or _has_star(node):
            return self.visit(node)
        node.elts = list(map(self._display, node.elts))
        return node

    def _by_default(self, node: gast.AST) -> gast.AST:
        """``d.setdefault(key, made)``, with what makes the value."""
        key, made = node.args
        make = gast.Lambda(gast.arguments([], [], None, [], [], None, []), made)
        return placed(self.context.call("setdefault", node.func.value, key, make), node)

    def _new(self, node: gast.AST) -> gast.AST:
        return placed(self.context.call("new_list", node), node)


def _is_default(node: gast.AST) -> bool:
    """Whether this is ``d.setdefault(key, [...])`` of a display, which nothing can tell when it is made."""
    if not isinstance(node.func, gast.Attribute) or node.func.attr != "setdefault" or node.keywords:
        return False
    return (
        len(node.args) == 2
        and isinstance(node.args[1], gast.List | gast.Dict)
        and all(isinstance(part, _PURE) for part in walk(node.args[1]))
    )


def _is_constant_set(node: gast.AST) -> bool:
    return isinstance(node, gast.Set) and all(isinstance(item, gast.Constant) for item in node.elts)


def _is_comprehension(call: gast.AST) -> bool:
    """Whether this is what a comprehension of one clause has become: ``ag__.list_of(lambda v: element, items)``."""
    return call.func.attr == "list_of" and bool(call.args) and isinstance(call.args[0], gast.Lambda)


def _has_star(node: gast.AST) -> bool:
    return any(isinstance(item, gast.Starred) for item in node.elts)


def _may_make_list(node: gast.AST) -> bool:
    """Whether this makes a list if its operands are lists."""
    return _is_slice(node) or (isinstance(node, gast.BinOp) and isinstance(node.op, gast.Add | gast.Mult))


def _is_slice(node: gast.AST) -> bool:
    return isinstance(node, gast.Subscript) and isinstance(node.slice, gast.Slice)


def _changed(node: gast.AST) -> Iterator[gast.AST]:
    """The expressions for the lists that this changes, if they are lists."""
    kind = type(node)
    if kind is gast.Attribute:
        if node.attr in GROWING_METHODS:
            yield from _chosen(node.value)
    elif kind is gast.AugAssign:
        if isinstance(node.op, gast.Add):
            yield node.target
    elif kind is gast.Call:
        if node.args and _name(node.func) in _GROWING_FUNCTIONS:
            yield node.args[0]
    elif kind is gast.Delete:
        yield from (target.value for target in node.targets if isinstance(target, gast.Subscript))
    elif kind is gast.Subscript and isinstance(node.ctx, gast.Store):
        if not isinstance(node.slice, gast.Constant):
            yield node.value


def _root(node: gast.AST) -> str | None:
    """The name or attribute that an item is read from."""
    while isinstance(node, gast.Subscript):
        node = node.value
    return _name(node)


def _rebound(bindings: Iterable[_Binding]) -> set[str]:
    """The names that are bound to lists which may differ in length, as far as expressions tell."""
    lengths: dict[str, set[int]] = {}
    for name, value in bindings:
        if name is not None:
            lengths.setdefault(name, set()).update(map(_length, _chosen(value)))
    return {name for name, found in lengths.items() if len(found - {_UNKNOWN}) > 1}


_UNKNOWN, _OTHER = -1, -2


def _length(node: gast.AST) -> int:
    """How many items a display has: `_OTHER` for the number in what is made of another list, `_UNKNOWN` for what may be none."""
    is_sum = isinstance(node, gast.BinOp) and isinstance(node.op, gast.Add)
    if _is_slice(node) or (is_sum and any(isinstance(side, gast.List) for side in (node.left, node.right))):
        return _OTHER
    if not isinstance(node, gast.List):
        return _UNKNOWN
    return _OTHER if any(isinstance(item, gast.Starred) for item in node.elts) else len(node.elts)


def _with_sources(names: set[str], bindings: Iterable[_Binding]) -> set[str]:
    """The names, and those of what is bound to them: ``a`` and ``b`` for ``names = a if c else b``."""
    if not names:
        return names
    pairs = [
        (name, source) for name, value in bindings for chosen in _chosen(value) if (source := _name(chosen)) is not None
    ]
    found = set(names)
    while new := {source for name, source in pairs if name in found} - found:
        found |= new
    return found


def _assigned(node: gast.AST) -> list[tuple[gast.AST, gast.AST]]:
    if isinstance(node, gast.Assign):
        return [(target, node.value) for target in node.targets]
    return [(node.target, node.value)] if isinstance(node, gast.NamedExpr) else []


def _chosen(node: gast.AST) -> Iterator[gast.AST]:
    """The expressions of which one is the value."""
    if isinstance(node, gast.IfExp):
        yield from _chosen(node.body)
        yield from _chosen(node.orelse)
    elif isinstance(node, gast.BoolOp):
        for value in node.values:
            yield from _chosen(value)
    elif isinstance(node, gast.NamedExpr):
        yield from _chosen(node.value)
    else:
        yield node


def _bound(target: gast.AST, value: gast.AST) -> Iterator[_Binding]:
    """The names that an assignment binds, each with the expression for its value."""
    if isinstance(target, gast.Tuple | gast.List) and isinstance(value, gast.Tuple | gast.List):
        for part, inner in zip(target.elts, value.elts, strict=False):
            yield from _bound(part, inner)
    else:
        yield _name(target), value


def _name(node: gast.AST) -> str | None:
    if isinstance(node, gast.Name):
        return str(node.id)
    return str(node.attr) if isinstance(node, gast.Attribute) else None
