"""Generators as people write them, with conditions and loops around their `yield`s that depend on the data."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any


def primes():
    n = 2
    while True:
        k, is_prime = 2, True
        while k * k <= n:
            if n % k == 0:
                is_prime = False
                break
            k += 1
        if is_prime:
            yield n
        n += 1


def collatz(n):
    while n != 1:
        yield n
        n = n // 2 if n % 2 == 0 else 3 * n + 1
    yield n


def naturals(n):
    k = 0
    while k < n:
        yield k
        k += 1
    return k * 10


def positive(xs):
    for x in xs:
        if x > 0:
            yield x


def sum_of_primes_up_to(n):
    total = 0
    for p in primes():
        if p > n:
            break
        total += p
    return total


def longest_collatz(n):
    best, longest = 0, 0
    for start in range(1, n + 1):
        length = 0
        for _ in collatz(start):
            length += 1
        if length > longest:
            best, longest = start, length
    return best, longest


def reductions_of_collatz(n):
    return (
        sum(collatz(n)),
        max(collatz(n)),
        min(collatz(n)),
        any(v == 16 for v in collatz(n)),
        all(v < 50 for v in collatz(n)),
        next(v for v in collatz(n) if v % 2 == 0),
        sum(1 for _ in collatz(n)),
        sum((v for v in collatz(n)), 100),
        max((v for v in naturals(n - 6)), default=-1),
    )


def first_positive(xs):
    for i, x in enumerate(positive(xs)):
        if x > 1:
            return i, x
    return -1, 0.0


def mean_of_the_positive(xs):
    total, count = 0.0, 0
    for x in positive(xs):
        total += x
        count += 1
    else:
        count += 0
    return total / max(count, 1)


def found_or_not(xs):
    for x in positive(xs):
        if x > 3:
            found = x
            break
    else:
        found = -1.0
    return found


def skips_and_stops(xs):
    total, x = 0.0, 0.0
    for x in positive(xs):
        if x == 2:
            continue
        if x > 4:
            break
        total = total * 2 + x
    return total, x


def weighted(xs, n):
    total = 0.0
    for k, x in zip(naturals(n), xs):
        total += k * x
    for x, k in zip(xs, naturals(n)):
        total += x * x * k
    return total


def pipeline(n):
    squares = (v * v for v in naturals(n))
    odd = filter(lambda v: v % 2, map(lambda v: v + 1 if v > 3 else v, naturals(n)))
    return sum(squares), sum(odd), sum(itertools.islice(naturals(n), 1, 5, 2)), sum(itertools.islice(primes(), 5))


def taken_while(n):
    total = 0
    for p in itertools.takewhile(lambda p: p < n, primes()):
        total += p
    for v in itertools.chain(naturals(n), [n, 5], naturals(2)):
        total = total * 3 % 1001 + v
    return total


def delegating(n):
    def twice():
        first = yield from naturals(n)
        yield first
        total = first
        total += yield from naturals(2)
        if total > 50:
            return total
        return -total

    def outer():
        result = yield from twice()
        yield result

    checksum = 0
    for v in outer():
        checksum = (checksum * 7 + v) % 1009
    stopped = 0
    for v in outer():
        if v >= 20:
            break
        stopped += 1
    return checksum, stopped


@dataclass
class Node:
    value: Any
    left: Any = None
    right: Any = None

    def walk(self, low):
        """In order, what is above ``low``."""
        if self.left is not None:
            yield from self.left.walk(low)
        if self.value > low:
            yield self.value
        if self.right is not None:
            yield from self.right.walk(low)


def tree_walk(x):
    tree = Node(x, Node(x - 2, right=Node(x - 1)), Node(x * 2))
    first = None
    for v in tree.walk(1.0):
        if first is None:
            first = v
    path = 0.0
    for v in tree.walk(0.5):
        path = path * 2 + v
    return path, -1.0 if first is None else first


class Sampler:
    def __init__(self, seed):
        self.state = seed
        self.drawn = 0

    def numbers(self):
        while True:
            self.state = (self.state * 75 + 74) % 65537
            if self.state % 3 == 0:
                continue
            self.drawn += 1
            yield self.state % 100


def rejection(seed):
    sampler = Sampler(seed)
    accepted = 0
    for v in sampler.numbers():
        if v < 50:
            accepted += 1
        if accepted == 5:
            break
    return sampler.drawn, sampler.state


def with_cleanup(n):
    log = []

    def steps():
        k = 0
        try:
            while k < n:
                yield k
                k += 1
            log.append(1)
        finally:
            log.append(2)

    total = 0
    for k in steps():
        if k == 3:
            break
        total += k
    return total, len(log)


def newton(f, x):
    while abs(f(x)) > 1e-5:
        yield x
        x = x - f(x) / ((f(x + 1e-3) - f(x - 1e-3)) / 2e-3)
    yield x


def root(x):
    steps = 0
    for guess in newton(lambda v: v * v - 2.0, x):
        steps += 1
        last = guess
    return last > 1.41, steps


def tokens(codes):
    number, is_open = 0, False
    for c in codes:
        if 48 <= c <= 57:
            number, is_open = number * 10 + (c - 48), True
        elif is_open:
            yield number
            number, is_open = 0, False
    if is_open:
        yield number


def sum_of_tokens(codes):
    total, count = 0, 0
    for number in tokens(codes):
        total += number
        count += 1
    return total, count


def decay(x):
    """A generator that yields on both of two branches, and returns out of the middle of a loop."""
    for k in range(20):
        if x < 1:
            return
        elif k % 2 == 0:
            yield x
        else:
            yield -x
        x = x * 0.7


def alternating(x):
    total = 0.0
    for v in decay(x):
        total += v
    return total


def in_loops(n):
    """Generators that are made in a staged loop, from its state, and consumed in its branches."""
    total, k = 0, 0
    while k < n:
        if k % 2 == 0:
            for v in naturals(k):
                total += v
                if total % 7 == 3:
                    break
        else:
            total += max(naturals(k), default=0)
        k += 1
    return total


def gen_of_gens(n):
    def rows():
        k = 0
        while k < n:
            yield naturals(k)
            k += 1

    total = 0
    for row in rows():
        for v in row:
            if v == 3:
                continue
            total += v
    return total


def windows(xs):
    previous = None
    for x in xs:
        if previous is not None and x > previous:
            yield x - previous
        previous = x


def largest_rise(xs):
    best = 0.0
    for rise in windows(xs):
        best = max(best, rise)
    return best


def running_out(n):
    """The second loop over one generator finds nothing."""
    numbers = naturals(n)
    total = 0
    for v in numbers:
        total += v + 1
    for v in numbers:
        total += 1000
    return total + sum(numbers)


def matched(n):
    def classified():
        k = 0
        while k < n:
            match k % 3:
                case 0:
                    yield 1
                case 1:
                    yield 20
            k += 1

    return sum(classified())


def unpacked_pairs(n):
    def pairs():
        a, b = 0, 1
        while b < n:
            yield a, b
            a, b = b, a + b

    total = 0
    for a, b in pairs():
        total += a * b
    return total


def simpson(x):
    """Panels of an integral, as long as they are not small."""

    def panels(width):
        left = 0.0
        while left < 1.0:
            yield left, left + width
            left += width
            if width > 0.05:
                width = width / 2

    total = 0.0
    for a, b in panels(x):
        total += (b - a) * (math.pi * a + b)
    return total


class Grid:
    """Iterated over by a method that is a generator."""

    def __init__(self, width):
        self.width = width
        self.visits = 0

    def __iter__(self):
        k = 0
        while k < self.width:
            self.visits += 1
            yield k
            k += 1


def grid(n):
    cells = Grid(n)
    total = 0
    for k in cells:
        total += k
    for k in cells:
        if k == 2:
            break
    return total, cells.visits, sum(cells), max(cells, default=-1), sum(i * k for i, k in enumerate(cells))


def layered(n):
    def even(values):
        for v in values:
            if v % 2 == 0:
                yield v

    def squares(values):
        for v in values:
            yield v * v

    return sum(squares(even(naturals(n)))), max(even(squares(naturals(n))), default=-5), next(even(naturals(n)), -1)


def modes(n):
    """A generator with a state that is a string."""

    def machine():
        mode, v, k = "up", 0, 0
        while k < n:
            if mode == "up":
                v += 2
                if v > 5:
                    mode = "down"
            else:
                v -= 1
                if v < 1:
                    mode = "up"
            yield mode, v
            k += 1

    total = 0
    for mode, v in machine():
        total += v if mode == "up" else -v
    return total


def parameters_of_all_kinds(n):
    def up(start=0, *rest, step=1, **more):
        k = start
        while k < n:
            for r in rest:
                yield k + r * more.get("by", 1)
            yield k
            k += step

    return sum(up(1, 10, 20, step=2, by=3)), max(up(0, 1)), sum(up())


def triangle(n):
    for a in naturals(n):
        for b in naturals(n):
            for c in naturals(n):
                if a * a + b * b == c * c and 0 < a < b:
                    return a, b, c
    return 0, 0, 0


XS = (1.0, -2.0, 3.0, 2.0, 5.0, -1.0)
PROGRAMS: list[tuple[Any, list[tuple[Any, ...]]]] = [
    (sum_of_primes_up_to, [(1,), (20,)]),
    (longest_collatz, [(1,), (12,)]),
    (reductions_of_collatz, [(7,), (10,)]),
    (first_positive, [(XS,), ((-1.0, 0.5),)]),
    (mean_of_the_positive, [(XS,), ((-1.0, -0.5),)]),
    (found_or_not, [(XS,), ((-1.0, 0.5),)]),
    (skips_and_stops, [(XS,), ((4.0, 2.0),)]),
    (weighted, [(XS, 3), (XS, 9), (XS, 0)]),
    (pipeline, [(0,), (7,)]),
    (taken_while, [(2,), (12,)]),
    (delegating, [(0,), (3,), (6,)]),
    (tree_walk, [(2.0,), (-1.0,), (0.3,)]),
    (rejection, [(7,), (1234,)]),
    (with_cleanup, [(2,), (6,)]),
    (root, [(1.0,), (5.0,)]),
    (sum_of_tokens, [(tuple(map(ord, "12+345*6")),), (tuple(map(ord, "+()a")),)]),
    (alternating, [(0.5,), (3.0,), (9000.0,)]),
    (in_loops, [(0,), (7,), (10,)]),
    (gen_of_gens, [(0,), (6,)]),
    (largest_rise, [(XS,), ((3.0, 2.0),)]),
    (running_out, [(0,), (4,)]),
    (matched, [(0,), (7,)]),
    (unpacked_pairs, [(1,), (50,)]),
    (simpson, [(1.0,), (0.25,)]),
    (grid, [(0,), (5,)]),
    (layered, [(0,), (7,)]),
    (modes, [(0,), (20,)]),
    (parameters_of_all_kinds, [(2,), (6,)]),
    (triangle, [(4,), (6,)]),
]
