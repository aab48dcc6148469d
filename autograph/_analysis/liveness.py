"""Which variables may be read later: one backward walk over a structured function body.

The result answers, for each compound statement, which names may be read after it and, for loops, which may be read
by a further iteration. Names that a nested function captures are treated by the reader of this table (see
`autograph._passes.outline`), not here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import gast

from autograph._analysis.scopes import LOOPS, bound_and_read, bound_names, read_names

_COMPOUND = (
    gast.If,
    *LOOPS,
    gast.With,
    gast.AsyncWith,
    gast.Try,
    gast.Match,
    *((gast.TryStar,) if hasattr(gast, "TryStar") else ()),
)


@dataclass(frozen=True)
class Liveness:
    """For each compound statement, by identity: names live after it, and live where it begins."""

    after: Mapping[gast.AST, frozenset[str]]
    before: Mapping[gast.AST, frozenset[str]]


def liveness(
    body: Sequence[gast.AST],
    exit_flags: Mapping[gast.AST, Sequence[str]],
    loop_options: Mapping[gast.AST, gast.AST],
) -> Liveness:
    """Return the liveness of the compound statements in ``body``.

    A ``for`` also reads its exit flags, and a loop with options reads them before it begins.
    """
    walk = _BackwardWalk(exit_flags, loop_options)
    walk.block(body, set())
    return Liveness(MappingProxyType(walk.after), MappingProxyType(walk.before))


class _BackwardWalk:
    """Walks a loop again until nothing changes, and so each loop in it.

    Attributes:
      after, before: the results.
      loops: for each loop around, the names live at break and continue.
      handlers: the names live when raising.
      heads: what was live at the head of a loop when it was walked last, from which its next walk goes on: what is live
        only grows, so that in nested loops each is walked as often as something changes, not twice for each loop around.
      names: what simple statements bind and read: nothing changes the tree meanwhile.
    """

    def __init__(self, exit_flags: Mapping[gast.AST, Sequence[str]], loop_options: Mapping[gast.AST, gast.AST]) -> None:
        self.exit_flags = exit_flags
        self.loop_options = loop_options
        self.after: dict[gast.AST, frozenset[str]] = {}
        self.before: dict[gast.AST, frozenset[str]] = {}
        self.loops: list[tuple[set[str], set[str]]] = []
        self.handlers: list[set[str]] = []
        self.heads: dict[gast.AST, set[str]] = {}
        self.names: dict[gast.AST, tuple[set[str], set[str]]] = {}

    def block(self, statements: Sequence[gast.AST], live: set[str]) -> set[str]:
        """The names live before ``statements``, given those live after them. Changes and returns ``live``."""
        for statement in reversed(statements):
            live = self.statement(statement, live)
            for handler in self.handlers:
                live |= handler
        return live

    def statement(self, node: gast.AST, live: set[str]) -> set[str]:
        if not isinstance(node, _COMPOUND):
            return self.simple(node, live)
        self.after[node] = frozenset(live)
        if isinstance(node, gast.If):
            live = self.block(node.body, set(live)) | self.block(node.orelse, set(live))
            live |= read_names([node.test])
        elif isinstance(node, LOOPS):
            live = self.loop(node, live)
        elif isinstance(node, gast.With | gast.AsyncWith):
            self.handlers.append(set(live))  # its manager may keep an exception from going on
            live = self.block(node.body, live) - bound_names(node.items) | read_names(node.items) | self.handlers.pop()
        elif isinstance(node, gast.Match):
            live = self.match(node, live)
        else:
            live = self.attempt(node, live)
        self.before[node] = frozenset(live)
        return live

    def simple(self, node: gast.AST, live: set[str]) -> set[str]:
        if isinstance(node, gast.Break | gast.Continue):
            return set(self.loops[-1][isinstance(node, gast.Continue)]) if self.loops else live
        if isinstance(node, gast.Return | gast.Raise):
            live = set()
        known = self.names.get(node)
        bound, read = known or self.names.setdefault(node, bound_and_read([node]))
        live -= bound
        live |= read
        if isinstance(node, gast.Delete):
            live |= bound  # which have a value before
        return live

    def loop(self, node: gast.AST, live: set[str]) -> set[str]:
        is_while = isinstance(node, gast.While)
        head_reads = read_names([node.test]) if is_while else set(self.exit_flags.get(node, ()))
        exit_live = self.block(node.orelse, set(live))
        killed = bound_names([node.test] if is_while else [node.target])
        head = exit_live | head_reads | self.heads.get(node, set())
        while True:
            self.loops.append((set(live), set(head)))
            entry = self.block(node.body, set(head))
            self.loops.pop()
            if is_while:
                entry = entry - killed | head_reads
            else:
                entry = entry - killed | read_names([node.target]) | head_reads
            if entry <= head:
                break
            head |= entry
        self.heads[node] = head
        before = [] if is_while else [node.iter]
        before += [self.loop_options[node]] if node in self.loop_options else []
        return head | read_names(before)

    def match(self, node: gast.Match, live: set[str]) -> set[str]:
        result = set(live)
        for case in node.cases:
            inner = self.block(case.body, set(live))
            guard = [case.guard] if case.guard is not None else []
            result |= (inner | read_names(guard)) - bound_names([case.pattern]) | read_names([case.pattern])
        return result | read_names([node.subject])

    def attempt(self, node: gast.AST, live: set[str]) -> set[str]:
        at_finally = self.block(node.finalbody, set(live)) if node.finalbody else set(live)
        raising: set[str] = set(at_finally)
        for handler in node.handlers:
            kinds = [handler.type] if handler.type is not None else []
            name = handler.name if isinstance(handler.name, str) or handler.name is None else handler.name.id
            raising |= self.block(handler.body, set(at_finally)) - {name} | read_names(kinds)
        after_body = self.block(node.orelse, set(at_finally)) if node.orelse else set(at_finally)
        self.handlers.append(raising)
        result = self.block(node.body, after_body | raising)
        self.handlers.pop()
        return result | raising
