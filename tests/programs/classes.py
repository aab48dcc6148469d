"""Objects whose class says what they do: states, strategies, results, shapes, players and accounts."""

from __future__ import annotations

import abc
import enum
from dataclasses import dataclass, field, replace

import numpy as np

from tests.programs import program


class Idle:
    def call(self, elevator, floor):
        if floor > elevator.floor:
            return Rising()
        if floor < elevator.floor:
            return Sinking()
        return self


class Rising:
    def call(self, elevator, floor):
        elevator.floor += 1
        elevator.log = elevator.log * 3 + 1
        return Idle() if floor <= elevator.floor else self


class Sinking:
    def call(self, elevator, floor):
        elevator.floor -= 1
        elevator.log = elevator.log * 3 + 2
        return Idle() if floor >= elevator.floor else self


class Elevator:
    def __init__(self):
        self.floor, self.log = 0, 0
        self.state = Idle()

    def call(self, floor):
        self.state = self.state.call(self, floor)


@program((np.array([1, 2, 2, 2, 0, 0, 0, 0]),), (np.array([0, 1, -1, -1, 5, 5, 5, 5]),))
def elevator(floors):
    lift = Elevator()
    for floor in floors:
        lift.call(floor)
    return lift.floor, lift.log, isinstance(lift.state, Idle)


@dataclass
class Ok:
    value: float

    def then(self, f):
        return f(self.value)

    def unwrap_or(self, default):
        return self.value


@dataclass
class Failed:
    code: int

    def then(self, f):
        return self

    def unwrap_or(self, default):
        return default


def divided(a, b):
    if b == 0:
        return Failed(1)
    return Ok(a / b)


def root(a):
    return Failed(2) if a < 0 else Ok(a**0.5)


@program((8.0, 2.0), (1.0, 0.0), (-4.0, 1.0))
def results_and_errors(a, b):
    result = divided(a, b).then(root).then(lambda v: Ok(v + 1))
    match result:
        case Ok(value=v):
            text = v * 10
        case Failed(code=1):
            text = -100.0
        case Failed(code):
            text = -float(code)
    return text, result.unwrap_or(0.5), result == Failed(2)


class Employee(abc.ABC):
    def __init__(self, name):
        self.name = name
        self.paid = 0.0

    @abc.abstractmethod
    def wage(self, hours): ...

    def pay(self, hours):
        amount = self.wage(hours)
        self.paid += amount
        return amount


class Hourly(Employee):
    def __init__(self, name, rate):
        super().__init__(name)
        self.rate = rate

    def wage(self, hours):
        if hours > 40:
            return self.rate * (40 + 1.5 * (hours - 40))
        return self.rate * hours


class Salaried(Employee):
    def __init__(self, name, salary):
        super().__init__(name)
        self.salary = salary

    def wage(self, hours):
        return self.salary / 12


class Manager(Salaried):
    def pay(self, hours):
        return super().pay(hours) + (100.0 if hours > 45 else 0.0)


@program(
    (np.array([0, 1, 2, 0]), np.array([50.0, 40.0, 46.0, 10.0])),
    (np.array([2, 2, 1, 1]), np.array([50.0, 40.0, 46.0, 10.0])),
)
def payroll(who, hours):
    staff = [Hourly("Ann", 20.0), Salaried("Bob", 36000.0), Manager("Cleo", 60000.0)]
    total, hourly = 0.0, 0
    for k, h in zip(who, hours):
        employee = staff[k]
        total += employee.pay(h)
        if isinstance(employee, Hourly):
            hourly += 1
    return total, hourly, [each.paid for each in staff]


class NoTree:
    size = 0

    def total(self):
        return 0.0

    def insert(self, v):
        return Bag(v)


class Bag:
    def __init__(self, v):
        self.held, self.size = v, 1

    def total(self):
        return self.held

    def insert(self, v):
        self.held += v
        self.size += 1
        return self


@program((np.array([1.0, -2.0, 3.0]),), (np.array([-1.0, -2.0, -3.0]),))
def null_object(values):
    bag = NoTree()
    for v in values:
        if v > 0:
            bag = bag.insert(v)
    return bag.total(), bag.size


class Player:
    def __init__(self, name):
        self.name, self.points, self.streak = name, 0, 0

    def scores(self, n):
        self.points += n
        self.streak += 1

    def misses(self):
        self.streak = 0


@program(
    (np.array([3, 0, 5, 5, 0, 1, 4]),),
    (np.array([0, 0, 0, 2, 2, 0, 9]),),
)
def darts_in_turns(throws):
    home, guest = Player("home"), Player("guest")
    thrower, waiting = home, guest
    for throw in throws:
        if throw == 0:
            thrower.misses()
            thrower, waiting = waiting, thrower
        else:
            thrower.scores(throw)
            if thrower.streak == 2:
                waiting.points -= 1
    return home.points, guest.points, thrower.name, waiting is home


class Constant:
    def __init__(self, rate):
        self.rate = rate

    def at(self, step):
        return self.rate


class Decay(Constant):
    def at(self, step):
        return self.rate / (1 + step)


class Warmup:
    def __init__(self, after, steps):
        self.after, self.steps = after, steps

    def at(self, step):
        if step < self.steps:
            return self.after.at(step) * (step + 1) / self.steps
        return self.after.at(step)


@program((1.0, 0.1), (-1.0, 0.2), (3.0, 0.05), grad=True)
def descent_by_a_schedule(x, rate):
    if x > 2:
        schedule = Decay(rate)
    elif x > 0:
        schedule = Warmup(Decay(rate), 3)
    else:
        schedule = Constant(rate)
    for step in range(5):
        x = x - schedule.at(step) * 2 * x
    return x


class Plan(enum.Enum):
    FREE = 0
    PRO = 1

    @property
    def quota(self):
        return 10.0 if self is Plan.FREE else 100.0

    def upgraded(self):
        return Plan.PRO


@dataclass(frozen=True)
class Account:
    used: float = 0.0
    plan: Plan = Plan.FREE

    def add(self, v):
        used = self.used + v
        if used > self.plan.quota:
            return replace(self, plan=self.plan.upgraded())
        return replace(self, used=used)


@dataclass(frozen=True)
class Closed:
    owed: float

    def add(self, v):
        return Closed(self.owed + v)


@dataclass
class Book:
    entries: list = field(default_factory=list)

    def note(self, v):
        self.entries.append(v)


@program((np.array([4.0, 5.0, 3.0, 2.0]),), (np.array([60.0, 60.0, 60.0, 1.0]),), (np.array([1.0, -7.0, 3.0, 2.0]),))
def accounts_that_close(amounts):
    account, book = Account(), Book()
    for v in amounts:
        account = account.add(v) if v > 0 else Closed(-v)
        book.note(v)
    match account:
        case Closed(owed):
            return -owed, False, len(book.entries)
        case Account(used=u, plan=plan):
            return u, plan is Plan.PRO, len(book.entries)


class Token:
    def __init__(self, value):
        self.value = value


class Number(Token):
    def apply(self, total):
        return total * 10 + self.value


class Sign(Token):
    def apply(self, total):
        if self.value < 0:
            return -total
        return total


class Reset(Token):
    def apply(self, total):
        return 0.0


@program((np.array([1, 2, -1, 3]),), (np.array([7, 0, 5, -1]),), (np.array([-2, 9, 9, 9]),))
def tokens(codes):
    total, signs = 0.0, 0
    for code in codes:
        if code > 0:
            token = Number(code)
        elif code < 0:
            token = Sign(code)
        else:
            token = Reset(code)
        total = token.apply(total)
        signs += isinstance(token, Sign)
    return total, signs, type(token).__name__
