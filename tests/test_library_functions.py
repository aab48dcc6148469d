"""Functions of `math` and `statistics` over iterables and whole numbers, of traced values: as Python has them."""

from __future__ import annotations

import math
import operator
import statistics
from collections import Counter

import jax
import jax.numpy as jnp
import pytest

import autograph as ag
from tests import staged
from tests.agreement import agrees_when_compiled, differences


def of_displays(x):
    values = [x, 2.0, x * x]
    spread = statistics.stdev(values), statistics.pstdev(values), statistics.variance(values, 1.0)
    middle = statistics.median(values), statistics.median([*values, 1.0]), statistics.median_low([x, 1.0])
    return statistics.mean(values), spread, middle, statistics.pvariance(values, mu=x), statistics.median_high([x, 1.0])


def of_lists_of_traced_length(x):
    kept = [v for v in [x, 2.0, x * x] if v > 0.2]
    return statistics.mean(kept), statistics.median(kept), statistics.pstdev(kept), math.prod(kept), math.fsum(kept)


def of_generators(x):
    shifted = math.fsum(v / 2 for v in [x, 1.0]), statistics.fmean(v * 2 for v in [x, 3.0])
    return shifted, math.prod(v + 1 for v in [x, 2.0] if v > 1), math.prod([x, 2.0], start=3)


def weighted(x):
    return statistics.fmean([x, 1.0, 2.0], weights=[1.0, x, 1.0]), math.hypot(x, 1.0, 2.0), math.hypot(x)


def in_branches(x):
    if x > 1:
        return statistics.median([3.0, x, 1.0, 2.0])
    return statistics.stdev([3.0, x, 1.0, 2.0])


def in_a_loop(x):
    best, window = 0.0, []
    for k in range(5):
        window.append(x * k % 1.5)
        best = max(best, statistics.mean(window[-2:]))
    return best


def frequent(x):
    values = [1.5, x, 2.0, 1.5, x * x]
    kept = [v for v in values if v > 1]
    modes = statistics.multimode(values), statistics.multimode(kept)
    return statistics.mode(values), statistics.mode(kept), [(len(each), sum(each)) for each in modes]


def divided(x):
    values = [x, 2.0, x * x, 0.25]
    kept = [v for v in values if v > 0.2]
    parts = (
        statistics.quantiles(values, n=10, method="inclusive"),
        statistics.quantiles(values),
        statistics.quantiles(kept),
    )
    return parts, statistics.harmonic_mean(values), statistics.harmonic_mean([x, 2.0], weights=[1, 3])


@pytest.mark.parametrize(
    "program",
    [of_displays, of_lists_of_traced_length, of_generators, weighted, in_branches, in_a_loop, frequent, divided],
)
def test_of_reals(program):
    agrees_when_compiled(program, (0.5,), (1.5,), (3.0,))
    for x in (0.5, 3.0):
        assert list(differences(program(x), staged.jitted(program)(x), widens=True)) == []


def of_integers(n):
    total = 0
    for k in range(n):
        total += math.comb(n, k) * math.factorial(k) - math.perm(n, k)
    common = math.gcd(6 * n, 4, 10), math.lcm(n, 4, 6), math.gcd(n), math.lcm(n - 3), math.gcd(*[n, 2 * n, 3 * n])
    return (
        total,
        common,
        math.perm(n, None),
        math.comb(5, n),
        math.comb(n, 2),
        math.perm(n),
        math.factorial(n) if n > 2 else -1,
    )


def test_of_integers():
    agrees_when_compiled(of_integers, (0,), (1,), (2,), (6,))
    assert jax.vmap(ag.convert(lambda n: math.factorial(n)))(jnp.array([3, 4])).tolist() == [6, 24]


def test_gradients():
    assert jax.grad(ag.convert(lambda x: statistics.variance([x, 1.0, 2.0])))(4.0) == pytest.approx(5 / 3)


def mean_of_none(n):
    return statistics.mean([v for v in [n, 1] if v > 5])


def spread_of_one(n):
    return statistics.stdev([v for v in [n, 1] if v > 3])


def median_of_none(n):
    return statistics.median([v for v in [n, 1] if v > 5])


@pytest.mark.parametrize(
    "call",
    [
        lambda n: math.factorial(n - 9),
        lambda n: math.comb(n - 9, 2),
        lambda n: math.comb(n, 2 - n),
        lambda n: math.perm(n - 9),
        mean_of_none,
        lambda n: statistics.mode([v for v in [n, 1] if v > 5]),
        lambda n: statistics.quantiles([v for v in [n, 1] if v > 5]),
        lambda n: statistics.harmonic_mean([n - 9, 1]),
        spread_of_one,
        median_of_none,
        lambda n: statistics.mean([]),
    ],
)
def test_errors_are_those_of_python(call):
    with pytest.raises(ValueError) as wanted:
        call(4)
    with pytest.raises(type(wanted.value)) as found:
        ag.function(call)(jnp.int32(4))
    assert str(found.value) == str(wanted.value)


def test_quantiles_of_one_value_are_those_of_this_python():
    """Python 3.13 gives the value itself; earlier ones raise."""

    def quartiles(a, b):
        try:
            return statistics.quantiles([v for v in [a, b] if v > 3])
        except statistics.StatisticsError as problem:
            return [str(problem)]

    for values in ((4.0, 1.0), (4.0, 6.0)):
        assert list(ag.function(quartiles)(*map(jnp.float32, values))) == quartiles(*values)


def test_floats_are_no_whole_numbers():
    with pytest.raises(TypeError, match="'float' object cannot be interpreted as an integer"):
        ag.function(lambda x: math.factorial(x))(jnp.float32(3.0))


def handled(x):
    try:
        total = math.fsum([1.0 / x, 1.0, x])
    except ZeroDivisionError:
        total = -1.0
    try:
        total += math.fsum([math.inf, x - math.inf])
    except ValueError:
        total -= 10.0
    try:
        total += math.factorial(round(x) - 1)
    except ValueError:
        total += 100.0
    try:
        return total + statistics.mean([v for v in [x, 3.0] if v > 3.5])
    except statistics.StatisticsError:
        return total


def overflowing(x):
    try:
        return math.fsum([x * 1e300, 1.7e308, 1.0])
    except OverflowError:
        return -1.0


def test_handlers_take_what_they_raise():
    agrees_when_compiled(handled, (0.0,), (1.0,), (4.0,))
    for x in (0.0, 4.0):
        assert list(differences(handled(x), staged.jitted(handled)(x), widens=True)) == []
    with jax.enable_x64(True):
        agrees_when_compiled(overflowing, (1.0,), (1e8,))


def most_common(n):
    counts, words = Counter({"a": n, "b": 3, "c": 1}), Counter()
    for k in range(n):
        words["even" if k % 2 == 0 else "odd"] += k
    word, much = words.most_common(1)[0]
    ranked = [count for _, count in counts.most_common()], [count for _, count in counts.most_common(2)]
    return ranked, counts.most_common(-1), word == "odd", much, len(words.most_common())


def test_the_most_common_of_counts_that_are_traced():
    agrees_when_compiled(most_common, (2,), (3,), (7,))


def test_functions_of_operator():
    def read(items, i, x):
        rows = list(map(operator.getitem, [items, items], [i, 0]))
        table = {0: x, 1: 2.0}
        known = operator.getitem(table, 0), operator.contains("abc", "b"), operator.contains(table, 1)
        found = operator.contains(items, x), operator.__contains__((1.0, x), 3.0), operator.contains(range(3), i)
        return operator.getitem(items, i), operator.getitem((x, 2.0), i), operator.getitem(table, i), rows, known, found

    agrees_when_compiled(read, ([1.0, 3.0], 1, 3.0), ([1.0, 3.0], 0, 2.0))
