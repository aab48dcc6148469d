"""Generate loops whose state is held by other containers, by objects, by None, and by names of states."""

from __future__ import annotations

from collections.abc import Sequence

from autograph.tools.fuzz.expressions import BOOL, FLOAT, FLOATS, INT, INTS
from autograph.tools.fuzz.list_state import ListState
from autograph.tools.fuzz.statements import Maker

Step = tuple[str, ...] | str  # a line, or the lines of a block: what it is under, and what is in it

PREAMBLE = """\
import bisect
import contextlib
import enum
import heapq
import math
from collections import Counter, defaultdict, deque


def quotient(a, b):
    return a // b


def is_over(a, b):
    return bool(a > b)  # NumPy adds its own truth values as such


class Mode(enum.Enum):
    IDLE = 1
    BUSY = 2
    DONE = 3


class Cell:
    def __init__(self, value):
        self.value = value
        self.items = [value]

    def add(self, amount):
        if amount > 1:
            self.value += amount
            self.items.append(amount)
        return self.value


class Node:
    def __init__(self, value, following):
        self.value = value
        self.items = [value]
        self.following = following

    def put(self, amount):
        if amount > self.value:
            self.value += amount
        elif self.following is not None:
            self.following.put(amount)


"""


class ContainerState(ListState):
    """The part of the writer of programs that makes state of what `PREAMBLE` imports and defines."""

    def compound_statements(self, depth: int) -> list[tuple[int, Maker]]:
        makers = super().compound_statements(depth)
        own: dict[str, Maker] = {
            "queues": self._queue,
            "keys": self._keyed,
            "choices": self._choice,
            "far objects": self._far,
            "optional containers": self._optional,
            "states": self._machine,
            "rows": self._rows,
            "attempts": self._attempts,
            "slices": self._slices,
            "firsts": self._firsts,
        }
        return makers + [(8, maker) for name, maker in own.items() if name in self.features]

    @property
    def _kind(self) -> str:
        """Of the numbers that containers hold."""
        return FLOAT if "smooth" in self.features else INT

    def _numbers(self, most: int) -> str:
        return ", ".join(self._operand(self._kind) for _ in range(self.random.randint(0, most)))

    def _begin(self, *starts: str) -> tuple[str, str]:
        """Write what is there before a loop; a stem for its names, and the variable that sums what is found."""
        self.count += 1
        total = self.new_name(self._kind)
        for text in starts:
            self.line(text.replace("#", str(self.count)))
        self.line(f"{total} = {self.constant(self._kind)}")
        self.scope.types[total] = self._kind
        return str(self.count), total

    def _loop(
        self, number: str, total: str, steps: Sequence[Step], last: Sequence[Step] = (), has_others: bool = True
    ) -> None:
        """A loop, perhaps in another, of some of these steps, of those that are always ``last``, and perhaps ``has_others``.

        In their texts ``#`` is the number of the names, ``@`` the total, ``$`` the iteration's number, which is an int,
        and ``&`` its value.
        """
        outer, self.scope = self.scope, self.scope.copy()
        item, value = self._head()
        nested = self.chance(0.2)
        self.level += 1
        if nested:
            item, value = self._head()
            self.level += 1
        chosen = self.random.choices(steps, k=self.random.choice((2, 3, 3, 4)))
        for step in (*chosen, *last):
            self._step(step, {"#": number, "@": total, "$": item, "&": value})
        if has_others and self.chance(0.25):
            self.statement(1)
        self.scope = outer
        self.level -= 1 + nested

    def _step(self, step: Step, names: dict[str, str]) -> None:
        def written(text: str) -> str:
            for sign, name in names.items():
                text = text.replace(sign, name)
            while "?" in text:
                text = text.replace("?", self.random.choice((self._test(names), self._operand(BOOL))), 1)
            return text.replace("^", self.constant(self._kind))

        if isinstance(step, str):
            if self.chance(0.35):
                step = ("if ?:", step)
            else:
                self.line(written(step))
                return
        head, *body = step
        self.line(written(head))
        for text in body:
            if text.endswith(":"):
                self.line(written(text))
                continue
            with self.indented():
                self.line(written(text))

    def _test(self, names: dict[str, str]) -> str:
        item, value, total = names["$"], names["&"], names["@"]
        number = self.random.randint(0, 3)
        return self.random.choice(
            (f"{item} % 2 == {number % 2}", f"{value} > {number}", f"{total} < {value}", f"{item} == {number}")
        )

    def _head(self) -> tuple[str, str]:
        """The line that begins a loop; the name of the iteration's number, and of its value."""
        item = self.new_name(INT)
        kind = self._kind
        vectors = [name for name in self.scope.readable(FLOATS if kind == FLOAT else INTS) if name.isalnum()]
        if vectors and self.chance(0.7 if kind == FLOAT else 0.4):
            value = self.new_name(kind)
            iterable = f"enumerate({self.random.choice(vectors)})"
            self.line(f"for {item}, {value} in {iterable}:")
            self.scope.fixed |= self.iterated(iterable)
            return item, value
        iterable = self.random.choice(("ag.range(4)", "ag.range(1, 4)", f"range({self._operand(INT)} % 5)", "range(3)"))
        self.line(f"for {item} in {iterable}:")
        return item, f"({item} * 0.5)" if kind == FLOAT else item

    def _end(self, number: str, total: str, uses: Sequence[str]) -> None:
        """What is read of it all after the loop."""
        for text in self.random.sample(list(uses), min(2, len(uses))):
            self._keep(f"{text.replace('#', number).replace('@', total)} + {self._zero}")

    def _keep(self, text: str) -> None:
        self.assign_new(self._kind, text)
        name = self.lines[-1].split()[0]
        self.note(f"int({name} * 4)" if self._kind == FLOAT else name)

    @property
    def _zero(self) -> str:
        return "0.0" if self._kind == FLOAT else "0"

    # What the state is.

    def _queue(self) -> None:
        self.random.choice((self._deque, self._heap, self._sorted))()

    def _deque(self) -> None:
        most = self.random.choice(("", "", ", maxlen=3", ", maxlen=2"))
        number, total = self._begin(f"q# = deque([{self._numbers(2)}]{most})")
        steps: list[Step] = [
            "q#.append(&)", "q#.appendleft(& + ^)", "q#.extend([&, @ - &])", "q#.rotate(1)", "q#.rotate(-1)",
            ("if q#:", "@ += q#.popleft()"), ("if len(q#) > 1:", "@ -= q#.pop()"), ("if q#:", "q#[-1] += &"),
            ("if & in q#:", "@ += ^"), ("if len(q#) > 2:", "q#.clear()"), ("if len(q#) > 1:", "@ += q#[0] - q#[-2]"),
            ("for e# in q#:", "@ += e# - ^"), "@ += len(q#)", ("while len(q#) > 1 and q#[-1] > &:", "@ += q#.pop()"),
            "@ += sum(q#)", "q#.reverse()", ("while q# and q#[0] < &:", "q#.popleft()"), ("if q#:", "q#[$ % len(q#)] = &"),
        ]  # fmt: skip
        self._loop(number, total, steps, ["q#.append(&)"])
        self._end(
            number, total, ["len(q#)", "sum(q#)", "(q#[-1] if q# else ^)".replace("^", self.constant(self._kind)), "@"]
        )

    def _heap(self) -> None:
        number, total = self._begin("h# = []")
        if self.chance(0.4):
            steps: list[Step] = [
                "heapq.heappush(h#, (& - ^, $))", ("if len(h#) > 1:", "key#, at# = heapq.heappop(h#)", "@ += key# * 2 - at#"),
                ("if h#:", "@ += h#[0][0]"), ("for key#, at# in h#:", "@ += key# - at#"), "@ += len(h#)",
                ("if h# and h#[0][1] < $:", "heapq.heapreplace(h#, (&, $))"),
            ]  # fmt: skip
            self._loop(number, total, steps, ["heapq.heappush(h#, (@ - &, $))"])
            self._end(number, total, ["len(h#)", "sum(k + 2 * i for k, i in h#)", "@"])
            return
        steps = [
            "heapq.heappush(h#, & - ^)", "heapq.heappush(h#, -&)", ("if len(h#) > 2:", "@ += heapq.heappop(h#)"),
            ("if h#:", "@ += heapq.heapreplace(h#, &)"), ("if h#:", "@ -= heapq.heappushpop(h#, @ - &)"),
            ("if h# and h#[0] < &:", "@ += 1"), ("while len(h#) > 2:", "@ += heapq.heappop(h#)"), "@ += len(h#)", "@ += sum(h#)",
            ("for e# in h#:", "@ += e# - ^"), ("if & in h#:", "h#.clear()"),
        ]  # fmt: skip
        self._loop(number, total, steps, ["heapq.heappush(h#, &)"])
        self._end(number, total, ["len(h#)", "sum(h#)", "(h#[0] if h# else 5)", "@"])

    def _sorted(self) -> None:
        number, total = self._begin(f"o# = sorted([{self._numbers(2)}])")
        steps: list[Step] = [
            "bisect.insort(o#, & - ^)", "bisect.insort_left(o#, @)", "@ += bisect.bisect_left(o#, &)",
            "@ -= bisect.bisect_right(o#, &)", ("if len(o#) > 2:", "del o#[0]"), ("if o#:", "@ += o#[-1] - o#[0]"),
            ("if bisect.bisect(o#, &) == len(o#):", "@ += ^"), ("if len(o#) > 3:", "o#.pop()"),
            ("if o# and o#[bisect.bisect_left(o#, &) % len(o#)] == &:", "@ -= 1"), "@ += o#.count(&)",
        ]  # fmt: skip
        self._loop(number, total, steps, ["bisect.insort(o#, &)"])
        self._end(number, total, ["len(o#)", "sum(o#)", "sum(o#[:2])", "@"])

    def _keyed(self) -> None:
        form = self.random.choice(("dict", "dict", "Counter", "defaultdict", "lists", "set"))
        a, b, c = (self._operand(self._kind) for _ in range(3))
        starts = {
            "dict": f"d# = {{0: {a}, 1: {b}, 2: {c}}}",
            "Counter": "d# = Counter({0: 1, 1: 0, 2: 2})",
            "defaultdict": f"d# = defaultdict(int, {{0: {a}, 1: {b}, 2: {c}}})",
            "lists": f"d# = {{0: [{a}], 1: [], 2: [{b}, {c}]}}",
            "set": "d# = {0, 2}",
        }
        number, total = self._begin(starts[form])
        if form == "set":
            steps: list[Step] = [
                "d#.add($ % 4)", "d#.discard($ % 3)", ("if $ % 3 in d#:", "@ += &"), "@ += len(d#)", ("if 1 not in d#:", "@ -= &")
            ]  # fmt: skip
            self._loop(number, total, steps)
            self._end(number, total, ["len(d#)", "@"])
            return
        if form == "lists":
            steps = [
                "d#[$ % 3].append(&)", ("if d#[$ % 3]:", "@ += d#[$ % 3].pop()"), "@ += len(d#[1])", "d#[1].append(@)",
                ("for e# in d#[$ % 2]:", "@ += e# - ^"), "d#[0][0] += &", "@ += len(d#[$ % 3])", "d#[2][-1] = &",
            ]  # fmt: skip
            self._loop(number, total, steps)
            self._end(number, total, ["len(d#[0])", "sum(d#[1])", "sum(d#[2])", "@"])
            return
        steps = [
            "d#[$ % 3] += &", "d#[1] += d#[$ % 3]", "@ += d#[$ % 3]", "@ += d#.get($, ^)", ("if $ in d#:", "@ += d#[$]"),
            ("if $ not in d#:", "d#[0] = &"), "d#[$ % 3] = @ - &", ("for k#, w# in d#.items():", "@ += w# - k#"),
            "@ += sum(d#.values())", "d#[0], d#[2] = d#[2], d#[$ % 3]", "@ += max(d#.values())", "d#[$ % 2] -= d#[($ + 1) % 3]",
            "d#.update({1: &})", "@ += d#.get($ % 3, ^)",
        ]  # fmt: skip
        if form == "Counter":
            steps += [
                "d#.update([$ % 3])",
                "d#.update({0: 2, 1: $})",
                "d#.subtract([$ % 3, 1])",
                "@ += d#.total()",
                "@ += d#[7]",
            ]
        if self._kind == FLOAT and form == "Counter":
            steps = [step for step in steps if isinstance(step, str) and "&" not in step and "@ -" not in step]
        self._loop(number, total, steps)
        self._end(number, total, ["d#[0]", "d#[1]", "d#[2]", "sum(d#.values())", "@"])

    def _choice(self) -> None:
        form = self.random.choice(("list", "list", "dict", "cell", "held"))
        a, b, c, e = (self._operand(self._kind) for _ in range(4))
        test = self.condition()
        made = {
            "list": ([f"a# = [{a}, {b}]", f"b# = [{c}, {e}]"], "[0]", "[1]"),
            "dict": ([f'a# = {{"p": {a}, "q": {b}}}', f'b# = {{"p": {c}, "q": {e}}}'], '["p"]', '["q"]'),
            "cell": ([f"a# = Cell({a})", f"b# = Cell({b})"], ".value", ".items[0]"),
            "held": ([f"a# = [[{a}], {b}]", f"b# = [[{c}], {e}]"], "[0][0]", "[1]"),
        }
        starts, one, other = made[form]
        number, total = self._begin(*starts, f"c# = a# if {test} else b#", "e# = c#")
        steps: list[Step] = [
            f"c#{one} += &", f"a#{other} = @", f"b#{one} -= & + ^", f"@ += c#{one} + a#{one}", f"@ += b#{other} - c#{other}",
            ("if ?:", "c# = b#"), ("if ?:", "c# = a#"), "c# = b# if ? else c#", ("if c# is a#:", "@ += 1"),
            ("if c# is not b#:", f"c#{other} += ^"), "e# = c#", f"e#{one} += 1", f"@ += e#{other}", "a#, b# = b#, a#",
            ("if e# is c#:", f"e#{other} -= &"), f"c#{one}, c#{other} = c#{other}, a#{one}",
            ("for f# in (a#, b#):", f"f#{one} += &"), (f"if c#{one} > a#{other}:", f"a#{one} += 1", f"c#{other} -= 1"),
        ]  # fmt: skip
        if form == "list":
            steps += [
                "c#.append(&)",
                "a#.append(@)",
                "@ += len(c#) - len(b#)",
                ("if len(c#) > 2:", "@ += c#.pop()"),
                "b# = [&, @]",
            ]
        if form == "cell":
            steps += ["c#.items.append(&)", "@ += c#.add(&)", "@ += len(a#.items)", "e#.items = [&]", "c# = Cell(&)"]
        if form == "dict":
            steps += ["c#.update(p=&)", "@ += sum(c#.values())", 'c# = {"p": &, "q": @}']
        self._loop(number, total, steps)
        places = [f"{name}#{place}" for name in "abce" for place in (one, other)]
        self._end(number, total, places)
        self._end(number, total, places)

    def _far(self) -> None:
        a, b, c, e = (self._operand(self._kind) for _ in range(4))
        number, total = self._begin(
            f"r# = Node({a}, Node({b}, Node({c}, Node({e}, None))))", "far# = r#.following.following.following"
        )
        steps: list[Step] = [
            "r#.following.following.following.value += &", "far#.items.append(&)", "far#.items[0] -= ^",
            "@ += len(far#.items) - r#.following.following.following.value", "r#.put(&)", "r#.following.following.put(@)",
            "r#.following.following.items.append(@)", ("if far#.value > &:", "r#.following.value = far#.value"),
            "bisect.insort(r#.following.following.following.items, &)", "heapq.heappush(r#.following.items, &)",
            "setattr(r#.following.following, 'value', &)", ("if ?:", "far# = r#.following"), ("if far# is r#.following:", "@ += 1"),
            "r#.following.following.value, r#.value = r#.value, &", ("if len(far#.items) > 2:", "@ += far#.items.pop()"),
            ("n# = r#", "while n# is not None:", "@ += n#.value - ^; n# = n#.following"), "far#.put(&)",
            ("if ?:", "r#.following.following.following = Node(&, None)"), "@ += sum(r#.following.following.items)",
        ]  # fmt: skip
        self._loop(number, total, steps)
        self._end(number, total, ["r#.value", "r#.following.value", "far#.value", "sum(far#.items)", "@"])
        self._end(number, total, ["r#.following.following.value", "len(r#.following.following.following.items)"])

    def _optional(self) -> None:
        form = self.random.choice(("list", "dict", "cell", "tuple"))
        made = {"list": "[&]", "dict": '{"n": &}', "cell": "Cell(&)", "tuple": "(&, @)"}[form]
        read = {"list": "o#[-1]", "dict": 'o#["n"]', "cell": "o#.value", "tuple": "o#[0]"}[form]
        changes = {
            "list": ["o#.append(&)", "o#[0] += &"], "dict": ['o#["n"] += &'],
            "cell": ["o#.value -= &", "o#.items.append(&)", "@ += o#.add(&)"], "tuple": ["o# = (o#[1], &)"],
        }[form]  # fmt: skip
        flag = self.new_name(BOOL)
        number, total = self._begin("o# = None", f"{flag} = {self.condition()}")
        self.line(f"if {flag}:")
        with self.indented():
            self.line(f"u{number} = [{self._operand(self._kind)}]")
        steps: list[Step] = [
            ("if o# is None:", f"o# = {made}"), ("if ? and o# is None:", f"o# = {made}", "else:", "@ += ^"), ("if ?:", f"o# = {made}"),
            ("if o# is not None:", f"@ += {read}"), f"@ += ^ if o# is None else {read}", ("if ?:", "o# = None"),
            *[("if o# is not None:", change) for change in changes], ("if o# is not None and ?:", *changes[:1], f"@ -= {read}"),
            (f"if {flag}:", "u#.append(&)"), (f"if {flag} and ?:", "@ += u#[-1]"), (f"if {flag}:", "u#[0] += &"),
        ]  # fmt: skip
        self._loop(number, total, steps)
        self._end(number, total, [f"(7 if o# is None else {read})", "@"])
        self._keep(f"(sum(u{number}) if {flag} else 9) + {self._zero}")

    def _machine(self) -> None:
        names = self.random.choice(
            (('"idle"', '"busy"', '"done"'), ("Mode.IDLE", "Mode.BUSY", "Mode.DONE"), ("None", '"on"', '"off"'))
        )
        first, second, third = names
        start = self.random.choice(names)
        table = f"{{{first}: 1, {second}: 2, {third}: 5}}"
        # JAX has no dicts as state whose keys have no order, as members of an enum.
        counted = [f"n# = {{{first}: 0, {second}: 1, {third}: 0}}"] if "idle" in first else []
        number, total = self._begin(f"s# = {start}", f"p# = {first}", *counted)
        steps: list[Step] = [
            (f"if s# == {first}:", f"s# = {second}", f"elif s# == {second}:", "@ += &", "else:", f"s# = {first}"),
            (f"if s# == {first}:", f"s# = {second}", f"elif s# == {second}:", f"s# = {third}", "else:", f"s# = {first}"),
            (f"if s# == {second} and ?:", f"s# = {third}"), ("if ?:", f"s# = {second}"), f"s# = {first} if ? else s#",
            f"@ += {table}[s#]", f"@ += ^ if s# in ({first}, {third}) else 1", "p# = s#",
            ("if p# != s#:", "@ += &"), "p#, s# = s#, p#", (f"if s# == {first}:", "@ -= 1"), (f"while s# != {third} and @ < 4:",
            f"s# = {third}", "@ += 1"),
        ]  # fmt: skip
        if "idle" in first:
            steps += [
                "n#[s#] += 1",
                "n#[p#] -= 1",
                "@ += len(s#)",
                ('if s#.upper() == "BUSY":', "@ += 1"),
                ('if s# < "c":', "@ += 2"),
                ('if (s# + p#) == "idlebusy":', "@ += 3"),
            ]
        if "None" not in first:
            steps.append(("match s#:", f"    case {second}:", "    @ += 2", "    case _:", "    @ -= 1"))
        if '"' not in first:
            steps.append((f"if s# is {first}:", "@ -= 1"))
        if "Mode" in first:
            steps += ["@ += s#.value", ('if s#.name == "BUSY":', "@ += 1")]
        self._loop(number, total, steps)
        self._end(
            number,
            total,
            [f"{table}[s#]", *(f"n#[{name}]" for name in names if counted), f"(4 if s# == {second} else 3)", "@"],
        )

    def _rows(self) -> None:
        form = self.random.choice(("list", "dict", "cell", "tuple"))
        made = {"list": "[&, @]", "dict": '{"p": &, "q": @}', "cell": "Cell(&)", "tuple": "(&, @)"}[form]
        one, other = {
            "list": ("[0]", "[1]"), "dict": ('["p"]', '["q"]'), "cell": (".value", ".value"), "tuple": ("[0]", "[1]")
        }[form]  # fmt: skip
        number, total = self._begin(
            self.random.choice(
                (
                    "t# = []",
                    "t# = []",
                    f"t# = [{made}]".replace("&", self._operand(self._kind)).replace("@", self._zero),
                )
            )
        )
        steps: list[Step] = [
            f"t#.append({made})", ("if ?:", f"t#.append({made})"), "@ += len(t#)", ("for e# in t#:", f"@ += e#{one} - ^"),
            ("if t#:", f"@ += t#[-1]{other} + t#[0]{one}"), ("if len(t#) > 2:", "t#.pop(0)"), ("if len(t#) > 1:", "del t#[-1]"),
            ("if t#:", f"@ += t#[$ % len(t#)]{one}"), f"@ += sum(e{one} for e in t#)", f"t# = [e for e in t# if e{one} > ^]",
            ("if len(t#) > 1:", "t#[0], t#[-1] = t#[-1], t#[0]"), f"@ += max((e{other} for e in t#), default=0)", "t#.reverse()",
            "t# = t#[-2:]",
        ]  # fmt: skip
        if form != "tuple":
            steps += [
                ("if t#:", f"t#[-1]{one} += &"), ("if t#:", f"g# = t#[0]; g#{other} = &; @ += t#[0]{one}"),
                ("for e# in t#:", f"e#{one} += 1"), ("if len(t#) > 1:", f"t#[1]{other} -= &; @ += int(t#[0] is t#[1])"),
                (f"w# = {made}", "if ?:", "t#.append(w#)", "if t#:", f"w#{one} += ^"),
                ("if t#:", "w# = t#[-1]", "else:", f"w# = {made}", "if ?:", f"w#{one} -= 1; t#.append(w#)"),
            ]  # fmt: skip
        if form == "list":
            steps += [
                ("if t#:", "t#[-1].append(&)"),
                ("if t#:", "@ += len(t#[-1])"),
                ("if t#:", "t#[$ % len(t#)][1] = ^"),
            ]
        if form == "cell":
            steps += [("if t#:", "@ += t#[-1].add(&)"), ("if t#:", "t#[0].items.append(&)")]
        self._loop(number, total, steps, [f"t#.append({made})"] if self.chance(0.7) else ())
        self._end(number, total, ["len(t#)", f"sum(e{one} for e in t#)", f"(t#[-1]{other} if t# else 8)", "@"])

    def _attempts(self) -> None:
        a, b, c = (self._operand(self._kind) for _ in range(3))
        number, total = self._begin(f"x# = [{self._numbers(3)}]", f"d# = {{0: {a}, 1: {b}, 3: {c}}}")
        steps: list[Step] = [
            ("try:", "@ += x#[$]", "except IndexError:", "@ -= 1"), ("try:", "@ += d#[$]", "except KeyError:", "@ += &"),
            ("try:", "@ += x#.pop()", "except IndexError:", "x#.append(&)"), ("try:", "x#[$] = &", "except LookupError:", "@ += ^"),
            ("try:", "@ += d#[$ + 1] - x#[$]", "except KeyError:", "@ += 2", "except IndexError:", "@ -= 3"),
            ("try:", "@ += x#[1]", "except IndexError:", "@ += 5", "else:", "@ += 1", "finally:", "@ -= &"),
            ("with contextlib.suppress(LookupError):", "@ += x#[$ - 2]; @ += d#[$]; @ += 1"), "x#.append(&)",
            ("try:", "x#.remove(&)", "except ValueError:", "@ += 1"), ("try:", "@ += x#.index(&)", "except ValueError:", "@ -= 1"),
            ("try:", "x#.append(d#[$ * 2]); @ += 1", "except KeyError:", "x#.append(&)"), ("if len(x#) > 3:", "x#.clear()"),
            ("try:", "d#[$] += 1", "except KeyError as error:", "d#[0] = &"), ("if len(x#) > 2:", "x#.pop(0)"),
            ("try:", "@ += next(e for e in x# if e > &)", "except StopIteration:", "@ += 4"),
            ("try:", "@ += min(x#)", "except ValueError:", "@ += 4"),
            ("try:", "@ += 7 // int($ - &)", "except ZeroDivisionError:", "@ -= 2"),  # NumPy raises none
            ("try:", "@ += $ % (int(@) % 3)", "except ArithmeticError:", "@ += 1"),
            ("try:", "@ += math.isqrt($ - 1)", "except ValueError:", "@ -= 3"),
            ("try:", "@ += int(math.sqrt($ - 1))", "except ValueError:", "@ += 2", "else:", "@ -= 1"),
            ("try:", "@ += quotient(9, $ - 1)", "except (ZeroDivisionError, IndexError):", "@ += &"),
            ("try:", "@ += (2 << ($ - 1)) + divmod(9, $)[0]", "except ValueError:", "@ += 5", "except ZeroDivisionError:", "@ += 6"),
            "@ += is_over($, 1) + is_over(@, &)", "@ -= is_over($, 0) - is_over($, 1)", "@ += -is_over(@, ^) + abs(is_over($, 2))",
        ]  # fmt: skip
        self._loop(number, total, steps)
        self._end(number, total, ["len(x#)", "sum(x#)", "d#[0]", "@"])

    def _slices(self) -> None:
        number, total = self._begin(f"x# = [{self._numbers(2)}]", "y# = []")
        steps: list[Step] = [
            "@ += sum(x#[-($ % 3 + 1):])", "@ += sum(x#[$ % 2:])", "@ -= sum(x#[:-1])", "@ += len(x#[1:$ + 1])", "y# = x#[1:]",
            "y# = x#[:$]", "x# = x#[-3:]", "x# = x#[len(x#) // 2:]", "y# += x#", "y# = y# + x#[:1]", "y#.extend(x#[::2])",
            "x# = x#[::-1]", ("if len(x#) > 1:", "@ += x#[-2] - x#[-($ % len(x#)) - 1]"), "@ += sum(e for e in x# if e > &)",
            "@ += max((e - & for e in y#), default=0)", ("if any(e > & for e in x#):", "@ += 1"), ("if all(e < & for e in y#):",
            "y#.append(&)"),
            ("if len(y#) > 3:", "y# = y#[-2:]"), "y# = [e + 1 for e in x#]", "y# = [e for e in x# if e != &]", ("if x# == y#:", "@ += 2"),
            "y# = list(x#)", "y# = x#", ("if y# is x#:", "@ += 1"), "x#, y# = y#, x#", "@ += sum(e * k for k, e in enumerate(x#))",
            "@ += sum(p - q for p, q in zip(x#, x#[1:]))", "x# = [&] + x#", ("if len(x#) > 1:", "x#[-1], x#[0] = x#[0], x#[-1]"),
            ("for e# in x#[1:]:", "@ += e# - ^"), ("for e# in reversed(x#):", "@ = e# - @"), "y# = sorted(x#)", "x#.insert(-1, &)",
            ("if len(x#) > 2:", "del x#[-2]"), ("if x#:", "@ += x#.pop($ % len(x#))"), "x# = x# * 2 if len(x#) < 2 else x#[:2]",
        ]  # fmt: skip
        self._loop(number, total, steps, ["x#.append(&)"])
        self._end(number, total, ["len(x#)", "sum(x#)", "sum(y#)", "len(y#)", "sum(x#[-2:])", "@"])

    def _firsts(self) -> None:
        """What is set where it is absent, is None until something came, and is counted by truth values."""
        number, total = self._begin("m# = {}", "p# = None", "c# = [0, 0]", "q# = None")
        steps: list[Step] = [
            ("if 'v' not in m#:", "m#['v'] = &"), ("if 'v' in m#:", "@ += m#['v']", "else:", "m#['v'] = ^"), "p# = &", "q# = @",
            ("if & != p#:", "@ += 1"), ("if $ % 2 == p#:", "@ -= 1"), ("if p# != q#:", "@ += ^"), ("if ?:", "p# = None"),
            "c#[bool(?)] += 1", "@ += c#[bool(?)]", "@ += (3, 5)[bool(?)]", "@ += len(m#)", ("if ?:", "m#.pop('v', ^)"),
            "m#['n'] = m#.get('n', 0) + 1", "k# = 'v' if ? else 'n'; m#[k#] = m#.get(k#, 0) + &",
            ("try:", "@ += sum([e for e in range(0, 6, $ - 1)])", "except ValueError:", "@ -= 2"), "@ += math.comb($ + 2, 2)",
            ("try:", "@ += math.factorial($ - 1)", "except ValueError:", "@ += 3"), "@ += -(~(bool(?) + 0))",
        ]  # fmt: skip
        self._loop(number, total, steps, ["p# = &"] if self.chance(0.5) else ())
        self._end(number, total, ["m#.get('v', 9)", "len(m#)", "c#[0]", "c#[1]", "(6 if p# is None else p#)", "@"])


CONTAINER_FEATURES: tuple[str, ...] = (
    "queues", "keys", "choices", "far objects", "optional containers", "states", "rows", "attempts", "slices", "firsts",
)  # fmt: skip
