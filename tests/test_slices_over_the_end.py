"""Slices of a known size at traced places that reach over the end of their array, where NumPy has fewer elements."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests import staged


def add(x, n):
    for k in range(n):
        x[k : k + 2] += k
    return x


def put(x, n):
    for k in range(n):
        x[k : k + 2] = k
    return x


def put_around(x, n):
    for k in range(n):
        x[k - 2 : k + 1] = k
        x[k - 3 : k - 1] += 1
    return x


def add_by_steps(x, n):
    for k in range(n):
        x[k : k + 4 : 2] += k
    return x


def add_in_branches(x, n):
    for k in range(n):
        if k % 2 == 0:
            x[k : k + 3] -= 1
    return x


def by_while(x, n):
    k = 0
    while k < n:
        x[k : k + 3] *= 2
        k += 2
    return x


def blocks_of_a_table(x, n):
    m = np.zeros((4, 5), np.float32)
    for k in range(n):
        m[k : k + 2, k] += x[0]
        m[:, k : k + 2] += 1
        m[k - 1 : k + 1, k : k + 3] -= 2
    return m


def longer_than_the_array(x, n):
    for k in range(n):
        x[k : k + 9] += 1
    return x


WRITES = [
    *(add, put, put_around, add_by_steps, add_in_branches),
    *(by_while, blocks_of_a_table, longer_than_the_array),
]


def sums(x, n):
    total = 0.0
    for k in range(n):
        total += x[k : k + 3].sum() * k
    return total


def greatest(x, n):
    found = np.zeros(5, np.float32)
    for k in range(5):
        found[k] = x[k : k + 3].max() if n > 0 else 0.0
    return found


def lengths(x, n):
    total = 0
    for k in range(n):
        total += len(x[k : k + 2]) * 10**k + len(x[k - 2 : k])
    return total


def halves_of_a_table(x, n):
    m = x[:4].reshape(2, 2) * 1
    return m[n - 4 : n - 2].sum(), m[0, n - 4 : n - 2].sum()


def copied(x, n):
    found = np.zeros_like(x)
    for k in range(n):
        found[k : k + 2] = x[k : k + 2] * 2
    return found


def added_to_itself(x, n):
    for k in range(n):
        x[k : k + 2] += x[k : k + 2]
    return x


READS = [sums, greatest, lengths, halves_of_a_table, copied, added_to_itself]
VALUES = np.sin(np.arange(5.0) * 1.7).astype(np.float32)


@pytest.mark.parametrize("n", [3, 4, 5, 7])
@pytest.mark.parametrize("program", WRITES)
def test_writes_leave_out_what_is_outside(program, n):
    if program is blocks_of_a_table and n > 5:
        pytest.skip("Python raises an IndexError")
    wanted = program(VALUES.copy(), n)
    np.testing.assert_allclose(staged.function(program)(jnp.asarray(VALUES), jnp.asarray(n)), wanted, rtol=1e-6)
    given = VALUES.copy()
    staged.function(program)(given, jnp.asarray(n))
    np.testing.assert_allclose(given, VALUES if program is blocks_of_a_table else wanted, rtol=1e-6)
    np.testing.assert_allclose(staged.jitted(program)(VALUES, jnp.asarray(n)), wanted, rtol=1e-6)
    mapped = jax.vmap(staged.function(program))(jnp.stack([VALUES, VALUES]), jnp.array([n, 2]))
    np.testing.assert_allclose(mapped[0], wanted, rtol=1e-6)
    np.testing.assert_allclose(mapped[1], program(VALUES.copy(), 2), rtol=1e-6)


@pytest.mark.parametrize("program", READS)
def test_reads_have_the_elements_that_there_are(program):
    compiled = ag.function(program)
    for n in (3, 4, 5):
        wanted = program(VALUES.copy(), n)
        jax.tree.map(
            lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6),
            compiled(jnp.asarray(VALUES), jnp.asarray(n)),
            wanted,
        )


def test_one_trace_more_is_made_where_a_slice_first_reaches_over_the_end():
    compiled = ag.function(sums)
    for n, traces in ((3, 1), (2, 1), (5, 2), (3, 2), (5, 2)):
        np.testing.assert_allclose(compiled(jnp.asarray(VALUES), jnp.asarray(n)), sums(VALUES, n), rtol=1e-5)
        assert compiled.experimental_get_tracing_count() <= traces


def test_a_gradient_is_of_the_elements_that_there_are():
    compiled = ag.function(lambda x, n: sums(x * x, n))
    for n in (3, 5):
        wanted = jax.grad(lambda x: sums(x * x, n))(jnp.asarray(VALUES))  # noqa: B023
        np.testing.assert_allclose(jax.grad(compiled)(jnp.asarray(VALUES), jnp.asarray(n)), wanted, rtol=1e-5)


def test_negative_bounds_count_from_the_end():
    def ends(x, k):
        x[k : k + 2] += 1
        return x, x[k : k + 2].sum()

    compiled = ag.function(ends)
    for k in range(-7, 8):
        found, wanted = compiled(jnp.asarray(VALUES), jnp.asarray(k)), ends(VALUES.copy(), k)
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6), found, wanted)


def test_a_program_that_prints_reads_slices_and_refuses_one_over_the_end(capfd):
    @ag.function
    def shown(x, k):
        ag.print("at", k)
        return x[k : k + 2].sum()

    assert shown(jnp.asarray(VALUES), jnp.asarray(1)) == VALUES[1:3].sum()
    with pytest.raises(ag.StagingError, match=r"slice \[…:…\] reaches over the end of the array.*run again") as refusal:
        shown(jnp.asarray(VALUES), jnp.asarray(4))
    assert "test_slices_over_the_end.py" in str(refusal.value) and "min(i + 3, len(x))" in str(refusal.value)
    assert capfd.readouterr().out.count("at 4") <= 1


def test_a_block_of_a_table_over_two_ends_is_refused():
    @ag.function
    def block(m, i, j):
        return m[i : i + 2, j : j + 2].sum()

    m = jnp.arange(12.0).reshape(3, 4)
    assert block(m, jnp.asarray(1), jnp.asarray(2)) == m[1:3, 2:4].sum()
    with pytest.raises(ag.StagingError, match="reaches over the end"):
        block(m, jnp.asarray(2), jnp.asarray(2))


def view_of_a_window(x, n):
    for k in range(n):
        part = x[k : k + 2]
        part[:] += 1
        part[0] *= 3
    return x


def view_of_a_window_of_rows(x, n):
    m = np.zeros((6, 2), np.float32)
    rows = m[n : n + 2]
    rows[:] += x[0]
    rows[:, 1] -= 1
    if n > 1:
        rows[0, 0] = 7
    return m, rows


def view_in_a_function(x, n):
    def increase(part):
        part[:] += 1

    for k in range(n):
        increase(x[k : k + 2])
    return x


def view_of_a_view(x, n):
    part = x[n - 2 : n + 2][1:]
    for k in range(n):
        part[k] += k
    return x, part


def view_carried(x, n):
    part = x[n - 2 : n]
    for k in range(n):
        part[:] += 1
        part = x[k : k + 2]
    part[:] = 9
    return x


def augmented_view(x, n):
    for k in range(n):
        part = x[k : k + 2]
        part += 1
    return x


VIEWS = [view_of_a_window, view_of_a_window_of_rows, view_in_a_function, view_of_a_view, view_carried]


@pytest.mark.parametrize("kind", [jnp.asarray, np.array])
def test_a_view_is_written_in_place_where_it_is_one_of_numpys(kind):
    for n in (2, 3):
        found = staged.function(augmented_view)(kind(VALUES), jnp.asarray(n))
        np.testing.assert_allclose(found, augmented_view(kind(VALUES), n))


@pytest.mark.parametrize("kind", [jnp.asarray, np.array])
@pytest.mark.parametrize("program", VIEWS)
def test_writes_to_views_are_seen_in_the_array(program, kind):
    for n in (2, 3):
        wanted = program(VALUES.copy(), n)
        found = staged.function(program)(kind(VALUES), jnp.asarray(n))
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5), found, wanted)
        if kind is jnp.asarray:
            found = staged.jitted(program)(VALUES, jnp.asarray(n))
            jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5), found, wanted)


def test_a_view_over_the_end_is_refused_where_it_is_written():
    with pytest.raises(ag.StagingError):
        ag.function(view_in_a_function)(np.array(VALUES), jnp.asarray(5))
