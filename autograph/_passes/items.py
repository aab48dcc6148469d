"""`LowerAssignments`: writes to items and attributes in; operator calls that rebind or record them out."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType

import gast

from autograph._analysis.children import walk
from autograph._analysis.scopes import (
    COMPREHENSIONS,
    FUNCTIONS,
    bound_inside,
    definitions_in,
    parameter_names,
    scope_of,
    walk_scope,
)
from autograph._passes.caller_writes import may_be_callers, only_augmented, only_written
from autograph._passes.nodes import (
    Context,
    after_declarations,
    assign,
    constant,
    copied,
    load,
    placed,
    rewrite_blocks,
    store,
    thunk,
)

_OPERATORS = MappingProxyType(
    {
        gast.Add: "+=",
        gast.Sub: "-=",
        gast.Mult: "*=",
        gast.Div: "/=",
        gast.Pow: "**=",
        gast.FloorDiv: "//=",
        gast.Mod: "%=",
        gast.MatMult: "@=",
        gast.BitAnd: "&=",
        gast.BitOr: "|=",
        gast.BitXor: "^=",
        gast.LShift: "<<=",
        gast.RShift: ">>=",
    }
)
# What a call cannot change in a target, besides names.
_STEADY = (
    *(gast.Constant, gast.BinOp, gast.UnaryOp, gast.Slice, gast.Tuple),
    *(gast.operator, gast.unaryop, gast.expr_context),
)
_OPERATIONS = (gast.BinOp, gast.UnaryOp, gast.Compare, gast.Subscript)


class LowerAssignments:
    """Rewrites ``x[i] = v`` and ``obj.a = v`` so that arrays are rebound and other objects' writes are seen.

    ``x[i] = v`` becomes ``x = ag__.set_item(x, i, v)``: on a JAX array that is ``x.at[i].set(v)``, on anything else
    Python's own assignment, after which ``x`` is what it was. A nested target stores each new array back where its
    own came from. A parameter that only the caller reads afterwards is not rebound: a new array would be lost with it
    (`only_written`). ``x[i], x[j] = x[j], x[i]`` becomes ``x = ag__.exchange_items(x, i, j)``, and so do the last two of
    ``t = x[i]``, ``x[i] = x[j]``, ``x[j] = t``.

    >>> from autograph._passes.shown import rewritten
    >>> print(rewritten(LowerAssignments, '''
    ... def f(x, i, box):
    ...     x[i] = 1
    ...     box.total += 2
    ...     return x
    ... '''))
    def f(x, i, box):
        x = ag__.set_item(x, i, 1)
        ag__.update_attr(box, 'total', '+=', 2)
        return x
    """

    applies_to: frozenset[type] | None = frozenset(
        {gast.Attribute, gast.Subscript, gast.Global, gast.Nonlocal, gast.AnnAssign, gast.AugAssign}
    )
    introduces: frozenset[type] = frozenset()

    def __init__(self, context: Context) -> None:
        self.context = context

    def __call__(self, node: gast.AST) -> gast.AST:
        if not isinstance(node, gast.Lambda):
            scope = scope_of(node)
            shared = bound_inside(node)
            outer = scope.nonlocal_names | scope.global_names
            steady = scope.bound - shared
            rewriter = _Rewriter(
                self.context,
                scope.bound | outer,
                _bound_with_values(node),
                steady,
                only_written(node),
                only_augmented(node),
                may_be_callers(node) | self.context.shared_names,
            )
            node.body = rewriter.block(node.body) or [placed(gast.Pass(), node)]
            reports = [
                placed(gast.Expr(self.context.call("will_write", thunk(load(name)))), node) for name in sorted(outer)
            ]
            position = after_declarations(node)
            node.body = [*node.body[:position], *reports, *node.body[position:]]
        return node


class _Rewriter:
    """Attributes: local_names (variables that may be rebound here), bound_else (those bound by more than a bare
    annotation), steady_names (those that no call can rebind), callers (parameters of which only the caller sees what is written
    to items), augmented_names (those of which only the caller sees what ``x += 1`` writes), arrays (names that may be those of arrays
    which the caller has), prelude (statements to run before the
    present one)."""

    def __init__(
        self,
        context: Context,
        local_names: frozenset[str],
        bound_else: frozenset[str],
        steady_names: frozenset[str],
        callers: frozenset[str],
        augmented_names: frozenset[str],
        arrays: frozenset[str],
    ) -> None:
        self.arrays = arrays
        self.callers = callers
        self.augmented_names = augmented_names
        self.bound_else = bound_else
        self.steady_names = steady_names
        self.context = context
        self.local_names = local_names
        self.prelude: list[gast.AST] = []
        self._hoisted_names: set[str] = set()

    def block(self, statements: Sequence[gast.AST]) -> list[gast.AST]:
        out: list[gast.AST] = []
        position = 0
        while position < len(statements):
            node = statements[position]
            places = _exchanged_through(statements[position : position + 3])
            if places is None or not self._is_plain_base(places[0].value):
                out += self.statement(node)
            else:
                out += [node, *self._exchange(*places, statements[position + 1], copied(node.targets[0]))]
                position += 2
            position += 1
        return out

    def statement(self, node: gast.AST) -> list[gast.AST]:
        if isinstance(node, gast.FunctionDef | gast.AsyncFunctionDef):
            return [LowerAssignments(self.context)(node)]
        if isinstance(node, gast.ClassDef):
            for part in definitions_in(node):
                self.statement(part)
            return [node]
        if isinstance(node, gast.Assign):
            return self.assignment(node)
        if isinstance(node, gast.AugAssign):
            return self.augmented_name(node) if isinstance(node.target, gast.Name) else self.augmented(node)
        if isinstance(node, gast.AnnAssign) and node.value is not None:
            if isinstance(node.target, gast.Name):  # a block cannot annotate a variable that it shares
                return self._placed([assign(node.target.id, node.value)], node)
            return self._placed(self._store(node.target, node.value), node)
        if isinstance(node, gast.AnnAssign) and isinstance(node.target, gast.Name):
            return [] if node.target.id in self.bound_else else [node]
        if isinstance(node, gast.For | gast.AsyncFor) and not _only_names(node.target):
            item = self.context.names.new("item")
            unpack = placed(gast.Assign([node.target], load(item), None), node.target)
            node.target = placed(store(item), node.target)
            node.body = [unpack, *node.body]
        if isinstance(node, gast.With | gast.AsyncWith):
            self._bind_managed(node)
        if isinstance(node, gast.Delete):
            return self.deletion(node)
        rewrite_blocks(node, self.block)
        return [node]

    def _bind_managed(self, node: gast.AST) -> None:
        """Let the body of a ``with`` begin with the assignment to a target that is no name; other managers come after it."""
        for number, item in enumerate(node.items):
            target = item.optional_vars
            if target is not None and not _only_names(target):
                entered = self.context.names.new("entered")
                rest = node.items[number + 1 :]
                body = [placed(type(node)(rest, node.body, None), node)] if rest else node.body
                node.items = node.items[: number + 1]
                item.optional_vars = placed(store(entered), target)
                node.body = [placed(gast.Assign([target], load(entered), None), target), *body]
                return

    def assignment(self, node: gast.AST) -> list[gast.AST]:
        if all(_only_names(target) for target in node.targets):
            return [node]
        if len(node.targets) == 1 and isinstance(node.targets[0], gast.Subscript | gast.Attribute):
            return self._placed(self._store(node.targets[0], node.value), node)
        places = _exchanged(node.targets[0], node.value) if len(node.targets) == 1 else None
        if places is not None and self._is_plain_base(places[0].value):
            return self._exchange(*places, node)
        if len(node.targets) == 1:
            value = node.value
            out = []
        else:
            name = self.context.names.new("value")
            value, out = load(name), [assign(name, node.value)]
        for target in node.targets:
            stores: list[tuple[gast.AST, str]] = []
            out.append(gast.Assign([self._with_names(target, stores)], value, None))
            for leaf, name in stores:  # each target is evaluated when those before it are stored
                stored = [assign(leaf.id, load(name))] if isinstance(leaf, gast.Name) else self._store(leaf, load(name))
                out += [*self.prelude, *stored]
                self.prelude = []
        return self._placed(out, node)

    def _is_plain_base(self, node: gast.AST) -> bool:
        """Whether this is a name, or attributes that are no properties which show how often they are read."""
        while isinstance(node, gast.Attribute):
            if node.attr in self.context.special_methods:
                return False
            node = node.value
        return isinstance(node, gast.Name)

    def _exchange(self, one: gast.AST, other: gast.AST, like: gast.AST, *held: gast.AST) -> list[gast.AST]:
        """Let two items of a list change places; ``held`` is the name that the first has been bound to, if it has."""
        base = self._simple(one.value)
        names = [load(name.id) for name in held]
        new = self.context.call("exchange_items", base, self._index(one.slice), self._index(other.slice), *names)
        return self._placed(self._put_back(base, new), like)

    def deletion(self, node: gast.AST) -> list[gast.AST]:
        out: list[gast.AST] = []
        for target in node.targets:
            if isinstance(target, gast.Attribute):
                name = constant(target.attr)
                out.append(gast.Expr(self.context.call("del_attr", target.value, name)))
            elif isinstance(target, gast.Subscript):
                out.append(gast.Expr(self.context.call("del_item", target.value, self._index(target.slice))))
            else:
                out.append(gast.Delete([target]))
        return self._placed(out, node)

    def augmented_name(self, node: gast.AST) -> list[gast.AST]:
        name = node.target.id
        if name not in self.arrays:
            return [node]
        report = gast.Expr(self.context.call("will_augment", load(name)))
        if name not in self.augmented_names:
            return [*self._placed([report], node), node]
        before = self.context.names.new("before")
        check = gast.Expr(self.context.call("augmented_in_place", load(name), load(before), constant(name)))
        return [*self._placed([report, assign(before, load(name))], node), node, *self._placed([check], node)]

    def augmented(self, node: gast.AST) -> list[gast.AST]:
        target, symbol = node.target, constant(_OPERATORS[type(node.op)])
        base = self._simple(target.value)
        if self._may_write(node.value):  # Python has read the old value by the time the right-hand side runs
            name = self.context.names.new("updated" if isinstance(target, gast.Attribute) else "taken")
            if isinstance(target, gast.Attribute):
                place = placed(gast.Attribute(base, target.attr, gast.Load()), target)
                first = [
                    *self._placed([assign(name, place)], node),
                    placed(gast.AugAssign(store(name), node.op, node.value), node),
                ]
                return first + self._placed(self._store(copied(place), load(name)), node)
            part = self._index(target.slice)
            if not isinstance(part, gast.Constant):  # what runs may change what the index comes to
                part = self._hoisted("index", part)
            self.prelude.append(assign(name, self.context.call("take_item", base, part)))
            value = self._hoisted("value", node.value)  # and only then does it store, in what the target is by then
            new = self.context.call("update_taken", copied(base), copied(part), load(name), symbol, value)
            return self._placed(self._put_back(copied(base), new), node)
        if isinstance(target, gast.Attribute):
            attribute = constant(target.attr)
            update = gast.Expr(self.context.call("update_attr", base, attribute, symbol, node.value))
            return self._placed([update], node)
        new = self.context.call("update_item", base, self._index(target.slice), symbol, node.value)
        return self._placed(self._put_back(base, new), node)

    def _with_names(self, target: gast.AST, stores: list[tuple[gast.AST, str]]) -> gast.AST:
        """The unpacking target with each item or attribute in it replaced by a fresh name, and those listed in
        order.

        So is a variable that an item or attribute before it is found by: ``node.next, node = last, node.next``.
        """
        is_read = isinstance(target, gast.Name) and any(
            isinstance(part, gast.Name) and part.id == target.id for leaf, _ in stores for part in walk(leaf)
        )
        if is_read or isinstance(target, gast.Subscript | gast.Attribute):
            name = self.context.names.new("item")
            stores.append((target, name))
            return store(name)
        if isinstance(target, gast.Starred):
            return gast.Starred(self._with_names(target.value, stores), gast.Store())
        if isinstance(target, gast.Tuple | gast.List):
            return type(target)([self._with_names(part, stores) for part in target.elts], gast.Store())
        return target

    def _store(self, target: gast.AST, value: gast.AST) -> list[gast.AST]:
        if self._shows_order(value, target):
            name = self.context.names.new("value")  # Python evaluates the value before the target
            self.prelude.append(assign(name, value))
            value = load(name)
        base = self._simple(target.value)
        if isinstance(target, gast.Attribute):
            attribute = constant(target.attr)
            return [gast.Expr(self.context.call("set_attr", base, attribute, value))]
        return self._put_back(base, self.context.call("set_item", base, self._index(target.slice), value))

    def _shows_order(self, value: gast.AST, target: gast.AST) -> bool:
        """Whether it can be seen that Python evaluates the value before the target."""
        if _has_call(value):
            return not isinstance(target.value, gast.Name) or not self._is_steady(target)
        if _has_call(target):  # which may change what the value reads
            is_steady = isinstance(value, gast.Name) and value.id in self.steady_names
            return not is_steady and not isinstance(value, gast.Constant)
        names = {part.id for part in walk(target) if isinstance(part, gast.Name)}
        return not isinstance(value, gast.Name | gast.Constant) and not all(map(self.context.is_own_name, names))

    def _is_steady(self, target: gast.AST) -> bool:
        """Whether the target is the same place before and after any call."""
        parts = (part for part in walk(target) if part is not target)
        return all(
            part.id in self.steady_names if isinstance(part, gast.Name) else isinstance(part, _STEADY) for part in parts
        )

    def _put_back(self, place: gast.AST, new: gast.AST) -> list[gast.AST]:
        """Statements that store ``new``, what an item write made of ``place``, where ``place`` came from."""
        if isinstance(place, gast.Name):
            is_rebound = place.id in self.local_names and place.id not in self.callers
            return [assign(place.id, new)] if is_rebound else [gast.Expr(self._in_place(new, place))]
        if isinstance(place, gast.Attribute):
            name = constant(place.attr)
            return [gast.Expr(self.context.call("put_back_attr", copied(place.value), name, new))]
        if isinstance(place, gast.Subscript):
            outer = copied(place.value)
            return self._put_back(outer, self.context.call("put_back_item", outer, copied(place.slice), new))
        return [gast.Expr(self._in_place(new, place))]

    def _in_place(self, new: gast.AST, place: gast.AST) -> gast.AST:
        if isinstance(place, gast.Name) and place.id in self.callers:
            return self.context.call("written_in_place", new, copied(place), constant(place.id))
        if not isinstance(place, gast.Name):
            return self.context.call("written_in_place", new, constant(None))
        if place.id in self._hoisted_names:
            return self.context.call("written_in_place", new, copied(place))
        return self.context.call("rebind", new, thunk(copied(place)))  # a variable of the user's, around the function

    def _simple(self, node: gast.AST) -> gast.AST:
        """An expression that may be evaluated twice: names, attributes and items of such.

        The rest goes to a variable.
        """
        if isinstance(node, gast.Name):
            return load(node.id)
        if isinstance(node, gast.Attribute):
            return placed(gast.Attribute(self._simple(node.value), node.attr, gast.Load()), node)
        if isinstance(node, gast.Subscript):
            return placed(gast.Subscript(self._simple(node.value), self._index(node.slice), gast.Load()), node)
        return self._hoisted("base", node)

    def _index(self, node: gast.AST) -> gast.AST:
        if _has_call(node):
            key = self.context.operator("index") if _has_slice(node) else None
            return self._hoisted("index", gast.Subscript(key, node, gast.Load()) if key is not None else node)
        if _has_slice(node):
            return placed(gast.Subscript(self.context.operator("index"), node, gast.Load()), node)
        return node

    def _may_write(self, node: gast.AST) -> bool:
        """Whether evaluating this may run code of the user's, and so write to anything."""
        for part in walk(node):
            if isinstance(part, gast.Call) and not self.context.is_plain_call(part.func):
                return True
            if isinstance(part, gast.NamedExpr | gast.Await | gast.Yield | gast.YieldFrom):
                return True
            if isinstance(part, gast.Attribute) and not self.context.is_plain_call(part):  # may be a property
                return True
            if self.context.special_methods and isinstance(part, _OPERATIONS):  # of a class, as `__add__`
                return True
        return False

    def _hoisted(self, base: str, node: gast.AST) -> gast.AST:
        name = self.context.names.new(base)
        self._hoisted_names.add(name)
        self.prelude.append(assign(name, node))
        return load(name)

    def _placed(self, statements: list[gast.AST], like: gast.AST) -> list[gast.AST]:
        prelude, self.prelude = self.prelude, []
        return [placed(statement, like) for statement in [*prelude, *statements]]


def _bound_with_values(function: gast.AST) -> frozenset[str]:
    """The variables that something other than a bare annotation binds."""
    parts = walk_scope(function.body)
    bare = {id(part.target) for part in parts if type(part) is gast.AnnAssign and part.value is None}
    names = {
        part.id for part in parts if type(part) is gast.Name and type(part.ctx) is gast.Store and id(part) not in bare
    }
    return frozenset(names | set(parameter_names(function.args)))


def _exchanged(target: gast.AST, value: gast.AST) -> list[gast.AST] | None:
    """The two items that ``x[i], x[j] = x[j], x[i]`` exchanges: None if it is another assignment, or if an index calls something."""
    pair = (gast.Tuple, gast.List)
    if not (isinstance(target, pair) and isinstance(value, pair) and len(target.elts) == len(value.elts) == 2):
        return None
    places: list[gast.AST] = target.elts
    if not all(isinstance(place, gast.Subscript) and _is_steady_index(place.slice) for place in places):
        return None
    if gast.unparse(places[0].value) != gast.unparse(places[1].value):
        return None
    texts = [[gast.unparse(part) for part in side.elts] for side in (target, value)]
    return places if texts[0] == texts[1][::-1] else None


def _exchanged_through(statements: Sequence[gast.AST]) -> list[gast.AST] | None:
    """The two items that ``t = x[i]``, ``x[i] = x[j]``, ``x[j] = t`` exchange, which are read by an expression: None if these are other
    statements."""
    if len(statements) < 3 or not all(isinstance(each, gast.Assign) and len(each.targets) == 1 for each in statements):
        return None
    (held, second, first), (one, other, last) = zip(
        *((each.targets[0], each.value) for each in statements), strict=True
    )
    if not (isinstance(held, gast.Name) and isinstance(last, gast.Name) and held.id == last.id):
        return None
    places = _exchanged(gast.Tuple([second, first], gast.Store()), gast.Tuple([other, one], gast.Load()))
    is_apart = places is not None and not any(
        isinstance(part, gast.Name) and part.id == held.id for place in places for part in walk(place)
    )
    return places if is_apart else None


def _is_steady_index(node: gast.AST) -> bool:
    parts = walk(node)
    return all(isinstance(part, gast.Name | gast.UnaryOp | gast.BinOp | gast.Constant) for part in parts)


def _only_names(target: gast.AST) -> bool:
    return not any(isinstance(part, gast.Subscript | gast.Attribute) for part in walk(target))


def _has_call(node: gast.AST) -> bool:
    kinds = (gast.Call, gast.NamedExpr, gast.Await, gast.Yield, gast.YieldFrom, *COMPREHENSIONS, *FUNCTIONS)
    return any(isinstance(part, kinds) for part in walk(node))


def _has_slice(node: gast.AST) -> bool:
    parts = node.elts if isinstance(node, gast.Tuple) else [node]
    return any(isinstance(part, gast.Slice | gast.Starred) for part in parts)
