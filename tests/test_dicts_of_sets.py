"""Dicts whose keys are the elements of a set that only run time knows: they run where no order counts, the rest is refused."""

from __future__ import annotations

from collections import Counter, defaultdict

import jax
import jax.numpy as jnp
import pytest

import autograph as ag
from tests import staged


def comprehension(a, b, c):
    y = [a, b, c, a]
    counts = {v: y.count(v) for v in set(y)}
    top = max(counts.values())
    return (
        sorted([v for v, n in counts.items() if n == top]),
        min(v for v, n in counts.items() if n == top),
        len(counts),
    )


def filled(a, b, c):
    y = [a, b, c, a]
    counts = {v: 0 for v in set(y)}  # noqa: C420
    for v in y:
        counts[v] += 1
    return counts, a in counts, counts.get(7, -1), set(counts), sum(counts.keys())


def derived(a, b, c):
    y = [a, b, c, a]
    counts = {v: y.count(v) for v in set(y)}
    shares = {v: n / 4 for v, n in counts.items()}
    total = 0.0
    for v, share in shares.items():
        total += v * share
    return total, counts == shares, counts == {v: y.count(v) for v in y}, sorted(shares.items(), reverse=True)


def changed(a, b, c):
    found = dict.fromkeys({a, b, c}, 0)
    found[7] = 1
    found.update({8: a})
    rest = dict(found)
    del rest[7]
    return len(found), found, rest, found.keys() & {7, 8}


def by_element(a, b, c):
    y = [a, b, c, a]
    found, squares = {a: 5}, {}
    for v in set(y):
        found[v] = found.get(v, 1) * 2 + v
        squares[v] = v * v, y.count(v)
    return sorted(found.items()), sorted(squares), max(n for _, n in squares.values())


def added(a, b, c):
    counts, parts, sums = Counter(), defaultdict(int), {}
    for v in {a, b, c}:
        counts[v % 2] += v
        parts[v // 2] += 1
        sums[v % 3] = sums.get(v % 3, 0) - v
    return counts[0], counts[1], len(parts), sum(parts.values()), sums


def marked(a, b, c):
    seen = {}
    for v in {a, b, c}:
        seen[v] = True
    return a in seen, 7 in seen, len(seen)


def doubled(a, b, c):
    return {v: v * 2 for v in {a, b, c}}


def from_a_function(a, b, c):
    found, items = doubled(a, b, c), list(doubled(a, b, c).items())
    items.sort()
    distinct = list({a, b})
    distinct.sort()
    if a > 2:
        found[100] = 1
    rows = [found, doubled(b, b, c)]
    return items, distinct, {"found": found}, found.copy() == found, found | {1: 1} == found, [len(row) for row in rows]


def of_lists(a, b, c):
    y = [a, b, c, a]
    places = {v: [v] for v in set(y)}
    for k, v in enumerate(y):
        places[v].append(k)
    return [places[v] for v in y]


def of_lists_in_a_loop(a, b, c):
    y, places = [a, b, c, a], {}
    for v in set(y):
        places[v] = []
    for k, v in enumerate(y):
        places[v].append(k)
    return [places[v] for v in y], len(places)


def of_dicts(a, b, c):
    counts = {v: {"n": 0} for v in {a, b}}
    for k, v in enumerate([a, b, c, a]):
        if v in counts:
            counts[v]["n"] += k
    return counts[a]["n"], counts[b]["n"]


PROGRAMS = [
    of_lists,
    of_lists_in_a_loop,
    of_dicts,
    from_a_function,
    comprehension,
    filled,
    derived,
    changed,
    by_element,
    added,
    marked,
]
NUMBERS = [(1, 2, 3), (1, 1, 1), (8, 1, 8), (0, 5, 1)]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_dicts_of_sets_of_which_no_order_counts_run(program):
    compiled = staged.function(program)
    assert [compiled(*map(jnp.int32, given)) for given in NUMBERS] == [program(*given) for given in NUMBERS]


def of_neighbours(n, is_glider):
    cells = {(1, 0), (2, 1), (0, 2), (1, 2), (2, 2)} if is_glider else {(1, 0), (1, 1), (1, 2)}
    for _ in range(n):
        near = Counter((x + dx, y + dy) for x, y in cells for dx in (-1, 0, 1) for dy in (-1, 0, 1) if dx or dy)
        cells = {cell for cell, count in near.items() if count == 3 or (count == 2 and cell in cells)}
    return sorted(cells)


def of_places(n, is_glider):
    cells = {(1, 0), (2, 1), (0, 2), (1, 2), (2, 2)} if is_glider else {(1, 0), (1, 1), (1, 2)}
    for _ in range(n):
        places, new = {(x + dx, y + dy) for x, y in cells for dx in (-1, 0, 1) for dy in (-1, 0, 1)}, set()
        for x, y in places:
            k = sum((x + dx, y + dy) in cells for dx in (-1, 0, 1) for dy in (-1, 0, 1) if (dx, dy) != (0, 0))
            if k == 3 or (k == 2 and (x, y) in cells):
                new.add((x, y))
        cells = new
    return sorted(cells)


@pytest.mark.parametrize("program", [of_neighbours, of_places])
def test_the_game_of_life_on_a_set(program):
    for n, is_glider in ((2, True), (1, False)):
        assert staged.function(program)(jnp.int32(n), is_glider) == program(n, is_glider)


def test_dicts_of_sets_under_transforms():
    def most(xs):
        y = [xs[k] for k in range(4)]
        counts = {v: y.count(v) for v in set(y)}
        return max(counts.values()) * 10 + len(counts)

    rows = [[1, 2, 1, 1], [4, 4, 3, 3], [1, 2, 3, 4]]
    assert list(map(int, jax.vmap(ag.convert(most))(jnp.array(rows)))) == list(map(most, rows))
    assert int(jax.jit(ag.convert(most))(jnp.array(rows[0]))) == most(rows[0])


def keys_in_a_list(a, b, c):
    found = {v: 0 for v in {a, b, c}}  # noqa: C420
    return [key for key in found][0]  # noqa: C416, RUF015


def keys_that_meet(a, b, c):
    return {v % 2: v for v in {a, b, c}}


def shown(a, b, c):
    return str({v: 0 for v in {a, b, c}})  # noqa: C420


def updated(a, b, c):
    found = {9: a, b: 3}
    found.update({v: 0 for v in {a, b, c}})  # noqa: C420
    return next(iter(found))


def merged(a, b, c):
    return list({**{9: a}, **{v: 0 for v in {a, b, c}}})[1]  # noqa: C420


def best(a, b, c):
    found = {v: 0 for v in {a, b, c}}  # noqa: C420
    return max(found, key=found.get)


def last(a, b, c):
    return {v: 0 for v in {a, b, c}}.popitem()  # noqa: C420


def in_the_order_that_they_come(a, b, c):
    counts = Counter()
    for v in {a, b, c}:
        counts[v] += 1
    return counts.most_common(1)


def first_values(a, b, c):
    found = {}
    for v in {a, b, c}:
        found[v % 2] = found.get(v % 2, v) + 1
    return found


def texts(a, b, c):
    found = {}
    for v in {a, b, c}:
        found[v % 2] = found.get(v % 2, "") + chr(97 + v)
    return found


def bound_again(a, b, c):
    found = {}
    for v in {a, b, c}:
        v = v % 2
        found[v] = v + found.get(v, 1) * 2
    return found


def two_first_values(a, b, c):
    found = {}
    for v in {a, b, c}:
        if v > 1:
            found[1] = found.get(1, 0) + 1
        else:
            found[1] = found.get(1, 5) + 1
    return found


def made_by_reading(a, b, c):
    found, total = defaultdict(int), 0
    found[a] = 1
    for v in {b, c}:
        total += found[v]
    return list(found)[1], total


def in_a_helper(a, b, c):
    return list(doubled(a, b, c))[0]  # noqa: RUF015


def zipped(a, b, c):
    return list(zip(doubled(a, b, c), [1, 2, 3]))  # noqa: B905


def unpacked(a, b, c):
    x, _, _ = doubled(a, b, c)
    return x


def extended(a, b, c):
    items = [a]
    items += doubled(a, b, c).values()
    return items


def written_again(a, b, c):
    found = {9: 1, a: 2}
    for v, n in doubled(a, b, c).items():
        found[v] = n
    return list(found)


def in_a_number(a, b, c):
    total = 0
    for v in doubled(a, b, c):
        total = total * 10 + v
    return total


REFUSED = [
    *(in_a_helper, zipped, unpacked, extended, written_again, in_a_number),
    *(
        keys_in_a_list,
        keys_that_meet,
        shown,
        updated,
        merged,
        best,
        last,
        in_the_order_that_they_come,
        first_values,
        texts,
    ),
    *(bound_again, two_first_values, made_by_reading),
]


@pytest.mark.parametrize("program", REFUSED, ids=lambda f: f.__name__)
def test_dicts_of_sets_of_which_the_order_counts_are_refused(program):
    with pytest.raises(ag.StagingError, match="order of a set"):
        ag.function(program)(*map(jnp.int32, (8, 3, 2)))
