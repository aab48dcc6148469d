"""Generator expressions over what has a traced length, whatever consumes them."""

from __future__ import annotations

import collections
import functools
import heapq
import itertools
import math
from collections import Counter, OrderedDict, deque

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests.agreement import differences


def counted(y, k):
    counts = Counter(v for v in y[:k])
    counts.update(v + 1 for v in y[:k])
    found = Counter()
    found.update(v for v in y)
    return [counts[v] for v in range(7)], found[2], Counter(a + b for a in y[:k] for b in y[:a])[3]


def counted_in_lists(y, k):
    given, kept = [y[i] for i in range(4)], [v for v in y if v > 1]
    return Counter(v for v in given[:k])[2], Counter(v for v in kept)[2], Counter(v for v in [*y[:k], 7])[7]


def multiplied(y, k):
    return math.prod(v for v in y[:k]), functools.reduce(lambda a, b: a * b, (v for v in y[:k]), 1)


def extended(y, k):
    one, other, queue, sliced = [0], [0], deque([0]), [1, 2, 3]
    one.extend(v * 2 for v in y[:k])
    other += (v for v in y[:k])
    queue.extend(v for v in y[:k])
    sliced[1:2] = (v for v in y[:k])
    return len(one), sum(one), sum(other), len(queue), sum(deque((v for v in y[:k]), maxlen=2)), sum(sliced)


def displayed(y, k):
    def given(*values):
        return sum(values)

    return sum([1, *(v for v in y[:k]), 3]), len({*(v for v in y[:k])}), given(*(v for v in y[:k]))


def in_sets(y, k):
    kept = {9}
    kept.update(v for v in y[:k])
    return sum(kept), len(kept | set(v + 1 for v in y[:k])), len(kept.union(2 * v for v in y[:k]))


def in_dicts(y, k):
    numbered, paired, given, known = dict(enumerate(y[:k])), dict(zip(y[:k], y, strict=False)), {}, {2: 0}
    given.update((v, v * 3) for v in y[:k])
    known.update((v, v + 1) for v in y[:k])
    ordered, default = OrderedDict((v, 1) for v in y[:k]), collections.defaultdict(int, ((v, 2) for v in y[:k]))
    return len(numbered), sum(paired.values()), sum(given), sum(given.values()), len(known), len(ordered), default[1]


def of_iterators(y, k):
    pairs = Counter(zip(y[:k], y[1:], strict=False))
    numbered = [i * v for i, v in enumerate(v for v in y[:k])]
    chained = itertools.chain((v for v in y[:k]), y)
    return pairs[2, 2], sum(numbered), len(list(enumerate(v for v in y[:k]))), sum(chained)


def ordered(y, k):
    most, least = heapq.nlargest(1, (v for v in y[:k])), heapq.nsmallest(2, (-v for v in y[:k]))
    return sum(most), sum(least), max((v for v in y[:k]), key=lambda v: -v), min((v for v in y if v < k), key=abs)


def looped_over(y, k):
    total = 0
    for v in (w * 2 for w in y[:k]):
        if v > 7:
            break
        total += v
    values = (w + 1 for w in y[:k])
    for v in values:
        total += v
    return total, sum([v * 2 for v in (w + 1 for w in y[:k])]), sum([v + 1 for v in [w for w in y if w > 1]])


def contained(y, k):
    within = 2 in (v for v in y[:k]), 9 in (v for v in y[:k]), k not in (v * 2 for v in y if v > 1)
    return (*within, 1 if 5 in (v for v in y[:k]) else 0)


def nested(y, k):
    by_number = [Counter(v for v in y[:k])[j] for j in (1, 2)]
    by_item = [Counter(v + w for v in y[:k])[3] for w in y]
    return sum(by_number), sum(by_item), sum(Counter(w for w in y[:v])[2] for v in y[:k])


def in_a_staged_loop(y, k):
    total = 0
    for i in range(k):
        total += Counter(v for v in y[:i])[2]
    return total


def given_to_functions(y, k):
    def doubled(values):
        return [2 * v for v in values]

    def delegating():
        yield from (v for v in y[:k])
        yield 7

    return sum(doubled(v for v in y[:k])), sum(delegating())


PROGRAMS = [
    counted,
    counted_in_lists,
    multiplied,
    extended,
    displayed,
    in_sets,
    in_dicts,
    of_iterators,
    ordered,
    looped_over,
    contained,
    nested,
    in_a_staged_loop,
    given_to_functions,
]
Y = (1, 2, 2, 3, 2, 5)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_like_plain_python(program):
    compiled, jitted = ag.function(program), jax.jit(ag.convert(program))
    for k in (4, 2, 6):
        wanted = program(list(Y), k)
        for run in (compiled, jitted):
            assert list(differences(wanted, run(jnp.array(Y), jnp.array(k)), widens=True)) == []
        assert list(differences(wanted, ag.convert(program)(np.array(Y), k), widens=True)) == []


@pytest.mark.parametrize("program", [counted, extended, in_dicts, contained, nested], ids=lambda each: each.__name__)
def test_under_vmap(program):
    found = jax.jit(jax.vmap(ag.convert(program), (None, 0)))(jnp.array(Y), jnp.array([4, 2]))
    for lane, k in enumerate((4, 2)):
        mine = jax.tree.map(lambda leaf, lane=lane: leaf[lane], found)
        assert list(differences(program(list(Y), k), mine, widens=True)) == []


def test_accumulated():
    def f(y, k):
        return list(itertools.accumulate(v for v in y[:k]))

    assert list(differences(f(list(Y), 4), ag.function(f)(jnp.array(Y), jnp.array(4)), widens=True)) == []


def test_membership_asks_for_no_more_items_than_python():
    def f(y, k):
        asked = [0]

        def seen(v):
            asked[0] += 1
            return v

        return 2 in (seen(v) for v in y[:k]), asked[0]

    found = ag.function(f)(jnp.array(Y), jnp.array(4))
    assert (bool(found[0]), int(found[1])) == f(list(Y), 4) == (True, 2)


def test_a_generator_that_python_has_advanced_is_refused():
    def f(y, k):
        values = (v for v in y[:k])
        first = next(values)
        return first + sum(values)

    with pytest.raises(ag.StagingError, match="length of this array is known only when the program runs"):
        ag.function(f)(jnp.array(Y), jnp.array(4))
