"""What a loop reads of an array that it writes: held apart from its uses on a CPU, so that XLA copies no array."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from autograph.backends.xla import jax_compat
from autograph.backends.xla.optimize.held_reads import hold_reads
from tests.test_updates_in_place import SIZE, copies_in_loops

X = jnp.arange(12.0)


def barriers(program):
    return sum(jax_compat.name_of(each) == "optimization_barrier" for each in jax_compat.all_equations(program.jaxpr))


def written(x, i, j):
    return x.at[i].set(x[j] + 1.0)


def written_twice(x, i, j):
    first = x[j]
    x = x.at[i].set(first + 1.0)
    return x.at[j].set(first * x[i]), first


def a_table(x, i, j):
    x = jnp.stack([x, x + 1.0])
    return x.at[1, i].set(x[0, j])


def not_written(x, i, j):
    return x[i] + x[j]


def read_whole(x, i, j):
    return x.at[i].set(jnp.sum(x * 2.0)), j


def most_of_it(x, i, j):
    return x.at[i].set(0.0), x[:9] * j


@pytest.mark.parametrize(
    "block, count",
    [(written, 1), (written_twice, 2), (a_table, 1), (not_written, 0), (read_whole, 0), (most_of_it, 0)],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_small_reads_of_what_is_written_are_held(block, count):
    program = jax.make_jaxpr(block)(X, 1, 2)
    held = hold_reads(program)
    assert barriers(held) == count
    assert (held is program) == (count == 0)
    for i, j in ((0, 0), (1, 4), (4, 1), (-1, 20), (20, -1)):
        for mine, its in zip(jax_compat.replay(held, X, i, j), jax_compat.replay(program, X, i, j), strict=True):
            np.testing.assert_array_equal(mine, its)


def counted(seen, steps, start):
    """A walk over a table of jumps that counts visits under a condition."""
    k, total = start, 0
    for _ in range(40):
        before = seen[k]
        if before < 2:
            seen[k] = before + 1
            total += seen[k] * k
        k = steps[k]
        if k % 3 == 0:
            seen[k] += total % 5
    return seen, total


def search(distance, neighbours, start):
    order = distance * 0
    distance[start], order[0] = 0, start
    first, last = 0, 1
    while first < last:
        node = order[first]
        first += 1
        for k in range(3):
            other = neighbours[node, k]
            if distance[other] < 0:
                distance[other] = distance[node] + 1
                order[last] = other
                last += 1
    return distance


def search_by_a_list(distance, neighbours, start):
    distance[start] = 0
    order = [start]
    first = 0
    while first < len(order):
        node = order[first]
        first += 1
        for k in range(3):
            other = neighbours[node, k]
            if distance[other] < 0:
                distance[other] = distance[node] + 1
                order.append(other)
    return distance


def smoothed(x, n):
    i = 1
    while i < n:
        left = x[i - 1]
        if left > x[i]:
            x[i] = 0.5 * (left + x[i])
        x[i - 1] = left * x[i]
        i += 1
    return x.sum()


RNG = np.random.default_rng(0)
STEPS, NEIGHBOURS = RNG.integers(0, SIZE, SIZE, np.int32), RNG.integers(0, SIZE, (SIZE, 3), np.int32)
NOWHERE = np.full(SIZE, -1, np.int32)


def test_only_where_a_loop_is_lowered_for_a_cpu():
    types = [jax.ShapeDtypeStruct(shape, jnp.int32) for shape in ((SIZE,), (SIZE,), ())]
    for platform in ("cpu", "cuda", "tpu"):
        text = ag.function(counted).lower(*types, platforms=[platform]).as_text()
        assert ("optimization_barrier" in text) == (platform == "cpu")


@pytest.mark.parametrize("program", [search, search_by_a_list])
def test_a_search(program):
    want = program(NOWHERE.copy(), NEIGHBOURS, 5)
    np.testing.assert_array_equal(ag.function(program)(NOWHERE, NEIGHBOURS, 5), want)


def test_a_batch():
    starts = np.array([3, 7])
    want = [counted(np.zeros(SIZE, np.int32), STEPS, start) for start in starts]
    seen, totals = jax.vmap(ag.convert(counted), (None, None, 0))(jnp.zeros(SIZE, jnp.int32), STEPS, starts)
    np.testing.assert_array_equal(seen, [each for each, _ in want])
    np.testing.assert_array_equal(totals, [each for _, each in want])


def test_a_gradient():
    x = np.array([3.0, 1.1, 2.5, 0.7, 1.9])
    steps = [(smoothed(x + d, 5) - smoothed(x - d, 5)) / 2e-6 for d in 1e-6 * np.eye(5)]
    np.testing.assert_allclose(jax.grad(ag.convert(smoothed))(jnp.asarray(x), 5), steps, rtol=1e-4)


def test_an_array_of_a_symbolic_size():
    (size,) = jax.export.symbolic_shape("n")
    types = jax.ShapeDtypeStruct((size,), jnp.float32), jax.ShapeDtypeStruct((), jnp.int32)
    exported = jax.export.export(jax.jit(ag.convert(bubbled)))(*types)
    x = np.array([3.0, 2.0, 1.0, 5.0], np.float32)
    np.testing.assert_array_equal(exported.call(x, 3), bubbled(x.copy(), 3))


def bubbled(x, n):
    i = 1
    while i < n:
        left = x[i - 1]
        if left > x[i]:
            x[i - 1], x[i] = x[i], left
        i += 1
    return x


@pytest.mark.skipif(jax.__version_info__ < (0, 11), reason="XLA of this version removes barriers before it fuses")
def test_a_search_copies_no_array():
    if jax.default_backend() != "cpu":
        pytest.skip("other backends print other programs")
    assert not copies_in_loops(lambda x: ag.convert(search)(x.astype(jnp.int32), NEIGHBOURS, 5), jnp.ones(SIZE))
