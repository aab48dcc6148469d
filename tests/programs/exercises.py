"""Exercises of a first course on classes: a bank, a parking lot, a league table, versions, guards, polynomials."""

from __future__ import annotations

import functools
import itertools
from abc import ABC, abstractmethod
from collections import deque
from dataclasses import astuple, dataclass, field, replace

import numpy as np

from tests.programs import program


class InsufficientFunds(Exception):
    def __init__(self, account, needed):
        super().__init__(f"account {account.name} lacks {needed}")
        self.account = account
        self.needed = needed


class Account:
    def __init__(self, name, balance=0.0):
        self.name = name
        self.balance = balance
        self.history = []

    def withdraw(self, amount):
        if amount > self.balance:
            raise InsufficientFunds(self, amount - self.balance)
        self.balance -= amount
        self.history.append(-amount)

    def deposit(self, amount):
        if amount <= 0:
            raise ValueError("amount must be positive")
        self.balance += amount
        self.history.append(amount)


def transfer(source, target, amount):
    before = source.balance, target.balance
    try:
        source.withdraw(amount)
        target.deposit(amount)
    except ValueError:
        source.balance, target.balance = before
        return 0.0
    except InsufficientFunds as e:
        e.account.balance += 1
        e.account.history.append(e.needed)
        return -e.needed
    else:
        return amount
    finally:
        source.history.append(0.0)


@program((10.0, 5.0), (10.0, 15.0), (10.0, -3.0), (3.0, 3.0))
def bank_with_its_own_exceptions(balance, amount):
    accounts = {account.name: account for account in (Account("a", balance), Account("b"))}
    first = transfer(accounts["a"], accounts["b"], amount)
    second = transfer(accounts["b"], accounts["a"], amount / 2)
    ends = [(account.balance, sum(account.history), len(account.history)) for account in accounts.values()]
    return ends[0][:2], ends[1], first, second


class Vehicle(ABC):
    def __init__(self, plate):
        self.plate = plate

    @property
    @abstractmethod
    def size(self): ...


class Motorcycle(Vehicle):
    size = 1


class Car(Vehicle):
    @property
    def size(self):
        return 2


class Bus(Car):
    @property
    def size(self):
        return super().size * 2


class ParkingLot:
    def __init__(self, count):
        self.spots = [None] * count

    def park(self, vehicle):
        run = 0
        for i, spot in enumerate(self.spots):
            run = run + 1 if spot is None else 0
            if run == vehicle.size:
                for k in range(i - vehicle.size + 1, i + 1):
                    self.spots[k] = vehicle.plate
                return i - vehicle.size + 1
        return -1

    def leave(self, plate):
        freed = 0
        for i in range(len(self.spots)):
            if self.spots[i] == plate:
                self.spots[i] = None
                freed += 1
        return freed


@program((np.array([1, 2, 4, 1]), 102), (np.array([4, 4, 2, 2]), 100), (np.array([2, 2, 2, 2]), 101))
def parking_lot(kinds, leaving):
    lot = ParkingLot(8)
    places = []
    for i, kind in enumerate(kinds):
        if kind == 1:
            vehicle = Motorcycle(100 + i)
        elif kind == 2:
            vehicle = Car(100 + i)
        else:
            vehicle = Bus(100 + i)
        places.append(lot.park(vehicle))
    freed = lot.leave(leaving)
    places.append(lot.park(Car(999)))
    return places, freed, [0 if spot is None else spot for spot in lot.spots]


@dataclass(order=True)
class Team:
    points: int
    difference: int
    number: int = field(compare=False)
    goals: int = field(default=0, compare=False)


@program(
    (np.array([[2, 1], [0, 0], [3, 1], [1, 1], [0, 2], [5, 4]]),),
    (np.array([[0, 0]] * 6),),
    (np.array([[0, 1], [2, 0], [0, 3], [1, 0], [2, 2], [0, 1]]),),
)
def league_table(scores):
    teams = [Team(0, 0, number) for number in range(4)]
    for (one, other), (x, y) in zip(itertools.combinations(teams, 2), scores, strict=True):
        one.difference += x - y
        other.difference += y - x
        one.goals += x
        other.goals += y
        if x > y:
            one.points += 3
        elif x < y:
            other.points += 3
        else:
            one.points += 1
            other.points += 1
    table = sorted(teams, reverse=True)
    best = max(teams, key=lambda team: (team.points, team.goals))
    return [(team.number, team.points, team.difference) for team in table], best.number, teams[0] > teams[1]


@dataclass(frozen=True, order=True)
class Version:
    major: int
    minor: int = 0
    patch: int = 0

    def bumped(self, kind):
        match kind:
            case 0:
                return replace(self, major=self.major + 1, minor=0, patch=0)
            case 1:
                return replace(self, minor=self.minor + 1, patch=0)
            case _:
                return replace(self, patch=self.patch + 1)


@program((np.array([0, 1, 2, 2]), 1), (np.array([2, 2, 2, 1]), 0), (np.array([1, 0, 1, 1]), 2))
def versions_until_one_is_new(kinds, major):
    version = Version(1)
    seen = 1
    greatest = version
    for kind in kinds:
        version = version.bumped(kind)
        seen += 1
        greatest = max(greatest, version)
        if version > Version(major, 2):
            break
    return astuple(version), astuple(greatest), seen, version == Version(2, 0, 1), Version(major) < version


class Countdown:
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return self

    def __next__(self):
        if self.n <= 0:
            raise StopIteration
        self.n -= 1
        return self.n + 1


class Guard:
    def __init__(self, *kinds):
        self.kinds = kinds
        self.caught = self.depth = 0

    def __enter__(self):
        self.depth += 1
        return self

    def __exit__(self, kind, error, traceback):
        self.depth -= 1
        if kind is not None and issubclass(kind, self.kinds):
            self.caught += 1
            return True
        return False


@program((5, 3), (2, 9), (0, 0), (7, 1))
def guarded_countdown(n, limit):
    guard = Guard(ValueError, KeyError)
    total = 0
    for v in Countdown(n):
        with guard:
            if v == limit:
                raise ValueError("hit")
            if v % 4 == 0:
                raise KeyError(v)
            total += v
        total += 100 * guard.caught
    return total, guard.caught, guard.depth


class Polynomial:
    def __init__(self, *coefficients):
        self.coefficients = list(coefficients)

    def __add__(self, other):
        pairs = itertools.zip_longest(self.coefficients, other.coefficients, fillvalue=0)
        return Polynomial(*[a + b for a, b in pairs])

    def __mul__(self, other):
        if not isinstance(other, Polynomial):
            return Polynomial(*[c * other for c in self.coefficients])
        out = [0] * (len(self.coefficients) + len(other.coefficients) - 1)
        for i, a in enumerate(self.coefficients):
            for j, b in enumerate(other.coefficients):
                out[i + j] += a * b
        return Polynomial(*out)

    def __neg__(self):
        return self * -1

    def __sub__(self, other):
        return self + -other

    def __call__(self, x):
        return functools.reduce(lambda total, c: total * x + c, reversed(self.coefficients), 0)

    def __eq__(self, other):
        return self.coefficients == other.coefficients

    def __bool__(self):
        return any(c != 0 for c in self.coefficients)

    def degree(self):
        found = -1
        for i, c in enumerate(self.coefficients):
            if c != 0:
                found = i
        return found

    def derivative(self):
        return Polynomial(*[i * c for i, c in enumerate(self.coefficients)][1:])


@program((1.0, 2.0, 3.0), (0.5, 0.25, 1.0), (2.0, 1.0, 40.0), grad=True)
def polynomials(a, b, x):
    p, q = Polynomial(a, b, 1.0), Polynomial(b, a)
    r = p * q - q
    if r == p:
        return x, 0, 0.0
    s = sum([p, q], Polynomial(0.0))
    while abs(s(x)) > 10.0:
        x = x / 2
    return s(x), r.degree(), r.derivative()(x) if q else -1.0


def windows(xs, k):
    last = deque(maxlen=k)
    for x in xs:
        last.append(x)
        if len(last) == k:
            yield tuple(last)


def running_mean():
    total, count = 0.0, 0

    def add(v):
        nonlocal total, count
        total += v
        count += 1
        return total / count

    return add


@program(
    (np.array([1.0, 5.5, 2.0, 8.0, 3.0]), 3.9),
    (np.array([0.5, 0.25, 0.75, 0.0, 1.5]), 1.0),
    (np.array([9.0, 1.0, 9.5, 1.5, 9.25]), 5.0),
    grad=True,
)
def peaks_of_windows(xs, limit):
    mean = running_mean()
    out = 0.0
    for window in windows(xs, 3):
        if mean(sum(window)) / 3 > limit:
            out += max(window)
        else:
            out -= min(window)
    return out
