"""Generate loops that call closures, decorated functions and generators, and that search lists as they change."""

from __future__ import annotations

from autograph.tools.fuzz.class_state import ClassState
from autograph.tools.fuzz.container_state import Step
from autograph.tools.fuzz.long_loops import Form
from autograph.tools.fuzz.statements import Maker

PREAMBLE_OF_FUNCTIONS = """\
import functools
import itertools
import operator


def counter(start):
    count = start

    def bump(by=1):
        nonlocal count
        if by > 2:
            count = 0
        count += by
        return count

    return bump


def clamped(function):
    @functools.wraps(function)
    def inner(*values, **named):
        return min(function(*values, **named), 5)

    return inner


@clamped
def mixed(first, *rest, scale=1, **named):
    total = first
    for value in rest:
        total += value * scale
    return total + sum(named.values())


def doubled(value):
    return value * 2 if value < 3 else value


def composed(outer, inner):
    return lambda value: outer(inner(value)) % 11


def running(values, most=6):
    total = 0
    for value in values:
        total += value
        if total > most:
            return
        yield total


def pairs_of(values):
    previous = None
    for value in values:
        if previous is not None:
            yield previous, value
        previous = value


def place_of(values, wanted):
    for place, value in enumerate(values):
        if value == wanted:
            break
    else:
        return -1
    return place


def first_over(values, limit, log):
    for value in values:
        try:
            if value > limit:
                return value
            log.append(value)
        finally:
            log.append(0)
    return limit


def ways(left, memo):
    if left < 2:
        return 1
    if left not in memo:
        memo[left] = ways(left - 1, memo) + ways(left - 2, memo)
    return memo[left]


@contextlib.contextmanager
def noted_in(log, item):
    log.append(item)
    try:
        yield len(log)
    finally:
        log.append(-item)


"""

_CLOSURES: tuple[Step, ...] = (
    "c# = counter(^)", "@ += c#()", "@ += c#(&)", "e# = c#", "e# = counter(&)", "@ += e#(by=&)", "c#, e# = e#, c#",
    "k# = 'sub' if ? else 'add'", "@ += o#['add'](&, ^)", "@ = o#[k#](@, &) % 9", "o#['sub'] = lambda a, b: b - a * 2",
    ("for h# in o#.values():", "@ += h#(&, 1)"), "g# = composed(doubled, g#)", "g# = composed(abs, doubled)", "@ += g#(&)",
    "g# = functools.partial(operator.add, &)", "g# = doubled if ? else abs", "@ += mixed(&, $)", "@ += mixed(&, *x#)",
    "@ += mixed(^, 2, scale=&)", "@ += mixed(1, 2, extra=&, more=^)", "@ += mixed(*[&, 1], **{'scale': 2})",
    "@ += functools.reduce(lambda a, b: (a * 2 + b) % 17, x#, 0)", "@ += sum(map(g#, x#))", "x# = list(filter(lambda e: e > ^, x#))",
    "x#.append(&)", "x# = list(map(abs, x#))", "x# = [g#(e) for e in x#][-3:]", "@ += sum(map(operator.mul, x#, x#[1:])) % 17",
    "x#.sort(key=g#)", "x#.append(c#())", ("if g#(&) > 2:", "@ += 1"), "@ += (lambda a, b=^: a - b)(&)",
    "f# = lambda a: a + @; @ += f#(1) % 7", "@ += max(x#, key=lambda e: -abs(e), default=^)", ("if len(x#) > 3:", "x#.pop(0)"),
    "l#.append(lambda a, r=&: a + r)", ("for h# in l#[-2:]:", "@ += h#(1)"), "@ += [doubled, abs, operator.neg][$ % 3](&)",
)  # fmt: skip

_SEARCHES: tuple[Step, ...] = (
    ("for e# in x#:", "if e# == &: break", "else:", "@ += 1"), ("while x#:", "if x#.pop() == &: break", "else:", "@ += 2"),
    "x#.append(&)", ("for k#, e# in enumerate(x#):", "if e# > &: x#[k#] = 0; break", "else:", "x#.append(&)"), "@ += place_of(x#, &)",
    "@ += first_over(x#, &, y#)", "w# = enumerate(x#); x#.append(&); @ += sum(e * k for k, e in w#)",
    "w# = zip(x#, y#); y#.append(&); @ += sum(p - q for p, q in w#)", "w# = reversed(x#); @ += sum(e * k for k, e in enumerate(w#))",
    ("if x# and y#:", "x#[0], y#[-1] = y#[-1], x#[0]"), "x#, y# = y#, x#[::-1]",
    ("if x# and y#:", "x#[-1], y#[$ % len(y#)] = y#[0], x#[0]"), "x#[:], y#[:] = y#[:], x#[:]",
    "x# = [h# for e in x# if (h# := e - ^) != &]", ("while x# and (e# := x#.pop()) > &:", "@ += e#"),
    ("if (n# := len(x#)) > 3:", "del x#[n# - 1]"), "d#[$ % 2, @ % 2] = &", "@ += d#.get(($ % 2, 1), ^)",
    ("for (i#, j#), e# in d#.items():", "@ += i# - j# * e#"), "@ += ways(4, m#)", "@ += len(m#) + m#.get(3, ^)",
    ("with noted_in(y#, &) as e#:", "@ += e#"), ("with noted_in(y#, &):", "if ?: continue", "@ += 1"),
    ("with noted_in(y#, ^):", "if ?: break"), ("if len(y#) > 4:", "del y#[:3]"), "@ += len(y#)",
    ("for e# in list(x#):", "if e# > &: x#.remove(e#)"), ("for k# in range(len(x#) - 1, -1, -1):", "if x#[k#] < ^: del x#[k#]"),
    ("for p#, q# in zip(x#, x#[1:]):", "if p# > q#: @ += 1; break", "else:", "x#.append(^)"),
    "@ += sum(e for k, e in enumerate(x#) if k % 2 == $ % 2)",
    "y#.extend(e for e in x# if e not in y#)", ("try:", "if ?: continue", "@ += 1", "finally:", "x#.append(^)"),
    ("try:", "if ?: break", "finally:", "@ += 1"), "x# = y#", ("if x# is y#:", "x# = x#[:2]"),
)  # fmt: skip

_GENERATORS: tuple[Step, ...] = (
    "@ += sum(running(x#))", ("for e# in running(x#):", "if e# > &: break", "@ += e#"), "@ += sum(q - p for p, q in pairs_of(x#))",
    "x# = list(running(x#, &))", "@ += max(running(x#), default=^)", ("for p#, q# in pairs_of(x#):", "@ += p# * 2 - q#"), "x#.append(&)",
    ("for e# in running(range($ + 1)):", "x#.append(e#)"), "@ += sum(running(e * 2 for e in x#))", "x# = [e for e in running([&, ^, 1])]",
    "@ += sum(itertools.accumulate(x#)) % 17", "@ += sum(itertools.chain(x#, (1, &)))",
    "@ += sum(p * q for p, q in itertools.pairwise(x#)) % 17", "x# = list(itertools.takewhile(lambda e: e < &, x#))",
    "x# = list(itertools.dropwhile(lambda e: e < &, x#))", "@ += sum(itertools.islice(x#, $ % 3))",
    "@ += sum(p - q for p, q in itertools.zip_longest(x#, y#, fillvalue=^))",
    "@ += sum(p * q for p, q in itertools.product(x#[:2], y#)) % 13", "y# = x#[-2:]",
    ("for k#, e# in enumerate(running(x#), 1):", "@ += e# % (k# + 1)"), ("for e#, h# in zip(running(x#), y#):", "@ += e# - h#"),
    "y#.append(@ % 5)", "@ += sum(e * e for e in running(y#)) % 17", "@ += next((e for e in running(x#) if e > &), ^)",
    "x# = sorted(running(x#), key=lambda e: -e)", "@ += len(x#)", ("if any(e > & for e in running(x#)):", "@ -= 1"),
    "y# = [*running(y#, 4), ^]", "@ += sum(1 for _ in pairs_of(y#))", ("if len(x#) > 4:", "x#.clear()"),
    "@ += sum(max(p) - min(p) for p in pairs_of(x#))", "@ += sum(p for p, q in itertools.combinations(x#[:3], 2) if p < q)",
    "x#.extend(running(y#))",
)  # fmt: skip

_FORMS: dict[str, Form] = {
    "closures": (
        (
            "c# = counter(0)", "e# = c#", "o# = {'add': operator.add, 'sub': lambda a, b: a - b}", "k# = 'add'",
            "g# = doubled", "x# = ~", "l# = []",
        ),
        _CLOSURES,
        ("c#()", "e#(1)", "g#(1)", "o#['sub'](1, 2)", "o#[k#](3, 1)", "sum(x#)", "len(l#)", "@"),
    ),
    "searches": (
        ("x# = ~", "y# = ~", "d# = {}", "m# = {}"), _SEARCHES,
        ("sum(e * k for k, e in enumerate(x#))", "sum(e * k for k, e in enumerate(y#))", "sum(d#.values())", "len(d#)", "len(m#)", "@"),
    ),
    "generators": (
        ("x# = ~", "y# = ~"), _GENERATORS, ("sum(e * k for k, e in enumerate(x#))", "len(y#)", "sum(y#)", "sum(running(x#))", "@"),
    ),
}  # fmt: skip


class FunctionState(ClassState):
    """The part of the writer of programs that makes state of the functions that `PREAMBLE_OF_FUNCTIONS` defines."""

    def compound_statements(self, depth: int) -> list[tuple[int, Maker]]:
        makers = super().compound_statements(depth)
        return makers + [(10, lambda: self._of_form(_FORMS))] if "functions" in self.features else makers
