"""`LowerLists`: displays of lists that may come to grow in; operator calls that make such lists out."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import gast

from autograph._analysis.children import walk
from autograph._analysis.grown_parameters import GROWING_FUNCTIONS, GROWING_METHODS
from autograph._passes.nodes import OF_NAMES_AND_CONSTANTS, Context, Rewriter, dict_display, placed

_Binding = tuple[str | None, gast.AST]  # a name, None for what is bound to others, and the expression for its value
_ASKED = frozenset(
    {gast.Assign, gast.Attribute, gast.AugAssign, gast.Call, gast.Delete, gast.NamedExpr, gast.Subscript}
)
_DISPLAYS = (gast.List, gast.Tuple, gast.Dict)
_ADDING = frozenset({"append", "appendleft", "insert", "setdefault"})
_COPYING = frozenset({"copy", "deepcopy"})
_PURE = (*OF_NAMES_AND_CONSTANTS, gast.List, gast.Dict)
_EVERY = range(1, sys.maxsize)  # depth
_METHODS = GROWING_METHODS | {"index", "count"}  # growing, or searching, which a traced element needs an array for


class LowerLists(Rewriter):
    """Rewrites a list display whose list may come to have a length that only run time knows.

    Those are empty ones, and those assigned to a name, or an attribute, whose ``append`` (or a like method, or one
    that searches) is written somewhere in the function, or a slice of which is written, or that is given to a function
    which changes its length, or that is bound to lists of other lengths (``xs = xs[1:]``), or to a name that
    such a name is bound to, as are comprehensions, ``list(…)``, ``xs[1:]``, ``copy.copy(xs)``, ``[0] * n`` and sums of lists. So
    are the latter where items are written at computed indices: what is written at a traced one is carried as one array then.

    So are displays given to a parameter of such a name (``Stack(items=[1])``), to such a function, or to an object that keeps them
    in such an attribute (``Graph({"a": [1]})``, then ``self.edges[a].append(b)`` in the file), and those in a
    display whose items' methods are called (``rows[0].append``, ``d["a"]["xs"].append``) or whose items' items are
    written (``rows[i][j] = v``), the items of a comprehension among them, or that become items: ``rows.append([1])``,
    ``rows[i] = [1]``, ``groups.setdefault(key, [1])``, ``defaultdict(lambda: [1])``.

    Displays whose length only run time may know become operator calls:

        [v, *xs]         →   ag__.extended([v], xs)
        {v, w}           →   ag__.set_of(v, w)
        {v: w}           →   ag__.dict_of((v, w))
        [0] * n          →   ag__.repeated([0], n)
        x, *rest = xs    →   x, rest = ag__.unpacked(xs, 1, 0)

    and so does a display that a dict may come to hold, which nothing else does:

        d.setdefault(k, [v])  →   ag__.setdefault(d, k, lambda: ag__.new_list([v]))

    Attributes: growing (names and attributes whose lists may come to grow), lists (those that can be no numbers), tables (those
    whose items are written), holders (those whose items' growing methods are called), nested (those whose items' items are
    written), given (by call, the arguments that are or hold lists whose length is changed, with how far below them these are).

    >>> from autograph._passes.shown import rewritten
    >>> print(rewritten(LowerLists, '''
    ... def f(x):
    ...     found = []
    ...     found.append(x)
    ...     fixed = [1, 2]
    ... '''))
    def f(x):
        found = ag__.new_list([])
        found.append(x)
        fixed = [1, 2]
    """

    applies_to: frozenset[type] | None = frozenset(
        {gast.List, gast.ListComp, gast.Call, gast.Starred, gast.Set, gast.Dict}
    )
    introduces: frozenset[type] = frozenset()

    def __init__(self, context: Context) -> None:
        self.context = context
        self.growing: frozenset[str] = frozenset()
        self.lists: frozenset[str] = frozenset()
        self.tables: frozenset[str] = frozenset()
        self.holders: Mapping[str, frozenset[int]] = {}
        self.nested: frozenset[str] = frozenset()
        self.given: dict[gast.AST, dict[gast.AST, frozenset[int]]] = {}

    def __call__(self, node: gast.AST) -> gast.AST:
        parts = [part for part in walk(node) if type(part) in _ASKED]
        self.given = {
            call: {chosen: depths for each, depths in self.context.lengthened(call) for chosen in _chosen(each)}
            for call in parts
            if type(call) is gast.Call
        }
        surely, grown = _grown(parts)
        grown |= {
            _Place(place.name, place.depth + depth)
            for arguments in self.given.values()
            for each, depths in arguments.items()
            if (place := _place(each)) is not None
            for depth in depths
        }
        bindings = [pair for part in parts for target, value in _assigned(part) for pair in _bound(target, value)]
        self.growing = frozenset(_with_sources(_names(grown) | _rebound(bindings), bindings))
        self.lists = frozenset(_with_sources(_names(surely), bindings))
        self.holders = _depths(grown)
        written: list[Any] = [part for part in parts if _is_written(part)]
        self.nested = frozenset(name for part in written if (name := _name_of_holder(part.value)) is not None)
        self.tables = self.nested | {name for part in written if (name := _name(part.value)) is not None}
        return self.visit(node)

    def visit_Assign(self, node: gast.AST) -> gast.AST:
        for target in node.targets:
            for name, value in _bound(target, node.value):
                if name in self.nested and not isinstance(value, _DISPLAYS):
                    self._hold(value)
                elif name is not None and name in self.holders:
                    self._hold(value, self.holders[name])
        self.generic_visit(node)
        for target in node.targets:
            node.value = self._value_for(target, node.value)
        return node

    def _value_for(self, target: gast.AST, value: gast.AST) -> gast.AST:
        """What is bound to a target, or to the targets in it, in place of ``value``."""
        if isinstance(target, gast.Tuple | gast.List) and isinstance(value, gast.Tuple | gast.List):
            if len(target.elts) == len(value.elts) and not any(isinstance(e, gast.Starred) for e in target.elts):
                value.elts = [self._value_for(*pair) for pair in zip(target.elts, value.elts, strict=True)]
            return value
        if isinstance(value, gast.IfExp):
            value.body, value.orelse = (self._value_for(target, each) for each in (value.body, value.orelse))
            return value
        return self._new(value) if self._may_hold(target, value) else value

    def visit_AnnAssign(self, node: gast.AST) -> gast.AST:
        self.generic_visit(node)
        if node.value is not None and self._may_hold(node.target, node.value):
            node.value = self._new(node.value)
        return node

    def visit_List(self, node: gast.AST) -> gast.AST:
        self.generic_visit(node)
        if not isinstance(node.ctx, gast.Load):
            return node
        if any(isinstance(item, gast.Starred) for item in node.elts):
            return self._extended(node)
        return self._new(node) if not node.elts else node

    def visit_Tuple(self, node: gast.AST) -> gast.AST:
        self.generic_visit(node)
        if not isinstance(node.ctx, gast.Load) or not any(isinstance(item, gast.Starred) for item in node.elts):
            return node
        return placed(self.context.call("tuple_of_list", self._extended(node)), node)

    def visit_Set(self, node: gast.AST) -> gast.AST:
        self.generic_visit(node)
        return placed(self.context.call("set_of", *node.elts), node)

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

    def _extended(self, node: gast.AST) -> gast.AST:
        """A display with stars, from left to right as Python makes it."""
        made: gast.AST | None = None
        for is_star, run in itertools.groupby(node.elts, lambda item: isinstance(item, gast.Starred)):
            items = list(run)
            for part in [item.value for item in items] if is_star else [gast.List(items, gast.Load())]:
                if made is None and not is_star:
                    made = part
                else:
                    made = self.context.call("extended", gast.List([], gast.Load()) if made is None else made, part)
        return placed(made, node)

    def visit_BinOp(self, node: gast.AST) -> gast.AST:
        self.generic_visit(node)
        if not isinstance(node.op, gast.Mult) or any(
            isinstance(side, gast.Constant) for side in (node.left, node.right)
        ):
            return node
        if not any(isinstance(side, gast.List) and side.elts for side in (node.left, node.right)):
            return node
        return placed(self.context.call("repeated", node.left, node.right), node)

    def visit_Call(self, node: gast.AST) -> gast.AST:
        if not self.context.is_plain_call(node.func):
            if isinstance(node.func, gast.Attribute) and node.func.attr in _ADDING:
                node.args = list(map(self._added, node.args))
            if _name(node.func) == "defaultdict" and node.args and isinstance(node.args[0], gast.Lambda):
                node.args[0].body = self._added(node.args[0].body)
            is_default = _is_default(node)
            given = self.given.get(node, {})
            node.args = [self._given(each, given.get(each, ())) for each in node.args]
            for keyword in node.keywords:
                keyword.value = self._given(keyword.value, given.get(keyword.value, ()))
            self.generic_visit(node)
            for keyword in node.keywords:
                if keyword.arg in self.growing and isinstance(keyword.value, gast.List):
                    keyword.value = self._new(keyword.value)
            return self._by_default(node) if is_default else node
        node.args = [a if isinstance(a, gast.List) and not a.elts else self.visit(a) for a in node.args]
        node.keywords = [self.visit(keyword) for keyword in node.keywords]
        return node

    def _given(self, node: gast.AST, depths: Collection[int]) -> gast.AST:
        """An argument, so many levels below which there are lists that may come to grow."""
        if any(depths):
            self._hold(node, depths)
        return self._held(node) if 0 in depths else node

    def _by_default(self, node: gast.AST) -> gast.AST:
        """``d.setdefault(key, made)``, with what makes the value."""
        key, made = node.args
        make = gast.Lambda(gast.arguments([], [], None, [], [], None, []), made)
        return placed(self.context.call("setdefault", node.func.value, key, make), node)

    def visit_ClassDef(self, node: gast.AST) -> gast.AST:
        """What a class body binds is the class's for good: only its methods are rewritten."""
        node.body = [self.visit(part) if isinstance(part, gast.FunctionDef) else part for part in node.body]
        return node

    def _added(self, node: gast.AST) -> gast.AST:
        """What becomes an item of a list: that it was made here is told, and it may come to grow, as may the lists in it."""
        self._hold(node)
        return self._held(node)

    def _hold(self, node: gast.AST, depths: Container[int] = _EVERY, depth: int = 1) -> None:
        """Let the displays in this one, ``depth`` levels below what a name is bound to, be of lists that may come to grow at ``depths``."""

        def held(item: gast.AST) -> gast.AST:
            self._hold(item, depths, depth + 1)
            return self._held(item) if depth in depths else item

        if isinstance(node, gast.IfExp):
            for chosen in (node.body, node.orelse):
                self._hold(chosen, depths, depth)
        elif isinstance(node, gast.List | gast.Tuple):
            node.elts = list(map(held, node.elts))
        elif isinstance(node, gast.Dict):
            node.values = list(map(held, node.values))
        elif isinstance(node, gast.ListComp):
            node.elt = self._added(node.elt)
        elif isinstance(node, gast.Call) and _is_comprehension(node):
            node.args[0].body = self._added(node.args[0].body)

    def _held(self, node: gast.AST) -> gast.AST:
        """An item that is a list, as one that may come to grow. `visit_List` sees to an empty display."""
        is_empty = isinstance(node, gast.List) and not node.elts
        return self._new(node) if self._makes_list(node) and not is_empty else node

    def _may_hold(self, target: gast.AST, value: gast.AST) -> bool:
        """Whether a variable or attribute is to hold a list that `_new` makes of the value.

        Any method may lengthen what an attribute holds.
        """
        name = _name(target)
        if isinstance(target, gast.Attribute) and self._makes_list(value):
            return True
        is_table = name in self.tables and not isinstance(value, _DISPLAYS)
        place = _place(target)
        is_item = place is not None and place.depth in self.holders.get(place.name, ())
        if name in self.lists and isinstance(value, gast.BinOp) and isinstance(value.op, gast.Add):
            return True
        return (name in self.growing or is_table or is_item) and self._makes_list(value)

    def _makes_list(self, node: gast.AST) -> bool:
        if isinstance(node, gast.Call):
            is_list = (
                isinstance(node.func, gast.Name) and node.func.id == "list" and not self.context.is_own_name("list")
            )
            is_made = is_list or _is_comprehension(node) or _is_copy(node)
            return is_made or _is_operator(node, "repeated") or _is_operator(node, "extended")
        if isinstance(node, gast.BinOp) and isinstance(node.op, gast.Add | gast.Mult):
            return self._makes_list(node.left) or self._makes_list(node.right)
        if isinstance(node, gast.Subscript):
            return isinstance(node.slice, gast.Slice)
        return isinstance(node, gast.ListComp | gast.List)

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


def _grown(parts: Iterable[gast.AST]) -> tuple[set[_Place], set[_Place]]:
    """The places of what growing methods are called of; and these with what ``+=`` lengthens if it is a list."""
    places: set[_Place | None] = set()
    by_operators: set[_Place | None] = set()
    for part in parts:
        kind = type(part)
        if kind is gast.Attribute:
            if part.attr in _METHODS:
                places.update(_place(chosen) for chosen in _chosen(part.value))
        elif kind is gast.AugAssign:
            if isinstance(part.op, gast.Add):
                by_operators.add(_place(part.target))
        elif kind is gast.Call:
            if part.args and _name(part.func) in GROWING_FUNCTIONS:
                places.add(_place(part.args[0]))
        elif kind is gast.Delete:
            places.update(_place(target.value) for target in part.targets if isinstance(target, gast.Subscript))
        elif kind is gast.Subscript and isinstance(part.slice, gast.Slice) and isinstance(part.ctx, gast.Store):
            places.add(_place(part.value))
    surely = {place for place in places if place is not None}
    return surely, surely | {place for place in by_operators if place is not None}


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
    is_slice = isinstance(node, gast.Subscript) and isinstance(node.slice, gast.Slice)
    if is_slice or (is_sum and any(isinstance(side, gast.List) for side in (node.left, node.right))):
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


def _is_written(node: gast.AST) -> bool:
    """Whether this is an item that is written at a computed index."""
    return (
        isinstance(node, gast.Subscript)
        and isinstance(node.ctx, gast.Store)
        and not all(isinstance(index, gast.Constant | gast.Slice) for index in _indices(node))
    )


def _indices(node: gast.AST) -> Iterator[gast.AST]:
    """The indices of an item, and of the item that it is in: of ``x[i][j]`` first ``j``."""
    while isinstance(node, gast.Subscript):
        yield node.slice
        node = node.value


def _is_operator(call: gast.AST, name: str) -> bool:
    """Whether this is a call of this operator: ``[0] * n`` has become ``ag__.repeated([0], n)``."""
    return isinstance(call, gast.Call) and isinstance(call.func, gast.Attribute) and call.func.attr == name


def _is_comprehension(call: gast.AST) -> bool:
    """Whether this is what a comprehension of one clause has become: ``ag__.list_of(lambda v: element, items)``."""
    return _is_operator(call, "list_of") and bool(call.args) and isinstance(call.args[0], gast.Lambda)


def _is_copy(call: gast.AST) -> bool:
    """Whether this is ``copy.copy(items)`` or ``copy.deepcopy(items)``."""
    function = call.func
    return isinstance(function, gast.Attribute) and _name(function.value) == "copy" and function.attr in _COPYING


def _bound(target: gast.AST, value: gast.AST) -> Iterator[_Binding]:
    """The names that an assignment binds, each with the expression for its value."""
    if isinstance(target, gast.Tuple | gast.List) and isinstance(value, gast.Tuple | gast.List):
        for part, inner in zip(target.elts, value.elts, strict=False):
            yield from _bound(part, inner)
    else:
        yield _name(target), value


def _name_of_holder(node: gast.AST) -> str | None:
    """The name of what an item is taken out of."""
    return _name(node.value) if isinstance(node, gast.Subscript) else None


class _Place(NamedTuple):
    """A name, and through how many items an expression leads from it: ``("d", 2)`` for ``d["a"]["xs"]``."""

    name: str
    depth: int


def _place(node: gast.AST) -> _Place | None:
    depth = 0
    while isinstance(node, gast.Subscript):
        node, depth = node.value, depth + 1
    name = _name(node)
    return None if name is None else _Place(name, depth)


def _names(places: Iterable[_Place]) -> set[str]:
    """The names that are such places themselves."""
    return {place.name for place in places if not place.depth}


def _depths(places: Iterable[_Place]) -> Mapping[str, frozenset[int]]:
    """How far below each name such places are."""
    found: dict[str, set[int]] = {}
    for place in places:
        if place.depth:
            found.setdefault(place.name, set()).add(place.depth)
    return {name: frozenset(depths) for name, depths in found.items()}


def _name(node: gast.AST) -> str | None:
    if isinstance(node, gast.Name):
        return str(node.id)
    return str(node.attr) if isinstance(node, gast.Attribute) else None
