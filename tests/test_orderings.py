"""`sorted`, `max`, `min`, `filter`, `pow` and their like on traced values: Python's result, or a refusal in words."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests import staged
from tests.agreement import differences


def sorted_by_keys(x, n, xs):
    a, b, c = xs
    return sorted(xs, key=lambda v: -v), sorted([a, x, b, c]), sorted([c, a, b], key=lambda v: v > 2, reverse=True)


def sorted_tuples(x, n, xs):
    a, b, c = xs
    pairs = [(b, 1), (a, 2), (b, 0), (c, 3)]
    return sorted(pairs), sorted(pairs, reverse=True), sorted(pairs, key=lambda p: p[1] * x)


def sorted_lists(x, n, xs):
    a, b, c = xs
    rows = [[b, 1], [a, 2], [b, 0], [c, x]]
    last, first = max(rows), min(rows, key=lambda row: row[1])
    last[1] = 7.0
    rows.sort(reverse=True)
    rows[0][0] += 1
    return rows, last, first, sorted([[v, n] for v in xs]), min([x, n], [x, 1])


def sorted_nested_tuples(x, n, xs):
    pairs = [((v, -k), [k, x]) for k, v in enumerate(xs)]
    return sorted(pairs), max(pairs), min(pairs, key=lambda pair: (pair[1], pair[0]))


def sorted_in_place(x, n, xs):
    a, b, c = xs
    values = [b, x, a, c]
    values.sort()
    others = [b, x, a, c]
    others.sort(key=lambda v: abs(v - 2), reverse=True)
    return values, others


def sorted_stably(x, n, xs):
    return sorted([3, 1, 2, 4], key=lambda v: v % 2 + 0 * x), sorted([3, 1, 2, 4], key=lambda v: x * 0, reverse=True)


def extremes_of_views(x, n, xs):
    table = {"a": x, "b": xs[0], "c": xs[1]}
    return max(table.values()), min(table.values()), max({1, 2}), min(range(3, 5)), max(v * x for v in (1, 2))


def extremes_by_keys(x, n, xs):
    far = max(xs, key=lambda v: abs(v - 2))
    return (
        far,
        min([x, xs[0]], key=lambda v: -v),
        min(x, xs[0], xs[1], key=lambda v: v * v),
        max([1, 2], key=lambda v: -v),
    )


def extremes_with_defaults(x, n, xs):
    none = max((v for v in xs if v > 100), default=-1.0)
    return (
        max(xs, default=0.0),
        max([], default=x),
        min([x, xs[1]], default=9.0),
        none,
        min([v for v in xs if v > 1], default=0),
    )


def extremes_of_tuples(x, n, xs):
    return max((x, 1.0), (xs[0], 2.0)), min([(x, 1.0), (x, 0.0)]), max((x, 1.0), (x, 2.0), key=lambda p: -p[1])


def sums(x, n, xs):
    return sum(xs, 10), sum(xs, start=1.0), sum((v for v in xs if v > 1), 3.0), sum([[x], [n]], []), math.fsum(xs)


def filtered(x, n, xs):
    kept = filter(lambda v: v > 2, xs)
    return sum(kept), len(list(filter(lambda v: v > 2, xs))), list(filter(None, [x, n])), list(filter(None, [0, 2]))


def builtins_as_functions(x, n, xs):
    return list(map(int, xs)), functools.reduce(max, xs), list(itertools.accumulate(xs, max)), list(map(abs, xs))


def modular_powers(x, n, xs):
    return pow(n, 3, 5), pow(n + 2, 0, 7), pow(n, 13, 46337), pow(n, 2), pow(7, 2, 5), pow(n, 3, -5)


def zipped(x, n, xs):
    return [a * b for a, b in zip(xs, [1.0, 2.0, 3.0], strict=True)], list(reversed(xs)), complex(x, n), complex(imag=x)


PROGRAMS = [
    sorted_by_keys, sorted_tuples, sorted_lists, sorted_nested_tuples, sorted_in_place, sorted_stably,
    extremes_of_views, extremes_by_keys, extremes_with_defaults, extremes_of_tuples, sums, filtered,
    builtins_as_functions, modular_powers, zipped,
]  # fmt: skip
INPUTS = [(2.5, 3, [1.5, 4.0, 2.25]), (-1.0, 2, [0.5, -4.0, 3.0]), (0.0, 0, [2.0, 2.0, 1.0])]


def as_lists(value):
    """Lists of traced length, which are a class of their own, as Python's."""

    def is_other_list(part):
        return isinstance(part, list) and type(part) is not list

    return jax.tree.map(lambda part: list(part) if is_other_list(part) else part, value, is_leaf=is_other_list)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("x, n, xs", INPUTS)
def test_like_plain_python(program, x, n, xs):
    wanted = program(x, n, xs)
    arrays = jnp.float32(x), jnp.int32(n), jnp.array(xs)
    assert list(differences(wanted, staged.function(program)(*arrays), widens=True)) == []
    assert list(differences(wanted, as_lists(staged.jitted(program)(*arrays)), widens=True)) == []
    assert list(differences(wanted, ag.convert(program)(x, n, xs))) == []
    if program is not filtered:
        lanes = staged.mapped(program)(*(part[None] for part in arrays))
        one = as_lists(jax.tree.map(lambda leaf: leaf[0], lanes))
        assert list(differences(wanted, one, widens=True)) == []


def refusal(program, *arguments):
    with pytest.raises(ag.StagingError) as caught:
        jax.jit(ag.convert(program))(*arguments)
    assert __file__ in str(caught.value)
    return str(caught.value)


def test_an_order_of_what_is_no_number():
    assert "Pass a key that returns a number" in refusal(lambda xs: max(xs, [1.0, 2.0]), np.arange(2.0))
    text = refusal(lambda a, b: sorted([(a, b), (b,)]), jnp.float32(1), jnp.float32(2))
    assert "of one length: ('float32[]', 'float32[]'), ('float32[]',) …" in text


def test_texts_among_numbers_are_in_their_order():
    def of_a_dict(a, b):
        counts = {"b": a, "c": b, "a": a, "d": 2}
        return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])), max((v, k) for k, v in counts.items())

    def by_path(a, b):
        names = ["low" if a < 2 else "high", "mid", "low" if b < 2 else "alpha"]
        pairs = [(name, a) for name in names]
        pairs.sort(reverse=True)
        return sorted(names), max(names), min(names), pairs, min(pairs, key=lambda pair: (pair[1], pair[0]))

    for f in (of_a_dict, by_path):
        compiled, mapped = ag.function(f), jax.jit(jax.vmap(ag.convert(lambda a, b, f=f: len(f(a, b)[0]))))
        for a, b in ((3, 1), (1, 1), (1, 2), (2, 3)):
            assert jax.tree.map(plain, compiled(jnp.array(a), jnp.array(b))) == f(a, b)
        assert mapped(jnp.arange(2), jnp.arange(2)).shape == (2,)


def plain(leaf):
    return leaf if isinstance(leaf, str) else int(leaf)


def test_the_best_of_what_is_no_number_by_a_key():
    def f(x):
        return max({"a": 1, "bc": 2}, key=lambda k: x * len(k))

    compiled = ag.function(f)
    assert [compiled(jnp.float32(x)) for x in (2.0, -2.0)] == [f(2.0), f(-2.0)] == ["bc", "a"]


def test_a_key_for_a_list_of_traced_length():
    def f(xs):
        return max([v for v in xs if v > 0], key=lambda v: -v), min(
            [v for v in xs if v > 5], key=lambda v: -v, default=9.0
        )

    assert list(map(float, ag.function(f)(jnp.arange(4.0)))) == list(f(np.arange(4.0))) == [1.0, 9.0]
    with pytest.raises(ValueError, match="empty"):
        ag.function(f)(jnp.zeros(2))


def test_a_filter_of_elements_that_are_not_traced():
    assert "Use a list comprehension" in refusal(lambda xs: sum(filter(lambda k: xs[k] > 0, [0, 1])), np.arange(2.0))


def test_a_filter_stays_lazy_where_nothing_is_traced():
    def f():
        return next(filter(lambda v: v > 3, itertools.count()))

    assert ag.convert(f)() == 4


def nan_of_two(a, b):
    return max(a, b), min(a, b)


def nan_of_three(a, b, c):
    return max(a, b, c), min(a, b, c)


def nan_in_a_list(a, b, c):
    return max([a, b, c]), min([a, b, c], default=1.0)


def nan_in_an_array(a, b, c):
    x = jnp.stack([a, b, c])
    return max(x), min(x)


def nan_in_a_list_of_traced_length(a, b, c):
    kept = []
    for v in jnp.stack([a, b, c]):
        if v != 7:
            kept.append(v)
    return max(kept), min(kept)


def nan_in_a_generator_expression(a, b, c):
    x = jnp.stack([a, b, c])
    return max(v for v in x if v != 7), min(v for v in x)


def nan_among_keys(a, b, c):
    return max(a, b, c, key=lambda v: -v), max((a, b), (b, c), (c, a))[0]


@pytest.mark.parametrize(
    "program",
    [
        nan_of_two,
        nan_of_three,
        nan_in_a_list,
        nan_in_an_array,
        nan_in_a_list_of_traced_length,
        nan_in_a_generator_expression,
        nan_among_keys,
    ],
    ids=lambda program: program.__name__,
)
def test_nan_is_chosen_where_python_chooses_it(program):
    staged = ag.function(program)
    count = program.__code__.co_argcount
    for values in itertools.permutations([1.0, 2.0, float("nan"), float("nan")], count):
        arrays = [jnp.float32(value) for value in values]
        assert repr(jax.tree.map(float, staged(*arrays))) == repr(jax.tree.map(float, program(*arrays))), values


def test_default_where_there_is_nothing():
    @ag.function
    def f(x):
        return max(x, default=5.0), min(x, default=None)

    assert f(jnp.zeros(0)) == (5.0, None)
    assert [float(v) for v in f(jnp.array([1.0, 2.0]))] == [2.0, 1.0]


@pytest.mark.parametrize("points", [([3.0, 4.0], [0.0, 0.0]), ([], []), ([1.0], [1.0, 2.0])])
def test_the_distance_of_two_points(points):
    def distance(p, q):
        try:
            return math.dist(p, q)
        except ValueError as error:
            return str(error)

    found = ag.function(distance)(*(jnp.array(p, jnp.float32) for p in points))
    assert found == distance(*points)
    assert ag.function(lambda p, q: math.dist([*p], (*q,)))(*(jnp.ones(2), jnp.ones(2))) == 0


def test_tuples_and_lists_that_names_hold_are_compared_item_by_item():
    def f(a, b):
        p, q = (a, b), (b, a)
        rows, others = [p, q], [(1, b), (b, a)]
        found = [p == q, p != q, rows == others, [a, b] == rows[0], {"k": p} == {"k": q}]
        count = 0
        if p == q:
            count = 1
        while p != q:
            a = a + 1
            p, q = (a, b), (b, a)
        return found, count, a, (p, q) == (q, p), p == 3

    compiled, jitted = ag.function(f), jax.jit(ag.convert(f))
    for a, b in ((1, 1), (1, 4), (3, 4)):
        assert list(differences(f(a, b), compiled(jnp.array(a), jnp.array(b)))) == []
        assert list(differences(f(a, b), jitted(a, b))) == []


def test_tuples_and_lists_in_order_or_equal():
    def f(a, b):
        return (
            (a, b) <= (1, 2),
            (a, b) >= (1, 2),
            [a, b] < [1, 2],
            [a, b] >= [1, 2],
            (a,) <= (b,),
            (a, b, 1) > (1, 2, 0),
        )

    jitted = jax.jit(ag.convert(f))
    for a, b in itertools.product((0, 1, 2, 3), (1, 2, 3)):
        assert list(differences(f(a, b), jitted(a, b))) == []
    for a, b in itertools.product(
        (1.0, float("nan")), (float("nan"), 2.0)
    ):  # two objects: Python asks for identity first
        assert list(differences(f(a, b), jitted(a, b))) == []


@dataclasses.dataclass(order=True)
class Task:
    priority: float
    name: str = dataclasses.field(compare=False)
    cost: float = 1.0


def test_dataclasses_are_compared_by_their_fields():
    def f(a, b):
        one, other = Task(a, "one", b), Task(b, "other", a)
        alike = Task(a, "alike", b)
        tasks = sorted([one, other, alike])
        best = one if one < other else other
        found = [one == other, one != other, one == alike, one <= other, one > other, one == 3]
        return found, best.cost, [task.priority for task in tasks], max(one, other).cost, min([other, one]).priority

    compiled, jitted = ag.function(f), jax.jit(ag.convert(f))
    for a, b in ((1.0, 2.0), (2.0, 1.0), (1.5, 1.5)):
        assert list(differences(f(a, b), compiled(jnp.float32(a), jnp.float32(b)))) == []
        assert list(differences(f(a, b), jitted(a, b))) == []


class Card:
    suits = ("clubs", "hearts")

    def __init__(self, rank, suit):
        self.rank = rank
        self.suit = suit

    def __eq__(self, other):
        return self.rank == other.rank and self.suit == other.suit

    def __lt__(self, other):
        if self.rank != other.rank:
            return self.rank < other.rank
        return self.suits.index(self.suit) < self.suits.index(other.suit)


@functools.total_ordering
class Version:
    def __init__(self, number):
        self.number = number

    def __eq__(self, other):
        return self.number // 10 == other.number // 10

    def __lt__(self, other):
        return self.number // 10 < other.number // 10


def by_rest(a, b):
    if a % 3 != b % 3:
        return a % 3 - b % 3
    return b - a


def test_objects_are_compared_by_their_class():
    def hand(a, b):
        cards = [Card(a, "hearts"), Card(b, "clubs"), Card(4, "clubs"), Card(3, "hearts")]
        best, least = max(cards), min(cards, key=lambda card: Card(-card.rank, card.suit))
        cards.sort()
        hearts = [card.suit == "hearts" for card in cards]
        cards[0].rank += 10
        ranks = [card.rank for card in cards]
        four = Card(4, "clubs")
        return hearts, ranks, best.rank, least.suit == "clubs", four in cards, cards.index(four), cards.count(four)

    def versions(a, b):
        found = [Version(a), Version(b), Version(21), Version(20), Version(39)]
        up, down = sorted(found), sorted(found, reverse=True)
        numbers = [[v.number for v in order] for order in (up, down)]
        return numbers, max(Version(a), Version(b)).number, Version(a) >= Version(b), Version(a) <= Version(29)

    def by_comparison(a, b):
        key = functools.cmp_to_key(by_rest)
        given = [a, 5, b, 3]
        orders = sorted(given, key=key), sorted(given, key=key, reverse=True), sorted([5, 3], key=key)
        return orders, max(given, key=key), min(given, key=functools.cmp_to_key(lambda a, b: b - a))

    for function in (hand, versions, by_comparison):
        compiled, batched = ag.function(function), jax.jit(jax.vmap(ag.convert(function)))
        pairs = [(3, 5), (5, 3), (4, 4), (21, 30), (25, 26)]
        found = batched(*map(jnp.array, zip(*pairs, strict=True)))
        for lane, (a, b) in enumerate(pairs):
            wanted = function(a, b)
            assert list(differences(wanted, compiled(jnp.array(a), jnp.array(b)))) == []
            assert list(differences(wanted, jax.tree.map(lambda leaf: leaf[lane], found))) == []  # noqa: B023


def test_names_for_tuples_are_ordered_item_by_item():
    def f(a, b):
        best = None
        for pair in ((a, 1), (b, 2), (2, b)):
            key = (pair[0], pair[1])
            if best is None or key > best:
                best = key
        return best

    jitted = jax.jit(ag.convert(f))
    for a, b in itertools.product((1, 2, 3), (1, 2, 3)):
        assert list(differences(f(a, b), jitted(a, b))) == []


class Reading:
    """Told apart by ``!=`` alone: ``==`` asks for identity."""

    def __init__(self, value):
        self.value = value

    def __ne__(self, other):
        return abs(self.value - other.value) > 1


def test_a_class_that_defines_nothing_but_unequal():
    def readings(a, b):
        one, other, same = Reading(a), Reading(b), Reading(a)
        changed = 0
        for each in (other, same, one):
            if each != one:
                changed += 1
        return changed, one != other, one == other, one == one, one == same, one in [same], one in [other, one]

    compiled = ag.function(readings)
    for a, b in [(3, 5), (5, 4), (4, 4)]:
        assert list(differences(readings(a, b), compiled(jnp.array(a), jnp.array(b)))) == []
