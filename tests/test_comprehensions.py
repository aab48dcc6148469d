"""Comprehensions whose conditions, or elements, depend on traced values."""

from __future__ import annotations

import contextlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests import staged
from tests.agreement import differences
from tests.jaxprs import Counts


def with_condition(x):
    return [v * 2 for v in x if v > 0]


def length(x):
    return len([v for v in x if v > 0 if v < 3])


def summed(x):
    return sum(v * v for v in x if v > 0)


def greatest(x):
    return max(v if v > 1 else -v for v in x if v != 0)


def quantified(x):
    return any(v > 2 for v in x if v < 4), all(v > 0 for v in x if v != -1), any(v > 9 for v in x)


def quantified_over_pairs(x):
    some = any(a > b for a in x if a < 3 for b in x if b > 0)
    every = all(a > b for a in x if a > 2 for b in x if b < 0)
    return some, every, any(a == b + 1 for a in x for b in x if b > 1), all(a * b < 9 for a in x if a > 0 for b in x)


def nested(x):
    return [a * b for a in x if a > 0 for b in x if b > a]


def of_python_items(x):
    return [k for k in range(4) if x[k] > 0]


def in_a_test(x):
    if len([v for v in x if v > 0]) > 2:
        return x.sum()
    return x[0]


def in_a_branch(x):
    kept = [x[0]]
    if x[0] > 0:
        kept = [v for v in x if v > 0]
    return kept


def in_a_loop(x):
    total = 0
    for a in x:
        total += len([b for b in x if b > a])
    return total


def conditional_elements(x):
    return [v if v > 0 else -v for v in x]


def names_bound_twice(x):
    rows = [(v, k, 2 * v) for k, v in enumerate(x) if v > 0]
    last = [w for _, _, w in rows] + [k for k, k, _ in sorted(rows)]
    pairs = [w - v for _, _, w in rows for _, v, _ in rows if w > v]
    best = max((w for _, _, w in rows), default=0.0), {k: v for _, k, v in rows if v > 2}
    return sum(last), len(last), sum(pairs), sum(w for _, _, w in rows if w > 2), best[0], len(best[1])


def plain(x):
    words = [w.upper() for w in ("a", "bb", "ccc") if len(w) > 1]
    return x.sum() * len(words), sorted(len(w) for w in words if w)


PROGRAMS = [
    with_condition, length, summed, greatest, quantified, quantified_over_pairs, nested, of_python_items, in_a_test, in_a_branch, in_a_loop,
    conditional_elements, names_bound_twice, plain,
]  # fmt: skip
INPUTS = [[1.0, 2.0, 2.0, 3.0], [-1.0, 2.0, -3.0, 4.0], [-1.0, -2.0, -3.0, -4.0], [3.0, 1.0, -1.0, -1.0]]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_like_plain_python(program):
    compiled = ag.function(program)
    for values in INPUTS:
        x = jnp.array(values)
        wanted = program(x)
        assert list(differences(wanted, compiled(x), widens=True)) == []
        found = staged.jitted(program)(x)
        found = list(found) if isinstance(found, list) else found
        assert list(differences(wanted, found, widens=True)) == []


def in_lambdas(x):
    larger = lambda row, t: [v for v in row if v > t]  # noqa: E731
    pairs = lambda row: [a * b for a in row for b in row if a > b]  # noqa: E731
    return larger(x, 2), pairs(x), list(map(lambda t: len([v for v in x if v > t]), [1.0, 3.0]))


def consumed_in_lambdas(x):
    ordered = lambda row: sorted(v for v in row if v > 2)  # noqa: E731
    return ordered(x), (lambda row: {v for v in row if v > 2} == {5.0, 3.0, 4.0})(x)


def lambdas_inside(x):
    nearest = [min([1.0, 2.0, 6.0], key=lambda q: abs(q - v)) for v in x if v > 2]
    last = [lambda: v for v in x if v > 2]
    return nearest, [each() for each in last]


def lambdas_over_a_range(y, k):
    called = [(lambda a: a + i)(1) for i in range(k)]
    ordered = [sorted([3, 1], key=lambda v: v * (2 - i)) for i in range(k)]
    return (
        sum(called),
        [sum(each[:1]) for each in ordered][-1],
        sum([(lambda a: a + i + j)(1) for i in range(k) for j in range(i)]),
    )


def lambdas_over_a_list(y, k):
    kept = [v for v in y if v > 1]
    best = {v: max([1, 2], key=lambda a: a * v) for v in kept}
    return sum([max([1, 2], key=lambda a: a * -v) for v in kept]), sum(best), len({(lambda a: a % 2)(v) for v in y[:k]})


def lambdas_in_generators(y, k):
    some = any((lambda a: a * v)(2) > 3 for v in y[:k]), next((lambda a: a * v)(2) for v in y[:k])
    return sum((lambda a: a * v)(2) for v in y[:k]), sorted((lambda a: -a * v)(2) for v in y[:k])[0], *some


def lambdas_in_inner_comprehensions(y, k):
    rows = [[(lambda a: a + i)(j) for i in range(k)] for j in (1, 2)]
    sums = [sum([(lambda a: a * w)(2) for w in y[:v]]) for v in y[:k]]
    return sum(rows[0]) + sum(rows[1]), sum(sums), sum([sum(map(lambda a: a + v, [1, 2])) for v in y[:k]])


def lambdas_that_outlive_their_iteration(y, k):
    i = 40
    over_range = [lambda: i for i in range(k)]
    over_items, bound = [lambda a: a + v for v in y], [lambda a, v=v: a + v for v in y]
    short, called = [lambda: j for j in range(3)], sum([f() for f in [lambda: v for v in y[:k]]])
    return over_range[0]() + i, sum([f(1) for f in over_items]), sum([f(1) for f in bound]), short[0](), called


LAMBDAS_OVER_ARRAYS = [lambdas_over_a_list, lambdas_in_generators]
LAMBDAS_OVER_RANGES = [lambdas_over_a_range, lambdas_in_inner_comprehensions, lambdas_that_outlive_their_iteration]


@pytest.mark.parametrize("program", [*LAMBDAS_OVER_ARRAYS, *LAMBDAS_OVER_RANGES], ids=lambda each: each.__name__)
def test_lambdas_in_comprehensions_of_traced_length(program):
    values = [1, 2, 2, 3, 2, 5]
    compiled = ag.function(program)
    for k in (4, 2):
        wanted = program(values, k)
        assert list(differences(wanted, compiled(jnp.array(values), jnp.array(k)), widens=True)) == []
        assert list(differences(wanted, ag.convert(program)(values, k))) == []


@pytest.mark.parametrize("program", LAMBDAS_OVER_ARRAYS, ids=lambda each: each.__name__)
def test_lambdas_in_comprehensions_of_traced_length_under_vmap(program):
    values = [1, 2, 2, 3, 2, 5]
    found = jax.jit(jax.vmap(ag.convert(program), (None, 0)))(jnp.array(values), jnp.array([4, 2]))
    for lane, k in enumerate((4, 2)):
        mine = jax.tree.map(lambda leaf, lane=lane: leaf[lane], found)
        assert list(differences(program(values, k), mine, widens=True)) == []


def test_a_list_of_traced_length_of_lambdas_with_traced_defaults_is_refused():
    def f(n):
        added = [lambda a, i=i: a + i for i in range(n)]
        return added[0](1)

    with pytest.raises(ag.StagingError, match=r"holds elements of different structure: <function .*<lambda> at"):
        ag.function(f)(jnp.array(3))


def of_a_class_in_the_function(x):
    class Above:
        def __init__(self, threshold):
            self.threshold = threshold

        def kept(self, x):
            return [v - self.threshold for v in x if v > self.threshold]

    return Above(2.0).kept(x)


@pytest.mark.parametrize("program", [in_lambdas, consumed_in_lambdas, lambdas_inside, of_a_class_in_the_function])
def test_in_lambdas_and_methods(program):
    x = (5.0, 3.0, 1.0, 4.0)
    assert ag.function(program)(jnp.array(x)) == program(x)


def test_unconverted_values_stay_as_they_were():
    for values in INPUTS:
        for program in PROGRAMS:
            assert list(differences(program(np.array(values)), ag.convert(program)(np.array(values)))) == []


calls = 0


def counted(q):
    global calls
    calls += 1
    return q > 0


def all_positive(w):
    global calls
    calls = 0
    found = all(counted(q) for q in w)
    made, calls = calls, 0
    return found, made


def any_positive(w):
    global calls
    calls = 0
    found = any(counted(q + r) for q in w if q != 0 for r in (0, 1))
    made, calls = calls, 0
    return found, made


@pytest.mark.parametrize("function", [all_positive, any_positive])
@pytest.mark.parametrize("values", [(1, -1, 2), (-1, 1, 2), (1, 1, 1), (-3, -3, 0), (0, 0, 0)])
def test_any_and_all_stop_at_the_element_that_decides(function, values):
    wanted = function(np.array(values))
    for way in (staged.function(function), staged.jitted(function), ag.convert(function)):
        found = way(jnp.array(values))
        assert (bool(found[0]), int(found[1])) == wanted


def test_chained_comparisons_in_an_iterable():
    def f(i, v):
        small = sum(q * 2 for q in ((3 if i <= (i or 4 + i) < i + 1 < 9 else 5), 0))
        return small + sum([q for q in (v if 0 < i + 1 <= 2 else -v) if 0 <= q + 1 < 3])

    compiled = ag.function(f)
    for i in (0, 1, 5):
        wanted = f(i, np.arange(3))
        assert int(compiled(jnp.int32(i), jnp.arange(3))) == wanted == ag.convert(f)(i, np.arange(3))


def test_in_the_items_of_with_in_targets_and_in_guards():
    @contextlib.contextmanager
    def holding(value):
        yield value

    def f(x, k):
        counts = jnp.zeros(4)
        with holding([v for v in x if v > 0]) as kept, holding(sum(v for v in kept if v < 9)) as total:
            counts[sum(1 for v in x if v > 1)] = total
        match k:
            case 1 if sum(v for v in x if v > 0) > 3:
                return counts
            case _:
                return counts + 1

    compiled = ag.function(f)
    for values in ([1.0, 2.0, -3.0], [4.0, 2.0, 1.0]):
        for k in (1, 2):
            expected = np.zeros(4)
            expected[sum(v > 1 for v in values)] = sum(v for v in values if v > 0)
            expected += not (k == 1 and sum(v for v in values if v > 0) > 3)
            np.testing.assert_allclose(compiled(jnp.array(values), jnp.int32(k)), expected)


def powers(x, n):
    return [x**k for k in range(n)]


def mixed(x, n):
    sizes = [k % 3 for k in range(n)]
    shapes = [jnp.zeros(k % 2) for k in range(n)]
    return [x[k % 3] + sizes[k] + shapes[k].size for k in range(n)], tuple(sizes)


@pytest.mark.parametrize("program", [powers, mixed])
@pytest.mark.parametrize("n", [3, 90])
@pytest.mark.filterwarnings("ignore::autograph.StagingWarning")
def test_lists_over_a_range(program, n):
    x = np.array([0.5, 0.9, 1.01], np.float32)
    wanted = program(x, n)
    for way in (ag.function, lambda f: jax.jit(ag.convert(f), static_argnums=1), ag.convert):
        found = way(program)(jnp.asarray(x), n)
        if program is mixed:
            found = list(found[0]), found[1]
        assert list(differences(wanted, list(found) if program is powers else found, widens=True)) == []


def test_long_lists_over_a_range_that_are_stacked_are_whole_arrays():
    def stacked(x):
        return jnp.stack([jnp.tanh(x) * jnp.cos(x + k) for k in range(500)])

    counts = Counts(ag.convert(stacked), jnp.ones(3))
    assert counts.loops == 0 and counts.total < 30, counts  # no row needs another: all are computed at once
    assert str(counts.jaxpr).count(":f32[500,3] = cos ") == 1 and str(counts.jaxpr).count(" cos ") <= 2
    np.testing.assert_allclose(ag.function(stacked)(jnp.ones(3))[499], np.tanh(1) * np.cos(500) * np.ones(3), rtol=1e-4)


def test_long_lists_over_a_range_whose_elements_follow_each_other_are_one_loop():
    def stacked(x):
        seen = [x]

        def step(k):
            seen[0] = jnp.tanh(seen[0]) * jnp.cos(seen[0] + k)
            return seen[0]

        return jnp.stack([step(k) for k in range(500)])

    counts = Counts(ag.convert(stacked), jnp.ones(3))
    assert counts.loops == 1 and str(counts.jaxpr).count(" tanh ") == str(counts.jaxpr).count(" cos ") == 1
    np.testing.assert_allclose(ag.function(stacked)(jnp.ones(3)), stacked(jnp.ones(3)), rtol=1e-4)


def targets_named_as_the_item_of_a_loop(x, n):
    total = 0
    for k in range(1, 4):
        if x > 0:
            total += sum([v * k for v in range(2) for k in (1, 2)])
            if n > 1:
                total += k
    return total


def targets_named_as_a_parameter(x, n):
    return (sum([n for n in (1, 2)]) + (n if n > 1 else 0) if x > 0 else 0), [[n for n in (n, 1)] for n in (x, n)]


@pytest.mark.parametrize("program", [targets_named_as_the_item_of_a_loop, targets_named_as_a_parameter])
def test_targets_that_shadow_variables_which_blocks_inside_of_blocks_read(program):
    for x, n in ((2, 3), (2, 1), (-1, 3)):
        expected = program(x, n)
        assert ag.convert(program)(x, n) == expected
        assert jax.tree.map(int, staged.function(program)(jnp.int32(x), jnp.int32(n))) == expected
