"""Text, numbers, closures, memos, generators and handlers, as beginners write them."""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
import operator
from collections import Counter, defaultdict, deque

import numpy as np

from tests.programs import program


@program((15,), (7,), (9,), (10,))
def fizz_buzz(n):
    words = []
    for i in range(1, 16):
        text = ""
        if (i * n) % 3 == 0:
            text += "Fizz"
        if (i * n) % 5 == 0:
            text += "Buzz"
        words.append(text or "-")
    return words


@program((95,), (71,), (12,), (50,))
def grade(score):
    for limit, letter in [(90, "A"), (80, "B"), (70, "C"), (50, "D")]:
        if score >= limit:
            sign = "+" if score - limit >= 5 else ""
            return letter + sign
    return "F"


@program((1994,), (4,), (3999,))
def roman(number):
    values = [1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1]
    counts = []
    for value in values:
        count = 0
        while number >= value:
            number -= value
            count += 1
        counts.append(count)
    return counts, sum(counts)


@program((153,), (154,), (9474,), (0,))
def armstrong(n):
    digits = 0
    rest = n
    while rest:
        digits += 1
        rest //= 10
    total, rest = 0, n
    while rest > 0:
        rest, digit = divmod(rest, 10)
        total += digit**digits
    return total == n, digits


@program((48, 36), (17, 5), (0, 9))
def gcd_lcm(a, b):
    def gcd(a, b):
        return a if b == 0 else gcd(b, a % b)

    g = gcd(a, b)
    return g, a * b // g, gcd(g, a + b)


@program((30,), (1,), (97,), (64,), bare="a list that grows without a bound")
def factors(n):
    found, p = [], 2
    while p * p <= n:
        if n % p:
            p += 1
        else:
            n //= p
            found.append(p)
    if n > 1:
        found.append(n)
    return found, len(set([1, 2])), math.prod([2, 3])


@program((2024, 2), (1900, 2), (2000, 2), (2023, 11))
def days_in_month(year, month):
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if month == 2:
        return 29 if leap else 28
    return 30 if month in (4, 6, 9, 11) else 31


@program((5,), (0,), (12,), bare="a key that may be absent")
def memo_dict(n):
    memo = {0: 0, 1: 1}
    for k in range(2, 13):
        memo[k] = memo[k - 1] + memo[k - 2]
    return memo[n], n in memo, memo.get(n + 1, -1)


@program((10,), (25,), (1,))
def fibonacci_closure(limit):
    def make():
        a, b = 0, 1

        def step():
            nonlocal a, b
            a, b = b, a + b
            return a

        return step

    step = make()
    total = 0
    while (value := step()) < limit:
        if value % 2 == 0:
            total += value
    return total, value


@program((3.0, 4.0), (-1.0, 2.0), grad=True)
def composed(x, y):
    def compose(*functions):
        return lambda v: functools.reduce(lambda acc, f: f(acc), functions, v)

    clip = lambda v: max(0.0, min(v, 10.0))  # noqa: E731
    path = compose(lambda v: v * y, clip, lambda v: v - 1 if v > 5 else v + 1)
    return path(x), path(-x)


@program(([5, 3, 8, 1],), ([1, 2, 3, 4],), ([4, 4, 2, 2],))
def statistics_of_marks(marks):
    ordered = sorted(marks)
    middle = len(ordered) // 2
    median = (ordered[middle - 1] + ordered[middle]) / 2
    above = [m for m in marks if m > median]
    spread = max(marks) - min(marks)
    ranks = [sum(1 for other in marks if other > m) + 1 for m in marks]
    return median, len(above), spread, ranks, all(m > 0 for m in marks), any(m > 7 for m in marks)


@program((10.0, 0.0), (10.0, 4.0), (-1.0, 2.0), bare="what is raised", batch="texts")
def safe_division(a, b):
    log = []
    try:
        if b == 0:
            raise ZeroDivisionError("by zero")
        result = a / b
    except ZeroDivisionError:
        result = 0.0
        log.append("zero")
    else:
        log.append("fine")
    finally:
        log.append("done")
    if result < 0:
        raise ValueError("negative")
    return result, log


class Guard:
    def __init__(self, limit):
        self.limit = limit
        self.trips = 0

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if kind is OverflowError:
            self.trips += 1
            return True
        return False

    def check(self, value):
        if value > self.limit:
            raise OverflowError("too large")
        return value


@program(([1.0, 5.0, 2.0],), ([9.0, 9.0, 9.0],), ([1.0, 1.0, 1.0],))
def guarded(values):
    guard, total = Guard(4.0), 0.0
    for value in values:
        with guard as g:
            total += g.check(value)
            total += 0.5
    return total, guard.trips


@program((3, 7), (0, 3), (5, 5))
def generator_pipeline(start, stop):
    def numbers():
        k = start
        while k < stop:
            yield k
            k += 1

    def squares(source):
        for v in source:
            if v % 2:
                yield v * v

    return sum(squares(numbers())), max(squares(numbers()), default=-1), any(v > 20 for v in squares(numbers()))


@program(([3, 1, 2],), ([1, 1, 1],), ([9, 5, 7],))
def triples(values):
    best = None
    for a, b in itertools.combinations(values, 2):
        pair = (a + b, a * b)
        if best is None or pair > best:
            best = pair
    return best, best == (values[0] + values[1], values[0] * values[1])


@program(([2, 3, 2, 5, 3, 2],), ([1, 1, 1, 1, 1, 1],))
def histogram(rolls):
    counts = [0] * 7
    for roll in rolls:
        counts[roll] += 1
    mode = counts.index(max(counts))
    return counts, mode, [k for k, c in enumerate(counts) if c == 0]


@program(([1, -2, 3, 10, -4, 7, 2, -5],), ([-3, -1, -2, -9, -4, -7, -2, -5],))
def kadane(values):
    best = current = values[0]
    start = first = last = 0
    for i, value in enumerate(values[1:], start=1):
        if current < 0:
            current, start = value, i
        else:
            current += value
        if current > best:
            best, first, last = current, start, i
    return best, (first, last)


@program(([[1, 2], [3, 4]],), ([[2, 4], [1, 2]],), ([[0, 1], [1, 0]],))
def inverse_2x2(m):
    (a, b), (c, d) = m
    det = a * d - b * c
    if det == 0:
        return None
    return [[d / det, -b / det], [-c / det, a / det]]


@program(([[2.0, 1.0, -1.0], [-3.0, -1.0, 2.0], [-2.0, 1.0, 2.0]], [8.0, -11.0, -3.0]))
def gauss_lists(a, b):
    a, b = [row[:] for row in a], b[:]
    n = len(b)
    for i in range(n):
        best = i
        for r in range(i + 1, n):
            if abs(a[r][i]) > abs(a[best][i]):
                best = r
        a[i], a[best] = a[best], a[i]
        b[i], b[best] = b[best], b[i]
        for r in range(i + 1, n):
            f = a[r][i] / a[i][i]
            for c in range(i, n):
                a[r][c] -= f * a[i][c]
            b[r] -= f * b[i]
    x = [0.0] * n
    for i in reversed(range(n)):
        x[i] = (b[i] - sum(a[i][c] * x[c] for c in range(i + 1, n))) / a[i][i]
    return x


@program(([3, 1, 4, 1, 5],), ([1, 2, 3, 4, 5],), ([5, 4, 3, 2, 1],))
def cocktail_sort(values):
    values = list(values)
    swaps, swapped = 0, True
    low, high = 0, len(values) - 1
    while swapped and low < high:
        swapped = False
        for i in range(low, high):
            if values[i] > values[i + 1]:
                values[i], values[i + 1] = values[i + 1], values[i]
                swapped = True
                swaps += 1
        high -= 1
    return values, swaps


@program((7,), (6,), (1,), bare="a list that grows without a bound")
def collatz_list(n):
    path = [n]
    while path[-1] != 1:
        last = path[-1]
        path.append(last // 2 if last % 2 == 0 else 3 * last + 1)
    return path, len(path), path[-3:]


@program((0, 5), (2, 2), (3, 0), bare="a queue that grows without a bound")
def flood_steps(row, col):
    grid = np.array([[0, 0, 1, 0, 0, 0], [1, 0, 1, 0, 1, 0], [0, 0, 0, 0, 1, 0], [0, 1, 1, 1, 1, 0]])
    distance = -np.ones_like(grid)
    queue = deque([(0, 0)])
    distance[0, 0] = 0
    while queue:
        r, c = queue.popleft()
        if (r, c) == (row, col):
            break
        for dr, dc in ((0, 1), (1, 0), (0, -1), (-1, 0)):
            rr, cc = r + dr, c + dc
            if 0 <= rr < 4 and 0 <= cc < 6 and grid[rr, cc] == 0 and distance[rr, cc] < 0:
                distance[rr, cc] = distance[r, c] + 1
                queue.append((rr, cc))
    return distance[row, col]


@program((100.0, 3), (0.0, 2), (50.0, 0))
def invoice(price, count):
    lines = defaultdict(float)
    lines["goods"] += price * count
    if count > 2:
        lines["discount"] -= 0.1 * price * count
    if price * count > 0:
        lines["shipping"] += 5.0
    tally = Counter()
    tally["lines"] += len([k for k in ("goods", "shipping") if lines[k] != 0])
    return sum(lines.values()), tally["lines"]


@program((4, 2), (5, 0), (6, 6))
def pascal(n, k):
    row = [1] + [0] * 6
    for i in range(1, 7):
        if i > n:
            break
        for j in range(i, 0, -1):
            row[j] += row[j - 1]
    return row[k], row


@program((2.0, "+", 3.0), (2.0, "*", 3.0), (1.0, "/", 0.0))
def operators_by_symbol(a, symbol, b):
    table = {"+": operator.add, "*": operator.mul, "/": lambda p, q: p / q if q != 0 else math.inf}
    result = table[symbol](a, b)
    kind = "big" if result > 4 else "small"
    return result, f"{kind}:{symbol}"


@program((3,), (10,), (0,), bare="recursion without a bound")
def hanoi(n):
    def move(k, a, b, c):
        if k == 0:
            return 0
        return move(k - 1, a, c, b) + 1 + move(k - 1, c, b, a)

    return move(n, 1, 2, 3)


@program((2, 3), (3, 2), (0, 4), bare="recursion without a bound")
def ackermann(m, n):
    def a(m, n):
        if m == 0:
            return n + 1
        if n == 0:
            return a(m - 1, 1)
        return a(m - 1, a(m, n - 1))

    return a(m % 3, n)


@program(([1, 2, 3, 2, 1],), ([1, 2, 3, 3, 1],))
def palindrome(items):
    left, right = 0, len(items) - 1
    while left < right:
        if items[left] != items[right]:
            return False
        left, right = left + 1, right - 1
    return items == items[::-1]


@program((3.0, 1.0), (-2.0, 5.0), grad=True)
def context_and_closure(x, y):
    trail = []

    @contextlib.contextmanager
    def scaled(k):
        trail.append(k)
        yield lambda v: v * k
        trail.pop()

    with scaled(2.0) as double, scaled(3.0) as triple:
        z = double(x) if x > y else triple(x)
    return z + y, len(trail)


@program(([1, 2, 3],), ([3, 3, 1],), ([7, 2, 2],))
def swapped_pairs(values):
    a, b, *rest = values
    if a > b:
        a, b = b, a
    before, after = (a, b), (b, a)
    if before == after:
        return "equal", rest
    return ("ordered" if before < (2, 3) else "late"), rest


@program((5,), (12,), (1,))
def look_for_prime(n):
    for k in range(n, n + 20):
        for d in range(2, 6):
            if k % d == 0 and k != d:
                break
        else:
            if k > 1:
                return k
    return None


@program(([4.0, 1.0, 3.0], 2), ([4.0, 1.0, 3.0], 0), ([4.0, 1.0, 3.0], 5))
def bounded_list(values, k):
    taken = []
    for i, value in enumerate(values):
        if i >= k:
            break
        taken.append(value)
    return taken, sum(taken), len(taken) == k, (max(taken) if taken else None)
