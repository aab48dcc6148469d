"""Programs as beginners write them: flags and counters, clumsy loops, strings for states, truth values as numbers."""

from __future__ import annotations

import math
import statistics

import numpy as np

from tests.programs import program


class InsufficientFunds(Exception):
    pass


class Account:
    def __init__(self, owner, balance=0.0):
        self.owner = owner
        self._balance = balance
        self.log = []

    @property
    def balance(self):
        return self._balance

    def deposit(self, amount):
        if amount <= 0:
            raise ValueError("bad amount")
        self._balance += amount
        self.log.append(amount)

    def withdraw(self, amount):
        if amount > self._balance:
            raise InsufficientFunds(f"{self.owner} has too little")
        self._balance -= amount
        self.log.append(-amount)


class Savings(Account):
    rate = 0.1

    def withdraw(self, amount):
        super().withdraw(amount * 1.01)

    def month(self):
        self.deposit(self.balance * self.rate)


@program((10.0,), (60.0,), (-5.0,))
def two_accounts(x):
    current, savings = Account("ann", 100.0), Savings("bob", 50.0)
    errors = 0
    for amount in (x, 2 * x, -x, 30.0):
        try:
            current.withdraw(amount)
            savings.deposit(amount)
            savings.month()
        except InsufficientFunds:
            errors += 1
        except ValueError:
            errors += 10
    return current.balance, savings.balance, errors, len(current.log), sum(savings.log)


@program(
    (np.array([1.0, 12.0, 13.0, -4.0]),), (np.array([25.0, 2.0, -1.0, -2.0]),), (np.array([-1.0, -2.0, -3.0, -4.0]),)
)
def a_week_of_weather(days):
    hottest = None
    hottest_day = -1
    frosts = 0
    streak = 0
    longest = 0
    found = False
    i = 0
    while i < len(days):
        today = days[i]
        if hottest == None or today > hottest:  # noqa: E711 (as they write it)
            hottest = today
            hottest_day = i
        if today < 0:
            frosts = frosts + 1
        if today > 20 and found == False:  # noqa: E712 (as they write it)
            found = True
        if today > 10:
            streak = streak + 1
        else:
            streak = 0
        if streak > longest:
            longest = streak
        i = i + 1
    kind = 2 if found else 1 if frosts > 1 else 0
    return hottest, hottest_day, frosts, longest, kind


@program((1221,), (120,), (7,), (100,))
def runs_of_digits(n):
    previous = None
    runs, total, length = 0, 0, 0
    while n > 0:
        digit = n % 10
        if digit != previous:
            runs += 1
        previous = digit
        total += digit
        length += 1
        n //= 10
    return runs, total, length


@program((np.array([1.0, -1.0, 0.0, 2.0]),), (np.array([1.0, 1.0, 1.0, 1.0]),), (np.array([-1.0, -1.0, -2.0, 3.0]),))
def counts_by_sign(values):
    counts = {}
    sides = [0, 0]
    for value in values:
        if value < 0:
            kind = "negative"
        elif value > 0:
            kind = "positive"
        else:
            kind = "zero"
        counts[kind] = counts.get(kind, 0) + 1
        sides[bool(value > 0)] += 1
    return counts.get("negative", 0), counts.get("zero", 0), len(counts), sides


@program((1.0,), (3.0,), (-2.0,))
def squares_kept_once(x):
    memo = {}

    def square(name, value):
        if name not in memo:
            memo[name] = value * value
        return memo[name]

    if x > 0:
        square("a", x)
    total = square("a", x + 1) + square("b", x)
    return total, len(memo)


@program((np.array([3.0, 1.0, 4.0, 1.0]),), (np.array([2.0, 2.0, 5.0, 9.0]),))
def marks_of_a_class(marks):
    mean = statistics.mean(marks)
    spread = statistics.pstdev(marks)
    above = [mark for mark in marks if mark > mean]
    middle = statistics.median(marks)
    best = max(range(len(marks)), key=lambda i: marks[i])
    passed = sum(mark >= 2 for mark in marks)
    return mean, spread, middle, len(above), sum(above), best, passed


@program((5, 2), (6, 3), (4, 5), (7, 0))
def ways_to_choose(n, k):
    if k > n:
        return 0, 0, 0
    row = 0
    for i in range(n + 1):
        row += math.comb(n, i)
    return math.comb(n, k), math.factorial(n) // math.factorial(k), row


@program(
    (np.array([3, 1, 2, 2]), 1),
    (np.array([1, 4, 0, 9]), 2),
    (np.array([1, 4, 0, 9]), 0),
)
def every_other(values, step):
    total, taken = 0, 0
    try:
        for i in range(0, len(values), step):
            total += values[i]
            taken += 1
    except ValueError:
        total = -1
    return total, taken


@program((1.5,), (-0.5,), (4.0,))
def nearest_shape(x):
    shapes = [("square", x * x), ("circle", math.pi * x), ("line", 2.0)]
    chosen = shapes[0]
    for shape in shapes[1:]:
        if shape[1] > chosen[1]:
            chosen = shape
    index = ["square", "circle", "line"].index(chosen[0])
    is_line = chosen[0] == "line"
    return index, chosen[1], not is_line, len(chosen[0])


@program((np.array([10, 5, -1, 30]),), (np.array([200, 60, 1, 1]),))
def a_ledger(amounts):
    accounts = {"a": 100, "b": 50}
    log = []
    for i, amount in enumerate(amounts):
        source, target = ("a", "b") if i % 2 == 0 else ("b", "a")
        if amount <= 0:
            log.append({"ok": False, "amount": 0})
            continue
        if accounts[source] < amount:
            log.append({"ok": False, "amount": amount})
            continue
        accounts[source] -= amount
        accounts[target] += amount
        log.append({"ok": True, "amount": amount})
    done = [entry for entry in log if entry["ok"]]
    return accounts, len(done), sum(entry["amount"] for entry in done), log[-1]["ok"]
