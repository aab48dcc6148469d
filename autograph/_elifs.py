"""Flatten long chains of ``elif``, which the syntax tree nests, so that no visitor exceeds Python's recursion limit."""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence
from typing import TypeVar

_Node = TypeVar("_Node", bound=ast.AST)

# Chains of so many arms stay as they are. Each arm of one is a branch inside the one before, some twenty frames of Python's
# stack deep when it is staged.
_NESTED_AT_MOST = 16
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def flatten_elifs(node: _Node) -> tuple[_Node, list[str]]:
    """``node`` with its long chains of ``elif`` as a choice of an arm, and a tree of conditionals on its number.

    So is a long ``match`` that compares its subject with values.
    The tree is as deep as the logarithm of the number of arms. What changes is copied: the given tree stays as it is.

        if a:                   arm = 0
            f()                 if a:
        elif b:                     arm = 1
            g()                 if arm == 0 and b:
        else:         →             arm = 2
            h()                 if arm < 1:
                                    h()
                                elif arm < 2:
                                    f()
                                else:
                                    g()

    Returns:
      The node, and the names that it has got.

    >>> chain = "if x == 0:\\n    y = 0\\n" + "".join(f"elif x == {k}:\\n    y = {k}\\n" for k in range(1, 40))
    >>> module, made = flatten_elifs(ast.parse(chain))
    >>> made, len(module.body), ast.unparse(module.body[40])
    (['arm'], 42, 'if arm == 0 and x == 39:\\n    arm = 40')
    >>> flatten_elifs(ast.parse("if x: pass\\nelif y: pass"))[1]
    []
    """
    flattener = _Flattener(node)
    return flattener.copied(node), flattener.made


class _Flattener:
    """Attributes: made (the names made so far)."""

    def __init__(self, node: ast.AST) -> None:
        self.made: list[str] = []
        self._root = node
        self._used: set[str] | None = None

    def copied(self, node: _Node) -> _Node:
        """The node itself, or a copy of it in which its blocks are flat."""
        changes = {}
        for field in ("body", "orelse", "finalbody", "handlers", "cases"):
            block = getattr(node, field, None)
            if not isinstance(block, list):
                continue
            # A name made in the body of a class would be an attribute of it.
            in_class = isinstance(node, ast.ClassDef)
            new = [self.copied(p) if isinstance(p, _SCOPES) else p for p in block] if in_class else self._block(block)
            if new != block:
                changes[field] = new
        if changes:
            node = copy.copy(node)
            vars(node).update(changes)
        return node

    def _block(self, nodes: Sequence[ast.stmt]) -> list[ast.stmt]:
        return [part for node in nodes for part in self._statement(node)]

    def _statement(self, node: ast.stmt) -> Sequence[ast.stmt]:
        if isinstance(node, ast.If):
            return self._conditional(node)
        if isinstance(node, ast.Match) and len(node.cases) > _NESTED_AT_MOST and all(map(_tests_one_value, node.cases)):
            return self._match(node)
        return [self.copied(node)]

    def _match(self, node: ast.Match) -> list[ast.stmt]:
        """A ``match`` that compares one subject with values, as the chain of ``elif`` that it is."""
        subject = self._new_name("subject")
        cases, otherwise = node.cases, []
        if cases[-1].guard is None and not _values(cases[-1].pattern):
            cases, otherwise = cases[:-1], self._block(cases[-1].body)
        arms = [_placed(ast.If(_fits(subject, case), case.body, []), case.pattern) for case in cases]
        start = _placed(ast.Assign([ast.Name(subject, ast.Store())], node.subject), node.subject)
        return [start, *self._flat(arms, [self._block(case.body) for case in cases], otherwise)]

    def _conditional(self, node: ast.If) -> Sequence[ast.stmt]:
        arms = [node]
        while len(arms[-1].orelse) == 1 and isinstance(arms[-1].orelse[0], ast.If):
            arms.append(arms[-1].orelse[0])
        bodies = [self._block(arm.body) for arm in arms]
        otherwise = self._block(arms[-1].orelse)
        if len(arms) > _NESTED_AT_MOST:
            return self._flat(arms, bodies, otherwise)
        for arm, body in zip(reversed(arms), reversed(bodies), strict=True):
            if body != arm.body or otherwise != arm.orelse:
                arm = copy.copy(arm)
                vars(arm).update(body=body, orelse=otherwise)
            otherwise = [arm]
        return otherwise

    def _flat(self, arms: list[ast.If], bodies: list[list[ast.stmt]], otherwise: list[ast.stmt]) -> list[ast.stmt]:
        name = self._new_name("arm")
        out: list[ast.stmt] = [_placed(_assign(name, 0), arms[0].test)]
        for number, arm in enumerate(arms, 1):
            is_open = ast.Compare(_load(name), [ast.Eq()], [ast.Constant(0)])
            test = arm.test if number == 1 else ast.BoolOp(ast.And(), [is_open, arm.test])
            out.append(_placed(ast.If(test, [_assign(name, number)], []), arm.test))
        last = ast.copy_location(ast.Pass(), arms[-1])
        return [*out, *_tree(name, [otherwise or [last], *bodies], [arms[0], *arms], 0)]

    def _new_name(self, base: str) -> str:
        if self._used is None:
            self._used = {part.id for part in ast.walk(self._root) if isinstance(part, ast.Name)}
            self._used |= {part.arg for part in ast.walk(self._root) if isinstance(part, ast.arg)}
        count = 0
        while (name := f"{base}_{count}" if count else base) in self._used:
            count += 1
        self._used.add(name)
        self.made.append(name)
        return name


def _tree(name: str, blocks: list[list[ast.stmt]], arms: list[ast.If], first: int) -> list[ast.stmt]:
    """Conditionals that run the block of the number that ``name`` holds; the blocks are numbered from ``first``."""
    if len(blocks) == 1:
        return blocks[0]
    half = len(blocks) // 2
    test = ast.Compare(_load(name), [ast.Lt()], [ast.Constant(first + half)])
    below, above = _tree(name, blocks[:half], arms[:half], first), _tree(name, blocks[half:], arms[half:], first + half)
    return [_placed(ast.If(test, below, above), arms[half].test)]


def _load(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _assign(name: str, number: int) -> ast.Assign:
    return ast.Assign([ast.Name(name, ast.Store())], ast.Constant(number))


def _placed(node: _Node, like: ast.expr | ast.pattern) -> _Node:
    """Set the position of what is new in ``node`` to that of a header's expression."""
    pending: list[ast.AST] = [node]
    while pending:
        part = pending.pop()
        if hasattr(part, "lineno"):
            continue
        if "lineno" in part._attributes:
            ast.copy_location(part, like)
        pending += ast.iter_child_nodes(part)
    return node


def _tests_one_value(case: ast.match_case) -> bool:
    """Whether the case compares the subject with values, or is ``case _``, and binds nothing."""
    return _is_wildcard(case.pattern) or bool(_values(case.pattern))


def _is_wildcard(pattern: ast.pattern) -> bool:
    return isinstance(pattern, ast.MatchAs) and pattern.name is None


def _values(pattern: ast.pattern) -> list[ast.pattern]:
    patterns = pattern.patterns if isinstance(pattern, ast.MatchOr) else [pattern]
    return patterns if all(isinstance(part, ast.MatchValue | ast.MatchSingleton) for part in patterns) else []


def _fits(subject: str, case: ast.match_case) -> ast.expr:
    """``subject == value``, or ``is`` for None, True and False, of one of the values, and the guard."""
    equal: list[ast.expr] = []
    for part in _values(case.pattern):
        if isinstance(part, ast.MatchSingleton):
            equal.append(ast.Compare(_load(subject), [ast.Is()], [ast.Constant(part.value)]))
        else:
            assert isinstance(part, ast.MatchValue)
            equal.append(ast.Compare(_load(subject), [ast.Eq()], [part.value]))
    test = equal[0] if len(equal) == 1 else ast.BoolOp(ast.Or(), equal) if equal else ast.Constant(True)
    return test if case.guard is None else ast.BoolOp(ast.And(), [test, case.guard])
