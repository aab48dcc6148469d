"""Habits of other languages and of beginners: flags that are counted, numbers that are tried, targets that are swapped."""

from __future__ import annotations

import math

from tests.programs import program


class Switch:
    def __init__(self, level):
        self.level = level
        self.was_on = False

    def is_on(self, x):
        return x > self.level

    def edges(self, x):
        """+1, 0 or -1, as C's `now - before`."""
        change = self.is_on(x) - self.was_on
        self.was_on = self.is_on(x)
        return change


@program(([0.0, 2.0, 3.0, 0.5, 4.0, 0.1],), ([1.0, 1.0, 1.0, 1.0, 1.0, 1.0],))
def edges_of_a_signal(samples):
    low, high = Switch(0.75), Switch(2.5)
    rising, both, total = 0, 0, 0
    for x in samples:
        change = low.edges(x)
        rising += change > 0
        both += low.is_on(x) * high.is_on(x)
        total += low.is_on(x) + high.is_on(x)
        high.edges(x)
    return rising, both, total, low.was_on + high.was_on


@program(([1, 2, 3], [2, 2, 3]), ([1, 2, 3], [3, 1, 2]), ([5, 5, 5], [5, 5, 5]))
def edit_distance(a, b):
    table = [[i + j if 0 in (i, j) else 0 for j in range(4)] for i in range(4)]
    for i in range(1, 4):
        for j in range(1, 4):
            swap = table[i - 1][j - 1] + (a[i - 1] != b[j - 1])
            table[i][j] = min(table[i - 1][j] + 1, table[i][j - 1] + 1, swap)
    return table[3][3]


@program((-2.5,), (0.0,), (2.0,), (900.0,))
def careful_formula(x):
    """Asks for forgiveness, not for permission."""
    problems = []
    try:
        root = math.sqrt(x)
    except ValueError:
        root = 0.0
        problems.append(1)
    try:
        growth = math.exp(x)
    except OverflowError:
        growth = -1.0
        problems.append(2)
    try:
        share = inverse(x) + math.log(abs(x))
    except (ZeroDivisionError, ValueError):
        share = 0.0
        problems.append(3)
    return root, growth, share, len(problems)


def inverse(x):
    return 1.0 / x


@program((3.0,), (-0.5,), (-7.25,))
def raised_until_it_works(x):
    tries = 0
    while True:
        try:
            y = math.log(x)
            break
        except ValueError:
            x += 1.5
            tries += 1
    return y, tries


@program(([3, 1, 4, 0, 2], 0), ([0, 1, 2, 3, 4], 2))
def follow_and_mark(order, start):
    """Marks the cells of a cycle by swapping the index with what it finds."""
    order, place, steps = list(order), start, 0
    while order[place] >= 0 and steps < 9:
        order[place], place = -1, order[place]
        steps += 1
    return order, place, steps


@program((17, 5), (-17, 5), (17, -5), (0, 3))
def signs_of_a_quotient(a, b):
    quotient, rest = divmod(a, b)
    is_negative, is_exact = (a < 0) != (b < 0), rest == 0
    truncated = quotient + (is_negative and not is_exact)
    sign = (a > 0) - (a < 0)
    return quotient, rest, truncated, a - truncated * b, sign * abs(a) == a, is_negative + is_exact
