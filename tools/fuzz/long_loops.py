"""Generate loops over Python ranges that are too long to be unrolled, and what is staged as such loops are."""

from __future__ import annotations

from collections.abc import Sequence

from autograph.tools.fuzz.container_state import Step
from autograph.tools.fuzz.expressions import INT, INTS
from autograph.tools.fuzz.statements import Maker
from autograph.tools.fuzz.traced_keys import TracedKeys

# What is there before the loop, the steps, and what is read after it.
Form = tuple[tuple[str, ...], tuple[Step, ...], tuple[str, ...]]

_LISTS: tuple[Step, ...] = (
    "x#.append(&)", "x#.append($)", "x#.append(@ % 7)", ("if x#:", "@ += x#[-1]"), ("if x# and ?:", "@ += x#.pop()"),
    ("if len(x#) > 3:", "x#.pop(0)"), "@ += len(x#)", "@ += sum(x#[-2:])", "@ += sum(x#[:3])", "@ -= len(x#[2:])",
    ("if len(x#) > 2:", "@ += x#[-2] - x#[0]"), ("while x# and x#[-1] > &:", "x#.pop()"),
    ("if len(x#) == 5:", "x# = []"), ("if len(x#) > 5:", "x#.clear()"), ("if x#:", "x#[-1] += 1"),
    ("if x#:", "x#[@ % len(x#)] = &"), "y# = x#", "y# = list(x#)", "x#, y# = y#, x#", ("if & in x#:", "@ += 1"),
    "x#.insert(0, &)", ("if len(x#) > 2:", "x# = x#[1:]"), "x# += [&, 1]", "x#.extend(y#[-1:])", "y#.append(len(x#))",
    "y#.append(x#[-1] if x# else ^)", ("if x# is y#:", "@ += 1"), ("if ?:", "c# += 1"),
    ("for e# in x#[-3:]:", "@ += e#"), ("if len(x#) % 2:", "x#.append(c#)", "else:", "y#.append(c#)"),
    "@ += max(x#, default=^)",
    ("if x# and x#[-1] != &:", "x#.append(&)", "elif x#:", "x#.pop()", "else:", "x#.append(^)"),
    "x#.append(len(x#) % 5)", ("if len(y#) > 2:", "del y#[0]"), ("if ?:", "x#.reverse()"),
    ("if not x#:", "x#.append(&)"), "c# = len(y#)", "z#.append(@ % 11)", "z#.append(&)", ("if ?:", "z#.append($)"),
    "z#.append(c#)", ("if ?:", "z#.append(&)", "z#.append(^)"), "c# += 2",
)  # fmt: skip

_TUPLES: tuple[Step, ...] = (
    "x#.append((&, $))", "x#.append((@ % 5, ^))", ("if x#:", "p#, q# = x#[-1]"), ("if x#:", "@ += x#.pop()[0]"),
    "p#, q# = q#, p#", "x#.append((p#, q#))", "t# = (t#[1], &)", "x#.append(t#)",
    ("if len(x#) > 3:", "p#, q# = x#.pop(0)"), "@ += p# - q#", ("for u#, v# in x#[-2:]:", "@ += u# - v#"),
    ("if x# and x#[-1][0] > &:", "x#.pop()"), "@ += sum(u for u, v in x#)", "@ += t#[0]",
    ("if x#:", "x#[-1] = (x#[-1][1], ^)"), ("if x#:", "t# = x#[0]"), ("if (&, $) in x#:", "@ += 1"),
    "z#.append((@ % 5, &))", ("if ?:", "z#.append(t#)"), "z#.append((p#, t#[1]))", ("if ?:", "x# = [(&, ^)]"),
    ("if ?:", "p# = &", "else:", "q# = &"),
)  # fmt: skip

_OPTIONS: tuple[Step, ...] = (
    "x#.append(None if ? else &)", "x#.append(None)", "x#.append(&)",
    ("if x# and x#[-1] is not None:", "@ += x#[-1]"), ("if x# and x#[-1] is None:", "x#.pop()"),
    "@ += sum(1 for e in x# if e is None)", "@ += sum(e for e in x# if e is not None)", "b# = x#[-1] if x# else None",
    ("if b# is None:", "b# = &", "else:", "@ += b#"), ("if x#:", "x#[@ % len(x#)] = None"), "m#[$ % 80] = &",
    "m#[@ % 80] = &", ("if m#[$ % 80] is None:", "m#[$ % 80] = @ % 7", "else:", "@ += m#[$ % 80]"),
    ("if m#[@ % 80] is not None:", "@ += m#[@ % 80]"), "m#[($ + 1) % 80] = b#", "b# = m#[$ % 80]",
    ("if ?:", "m#[$ % 80] = None"), ("if len(x#) > 4:", "x#.pop(0)"), "x#.append(b#)", "b# = None", "@ += len(x#)",
    ("if b# is not None and b# > &:", "b# = None"), "z#.append(None if ? else @ % 7)", "z#.append(b#)",
    ("if ?:", "b# = @ % 5"), "m#.append(b#)", "x# = m#[-3:]",
    ("while x# and x#[-1] is not None and x#[-1] > &:", "x#.pop()"),
    ("for e# in x#:", "@ += 3 if e# is None else e#"),
)  # fmt: skip

_SHAPES: tuple[Step, ...] = (
    "c# += 1", ("if c# > 2:", "c# = 0"), ("if $ % 7 == 0:", "c# += 1"), "@ += len(np.ones(c# % 3 + 1))",
    "s# = ($ + ^) % 4", "@ += int(np.arange(s# + 1).sum())", "s# = c#", "@ += np.zeros((c# % 2 + 1, 2)).shape[0]",
    "x#.append(c#)", "x#.append(&)", ("if $ % 3 == 0:", "x#.append(s#)"), "@ += sum([q for q in range(c# % 3)])",
    "@ += (2, 3, 5)[c# % 3]", "c#, s# = s#, c#", ("if x#:", "@ += x#[-1]"), ("if ?:", "x#.append(c#)"),
    ("if x# and $ % 5 == 0:", "x#.pop()"), "c# = len(x#) % 3", "@ += c#", ("if len(x#) > 3:", "x#.pop(0)"),
    "@ += int(np.full(s# % 3 + 1, &).sum())", ("for q# in range(c# % 3):", "@ += q#"),
)  # fmt: skip

_BOUND: tuple[Step, ...] = (
    "@ += sum([h# := q + & for q in range(3)])", "@ += h#", ("if any((h# := q) > & for q in range(4)):", "@ += h#"),
    "g# = h#", "x# = [h# := q for q in range(4) if q != ^]",
    ("if (h# := & + 1) > 2 and (g# := h# - 1) < 9:", "@ += g#"), "x#.append(h#)",
    "@ += [h# := h# + q for q in range(3)][-1] % 7", "@ += sum((lambda q: q + h#)(q) for q in range(3)) % 5",
    "h# = &", "@ += sum(g(1) for g in [lambda q, r=r: q * r + & for r in range(3)])",
    "@ += sum(g(1) for g in [lambda q: q + r for r in range(3)])",
    "@ += sum(sorted([q * (&) for q in range(3)], key=lambda q: (q - h#) % 5)[:2])", "@ += len(x#)",
    ("if all((g# := q) < & for q in x#[-3:]):", "@ -= 1"), "@ += {q: (h# := q) for q in range(3)}[1] + h#",
    "@ += max((g# := q % 5) for q in (h#, &, ^)) + g#", ("while (h# := h# % 7 + 2) < 6:", "@ += 1"),
    "x# = [(g# := e + 1) % 9 for e in x#[-4:]]", "x# = [e for e in x#[-3:] if (h# := e % 3) != ^]",
    "@ += sum(p * (g# := q) for p in range(2) for q in range(p + 1))",
    "@ += [[h# := h# % 5 + q for q in range(2)] for _ in range(2)][1][0]",
    "@ += sum([(h# := q) if ? else (g# := q) for q in range(3)])", "@ += g# - h#",
)  # fmt: skip

_TABLES: tuple[Step, ...] = (
    "t#[$ % 3][^ % 3] = &", "t#[$ % 3][@ % 3] += &", "t#[@ % 3][$ % 3] = ^", "@ += t#[@ % 3][$ % 3]",
    "@ += t#[$ % 3][1] - t#[2][@ % 3]", "r#[0] += 1", "r#[@ % 3] = &", "@ += r#[1]", "r# = t#[$ % 3]", "r# = t#[1]",
    ("if ?:", "t#[0] = [&, 1, 2]"), "t#[0], t#[2] = t#[2], t#[0]", "t#[1] = list(r#)",
    ("for e# in t#:", "@ += e#[0]"), ("for e# in t#:", "e#[@ % 3] += 1"), "@ += sum(t#[$ % 3])",
    "@ += sum(map(sum, t#))", ("for j# in range(3):", "t#[$ % 3][j#] += &"),
    ("for j# in range(3):", "@ += t#[j#][$ % 3]"), ("if r# is t#[1]:", "@ += 1"),
    ("for j# in range(1, 3):", "t#[j#][$ % 3] = t#[j# - 1][(j# + 1) % 3] + 1"),
    ("if t#[$ % 3][0] > &:", "t#[$ % 3][0] = ^"),
    ("for j# in range(3):", "if t#[j#][@ % 3] < &: t#[j#][$ % 3] = @ % 7"), "t#[2] = r#", "t# = [e[:] for e in t#]",
    "u# = t#", "u#[1][$ % 3] += 1", "t#[$ % 3][0], t#[0][@ % 3] = t#[1][1], t#[$ % 3][2]",
    "t# = [[e % 5 for e in q] for q in t#]", "t# = [list(q) for q in zip(*t#)]", "t#.append(t#.pop(0))",
    "r# = [0, &, 1]", "@ += len(t#)", ("if ?:", "t#.reverse()"),
)  # fmt: skip

_FORMS: dict[str, Form] = {
    "lists": (
        ("x# = ~", "y# = ~", "z# = ~", "c# = 0"), _LISTS,
        (
            "len(x#)", "sum(x#)", "sum(y#[-5:])", "(x#[-1] if x# else -7)",
            "sum(e * k for k, e in enumerate(z#)) % 997", "len(y#)", "c#", "@",
        ),
    ),
    "tuples": (
        ("x# = []", "z# = []", "p# = 0", "q# = 1", "t# = (1, 2)"), _TUPLES,
        (
            "len(x#)", "sum(u - v for u, v in x#)", "sum(u * k - v for k, (u, v) in enumerate(z#)) % 997", "p# - q#",
            "t#[0]", "@",
        ),
    ),
    "options": (
        ("x# = []", "z# = []", "b# = None", "m# = [None] * 80"), _OPTIONS,
        (
            "len(x#)", "sum(e for e in m# if e is not None)", "sum(k for k, e in enumerate(m#) if e is None) % 997",
            "(7 if b# is None else b#)", "sum(1 if e is None else e for e in z#)",
            "sum(1 if e is None else e for e in x#)", "len(m#)", "@",
        ),
    ),
    "shapes": (
        ("x# = []", "c# = 1", "s# = 2"), _SHAPES,
        (
            "c#", "s#", "len(x#)", "sum(x#)", "len(np.ones(c# + 1))", "@",
        ),
    ),
    "bound": (
        ("x# = []", "h# = 0", "g# = 0"), _BOUND,
        (
            "h#", "g#", "len(x#)", "sum(x#)", "@",
        ),
    ),
    "tables": (
        ("t# = |", "r# = t#[0]", "u# = t#"), _TABLES,
        (
            "sum(map(sum, t#)) % 997", "t#[1][2]", "r#[1]", "sum(r#)", "t#[0][0]", "sum(u#[1])",
            "sum(k * e for q in t# for k, e in enumerate(q)) % 997", "@",
        ),
    ),
}  # fmt: skip

_WRITES: tuple[Step, ...] = (
    "l#.append(k)", "l#.append(@ % 7)", "l#[k % 3] += 1", "l#[@ % 3] = k % 5", "o#.value = (o#.value + k) % 13",
    "@ = (@ * 2 + k) % 31", "@ += 1", "@ -= o#.value", "o#.items.append(k % 3)", "o#.add(k % 2)",
    ("if len(l#) > 3:", "l#.pop()"), "b# = k if b# is None else None", "b# = @ % 5", "m#[k % 3] = @ % 7",
    "m#['last'] = k",
)  # fmt: skip
_GIVEN = (
    "@ % 5", "k % 3", "len(l#) % 4", "o#.value", "l#[-1] % 5", "(0 if b# is None else b# % 4)", "len(o#.items) % 3",
    "int(k > @)",
)  # fmt: skip
_RUNS = (
    "sum(step#(k) for k in range(&))", "any(step#(k) > 3 for k in range(&))", "all(step#(k) < 4 for k in range(&))",
    "max(step#(k) for k in range(&))", "[step#(k) for k in range(&)][-1]",
    "sum(step#(k) for k in range(&) if k % 3 != ^)", "sum([step#(k) * k for k in range(&)]) % 97",
    "min((step#(k) for k in range(3, &)), default=9)", "sum(step#(k) for k in range(&) if step#(k) > 1)",
    "sum(map(step#, range(&)))", "next((k for k in range(&) if step#(k) > 3), 5)",
    "sum(step#(j) + k for k in range(&) for j in range(2)) % 97", "len([k for k in range(&) if step#(k)])",
    "len({step#(k) for k in range(3)})", "{k: step#(k) for k in range(&)}[5]",
)  # fmt: skip


class LongLoops(TracedKeys):
    """The part of the writer of programs that makes loops over ranges that are too long to be unrolled.

    In the texts of starts ``~`` is a list of a few ints, and ``|`` a table of three rows and columns.
    """

    def compound_statements(self, depth: int) -> list[tuple[int, Maker]]:
        makers = super().compound_statements(depth)
        if "long loops" not in self.features:
            return makers
        return [*makers, (9, self._long_loop), (3, self._steps_that_write)]

    def _long_loop(self) -> None:
        starts, steps, uses = _FORMS[self.random.choice(tuple(_FORMS))]
        number, total = self._begin(*map(self._start, starts))
        if self.chance(0.7):
            self.line(f"{total} = {self._operand(INT)}")
        if self.chance(0.25):
            inside = [*steps, *self._leaving(), self._RETURNS]
            self._in_function(number, total, starts, lambda: self._loop_of_many(number, total, inside))
        else:
            self._loop_of_many(number, total, [*steps, *self._leaving()])
        self._end(number, total, uses)

    def _start(self, text: str) -> str:
        rows = [f"[{', '.join(self._row())}]" for _ in range(3)]
        tables = (
            f"[{', '.join(rows)}]",
            f"[{rows[0]}] * 3",
            "[[0] * 3 for _ in range(3)]",
            "[[0 for _ in range(3)] for _ in range(3)]",
        )
        return text.replace("~", f"[{self._numbers(2)}]").replace("|", self.random.choice(tables))

    def _row(self) -> list[str]:
        return [self._operand(INT) if self.chance(0.4) else self.constant(INT) for _ in range(3)]

    def _loop_of_many(self, number: str, total: str, steps: Sequence[Step]) -> None:
        """A loop over a Python range, or a ``while`` on a Python counter, of more iterations than are unrolled."""
        outer, self.scope = self.scope, self.scope.copy()
        item = self.new_name(INT)
        self._head_of_many(item)
        values = [item, f"({item} % 5)", f"({total} % 5)", self._operand(INT)]
        vectors = [name for name in self.scope.readable(INTS) if name.isalnum()]
        if vectors:
            values += [f"{self.random.choice(vectors)}[{item} % 3]"] * 2
        nested = self.chance(0.2)
        if nested:
            inner = self.new_name(INT)
            iterables = ("range(2)", "ag.range(3)", f"range({item} % 3)", *vectors[:1])
            self.line(f"for {inner} in {self.random.choice(iterables)}:")
            values.append(inner)
            self.level += 1
        for step in self.random.choices(steps, k=self.random.choice((2, 3, 4, 5))):
            self._step(step, {"#": number, "@": total, "$": item, "&": self.random.choice(values)})
        self.line(f"{total} = {total} % 97")
        self.level -= 1 + nested
        self.scope = outer

    def _head_of_many(self, item: str) -> None:
        """The lines that begin such a loop."""
        many = self.random.randint(66, 80)
        is_while = self.chance(0.25)
        if is_while:
            self.line(f"{item} = {self.random.randint(0, 2)}")
            self.line(f"while {item} < {many}:")
        else:
            ranges = (f"{many}", f"{many}", f"3, {many}", f"{many}, 0, -1", f"0, {2 * many}, 2")
            self.line(f"for {item} in range({self.random.choice(ranges)}):")
        self.level += 1
        if is_while:
            self.line(f"{item} += 1")

    def _steps_that_write(self) -> None:
        """A function that writes to what is around it, and consumers of iterables that call it many times."""
        number, total = self._begin(f"l# = [{', '.join(self._row())}]", "b# = None", "o# = Cell(1)", "m# = {}")
        if self.chance(0.7):
            self.line(f"{total} = {self._operand(INT)}")
        names = {"#": number, "@": total, "$": "k", "&": "k"}
        self.line(f"def step{number}(k):")
        with self.indented():
            self.line(f"nonlocal {total}, b{number}")
            for step in self.random.sample(_WRITES, self.random.choice((1, 1, 2, 3))):
                self._step(step, names)
            self.line(f"{total} = {total} % 97")
            if self.chance(0.2):
                self._step(("if ?:", f"return {self.constant(INT)}"), names)
            self.line(f"return {self.random.choice(_GIVEN).replace('#', number).replace('@', total)}")
        for text in self.random.sample(_RUNS, self.random.choice((1, 1, 2))):
            text = (
                text.replace("#", number)
                .replace("&", str(self.random.randint(66, 80)))
                .replace("^", self.constant(INT))
            )
            if self.chance(0.25):
                self.line(f"if {self.condition(1)}:")
                with self.indented():
                    self.line(f"{total} = int({text})")
            else:
                self.assign_new(INT, f"int({text})")
                self.note(self.lines[-1].split()[0])
        self._end(
            number,
            total,
            ["sum(l#) % 997", "len(l#)", "o#.value", "len(o#.items)", "(7 if b# is None else b#)", "@", "len(m#)"],
        )
