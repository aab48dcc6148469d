"""`LowerJumps`: ``break``, ``continue`` and early ``return`` in; ``if``/``else`` structure and few flags out."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType

import gast

from autograph._analysis.scopes import LOOPS, definitions_in, suspends, walk_scope
from autograph._passes.nodes import Context, any_of, assign, blocks_in, constant, load, negation, placed, rewrite_blocks
from autograph._passes.static_tests import is_endless, is_static_test

# Early returns in a row nest their remainders this deep; from there on they set a flag, so that a function of any
# length stays within Python's limit of indentation.
_DEPTH_LIMIT = 12

_JUMPS = MappingProxyType({gast.Break: "break", gast.Continue: "continue", gast.Return: "return"})


class LowerJumps:
    """Rewrites jumps so that every block runs to its end, and a ``return`` stands only where the function ends.

    What follows a conditional jump becomes the other branch. A flag remains only where a jump leaves a loop; it
    ends the loop by its test. Of a ``break`` at the end of a body no conditional is left in the loop.

    Attributes:
      return_flag, return_value: names of the function's flag and value for returns that leave loops, once used.
      loops: the enclosing loops' flags, innermost last.

    >>> from autograph._passes.shown import rewritten
    >>> print(rewritten(LowerJumps, '''
    ... def f(x):
    ...     while True:
    ...         x = x / 2
    ...         if x < 1:
    ...             break
    ...     if x > 0:
    ...         return x
    ...     return -x
    ... '''))
    def f(x):
        did_break = False
        while not did_break:
            x = x / 2
            did_break = x < 1
        if x > 0:
            return x
        else:
            return -x
    """

    applies_to: frozenset[type] | None = frozenset({gast.Return, gast.Break, gast.Continue, gast.For, gast.While})
    introduces: frozenset[type] = frozenset({gast.If})

    def __init__(self, context: Context) -> None:
        self.context = context
        self.return_flag: str | None = None
        self.return_value: str | None = None
        self.loops: list[_LoopFlags] = []
        self._escapes: dict[gast.AST, frozenset[str]] = {}

    def __call__(self, function: gast.AST) -> gast.AST:
        if not isinstance(function, gast.Lambda):
            self.function(function)
        return function

    def function(self, node: gast.AST) -> None:
        # A jump in `finally` discards the exception in flight, which no flag can do, and an asynchronous generator
        # cannot return what a flag would have it return: such functions keep their jumps.
        if _yields_async(node) or any(
            self._escapes_of(part.finalbody) for part in walk_scope(node.body) if hasattr(part, "finalbody")
        ):
            self.context.keeps_jumps.add(node)
            node.body = self._without_else(node.body)
            for part in walk_scope(node.body):
                if isinstance(part, gast.FunctionDef | gast.AsyncFunctionDef | gast.ClassDef):
                    self.inner(part)
            return
        body = self.tail(node.body, 0)
        if self.return_flag is not None:
            start = 1 if gast.get_docstring(node) is not None else 0
            body.insert(start, placed(assign(self.return_flag, constant(False)), node.body[0]))
        node.body = body

    def _without_else(self, statements: Sequence[gast.AST]) -> list[gast.AST]:
        """Statements whose jumps stay, with the ``else`` of each loop that no ``break`` leaves after the loop."""
        out: list[gast.AST] = []
        for node in statements:
            out.append(node)
            if isinstance(node, gast.FunctionDef | gast.AsyncFunctionDef | gast.ClassDef):
                continue
            rewrite_blocks(node, self._without_else)
            if isinstance(node, LOOPS) and "break" not in self._inside(node):
                out += node.orelse
                node.orelse = []
        return out

    # Blocks at whose end the function ends: here a return stays a return.

    def tail(self, statements: Sequence[gast.AST], depth: int) -> list[gast.AST]:
        out: list[gast.AST] = []
        pending = list(statements)
        while pending:
            node = pending.pop(0)
            if isinstance(node, gast.Return):
                return [*out, node, *_making_generator(pending)]
            if isinstance(node, LOOPS):
                returns = "return" in self.escapes(node)
                endless = _never_falls_through(node) and "break" not in self._inside(node)
                lowered, follow = self.loop(node)
                out += lowered
                pending = follow + pending
                if returns:
                    return out + self._return_if_flagged(node, pending, depth, endless)
            elif not self.escapes(node):
                out += self.inner(node)
            elif isinstance(node, gast.If) and depth < _DEPTH_LIMIT and self._structured_if(node, pending, depth):
                out.append(node)
                if not (is_static_test(node.test) and not node.orelse):
                    return out
            elif not pending and self._tail_compound(node, depth):
                return [*out, node]
            else:
                out += self._flagged(node)
                return out + self._return_if_flagged(node, pending, depth, False)
        return out

    def _structured_if(self, node: gast.AST, rest: list[gast.AST], depth: int) -> bool:
        """Turn ``if`` with returns, plus what follows it, into branches that both return.

        False where that would copy code.
        """
        if _exits(node.body) and is_static_test(node.test) and not node.orelse:
            node.body = self.tail(node.body, depth + 1)  # stays a Python `if`; what follows stays after it
        elif _exits(node.body):
            node.body, node.orelse = (
                self.tail(node.body, depth + 1),
                self.completed(node.orelse + rest, depth + 1, node),
            )
        elif _exits(node.orelse):
            node.body, node.orelse = (
                self.completed(node.body + rest, depth + 1, node),
                self.tail(node.orelse, depth + 1),
            )
        elif not rest:
            node.body = self.completed(node.body, depth + 1, node)
            node.orelse = self.completed(node.orelse, depth + 1, node)
        else:
            return False
        return True

    def _tail_compound(self, node: gast.AST, depth: int) -> bool:
        """Keep returns inside a ``with``, ``try`` or ``match`` that ends the function. False where flags are needed."""
        if node in self.context.managed:
            return False
        if isinstance(node, gast.With | gast.AsyncWith):
            node.body = self.tail(node.body, depth + 1)
        elif isinstance(node, gast.Match):
            for case in node.cases:
                case.body = self.tail(case.body, depth + 1)
        elif hasattr(node, "handlers") and not node.orelse and not self._escapes_of(node.finalbody):
            node.body = self.tail(node.body, depth + 1)
            for handler in node.handlers:
                handler.body = self.tail(handler.body, depth + 1)
            node.finalbody = self.structure(node.finalbody, False, 0)
        else:
            return False
        return True

    def completed(self, statements: Sequence[gast.AST], depth: int, like: gast.AST) -> list[gast.AST]:
        """`tail`, with Python's implicit ``return None`` written out."""
        body = self.tail(statements, depth)
        if not _exits(body):
            body.append(placed(gast.Return(None), body[-1] if body else like))
        return body

    def _return_if_flagged(self, node: gast.AST, rest: list[gast.AST], depth: int, endless: bool) -> list[gast.AST]:
        give = placed(gast.Return(load(self._return_names()[1])), node)
        if endless:
            return [give, *_making_generator(rest)]
        flag = self._return_names()[0]
        if depth >= _DEPTH_LIMIT:
            start = placed(assign(self._return_names()[1], constant(None)), node)
            guarded = self.flat([*rest, placed(gast.Return(None), node)], (flag,))
            return [placed(gast.If(negation(load(flag)), [start], []), node), *guarded, give]
        remainder = self.completed(rest, depth + 1, node)
        return [placed(gast.If(load(flag), [give], remainder), node)]

    # Blocks with something after them: a jump sets its flag, and what it skips becomes the other branch.

    def structure(self, statements: Sequence[gast.AST], ends_iteration: bool, depth: int) -> list[gast.AST]:
        out: list[gast.AST] = []
        pending = list(statements)
        while pending:
            node = pending.pop(0)
            if type(node) in _JUMPS:
                out += [*self._jump(node, ends_iteration), *_making_generator(pending)]
                return out or [placed(gast.Pass(), node)]
            if isinstance(node, LOOPS):
                kinds = self.escapes(node)
                lowered, follow = self.loop(node)
                out += lowered
                pending = follow + pending
            elif not (kinds := self.escapes(node)):
                out += self.inner(node)
                continue
            elif self._is_plain_break(node):
                flag = self._break_flag()
                out.append(placed(assign(flag, self.context.truth(node.test)), node, node.test))
                kinds = frozenset({"break"})
            elif isinstance(node, gast.If) and depth < _DEPTH_LIMIT and self._balanced_if(node, pending):
                if _exits(node.orelse) and not _exits(node.body):
                    node.body = node.body + pending
                else:
                    node.orelse = node.orelse + pending
                node.body = self.structure(node.body, ends_iteration, depth + 1)
                node.orelse = self.structure(node.orelse, ends_iteration, depth + 1)
                return [*out, node]
            else:
                out += self._flagged(node, ends_iteration and not pending)
            if kinds and pending:
                flags = self._flags_of(kinds)
                if depth >= _DEPTH_LIMIT:
                    return out + self.flat(pending, flags)
                # A return on every path is to be known while tracing: not all that follows may stand without it.
                known = kinds == {"return"} and _returns(pending)
                otherwise = [placed(assign(flags[0], constant(True)), node)] if known else []
                body = self.structure(pending, ends_iteration, depth + 1)
                return [*out, self._guard(flags, body, otherwise, node)]
        return out

    def flat(self, statements: Sequence[gast.AST], flags: tuple[str, ...]) -> list[gast.AST]:
        """`structure` without nesting: each stretch up to the next jump stands under its own test of the flags."""
        out: list[gast.AST] = []
        stretch: list[gast.AST] = []
        for k, node in enumerate(statements):
            stretch.append(node)
            kinds = self.escapes(node)
            if kinds or k == len(statements) - 1:
                out.append(self._guard(flags, self.structure(stretch, False, 0), [], stretch[0]))
                flags = tuple(dict.fromkeys([*flags, *self._flags_of(kinds)]))
                stretch = []
        return out

    def inner(self, node: gast.AST) -> list[gast.AST]:
        """A statement that no jump leaves: lower what is inside its blocks."""
        if isinstance(node, LOOPS):
            lowered, follow = self.loop(node)
            return lowered + [part for statement in follow for part in self.inner(statement)]
        if isinstance(node, gast.FunctionDef | gast.AsyncFunctionDef):
            LowerJumps(self.context).function(node)
        elif isinstance(node, gast.ClassDef):
            for part in definitions_in(node):  # the body's own jumps stay: a flag would be an attribute of the class
                self.inner(part)
        else:
            self._in_blocks(node, False)
        return [node]

    def loop(self, node: gast.AST) -> tuple[list[gast.AST], list[gast.AST]]:
        """Lower one loop. Returns the statements for it, and what its ``else`` puts in front of what follows."""
        returns = "return" in self.escapes(node)
        self.loops.append(_LoopFlags())
        body = self.structure(node.body, True, 0)
        flags = self.loops.pop()
        exits = [name for name in (flags.break_flag, self._return_names()[0] if returns else None) if name]
        if flags.continue_flag is not None:
            body.insert(0, placed(assign(flags.continue_flag, constant(False)), node))
        node.body = body or [placed(gast.Pass(), node)]
        if exits and suspends([node]):
            node.body.append(placed(gast.If(any_of(exits), [gast.Break()], []), node))
        elif exits and isinstance(node, gast.While):
            stop = negation(any_of(exits))
            node.test = placed(stop if is_endless(node) else gast.BoolOp(gast.And(), [stop, node.test]), node.test)
        elif exits:
            self.context.exit_flags[node] = tuple(exits)
        follow = list(node.orelse)
        if follow and flags.break_flag is not None:
            follow = [placed(gast.If(negation(load(flags.break_flag)), follow, []), follow[0])]
        node.orelse = []
        start = [placed(assign(flags.break_flag, constant(False)), node)] if flags.break_flag else []
        return [*start, node], follow

    # Pieces.

    def _guard(self, flags: Sequence[str], body: list[gast.AST], orelse: list[gast.AST], like: gast.AST) -> gast.AST:
        """The conditional whose body runs where no jump has set one of these flags."""
        guard = placed(gast.If(negation(any_of(flags)), body, orelse), like)
        if self.return_flag in flags:
            self.context.before_return[guard] = self._return_names()[1]
        return guard

    def _jump(self, node: gast.AST, ends_iteration: bool) -> list[gast.AST]:
        if isinstance(node, gast.Return):
            flag, value = self._return_names()
            result = node.value if node.value is not None else constant(None)
            return [placed(part, node) for part in (assign(value, result), assign(flag, constant(True)))]
        if isinstance(node, gast.Break):
            return [placed(assign(self._break_flag(), constant(True)), node)]
        return [] if ends_iteration else [placed(assign(self._continue_flag(), constant(True)), node)]

    def _flagged(self, node: gast.AST, ends_iteration: bool = False) -> list[gast.AST]:
        self._in_blocks(node, ends_iteration)
        return [node]

    def _in_blocks(self, node: gast.AST, ends_iteration: bool) -> None:
        ends_iteration = ends_iteration and isinstance(node, gast.If)
        leaves_body = self._escapes_of(node.body) if hasattr(node, "handlers") else frozenset()
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if isinstance(block, list) and block and isinstance(block[0], gast.stmt):
                setattr(node, field, self.structure(block, ends_iteration, 0))
        if leaves_body and node.orelse:  # Python skips the `else` of a `try` that a jump leaves
            flags = self._flags_of(leaves_body)
            node.orelse = [self._guard(flags, node.orelse, [], node.orelse[0])]
        for part in [*getattr(node, "handlers", ()), *getattr(node, "cases", ())]:
            part.body = self.structure(part.body, False, 0)

    def _balanced_if(self, node: gast.AST, rest: list[gast.AST]) -> bool:
        return not rest or _exits(node.body) or _exits(node.orelse)

    def _is_plain_break(self, node: gast.AST) -> bool:
        return (
            isinstance(node, gast.If)
            and not node.orelse
            and len(node.body) == 1
            and isinstance(node.body[0], gast.Break)
        )

    def _return_names(self) -> tuple[str, str]:
        if self.return_flag is None or self.return_value is None:
            self.return_flag = self.context.names.new("did_return")
            self.return_value = self.context.names.new("return_value")
            self.context.result_names.add(self.return_value)
        return self.return_flag, self.return_value

    def _break_flag(self) -> str:
        loop = self.loops[-1]
        loop.break_flag = loop.break_flag or self.context.names.new("did_break")
        return loop.break_flag

    def _continue_flag(self) -> str:
        loop = self.loops[-1]
        loop.continue_flag = loop.continue_flag or self.context.names.new("did_continue")
        return loop.continue_flag

    def _flags_of(self, kinds: frozenset[str]) -> tuple[str, ...]:
        return tuple(self._flag_of(kind) for kind in sorted(kinds))

    def _flag_of(self, kind: str) -> str:
        if kind == "return":
            return self._return_names()[0]
        return self._break_flag() if kind == "break" else self._continue_flag()

    def escapes(self, node: gast.AST) -> frozenset[str]:
        """The kinds of jump that may leave ``node``, as it was written."""
        if node in self._escapes:
            return self._escapes[node]
        if type(node) in _JUMPS:
            kinds = frozenset({_JUMPS[type(node)]})
        elif isinstance(node, LOOPS):
            kinds = (self._inside(node) & {"return"}) | self._escapes_of(node.orelse)
        elif isinstance(node, gast.FunctionDef | gast.AsyncFunctionDef | gast.ClassDef):
            kinds = frozenset()
        else:
            kinds = frozenset().union(*(self._escapes_of(block) for _, _, block in blocks_in(node)))
        self._escapes[node] = kinds
        return kinds

    def _escapes_of(self, statements: Sequence[gast.AST]) -> frozenset[str]:
        return frozenset().union(*(self.escapes(s) for s in statements if isinstance(s, gast.stmt)))

    def _inside(self, loop: gast.AST) -> frozenset[str]:
        return self._escapes_of(loop.body)


class _LoopFlags:
    """The flag names of one loop, None until a jump needs them."""

    def __init__(self) -> None:
        self.break_flag: str | None = None
        self.continue_flag: str | None = None


def _yields_async(node: gast.AST) -> bool:
    return isinstance(node, gast.AsyncFunctionDef) and any(isinstance(p, gast.Yield) for p in walk_scope(node.body))


def _making_generator(statements: Sequence[gast.AST]) -> list[gast.AST]:
    """Of statements that are never reached, one that suspends: it makes the function a generator all the same."""
    kinds = (gast.Yield, gast.YieldFrom)
    found = [part for part in walk_scope(statements) if isinstance(part, kinds)][:1]
    return [placed(gast.If(constant(False), [gast.Expr(part)], []), part) for part in found]


def _exits(statements: Sequence[gast.AST]) -> bool:
    """Whether control never runs off the end of these statements."""
    for node in statements:
        if isinstance(node, gast.Return | gast.Raise | gast.Break | gast.Continue):
            return True
        if isinstance(node, gast.If) and _exits(node.body) and _exits(node.orelse):
            return True
    return False


def _returns(statements: Sequence[gast.AST]) -> bool:
    """Whether a ``return`` is on every path through these statements, if no manager suppresses an exception."""
    return any(map(_statement_returns, statements))


def _statement_returns(node: gast.AST) -> bool:
    if isinstance(node, gast.If):
        return _returns(node.body) and _returns(node.orelse)
    if isinstance(node, gast.With | gast.AsyncWith):
        return _returns(node.body)
    if isinstance(node, gast.Match):
        return _is_wildcard(node.cases[-1]) and all(_returns(case.body) for case in node.cases)
    if hasattr(node, "handlers"):
        return (_returns(node.body) or _returns(node.orelse)) and all(map(_returns, (h.body for h in node.handlers)))
    return isinstance(node, gast.Return)


def _is_wildcard(case: gast.AST) -> bool:
    return isinstance(case.pattern, gast.MatchAs) and case.pattern.pattern is None and case.guard is None


def _never_falls_through(node: gast.AST) -> bool:
    return isinstance(node, gast.While) and isinstance(node.test, gast.Constant) and bool(node.test.value)
