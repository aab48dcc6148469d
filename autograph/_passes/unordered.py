"""`AllowAnyOrder`: loops over sets in; such whose result depends on no order are said to be so out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import gast

from autograph._analysis.children import walk
from autograph._passes.nodes import Context, EvaluatedParts, load, placed

_ADDS = (gast.Add, gast.Sub)
_TOGETHER = (gast.Mult, gast.BitOr, gast.BitAnd, gast.BitXor)
_CALLED = frozenset(["abs", "bool", "float", "int", "len", "pow", "round", "max", "min", "set", "frozenset"])
_FOLDS = frozenset(["sum", "any", "all", "max", "min", "len"])
_METHODS = frozenset(["count", "index", "get", "bit_length", "bit_count"])
_EXPRESSIONS = (
    *(
        gast.Constant,
        gast.BinOp,
        gast.UnaryOp,
        gast.BoolOp,
        gast.Compare,
        gast.IfExp,
        gast.Subscript,
        gast.Slice,
        gast.Tuple,
    ),
    *(gast.operator, gast.unaryop, gast.boolop, gast.cmpop, gast.expr_context),
)
_COMPREHENSIONS = gast.ListComp, gast.SetComp, gast.DictComp, gast.GeneratorExp
_SETS = frozenset(["union", "intersection", "difference", "symmetric_difference", "copy"])
_VIEWS = frozenset(["keys", "values", "items"])
_TAKING = frozenset(["list", "dict", "Counter"])  # what they make of a set has its order

_APPENDED = "appended"


class SetNames:
    """Which expressions of a function make a set, or what has the order of one, and which names are bound to such."""

    def __init__(self, context: Context, parts: Iterable[gast.AST]) -> None:
        self.context = context
        self.names: frozenset[str] = frozenset()
        bindings = []
        for part in parts:
            if isinstance(part, gast.Assign):
                pairs = _bindings(part)
                bindings += [(target.id, value) for target, value in pairs if isinstance(target, gast.Name)]
            elif isinstance(part, gast.For):  # which may give keys in the order that it goes over the items
                bindings += [(name, part.iter) for name in _written_in(part) | _appended_in(part)]
        names: frozenset[str] | None = None
        while names != self.names:
            names = self.names
            self.names = frozenset(name for name, value in bindings if self.makes_set(value))

    def makes_set(self, node: gast.AST) -> bool:
        """Whether this is one, as far as the function tells."""
        if isinstance(node, gast.Name):
            return node.id in self.names
        if isinstance(node, gast.BinOp):
            return self.makes_set(node.left) or self.makes_set(node.right)
        if isinstance(node, gast.IfExp):
            return self.makes_set(node.body) or self.makes_set(node.orelse)
        if isinstance(node, _COMPREHENSIONS):
            return isinstance(node, gast.SetComp) or self.is_over_set(node)
        if self.context.is_operator_call(node):  # of a loop over a set
            return node.func.attr == "in_any_order"
        if isinstance(node, gast.Call) and isinstance(node.func, gast.Attribute) and node.func.attr != "Counter":
            return node.func.attr in _SETS | _VIEWS and self.makes_set(node.func.value)
        if isinstance(node, gast.Call) and len(node.args) < 2:
            name = node.func.attr if isinstance(node.func, gast.Attribute) else getattr(node.func, "id", None)
            if name is None or self.context.is_own_name(name):
                return False
            return name in ("set", "frozenset") or (
                name in _TAKING and bool(node.args) and self.makes_set(node.args[0])
            )
        return isinstance(node, gast.Set)

    def is_over_set(self, node: gast.AST) -> bool:
        """Whether a comprehension goes over one."""
        return self.makes_set(node.generators[0].iter)


class AllowAnyOrder(EvaluatedParts):
    """Marks loops over sets of which each iteration does what may come in any order: adds to numbers, items or sets, keeps the greatest.

    The operator is given what the iterations change: they may come in any order if these are numbers, or sets, and what they write the
    items of, lists and arrays of numbers. Names that each iteration binds before it reads them, and that nothing reads later, are its own.

    >>> from autograph._passes.shown import rewritten
    >>> print(rewritten(AllowAnyOrder, '''
    ... def f(xs):
    ...     total = 0
    ...     for v in set(xs):
    ...         if xs.count(v) > 1:
    ...             total += v
    ...     return total
    ... '''))
    def f(xs):
        total = 0
        for v in ag__.in_any_order(set(xs), total, asked=(xs,)):
            if xs.count(v) > 1:
                total += v
        return total
    """

    applies_to: frozenset[type] | None = frozenset({gast.For})
    introduces: frozenset[type] = frozenset({gast.Call})

    def __init__(self, context: Context) -> None:
        self.context = context
        self.parts: list[gast.AST] = []
        self.sets = SetNames(context, ())

    def __call__(self, node: gast.AST) -> gast.AST:
        self.parts = list(walk(node))
        self.sets = SetNames(self.context, self.parts)
        return self.visit(node)

    def visit_For(self, node: gast.AST) -> gast.AST:
        if not self.sets.makes_set(node.iter) or node.orelse:
            return self.generic_visit(node)
        bound = _stored_in([node])
        free = {name for name in bound if self._ends_with(node, {name})}
        stored = _stored_in(node.body)
        element = _loaded(node.target) if stored.isdisjoint(_names([node.target])) else ""
        body = _Body(self.context, _names([node.target]), free, self.sets, element)
        is_kept = body.allows(node.body) and _names([node.iter]).isdisjoint(body.changes)
        self.generic_visit(node)
        if not is_kept or not self._ends_with(node, _names([node.target])):
            return node
        assigned = {name for name in body.written if isinstance(body.changes[name], str)}
        appended = {name for name, how in body.changes.items() if how == _APPENDED}
        given = {
            "asked": body.asked | (body.reads if body.written or appended else set()),
            "appended": appended,
            "written": body.written - assigned - body.keyed,
            "assigned": assigned - body.keyed,
            "keyed": body.keyed,
        }
        keywords = {
            name: gast.Tuple([*map(load, sorted(names))], gast.Load()) for name, names in given.items() if names
        }
        call = self.context.call("in_any_order", node.iter, *map(load, body.changed), **keywords)
        node.iter = placed(call, node.iter)
        return node

    def _ends_with(self, loop: gast.AST, own: set[str]) -> bool:
        """Whether nothing reads these names outside of the loop, where they have what the last iteration left."""
        inside = set(walk(loop))
        for part in self.parts:
            if isinstance(part, gast.For) and part is not loop and _names([part.target]) & own:
                inside.update(walk(part))
            elif isinstance(part, _COMPREHENSIONS) and _names(each.target for each in part.generators) & own:
                inside.update(set(walk(part)).difference(walk(part.generators[0].iter)))
        names = {part.id for part in self.parts if isinstance(part, gast.Name) and part not in inside}
        shared = (part.names for part in self.parts if isinstance(part, gast.Global | gast.Nonlocal))
        return own.isdisjoint(names.union(*shared))


class _Body:
    """The statements of a loop.

    Args:
      own: the names that have a value of the iteration.
      free: the names that nothing reads outside of the loop: those that each iteration binds first are its own, too.
      sets: which expressions make a set.
      element: the target of the loop, as an expression, dumped; nothing if an iteration binds a name of it again.

    Attributes: changes (what iterations change, by name, each with how), reads (the names of what is there before the loop and is read),
    asked (those that are asked for items), written (those whose items are written), keyed (those that may get keys thereby), item (a name
    and a key: of what the item may be read that is being written).
    """

    def __init__(self, context: Context, own: set[str], free: set[str], sets: SetNames, element: str) -> None:
        self.context = context
        self.own = own
        self.fresh = set(own)
        self.free = free - own
        self.sets = sets
        self.changes: dict[str, object] = {}
        self.reads: set[str] = set()
        self.returns: set[str] = set()
        self.asked: set[str] = set()
        self.written: set[str] = set()
        self.keyed: set[str] = set()
        self.element = element
        self.item: tuple[str, str] | None = None
        self.loops = 0

    @property
    def changed(self) -> list[str]:
        """The names of what is changed, and must be a number or a set."""
        return [name for name, how in self.changes.items() if not isinstance(how, str) and name not in self.written]

    def allows(self, statements: list[gast.AST]) -> bool:
        """Whether these may be run in any order of the elements."""
        if not all(map(self._statement, statements)):
            return False
        is_kept = self.reads.isdisjoint(self.changes) and self.own.isdisjoint(self.changes)
        return is_kept and len(self.returns) < 2 and not (self.returns and self.changes)

    def _statement(self, node: gast.AST) -> bool:
        if isinstance(node, gast.If):
            kept = _kept(node)
            if kept is not None and kept[0] not in self.own:
                return self._changes(*kept)
            return self._pure(node.test) and self._block(node.body) and self._block(node.orelse)
        if isinstance(node, gast.While):
            return not node.orelse and self._pure(node.test) and self._block(node.body, in_loop=True)
        if isinstance(node, gast.For):
            return self._goes_over(node)
        if isinstance(node, gast.AugAssign):
            return self._adds(node)
        if isinstance(node, gast.Assign) and len(node.targets) == 1:
            (target,) = node.targets
            if isinstance(target, gast.Subscript):
                return self._sets(target, node.value)
            return isinstance(target, gast.Name) and self._assigns(target.id, node.value)
        if isinstance(node, gast.Return):
            self.returns.add(gast.dump(node.value) if node.value is not None else "None")
            return node.value is None or isinstance(node.value, gast.Constant)
        if isinstance(node, gast.Expr) and isinstance(node.value, gast.Call):
            adding: dict[str | None, object] = {"add": gast.BitOr(), "append": _APPENDED}
            how = adding.get(_method_of_name(node.value))
            is_added = how is not None and len(node.value.args) == 1 and not node.value.keywords
            return is_added and self._changes(node.value.func.value.id, how, node.value.args[0])
        return isinstance(node, gast.Pass | gast.Continue) or (isinstance(node, gast.Break) and self.loops > 0)

    def _block(self, statements: list[gast.AST], in_loop: bool = False) -> bool:
        """Whether these may be run that perhaps run: what they bind is bound in them alone."""
        own, fresh = set(self.own), set(self.fresh)
        self.loops += in_loop
        is_kept = all(map(self._statement, statements))
        self.loops -= in_loop
        is_kept = is_kept and not (in_loop and fresh - self.fresh)  # of what the next iteration may write to in place
        self.own, self.fresh = own, self.fresh & fresh
        return is_kept

    def _goes_over(self, node: gast.AST) -> bool:
        """``for w in …`` inside, over what is there before the loop, or a range."""
        names = _names([node.target])
        if not _is_target(node.target) or not names <= self.free or node.orelse:
            return False
        is_kept = self._goes_over_purely(node.iter)
        own = set(self.own)
        self.own |= names
        is_kept = is_kept and self._block(node.body, in_loop=True)
        self.own = own
        return is_kept

    def _adds(self, node: gast.AST) -> bool:
        """``total += v``, ``counts[v] += 1``, and ``n += 1`` of the iteration's own ``n``, which has a number that nothing else has."""
        target = node.target
        if isinstance(target, gast.Subscript):
            return self._writes(target, _commuting(node.op)) and self._pure(node.value)
        if not isinstance(target, gast.Name):
            return False
        if target.id in self.own:
            return target.id in self.fresh and self._pure(node.value)
        return self._changes(target.id, node.op, node.value)

    def _sets(self, target: gast.AST, value: gast.AST) -> bool:
        """``d[w] = 1``, ``d[w] = d.get(w, 0) + 1``, and ``d[v] = …`` of the element itself, which no other iteration has."""
        if isinstance(value, gast.Constant):
            return self._writes(target, _text_of(value))
        if not isinstance(target.value, gast.Name):
            return False
        name, key = target.value.id, gast.dump(target.slice)
        if isinstance(value, gast.BinOp) and _is_item(value.left, name, key):
            how = _commuting(value.op)
            if isinstance(value.left, gast.Call):
                *_, default = value.left.args
                self.keyed.add(name)
                is_number = isinstance(default, gast.Constant) and isinstance(default.value, int | float)
                how = (how, _text_of(default)) if is_number and how is not None else None
            return self._writes(target, how) and self._pure(value.right)
        if key != self.element or not self._writes(target, "own"):
            return False
        self.keyed.add(name)
        outer, self.item = self.item, (name, key)
        is_kept = all(map(self._pure, value.elts if isinstance(value, gast.List) else [value]))
        self.item = outer
        return is_kept

    def _writes(self, target: gast.AST, how: object) -> bool:
        """Note that an item is written of what is there before the loop."""
        if not isinstance(target.value, gast.Name) or target.value.id in self.own | self.free or how is None:
            return False
        self.written.add(target.value.id)
        kind = f"items {how}" if isinstance(how, str) else ("items", how)
        return self.changes.setdefault(target.value.id, kind) == kind and self._pure(target.slice)

    def _assigns(self, name: str, value: gast.AST) -> bool:
        """``total = total + v``, ``best = max(best, v)``, ``is_found = True``."""
        if name in self.own or name in self.free:
            is_kept = self._pure(value)
            (self.fresh.add if self._is_fresh(value) else self.fresh.discard)(name)
            self.own.add(name)
            return is_kept and name not in self.changes
        if isinstance(value, gast.Constant):
            kind = _text_of(value)
            return self.changes.setdefault(name, kind) == kind
        if isinstance(value, gast.BinOp) and _is_name(value.left, name):
            return self._changes(name, value.op, value.right)
        if isinstance(value, gast.Call) and isinstance(value.func, gast.Name) and value.func.id in ("max", "min"):
            is_own = self.context.is_own_name(value.func.id)
            if not is_own and len(value.args) == 2 and not value.keywords and _is_name(value.args[0], name):
                return self._changes(name, value.func.id == "max", value.args[1])
        return False

    def _changes(self, name: str, how: object, value: gast.AST) -> bool:
        """Note that a name is changed by a value, if that commutes with what else changes it."""
        kind = _commuting(how) if isinstance(how, gast.AST) else how
        is_kept = kind is not None and name not in self.own | self.free and self.changes.setdefault(name, kind) == kind
        return is_kept and self._pure(value)

    def _pure(self, node: gast.AST) -> bool:
        """Whether an expression of values from before the loop, and of the element, does nothing but have a value."""
        if self.item is not None and _is_item(node, *self.item):
            return isinstance(node, gast.Subscript) or all(map(self._pure, node.args[1:]))
        if isinstance(node, gast.Name):
            if node.id not in self.own:
                self.reads.add(node.id)
            return node.id in self.own or node.id not in self.free
        if isinstance(node, gast.Call):
            return self._is_called_purely(node)
        if isinstance(node, gast.Subscript) and not self._asks(node.value):
            return False
        if isinstance(node, gast.Compare) and any(isinstance(op, gast.In | gast.NotIn) for op in node.ops):
            return self._pure(node.left) and len(node.ops) == 1 and self._asks(node.comparators[0])
        return isinstance(node, _EXPRESSIONS) and all(map(self._pure, gast.iter_child_nodes(node)))

    def _is_fresh(self, value: gast.AST) -> bool:
        """Whether a pure expression has a value that nothing else has, or one that nothing can write to."""
        if isinstance(value, gast.Call):
            return isinstance(value.func, gast.Name) and value.func.id not in ("max", "min")
        is_made = isinstance(value, gast.Constant | gast.BinOp | gast.UnaryOp | gast.Compare)
        return is_made or (isinstance(value, gast.Name) and value.id in self.fresh)

    def _asks(self, node: gast.AST) -> bool:
        """Note that this, a name of what is there before the loop, is asked for items."""
        if isinstance(node, gast.Name) and node.id not in self.own | self.free:
            self.reads.add(node.id)
            self.asked.add(node.id)
            return True
        return isinstance(node, gast.Subscript) and self._asks(node.value) and self._pure(node.slice)

    def _is_folded_purely(self, node: gast.AST) -> bool:
        """Of a comprehension: whether its parts are pure, with names of its own."""
        own = set(self.own)
        is_kept = True
        for clause in node.generators:
            is_kept = is_kept and not clause.is_async and self._goes_over_purely(clause.iter)
            self.own |= _names([clause.target])
            is_kept = is_kept and all(map(self._pure, clause.ifs))
        is_kept = is_kept and self._pure(node.elt)
        self.own = own
        return is_kept

    def _goes_over_purely(self, iterated: gast.AST) -> bool:
        if isinstance(iterated, gast.Tuple | gast.List):
            return all(map(self._pure, iterated.elts))
        if isinstance(iterated, gast.Call):
            is_range = isinstance(iterated.func, gast.Name) and iterated.func.id == "range"
            if is_range and not self.context.is_own_name("range"):
                return not iterated.keywords and all(map(self._pure, iterated.args))
        # a loop over a set is refused when it runs, unless its own iterations may come in any order
        return self._asks(iterated) or (self.sets.makes_set(iterated) and self._pure(iterated))

    def _is_called_purely(self, node: gast.AST) -> bool:
        is_fold = isinstance(node.func, gast.Name) and node.func.id in _FOLDS and len(node.args) == 1
        if is_fold and isinstance(node.args[0], gast.GeneratorExp | gast.ListComp) and not node.keywords:
            return not self.context.is_own_name(node.func.id) and self._is_folded_purely(node.args[0])
        if node.keywords or not all(map(self._pure, node.args)):
            return False
        if isinstance(node.func, gast.Attribute):
            return node.func.attr in _METHODS and self._asks(node.func.value)
        is_known = isinstance(node.func, gast.Name) and node.func.id in _CALLED
        is_known = is_known and (node.func.id not in ("max", "min") or len(node.args) > 1)
        return is_known and not self.context.is_own_name(node.func.id)


def _kept(node: gast.AST) -> tuple[str, bool, gast.AST] | None:
    """The name, whether the greatest is kept, and the value, of ``if v > best: best = v``; None of another statement."""
    test = node.test
    is_one = len(node.body) == 1 and not node.orelse and isinstance(test, gast.Compare) and len(test.ops) == 1
    if not is_one or not isinstance(node.body[0], gast.Assign) or len(node.body[0].targets) != 1:
        return None
    target, value, op = node.body[0].targets[0], node.body[0].value, test.ops[0]
    if not isinstance(target, gast.Name) or not isinstance(op, gast.Lt | gast.Gt):
        return None
    sides = test.left, test.comparators[0]
    for k in range(2):
        if _is_name(sides[k], target.id) and gast.dump(sides[1 - k]) == gast.dump(value):
            return target.id, isinstance(op, gast.Lt) is (k == 0), value
    return None


def _written_in(loop: gast.AST) -> set[str]:
    """The names of what a loop writes items of."""
    items = (part for part in walk(loop) if isinstance(part, gast.Subscript) and isinstance(part.ctx, gast.Store))
    return {item.value.id for item in items if isinstance(item.value, gast.Name)}


def _appended_in(loop: gast.AST) -> set[str]:
    """The names of what a loop appends to."""
    calls = (part for part in walk(loop) if isinstance(part, gast.Call) and _method_of_name(part) == "append")
    return {call.func.value.id for call in calls}


def _method_of_name(call: gast.AST) -> str | None:
    """The name of the method that is called of a name: ``total.add(v)``."""
    called = call.func
    return called.attr if isinstance(called, gast.Attribute) and isinstance(called.value, gast.Name) else None


def _bindings(node: gast.AST) -> Iterator[tuple[gast.AST, gast.AST]]:
    """The targets of an assignment, each with its value, in tuples too."""
    for target in node.targets:
        if isinstance(target, gast.Tuple) and isinstance(node.value, gast.Tuple):
            yield from zip(target.elts, node.value.elts, strict=False)
        else:
            yield target, node.value


def _commuting(op: gast.AST) -> object:
    """The operators that one commutes with; None if it does not with itself."""
    return next((each for each in _TOGETHER if isinstance(op, each)), _ADDS if isinstance(op, _ADDS) else None)


def _text_of(node: gast.AST) -> str:
    """What tells a constant from others."""
    return f"{type(node.value).__name__} {node.value!r}"


def _is_item(node: gast.AST, name: str, key: str) -> bool:
    """Whether this is ``name[key]``, ``name.get(key)`` or ``name.get(key, default)``."""
    if isinstance(node, gast.Subscript):
        return _is_name(node.value, name) and gast.dump(node.slice) == key
    is_method = isinstance(node, gast.Call) and isinstance(node.func, gast.Attribute) and node.func.attr == "get"
    is_method = is_method and _is_name(node.func.value, name) and not node.keywords and 0 < len(node.args) < 3
    return is_method and gast.dump(node.args[0]) == key


def _stored_in(statements: Iterable[gast.AST]) -> set[str]:
    parts: Iterable[Any] = (part for each in statements for part in walk(each))
    return {part.id for part in parts if _is_stored(part)}


def _is_stored(node: gast.AST) -> bool:
    return isinstance(node, gast.Name) and isinstance(node.ctx, gast.Store)


def _is_target(node: gast.AST) -> bool:
    """Whether this is a name, or a tuple of such."""
    return isinstance(node, gast.Name) or (isinstance(node, gast.Tuple) and all(map(_is_target, node.elts)))


def _loaded(target: gast.AST) -> str:
    """What a target is as an expression, dumped."""
    if isinstance(target, gast.Name):
        return gast.dump(load(target.id))
    is_tuple = isinstance(target, gast.Tuple) and all(isinstance(each, gast.Name) for each in target.elts)
    return gast.dump(gast.Tuple([load(each.id) for each in target.elts], gast.Load())) if is_tuple else ""


def _is_name(node: gast.AST, name: str) -> bool:
    return isinstance(node, gast.Name) and node.id == name


def _names(nodes: Iterable[gast.AST]) -> set[str]:
    return {part.id for node in nodes for part in walk(node) if isinstance(part, gast.Name)}
