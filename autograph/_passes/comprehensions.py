"""`LowerComprehensions`: list comprehensions with conditions in; functions with a loop and ``append`` out."""

from __future__ import annotations

import gast

from autograph._analysis.children import walk
from autograph._analysis.scopes import FUNCTIONS, bound_names, definitions_in
from autograph._passes.declared import Declared
from autograph._passes.generators import (
    REDUCTIONS,
    can_be_taken_apart,
    is_range,
    is_view,
    listed,
    may_be_generator,
    may_be_long,
    may_be_open,
    taken_apart,
)
from autograph._passes.nodes import (
    Context,
    Rewriter,
    after_declarations,
    assign,
    constant,
    function,
    load,
    negation,
    placed,
)
from autograph._passes.static_tests import is_static_test
from autograph._passes.unordered import SetNames
from autograph._passes.yields import lower_yields

_BLOCKS = ("body", "orelse", "finalbody")
_EXPRESSIONS = ("items", "targets")  # of statements
_EAGER = frozenset({"sum", "max", "min", "list", "tuple", "sorted", "set", "frozenset", "dict"})
_SEQUENCES = (gast.Tuple, gast.List)
_COMPREHENSIONS = (gast.ListComp, gast.SetComp, gast.DictComp, gast.GeneratorExp)
_SUSPENDS = (gast.Await, gast.Yield, gast.YieldFrom)


class LowerComprehensions(Rewriter):
    """Rewrites comprehensions whose conditions may be traced, so that these are staged as any ``if``.

    A generator that ``sorted`` or a similar function consumes at once is such a list. One that ``sum``, ``max``, ``min``, ``any``,
    ``all`` or ``next`` consumes is unpacked, so that they can be a staged loop; so is a list over a ``range``.

    In ``any`` and ``all`` the condition becomes part of the element, or, where an element may run code that does
    something, they become a loop that returns at the first element that decides.

    A generator that anything else consumes is the call of a generator function, where it may go over what has a traced length. A
    list with a lambda in it, which sees the item that there is when it is called, is a function likewise.

    The names that ``:=`` binds stay those of the function around. In a lambda, before which no function can stand, an operator
    makes the list. What suspends stays as it is, and so do other generators there: their conditions are Python's to ask
    (``ag__.python_test``). Sets and dicts are made of lists: ``ag__.set_of_list([…])``.

    Attributes:
      made: the functions to stand before the present statement; None where none can.
      declared: what the function around declares.
      shared: its variables that functions made of parts of it bind.
      sets: what makes sets, and the names of such.

    >>> from autograph._passes.shown import rewritten
    >>> print(rewritten(LowerComprehensions, '''
    ... def f(x):
    ...     return [v * 2 for v in x if v > 0], sum(v for v in x if v > 0)
    ... '''))
    def f(x):
    <BLANKLINE>
        def comprehension(items):
            result = []
            for v in items:
                if v > 0:
                    result.append(v * 2)
            return result
        return (comprehension(x), sum(ag__.generator(lambda v: v, x, condition=lambda v: v > 0)))
    """

    applies_to: frozenset[type] | None = frozenset({gast.comprehension})
    introduces: frozenset[type] = frozenset(
        {
            gast.If,
            gast.For,
            gast.List,
            gast.Call,
            gast.Return,
            gast.Attribute,
            gast.Nonlocal,
            gast.Global,
            gast.AnnAssign,
        }
    )

    def __init__(self, context: Context) -> None:
        self.context = context
        self.made: list[gast.AST] | None = None
        self.declared = Declared()
        self.shared: set[str] = set()
        self.sets = SetNames(context, ())

    def __call__(self, node: gast.AST) -> gast.AST:
        self.sets = SetNames(self.context, walk(node))
        if isinstance(node, gast.Lambda):
            return self.visit_Lambda(node)
        return self.visit_FunctionDef(node)

    def visit_FunctionDef(self, node: gast.AST) -> gast.AST:
        outer = self.made, self.declared, self.shared
        self.made, self.declared, self.shared = None, Declared.in_body(node.body), set()
        node.body = self._block(node.body)
        position = after_declarations(node)
        node.body[position:position] = self.declared.owning(sorted(self.shared), node)
        self.made, self.declared, self.shared = outer
        return node

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_ClassDef(self, node: gast.AST) -> gast.AST:
        """Only its methods: the class's own statements are no function's."""
        for part in definitions_in(node):
            self.visit(part)
        return node

    def visit_Lambda(self, node: gast.AST) -> gast.AST:
        outer, self.made = self.made, None
        self.generic_visit(node)
        self.made = outer
        return node

    def visit_SetComp(self, node: gast.AST) -> gast.AST:
        """A set is made of the list of its elements, one or the other of which may be traced."""
        as_list = placed(gast.ListComp(node.elt, node.generators), node)
        return placed(self.context.call("set_of_list", self.visit(as_list)), node)

    def visit_DictComp(self, node: gast.AST) -> gast.AST:
        """A dict is made of the list of its pairs, likewise."""
        pair = placed(gast.Tuple([node.key, node.value], gast.Load()), node.key)
        as_list = placed(gast.ListComp(pair, node.generators), node)
        return placed(self.context.call("dict_of_list", self.visit(as_list)), node)

    def _stays(self, node: gast.AST) -> gast.AST:
        """What stays: inside it nothing can stand before a statement, and its conditions must be known."""
        outer, self.made = self.made, None
        self.generic_visit(node)
        self.made = outer
        for generator in node.generators:
            generator.ifs = [self._asked(condition) for condition in generator.ifs]
        return node

    def visit_GeneratorExp(self, node: gast.AST) -> gast.AST:
        """A generator that nothing here consumes at once, as the call of a generator function."""
        is_staged = any(map(self._may_be_open, node.generators)) or self._is_to_move(node)
        if self.made is None or not (is_staged and self._can_move(node)):
            return self._stays(node)
        body = gast.Expr(gast.Yield(node.elt))
        return self._moved(node, body, [], None, "generator_expression")

    def _asked(self, condition: gast.AST) -> gast.AST:
        if is_static_test(condition):
            return condition
        self.context.tests.add(condition)
        return placed(self.context.call("python_test", condition, constant("comprehension")), condition)

    def _block(self, statements: list[gast.AST]) -> list[gast.AST]:
        out: list[gast.AST] = []
        for node in statements:
            outer, self.made = self.made, []
            node = self.visit(node) if isinstance(node, gast.FunctionDef | gast.ClassDef) else self._statement(node)
            out += [*self.made, node]
            self.made = outer
        return out

    def _statement(self, node: gast.AST) -> gast.AST:
        if isinstance(node, gast.Assign) and any(isinstance(target, _SEQUENCES) for target in node.targets):
            node.value = self._as_list(node.value)
        for field, value in list(gast.iter_fields(node)):
            if field in _BLOCKS and isinstance(value, list):
                setattr(node, field, self._block(value))
            elif isinstance(value, gast.AST):
                setattr(node, field, self.visit(value))
            elif field in _EXPRESSIONS and isinstance(value, list):
                setattr(node, field, [self.visit(part) for part in value])
        for part in [*getattr(node, "handlers", ()), *getattr(node, "cases", ())]:
            part.body = self._block(part.body)
            if getattr(part, "guard", None) is not None:
                part.guard = self.visit(part.guard)
        return node

    def visit_Call(self, node: gast.AST) -> gast.AST:
        name = node.func.id if isinstance(node.func, gast.Name) and not self.context.is_own_name(node.func.id) else None
        if name is not None and node.args and isinstance(node.args[0], gast.GeneratorExp):
            generator = node.args[0]
            if name in ("any", "all"):
                binds = bool(bound_names([generator]))
                if self.made is not None and (binds or self._runs_code(generator)) and self._can_move(generator):
                    # Still their argument: the module may have another function by that name.
                    node.args[0] = placed(gast.Tuple([self._decided(generator, name)], gast.Load()), generator)
                    return node
                if binds:  # which element decides is to be seen
                    generator.elt = self._asked(generator.elt)
                    return self.generic_visit(node)
                if any(part.ifs for part in generator.generators):
                    self._fold(generator, name)
            if name in REDUCTIONS and self._can_take_apart(generator):
                node.args[0] = taken_apart(self.context, generator)
            elif name in _EAGER or (name == "Counter" and self.sets.is_over_set(generator)):
                node.args[0] = self._as_list(generator)
        elif _is_join(node):
            node.args[0] = self._as_list(node.args[0])
        return self.generic_visit(node)

    def _as_list(self, node: gast.AST) -> gast.AST:
        """The list of what a generator gives that is consumed at once, if it may be staged; any other node as it is."""
        if not isinstance(node, gast.GeneratorExp):
            return node
        as_list = placed(gast.ListComp(node.elt, node.generators), node)
        return as_list if self._is_moved(as_list) or self._is_loop_of_operator(as_list) else node

    def _may_be_open(self, clause: gast.AST) -> bool:
        """Whether this may go over what only the run knows the length of, or a generator."""
        items = clause.iter
        is_called = may_be_generator(items) and not is_range(items)
        return may_be_open(items) and not (is_called and self.context.is_plain_call(items.func))

    def _can_take_apart(self, generator: gast.AST) -> bool:
        """Whether there is reason to take this apart, and it can be."""
        if not self._can_be_lambdas(generator):
            return False
        first, *inner = generator.generators
        is_long = may_be_long(first.iter) or is_view(first.iter)
        return self._is_conditional(generator) or is_long or any(is_range(each.iter) for each in inner)

    def _runs_code(self, generator: gast.AST) -> bool:
        """Whether evaluating an element calls what may be the user's."""
        parts = [generator.elt, *(test for each in generator.generators for test in each.ifs)]
        calls = [part for each in parts for part in gast.walk(each) if isinstance(part, gast.Call)]
        return any(not self.context.is_plain_call(call.func) for call in calls)

    def _decided(self, generator: gast.AST, name: str) -> gast.AST:
        """``any`` or ``all`` as a function that returns at the first element that decides."""
        test = generator.elt if name == "any" else negation(generator.elt)
        body = placed(gast.If(test, [gast.Return(constant(name == "any"))], []), generator.elt)
        return self._moved(generator, body, [], gast.Return(constant(name == "all")), name)

    def _fold(self, generator: gast.AST, name: str) -> None:
        """Make the conditions part of the element, and each loop but the first a call of its own inside it."""
        first, *rest = generator.generators
        if first.is_async:
            return
        if rest:
            inner = placed(gast.GeneratorExp(generator.elt, rest), generator)
            self._fold(inner, name)
            generator.elt = placed(gast.Call(load(name), [inner], []), generator)
            generator.generators = [first]
        if not first.ifs:
            return
        kept = first.ifs if name == "any" else [negation(condition) for condition in first.ifs]
        operator = gast.And() if name == "any" else gast.Or()
        generator.elt = placed(gast.BoolOp(operator, [*kept, generator.elt]), generator.elt)
        first.ifs = []

    def visit_ListComp(self, node: gast.AST) -> gast.AST:
        if not self._is_moved(node) or self._is_over_set(node):
            is_operator = self._is_loop_of_operator(node)
            return self.generic_visit(listed(self.context, node)) if is_operator else self._stays(node)
        if not self._is_loop(node):
            for clause in node.generators:
                clause.iter = placed(self.context.call("one_by_one", clause.iter), clause.iter)
        result = self.context.names.new("result")
        self.context.generated.add(result)
        append = gast.Attribute(load(result), "append", gast.Load())
        body = gast.Expr(gast.Call(append, [node.elt], []))
        start = [assign(result, gast.List([], gast.Load()))]
        return self._moved(node, body, start, gast.Return(load(result)), "comprehension")

    def _is_loop_of_operator(self, node: gast.AST) -> bool:
        """Whether an operator can make this list, and there is reason for it: a condition, or that the loop may be staged."""
        is_staged = any(map(self._may_be_open, node.generators)) and not any(each.ifs for each in node.generators)
        return (is_staged or self._is_conditional(node)) and self._can_be_lambdas(node)

    def _is_over_set(self, node: gast.AST) -> bool:
        """Whether this goes over what is made a set there, of whose elements an operator makes a list without an order."""
        return self.sets.is_over_set(node) and self._is_loop_of_operator(node)

    def _moved(
        self, node: gast.AST, body: gast.AST, start: list[gast.AST], end: gast.AST | None, base: str
    ) -> gast.AST:
        """The call of a function that runs ``body`` for each element."""
        items, name = self.context.names.new("items"), self.context.names.new(base)
        first = self.visit(node.generators[0].iter)
        for k, generator in reversed(list(enumerate(node.generators))):
            for condition in reversed(generator.ifs):
                body = placed(gast.If(condition, [body], []), condition)
            iterable = generator.iter if k else load(items)
            body = placed(gast.For(generator.target, iterable, [body], [], None), generator.target)
        bound = sorted(bound_names([node]))
        made = placed(
            function(name, (items,), [*self.declared.sharing(bound), *start, body, *([] if end is None else [end])]),
            node,
        )
        self.shared.update(bound)
        outer, self.declared = (self.made, self.declared), self.declared.inside(bound)
        made.body = self._block(made.body)
        before, self.declared = outer
        assert before is not None
        if end is None:
            lower_yields(self.context, made, "<genexpr>")
        self.made = [*before, made]
        return placed(gast.Call(load(name), [first], []), node)

    def _is_moved(self, node: gast.AST) -> bool:
        return self.made is not None and self._is_to_move(node) and self._can_move(node)

    def _is_to_move(self, node: gast.AST) -> bool:
        """Whether there is reason to make this a function: what makes it one anyway, or that it may be a loop, and that no operator
        can make it, as a lambda in it sees its names."""
        if self._is_loop(node) or self._holds_moved(node):
            return True
        return any(map(self._may_be_open, node.generators)) and not self._are_own(node)

    def _is_loop(self, node: gast.AST) -> bool:
        """Whether this is a loop in any case: it has a condition, or binds names of the function around."""
        return self._is_conditional(node) or bool(bound_names([node]))

    def _can_move(self, node: gast.AST) -> bool:
        """Whether this can be a function."""
        parts = list(gast.walk(node))
        is_fixed = any(isinstance(part, _SUSPENDS) or getattr(part, "id", "") == "super" for part in parts)
        return not is_fixed and not any(generator.is_async for generator in node.generators)

    def _can_be_lambdas(self, node: gast.AST) -> bool:
        """Whether the element and the conditions can be functions of an item each, and nothing in them is to be a function before a
        statement."""
        return self._are_own(node) and not (self.made is not None and self._holds_moved(node))

    def _holds_moved(self, node: gast.AST) -> bool:
        """Whether a comprehension or generator in this is to be a function, as no operator can make it."""
        # What the first clause goes over stays where it is.
        in_place = set(gast.walk(node.generators[0].iter))
        parts = [part for part in gast.walk(node) if part is not node and part not in in_place]
        consumed = [call.args[0] for call in parts if isinstance(call, gast.Call) and _consumes(call)]
        return any(
            (self._is_loop(part) or any(map(self._may_be_open, part.generators)))
            and not (self._are_own(part) and (not isinstance(part, gast.GeneratorExp) or part in consumed))
            for part in parts
            if isinstance(part, _COMPREHENSIONS)
        )

    def _are_own(self, node: gast.AST) -> bool:
        """Whether no function in the element and the conditions sees the item, and these bind no names of the function around."""
        if bound_names([node]) or not can_be_taken_apart(node) or not self._can_move(node):
            return False
        # What the first clause goes over stays where it is.
        in_place = {part for part in gast.walk(node.generators[0].iter) if isinstance(part, gast.Lambda)}
        return not any(isinstance(part, FUNCTIONS) and part not in in_place for part in gast.walk(node))

    def _is_conditional(self, node: gast.AST) -> bool:
        return any(not is_static_test(test) for generator in node.generators for test in generator.ifs)


def _consumes(call: gast.AST) -> bool:
    """Whether an operator, or a list, takes the place of a generator that this call is given."""
    is_builtin = isinstance(call.func, gast.Name) and call.func.id in _EAGER | REDUCTIONS
    return bool(call.args) and (is_builtin or _is_join(call))


def _is_join(node: gast.AST) -> bool:
    """Whether this is ``" ".join(…)``."""
    called = node.func
    is_method = isinstance(called, gast.Attribute) and called.attr == "join" and isinstance(called.value, gast.Constant)
    return is_method and len(node.args) == 1
