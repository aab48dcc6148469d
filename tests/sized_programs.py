"""Programs whose lists have as many items as a traced number says, or as another list and some more."""

from __future__ import annotations

import jax.numpy as jnp


def sieve(n):
    flags = [True] * (n + 1)
    flags[0] = flags[1] = False
    i = 2
    while i * i <= n:
        if flags[i]:
            for j in range(i * i, n + 1, i):
                flags[j] = False
        i += 1
    return [i for i in range(n + 1) if flags[i]]


def ways_to_pay(n):
    ways = [0] * (n + 1)
    ways[0] = 1
    for coin in [1, 2, 5]:
        for amount in range(coin, n + 1):
            ways[amount] += ways[amount - coin]
    return ways[n], ways


def distances(n):
    found = n * [-1]
    found[0] = 0
    queue = [0]
    while queue:
        u = queue.pop(0)
        for v in (u + 1, u + 2):
            if v < n and found[v] < 0:
                found[v] = found[u] + 1
                queue.append(v)
    return found


def grid(n):
    rows = [[0] * (n + 1) for _ in range(n + 1)]
    for i in range(1, n + 1):
        for j in range(1, n + 1):
            rows[i][j] = rows[i - 1][j] + rows[i][j - 1] + 1
    return rows


def rows_of_other_lengths(n):
    rows = []
    for i in range(n):
        rows.append([i] * i)
    return rows


def made_in_each_iteration(n):
    k = 0
    row = []
    while k < 3:
        row = [k] * n
        row[k % n] = 9
        k += 1
    return row


def two_names_for_one(n):
    a = [0] * n
    b = a
    b[0] = 5
    if n > 3:
        a.append(1)
    a *= 2
    return a, b, len(b)


def none_at_all(n):
    xs = [7] * (n - 4)
    return xs, len(xs), not xs


def other_elements(n):
    pairs = [(0, 1.0)] * n
    pairs[0] = (2, 3.0)
    slots = [None] * n
    slots[0] = 3
    return pairs, slots, ["a", "b"] * n


def numbers_in_a_list(n):
    return list(range(n)), list(range(1, n, 2)), list(range(n, 0, -1)), list(range(n, n))


def swapped(n):
    places = list(range(n))
    for i in range(n - 1):
        places[i], places[i + 1] = places[i + 1], places[i]
    return places


def union_find(n):
    parent = list(range(n))

    def find(a):
        while parent[a] != a:
            a = parent[a]
        return a

    parent[find(0)] = find(n - 1)
    parent[find(1)] = find(0)
    return parent, find(1)


def iterated_in_every_way(n):
    xs = list(range(n))
    doubled, products = list(map(lambda a: a * 2, xs)), list(map(lambda a, b: a * b, xs, xs))
    return doubled, products, list(enumerate(xs)), list(zip(xs, xs, strict=True)), list(reversed(xs)), sum(xs * 2)


def chunks(n):
    xs = list(range(n))
    found = []
    for i in range(0, n, 2):
        found.append(xs[i : i + 2])
    return found


def with_stars(n):
    xs = list(range(n))
    ys = [*xs, 5]
    *most, last = ys
    first, *rest = [*ys, *xs]
    second, third, *more = xs
    return most, last, first, rest, second, third, more, [1, *xs, *[2, 3], *(4, n)]


def prepended(n):
    digits = []
    while n > 0:
        digits = [n % 10, *digits]
        n //= 10
    return digits


def extended_in_a_loop(n):
    out = []
    for i in range(n):
        out = [*out, *[i] * 2]
    return out


def best_so_far(n):
    best = []
    for i in range(n):
        candidate = [*best, i * 5 % 7]
        if i != 2:
            best = candidate
    return best


def window(n):
    last = [0] * 3
    for i in range(n):
        last = [*last[1:], last[0] + i]
    return last


def stars_from_left_to_right(n):
    xs = [1]
    ys = [*xs, xs.pop()]
    zs = [*ys]
    zs.append(n)
    return xs, ys, zs


def rest_that_grows(n):
    x, *rest = [n, n + 1, n + 2]
    if n > 3:
        rest.append(4)
    return x, rest


def rest_of_what_is_no_list(n):
    a, *b = (v for v in range(3))
    c, *d = "abc"
    *e, f = jnp.arange(3) + n
    return a, b, c, d, e, f


def too_few(n):
    a, b, *c = list(range(n - 4))
    return a, b, c


def unpacked_into_as_many(n):
    pairs = [(i, i * 0.5) for i in range(n)]
    (a, b), (c, d), last = pairs
    u, v, w = (p[1] for p in pairs)
    x, y, z = map(lambda p: p[0], pairs)
    (only,) = pairs[2:]
    return a, b, c, d, last, u + v + w, x + y + z, only


def tuples_of_its_items(n):
    xs = list(range(n))
    t = tuple(xs)
    odd = tuple(x for x in xs if x % 2)
    rows = [tuple(xs[:i]) for i in range(3)]
    found = t[1:], t + (9,), (8,) + odd, t * 2, tuple(reversed(odd)), rows, sorted(t, reverse=True), str(odd)
    kinds = isinstance(t, tuple), isinstance(t, list), type(t) is tuple, hasattr(t, "append"), hasattr(t, "count")
    same = t == (0, 1, 2), t == xs, (0, 1, 2) == t, t != tuple(xs), t < (0, 1, 3), 3 in t, t.index(2), len(odd)
    total = 0
    for x in t:
        total += x
    shorter = t if n > 4 else odd
    return found, kinds, same, total, shorter, max(odd), bool(odd)


def columns(n):
    rows = [(i, i * 0.5, "even" if i % 2 == 0 else "odd") for i in range(n)]
    numbers, halves, kinds = zip(*rows)
    return numbers, sum(halves), kinds, len(numbers)


def columns_of_one_kind(n):
    rows = [[i, i + 1, i * i] for i in range(n - 3)]
    total = 0
    for column in zip(*rows):
        total += max(column)
    sums = [sum(column) for column in zip(*rows)]
    return list(map(list, zip(*rows))), list(zip(*rows)), len(list(zip(*rows))), sums, total


def columns_of_arrays(n):
    points = [jnp.array([i, i * 0.5]) for i in range(n)]
    near = [point for point in points if point[0] < 3]
    xs, ys = zip(*points)
    center = [sum(column) / len(near) for column in zip(*near)]
    return xs, max(ys), center


def mapped(n):
    xs = list(range(n))
    return list(map(max, xs, xs[::-1])), list(map(sum, zip(xs, xs[1:]))), sum(map(abs, range(-n, 0)))


def numbered(n):
    pairs = list(enumerate(range(n), start=5))
    return pairs, dict(enumerate(range(n - 1))), [i * v for i, v in enumerate(range(n))], tuple(enumerate(range(n)))


def difference(a, b, *, scale=1):
    return (a - b) * scale


def average(first, *rest):
    """The mean of some numbers."""
    return (first + sum(rest)) / (1 + len(rest))


def logged(f):
    def call(*args, **kwargs):
        return f(*args, **kwargs), len(args)

    return call


class Point:
    def __init__(self, x, y, z):
        self.x, self.y, self.z = x, y, z

    def moved(self, *by):
        return [self.x + each for each in by]


def as_arguments(n):
    xs = [i * i for i in range(n)]
    two, three = xs[-2:], xs[-3:]
    point = Point(*three)
    found = difference(*two), difference(*two, scale=2), difference(*xs[-1:], b=1), (lambda a, b: a - b)(*two)
    means = average(*xs), average(1, 2, *xs), average(1, *xs, *two), logged(average)(*two), logged(difference)(*two)
    return found, means, max(*xs), min(3, *xs, key=abs), (point.y, point.z), point.moved(*two), point.moved(*xs, 1)


def joined_texts(n):
    xs = list(range(n))
    words = ["even" if x % 2 == 0 else "odd" for x in xs]
    return ", ".join(words), "-".join(str(x) for x in xs), "".join(f"<{x}>" for x in xs), [f"{x}!" for x in [n, n + 1]]


PROGRAMS = [
    sieve, ways_to_pay, distances, grid, rows_of_other_lengths, made_in_each_iteration, two_names_for_one, none_at_all,
    other_elements, numbers_in_a_list, swapped, union_find, iterated_in_every_way, chunks, with_stars, prepended,
    extended_in_a_loop, best_so_far, window, stars_from_left_to_right, rest_that_grows, rest_of_what_is_no_list, too_few,
    unpacked_into_as_many, tuples_of_its_items, columns, columns_of_one_kind, columns_of_arrays, mapped, numbered, as_arguments,
    joined_texts,
]  # fmt: skip
