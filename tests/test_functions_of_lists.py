"""Functions of the standard library, and comprehensions of several clauses, over lists whose length only the run knows."""

from __future__ import annotations

import collections
import functools
import itertools
import operator

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests.agreement import differences


def kept(xs):
    return [x for x in xs if x > 0]


def rows(xs):
    return [[x, x + 1] for x in xs if x > 0]


def triangles(xs):
    found = []
    for x in xs:
        if x > 0:
            found.append([k for k in range(x)])
    return found


def in_a_loop(xs):
    ys, total = kept(xs), 0
    for a, b in itertools.pairwise(ys):
        total += a * b
    for k, v in enumerate(itertools.chain(ys, [5], ys)):
        total += k * v
    for v in itertools.accumulate(ys):
        if v > 7:
            break
        total += v
    return total


def windows(xs):
    last = collections.deque([1], maxlen=3)
    if xs[0] > 2:
        last.extend([x for x in xs if x > 3])
    for x in xs:
        last.extend([y for y in xs if y > x])
    return list(last), list(collections.deque(kept(xs), maxlen=2)), list(collections.deque([8, 9], maxlen=0))


def of_dicts(xs):
    groups = {"small": [], "large": []}
    for x in xs:
        groups["large" if x > 2 else "small"].append(x)
    names = [name + str(k) for name in groups for k in (1, 2)]
    return [v for name in groups for v in groups[name]], [v for group in groups.values() for v in group], names


def squares(xs):
    return [[x * i + k for k in range(len(kept(xs)))] for i, x in enumerate(xs) if x > 0]


def columns_in_turn(xs):
    columns = zip(*squares(xs))
    first = next(columns)
    return first, [sum(column) for column in columns], [k * max(column) for k, column in enumerate(zip(*triangles(xs)))]


def turned(xs):
    found = squares(xs)
    for _ in range(len(kept(xs))):
        found = [list(row) for row in zip(*found[::-1])]
    return found


PROGRAMS = {
    "reduce": lambda xs: functools.reduce(lambda a, b: 2 * a + b, kept(xs)),
    "reduce from a start": lambda xs: functools.reduce(operator.add, kept(xs), 5),
    "reduce by max": lambda xs: (functools.reduce(max, kept(xs)), functools.reduce(lambda a, b: min(a, b), kept(xs))),
    "accumulate": lambda xs: list(itertools.accumulate(kept(xs))),
    "accumulate by max": lambda xs: list(itertools.accumulate(kept(xs), max)),
    "accumulate from a start": lambda xs: list(itertools.accumulate(kept(xs), operator.sub, initial=2)),
    "chain": lambda xs: list(itertools.chain(kept(xs), [1, 2], kept(xs))),
    "chain of pairs": lambda xs: list(itertools.chain(enumerate(kept(xs)), zip(kept(xs), kept(xs), strict=False))),
    "chain.from_iterable": lambda xs: list(itertools.chain.from_iterable(rows(xs))),
    "chain.from_iterable of few": lambda xs: sum(itertools.chain.from_iterable([kept(xs), [1], kept(xs)[1:]])),
    "islice": lambda xs: (list(itertools.islice(kept(xs), 1, 3)), list(itertools.islice(enumerate(kept(xs)), 2))),
    "starmap": lambda xs: list(itertools.starmap(lambda a, b: a * b, rows(xs))),
    "starmap of a zip": lambda xs: sum(itertools.starmap(operator.mul, zip(kept(xs), kept(xs), strict=False))),
    "takewhile of a map": lambda xs: list(itertools.takewhile(lambda v: v < 9, map(lambda v: 2 * v, kept(xs)))),
    "largest of numbered ones": lambda xs: max(enumerate(kept(xs)), key=lambda pair: pair[1]),
    "least pair": lambda xs: min(zip(kept(xs), kept(xs)[1:], strict=False)),
    "sorted pairs": lambda xs: sorted(zip(kept(xs), range(10), strict=False)),
    "sorted by the number": lambda xs: sorted(enumerate(kept(xs)), key=lambda pair: -pair[1]),
    "loops": in_a_loop,
    "deques": windows,
    "clauses": lambda xs: ([v for r in rows(xs) for v in r], [v for r in triangles(xs) for v in r]),
    "repeated": lambda xs: ([y for y in kept(xs) for _ in range(2)], [k * y for k in (1, 2) for y in kept(xs)]),
    "pairs": lambda xs: [(a, b, c) for a in kept(xs) for b in (1, 2) for c in kept(xs)],
    "clauses over ranges": lambda xs: [10 * i + k for i in range(xs[1] + 3) for k in range(i)],
    "clauses over few lists": lambda xs: [v for r in [kept(xs), [1, 2], kept(xs)[1:]] for v in r],
    "clauses over dicts": of_dicts,
    "columns of rows": lambda xs: ([list(c) for c in zip(*squares(xs))], list(map(list, zip(*triangles(xs))))),
    "columns of columns": lambda xs: [list(row) for row in zip(*zip(*squares(xs)))] == squares(xs),
    "columns in turn": columns_in_turn,
    "columns of texts": lambda xs: ["".join(column) for column in zip(*[f"{x}{x * x}" for x in kept(xs)])],
    "columns of dicts": lambda xs: list(zip(*[{x: 1, x + 1: 2} for x in kept(xs)])),
    "columns of one text": lambda xs: list(zip(*["abc" for x in kept(xs)])),
    "turned by loops": turned,
    "sum of rows": lambda xs: (sum(rows(xs), []), sum(triangles(xs), [7]), sum(([x] * 2 for x in kept(xs)), [])),
    "sum of pairs": lambda xs: sum([(x, 2 * x) for x in kept(xs)], ()),
    "any row": lambda xs: (any(triangles(xs)), all(rows(xs)), all([str(x) for x in kept(xs)])),
    "clauses over arrays": lambda xs: ([v * w for v in xs for w in (1, 2)], [(k, v) for k in range(2) for v in xs]),
}
EXAMPLES = ([3, -1, 4, 1, -5, 9], [1, 2, 3, -4, 5, 6], [-1, 7, -2, -3, 2, 2])


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_python(name):
    program = PROGRAMS[name]
    compiled = ag.function(program)
    for xs in EXAMPLES:
        assert list(differences(program(xs), compiled(jnp.array(xs)))) == []


@pytest.mark.parametrize(
    "name", ["chain.from_iterable of few", "loops", "starmap of a zip", "largest of numbered ones"]
)
def test_in_batches(name):
    program = PROGRAMS[name]
    found = jax.vmap(ag.function(program))(jnp.array(EXAMPLES))
    for lane, xs in enumerate(EXAMPLES):
        assert jax.tree.map(lambda part: int(part[lane]), found) == program(xs)  # noqa: B023


@pytest.mark.parametrize("name", ["columns of rows", "sum of rows", "columns of texts"])
def test_of_no_items(name):
    program = PROGRAMS[name]
    assert list(differences(program([-1, -2]), ag.function(program)(jnp.array([-1, -2])))) == []


def test_columns_of_what_has_no_items():
    with pytest.raises(TypeError, match="iteration over a 0-d array"):
        ag.function(lambda xs: list(zip(*kept(xs))))(jnp.array([1, 2]))


def test_an_item_that_two_columns_share_is_not_written():
    def written(xs):
        found = [[[x] for _ in range(x)] for x in kept(xs)]
        columns = list(zip(*found))
        columns[0][0].append(7)
        return found

    with pytest.raises(ag.StagingError, match="two places of a list"):
        ag.function(written)(jnp.array([1, 2]))


def test_reduce_of_no_items():
    compiled = ag.function(lambda xs: functools.reduce(operator.mul, kept(xs)))
    with pytest.raises(TypeError, match="empty"):
        jax.block_until_ready(compiled(jnp.array([-1, -2])))


def test_a_table_of_known_numbers_stays_known():
    def f(x):
        names, sizes = ["a", "b"], [1, 2]
        found = {}
        for k, key in enumerate([name + str(size) for name in names for size in sizes]):
            found[key] = x * k
        return found

    assert ag.function(f)(np.float32(2.0)) == {"a1": 0.0, "a2": 2.0, "b1": 4.0, "b2": 6.0}


def test_none_is_not_compared():
    def f(xs):
        return max(None, xs[0])

    with pytest.raises(TypeError, match="'NoneType'"):
        ag.function(f)(jnp.array([1, 2]))


def doubled(t):
    found = []
    for k in range(t):
        found.append(k * t % 5)
    return found


INDICES = [
    lambda t: (t, 2, 3, 2).index(2, 2),
    lambda t: [t, 2, 3, 2].index(2, -2),
    lambda t: [1, 2, 3, 2, 9].index(9, t - 7),
    lambda t: [1, 2, 3, 2, 9].index(2, t - 7, t - 5),
    lambda t: doubled(t).index(3, 2),
    lambda t: doubled(t).index(3, -4, -1),
    lambda t: ["a", "b", "a"].index("a", t - 8),
    lambda t: (t, 2).index(4),
    lambda t: [t, 2].index(4),
    lambda t: (t, 2).index(2, 0, 1),
    lambda t: doubled(t).index(3, 0, 1),
    lambda t: [value in range(t) for value in (3 + 0j, 3 + 1j, 2.5, 2.0)],
]


@pytest.mark.parametrize("number", range(len(INDICES)))
def test_indices_between_bounds_are_pythons(number):
    f = INDICES[number]

    def outcome(call, t):
        try:
            return np.array(call(t)).tolist()
        except ValueError as error:
            return str(error)

    assert outcome(ag.function(f), jnp.int32(9)) == outcome(f, 9)


def test_calls_work_after_a_list_that_holds_itself_was_refused():
    def returns_itself(x):
        items = [x]
        items.append(items)
        return items

    def in_the_caller(items):
        items.append(items)
        return items

    for f, argument in ((returns_itself, jnp.float32(1.0)), (in_the_caller, [np.zeros(2)])):
        for wrap in (ag.function, lambda f: jax.jit(ag.convert(f))):
            with pytest.raises(ag.StagingError, match="holds itself"):
                wrap(f)(argument)
            assert float(ag.function(lambda x: x + 1)(jnp.float32(1.0))) == 2.0


@pytest.mark.parametrize("items", ["list(range(n))", "[1, 2]", "[]", "[x * n for x in range(n)]"])
def test_lists_are_repeated_a_traced_number_of_times(items, tmp_path):
    path = tmp_path / "repeating.py"
    path.write_text(
        f"def f(n):\n    found = {items}\n    return found * n, n * found, found * (n - 5)\n", encoding="utf-8"
    )
    namespace = {}
    exec(compile(path.read_text(encoding="utf-8"), path, "exec"), namespace)
    found = ag.function(namespace["f"])(jnp.int32(3))
    assert [[int(item) for item in part] for part in found] == [*namespace["f"](3)]
