"""Generate loops whose state is objects of classes with operators, properties, base classes and fields of dataclasses."""

from __future__ import annotations

from autograph.tools.fuzz.container_state import Step
from autograph.tools.fuzz.long_loops import Form
from autograph.tools.fuzz.statements import Maker
from autograph.tools.fuzz.value_state import ValueState

PREAMBLE_OF_CLASSES = """\
import dataclasses
import functools


@functools.total_ordering
class Money:
    def __init__(self, units, cents=0):
        self.units = units + cents // 4
        self.cents = cents % 4

    @classmethod
    def of(cls, cents):
        return cls(0, cents)

    @property
    def worth(self):
        return self.units * 4 + self.cents

    def __eq__(self, other):
        return isinstance(other, Money) and self.worth == other.worth

    def __lt__(self, other):
        return self.worth < other.worth

    def __add__(self, other):
        if not isinstance(other, Money):
            return Money(self.units + other, self.cents)
        return Money(self.units + other.units, self.cents + other.cents)

    __radd__ = __add__

    def __sub__(self, other):
        return Money.of(self.worth - other.worth)

    def __mul__(self, times):
        return Money(self.units * times, self.cents * times)

    def __neg__(self):
        return self * -1

    def __abs__(self):
        return -self if self.worth < 0 else self

    def __bool__(self):
        return bool(self.worth != 0)

    def __int__(self):
        return int(self.units)


class Bag:
    def __init__(self, *items):
        self.items = list(items)

    def __len__(self):
        return len(self.items)

    def __iter__(self):
        return iter(self.items)

    def __getitem__(self, place):
        return self.items[place]

    def __setitem__(self, place, item):
        self.items[place] = item

    def __contains__(self, item):
        return item in self.items

    def __eq__(self, other):
        return self.items == other.items

    def __iadd__(self, item):
        self.items.append(item)
        return self

    def __call__(self, least):
        for item in self:
            if item > least:
                yield item

    @property
    def top(self):
        return self.items[-1] if self.items else 0

    @top.setter
    def top(self, item):
        if self.items:
            self.items[-1] = item
        else:
            self.items.append(item)

    @property
    def is_full(self):
        return len(self) > 3


class Account:
    fee = 1

    def __init__(self, balance):
        self.balance = balance
        self.log = []

    def deposit(self, amount):
        self.balance += amount
        self.log.append(amount)
        return self.balance

    def withdraw(self, amount):
        if amount > self.balance:
            return False
        self.balance -= amount + self.fee
        return True

    def move(self, other, amount):
        if self is not other and self.withdraw(amount):
            other.deposit(amount)


class Savings(Account):
    fee = 2

    def __init__(self, balance, least):
        super().__init__(balance)
        self.least = least

    def deposit(self, amount):
        if amount > self.least:
            amount += 1
        return super().deposit(amount)


class Limited(Savings):
    def __init__(self, balance):
        super().__init__(balance, 0)

    def deposit(self, amount):
        return super().deposit(min(amount, 2)) - self.fee


@dataclasses.dataclass(frozen=True, order=True)
class Mark:
    score: int
    at: int = 0

    def later(self, by):
        return dataclasses.replace(self, at=self.at + by)


@dataclasses.dataclass
class Tally:
    count: int = 0
    best: Mark = Mark(0)
    seen: list = dataclasses.field(default_factory=list)

    def take(self, mark):
        self.count += 1
        if mark > self.best:
            self.best = mark
            self.seen.append(mark.score)
        return self


"""

_AMOUNTS: tuple[Step, ...] = (
    "a# = a# + Money(&)", "a# += b#", "b# = Money(^, &)", "a#, b# = b#, a#", ("if a# < b#:", "@ += 1"), ("if a# == b#:", "@ += 2"),
    ("if a# != b#:", "b# = a# - b#"), "@ += a#.worth % 17", "b# = max(a#, b#)", "b# = min(a#, b#, key=lambda e: e.cents)",
    ("if a#:", "@ += a#.units"), "b# = -a#", "b# = abs(b#)", "l#.append(a#)", "l#.append(Money(&))", "l# = sorted(l#)[:3]",
    ("if a# in l#:", "@ += 3"), "@ += sum(e.worth for e in l#) % 19", ("if l#:", "b# = max(l#)"), ("if l#:", "a# = l#[-1]"),
    "a# = a# if a# >= b# else b#", "@ += l#.count(a#)", "b# = Money(@ % 5) * 2", "b# = sum(l#)", "a#.units += &", "b# = a#",
    ("if b# is a#:", "@ += 1"), "@ += int(a#)", "a# = Money.of(@ % 9)", "a# += 1", "a# = 1 + b#", ("if l#:", "l#.pop()"),
    ("if not b#:", "b# = Money(1, &)"), ("for e# in l#:", "@ += e#.cents"), "l# = [e for e in l# if e > b#][:3]",
    ("if l#:", "l#[0] += b#"), "a# = (a# and b#)", "a# = b# or a#", "@ += a# > b#",
    "@ += sorted([a#, b#, Money(&)], reverse=True)[1].cents",
)  # fmt: skip

_BAGS: tuple[Step, ...] = (
    "b# += &", "b#.items.append(&)", "@ += len(b#)", ("for e# in b#:", "@ += e# - ^"), ("if b#:", "@ += b#[-1]"),
    ("if & in b#:", "@ += 1"), "b#.top = &", "b#.top += 1", "@ += b#.top", ("if b#.is_full:", "b# = Bag(&)"),
    ("if b#.is_full:", "b#.items = b#[-2:]"), "@ += sum(b#)", "@ += max(b#, default=^)", "c# = Bag(*b#)", "c# = b#",
    ("if b# == c#:", "@ += 1"), "@ += sum(b#(^))", ("if b#:", "b#[$ % len(b#)] = &"), "c# = Bag(*c#[:2], &)",
    "@ += sum(e * k for k, e in enumerate(b#))", "b#, c# = c#, b#", "x# = list(b#)", "x# = [*b#, *c#]",
    "@ += sum(p - q for p, q in zip(b#, c#))", "x#.append(&)", "b# = Bag(*x#[-2:])", "@ += c#.top - len(x#)",
    ("if c#:", "first#, *x# = c#"), ("if b# and c#:", "b#[0], c#[-1] = c#[-1], b#[0]"), "c# += b#.top", "@ += len(c#.items)",
    ("if not b#:", "b# += ^"), ("if b# is c#:", "@ += 1"), ("for e# in b#(&):", "@ += e#"), "b# = Bag()", "x# = sorted(b#)",
    ("if any(e > & for e in b#):", "@ -= 1"), "b#[-1:] = [&, ^]",
)  # fmt: skip

_ACCOUNTS: tuple[Step, ...] = (
    "@ += a#.deposit(&)", "@ += b#.deposit(&)", "c# = a#", "c# = b# if ? else a#", "@ += c#.deposit(&)", "@ += c#.fee", "a#.fee = &",
    ("if isinstance(c#, Savings):", "@ += c#.least"), ("for e# in (a#, b#):", "e#.deposit(1)"), "@ += sum(e.balance for e in (a#, b#))",
    "@ += len(c#.log)", "c# = Savings(&, 1)", "c# = Limited(@ % 5)", "a#.balance, b#.balance = b#.balance, a#.balance",
    "@ += max((a#, b#), key=lambda e: e.balance).balance", ("if not a#.withdraw(&):", "@ -= 1"), "a#.move(b#, &)", "@ += type(c#).fee",
    "c#.move(a#, 1)", "@ += c#.withdraw(^)", ("if c# is a#:", "@ += 2"), ("if type(c#) is Account:", "c#.balance = &"), "b#.least += 1",
    "@ += sum(b#.log[-2:])", ("if len(a#.log) > 2:", "a#.log.pop(0)"), "a#, b# = Account(&), Savings(^, &)", "@ += hasattr(c#, 'least')",
    "d#['a'].deposit(&)", "@ += d#['b'].balance", "d#['c'] = c#", "@ += getattr(c#, 'least', ^)",
    ("for e# in d#.values():", "@ += e#.balance - e#.fee"), "d# = {'a': b#, 'b': a#, 'c': c#}",
    ("if issubclass(type(c#), Savings):", "c# = a#"), "m# = c#.deposit; @ += m#(&)", "Account.deposit(b#, &)",
)  # fmt: skip

_RECORDS: tuple[Step, ...] = (
    "m# = dataclasses.replace(m#, score=&)", "m# = Mark(&, $)", ("if m# > t#.best:", "t#.best = m#"), "@ += m#.score - t#.best.at",
    "t# = dataclasses.replace(t#, count=t#.count + 1)", "t#.seen.append(&)", ("if m# == t#.best:", "@ += 1"), "m# = max(m#, t#.best)",
    "p#, q# = dataclasses.astuple(m#); @ += p# - q#", "t# = Tally()", "u# = t#", "u# = dataclasses.replace(t#, seen=[&])",
    "@ += len(u#.seen)",
    ("match m#:", "    case Mark(0, at):", "    @ += at", "    case Mark(score=s) if s > &:", "    @ += s", "    case _:", "    @ -= 1"),
    "r#.append(m#)", "r# = sorted(r#)[-3:]", "r# = sorted(r#, key=lambda e: (e.at, -e.score))", "@ += sum(e.score for e in r#)",
    ("if m# in r#:", "@ += 1"), ("if r#:", "m# = r#[0]"), "t#.take(m#)", "@ += u#.take(Mark(&)).count", "m# = m#.later(&)",
    "m# = m#.later(1).later(^)", ("if t# == u#:", "@ += 2"), ("if u# is t#:", "@ += 1"), "m# = Mark(at=&, score=@ % 5)",
    "m# = Mark(**{'score': &})", "u#, t# = t#, u#", ("for e# in r#:", "t# = t#.take(e#)"), "@ += sum(t#.seen)",
    ("if r#:", "r#[-1] = r#[-1].later(1)"), "t#.best = min(t#.best, m#)", "@ += u#.best.score",
    ("if len(t#.seen) > 2:", "t#.seen.clear()"), "v# = dataclasses.asdict(m#); @ += v#['at']", "m# = min(r#, default=m#)",
    "@ += (m# < Mark(&)) + (m# >= t#.best)",
)  # fmt: skip

_FORMS: dict[str, Form] = {
    "amounts": (
        ("a# = Money(1)", "b# = Money(0, 3)", "l# = []"), _AMOUNTS,
        ("a#.worth % 97", "b#.units % 97", "int(a# < b#)", "len(l#)", "sum(e.worth for e in l#) % 97", "@"),
    ),
    "bags": (
        ("b# = Bag()", "c# = Bag(1, 2)", "x# = []"), _BAGS,
        ("len(b#)", "sum(c#)", "b#.top", "int(b# == c#)", "sum(e * k for k, e in enumerate(b#))", "sum(x#)", "@"),
    ),
    "accounts": (
        ("a# = Account(3)", "b# = Savings(1, 2)", "c# = a#", "d# = {'a': a#, 'b': b#, 'c': Limited(1)}"), _ACCOUNTS,
        ("a#.balance", "b#.balance", "c#.balance", "len(a#.log)", "sum(b#.log)", "c#.fee", "d#['c'].balance", "@"),
    ),
    "records": (
        ("m# = Mark(1)", "t# = Tally()", "u# = t#", "r# = []"), _RECORDS,
        ("m#.score", "m#.at", "t#.count", "u#.best.score", "sum(t#.seen)", "len(r#)", "sum(e.score - e.at for e in r#)", "@"),
    ),
}  # fmt: skip


class ClassState(ValueState):
    """The part of the writer of programs that makes state of the classes that `PREAMBLE_OF_CLASSES` defines."""

    def compound_statements(self, depth: int) -> list[tuple[int, Maker]]:
        makers = super().compound_statements(depth)
        return makers + [(10, lambda: self._of_form(_FORMS))] if "classes" in self.features else makers
