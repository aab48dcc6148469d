"""`LowerMatch`: ``match`` with tests on values, classes and sequences in; an ``if`` for each case out."""

from __future__ import annotations

import gast

from autograph._analysis.children import walk
from autograph._passes.nodes import Context, Rewriter, assign, constant, copied, load, placed

_VALUES = (gast.MatchValue, gast.MatchSingleton)


class LowerMatch(Rewriter):
    """Takes the tests on values out of patterns, so that they may be traced; Python keeps matching mappings.

    So with classes: a subject may be one of several objects, or stand for a number or text of Python's. And with sequences, whose
    length may be traced. A ``match`` that tests none of these stays as it is.

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
            case item:
                case_matches = ag__.truth(ag__.matches_sequence(item, 2, False) and item[0] == 0)
        if case_matches:
            y = item[1]
            return y
        else:
            return 1
    """

    applies_to: frozenset[type] | None = frozenset({gast.Match})
    introduces: frozenset[type] = frozenset(
        {gast.If, gast.Subscript, gast.Attribute, gast.Compare, gast.BoolOp, gast.IfExp, gast.Call}
    )

    def __init__(self, context: Context) -> None:
        self.context = context

    def __call__(self, node: gast.AST) -> gast.AST:
        return node if isinstance(node, gast.Lambda) else self.generic_visit(node)

    def visit_Match(self, node: gast.AST) -> gast.AST | list[gast.AST]:
        self.generic_visit(node)
        if any(_asks_plainly(case.pattern) for case in node.cases):
            node.subject = placed(self.context.call("known_class", node.subject), node.subject)
        if not any(case.guard is not None or _is_tested(case.pattern) for case in node.cases):
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
        return [assign(name, copied(item)) for name, item in pattern.captures]


class _Renamed(Rewriter):
    """A guard that reads what the pattern captured under the names it was captured under."""

    def __init__(self, names: dict[str, gast.AST]) -> None:
        self.names = names

    def visit_Name(self, node: gast.AST) -> gast.AST:
        return placed(copied(self.names[node.id]), node) if node.id in self.names else node


class _ValuesTakenOut:
    """A pattern split into structure, tests on values and classes, and captures to be made if the tests pass.

    Attributes: tests (expressions), captures (the user's name and what it is to be bound to).
    """

    def __init__(self, context: Context) -> None:
        self.context = context
        self.tests: list[gast.AST] = []
        self.captures: list[tuple[str, gast.AST]] = []

    def take(self, pattern: gast.AST) -> gast.AST:
        return self._part(pattern) if _is_tested(pattern) else pattern

    def _part(self, pattern: gast.AST) -> gast.AST:
        if _is_expression(pattern):
            return self._value(pattern, self.context.names.new("item"))
        if isinstance(pattern, gast.MatchAs) and pattern.name is not None:
            name = self._captured(pattern.name)
            inner = pattern.pattern
            while isinstance(inner, gast.MatchAs) and inner.name is not None:  # `(p as a) as b`: one item, two names
                self.captures.append((inner.name, load(name)))
                inner = inner.pattern
            if inner is not None and _is_expression(inner):
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
        self.captures.append((name, load(item)))
        return item

    def _value(self, pattern: gast.AST, name: str) -> gast.AST:
        self.tests += [placed(test, pattern) for test in self._tests_of(pattern, load(name))]
        return placed(gast.MatchAs(None, name), pattern)

    def _tests_of(self, pattern: gast.AST, item: gast.AST) -> list[gast.AST]:
        """The tests of an item against a pattern that is an expression, which may capture parts of it."""
        if isinstance(pattern, _VALUES):
            return [_fits(item, pattern)]
        if isinstance(pattern, gast.MatchOr):
            return self._tests_of_choice(pattern, item)
        if isinstance(pattern, gast.MatchAs):
            tests = [] if pattern.pattern is None else self._tests_of(pattern.pattern, item)
            if pattern.name is not None:
                self.captures.append((pattern.name, item))
            return tests
        if isinstance(pattern, gast.MatchSequence):
            return self._tests_of_sequence(pattern, item)
        names = [*range(len(pattern.patterns)), *pattern.kwd_attrs]
        asked = gast.Tuple([constant(name) for name in names], gast.Load())
        tests = [self.context.call("matches_class", copied(item), copied(pattern.cls), asked)]
        for name, part in zip(names, [*pattern.patterns, *pattern.kwd_patterns], strict=True):
            if isinstance(name, int):
                held = self.context.call("positional", copied(item), copied(pattern.cls), constant(name))
            elif name.startswith("__"):  # which Python does not mangle in a pattern
                held = self.context.call("get_attr", copied(item), constant(name))
            else:
                held = gast.Attribute(copied(item), name, gast.Load())
            tests += self._tests_of(part, held)
        return tests

    def _tests_of_sequence(self, pattern: gast.AST, item: gast.AST) -> list[gast.AST]:
        """The tests of how many items there are, and of these; what a star takes is a list."""
        parts = pattern.patterns
        star = next((k for k, part in enumerate(parts) if isinstance(part, gast.MatchStar)), len(parts))
        after = len(parts) - star - 1
        counts = constant(len(parts) - (after >= 0)), constant(after >= 0)
        tests = [self.context.call("matches_sequence", copied(item), *counts)]
        for k, part in enumerate(parts):
            if k == star:
                if part.name is not None:
                    taken = self.context.call("unpacked", copied(item), constant(star), constant(after))
                    self.captures.append((part.name, gast.Subscript(taken, constant(star), gast.Load())))
            else:
                if k < star:
                    held = gast.Subscript(copied(item), constant(k), gast.Load())
                else:
                    held = self.context.call("from_end", copied(item), constant(len(parts) - k))
                tests += self._tests_of(part, held)
        return tests

    def _tests_of_choice(self, pattern: gast.AST, item: gast.AST) -> list[gast.AST]:
        """The test of several patterns, which capture the same names: each is bound to what the one that fits says."""
        known = len(self.captures)
        choices, bound = [], []
        for part in pattern.patterns:
            choices.append(_all_of(self._tests_of(part, item)))
            bound.append(dict(self.captures[known:]))
            del self.captures[known:]
        for name, value in bound[-1].items():
            for fits, others in zip(reversed(choices[:-1]), reversed(bound[:-1]), strict=True):
                value = gast.IfExp(copied(fits), others[name], value)
            self.captures.append((name, value))
        return [gast.BoolOp(gast.Or(), choices)]


def _all_of(tests: list[gast.AST]) -> gast.AST:
    if not tests:
        return constant(True)
    return tests[0] if len(tests) == 1 else gast.BoolOp(gast.And(), tests)


def _fits(item: gast.AST, value: gast.AST) -> gast.AST:
    """The test of an item against a value pattern: ``==``, and for None, True and False identity."""
    item = copied(item)
    if isinstance(value, gast.MatchSingleton):
        return gast.Compare(item, [gast.Is()], [constant(value.value)])
    return gast.Compare(item, [gast.Eq()], [value.value])


def _is_tested(pattern: gast.AST) -> bool:
    """Whether something in a pattern is to be taken out: a value, or a class or sequence whose parts have such patterns."""
    kinds = (*_VALUES, gast.MatchClass, gast.MatchSequence)
    return any(isinstance(part, kinds) and _is_expression(part) for part in walk(pattern))


def _asks_plainly(pattern: gast.AST) -> bool:
    """Whether Python asks for a class: in a pattern that cannot be written as a test."""
    return any(isinstance(part, gast.MatchClass) and not _is_expression(part) for part in walk(pattern))


def _is_expression(pattern: gast.AST) -> bool:
    """Whether a pattern can be written as a test of the item: a value, a class, a sequence, or a choice of such."""
    if isinstance(pattern, _VALUES):
        return True
    if isinstance(pattern, gast.MatchOr):
        return all(map(_is_expression, pattern.patterns))
    if isinstance(pattern, gast.MatchSequence):
        parts = [part for part in pattern.patterns if not isinstance(part, gast.MatchStar)]
        return all(_is_capture(part) or _is_expression(part) for part in parts)
    if not isinstance(pattern, gast.MatchClass):
        return False
    return all(_is_capture(part) or _is_expression(part) for part in [*pattern.patterns, *pattern.kwd_patterns])


def _is_capture(pattern: gast.AST) -> bool:
    return isinstance(pattern, gast.MatchAs) and (pattern.pattern is None or _is_expression(pattern.pattern))


def _captures(pattern: gast.AST) -> bool:
    return any(getattr(part, "name", None) or getattr(part, "rest", None) for part in walk(pattern))


def _is_irrefutable(pattern: gast.AST) -> bool:
    """Whether the pattern matches anything: a name or ``_``, these with ``as``, or a choice that ends with one."""
    if isinstance(pattern, gast.MatchOr):
        return _is_irrefutable(pattern.patterns[-1])
    return isinstance(pattern, gast.MatchAs) and (pattern.pattern is None or _is_irrefutable(pattern.pattern))
