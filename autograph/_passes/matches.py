"""`LowerMatch`: ``match`` with tests on values in; a structural ``match`` for each case, and an ``if``, out."""

from __future__ import annotations

import gast

from autograph._passes.nodes import Context, assign, constant, load, placed


class LowerMatch(gast.NodeTransformer):
    """Takes the tests on values out of patterns, so that they may be traced; Python keeps matching structure.

        match p:                        match p:
            case (0, y):                    case (item, item_1):
                a                               case_matches = item == 0
            case _:             →           case _:
                b                               case_matches = False
                                        if case_matches:
                                            y = item_1
                                            a
                                        else:
                                            b

    A ``match`` that tests no values, only structure, stays as it is.
    """

    applies_to: frozenset[type] | None = frozenset({gast.Match})
    introduces: frozenset[type] = frozenset({gast.If})

    def __init__(self, context: Context) -> None:
        self.context = context

    def __call__(self, node: gast.AST) -> gast.AST:
        return node if isinstance(node, gast.Lambda) else self.generic_visit(node)

    def visit_Match(self, node: gast.AST) -> gast.AST | list[gast.AST]:
        self.generic_visit(node)
        if not any(case.guard is not None or _tests_values(case.pattern) for case in node.cases):
            return node
        subject = self.context.names.new("subject")
        start = placed(assign(subject, node.subject), node, node.subject)
        return [start, *self._chain(node.cases, subject)]

    def _chain(self, cases: list[gast.AST], subject: str) -> list[gast.AST]:
        if not cases:
            return []
        case, *rest = cases
        if _is_irrefutable(case.pattern) and case.guard is None:
            bind = [gast.Match(load(subject), [gast.match_case(case.pattern, None, [gast.Pass()])])]
            return [placed(part, case.pattern) for part in bind if case.pattern.name] + case.body
        pattern = _ValuesTakenOut(self.context)
        structure = pattern.take(case.pattern)
        matches = self.context.names.new("case_matches")
        tests = pattern.tests
        if case.guard is not None:
            tests.append(_Renamed(dict(pattern.captures)).visit(case.guard))
        test = tests[0] if len(tests) == 1 else gast.BoolOp(gast.And(), tests) if tests else constant(True)
        select = [gast.match_case(structure, None, [assign(matches, test)])]
        if not _is_irrefutable(structure):
            select.append(gast.match_case(gast.MatchAs(None, None), None, [assign(matches, constant(False))]))
        bind = [placed(assign(name, load(item)), case.pattern) for name, item in pattern.captures]
        choose = gast.If(load(matches), [*bind, *case.body], self._chain(rest, subject))
        return [placed(part, case.pattern) for part in (gast.Match(load(subject), select), choose)]


class _Renamed(gast.NodeTransformer):
    """A guard that reads what the pattern captured under the names it was captured under."""

    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: gast.AST) -> gast.AST:
        return placed(load(self.names[node.id]), node) if node.id in self.names else node


class _ValuesTakenOut:
    """A pattern split into structure, tests on values, and captures to be made if the tests pass.

    Attributes: tests (expressions), captures (the user's name and the name it is captured under).
    """

    def __init__(self, context: Context) -> None:
        self.context = context
        self.tests: list[gast.AST] = []
        self.captures: list[tuple[str, str]] = []

    def take(self, pattern: gast.AST) -> gast.AST:
        return self._part(pattern) if _tests_values(pattern) else pattern

    def _part(self, pattern: gast.AST) -> gast.AST:
        if isinstance(pattern, gast.MatchValue) or _is_choice_of_values(pattern):
            return self._value(pattern, self.context.names.new("item"))
        if isinstance(pattern, gast.MatchAs) and pattern.name is not None:
            name = self._captured(pattern.name)
            inner = pattern.pattern
            if inner is not None and (isinstance(inner, gast.MatchValue) or _is_choice_of_values(inner)):
                return self._value(inner, name)
            pattern.name = name
            pattern.pattern = None if inner is None else self._part(inner)
        elif isinstance(pattern, gast.MatchStar) and pattern.name is not None:
            pattern.name = self._captured(pattern.name)
        elif isinstance(pattern, gast.MatchMapping) and pattern.rest is not None:
            pattern.rest = self._captured(pattern.rest)
        if not isinstance(pattern, gast.MatchOr):
            for field in ("patterns", "kwd_patterns"):
                if getattr(pattern, field, None):
                    setattr(pattern, field, [self._part(part) for part in getattr(pattern, field)])
        return pattern

    def _captured(self, name: str) -> str:
        item = self.context.names.new("item")
        self.captures.append((name, item))
        return item

    def _value(self, pattern: gast.AST, name: str) -> gast.AST:
        values = [pattern] if isinstance(pattern, gast.MatchValue) else pattern.patterns
        equal = [gast.Compare(load(name), [gast.Eq()], [value.value]) for value in values]
        self.tests.append(placed(equal[0] if len(equal) == 1 else gast.BoolOp(gast.Or(), equal), pattern))
        return placed(gast.MatchAs(None, name), pattern)


def _tests_values(pattern: gast.AST) -> bool:
    return any(isinstance(part, gast.MatchValue) for part in gast.walk(pattern))


def _is_choice_of_values(pattern: gast.AST) -> bool:
    return isinstance(pattern, gast.MatchOr) and all(isinstance(part, gast.MatchValue) for part in pattern.patterns)


def _is_irrefutable(pattern: gast.AST) -> bool:
    return isinstance(pattern, gast.MatchAs) and pattern.pattern is None
