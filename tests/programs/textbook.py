"""Textbook programs with unpacked lists, tuples of lists, tables of strings, and texts that grow."""

from __future__ import annotations

from tests.programs import program


@program(([1, 3, 4, 5], [1, 4, 5, 7], 7), ([2, 2, 3, 1], [3, 3, 4, 1], 5))
def knapsack_items(weights, values, capacity):
    n = len(weights)
    best = [[0] * (10 + 1) for _ in range(n + 1)]
    for i in range(1, n + 1):
        for w in range(capacity + 1):
            best[i][w] = best[i - 1][w]
            if weights[i - 1] <= w:
                candidate = best[i - 1][w - weights[i - 1]] + values[i - 1]
                if candidate > best[i][w]:
                    best[i][w] = candidate
    chosen = []
    w = capacity
    for i in range(n, 0, -1):
        if best[i][w] != best[i - 1][w]:
            chosen.append(i - 1)
            w -= weights[i - 1]
    chosen.reverse()
    return best[n][capacity], tuple(chosen)


@program((1994,), (4,), (3999,), bare="a text that grows without a bound")
def to_roman(n):
    numerals = [
        (1000, "M"),
        (900, "CM"),
        (500, "D"),
        (400, "CD"),
        (100, "C"),
        (90, "XC"),
        (50, "L"),
        (40, "XL"),
        (10, "X"),
        (9, "IX"),
        (5, "V"),
        (4, "IV"),
        (1, "I"),
    ]
    result = ""
    for value, symbol in numerals:
        while n >= value:
            result += symbol
            n -= value
    return result


@program((3.0, 0.1), (-2.0, 0.4), (0.5, 0.01), bare="what is raised")
def gradient_descent_history(x, rate):
    history = []
    for step in range(50):
        g = 2 * (x - 1)
        history.append((step, x, g))
        if abs(g) < 0.05:
            break
        x -= rate * g
    else:
        history.append((-1, x, 0.0))
    steps, xs, gs = zip(*history)
    return x, len(steps), max(xs), gs[-1]


@program(([1, 0, 1, 1, 0],), ([0, 0, 0, 0, 1],), bare="what is raised", batch="texts")
def turnstile(coins):
    transitions = {
        ("locked", "coin"): "open",
        ("locked", "push"): "locked",
        ("open", "coin"): "open",
        ("open", "push"): "locked",
    }
    state = "locked"
    trail = [state]
    for c in coins:
        event = "coin" if c else "push"
        state = transitions[state, event]
        trail.append(state)
    return state, trail.count("open"), " > ".join(trail)


class LRU2:
    def __init__(self, capacity):
        self.capacity = capacity
        self.data = {}
        self.order = []

    def get(self, key):
        if key not in self.data:
            return -1
        self.order.remove(key)
        self.order.append(key)
        return self.data[key]

    def put(self, key, value):
        if key not in self.data and len(self.data) >= self.capacity:
            old = self.order.pop(0)
            del self.data[old]
        if key in self.data:
            self.order.remove(key)
        self.data[key] = value
        self.order.append(key)


@program(([1, 2, 3, 1, 4, 2],), ([1, 1, 2, 2, 1, 1],), bare="what is raised")
def lru_by_list(keys):
    cache = LRU2(2)
    hits = 0
    for k in keys:
        if cache.get(k) != -1:
            hits += 1
        else:
            cache.put(k, k * 10)
    return hits, cache.order, cache.data


@program(([2, 4],), ([1, 3],), bare="what is raised")
def pair_from_list(xs):
    evens = [x for x in xs if x % 2 == 0]
    if len(evens) == 2:
        a, b = evens
        return a + b
    return 0


@program((255,), (0,), (4096,), (48879,), bare="the text has no bound", batch="texts of several lengths")
def to_hexadecimal(n):
    digits = "0123456789ABCDEF"
    text = ""
    if n == 0:
        return "0"
    while n > 0:
        text = digits[n % 16] + text
        n = n // 16
    return text


@program((30,), (7,), (1,), bare="each prime may lengthen the list of primes that is gone through")
def primes_and_gaps(n):
    primes = []
    for k in range(2, 50):
        if k > n:
            break
        for p in primes:
            if p * p > k:
                primes.append(k)
                break
            if k % p == 0:
                break
        else:
            primes.append(k)
    gap = 0
    for a, b in zip(primes, primes[1:]):
        if (d := b - a) > gap:
            gap = d
    if len(primes) > 2:
        del primes[0]
    return len(primes), gap, primes[-1] if primes else 0
