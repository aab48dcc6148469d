"""``sum``, ``max``, ``min``, ``any``, ``all`` and ``next`` of generator expressions that are staged loops, and of ranges."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests.agreement import differences
from tests.jaxprs import Counts


def perfect(n):
    return sum(d for d in range(1, n) if n % d == 0) == n


def prime(n):
    return n > 1 and all(n % d for d in range(2, n))


def products(n):
    return sum(i * j for i in range(n) for j in range(i) if (i + j) % 2)


def pairs(n):
    return any(i * j == 12 for i in range(n) for j in range(i)), max(
        (i * j % 7 for i in range(n) for j in range(3)), default=-1
    )


def triangle(n):
    return sum(sum(j for j in range(i)) for i in range(n)), sum(
        max((j % 3 for j in range(i)), default=9) for i in range(n)
    )


def started(n):
    return sum((i for i in range(n)), 10), sum((i / 2 for i in range(n)), start=0.5), sum(range(n), 7)


def extremes(n):
    return max(((i * 7) % 5 for i in range(n)), default=None), min((-i * i for i in range(1, n) if i != 2), default=3)


def of_pairs(n):
    return max((((i * 7) % 5, -i) for i in range(n)), default=(0, 0)), min(
        ((i % 3, i) for i in range(n)), default=(5, 5)
    )


def in_a_loop(n):
    count = 0
    for k in range(n):
        if any(k % d == 0 for d in range(2, k)):
            count += sum(d for d in range(1, k) if k % d == 0)
    return count


def in_a_test(n):
    while sum(1 for d in range(1, n + 1) if n % d == 0) != 2:
        n += 1
    return n


def in_a_branch(n):
    if n > 3:
        found = sum(i * i for i in range(n))
    else:
        found = max((i for i in range(n)), default=0)
    return found


def of_ranges(n):
    return (
        sum(range(n)),
        sum(range(3, n * 3, 2)),
        max(range(n), default=-1),
        min(range(5, n), default=None),
        len(range(2, n)),
    )


def in_ranges(n):
    return (
        3 in range(n),
        n in range(1, 10, 3),
        4 in range(n, 0, -1),
        n in range(9, 2, -2),
        range(n + 1)[-1],
        range(3, 30)[n],
    )


def calling(n):
    def weight(i):
        if i % 2:
            return i
        return -i

    return (
        sum(weight(i) for i in range(n)),
        any(weight(i) > 4 for i in range(n)),
        min((weight(i) for i in range(n)), default=0),
    )


def first_found(n):
    divisor = next((d for d in range(2, n) if n % d == 0), None)
    if divisor is None:
        divisor = n
    return divisor, next((i * j for i in range(n) for j in range(i) if i + j == 9), -1), next((i for i in range(n)), 7)


in_a_lambda = lambda n: sum(max((i * j % 5 for i in range(j)), default=0) for j in range(n))  # noqa: E731


PROGRAMS = [
    perfect, prime, products, pairs, triangle, started, extremes, of_pairs, in_a_loop, in_a_test, in_a_branch, of_ranges, in_ranges,
    calling, first_found, in_a_lambda,
]  # fmt: skip


def resolve(tree):
    return jax.tree.map(
        lambda leaf: leaf.resolve() if isinstance(leaf, ag.Optional) else leaf,
        tree,
        is_leaf=lambda leaf: isinstance(leaf, ag.Optional),
    )


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_over_ranges_whose_bounds_are_traced(program):
    compiled, bare, batched = ag.function(program), jax.jit(ag.convert(program)), jax.vmap(ag.convert(program))
    numbers = [0, 1, 2, 6, 13] if program is not in_a_test else [1, 2, 6, 13]
    lanes = batched(jnp.array(numbers))
    for k, n in enumerate(numbers):
        wanted = program(n)
        assert list(differences(wanted, compiled(jnp.int32(n)), widens=True)) == []
        assert list(differences(wanted, resolve(bare(n)), widens=True)) == []
        lane = resolve(jax.tree.map(lambda leaf, k=k: leaf[k], lanes))
        assert list(differences(wanted, lane, widens=True)) == []
        assert program(n) == ag.convert(program)(n)


def test_an_empty_range_raises_what_python_raises():
    def greatest(n):
        return max(i % 3 for i in range(n))

    assert int(ag.function(greatest)(jnp.int32(3))) == 2
    for empty in (greatest, lambda n: min(range(n))):
        with pytest.raises(ValueError) as wanted:
            empty(0)
        with pytest.raises(ValueError) as found:
            ag.function(empty)(jnp.int32(0))
        assert found.value.args == wanted.value.args


def test_next_stops_where_python_stops_and_raises_what_python_raises(capfd):
    def search(n, least):
        def looked(i):
            print("at", i)
            return i * i >= least

        return next(i for i in range(n) if looked(i))

    found = ag.function(search)
    for n, least in ((9, 10), (3, 0)):
        wanted = search(n, least)
        printed = capfd.readouterr().out
        assert int(found(jnp.int32(n), least)) == wanted
        jax.effects_barrier()
        assert capfd.readouterr().out == printed
    with pytest.raises(StopIteration):
        found(jnp.int32(2), 10)


def squares(x):
    return sum(v * v for v in x)


def weighted(x):
    return sum(v * w for v, w in zip(x, x[::-1])) + sum(x[i] * i for i in range(len(x)))


def greatest_row(x):
    return max(v * (i % 5) for i, v in enumerate(x)), min((v for v in x), default=0.0)


def signs(x):
    return any(v > 1.5 for v in x), all(v > -2 for v in x), any(v < w for v, w in zip(x, x[1:]) if v > 0)


@pytest.mark.parametrize("program", [squares, weighted, greatest_row, signs], ids=lambda f: f.__name__)
@pytest.mark.parametrize("size", [3, 200])
def test_over_arrays(program, size):
    x = jnp.asarray(np.sin(np.arange(1, size + 1)).astype(np.float32))
    wanted = program(np.asarray(x))
    for found in (
        ag.function(program)(x),
        jax.jit(ag.convert(program))(x),
        jax.tree.map(lambda lanes: lanes[1], jax.vmap(ag.convert(program))(jnp.stack([-x, x]))),
    ):
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-3), found, wanted)


def test_long_ones_are_one_loop_and_short_ones_none():
    long, short = (Counts(ag.convert(squares), jnp.ones(size)) for size in (1000, 10))
    assert (long.loops, short.loops) == (1, 0)
    assert long.total < 30


def test_over_arrays_of_symbolic_size():
    def measure(x):
        best = None
        for v in x:
            if best is None or v > best:
                best = v
        return (
            sum(v * v for v in x),
            max(v for v in x),
            sum(x[i] * i for i in range(len(x))),
            any(v > 2 for v in x),
            best,
        )

    shape = jax.export.symbolic_shape("size")
    exported = jax.export.export(jax.jit(ag.convert(measure)))(jax.ShapeDtypeStruct(shape, jnp.float32))
    for x in (np.array([1.0, 3.0, 2.0], np.float32), np.array([-1.0], np.float32)):
        jax.tree.map(np.testing.assert_allclose, resolve(exported.call(x)), measure(x))


def test_the_first_element_may_be_none():
    def first(n, c):
        return next((None for i in range(n) if i > c), 7)

    found = ag.function(first)
    for n, c in ((4, 2), (4, 9), (0, 0)):
        assert resolve(found(jnp.int32(n), c)) == first(n, c)


def test_elements_that_may_be_none_are_an_error_of_the_run():
    def greatest(n):
        return max((None if i == 2 else i) for i in range(n))

    assert int(ag.function(greatest)(jnp.int32(2))) == 1
    with pytest.raises(TypeError, match="None"):
        ag.function(greatest)(jnp.int32(3))


def test_sums_of_rows_and_gradients():
    def energy(rows, n):
        total = sum(rows[i] * i for i in range(n))
        return (total * total).sum() + max(rows[i][0] for i in range(n))

    rows = jnp.arange(12.0).reshape(4, 3) / 7
    bounded = lambda rows: energy(rows, 3)
    wanted = jax.value_and_grad(bounded)(rows)
    found = jax.jit(jax.value_and_grad(ag.convert(energy)))(rows, 3)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5), found, wanted)


def test_conditions_on_items_of_a_list():
    def positive(a, b, c):
        values = [a, b, c]
        return (
            sum(v for v in values if v > 0),
            max((v for v in values if v < 5), default=-1.0),
            min(v for v in (a, b, c) if v == v),
        )

    compiled = ag.function(positive)
    for values in ([1.0, -2.0, 7.0], [-1.0, -1.0, -1.0], [9.0, 8.0, 7.0]):
        found = compiled(*map(jnp.float32, values))
        assert list(differences(positive(*values), found, widens=True)) == []


def test_any_and_all_stop_where_python_stops(capfd):
    def search(n):
        def looked(i):
            print("at", i)
            return i * i > 10

        return any(looked(i) for i in range(n)), all(not looked(i) for i in range(n))

    compiled = ag.function(search)
    for n in (0, 3, 9):
        wanted = search(n)
        printed = capfd.readouterr().out
        found = compiled(jnp.int32(n))
        jax.effects_barrier()
        assert (tuple(map(bool, found)), capfd.readouterr().out) == (wanted, printed)


def test_other_functions_of_that_name_get_the_generator():
    def of_my_own(n):
        def sum(values):
            return list(values)

        return sum(i + n for i in range(3))

    assert list(map(int, ag.function(of_my_own)(jnp.int32(2)))) == [2, 3, 4]
    names = {"__name__": __name__, "max": lambda values: (type(values).__name__, list(values))}
    namesake = type(of_module)(of_module.__code__, names)
    assert ag.convert(namesake)(range(3)) == namesake(range(3)) == ("generator", [0, 1, 2])
    assert jax.eval_shape(lambda x: jnp.zeros(ag.convert(namesake)(range(100))[1][-1]) + x, 1.0).shape == (99,)


def of_module(values):
    return max(v for v in values)


def test_outside_of_traces_it_is_pythons_own():
    def measure(values):
        return sum(v for v in values), sum(v for v in values if v > 0.2), max((v for v in values), default=None)

    values = [0.1] * 10 + [0.3, 1e16, 1.0, -1e16]
    assert ag.convert(measure)(values) == measure(values)
    seen = []

    def first_that_fails(values):
        return sum(seen.append(v) or 1 / v for v in values)

    with pytest.raises(ZeroDivisionError):
        ag.convert(first_that_fails)(iter([1, 0, 2]))
    assert seen == [1, 0]


@pytest.mark.parametrize("items", [[1, 2], [(1, 2, 3)], [(1,)]])
def test_items_that_cannot_be_unpacked_raise_what_python_raises(items):
    def total(x):
        return sum(a + b for a, b in items) + x

    with pytest.raises((TypeError, ValueError)) as wanted:
        total(0)
    for way in (ag.function, ag.convert):
        with pytest.raises(wanted.type) as found:
            way(total)(jnp.int32(0))
        assert str(found.value) == str(wanted.value)


def test_lists_of_unknown_length_have_room_where_the_call_can_run_again():
    def listed(n):
        return [i * i for i in range(n)]

    assert [int(each) for each in ag.function(listed)(jnp.int32(3))] == [0, 1, 4]
    with pytest.raises(ag.StagingError, match="test_reductions.py:"):
        jax.jit(ag.convert(listed))(jnp.int32(3))


def folded_by_what_is_written(x):
    seen, count = [x], 0

    def step(k):
        nonlocal count
        count += 1
        seen[0] = jnp.tanh(seen[0]) * jnp.cos(seen[0] + k)
        return seen[0]

    total = sum(step(k) for k in range(70))
    negative = any(step(k + j) < -2 for k in range(70) for j in range(2))
    least = min(step(k) for k in range(70) if step(k) < 3)
    return total, negative, least, seen[0], count


def test_elements_that_write_what_later_ones_read():
    wanted = folded_by_what_is_written(jnp.float32(1.0))
    for found in (
        ag.function(folded_by_what_is_written)(jnp.float32(1.0)),
        jax.jit(ag.convert(folded_by_what_is_written))(1.0),
    ):
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6), found, wanted)
