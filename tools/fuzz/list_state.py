"""Generate loops whose carry contains containers: windows, stacks, dicts, deques and heaps."""

from __future__ import annotations

from collections.abc import Callable

from autograph.tools.fuzz.expressions import FLOATS, INT, INTS
from autograph.tools.fuzz.statements import Maker, Statements


class ListState(Statements):
    """The part of the writer of programs that makes containers the state of loops."""

    def compound_statements(self, depth: int) -> list[tuple[int, Maker]]:
        makers = super().compound_statements(depth)
        own: dict[str, tuple[int, Maker]] = {
            "list state": (8, lambda: self.list_state(depth)),
            "dict state": (5, lambda: self.dict_state(depth)),
        }
        return makers + [maker for name, maker in own.items() if name in self.features]

    def list_state(self, depth: int) -> None:
        """A loop that lengthens and shortens one or two lists, and asks for what they hold."""
        self.count += 1
        one = f"xs{self.count}"
        other = f"ys{self.count}" if self.chance(0.5) else one
        total = self.new_name(INT)
        for name in dict.fromkeys((one, other)):
            self.line(f"{name} = [{', '.join(self._operand(INT) for _ in range(self.random.choice((0, 0, 0, 1, 2))))}]")
        self.line(f"{total} = {self.constant(INT)}")
        item = self._loop_line()
        nested = depth > 1 and self.chance(0.25)
        self.level += 1
        if nested:
            item = self._loop_line()
            self.level += 1
        self.scope.types[total] = INT
        for _ in range(self.random.choice((2, 3, 3, 4))):
            self.random.choice(self._steps(one, other, item, total))()
        self.line(f"{one}.append({self.random.choice((item, total, f'{item} + {total} % 3'))})")
        if self.chance(0.4):
            self._shorten(one)
        self.level -= 1 + nested
        uses = [f"len({one})", f"sum({one})", f"({one}[-1] if {one} else -7)", f"sum({other}[-2:])", f"len({other})"]
        for text in self.random.sample(uses, 2):
            self.assign_new(INT, text)
            self.note(self.lines[-1].split()[0])

    def _loop_line(self) -> str:
        """The head of a loop that runs a known number of times; what it gives each iteration."""
        vectors = [name for name in (*self.scope.readable(INTS),) if name.isalnum()]
        item = self.new_name(INT)
        iterables = ["ag.range(4)", "ag.range(1, 4)"] + vectors * 2
        floats = [name for name in self.scope.readable(FLOATS) if name.isalnum()]
        iterable = self.random.choice(iterables)
        target = item
        if floats and self.chance(0.2):
            iterable, target = f"enumerate({self.random.choice(floats)})", f"{item}, _"
        self.line(f"for {target} in {iterable}:")
        return item

    def _steps(self, one: str, other: str, item: str, total: str) -> list[Callable[[], None]]:
        number = str(self.random.randint(1, 3))

        def under(test: str, *body: str) -> Callable[[], None]:
            def write() -> None:
                self.line(f"if {test}:")
                with self.indented():
                    for text in body:
                        self.line(text)

            return write

        return [
            under(f"len({one}) >= {number}", f"{total} += {item}"),
            under(f"len({one}) > {number}", f"{total} += {one}.pop(0)"),
            under(f"len({one}) == {number}", f"{other}.append({item} - {total} % 5)"),
            under(one, f"{total} += {one}[-1]"),
            under(f"not {other}", f"{other}.append({item})"),
            under(f"len({one}) >= 2", f"{total} += {one}[-1] - {one}[-2]"),
            under(f"{item} > {self.constant(INT)}", f"{one}.append({item} * 2)"),
            under(f"{item} % 2 == 0 and {one}", f"{one}[-1] += {item}"),
            under(f"{one} and {one}[-1] > {item}", f"{one}.pop()"),
            under(f"{one}", f"{one}[{total} % len({one})] = {item}"),
            under(f"{item} in {one}", f"{total} += 1"),
            lambda: self.line(f"{total} += len({one})"),
            lambda: self.line(f"{total} += sum({one}[-{number}:]) - sum({other}[:{number}])"),
            lambda: self.line(f"{other}.append(len({one}))"),
            lambda: self.line(f"{one}.insert({self.random.choice(('0', '1', f'len({one}) // 2'))}, {item})"),
            lambda: self._pop_while(one, item, total),
            lambda: self._shorten(one),
            lambda: self._summed(one, total),
        ]

    def _shorten(self, name: str) -> None:
        number = self.random.randint(1, 3)
        self.line(f"if len({name}) > {number}:")
        with self.indented():
            self.line(
                self.random.choice(
                    (
                        f"{name}.pop(0)",
                        f"{name}.pop()",
                        f"del {name}[0]",
                        f"{name}.clear()",
                        f"{name} = []",
                        f"{name} = {name}[-{number}:]",
                        f"{name} = {name}[1:]",
                        f"{name}.sort()",
                        f"{name}.reverse()",
                    )
                )
            )

    def _pop_while(self, name: str, item: str, total: str) -> None:
        self.line(f"while len({name}) >= {self.random.randint(1, 3)} and {name}[-1] > {item}:")
        with self.indented():
            self.line(f"{total} += {name}.pop()")

    def _summed(self, name: str, total: str) -> None:
        value = self.new_name(INT)
        self.line(f"for {value} in {name}:")
        with self.indented():
            self.line(f"{total} += {value} % 3")

    def dict_state(self, depth: int) -> None:
        """A loop whose state is what a dict holds: numbers and a list."""
        self.count += 1
        name = f"table{self.count}"
        self.line(f'{name} = {{"n": {self.constant(INT)}, "last": {self._operand(INT)}, "xs": []}}')
        item = self._loop_line()
        steps = [
            f'{name}["n"] += {item}',
            f'{name}["last"], {name}["n"] = {name}["n"], {name}["last"]',
            f'{name}["xs"].append({item})',
            f'{name}["n"] += len({name}["xs"])',
            f'{name} = {{**{name}, "last": {item}}}',
        ]
        tests = [f'len({name}["xs"]) > 2', f'{name}["n"] > {item}', f"{item} % 2 == 0", f'{name}["xs"]']
        then = [f'{name}["xs"].pop()', f'{name}["last"] += 1', f'{name}["xs"].append({item})', f'{name}["xs"] = []']
        with self.indented():
            for _ in range(self.random.choice((2, 3))):
                if self.chance(0.5):
                    self.line(self.random.choice(steps))
                    continue
                test = self.random.choice(tests)
                self.line(f"if {test}:")
                with self.indented():
                    self.line(self.random.choice(then if "xs" in test and "n" not in test else then[1:]))
        for text in (f'{name}["n"]', f'len({name}["xs"])', f'{name}["last"]', f'sum({name}["xs"])'):
            if self.chance(0.6):
                self.assign_new(INT, text)
                self.note(self.lines[-1].split()[0])
