"""`collections.Counter` where the run knows the keys or the counts: its methods, its operators, and as a result."""

from __future__ import annotations

from collections import Counter

import jax
import jax.numpy as jnp
import pytest

import autograph as ag
from tests.test_traced_dicts import plain


def by_path(x):
    counts = Counter()
    if x > 0:
        counts["odd"] += x
    if x > 1:
        counts["even"] += 1
    if x < 0:
        counts["low"] += 2
    return counts


def in_a_loop(x):
    counts = Counter(odd=0)
    while x > 0:
        counts["odd" if x % 2 else "even"] += 1
        x -= 1
    return counts


def of_traced_keys(x):
    return Counter([x % 3, x % 2, 1])


def written(counts, other):
    counts += other
    first = counts.copy()
    counts -= other
    counts |= other
    counts &= other + other
    return first, counts


def updated(counts, other):
    counts.update(other)
    counts.subtract(other)
    counts.update("ab")
    counts.update(odd=2)
    return counts, counts.total()


USES = {
    "sums": lambda c, d: (c + d, c - d, d - c, c + c, c - c),
    "extremes": lambda c, d: (c | d, c & d, d | c, d & c),
    "signs": lambda c, d: (+c, -c, +(c - d), not c - d, bool(c & d)),
    "totals": lambda c, d: (c.total(), sum(c.values()), sum((c & d).values()), len(c | d), (c + d)["odd"], c["nothing"]),
    "elements": lambda c, d: (sorted(map(str, c.elements())), len(list(c.elements())), sum(1 for _ in (c & d).elements())),
    "copies": lambda c, d: (c.copy(), Counter(c), c.copy() is c),
    "equality": lambda c, d: (c == d, c != c.copy(), (c & c) == c, c | c == c),
    "written": written,
    "updated": updated,
    "subtracted": lambda c, d: (c.subtract({"odd": 1}) or c, c.most_common(1)[0][1] if c else 0),
    "itself": lambda c, d: (c, [c], {"c": c}),
}  # fmt: skip


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("made", [by_path, in_a_loop])
def test_with_counts_of_a_run(made, use):
    def program(x):
        return USES[use](made(x), Counter(odd=2, even=1))

    compiled = ag.function(program)
    for x in (3, 1, -1):
        assert plain(compiled(jnp.int32(x))) == plain(program(x)), x


@pytest.mark.parametrize("use", [use for use in USES if use not in ("updated", "subtracted")])
def test_with_keys_of_a_run(use):
    def program(x):
        return USES[use](of_traced_keys(x), Counter({1: 1, 2: 4, 0: x}))

    compiled = ag.function(program)
    for x in (3, 1, 4):
        assert plain(compiled(jnp.int32(x))) == plain(program(x)), x


def test_words_in_common():
    def in_common(n):
        one, other = Counter(str(n)), Counter(str(n * 3))
        return sum((one & other).values()), not one - other, len(one | other), sorted((one + other).elements())

    compiled = ag.function(in_common)
    for n in (12, 333, 142857):
        assert compiled(jnp.int32(n)) == in_common(n)


def test_in_objects_and_arguments():
    class Shop:
        def __init__(self):
            self.stock = Counter(apple=3, fig=1)

        def sell(self, kind, n):
            if n <= self.stock[kind]:
                self.stock[kind] -= n
                return True
            return False

    def sold(n):
        shop = Shop()
        return shop.sell("apple", n), shop.sell("fig", n), shop.stock, +shop.stock

    compiled = ag.function(sold)
    for n in (1, 2, 5):
        assert plain(compiled(jnp.int32(n))) == plain(sold(n))


def test_under_jit_and_vmap():
    def f(x):
        counts = Counter(odd=x, even=2)
        if x > 1:
            counts["odd"] += 3
        return sum((counts - Counter(odd=1)).values()), (counts & Counter(odd=2))["odd"]

    xs = [3, 1, -1]
    assert [tuple(map(int, jax.jit(ag.convert(f))(x))) for x in xs] == [f(x) for x in xs]
    found = jax.vmap(ag.convert(f))(jnp.array(xs))
    assert list(zip(*(each.tolist() for each in found), strict=True)) == [f(x) for x in xs]


def with_a_zero(xs, k):
    c, d = Counter(xs), Counter(xs)
    c[90 + k] = 0
    return c == d, d == c, c != d, c <= d, c < d


def by_order(xs, k):
    c, d = Counter(xs), Counter([1, 2, k])
    return c <= d, c < d, c >= d, c > d, c == d, c < c + d, Counter() < c, c >= Counter([k])


def keys_of_one_path(xs, k):
    c, d = Counter([1, 2]), Counter([1])
    if k > 1:
        d[k] += 1
    return d <= c, d == c, c > d


def shortest_window(xs, k):
    need, have, left, best = Counter([2, k]), Counter(), 0, 99
    for right, v in enumerate(xs):
        have[v] += 1
        while need <= have:
            best = min(best, right - left + 1)
            have[xs[left]] -= 1
            left += 1
    return best


COMPARISONS = [with_a_zero, by_order, keys_of_one_path, shortest_window]


@pytest.mark.parametrize("f", COMPARISONS, ids=lambda f: f.__name__)
def test_comparisons(f):
    compiled = ag.function(f)
    for xs, k in [([1, 2, 2, 3], 2), ([1, 2, 1, 2], 1), ([3, 3, 1, 2], 3)]:
        assert plain(compiled(list(map(jnp.array, xs)), jnp.array(k))) == f(xs, k)


def test_a_dict_is_not_compared_by_order():
    def f(x):
        return Counter([x]) <= {1: 2}

    for run, x in ((f, 1), (ag.function(f), jnp.array(1))):
        with pytest.raises(TypeError, match="not supported between instances"):
            run(x)
