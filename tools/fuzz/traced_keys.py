"""Generate loops whose state is sets and dicts of which only run time knows the elements, or keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from autograph.tools.fuzz.container_state import ContainerState, Step
from autograph.tools.fuzz.expressions import INT
from autograph.tools.fuzz.statements import Maker

PREAMBLE_OF_KEYS = """\
class Ledger:
    def __init__(self, limit):
        self.limit = limit
        self.seen = set()
        self.table = {}

    def note(self, key, value):
        if key in self.seen:
            return 0
        self.seen.add(key)
        if value > self.limit:
            return 1
        self.table[key] = self.table.get(key, 0) + value
        return 2

    def drop(self, key):
        self.seen.discard(key)
        return self.table.pop(key, 0)

    @property
    def total(self):
        return sum(self.table.values()) + len(self.seen)


def tallied(table, key, amount):
    if amount > 2:
        return 0
    table[key] = table.get(key, 0) + amount
    return table[key]


def first_new(seen, values):
    for value in values:
        if value in seen:
            continue
        seen.add(value)
        return value
    return -1


def counted(values):
    counts = {}
    for value in values:
        if value not in counts:
            counts[value] = 0
        counts[value] += 1
    return counts


"""

_SETS: tuple[Step, ...] = (
    "s#.add(§)", "s#.add(°)", "s#.discard(§)", ("if § in s#:", "@ += &"), ("if § not in s#:", "s#.add(°)"), "@ += len(s#)",
    "s# |= {§, °}", "s# = s# | {§}", "s# = s# ∩ u#", "s# -= {§}", "s# = s# - u#", "u# = s#.symmetric_difference({§})", "s#.update([§, °])",
    "@ += sum(s#)", "@ += sum(sorted(s#)[:2])", ("for e# in sorted(s#):", "@ = (@ * 2 + e#) % 17"), "@ += max(s#, default=^)",
    ("if s#:", "@ += min(s#)"), ("if len(s#) > 2:", "s#.clear()"), ("if s# == u#:", "@ += 1"), ("if s# <= u#:", "@ -= 1"),
    "u# = set(s#)", "u# = s#.copy()", "u# = s#", "s# = {e % 3 for e in s#}", "u# = {e for e in s# if e > ^}", "u# = set()",
    ("try:", "s#.remove(§)", "except KeyError:", "@ -= 1"), "@ += sum(e * 2 for e in s#)", "@ += len(s# ∩ u#)",
    ("if s#.isdisjoint(u#):", "@ += ^"), ("if any(e > & for e in s#):", "@ -= ^"), "s#.difference_update({§})",
    ("if s# is u#:", "@ += 1"), "u# = {*s#, §}", "@ += first_new(s#, [§, °])", "s#, u# = u#, s#", "u#.add(len(s#))",
    ("for e# in sorted(s#, reverse=True):", "if e# < &: break", "@ += e#"), ("if not s#:", "s#.add(§)"),
    ("while len(s#) < 3 and int(@) % 7 not in s#:", "s#.add(int(@) % 7)", "@ += 1"), "@ += len({§, °, 1})", "@ += len(set([§, °]))",
)  # fmt: skip

_DICTS: tuple[Step, ...] = (
    "d#[§] = d#.get(§, 0) + &", "d#[§] = &", "@ += d#.get(§, ^)", ("if § in d#:", "@ += d#[§]"), ("if § in d#:", "del d#[§]"),
    "@ += d#.pop(§, ^)", "@ += d#.setdefault(§, &)", "@ += len(d#)", ("for k#, w# in d#.items():", "@ += w# - k#"),
    ("for k# in d#:", "@ = (@ * 2 + k#) % 19"), "@ += sum(d#.values())", "@ += sum(d#)", "@ += sum(sorted(d#)[:2])",
    "@ += sum(d#.keys())", "@ += max(d#.values(), default=^)", "@ += max(d#, default=^)", "e# = {k: v + 1 for k, v in d#.items()}",
    "d# = {k: v for k, v in d#.items() if v > ^}", "e# = dict.fromkeys([§, °], &)", "e#[§] = len(d#)", "d#.update({§: &})",
    "e# = dict(d#)", "e# = d#.copy()", "e# = d#", "e#, d# = d#, e#", "d# |= e#", "d# = {**d#, §: &}", "d#.update(e#)",
    "e# = {v % 3: k for k, v in d#.items()}", ("try:", "@ += d#[§]", "except KeyError:", "@ += &"),
    ("try:", "del d#[§]", "except KeyError:", "@ -= 1", "else:", "@ += 2"), ("if len(d#) > 2:", "d#.clear()"),
    ("if d# == e#:", "@ += 2"), ("if § in d# and d#[§] > ^:", "@ += 1"), "@ += sum(v for k, v in d#.items() if k > ^)",
    ("if d#:", "@ += max(d#, key=d#.get)"), ("if d#:", "@ += min(d#, key=lambda k: d#[k])"), "@ += sum([k for k in d# if d#[k] > ^])",
    ("for k# in list(d#):", "if d#[k#] < ^: del d#[k#]"), ("for k# in sorted(d#):", "@ = (@ * 3 + d#[k#]) % 17"),
    ("if § in d#:", "d#[§] += &"), "@ += tallied(d#, §, &)", ("if d#:", "@ += d#.popitem()[1]"),
    ("for n#, k# in enumerate(d#):", "@ += n# * k#"), "d#[§], d#[°] = &, ^", ("if d#.get(§) is None:", "d#[§] = &"),
    ("if not d#:", "d#[°] = ^"), "d# = counted([§, °, 1])", "e#[°] = d#.get(§, 0)", ("if d# is e#:", "@ += 1"), "e# = {}",
    ("for k#, e# in sorted(d#.items()):", "if e# > &: break", "@ += k#"), ("for k# in list(d#.keys()):", "d#[k#] -= 1"),
    ("for k#, v# in zip(d#.keys(), d#.values()):", "@ += k# * v#"), "@ += {v: k for k, v in d#.items()}.get(&, ^)",
    "@ += (d#.get(§) or ^)", ("while § in d# and d#[§] > 0:", "d#[§] -= 2"), ("if all(v > ^ for v in d#.values()):", "@ += 1"),
)  # fmt: skip

_LISTS: tuple[Step, ...] = (
    "d#.setdefault(§, []).append(&)", ("if § not in d#:", "d#[§] = [&]", "else:", "d#[§].append(@)"), "@ += len(d#.get(§, []))",
    ("for k#, g# in d#.items():", "@ += len(g#) * k#"), ("for g# in d#.values():", "for v# in g#: @ += v# % 3"),
    "@ += sum(len(g) for g in d#.values())", ("if § in d# and len(d#[§]) > 1:", "@ += d#[§].pop()"), "@ += sum(d#.get(§, [^]))",
    ("if § in d#:", "@ += d#[§][-1]"), "@ += max((len(g) for g in d#.values()), default=0)", ("if § in d#:", "d#[§] = d#[§][1:]"),
    "@ += len(d#.pop(§, []))", ("if len(d#) > 2:", "d# = {}"), ("for k# in d#:", "d#[k#].append(^)"),
)  # fmt: skip

_LISTS_OF_DEFAULTDICT: tuple[Step, ...] = (
    "d#[§].append(&)",
    "@ += len(d#[§])",
    ("for v# in d#[§]:", "@ += v#"),
    *_LISTS,
)

_NUMBERS_OF_DEFAULTDICT: tuple[Step, ...] = (
    "d#[§] += &", "@ += d#[§]", "d#[§] -= d#[°]", ("if d#[§] > ^:", "@ += 1"), "@ += len(d#)", "d#[§] = d#[§] * 2 % 5",
    ("for k#, e# in d#.items():", "@ += e# * k#"), "@ += d#.get(°, ^)", "@ += sum(d#.values())", "d#.pop(§, ^)",
    ("if § in d#:", "del d#[§]"), "@ += max(d#.values(), default=0)", "d#[§] += 1; d#[°] += d#[§]",
)  # fmt: skip

_COUNTERS: tuple[Step, ...] = (
    "d#[§] += 1", "d#.update([§, °])", "@ += d#[§]", "@ += d#.total()", ("if d#:", "@ += d#.most_common(1)[0][1]"),
    ("for k#, e# in d#.most_common():", "@ = (@ * 2 + e# - k#) % 19"), "@ += len(d#)", ("if § in d#:", "del d#[§]"),
    "d# = Counter([§, °, ^])", "d#[§] -= 1", ("if d#[§] > 1:", "@ += ^"), "@ += max(d#.values(), default=0)",
    "@ += sum(1 for v in d#.values() if v > 1)", "d#.update({§: 2})", ("for k# in d#:", "@ += k#"),
)  # fmt: skip

_PAIRS: tuple[Step, ...] = (
    "s#.add((§, ° % 2))", ("if (§, °) not in s#:", "s#.add((§, °))", "@ += 1"), "s#.discard((§, ^))", "@ += len(s#)",
    ("for p#, q# in sorted(s#):", "@ = (@ * 2 + p# - q#) % 17"), "d#[§, °] = d#.get((§, °), 0) + &", "@ += d#.get((°, §), ^)",
    ("for (p#, q#), e# in d#.items():", "@ += p# * e# - q#"), "d#[§, ^] = (&, @)[0]", ("if (§, 1) in d#:", "del d#[§, 1]"),
    "@ += sum(p for p, q in s#)", "@ += len(d#)", "s# |= {(°, §)}", "s# = {(q, p) for p, q in s#}", "@ += sum(d#.values())",
)  # fmt: skip

_MEMOS: tuple[Step, ...] = (
    ("if § not in d#:", "d#[§] = & * 2 + d#.get(§ - 1, ^)", "@ += d#[§]"), ("if § in d#:", "@ += d#[§]", "else:", "d#[§] = @ % 7"),
    ("try:", "@ += d#[§]", "except KeyError:", "d#[§] = &"), "d#[§] = d#.get(§ - 1, 0) + d#.get(§ - 2, 1)",
    ("if d#.get(§) is not None:", "@ += d#[§]"), ("if (e# := d#.get(§)) is None:", "e# = d#[§] = &", "@ += e#"), "@ += len(d#)",
)  # fmt: skip

_HELD: tuple[Step, ...] = (
    "@ += o#.note(§, &)", "@ += o#.drop(§)", "@ += o#.total", "o#.seen.add(§)", "o#.table[§] = &",
    ("if § in o#.table:", "@ += o#.table[§]"),
    "@ += len(o#.seen)", ("for k#, e# in o#.table.items():", "@ += k# - e#"), "@ += tallied(o#.table, §, &)", "o#.seen = set()",
    "o#.table = {}", ("for x# in (o#, w#):", "@ += x#.note(§, ^)"), "w#.seen = o#.seen", "o#.seen |= {°}", "o#, w# = w#, o#",
    "@ += first_new(o#.seen, [§, °])", ("if ?:", "o#.seen.discard(§)", "else:", "w#.seen.add(°)"), "@ += w#.note(°, @ % 5)",
    ("if o#.table == w#.table:", "@ += 1"), "o#.table.setdefault(§, &)", "@ += len(o#.seen ∩ w#.seen)",
)  # fmt: skip

_NAMES: tuple[Step, ...] = (
    "k# = 'odd' if ? else 'even'", "d#[k#] = d#.get(k#, 0) + &", "s#.add(k#)", ("if 'odd' in s#:", "@ += ^"), "@ += len(s#)",
    ("if k# in d#:", "@ += d#[k#]"), "@ += len(d#)", ("if ?:", "k# = 'none'"), "s#.discard(k#)", "@ += d#.pop(k#, ^)",
    ("for n#, e# in d#.items():", "@ += e#"), ("if k# not in s#:", "s#.add(k#)", "@ += 1"), "@ += sum(d#.values())",
)  # fmt: skip

# By form: what is there before the loop, the steps, and what is read after it.
_FORMS: dict[str, tuple[tuple[str, ...], tuple[Step, ...], tuple[str, ...]]] = {
    "sets": (("s# = set()", "u# = {§}"), _SETS, ("len(s#)", "sum(s#)", "len(u#)", "sum(sorted(s#)[:2])", "@")),
    "more sets": (("s# = {§, 1}", "u# = s#"), _SETS, ("len(s#)", "sum(u#)", "max(s#, default=0)", "@")),
    "dicts": (("d# = {}", "e# = {}"), _DICTS, ("len(d#)", "sum(d#.values())", "sum(d#)", "sum(e#.values())", "d#.get(§, 0)", "@")),
    "more dicts": (("d# = {§: 1}", "e# = d#"), _DICTS, ("len(d#)", "sum(d#.values())", "d#.get(§, 0)", "sum(e#)", "@")),
    "lists": (("d# = {}",), _LISTS, ("len(d#)", "sum(len(g) for g in d#.values())", "sum(d#)", "@")),
    "default lists": (
        ("d# = defaultdict(list)",), _LISTS_OF_DEFAULTDICT, ("len(d#)", "sum(len(g) for g in d#.values())", "len(d#[§])", "@")
    ),
    "default numbers": (("d# = defaultdict(int)",), _NUMBERS_OF_DEFAULTDICT, ("len(d#)", "sum(d#.values())", "d#[§]", "@")),
    "counters": (("d# = Counter()",), _COUNTERS, ("len(d#)", "d#.total()", "d#[§]", "sum(d#)", "@")),
    "pairs": (("s# = set()", "d# = {}"), _PAIRS, ("len(s#)", "sum(p - q for p, q in s#)", "sum(d#.values())", "@")),
    "memos": (("d# = {}",), _MEMOS, ("len(d#)", "sum(d#.values())", "d#.get(§, 0)", "@")),
    "held": (("o# = Ledger(1)", "w# = Ledger(2)"), _HELD, ("o#.total", "w#.total", "len(w#.table)", "sum(o#.seen)", "@")),
    "names": (("k# = 'even'", "d# = {}", "s# = set()"), _NAMES, ("len(s#)", "sum(d#.values())", "d#.get('odd', 0)", "@")),
}  # fmt: skip


class TracedKeys(ContainerState):
    """The part of the writer of programs that makes state of sets and dicts with traced keys.

    In the texts ``§`` and ``°`` are keys, ints of a few values; ``∩`` is Python's ``&``.
    """

    _RETURNS: Step = ("if ?:", "return @ - ^")

    def compound_statements(self, depth: int) -> list[tuple[int, Maker]]:
        makers = super().compound_statements(depth)
        return makers + [(8, self._with_traced_keys)] if "traced keys" in self.features else makers

    def _with_traced_keys(self) -> None:
        starts, steps, uses = _FORMS[self.random.choice(tuple(_FORMS))]
        number, total = self._begin(*(self._with_keys(text, self._operand(INT)) for text in starts))
        if self.chance(0.25):
            inside = [*steps, *self._leaving(), self._RETURNS]
            self._in_function(number, total, starts, lambda: self._loop(number, total, inside, has_others=False))
        else:
            self._loop(number, total, [*steps, *self._leaving()])
        self._end(number, total, [self._with_keys(text, self.constant(INT)) for text in uses])

    def _in_function(self, number: str, total: str, starts: Sequence[str], loop: Callable[[], None]) -> None:
        """A loop in a function that is given the containers, and may return early."""
        names = [text.split(" = ")[0].replace("#", number) for text in starts]
        self.line(f"def work{number}({', '.join((*names, total))}):")
        with self.indented():
            loop()
            self.line(f"return {total}")
        self.line(f"{total} = work{number}({', '.join((*names, total))})")

    @staticmethod
    def _leaving() -> list[Step]:
        return [("if ?:", "break"), ("if ?:", "continue")]

    def _step(self, step: Step, names: dict[str, str]) -> None:
        one, other = (self._key(names) for _ in range(2))
        texts = (step,) if isinstance(step, str) else step
        written = tuple(self._with_keys(text, one, other) for text in texts)
        super()._step(
            written[0] if isinstance(step, str) else written, names | {"∩": "&"}
        )  # "&" is the value until then

    def _key(self, names: dict[str, str]) -> str:
        item, total = names["$"], names["@"]
        value = names["&"] if self._kind == INT else item
        keys = (
            f"{value} % 3",
            f"{value} % 4",
            item,
            f"({item} + 1)",
            f"int({total}) % 3",
            self.constant(INT),
            f"-{item}",
        )
        key = self.random.choice(keys)
        return f"({key})" if " " in key and key[0] != "(" else key

    @staticmethod
    def _with_keys(text: str, one: str, other: str = "") -> str:
        return text.replace("§", one).replace("°", other)
