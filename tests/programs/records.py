"""Classes with properties, dataclasses, inheritance, and objects that hold objects."""

from __future__ import annotations

import enum
import functools
from collections import namedtuple
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from tests.programs import program


class Temperature:
    def __init__(self, celsius):
        self._celsius = celsius

    @property
    def celsius(self):
        return self._celsius

    @celsius.setter
    def celsius(self, value):
        if value < -273.15:
            value = -273.15
        self._celsius = value

    @property
    def fahrenheit(self):
        return self._celsius * 9 / 5 + 32

    @fahrenheit.setter
    def fahrenheit(self, value):
        self.celsius = (value - 32) * 5 / 9

    @staticmethod
    def is_freezing(value):
        return value <= 0

    @classmethod
    def from_kelvin(cls, kelvin):
        return cls(kelvin - 273.15)


@program((300.0, 10.0), (250.0, -700.0), grad=True)
def thermometer(kelvin, change):
    sensor = Temperature.from_kelvin(kelvin)
    if Temperature.is_freezing(sensor.celsius):
        sensor.fahrenheit = sensor.fahrenheit + change
    else:
        sensor.celsius += change
    highest = sensor.celsius
    for _ in range(5):
        sensor.celsius = sensor.celsius * 0.9
        if sensor.celsius > highest:
            highest = sensor.celsius
    return sensor.celsius, sensor.fahrenheit, highest


class InsufficientFunds(Exception):
    pass


class Account:
    fee = 1.0

    def __init__(self, owner, balance=0.0):
        self.owner = owner
        self.balance = balance
        self.history = []

    def deposit(self, amount):
        if amount <= 0:
            raise ValueError("deposit must be positive")
        self.balance += amount
        self.history.append(amount)

    def withdraw(self, amount):
        if amount + self.fee > self.balance:
            raise InsufficientFunds(self.owner)
        self.balance -= amount + self.fee
        self.history.append(-amount)


class SavingsAccount(Account):
    fee = 0.0

    def __init__(self, owner, balance, rate):
        super().__init__(owner, balance)
        self.rate = rate

    def withdraw(self, amount):
        if amount > self.balance / 2:
            amount = self.balance / 2
        super().withdraw(amount)

    def add_interest(self):
        self.deposit(self.balance * self.rate)


@program((50.0, 20.0), (50.0, 80.0), (50.0, -3.0), bare="what an account refuses")
def bank(amount, second):
    ann = Account("ann", 100.0)
    bob = SavingsAccount("bob", 30.0, 0.02)
    refused = 0
    for money in (amount, second):
        try:
            ann.withdraw(money)
            bob.deposit(money)
        except InsufficientFunds:
            refused += 1
            bob.withdraw(10.0)
    bob.add_interest()
    return ann.balance, bob.balance, refused, len(ann.history), bob.history[-1]


@dataclass(frozen=True)
class Money:
    amount: float
    currency: str = "EUR"

    def __add__(self, other):
        if self.currency != other.currency:
            raise TypeError("currencies differ")
        return Money(self.amount + other.amount, self.currency)

    def __mul__(self, factor):
        return replace(self, amount=self.amount * factor)

    __rmul__ = __mul__

    def __lt__(self, other):
        return self.amount < other.amount


@program((2.5, 5.0), (8.0, 1.0), grad=True)
def money(a, b):
    first, second = Money(a), Money(b)
    total = Money(0.0)
    for each in [first, second, 2 * first]:
        if each < Money(6.0):
            total = total + each
        else:
            total = total + each * 0.5
    cheaper = first if first < second else second
    return total.amount, cheaper.amount


@dataclass(order=True)
class Job:
    priority: float
    name: str = field(compare=False)
    done: bool = field(default=False, compare=False)


@program((3.0, 1.0, 2.0), (1.0, 1.0, 0.5), bare="an attribute of what may be None")
def job_priorities(a, b, c):
    jobs = [Job(a, "a"), Job(b, "b"), Job(c, "c")]
    order = []
    for _ in range(len(jobs)):
        best = None
        for job in jobs:
            if not job.done and (best is None or job < best):
                best = job
        best.done = True
        order.append(best.name)
    return order, jobs[0].done


class Vector(NamedTuple):
    x: float
    y: float

    def __add__(self, other):
        return Vector(self.x + other.x, self.y + other.y)

    def scaled(self, k):
        return self._replace(x=self.x * k, y=self.y * k)

    @property
    def norm(self):
        return (self.x**2 + self.y**2) ** 0.5


@program((3.0, 4.0), (0.33, 0.1), grad=True)
def named_tuples(x, y):
    position = Vector(x, y)
    velocity = Vector(-y, x)
    steps = 0
    while position.norm < 20.0 and steps < 30:
        position = position + velocity.scaled(0.5)
        if position.x < 0:
            velocity = Vector(-velocity.x, velocity.y)
        steps += 1
    return position, steps


Point = namedtuple("Point", "row col")


@program(([3, 3, 0, 1, 2, 3, 1, 1],), ([0, 0, 0, 0],), ([1, 1, 3, 3, 2],))
def robot_on_grid(moves):
    robot, goal, wall = Point(0, 0), Point(2, 1), Point(1, 1)
    bumps = 0
    for move in moves:
        if move == 0:
            new = Point(robot.row - 1, robot.col)
        elif move == 1:
            new = Point(robot.row + 1, robot.col)
        elif move == 2:
            new = Point(robot.row, robot.col - 1)
        else:
            new = Point(robot.row, robot.col + 1)
        if new == wall or new.row < 0 or new.col < 0 or new.row > 3 or new.col > 3:
            bumps += 1
            continue
        robot = new
        if robot == goal:
            return "arrived", bumps
    return "lost", bumps


class Shape:
    def area(self):
        raise NotImplementedError

    def describe(self):
        return self.area() * 10


class Square(Shape):
    def __init__(self, side):
        self.side = side

    def area(self):
        return self.side**2


class Circle(Shape):
    def __init__(self, radius):
        self.radius = radius

    def area(self):
        return 3.0 * self.radius**2


@program((2.0, 1.0), (1.0, 4.0))
def shapes(side, radius):
    shapes_ = [Square(side), Circle(radius), Square(side + radius)]
    biggest = shapes_[0]
    for shape in shapes_[1:]:
        if shape.area() > biggest.area():
            biggest = shape
    small = Square(side) if side < radius else Circle(radius)
    return biggest.describe(), small.area(), sum(shape.area() for shape in shapes_)


class Light(enum.Enum):
    RED = "red"
    GREEN = "green"
    YELLOW = "yellow"

    def next(self):
        order = {Light.RED: Light.GREEN, Light.GREEN: Light.YELLOW, Light.YELLOW: Light.RED}
        return order[self]

    @property
    def seconds(self):
        return {"red": 4, "green": 5, "yellow": 1}[self.value]


@program((3,), (9,), (27,), (0,))
def traffic_light(elapsed):
    light = Light.RED
    changes = 0
    left = elapsed
    while left >= light.seconds:
        left -= light.seconds
        light = light.next()
        changes += 1
    return light.name, left, changes


class Rectangle:
    def __init__(self, width, height):
        self._width = width
        self._height = height
        self._dirty = False

    def get_width(self):
        return self._width

    def set_width(self, width):
        if width < 0:
            raise ValueError("negative width")
        if width != self._width:
            self._dirty = True
        self._width = width

    def is_dirty(self):
        return self._dirty

    def area(self):
        return self._width * self._height

    def __lt__(self, other):
        return self.area() < other.area()

    def __eq__(self, other):
        if not isinstance(other, Rectangle):
            return False
        return self._width == other._width and self._height == other._height


class RectangleBuilder:
    def __init__(self):
        self.width = 1.0
        self.height = 1.0

    def with_width(self, width):
        self.width = width
        return self

    def with_height(self, height):
        self.height = height
        return self

    def build(self):
        return Rectangle(self.width, self.height)


@program((2.0, 3.0), (-2.0, 3.0), (1.0, 1.0))
def rectangles_in_order(a, b):
    one = RectangleBuilder().with_width(a).with_height(b).build()
    other = RectangleBuilder().with_height(a).build()
    shapes = [one, other, RectangleBuilder().build()]
    errors = 0
    for shape in shapes:
        try:
            shape.set_width(shape.get_width() - 1.5)
        except ValueError:
            errors += 1
    shapes.sort()
    biggest = max(shapes)
    return errors, biggest.area(), one.is_dirty(), one == other, [s.get_width() for s in shapes]


def by_rest(a, b):
    if a % 3 != b % 3:
        return a % 3 - b % 3
    return b - a


@program((np.array([5, 3, 8, 6, 1]),), (np.array([1, 1, 4, 4, 7]),))
def ordered_by_a_comparison(numbers):
    ordered = sorted(numbers, key=functools.cmp_to_key(by_rest))
    return ordered, ordered[0], max(numbers, key=functools.cmp_to_key(by_rest))
