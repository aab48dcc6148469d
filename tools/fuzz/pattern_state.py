"""Generate loops that match patterns, write to parts of matrices, and leave nested loops by jumps through ``finally``."""

from __future__ import annotations

from autograph.tools.fuzz.container_state import Step
from autograph.tools.fuzz.function_state import FunctionState
from autograph.tools.fuzz.long_loops import Form
from autograph.tools.fuzz.statements import Maker

PREAMBLE_OF_PATTERNS = """\
import dataclasses


class Disc:
    __match_args__ = ("radius", "kind")

    def __init__(self, radius, kind="disc"):
        self.radius = radius
        self.kind = kind


@dataclasses.dataclass
class Side:
    length: int
    near: tuple = (0, 1)


def described(shape):
    match shape:
        case Disc(0):
            return 7
        case Disc(radius=r, kind="ring") if r > 1:
            return r * 2
        case Disc(r, _):
            return r
        case Side(length=n, near=(0, m)):
            return n - m
        case Side(near=(m, *rest)):
            return m + len(rest)
        case None:
            return -1
        case [first, *_]:
            return first
    return 5


def scored(row):
    match row:
        case (0, _):
            return 3
        case (a, b) if a > b:
            return a - b
        case (a, b) | (a, b, _):
            return a + b
        case {"at": a, **others}:
            return a + len(others)
        case int() | float():
            return row
    return 4


def drained(values, limit, log):
    left = 0
    while values:
        try:
            value = values.pop()
            if value == limit:
                break
            if value > limit:
                continue
            left += value
        finally:
            log.append(left)
    else:
        return -left
    return left


def far_apart(rows, limit):
    found = 0
    for a in rows:
        for b in rows:
            if a - b > limit:
                found = a
                break
            if a == b and found:
                continue
        else:
            found += 1
            continue
        if found > 3:
            break
    else:
        return found + 10
    return found


def bumps(values):
    count = 0
    made = []
    for value in values:
        seen = value

        def bump(by):
            nonlocal count, seen
            if by > seen:
                seen += 1
            count += seen
            return count

        made.append(bump(1) - bump(value))
        if count > 9:
            break
    return count, made[-2:]


"""

_PATTERNS: tuple[Step, ...] = (
    "s# = Disc(&)", "s# = Disc(&, 'ring')", "s# = Disc(^, 'ring') if ? else Disc(&)", "s# = Disc(&) if ? else Side(^)",
    "s# = Side(&, (0, @ % 3))", "t# = Side(^, (&, 1, 2))", "s#, t# = t#, s#", "@ += described(s#)", "@ += described(t#)",
    "@ += described((&, 1))", "@ += scored((&, ^))", "@ += scored((& % 2, $, 1))", "@ += scored({'at': &, 'to': 1})", "@ += scored(&)",
    ("match s#:", "case Disc(r#) if r# > ^: @ += r#", "case Disc(kind='ring'): s#.radius += 1", "case Side(length=n#): s#.length = n# - 1"),
    ("match (&, @ % 3):", "case (0, k#) | (k#, 0): @ += k#", "case (1 | 2 as k#, g#): @ += k# - g#", "case [k#, _] if k# < ^: @ -= 1",
    "case _: @ += 2"),
    ("match {'n': &, 'm': $}:", "case {'n': 0}: @ += 1", "case {'n': k#, 'm': g#} if k# > g#: @ += k#", "case {'n': k#}: @ -= k#"),
    ("match [*x#[-2:]]:", "case []: x#.append(&)", "case [k#]: @ += k#; x#.append(^)", "case [k#, g#]: @ += k# - g#"),
    ("match & % 4:", "case 0: continue", "case 1 | 2: x#.append(&)", "case k# if k# > ^: break"),
    ("match m#:", "case 'a': m# = 'b'", "case 'b' if ?: m# = 'c'; @ += 1", "case 'c' | 'd': m# = 'a'"),
    ("if isinstance(s#, Disc):", "@ += s#.radius", "else:", "@ += s#.length"), "x#.append(described(s#))",
    ("if len(x#) > 4:", "x#.clear()"),
    ("match (s#, &):", "case (Disc(r#), 1): @ += r#", "case (Side(length=n#), k#) if n# > k#: @ -= 1", "case (_, k#): @ += k#"),
)  # fmt: skip

_GRIDS: tuple[Step, ...] = (
    "g#[$ % 2, 1:] = &", "g#[:, $ % 3] += ^", "g#[& % 2] += 1", "g#[0] = g#[1]", "g#[1, :2] = g#[0, 1:]", "g#[:, 0] = g#[:, 2] + &",
    "g#[g# > &] = ^", "g#[$ % 2, & % 3] = @ % 5", "g#[:] = g#[::-1] * 1", "g#[::-1, 1] = &", "g#[0, ::2] -= &", "g# = g# % 5",
    "@ += int(g#[$ % 2].sum()) % 7", "@ += int(g#[:, & % 3].max())", "@ += int(g#[& % 2, $ % 3])", ("if g#[$ % 2, 0] > &:", "g#[1] = ^"),
    ("for k# in range(2):", "g#[k#, k#] += &"), ("for r# in g#:", "@ += int(r#[0]) % 3"), "g# = np.where(g# > ^, g#, -g#) % 7",
    "g#[0, 0], g#[1, 2] = g#[1, 2], g#[0, 0]", "r#[$ % 2][1:] = [&, ^]", "r#[$ % 2][0] = @ % 5", "r#[& % 2], r#[0] = r#[0], [1, &, 0]",
    "@ += sum(r#[$ % 2]) % 7", "r# = [row[::-1] for row in r#]", "@ += sum(a * b for a, b in zip(r#[0], r#[1])) % 11",
    "r#[0][:] = r#[1]", ("for k#, row in enumerate(r#):", "row[k#] += &"), "@ += max(max(row) for row in r#) % 5",
    ("for h#, *e# in r#:", "@ = (@ * 2 + h# - e#[-1]) % 17"),
    "r# = [list(column) for column in zip(*r#)]; r# = [[*row, 0, 1][:3] for row in r#[:2]]",
)  # fmt: skip

_JUMPS: tuple[Step, ...] = (
    "@ += drained([*x#], &, y#)", "@ += drained(x#, ^, y#)", "@ += far_apart(x#, &)", "@ += far_apart([&, ^, 2], $)", "x#.append(&)",
    "@ += bumps(x#)[0]", "n#, z# = bumps([&, ^, $]); @ += n# + sum(z#)", ("if len(y#) > 4:", "del y#[:2]"), "y#.append(@ % 5)",
    ("for i#, (p#, q#) in enumerate(zip(x#, x#[1:])):", "@ += i# * p# - q#"), ("if 0 < (n# := & + 1) <= ^ + 3:", "@ += n#"),
    ("for h#, *e# in zip(x#, x#[1:], y#):", "@ += h# - len(e#) + e#[0]"),
    ("for h#, (e#, *_) in [(&, (^, 1)), ($, (2, @ % 3))]:", "@ += h# - e#"),
    ("if 0 <= (n# := len(x#)) - 1 < (w# := n# * 2) <= &:", "@ += w#"),
    ("while (n# := len(x#)) > 2 and x#[-1] != (w# := x#.pop()):", "@ += n# - w#"),
    "z# = sorted(zip(x#, y#), key=lambda e: (e[1], -e[0])); @ += sum(a - b * k for k, (a, b) in enumerate(z#))",
    "z# = sorted(enumerate(x#), key=lambda e: (-e[1], e[0])); @ += (z#[0][0] if z# else 6)",
    ("while x#:", "if x#.pop() > &: break", "else:", "@ += 3"),
    "x# = [p - q for p, *_, q in zip(x#, y#, x#[1:])]", ("for i#, e# in enumerate(sorted(x#, key=lambda v: (v % 3, v))):", "@ += i# * e#"),
    ("try:", "if ?: break", "@ += 1", "finally:", "@ -= 2"),
    ("for p# in reversed(list(zip(x#, y#))):", "if p#[0] == &: break", "else:", "@ += 1"),
    ("if ^ < & < 3 or not 0 <= @ % 5 < &:", "x#.append(^)"), ("if len(x#) > 4:", "x#.pop(0)"),
)  # fmt: skip

_FORMS: dict[str, Form] = {
    "patterns": (
        ("s# = Disc(1)", "t# = Side(2)", "x# = ~", "m# = 'a'"), _PATTERNS,
        ("described(s#)", "described(t#)", "sum(x#)", "len(x#)", "int(m# == 'a')", "int(isinstance(s#, Disc))", "@"),
    ),
    "grids": (
        ("g# = np.zeros((2, 3), int)", "r# = [[0, 1, 2], [3, 4, 5]]"), _GRIDS,
        ("int(g#.sum())", "int(g#[0, 1])", "int(g#[1].max())", "sum(map(sum, r#))", "r#[0][1]", "r#[1][2]", "@"),
    ),
    "jumps": (("x# = ~", "y# = ~"), _JUMPS, ("sum(e * k for k, e in enumerate(x#))", "len(x#)", "sum(y#)", "len(y#)", "@")),
}  # fmt: skip


class PatternState(FunctionState):
    """The part of the writer of programs that makes state of what `PREAMBLE_OF_PATTERNS` defines, and of matrices."""

    def compound_statements(self, depth: int) -> list[tuple[int, Maker]]:
        makers = super().compound_statements(depth)
        return makers + [(10, lambda: self._of_form(_FORMS))] if "patterns" in self.features else makers
