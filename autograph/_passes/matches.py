"""`LowerMatch`: ``match`` with tests on values in; a structural ``match`` for each case, and an ``if``, out."""

from __future__ import annotations

import gast

from autograph._passes.nodes import Context, assign, constant, load, placed

_VALUES = (gast.MatchValue, gast.MatchSingleton)


class LowerMatch(gast.NodeTransformer):
    """Takes the tests on values out of patterns, so that they may be traced; Python keeps matching structure.

    A ``match`` that tests no values, only structure, stays as it is.

    >>> from autograph._passes.shown import rewritten
    >>> print(rewritten(LowerMatch, '''
    ... def f(p):
    ...     match p:
    ...         case (0, y):
    ...             return y
    ...         case _:
    ...             return 1
    ... '''))
    def f(p):
        subject = p
        match subject:
            case [item, item_1]:
                case_matches = item == 0
            case _:
                case_matches = False
        if case_matches:
            y = item_1
            return y
        else:
            return 1
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
            return [placed(part, case.pattern) for part in bind if _captures(case.pattern)] + case.body
        pattern = _ValuesTakenOut(self.context)
        structure = pattern.take(case.pattern)
        matches = test_name = self.context.names.new("case_matches")
        tests = pattern.tests
        follow = self._chain(rest, subject)
        parts = []
        if case.guard is not None and pattern.captures:
            # Python binds what a pattern captures before it asks the guard, and it stays bound if the guard is false.
            fits, matches = matches, self.context.names.new("case_matches")
            guard = _Renamed(dict(pattern.captures)).visit(case.guard)
            parts = [assign(matches, self._truth([load(fits), guard]))]
            follow = [gast.If(load(fits), self._bound(pattern), []), *follow]
            test_name = fits
        elif case.guard is not None:
            tests.append(case.guard)
        select = [gast.match_case(structure, None, [assign(test_name, self._truth(tests))])]
        if not _is_irrefutable(structure):
            select.append(gast.match_case(gast.MatchAs(None, None), None, [assign(test_name, constant(False))]))
        choose = gast.If(load(matches), [*self._bound(pattern), *case.body], follow)
        return [placed(part, case.pattern) for part in (gast.Match(load(subject), select), *parts, choose)]

    def _truth(self, tests: list[gast.AST]) -> gast.AST:
        if not tests:
            return constant(True)
        return self.context.truth(tests[0] if len(tests) == 1 else gast.BoolOp(gast.And(), tests))

    def _bound(self, pattern: _ValuesTakenOut) -> list[gast.AST]:
        return [assign(name, load(item)) for name, item in pattern.captures]


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
        if isinstance(pattern, _VALUES) or _is_choice_of_values(pattern):
            return self._value(pattern, self.context.names.new("item"))
        if isinstance(pattern, gast.MatchAs) and pattern.name is not None:
            name = self._captured(pattern.name)
            inner = pattern.pattern
            while isinstance(inner, gast.MatchAs) and inner.name is not None:  # `(p as a) as b`: one item, two names
                self.captures.append((inner.name, name))
                inner = inner.pattern
            if inner is not None and (isinstance(inner, _VALUES) or _is_choice_of_values(inner)):
                return self._value(inner, name)
            pattern.name = name
            pattern.pattern = None if inner is None or _is_irrefutable(inner) else self._part(inner)
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
        values = pattern.patterns if isinstance(pattern, gast.MatchOr) else [pattern]
        equal = [_fits(name, value) for value in values]
        self.tests.append(placed(equal[0] if len(equal) == 1 else gast.BoolOp(gast.Or(), equal), pattern))
        return placed(gast.MatchAs(None, name), pattern)


def _fits(name: str, value: gast.AST) -> gast.AST:
    """The test of an item against a value pattern: ``==``, and for None, True and False identity."""
    if isinstance(value, gast.MatchSingleton):
        return gast.Compare(load(name), [gast.Is()], [constant(value.value)])
    return gast.Compare(load(name), [gast.Eq()], [value.value])


def _tests_values(pattern: gast.AST) -> bool:
    return any(isinstance(part, _VALUES) for part in gast.walk(pattern))


def _captures(pattern: gast.AST) -> bool:
    return any(getattr(part, "name", None) or getattr(part, "rest", None) for part in gast.walk(pattern))


def _is_choice_of_values(pattern: gast.AST) -> bool:
    return isinstance(pattern, gast.MatchOr) and all(isinstance(part, _VALUES) for part in pattern.patterns)


def _is_irrefutable(pattern: gast.AST) -> bool:
    """Whether the pattern matches anything: a name or ``_``, these with ``as``, or a choice that ends with one."""
    if isinstance(pattern, gast.MatchOr):
        return _is_irrefutable(pattern.patterns[-1])
    return isinstance(pattern, gast.MatchAs) and (pattern.pattern is None or _is_irrefutable(pattern.pattern))
