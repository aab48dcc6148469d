"""`OutlineControlFlow`: ``if``, ``for``, ``while`` and ``try`` in; named bodies and one operator call each out."""

from __future__ import annotations

from collections.abc import Sequence, Set

import gast

from autograph._analysis.children import walk
from autograph._analysis.liveness import Liveness, liveness
from autograph._analysis.python_only import python_only
from autograph._analysis.scopes import (
    FUNCTIONS,
    LOOPS,
    Scope,
    bound_names,
    contains,
    definitions_in,
    read_names,
    scope_of,
    suspends,
    suspends_in,
    walk_scope,
)
from autograph._passes.nodes import (
    Context,
    any_of,
    assign,
    constant,
    function,
    load,
    names_tuple,
    negation,
    placed,
    rewrite_blocks,
    store,
    thunk,
)
from autograph._passes.static_tests import is_endless, is_static_test

_JUMPS = (gast.Return, gast.Break, gast.Continue)
TRIES = (gast.Try, *((gast.TryStar,) if hasattr(gast, "TryStar") else ()))


class OutlineControlFlow:
    """Moves the blocks of control flow statements into nested functions that share variables through closure cells.

    A block shares (declares ``nonlocal``) the variables that it binds and that are live around it; others are its own
    temporaries. The tuple names the state: what the statement binds and a later read may see. Statements that suspend
    (``yield``, ``await``) stay Python's, and only their tests are looked at; where tests are always Python bools, all
    stays as it is.

    >>> from autograph._passes.shown import rewritten
    >>> print(rewritten(OutlineControlFlow, '''
    ... def f(x):
    ...     if x > 0:
    ...         y = x
    ...     else:
    ...         y = -x
    ...     for i in range(3):
    ...         y = y + i
    ...     return y
    ... '''))
    def f(x):
        y: object
    <BLANKLINE>
        def if_body():
            nonlocal y
            y = x
    <BLANKLINE>
        def else_body():
            nonlocal y
            y = -x
        ag__.if_stmt(x > 0, if_body, else_body, ('y',))
    <BLANKLINE>
        def loop_body(i):
            nonlocal y
            y = y + i
        ag__.for_stmt(range(3), loop_body, ('y',))
        return y
    """

    applies_to: frozenset[type] | None = frozenset({gast.If, gast.For, gast.While, gast.With, *TRIES})
    introduces: frozenset[type] = frozenset()

    def __init__(self, context: Context) -> None:
        self.context = context

    def __call__(self, node: gast.AST) -> gast.AST:
        if not isinstance(node, gast.Lambda):
            live = liveness(node.body, self.context.exit_flags, self.context.loop_options)
            _Outliner(self.context, scope_of(node), live).function(node)
        return node


class _Frame:
    """The Python function whose block is being rewritten: which names it binds itself, which it shares with one
    outside.
    """

    def __init__(self, bound: set[str], shared: frozenset[str]) -> None:
        self.bound = bound
        self.shared = shared


class _Outliner:
    """Rewrites one function of the user's.

    Attributes:
      scope, live: facts about the function.
      kinds, suspends, has_python_only: which nodes are in it, whether it suspends, and whether anything in it keeps loops from
        being rolled: what is nowhere in the function is not looked for in each statement.
      frame: where statements go now.
      keeps_jumps: whether its jumps stay.
    """

    def __init__(self, context: Context, scope: Scope, live: Liveness) -> None:
        self.context = context
        self.scope = scope
        self.live = live
        self.frame = _Frame(set(scope.parameters), scope.nonlocal_names | scope.global_names)
        self.keeps_jumps = False
        self.kinds: set[type] = set()
        self.suspends = self.has_python_only = False

    def function(self, node: gast.AST) -> None:
        self.keeps_jumps = node in self.context.keeps_jumps
        parts = walk_scope(node.body)
        self.kinds = set(map(type, parts))
        self.suspends = suspends_in(parts)
        self.has_python_only = python_only(node.body) is not None
        node.body = self.block(node.body)

    def block(self, statements: Sequence[gast.AST]) -> list[gast.AST]:
        return [part for statement in statements for part in self.statement(statement)]

    def statement(self, node: gast.AST) -> list[gast.AST]:
        if isinstance(node, gast.FunctionDef | gast.AsyncFunctionDef):
            OutlineControlFlow(self.context)(node)
        elif isinstance(node, gast.ClassDef):
            for part in definitions_in(node):
                if isinstance(part, gast.ClassDef):
                    self.statement(part)
                else:
                    OutlineControlFlow(self.context)(part)
            self.frame.bound.add(node.name)
            return [node]
        elif isinstance(node, gast.If) and not self._stays_python(node) and not is_static_test(node.test):
            return self.conditional(node)
        elif isinstance(node, LOOPS) and not self._stays_python(node):
            is_static = isinstance(node, gast.While) and is_static_test(node.test) and not is_endless(node)
            if not is_static or node in self.context.loop_options:
                return self.loop(node)
        elif isinstance(node, gast.Try) and not self._is_kept(node):
            return self.attempt(node)
        elif node in self.context.managed and not self._is_kept(node):
            return self.managed(node)
        if isinstance(node, gast.If | gast.While) and self._is_kept(node) and not is_static_test(node.test):
            self.context.tests.add(node.test)
            node.test = placed(self.context.call("python_test", node.test, constant(_why_kept(node))), node.test)
        if node in self.context.loop_options:
            # A jump out of `finally` leaves this loop, so it stays Python's.
            node.body.insert(0, placed(gast.Expr(self.context.call("misplaced_loop_options")), node.body[0]))
        kept = self._in_place(node)
        return [self._surrounded(kept) if isinstance(kept, TRIES) else kept]

    def _surrounded(self, node: gast.AST) -> gast.AST:
        """A ``try`` that stays Python's: no exception of the program passes through it unseen."""
        if node.handlers:
            node.body = [self._inside("handlers", node.body)]
        if not node.finalbody or suspends([node]):
            return node
        node.finalbody = [self._inside("finally_block", node.finalbody)]
        return self._inside("tried", [node])

    def _inside(self, manager: str, body: list[gast.AST]) -> gast.AST:
        return placed(gast.With([gast.withitem(self.context.call(manager), None)], body, None), body[0])

    def _in_place(self, node: gast.AST) -> gast.AST:
        """A statement that stays: rewrite the blocks it holds, in this frame."""
        if isinstance(node, gast.FunctionDef | gast.AsyncFunctionDef | gast.ClassDef):
            self.frame.bound.add(node.name)
            return node
        rewrite_blocks(node, self.block)
        if not isinstance(node, (gast.If, *LOOPS, gast.With, gast.AsyncWith, gast.Match)) and not hasattr(
            node, "handlers"
        ):
            self.frame.bound |= bound_names([node])
        return node

    def _stays_python(self, node: gast.AST) -> bool:
        return self._is_kept(node) or (isinstance(node, gast.If) and self._has(node, gast.Break, gast.Continue))

    def _is_kept(self, node: gast.AST) -> bool:
        return (self.suspends and suspends([node])) or (self.keeps_jumps and contains([node], _JUMPS))

    def _has(self, node: gast.AST, *kinds: type) -> bool:
        """Whether a statement has nodes of these kinds in its scope."""
        return not self.kinds.isdisjoint(kinds) and contains([node], kinds)

    # Statements.

    def conditional(self, node: gast.AST) -> list[gast.AST]:
        assigned = bound_names([*node.body, *node.orelse])
        returned = self.context.before_return.get(node)
        if returned is not None:
            assigned.add(returned)
        returns = self._has(node, gast.Return)
        state, shared = self._state(node, assigned, frozenset())
        state = self._still_read(state) if returns else state
        if_body = self._body("if_body", (), node.body, shared, node, also=set() if returned is None else {returned})
        else_body = self._body("else_body", (), node.orelse, shared, node) if node.orelse else None
        self.context.tests.add(node.test)
        call = self.context.call(
            "if_stmt",
            node.test,
            load(if_body.name),
            load(else_body.name) if else_body is not None else constant(None),
            names_tuple(state),
            **self._result(state),
            **({"before_return": constant(True)} if returned in state else {}),
        )
        statement = gast.Return(call) if returns else gast.Expr(call)
        bodies = [if_body] if else_body is None else [if_body, else_body]
        return [*self._declared(shared, node), *bodies, placed(statement, node, node.test)]

    def _still_read(self, state: Sequence[str]) -> list[str]:
        """Of the state of a statement that returns, what others may read: nothing follows in this function."""
        seen_from_outside = self.scope.global_names | self.scope.nonlocal_names | self.scope.captured
        return [name for name in state if name in seen_from_outside]

    def attempt(self, node: gast.AST) -> list[gast.AST]:
        """A ``try``: its blocks, and for each handler its classes and whether it may ask for the exception."""
        others = [*node.handlers, *node.orelse, *node.finalbody]
        assigned = bound_names([node])
        met = assigned & read_names(others)
        state, shared = self._state(node, assigned, frozenset())
        returns = self._has(node, gast.Return)
        state = self._still_read(state) if returns else state
        found = sorted(met - set(state))
        shared = frozenset(shared | met)
        parts = [self._body("try_body", (), node.body, shared, node)]
        clauses: list[gast.AST] = []
        for handler in node.handlers:
            parts.append(self._handler(handler, shared))
            asks = handler.name is not None or contains(handler.body, gast.Raise)
            kinds = constant(None) if handler.type is None else thunk(handler.type)
            clauses.append(gast.Tuple([kinds, load(parts[-1].name), constant(asks)], gast.Load()))
        blocks = [load(parts[0].name), gast.Tuple(clauses, gast.Load())]
        for name, block in (("else_body", node.orelse), ("finally_body", node.finalbody)):
            if block:
                parts.append(self._body(name, (), block, shared, node))
            blocks.append(load(parts[-1].name) if block else constant(None))
        call = self.context.call("try_stmt", *blocks, names_tuple(state), names_tuple(found), **self._result(state))
        statement = gast.Return(call) if returns else gast.Expr(call)
        return [*self._declared(shared, node), *parts, placed(statement, node)]

    def managed(self, node: gast.AST) -> list[gast.AST]:
        """A ``with`` of one manager, whose body takes what the manager is bound to."""
        (item,) = node.items
        assigned = bound_names([node])
        state, shared = self._state(node, assigned, frozenset())
        target = item.optional_vars
        if isinstance(target, gast.Name) and target.id not in shared:
            body = self._body("with_body", (target.id,), node.body, shared, node)
        else:
            value = self.context.names.new("value")
            bind = [] if target is None else [placed(gast.Assign([target], load(value), None), target)]
            body = self._body("with_body", (value,), [*bind, *node.body], shared, node)
        found = names_tuple(sorted((assigned & shared) - set(state)))
        arguments = [item.context_expr, load(body.name), names_tuple(state), found]
        call = self.context.call("with_stmt", *arguments, **self._result(state))
        return [*self._declared(shared, node), body, placed(gast.Expr(call), node, item.context_expr)]

    def _handler(self, handler: gast.AST, shared: frozenset[str]) -> gast.AST:
        name = None if handler.name is None else getattr(handler.name, "id", handler.name)
        if name is not None and name not in shared:
            return self._body("except_body", (name,), handler.body, shared, handler)
        error = self.context.names.new("error")
        body = handler.body
        if name is not None:  # after the handler it has no value
            # As Python: the block may have deleted it.
            unbind = [assign(name, constant(None)), gast.Delete([gast.Name(name, gast.Del(), None, None)])]
            end = [] if _leaves(body) else [placed(each, handler) for each in unbind]
            body = [placed(assign(name, load(error)), handler), *body, *end]
        return self._body("except_body", (error,), body, shared, handler)

    def loop(self, node: gast.AST) -> list[gast.AST]:
        is_while = isinstance(node, gast.While)
        header = [node.test] if is_while else [node.target]
        assigned = bound_names([*header, *node.body])
        named = bound_names([node.test]) if is_while else set()
        handed_over = named & read_names(node.body) if named else named
        state, shared = self._state(node, assigned, self.live.before[node] | handed_over)
        parts: list[gast.AST] = []
        flags = self.context.exit_flags.get(node, ())
        if is_while or flags:
            test = node.test if is_while else negation(any_of(flags))
            self.context.tests.add(test)
            parts.append(
                self._body("loop_test", (), [placed(gast.Return(test), node, header[0])], shared, node, rewrite=False)
            )
        if is_while:
            loop_body = self._body("loop_body", (), node.body, shared, node)
            arguments = [load(parts[0].name), load(loop_body.name), names_tuple(state)]
            call = self.context.call("while_stmt", *arguments, **self._result(state), **self._options(node))
        else:
            loop_body = self._for_body(node, shared)
            arguments = [node.iter, load(loop_body.name), names_tuple(state)]
            tests = (load(part.name) for part in parts)
            keywords = self._result(state) | self._options(node) | self._kept(node, bool(flags))
            call = self.context.call("for_stmt", *arguments, *tests, **keywords)
        parts.append(loop_body)
        end = node.test if is_while else node.iter
        return [*self._declared(shared, node), *parts, placed(gast.Expr(call), node, end)]

    def _for_body(self, node: gast.AST, shared: frozenset[str]) -> gast.AST:
        target = node.target
        if isinstance(target, gast.Name) and target.id not in shared:
            return self._body("loop_body", (target.id,), node.body, shared, node)
        item = self.context.names.new("item")
        bind = placed(gast.Assign([target], load(item), None), target)
        return self._body("loop_body", (item,), [bind, *node.body], shared, node)

    # Variables.

    def _state(
        self, node: gast.AST, assigned: set[str], live_at_head: frozenset[str]
    ) -> tuple[list[str], frozenset[str]]:
        """The names that are state of the statement, in order, and those that its blocks share with this frame."""
        declared = self.scope.global_names | self.scope.nonlocal_names
        if self.scope.dynamic:
            return sorted(assigned), frozenset(assigned)
        escaping = self._captured_outside(node) | self._captured_and_kept(node) | declared
        state = assigned & (self.live.after[node] | live_at_head | escaping)
        shared = assigned & (
            self.live.after[node] | self.live.before[node] | live_at_head | self.scope.captured | declared
        )
        return sorted(state), frozenset(shared)

    def _result(self, state: Sequence[str]) -> dict[str, gast.AST]:
        """The keyword that names, among the state, what a ``return`` in a loop returns: it is read only once it
        is set.
        """
        names = [name for name in state if name in self.context.result_names]
        return {"result": constant(names[0])} if names else {}

    def _options(self, node: gast.AST) -> dict[str, gast.AST]:
        """The keywords for a loop's directive, and for what in it keeps it from being rolled."""
        keywords = {}
        if node in self.context.loop_options:
            keywords["options"] = self.context.loop_options[node]
        inside = node.body if isinstance(node, gast.For) else [node.test, *node.body]
        if self.has_python_only and (reason := python_only(inside)) is not None:
            keywords["python_only"] = constant(reason)
        return keywords

    def _kept(self, node: gast.AST, may_be_left: bool) -> dict[str, gast.AST]:
        """The keyword for a loop over what its body, or a later read, may see: it may be a generator to be resumed."""
        lasting = self.live.after[node] | self.scope.captured | self.scope.nonlocal_names | self.scope.global_names
        if isinstance(node.iter, gast.Name):
            is_kept = (may_be_left and node.iter.id in lasting) or _is_given_away(node.iter.id, node.body)
        else:
            is_kept = may_be_left and isinstance(node.iter, gast.Attribute | gast.Subscript)
        return {"is_kept": constant(True)} if is_kept else {}

    def _captured_outside(self, node: gast.AST) -> frozenset[str]:
        """Names held by a closure made outside this statement: it may be called, and read them, at any time."""
        if not self.scope.captures:
            return frozenset()
        inside = set(walk_scope([node]))
        return frozenset().union(*(names for closure, names in self.scope.captures if closure not in inside))

    def _captured_and_kept(self, node: gast.AST) -> frozenset[str]:
        """Names held by functions made inside this statement that may outlive it."""
        if not self.scope.captures:
            return frozenset()
        made = {closure: names for closure, names in self.scope.captures if isinstance(closure, FUNCTIONS)}
        inside = walk_scope([node])
        here = [part for part in inside if part in made]
        if not here:
            return frozenset()
        called = self._called(inside)
        names = {part.id for part in inside if isinstance(part, gast.Name) and part not in called} | self.live.after[
            node
        ]
        for part in inside:
            if isinstance(part, gast.Assign) and all(
                isinstance(t, gast.Name) and t.id not in names for t in part.targets
            ):
                called.add(part.value)
        kept = (part for part in here if (part.name in names if hasattr(part, "name") else part not in called))
        return frozenset().union(*(made[closure] for closure in kept))

    def _called(self, nodes: Sequence[gast.AST]) -> set[gast.AST]:
        """What is called among the nodes, handed to a call that keeps nothing, or bound."""
        found: set[gast.AST] = set()
        for part in nodes:
            if isinstance(part, gast.Name) and not isinstance(part.ctx, gast.Load):
                found.add(part)
            if isinstance(part, gast.Call):
                found.add(part.func)
                if not self._may_keep(part.func):
                    found.update(part.args, (keyword.value for keyword in part.keywords))
        return found

    def _may_keep(self, called: gast.AST) -> bool:
        """Whether a call may store what it is given: a method of a variable, or a function of the user's, say."""
        while isinstance(called, gast.Attribute):
            called = called.value
        return isinstance(called, gast.Name) and (
            called.id == self.context.operators
            or called.id in self.context.generated
            or self.context.is_own_name(called.id)
        )

    def _declared(self, shared: frozenset[str], node: gast.AST) -> list[gast.AST]:
        """Bare annotations for names that this frame owns but has not bound: they make the names local and bind
        nothing.
        """
        missing = sorted(shared - self.frame.bound - self.frame.shared)
        self.frame.bound |= set(missing)
        return [placed(gast.AnnAssign(store(name), load("object"), None, 1), node) for name in missing]

    def _body(
        self,
        base: str,
        parameters: tuple[str, ...],
        statements: Sequence[gast.AST],
        shared: frozenset[str],
        like: gast.AST,
        rewrite: bool = True,
        also: Set[str] = frozenset(),
    ) -> gast.AST:
        """The nested function for a block, its ``nonlocal`` and ``global`` declarations first.

        ``also`` are names that it has to share, though it does not assign them.
        """
        assigned = bound_names(statements) | also
        global_names = sorted(assigned & self.scope.global_names)
        nonlocal_names = sorted((assigned & shared) - self.scope.global_names)
        name = self.context.names.new(base)
        self.context.generated.add(name)
        outer = self.frame
        self.frame = _Frame(set(parameters), frozenset(nonlocal_names) | self.scope.global_names)
        body = self.block(statements) if rewrite else list(statements)
        self.frame = outer
        if self.scope.dynamic and contains(statements, gast.Call):  # who looks at this frame must see every variable
            names = sorted(self.scope.bound)
            body.insert(0, gast.Expr(thunk(gast.Tuple([load(name) for name in names], gast.Load()))))
        declarations = [gast.Global(global_names)] if global_names else []
        declarations += [gast.Nonlocal(nonlocal_names)] if nonlocal_names else []
        return placed(function(name, parameters, [*declarations, *body]), like)


def _leaves(statements: Sequence[gast.AST]) -> bool:
    return bool(statements) and isinstance(statements[-1], gast.Return | gast.Raise)


def _why_kept(node: gast.AST) -> str:
    """What keeps a statement Python's, by the name of its reason in `ag__.python_test`."""
    if contains([node], (gast.Yield, gast.YieldFrom)):
        return "yield"
    return "await" if suspends([node]) else "finally"


def _is_given_away(name: str, statements: Sequence[gast.AST]) -> bool:
    """Whether statements do more with a variable than read items or attributes of what it holds."""
    parts = [part for statement in statements for part in walk(statement)]
    owners = {id(part.value) for part in parts if isinstance(part, gast.Subscript | gast.Attribute)}
    return any(isinstance(part, gast.Name) and part.id == name and id(part) not in owners for part in parts)
