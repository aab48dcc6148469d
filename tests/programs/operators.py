"""Classes with operators, properties and computed attributes: fractions, slots of a garage, settings with defaults."""

from __future__ import annotations

import math
from functools import total_ordering

from tests.programs import program


@total_ordering
class Fraction:
    def __init__(self, n, d=1):
        if d == 0:
            raise ZeroDivisionError("denominator")
        if d < 0:
            n, d = -n, -d
        g = math.gcd(n, d)
        self.n, self.d = n // g, d // g

    def __add__(self, other):
        other = other if isinstance(other, Fraction) else Fraction(other)
        return Fraction(self.n * other.d + other.n * self.d, self.d * other.d)

    __radd__ = __add__

    def __truediv__(self, other):
        return Fraction(self.n * other.d, self.d * other.n)

    def __eq__(self, other):
        return (self.n, self.d) == (other.n, other.d)

    def __lt__(self, other):
        return self.n * other.d < other.n * self.d

    def __str__(self):
        return str(self.n) if self.d == 1 else f"{self.n}/{self.d}"


@program(
    (1, 2, 3, 4), (2, 4, 1, 2), (1, 3, 0, 5), (1, -3, 5, 0), bare="what may raise", batch="its texts differ in form"
)
def fractions(a, b, c, d):
    x = Fraction(a, b)
    try:
        y = Fraction(c, d)
        z = x / y
    except ZeroDivisionError as error:
        return str(error), 0, "none"
    total = sum([x, y, z])
    return str(total), max(x, y, z).n, "equal" if x == y else "less" if x < y else "greater"


class Slot:
    def __init__(self, number, size):
        self.number, self.size, self.car = number, size, None

    @property
    def free(self):
        return self.car is None


class Garage:
    def __init__(self):
        self.slots = [Slot(k, 1 + k % 2) for k in range(4)]
        self.income = 0.0

    def park(self, size, hours):
        for slot in self.slots:
            if slot.free and slot.size >= size:
                slot.car = hours
                return slot.number
        return None

    def leave(self, number):
        slot = self.slots[number]
        if slot.free:
            raise LookupError("the slot is free")
        self.income += 2.5 * slot.car
        slot.car = None


@program(([1, 2], [3.0, 1.0], 0), ([2, 2], [5.0, 1.0], 2), ([2, 3], [1.0, 1.0], 1), bare="what may raise")
def garage(sizes, hours, leaving):
    lot = Garage()
    given = []
    for size, time in zip(sizes, hours, strict=True):
        number = lot.park(size, time)
        given.append(-1 if number is None else number)
    try:
        lot.leave(leaving)
    except LookupError:
        return given, -1.0
    return given, lot.income


class Settings:
    defaults = {"rate": 0.5, "limit": 5.0}

    def __init__(self, **given):
        self._given = given

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self._given[name]
        except KeyError:
            return self.defaults[name]

    @property
    def most(self):
        return self.rate * self.limit


@program((1.0,), (4.0,), (7.0,), grad=True)
def settings(x):
    found = Settings(limit=6.0)
    if x > found.limit:
        found._given["rate"] = x / 10
    return found.most * x, found.rate
