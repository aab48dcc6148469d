"""Programs that find an object and keep it, by a loop that ends there, an operator or a ``try``; then that, or another, is written."""

from __future__ import annotations

from functools import reduce


class Part:
    def __init__(self, v):
        self.v = v


def three():
    return [Part(0.0), Part(1.0), Part(2.0)]


def found_in_a_tuple(x):
    a, b = Part(0.0), Part(1.0)
    best = Part(-1.0)
    for p in (a, b):
        if p.v + x[0] > x[0]:
            best = p
            break
    b.v = x[1] * 3
    return best.v


def found_in_a_list_or_none(x):
    parts = three()
    best = None
    for p in parts:
        if p.v > x[0]:
            best = p
            break
    parts[1].v = x[1] * 3
    return best.v if best is not None else -1.0


def found_in_a_dict(x):
    parts = {"a": Part(0.0), "b": Part(1.0)}
    best = parts["a"]
    for _, p in parts.items():
        if p.v > x[0]:
            best = p
            break
    parts["b"].v = x[1]
    best.v += 1
    return best.v, parts["a"].v, parts["b"].v


def found_by_next(x):
    a, b = Part(0.0), Part(1.0)
    p = next((p for p in (a, b) if p.v > x[0]), a)
    p.v += 10
    return a.v, b.v


def found_in_a_grid(x):
    grid = [[Part(0.0), Part(1.0)], [Part(2.0), Part(3.0)]]
    found = None
    for row in grid:
        for p in row:
            if p.v > x[0]:
                found = p
                break
        if found is not None:
            break
    grid[1][0].v = 50.0
    grid[0][1].v = 60.0
    return found.v if found is not None else -1.0


def found_by_index(x):
    parts = three()
    k = 0
    current = parts[0]
    while k < 3:
        current = parts[k]
        if current.v > x[0]:
            break
        k += 1
    parts[1].v = 8.0
    parts[2].v = 9.0
    return current.v


def returned_by_a_function(x):
    parts = three()

    def find(limit):
        for p in parts:
            if p.v > limit:
                return p
        return None

    found = find(x[0])
    parts[1].v = 8.0
    if found is not None:
        found.v += 1
        return found.v, parts[1].v, parts[2].v
    return -1.0, parts[1].v, parts[2].v


def exchanged_where_found(x):
    a, b = Part(0.0), Part(1.0)
    for p, q in ((a, b), (b, a)):
        if p.v > x[0]:
            p.v, q.v = q.v, p.v + 5
            break
    a.v += 1
    return p.v, a.v, b.v


def popped(x):
    a, b = Part(0.0), Part(1.0)
    stack = [a, b]
    best = a
    while stack:
        p = stack.pop()
        if p.v > x[0]:
            best = p
            break
    a.v, b.v = 4.0, 5.0
    return best.v


def one_or_the_other(x):
    a, b = Part(0.0), Part(1.0)
    selected = None
    if x[0] > 0:
        selected = a
    best = selected or b
    a.v += 5
    b.v += 7
    return best.v


def one_if_or_the_other(x):
    a, b = Part(0.0), Part(1.0)
    best = (x[0] > 0 and a) or b
    a.v += 5
    b.v += 7
    return best.v


def lists_by_or(x):
    a, b = [0.0, x[1]], [1.0]
    best = (x[0] > 0 and a) or b
    found = x[0] > 0 and a
    return len(best), best[0], found[1] if found else -1.0


def kept_by_a_try(x):
    a, b = Part(0.0), Part(1.0)
    kept = a
    try:
        if x[0] < 0:
            raise ValueError
        kept = b
    except ValueError:
        pass
    a.v, b.v = 3.0, 4.0
    return kept.v


def written_after_a_try(x):
    a, b = Part(0.0), Part(1.0)
    kept = a
    try:
        if x[0] < 0:
            raise ValueError
        kept = b
    except ValueError:
        pass
    kept.v = 3.0
    return kept.v, a.v, b.v


def returned_in_a_try(x):
    a, b = Part(0.0), Part(1.0)

    def get():
        if x[0] < 0:
            raise ValueError
        return b

    kept = a
    try:
        kept = get()
    except ValueError:
        pass
    finally:
        a.v += 1
    a.v, b.v = a.v + 3.0, 4.0
    return kept.v, a.v, b.v


def best_by_reduce(x):
    parts = three()
    best = reduce(lambda p, q: p if p.v * x[0] > q.v * x[0] else q, parts)
    for p in parts:
        p.v += 3
    return best.v


def best_by_a_key(x):
    parts = three()
    best = max(parts, key=lambda p: p.v * x[0])
    for p in parts:
        p.v += 3
    return best.v


def rest_of_an_iterator(x):
    parts = three()
    items = iter(parts)
    current = next(items)
    for p in items:
        if p.v < x[0]:
            continue
        current = p
        break
    for p in parts:
        p.v *= 3
    return current.v


PROGRAMS = [
    value
    for value in list(globals().values())
    if getattr(value, "__module__", None) == __name__ and not isinstance(value, type) and value is not three
]
