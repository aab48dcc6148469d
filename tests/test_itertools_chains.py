"""Functions of `itertools` over each other, and over arrays and lists, where traced values decide which items there are."""

from __future__ import annotations

import functools
import itertools as it
import operator
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests.agreement import differences

VALUES = [3, 1, 1, 4, 4, 4, 2]


def longest_run(xs, n):
    longest = 0
    for _, group in it.groupby(xs):
        longest = max(longest, sum(1 for _ in group))
    return longest


def large_groups(xs, n):
    total = 0
    for value, group in it.groupby(xs):
        if value > 2:
            total += sum(group)
    return total


def until(xs, n):
    total = 0
    for value in it.takewhile(lambda v: v < n * 2, it.accumulate(xs)):
        if value % 2:
            continue
        total += value
    return total


def weights_in_turn(xs, n):
    total = 0
    for weight in it.cycle([1, -2, 3]):
        total += weight
        if total > n:
            break
    return total, weight


def doubled_until(xs, n):
    value = n + 1
    for _ in it.repeat(None):
        value = value * 2
        if value > 100:
            break
    return value


def groupby_of_a_generator(xs, n):
    return [value for value, _ in it.groupby(x for x in xs if x != 4)]


def chain_of_ranges(xs, n):
    return list(it.chain.from_iterable(range(i) for i in range(n)))


def reduce_of_a_generator(xs, n):
    return functools.reduce(lambda a, b: a * 2 + b, (x for x in xs if x < 4), 0)


PROGRAMS = {
    "takewhile of accumulate": lambda xs, n: list(it.takewhile(lambda v: v < n * 2, it.accumulate(xs))),
    "dropwhile of accumulate": lambda xs, n: list(it.dropwhile(lambda v: v < n, it.accumulate(xs))),
    "filterfalse of map": lambda xs, n: list(it.filterfalse(lambda v: v < n, map(lambda v: v * 2, xs))),
    "filter of accumulate": lambda xs, n: list(filter(lambda v: v % 2 == 0, it.accumulate(xs))),
    "compress": lambda xs, n: list(it.compress(xs, [x > n - 3 for x in xs])),
    "compress of a range": lambda xs, n: sum(it.compress(range(len(xs)), [x > 2 for x in xs])),
    "groupby": lambda xs, n: [(value, len(list(group))) for value, group in it.groupby(xs)],
    "groupby with a key": lambda xs, n: [(is_large, sum(g)) for is_large, g in it.groupby(xs, key=lambda v: v > 2)],
    "lists of groups": lambda xs, n: [list(group) for _, group in it.groupby(xs, lambda v: v % 2)],
    "a group is there once": lambda xs, n: [(len(list(group)), sum(group)) for _, group in it.groupby(xs)],
    "groupby of a range": lambda xs, n: [(k, len(list(g))) for k, g in it.groupby(range(n), key=lambda i: i // 3)],
    "groupby of a generator": groupby_of_a_generator,
    "groupby of what is known": lambda xs, n: [(v, len(list(g)), sum(g) * n) for v, g in it.groupby([1, 1, 2])],
    "longest run": longest_run,
    "large groups": large_groups,
    "pairwise of takewhile": lambda xs, n: sum(
        1 for a, b in it.pairwise(it.takewhile(lambda v: v < n * 3, it.accumulate(xs))) if b > a
    ),
    "chain": lambda xs, n: list(it.chain(it.takewhile(lambda v: v > 0, xs), [n, n + 1])),
    "chain with a range": lambda xs, n: list(it.chain(range(n), [7], xs)),
    "chain of ranges": chain_of_ranges,
    "islice of accumulate": lambda xs, n: list(it.islice(it.accumulate(xs), n)),
    "islice of cycle": lambda xs, n: list(it.islice(it.cycle([1, 2, 3]), n)),
    "islice of chain": lambda xs, n: list(it.islice(it.chain(xs, xs), n, 3 * n, 2)),
    "starmap": lambda xs, n: list(it.starmap(operator.mul, enumerate(it.takewhile(lambda v: v > 0, xs)))),
    "accumulate of a range": lambda xs, n: list(it.accumulate(range(n))),
    "accumulate of islice": lambda xs, n: list(it.accumulate(it.islice(xs, n), operator.mul)),
    "maximum of accumulate": lambda xs, n: max(it.accumulate(it.filterfalse(lambda v: v == 1, xs))),
    "enumerate of takewhile": lambda xs, n: list(enumerate(it.takewhile(lambda v: v < n * 2, it.accumulate(xs)), 1)),
    "comprehension": lambda xs, n: [v * 2 for v in it.takewhile(lambda v: v != n, xs)],
    "repeat": lambda xs, n: list(it.repeat(7, n)),
    "reduce of takewhile": lambda xs, n: functools.reduce(operator.add, it.takewhile(lambda v: v != n, xs), 10),
    "reduce of a generator": reduce_of_a_generator,
    "reduce of a range": lambda xs, n: functools.reduce(lambda a, b: a * b, range(1, n), 1),
    "until": until,
    "weights in turn": weights_in_turn,
    "doubled until": doubled_until,
}
if sys.version_info >= (3, 12):
    PROGRAMS |= {
        "batched": lambda xs, n: [(sum(b), len(b)) for b in it.batched([x for x in xs if x != n], 2)],
        "batched of takewhile": lambda xs, n: [max(b) for b in it.batched(it.takewhile(lambda v: v != n, xs), 3)],
        "tuples of batched": lambda xs, n: list(it.batched([x for x in xs if x > n], 2)),
    }


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_python(name):
    f = PROGRAMS[name]
    compiled = ag.function(f)
    for n in (0, 4, 6):
        for xs in (jnp.array(VALUES), [jnp.array(value) for value in VALUES]):
            assert list(differences(f(list(VALUES), n), compiled(xs, jnp.array(n)))) == []


@pytest.mark.parametrize("f", [longest_run, large_groups, until], ids=lambda f: f.__name__)
def test_under_transforms_of_jax(f):
    rows = np.array([VALUES, [1, 1, 1, 1, 2, 2, 5], [9, 8, 7, 6, 5, 4, 3]])
    expected = [f(row.tolist(), 5) for row in rows]
    assert [int(jax.jit(ag.convert(f))(row, 5)) for row in jnp.asarray(rows)] == expected
    assert jax.vmap(ag.convert(f), (0, None))(jnp.asarray(rows), 5).tolist() == expected


def test_reduce_of_nothing_raises():
    compiled = ag.function(lambda n: functools.reduce(operator.mul, range(1, n)))
    assert int(compiled(jnp.array(5))) == 24
    with pytest.raises(TypeError, match="reduce"):
        compiled(jnp.array(1))


def rest_of_what_a_loop_left(xs, n):
    sums = it.accumulate(xs)
    return list(it.takewhile(lambda v: v < n, sums)), list(sums)


def test_an_iterator_that_a_staged_loop_has_left_is_refused():
    with pytest.raises(ag.StagingError, match="may have left before its end"):
        ag.function(rest_of_what_a_loop_left)(jnp.array(VALUES), jnp.array(4))


def test_a_traced_range_beside_an_endless_iterator_is_refused():
    for endless in (lambda: it.count(2), lambda: it.cycle([1, -1])):
        f = ag.function(lambda n, endless=endless: [a * b for a, b in zip(range(n), endless(), strict=False)])
        with pytest.raises(ag.StagingError, match="range with traced bounds"):
            f(jnp.array(3))
