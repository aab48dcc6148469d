"""Random classes with state, whose methods are called in turn, to be compared as `ag.function` and as Python runs them."""

from __future__ import annotations

import importlib.util
import random
import sys
from pathlib import Path
from typing import Any

CONDITIONS = (
    "x > {c}", "self.a < x", "len(self.xs) > {k}", "self.n % 2 == 0", "int(x) in self.d", "self.xs and self.xs[-1] > x",
    "self.flag", "len(self.q) >= {k}", "int(x) in self.s", "not self.xs", "self.mode == 'up'", "len(self.other.xs) < {k} and x > 0",
    "self.h and self.h[0] < x", "x in self.xs", "r > 1",
)  # fmt: skip
STATEMENTS = (
    "self.a += x", "self.a = self.a * 0.5 + x", "self.n += 1", "self.xs.append(x)", "self.xs.append(self.a)",
    "r += self.xs.pop() if self.xs else 0.0", "r += self.xs.pop(0) if self.xs else 0.0", "self.xs = self.xs + [x]",
    "self.xs = self.xs[-2:]", "self.xs.sort()", "self.xs.reverse()", "self.xs.insert(0, x)", "self.xs.extend([x, r])",
    "del self.xs[:1]", "self.xs.clear()", "self.xs = []", "self.xs += [x]", "self.q.append(x)", "self.q.appendleft(r)",
    "r += self.q.popleft() if self.q else 0.0", "self.d[int(x)] = x", "self.d[{k}] = r", "r += self.d.get(int(x), 0.0)",
    "self.d[int(x)] = self.d.get(int(x), 0.0) + 1.0", "self.d.pop(int(x), None)", "r += len(self.d)", "self.s.add(int(x))",
    "self.s.discard(int(x))", "self.s.add({k})", "r += len(self.s)", "heapq.heappush(self.h, x)",
    "r += heapq.heappop(self.h) if self.h else 0.0", "r += sum(self.xs)", "r += len(self.xs)", "r += max(self.xs, default=0.0)",
    "self.flag = x > {c}", "self.flag = not self.flag", "self.mode = 'up' if x > {c} else 'down'", "self.mode = 'still'",
    "self.other.xs.append(x)", "r += len(self.other.xs)", "r += self.other.take()", "self.put(x)", "r += self.last()",
    "self.pair = (x, self.n)", "r += self.pair[0]", "self.xs, self.other.xs = self.other.xs, self.xs", "r += x",
    "self.best = x if self.best is None else max(self.best, x)", "self.log.append((self.n, x))", "r += sum(v for _, v in self.log)",
    "SEEN.append(x)", "r += len(SEEN)", "TOTAL['v'] += x", "self.xs[0:1] = [x]",
    "self.rows.append([x, 1.0])", "r += self.rows[-1][0] if self.rows else 0.0",
    "r += sum(row[1] for row in self.rows)", "self.groups[int(x) % 2].append(x)", "r += len(self.groups[0])",
    "self.counts[int(x)] += 1", "r += self.counts[{k}]", "self.by_name['a'].append(x)", "self.by_name['a' if x > 1 else 'b'].append(r)",
    "r += len(self.by_name['b'])", "self.xs[:] = [v for v in self.xs if v > 0]", "self.h = sorted(self.xs)", "self.q.rotate(1)",
    "self.q.extend(self.xs)", "bisect.insort(self.xs, x)", "self.xs = [v + 1 for v in self.xs]", "self.d = {{}}", "self.d.update({{1: x}})",
    "self.d.setdefault(int(x), 0.0)", "r += max(self.d.values(), default=0.0)", "r += sum(self.q)", "r += sum(1 for v in self.xs if v > x)",
    "self.other = Other()", "self.v = self.v + x", "self.v = self.v * 0.5", "self.s = set()", "self.s = {{int(x), {k}}}", "self.total += x",
    "r += self.total", "self.table['n'] += 1", "self.table['last'] = x", "r += self.table['n']", "self.xs[{k}:] = []",
    "self.grid[int(x) % 2][{k} % 2] = x", "r += self.grid[int(x) % 2][0]", "self.names.append('a' if x > 1 else 'b')",
    "r += self.names.count('a')", "r += self.xs.pop()", "COUNT += x", "r += COUNT", "COUNT = self.n",
    "self.h[0] = x", "r += self.d[int(x)]",
    "r += self.xs[{k}] if len(self.xs) > {k} else 0.0",
)  # fmt: skip
IN_LOOPS = tuple(each for each in STATEMENTS if "SEEN.append" not in each)
GUARDED = (
    "self.xs[-1] = x",
    "self.xs[0] += 1.0",
    "self.xs[int(x) % len(self.xs)] = r",
    "r += self.xs[int(x) % len(self.xs)]",
)
OF_ROWS = ("self.rows[0][1] += 1.0", "self.rows[-1] = [x, 2.0]", "r += self.rows.pop()[0]", "self.rows[0].append(x)")
OF_FOUND = ("self.xs.remove(x)", "r += self.xs.index(x)", "del self.xs[self.xs.index(x)]")
LOOPS = (
    "for v in sorted(self.s):", "for v in [row[0] for row in self.rows]:", "for v in self.groups[1]:", "for v in self.by_name['a']:",
    "for v in self.xs:", "for v in (1.0, x):", "for v in range(int(abs(x)) % 4):", "for v in list(self.q):", "while len(self.xs) > 3:",
    "for v in [w for w in self.xs if w > x]:", "for _, v in self.d.items():", "while self.q:", "for v in range(2):",
)  # fmt: skip
CHANGES = (
    "o.xs.append(1.0)", "o.xs = [2.0, 5.0]", "o.a = 3.0", "o.d[7] = 1.0", "o.xs.clear()", "o.q.append(4.0)", "o.s.add(9)", "o.n = 5",
    "o.other.xs = o.xs", "o.h.clear()", "o.mode = 'up'", "o.best = None",
)  # fmt: skip

HEADER = """import bisect
import heapq
from collections import Counter, defaultdict, deque

SEEN = []
COUNT = 0.0
TOTAL = {"v": 0.0}


class Other:
    def __init__(self):
        self.xs = [0.5]

    def take(self):
        if not self.xs:
            return -1.0
        return self.xs.pop()


class Thing:
    def __init__(self):
        self.a, self.n, self.flag, self.mode, self.best, self.pair = 0.0, 0, False, "still", None, (0.0, 0)
        self.xs, self.h, self.q, self.d, self.s, self.log = [], [], deque(), {}, set(), []
        self.rows, self.groups, self.counts, self.v, self._total = [], defaultdict(list), Counter(), 0.0, 0.0
        self.by_name, self.table, self.grid, self.names = {"a": [], "b": []}, {"n": 0, "last": 0.0}, [[0.0, 0.0], [0.0, 0.0]], []
        self.other = Other()

    @property
    def total(self):
        return self._total

    @total.setter
    def total(self, value):
        self._total = value

    def put(self, v):
        if v > 1:
            self.xs.append(v)
        else:
            self.n += 1

    def last(self):
        return self.xs[-1] if self.xs else 0.0
"""


class _Writer:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.calls: tuple[str, ...] = ()

    def _text(self, choices: Any) -> str:
        text = self.random.choice(choices)
        return text.format(c=self.random.choice([0.0, 1.0, 2.5]), k=self.random.randrange(3))

    def block(self, depth: int, indent: str) -> list[str]:
        lines: list[str] = []
        for _ in range(self.random.choice([1, 1, 2, 3])):
            kind = self.random.random()
            if depth and kind < 0.3:
                lines.append(f"{indent}if {self._text(CONDITIONS)}:")
                lines += self.block(depth - 1, indent + "    ")
                if self.random.random() < 0.5:
                    lines += [f"{indent}else:", *self.block(depth - 1, indent + "    ")]
            elif depth and kind < 0.42:
                loop = self._text(LOOPS)
                lines.append(indent + loop)
                if loop == "while len(self.xs) > 3:":
                    lines.append(f"{indent}    self.xs.pop()")
                elif loop == "while self.q:":
                    lines.append(f"{indent}    r += self.q.pop()")
                else:
                    if self.random.random() < 0.2:
                        lines += [
                            f"{indent}    if {self._text(CONDITIONS)}:",
                            f"{indent}        {self._text(('break', 'continue'))}",
                        ]
                    lines.append(f"{indent}    r += v")
                    if loop == "for v in self.xs:" and self.random.random() < 0.4:
                        lines.append(
                            f"{indent}    {self._text(('self.xs[-1] += 1.0', 'self.xs[0] = r', 'self.xs[-1] = v'))}"
                        )
                    if not loop.startswith(("for v in self", "for _, v in self")):
                        lines.append(indent + "    " + self._text(IN_LOOPS))
            elif kind < 0.44:
                lines += [f"{indent}if self.rows:", f"{indent}    {self._text(OF_ROWS)}"]
            elif kind < 0.46:
                lines += [f"{indent}if x in self.xs:", f"{indent}    {self._text(OF_FOUND)}"]
            elif kind < 0.5:
                lines += [f"{indent}if self.xs:", f"{indent}    {self._text(GUARDED)}"]
            elif depth and kind < 0.55:
                lines += [f"{indent}if {self._text(CONDITIONS)}:", f"{indent}    return r"]
            elif self.calls and kind < 0.7:
                lines.append(indent + self._text(self.calls))
            else:
                lines.append(indent + self._text(STATEMENTS))
        return lines


def source_of(seed: int, nested: bool = False) -> tuple[str, list[tuple[str, Any]]]:
    """A module with a class ``Thing``, and what is done to an object of it: a method's name with an argument, or ``""`` with a
    statement.

    Args:
      nested: whether the methods call each other.
    """
    writer = _Writer(seed)
    count = writer.random.choice([1, 2, 2, 3])
    lines = [HEADER]
    for number in range(count):
        lines += [
            f"    def m{number}(self, x):",
            "        global COUNT",
            "        r = 0.0",
            "        self.a += x",
            *writer.block(2, "        "),
            "        return r",
            "",
        ]
        if nested:
            writer.calls += (f"r += self.m{number}(x)", f"self.m{number}(r)", f"self.a = self.m{number}(self.a)")
            writer.calls += ("self.put(x)", "r += self.last()", "r += self.other.take()")
    steps: list[tuple[str, Any]] = []
    for _ in range(6):
        steps.append(
            (f"m{writer.random.randrange(count)}", writer.random.choice([2.0, -1.0, 3.0, 0.5, -4.0, 6.0, 1.0]))
        )
        if writer.random.random() < 0.2:
            steps.append(("", writer.random.choice(CHANGES)))
    return "\n".join(lines), steps


def load(source: str, name: str, folder: Path) -> Any:
    """The module of this source."""
    path = folder / f"{name}.py"
    path.write_text(source, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
