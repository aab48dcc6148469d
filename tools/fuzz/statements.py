"""Generate statements, and track the variables that are defined after each, with their types."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass

from autograph.tools.fuzz.expressions import (
    BOOL,
    FLOAT,
    FLOATS,
    INT,
    INTS,
    MATRIX,
    NUMBER,
    OPTION,
    ROWS,
    SCALARS,
    WIDE,
    Expressions,
    Scope,
)

Maker = Callable[[], bool | None]

_STEMS = {INT: "i", FLOAT: "r", BOOL: "t", FLOATS: "vs", INTS: "ws", NUMBER: "num", WIDE: "wide", OPTION: "best"}
_ELEMENT = {FLOATS: FLOAT, INTS: INT}


@dataclass
class _Loop:
    """The innermost loop that is being written: whether ``continue`` may stand in it."""

    may_continue: bool = True


class Statements(Expressions):
    """Attributes: lines (the text so far), loops (those around), returns (the types the function returns),
    budget (how many more statements before blocks become short and flat), notes (whether the variable ``noted`` is the function's)."""

    def __init__(self, numbers: random.Random) -> None:
        super().__init__(numbers)
        self.lines: list[str] = []
        self.level = 0
        self.count = 0
        self.loops: list[_Loop] = []
        self.unrolled = 1
        self.returns: tuple[str, ...] = ()
        self.always_returned: tuple[str, ...] = ()
        self.raises = False
        self.may_jump = True
        self.before_finally = 0  # how many `finally` blocks are still to run
        self.budget = 10**6
        self.notes = False

    def line(self, text: str) -> None:
        self.lines.append("    " * self.level + text if text else "")

    @contextmanager
    def indented(self) -> Iterator[None]:
        self.level += 1
        yield
        self.level -= 1

    def new_name(self, kind: str) -> str:
        self.count += 1
        return f"{_STEMS[kind]}{self.count}"

    def body(self, scope: Scope, returns: tuple[str, ...], size: int, depth: int, first: Sequence[str] = ()) -> None:
        """The body of a function: statements, then a return."""
        outer = self.scope, self.loops, self.returns, self.unrolled
        returned = self.always_returned
        if len(returns) == 1:
            self.always_returned = ()
        self.scope, self.loops, self.returns, self.unrolled = scope, [], returns, 1
        with self.indented():
            for text in first:
                self.line(text)
            if not self.statements(size, depth):
                self.return_()
        self.always_returned = returned
        self.scope, self.loops, self.returns, self.unrolled = outer

    def statements(self, size: int, depth: int) -> bool:
        """Write about ``size`` statements; whether the last of them always leaves the block."""
        return any(self.statement(depth) for _ in range(size))

    def block(self, depth: int, jumps: float = 0.0) -> tuple[Scope, bool]:
        """Write an indented block; the scope at its end, and whether it always leaves."""
        outer, self.scope = self.scope, self.scope.copy()
        start = len(self.lines)
        with self.indented():
            left = self.statements(self.random.choice((1, 1, 2, 2, 3)) if self.budget > 0 else 1, depth - 1)
            if not left and self.chance(jumps):
                left = self.jump()
            if len(self.lines) == start:
                self.line("pass")
        end, self.scope = self.scope, outer
        return end, left

    def statement(self, depth: int) -> bool:
        """Write one statement; whether it always leaves the block."""
        self.budget -= 1
        makers = self.simple_statements(depth)
        if depth > 0 and self.budget > 0:
            makers += self.compound_statements(depth)
        weights, functions = zip(*makers, strict=True)
        return bool(self.random.choices(functions, weights)[0]())

    def simple_statements(self, depth: int) -> list[tuple[int, Maker]]:
        makers: list[tuple[int, Maker]] = [
            (4, self.assignment),
            (5, self.augmented),
            (1, self.several),
            (1, self.swap),
            (3, self.item_write),
            (2, self.call_statement),
        ]
        if self.raises:
            makers.append((2, lambda: self.check(depth)))
        return makers

    def compound_statements(self, depth: int) -> list[tuple[int, Maker]]:
        return [
            (6, lambda: self.if_(depth)),
            (4, lambda: self.for_(depth)),
            (3, lambda: self.while_(depth)),
        ]

    def note(self, number: str) -> None:
        """Have the program return what comes of this number, too, of which few are among its results otherwise."""
        if self.notes:
            self.line(f"noted = (noted * 3 + {number}) % 997")

    # Simple statements.

    def assign_new(self, kind: str, text: str | None = None) -> None:
        text = self.expression(kind) if text is None else text
        name = self.new_name(kind)
        self.line(f"{name} = {text}")
        self.scope.types[name] = kind

    def assignment(self) -> None:
        if self.chance(0.25):
            kind = self.random.choice(SCALARS)
            self.assign_new(kind)
            return
        places = self.scope.writable()
        if places:
            place = self.random.choice(places)
            self.line(f"{place} = {self.value_for(self.scope.types[place])}")

    def value_for(self, kind: str) -> str:
        """An expression that may be assigned to a variable of this type."""
        if kind == NUMBER:
            return self.expression(self.random.choice((INT, FLOAT)))
        if kind == OPTION:
            return "None" if self.chance(0.15) else self.expression(INT)
        if kind == MATRIX:
            return (
                f"{self.random.choice(self.scope.readable(MATRIX))} {self.random.choice('+-')} {self._operand(FLOAT)}"
            )
        return self.expression(kind)

    def augmented(self) -> None:
        places = [place for place in self.scope.writable() if self.scope.types[place] in (INT, FLOAT)]
        if not places:
            return
        place = self.random.choice(places)
        kind = self.scope.types[place]
        symbol = self.random.choices(("+=", "-=", "*="), (5, 3, 1))[0]
        if "operators" in self.features and self.chance(0.5):
            symbol, value = self._other_operator(kind)
        elif symbol == "*=":
            value = self.random.choice(("2", "-1") if kind == INT else ("0.5", "-1", "2"))
        else:
            value = self.expression(kind, 1)
        self.line(f"{place} {symbol} {value}")

    def _other_operator(self, kind: str) -> tuple[str, str]:
        pick = self.random.choice
        if kind == FLOAT:
            return pick((("/=", "2"), ("%=", "2.0"), ("//=", "0.5"), ("-=", self.expression(INT, 1))))
        bits = pick(("&=", "|=", "^="))
        return pick((("//=", pick("23")), ("%=", pick("35")), ("<<=", "1"), (">>=", "1"), (bits, pick("123"))))

    def several(self) -> None:
        places = [place for place in self.scope.writable() if self.scope.types[place] in SCALARS]
        if len(places) < 2:
            return
        chosen = self.random.sample(places, min(len(places), self.random.choice((2, 2, 3))))
        if self.chance(0.2):
            same = [place for place in chosen if self.scope.types[place] == self.scope.types[chosen[0]]]
            self.line(f"{' = '.join(same)} = {self.expression(self.scope.types[chosen[0]])}")
            return
        values = [self.expression(self.scope.types[place], 1) for place in chosen]
        self.line(f"{', '.join(chosen)} = {', '.join(values)}")

    def swap(self) -> None:
        vectors = [name for name in self.scope.writable() if self.scope.types[name] in (FLOATS, INTS)]
        if vectors and self.chance(0.4):
            name = self.random.choice(vectors)
            one, other = f"{name}[{self.index()}]", f"{name}[{self.index()}]"
        else:
            kind = self.random.choice(SCALARS)
            places = self.scope.writable(kind)
            if len(places) < 2:
                return
            one, other = self.random.sample(places, 2)
        self.line(f"{one}, {other} = {other}, {one}")

    def item_write(self) -> None:
        vectors = [name for name in self.scope.writable() if self.scope.types[name] in (FLOATS, INTS, MATRIX)]
        if not vectors:
            return self.augmented()
        name = self.random.choice(vectors)
        if self.scope.types[name] == MATRIX:
            return self._matrix_write(name)
        kind = _ELEMENT[self.scope.types[name]]
        if self.chance(0.3 if "operators" in self.features else 0.1):
            self.line(f"{name}[{self._many()}] {self._writes()} {self.expression(kind, 1)}")
            return None
        self.line(f"{name}[{self.index()}] {self._writes()} {self.expression(kind, 1)}")
        return None

    def _many(self) -> str:
        """An index of several elements of a vector."""
        number = self._operand(FLOAT if self.chance(0.5) else INT)
        name = self.random.choice(self.scope.readable(FLOATS) + self.scope.readable(INTS))
        return self.random.choice(("1:", ":2", "::2", "::-1", "...", "[0, 2]", f"{name} > {number}", "-2:"))

    def _matrix_write(self, name: str) -> None:
        row, column = self.index(ROWS), self.index()
        vectors = self.scope.readable(FLOATS)
        mask = f"{self.random.choice(vectors)} > {self._operand(FLOAT)}" if vectors else "1:"
        index = self.random.choice(
            (
                f":, {mask}",
                f"{row}, {mask}",
                f"{name} > {self._operand(FLOAT)}",
                f"{row}, {column}",
                f"{row}][{column}",
                row,
                f":, {column}",
                f"..., {column}",
                f"{row}, 1:",
                "[1, 0]",
                "0, ::2",
            )
        )
        value = self.expression(FLOAT, 1)
        if index in (row, "[1, 0]") and vectors and self.chance(0.5):
            value = self.vector(FLOATS, 1)
        self.line(f"{name}[{index}] {self._writes()} {value}")

    def _writes(self) -> str:
        return self.random.choice(("=", "+=", "-="))

    def call_statement(self) -> None:
        callees = [callee for callee in self.callable_here() if callee.text in ("box.bump", "add", "bump_total")]
        if callees:
            self.line(self.call_text(self.random.choice(callees)))

    def check(self, depth: int) -> None:
        if not self.may_jump:  # in `finally` it would replace an exception
            self.line("pass")
        elif self.chance(0.5):
            self.line(f'assert {self.condition()}, "a{self.random.randint(1, 9)}"')
        else:
            error = self.random.choice(("ValueError", "KeyError", "OverflowError"))
            self.line(f"if {self.condition()}:")
            with self.indented():
                self.line(f'raise {error}("e{self.random.randint(1, 9)}")')

    # Statements that leave.

    def jump(self) -> bool:
        """A break, continue or return, where one may stand."""
        if not self.may_jump:
            self.line("pass")
            return False
        kinds = ["return"]
        if self.loops:
            kinds += ["break", "break"]
            if self.loops[-1].may_continue:
                kinds += ["continue", "continue"]
        kind = self.random.choice(kinds)
        if kind == "return":
            self.return_()
        else:
            self.line(kind)
        return True

    def return_(self) -> None:
        values = []
        for kind in self.returns:
            names = [name for name in self.scope.readable(kind) if name.isalnum()]
            if kind in SCALARS:
                values.append(self._returned(names, kind))
            else:  # NumPy would show what `finally` writes into the array that is on its way
                values.append(self.random.choice(names) + " + 0" * bool(self.before_finally))
        values += self.always_returned
        self.line(f"return {', '.join(values)}")

    def _returned(self, names: list[str], kind: str) -> str:
        return self.random.choice(names) if names and self.chance(0.7) else self.expression(kind, 1)

    # Compound statements.

    def if_(self, depth: int) -> bool:
        jumps = 0.35 if self.loops else 0.2
        kind = self.random.choice((INT, FLOAT))
        shared = self.new_name(kind) if self.chance(0.15) else None
        test = self.condition()
        outer = self.scope
        if self.chance(0.1):
            name = self.new_name(INT)
            test = f"({name} := {self.expression(INT, 1)}) > {self.constant(INT)}"
            outer.types[name] = INT
        ends: list[Scope] = []
        self.line(f"if {test}:")
        self._branch(depth, jumps, shared, kind, ends)
        while self.chance(0.25):
            self.line(f"elif {self.condition()}:")
            self._branch(depth, jumps, shared, kind, ends)
        has_else = shared is not None or self.chance(0.5)
        if has_else:
            self.line("else:")
            self._branch(depth, jumps, shared, kind, ends)
        else:
            ends.append(outer)
        if not ends:
            return True
        common = set.intersection(*(set(end.types) for end in ends))
        outer.types = {name: type for name, type in ends[0].types.items() if name in common}
        return False

    def _branch(self, depth: int, jumps: float, shared: str | None, kind: str, ends: list[Scope]) -> None:
        end, left = self.block(depth, jumps=jumps)
        if left:
            return
        if shared is not None:
            self.scope, outer = end, self.scope
            with self.indented():
                self.line(f"{shared} = {self.expression(kind)}")
            self.scope = outer
            end.types[shared] = kind
        ends.append(end)

    def for_(self, depth: int) -> None:
        iterable, targets, unrolled = self._iterable()
        before = self.unrolled
        self.unrolled *= unrolled
        self.line(f"for {', '.join(targets)} in {iterable}:")
        self._body_of_loop(depth, targets, self.iterated(iterable))
        self.unrolled = before
        self._else_of_loop(depth)

    def iterated(self, iterable: str) -> set[str]:
        """The arrays that a loop runs over, which its body is not to write to: NumPy's iterator would see the write."""
        return {name for name in re.findall(r"\w+", iterable) if self.scope.types.get(name) in _ELEMENT}

    def _body_of_loop(self, depth: int, targets: dict[str, str], fixed: AbstractSet[str] = frozenset()) -> None:
        self.loops.append(_Loop())
        outer = self.scope
        self.scope = outer.copy()
        self.scope.types |= targets
        self.scope.fixed |= fixed
        self.block(depth, jumps=0.1)
        self.scope = outer
        self.loops.pop()

    def _iterable(self) -> tuple[str, dict[str, str], int]:
        """What a for loop runs over, its targets, and how many times its body is traced if it is unrolled."""
        ints = [name for name in self.scope.writable(INT) if name.isalnum()]
        target = self.random.choice(ints) if ints and self.chance(0.25) else self.new_name(INT)
        vectors = [name for name in (*self.scope.readable(FLOATS), *self.scope.readable(INTS)) if name.isalnum()]
        kind = self.random.choice(("range", "range", "traced", "traced", "traced", "ag", "array", "zip", "tuple"))
        if kind in ("array", "zip") and vectors:
            return self._array_iterable(kind, vectors, target)
        if kind == "tuple" and self.unrolled <= 3:
            return f"({self._operand(INT)}, {self._operand(INT)})", {target: INT}, 2
        if kind == "range" and self.unrolled <= 3:
            text = self.random.choice(("2", "3", "1, 3", "2, -1, -1", "4", "0, 5, 2"))
            wrapped = f"reversed(range({text}))" if self.chance(0.1) else f"range({text})"
            return wrapped, {target: INT}, 3
        if kind == "ag":
            text = self.random.choice(("3", "1, 4", "5", "4, 0, -2", "0", f"{self._operand(INT)} % 4"))
            return f"ag.range({text})", {target: INT}, 1
        bound = f"{self._operand(INT)} % {self.random.choice(('3', '4', '5'))}"
        text = self.random.choice(
            (
                bound,
                bound,
                bound,
                f"1, {bound}",
                f"{bound}, -1, -1",
                f"0, {bound}, 2",
                f"min({bound}, 3)",
                f"-1, {bound}",
            )
        )
        return f"range({text})", {target: INT}, 1

    def _array_iterable(self, kind: str, vectors: list[str], target: str) -> tuple[str, dict[str, str], int]:
        one, other = self.random.choice(vectors), self.random.choice(vectors)
        first = _ELEMENT[self.scope.types[one]]
        item = self.new_name(first)
        if kind == "array":
            return one, {item: first}, 1
        if self.chance(0.5):
            return f"enumerate({one})", {target: INT, item: first}, 1
        second = _ELEMENT[self.scope.types[other]]
        return f"zip({one}, {other})", {item: first, self.new_name(second): second}, 1

    def while_(self, depth: int) -> None:
        """A loop that ends whatever its body does: a counter that only the loop itself moves."""
        counter = self.new_name(INT)
        form = self.random.choice(("up", "up", "down", "true", "walrus", "last"))
        bound = self.random.choice(("2", "3", "4", f"{self._operand(INT)} % 4", f"min({self._operand(INT)}, 3)"))
        more = f" and {self._operand(BOOL)}" if self.chance(0.5) else ""
        starts = {"down": "3"}
        tests = {
            "down": f"{counter} > 0{more}",
            "true": "True",
            "walrus": f"({counter} := {counter} + 1) < {bound}{more}",
        }
        self.line(f"{counter} = {starts.get(form, '0')}")
        outer = self.scope
        outer.types[counter] = INT
        outer.fixed |= {counter}
        self.line(f"while {tests.get(form, f'{counter} < {bound}{more}')}:")
        loop = _Loop(may_continue=form != "last")
        self.loops.append(loop)
        before, self.unrolled = self.unrolled, max(self.unrolled, 3)
        with self.indented():
            if form in ("up", "true"):
                self.line(f"{counter} += 1")
            if form == "down":
                self.line(f"{counter} -= 1")
            if form == "true":
                self.line(f"if {counter} > {bound}{more.replace(' and ', ' or ')}:")
                with self.indented():
                    self.line("break")
        _, left = self.block(depth, jumps=0.1)
        if form == "last" and not left:
            with self.indented():
                self.line(f"{counter} += 1")
        self.loops.pop()
        self.unrolled = before
        self._else_of_loop(depth)

    def _else_of_loop(self, depth: int) -> None:
        if self.chance(0.15):
            self.line("else:")
            self.block(depth, jumps=0.15)
