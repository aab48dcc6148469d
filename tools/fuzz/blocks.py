"""Generate compound statements other than conditionals and loops, and variables that only some paths define."""

from __future__ import annotations

from typing import Any

from autograph.tools.fuzz.alias_state import AliasState
from autograph.tools.fuzz.expressions import BOOL, FLOAT, FLOATS, INT, INTS, NUMBER, OPTION, WIDE
from autograph.tools.fuzz.statements import Maker


class Blocks(AliasState):
    """Needs of a program's ``f``: ``span``, a context manager, if ``with`` is among the features."""

    def simple_statements(self, depth: int) -> list[tuple[int, Maker]]:
        makers = super().simple_statements(depth)
        own: dict[str, tuple[int, Maker]] = {
            "lists": (2, self.list_that_grows),
            "unpacking": (3, self.unpacking),
            "promotion": (4, self.number),
            "none": (3, self.option),
            "del": (1, self.deletion),
            "prints": (4, self.print_),
            "containers": (3, self.container),
            "widening": (2, self.widening),
        }
        return makers + [maker for name, maker in own.items() if name in self.features]

    def compound_statements(self, depth: int) -> list[tuple[int, Maker]]:
        makers = super().compound_statements(depth)
        own: dict[str, tuple[int, Maker]] = {
            "try": (6, lambda: self.try_(depth)),
            "match": (5, lambda: self.match_(depth)),
            "with": (5, lambda: self.with_(depth)),
            "some paths": (4, lambda: self.bound_on_some_paths(depth)),
            "generators": (6, lambda: self.generator(depth)),
            "handlers": (7, lambda: self.handled(depth)),
        }
        return makers + [maker for name, maker in own.items() if name in self.features]

    # Compound statements.

    def try_(self, depth: int) -> bool:
        """A ``try`` whose exceptions, if any, are raised by operations on Python values; jumps go through it."""
        caught = self.chance(0.6)
        always = not caught or self.chance(0.4)
        before = dict(self.scope.types)
        self.line("try:")
        self.before_finally += always
        end, left = self.block(depth, jumps=0.2)
        if caught and not left and self.chance(0.6):
            with self.indented():
                self.line(self.random.choice(("{0: 5}[1]", "[][0]", 'int("x")', "None.real", "1 // 0")))
        if caught:
            self._handlers(depth)
        self._end_of_try(depth, before, always)
        return left and not caught

    def _end_of_try(self, depth: int, before: dict[str, Any], always: bool) -> None:
        """Its ``finally``, if it has one. A handler may have run after any part of it: what it binds is not surely bound."""
        self.before_finally -= always
        self.scope.types = before
        if always:
            self.line("finally:")
            self.may_jump = False  # a jump out of it would drop an exception, and Python warns
            self.block(depth - 1)
            self.may_jump = True

    def _handlers(self, depth: int) -> None:
        self.line(self.random.choice(("except Exception:", "except (LookupError, ValueError, ArithmeticError):")))
        self.block(depth - 1, jumps=0.15)
        if "Exception" not in self.lines[-1]:
            self.line("except AttributeError as error:")
            self.block(depth - 1, jumps=0.15)
        if self.chance(0.3):
            self.line("else:")
            self.block(depth - 1, jumps=0.1)

    def handled(self, depth: int) -> bool:
        """A ``try`` whose exceptions are raised where the program's values say so, and handlers that name some of them."""
        always = self.chance(0.4)
        before = dict(self.scope.types)
        self.line("try:")
        self.before_finally += always
        for _ in range(self.random.randint(1, 2)):
            with self.indented():
                self.check(depth)
            self.block(depth - 1, jumps=0.1)
        kinds = [
            "ValueError",
            "KeyError",
            "LookupError",
            "(OverflowError, AssertionError)",
            "ArithmeticError",
            "Exception",
        ]
        for kind in self.random.sample(kinds, self.random.randint(1, 3)):
            self.scope.types = dict(before)
            is_named = self.chance(0.5)
            self.line(f"except {kind} as error:" if is_named else f"except {kind}:")
            _, left = self.block(depth - 1, jumps=0.15)
            if not left and self.chance(0.3):
                with self.indented():
                    self.line(f"if {self.condition()}:")
                    with self.indented():
                        again = f'raise IndexError("e{self.random.randint(1, 9)}")'
                        self.line(f"{again} from error" if is_named and self.chance(0.6) else "raise")
        self.scope.types = dict(before)
        if self.chance(0.3):
            self.line("else:")
            self.block(depth - 1, jumps=0.1)
        self._end_of_try(depth, before, always)
        return False

    def match_(self, depth: int) -> bool:
        form = self.random.choice(("value", "value", "pair", "option", "mapping"))
        subject = {
            "value": self.expression(INT, 1),
            "pair": f"({self._operand(INT)}, {self._operand(INT)})",
            "option": f"[{self._operand(INT)}, {self.random.choice(('1', '2, 3', ''))}]",
            "mapping": f'{{"k": {self._operand(INT)}, "l": {self._operand(INT)}}}',
        }[form]
        self.line(f"match {subject}:")
        patterns = {
            "value": ("0", "1 | 2", "{q} if {q} > {e}", "-1"),
            "pair": ("(0, {q})", "({q}, 1)", "({q}, {r}) if {q} < {r}", "[1, 1]", "({q}, *_)"),
            "option": ("[{q}]", "[{q}, {r}]", "[0, *_]", "[{q}, 2, 3]"),
            "mapping": ('{{"k": 0}}', '{{"k": {q}, "l": 1}}', '{{"k": {q}, **others}}', '{{"z": {q}}}'),
        }[form]
        with self.indented():
            for pattern in self.random.sample(patterns, self.random.randint(1, 3)):
                names = {name: self.new_name(INT) for name in "qr"}
                text = pattern.format(e=self._operand(INT), **names)
                self.line(f"case {text}:")
                outer, self.scope = self.scope, self.scope.copy()
                self.scope.types |= {name: INT for name in names.values() if name in text}
                self.block(depth - 1, jumps=0.2)
                self.scope = outer
            if self.chance(0.6):
                self.line("case _:")
                self.block(depth - 1, jumps=0.2)
        return False

    def with_(self, depth: int) -> bool:
        if "span.depth" not in self.scope.types:
            return False
        self.line(self.random.choice(("with span:", "with span as inner:", "with span, span:")))
        end, left = self.block(depth, jumps=0.2)
        if not left:
            self.scope.types = {name: kind for name, kind in end.types.items()}
        return left

    def bound_on_some_paths(self, depth: int) -> bool:
        """A variable bound under a condition, and read under the same."""
        flag, name = self.new_name(BOOL), self.new_name(INT)
        self.line(f"{flag} = {self.expression(BOOL)}")
        self.scope.types[flag] = BOOL
        self.scope.fixed |= {flag}
        self.line(f"if {flag}:")
        with self.indented():
            self.line(f"{name} = {self.expression(INT)}")
        self.statement(min(depth - 1, 1))
        self.line(f"if {flag}:")
        outer, self.scope = self.scope, self.scope.copy()
        self.scope.types[name] = INT
        with self.indented():
            self.line(f"{name} += {self._operand(INT)}")
        self.block(depth - 1)
        targets = [place for place in outer.writable(INT) if place.isalnum()]
        if targets:
            with self.indented():
                self.line(f"{self.random.choice(targets)} = {name}")
        self.scope = outer
        return False

    def generator(self, depth: int) -> bool:
        """A generator that reads the variables around it, and a loop, or a function, that uses it up."""
        self.count += 1
        name = f"made{self.count}"
        first, second = self.new_name(INT), self.new_name(INT)
        self.line(f"def {name}({first}, {second}):")
        outer, self.scope = self.scope, self.scope.copy()
        self.scope.types |= {first: INT, second: INT}
        with self.indented():
            self._yielding(first, second)
        self.scope = outer
        made = f"{name}({self._operand(INT)}, {self._operand(INT)})"
        if self.chance(0.4):
            uses = (
                "sum({made})",
                "max({made}, default=0)",
                "min({made}, default=1)",
                "sum(q * 2 for q in {made} if q > {e})",
                "int(any(q > {e} for q in {made}))",
                "int(all(q < {e} for q in {made}))",
                "next({made}, 3)",
                "sum(q * r for q, r in enumerate({made}))",
                "sum(map(lambda q: q if q > {e} else -q, {made}))",
            )
            self.assign_new(INT, self.random.choice(uses).format(made=made, e=self.constant(INT)))
            return False
        item = self.new_name(INT)
        index = self.new_name(INT)
        is_counted = self.chance(0.25)
        self.line(f"for {index}, {item} in enumerate({made}):" if is_counted else f"for {item} in {made}:")
        self._body_of_loop(depth, {item: INT} | ({index: INT} if is_counted else {}))
        self._else_of_loop(depth)
        return False

    def _yielding(self, first: str, second: str) -> None:
        """The body of a generator: a loop with conditions and early ends, and what it yields."""
        counter = self.new_name(INT)
        is_for = self.chance(0.4)
        self.line(f"for {counter} in range({first} % 4):" if is_for else f"{counter} = 0")
        self.scope.types[counter] = INT
        if not is_for:
            self.line(f"while {counter} < {first} % 4:")
        with self.indented():
            if not is_for:
                self.line(f"{counter} += 1")
            self.line(f"{second} = {self.expression(INT, 1)}")
            if self.chance(0.7):
                self.line(f"if {self.condition()}:")
                with self.indented():
                    self.line(self.random.choice(("return", "continue", "break", f"yield {second}")))
            self.line(f"yield {self.expression(INT, 1)}")
        if self.chance(0.4):
            self.line(self.random.choice((f"yield {second}", f"yield from ({second}, 1)")))

    # Simple statements.

    def list_that_grows(self) -> None:
        """A list made by appending in a loop of known length, and what it comes to."""
        self.count += 1
        out, index = f"out{self.count}", self.new_name(INT)
        vectors = [name for name in (*self.scope.readable(INTS), *self.scope.readable(FLOATS)) if name.isalnum()]
        iterables = ["range(3)", "ag.range(3)", f"({self._operand(INT)}, {self._operand(INT)})"]
        iterables += [f"enumerate({name})" for name in vectors]
        iterable = self.random.choice(iterables)
        target = f"{index}, _" if "enumerate" in iterable else index
        self.line(f"{out} = [{self._operand(INT) if self.chance(0.3) else ''}]")
        self.line(f"for {target} in {iterable}:")
        outer, self.scope = self.scope, self.scope.copy()
        self.scope.types[index] = INT
        with self.indented():
            if self.chance(0.4):
                self.augmented()
            self.line(f"{out}.append({self.expression(INT, 1)})")
            if self.chance(0.2):
                self.line(f"{out}[-1] += {self._operand(INT)}")
        self.scope = outer
        if self.chance(0.3):
            self.assign_new(INT, f"{out}.pop()")
        self.assign_new(INT, f"len({out})")
        use = self.random.choice(("sum({out})", "{out}[-1]", "{out}[0]", "max({out})", "sum(q * 2 for q in {out})"))
        self.assign_new(INT, use.format(out=out))

    def unpacking(self) -> None:
        first, rest, last = self.new_name(INT), f"rest{self.count}", self.new_name(INT)
        e = self._operand
        vectors = [name for name in self.scope.readable(INTS)]
        choices = [
            (f"{first}, *{rest} = {e(INT)}, {e(INT)}, {e(INT)}", (first, f"{rest}[0]", f"{rest}[1]")),
            (f"*{rest}, {last} = [{e(INT)}, {e(INT)}]", (last, f"{rest}[0]")),
            (f"{first}, ({last}, {rest}) = {e(INT)}, ({e(INT)}, {e(INT)})", (first, last, rest)),
            (f"({first}, {last}), *{rest} = zip(({e(INT)}, {e(INT)}), (1, 2))", (first, last)),
        ]
        if vectors:
            name = self.random.choice(vectors)
            choices.append((f"{first}, {last}, _ = {name}", (first, last)))
            choices.append((f"{first}, *{rest} = {name}", (first, f"{rest}[0]")))
        text, places = self.random.choice(choices)
        self.line(text)
        self.scope.types |= {place: INT for place in places}

    def number(self) -> None:
        """A variable that is an int on one path and a float on another."""
        if not self.scope.readable(NUMBER):
            name = self.new_name(NUMBER)
            kinds = self.random.sample((INT, FLOAT), 2)
            self.line(f"{name} = {self.expression(kinds[0])}")
            self.line(f"if {self.condition()}:")
            with self.indented():
                self.line(f"{name} = {self.expression(kinds[1])}")
            self.scope.types[name] = NUMBER
            self.note(f"int({name} * 4)")
            return
        name = self.random.choice(self.scope.readable(NUMBER))
        if name in self.scope.fixed:
            return
        if self.chance(0.5):
            self.line(f"if {self.condition()}:")
            with self.indented():
                self.line(f"{name} = {self.expression(self.random.choice((INT, FLOAT)))}")
            if self.chance(0.5):
                self.line("else:")
                with self.indented():
                    self.line(f"{name} = {self.expression(self.random.choice((INT, FLOAT)))}")
        elif self.chance(0.5):
            self.line(f"{name} = {self.expression(self.random.choice((INT, FLOAT)))}")
        else:
            self.line(
                f"{name} {self.random.choice(('+=', '-='))} {self.expression(self.random.choice((INT, FLOAT)), 1)}"
            )
        self.note(f"int({name} * 4)")

    def option(self) -> None:
        """A variable that is None at first, as the best so far of a search."""
        if not self.scope.readable(OPTION):
            name = self.new_name(OPTION)
            self.line(f"{name} = None")
            self.scope.types[name] = OPTION
            return
        name = self.random.choice(self.scope.readable(OPTION))
        if name in self.scope.fixed:
            return
        value = self._operand(INT)
        form = self.random.choice(
            (
                f"if {name} is None or {value} > {name}:",
                f"if {name} is not None and {value} < {name}:",
                f"if {self.condition()}:",
            )
        )
        self.line(form)
        with self.indented():
            self.line(f"{name} = {value}")
        self.note(f"(5 if {name} is None else {name})")

    def deletion(self) -> None:
        """Delete a variable that was made here; nothing reads it after."""
        name = self.new_name(INT)
        self.line(f"{name} = {self.expression(INT)}")
        self.scope.types[name] = INT
        self.augmented()
        del self.scope.types[name]
        self.line(f"del {name}")

    def print_(self) -> None:
        """``mark`` is zero, and traced: what is not, prints while tracing. `finally` prints nothing after a raise."""
        if "mark" in self.scope.types and self.may_jump:
            self.count += 1
            self.line(f'print("p{self.count}", {self._operand(INT)} + mark)')

    def container(self) -> None:
        """Tuples and named tuples that are replaced, lists and dicts that are changed."""
        texts = []
        types = self.scope.types
        if "pair[0]" in types:
            texts += [f"pair = (pair[1], {self._operand(INT)})", "pair = pair[::-1]"]
        if "point.x" in types:
            texts += [
                f"point = point._replace(x={self._operand(FLOAT)})",
                f"point = Point({self._operand(FLOAT)}, {self._operand(INT)})",
            ]
        if "items[0]" in types and "items" not in self.scope.fixed:
            texts += [
                f"items = [{self._operand(INT)}, items[0]]",
                "items.reverse()",
                f"items[:] = items[1], {self._operand(INT)}",
            ]
        if 'table["p"]' in types:
            texts += [f"table.update(q={self._operand(INT)})", f'table = {{**table, "q": {self._operand(INT)}}}']
        if "box.inner[0]" in types:
            texts += [f"box.inner[0], box.inner[1] = box.inner[1], {self._operand(INT)}"]
        rebinds = [text for text in texts if text.split(" ")[0] not in self.scope.fixed]
        if rebinds:
            self.line(self.random.choice(rebinds))

    def widening(self) -> None:
        """A number that becomes a vector in a loop that may not run at all."""
        if not self.scope.readable(FLOATS):
            return
        name = self.new_name(WIDE)
        self.line(f"{name} = {self.expression(FLOAT, 1)}")
        self.line(f"for _ in range({self._operand(INT)} % 3):")
        with self.indented():
            self.line(f"{name} = {name} {self.random.choice('+-')} {self.argument(FLOATS)}")
        self.scope.types[name] = WIDE
        self.scope.fixed |= {name}
