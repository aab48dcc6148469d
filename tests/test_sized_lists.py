"""Lists of as many items as a traced number says, displays with stars, and targets with stars."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests.agreement import agrees_when_compiled
from tests.sized_programs import PROGRAMS, sieve, with_stars
from tests.test_lengths_by_path import plain


def result_of(program, n):
    try:
        return plain(program(n))
    except ValueError as error:
        return type(error)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_a_function_returns_the_very_list(program):
    staged = ag.function(program)
    for n in (5, 3, 11):
        assert result_of(staged, jnp.int32(n)) == result_of(program, n)


def test_a_list_has_room_for_what_the_number_comes_to():
    staged = ag.function(sieve)
    assert [int(p) for p in staged(jnp.int32(200))] == sieve(200)


def test_a_negative_number_makes_an_empty_list():
    def empty(n):
        return [1] * n, list(range(n))

    assert ag.function(empty)(jnp.int32(-2)) == ([], [])


def test_without_a_function_a_bound_is_asked_for():
    def zeros(n):
        return [0] * n

    with pytest.raises(ag.StagingError, match=r"`\[…\] \* n` creates a list of traced length.*\n.*Slice a list"):
        jax.jit(ag.convert(zeros))(3)
    with pytest.raises(ag.StagingError, match=r"`list\(range\(n\)\)` creates a list.*\n.*Slice a list"):
        jax.jit(ag.convert(lambda n: list(range(n))))(3)


def bounded(n):
    counts = ([0.0] * 8)[:n]
    for i in range(n):
        counts[i] += i * 0.5
    first, *rest = [*counts, 1.0]
    return first + sum(rest) * len(rest)


def test_the_first_of_as_many_as_there_may_be_under_jit_and_vmap():
    converted = ag.convert(bounded)
    wanted = [bounded(n) for n in (2, 5, 7)]
    np.testing.assert_allclose([float(jax.jit(converted)(n)) for n in (2, 5, 7)], wanted, rtol=1e-6)
    np.testing.assert_allclose(jax.vmap(converted)(jnp.array([2, 5, 7])), wanted, rtol=1e-6)


def test_gradients():
    def powers(x, n):
        found = [x] * n
        for i in range(1, n):
            found[i] = found[i - 1] * x
        first, *rest = [*found, 2.0 * x]
        return first + sum(rest)

    staged = ag.function(powers)
    for n in (2, 4):
        slope = jax.grad(lambda x, n=n: staged(x, jnp.int32(n)))(1.5)
        np.testing.assert_allclose(slope, 2.0 + sum(k * 1.5 ** (k - 1) for k in range(1, n + 1)), rtol=1e-5)


def test_what_can_be_written_to_is_not_repeated():
    def rows(n):
        found = [[]] * n
        found[0].append(1)
        return found

    with pytest.raises(ag.StagingError, match=r"all repetitions would be one.*\n.*\[\[\] for _ in range\(n\)\]"):
        ag.function(rows)(jnp.int32(3))


def test_too_few_values_raise_as_in_python():
    def one_and_more(n):
        first, *rest = list(range(n))
        return first, rest

    with pytest.raises(ValueError, match=r"^not enough values to unpack \(expected at least 1, got 0\)"):
        ag.function(one_and_more)(jnp.int32(0))

    def of_a_number(n):
        first, *rest = 3
        return first, rest, n

    with pytest.raises(TypeError, match="cannot unpack non-iterable int object"):
        ag.function(of_a_number)(jnp.int32(0))


def test_code_shows_the_operators():
    assert "ag__.extended(ag__.extended([], xs), [5])" in ag.to_code(with_stars)
    assert "ag__.unpacked(ys, 0, 1)" in ag.to_code(with_stars)
    assert "ag__.repeated([True], n + 1)" in ag.to_code(sieve)


def repeated_by_name(n):
    pair = [1, 2]
    other = pair
    twice = 2 * pair
    pair *= n
    empty = []
    return other, n * twice, twice * n, empty * n, n * empty, len(pair) * n


def test_lists_that_names_hold_are_repeated():
    agrees_when_compiled(repeated_by_name, (3,), (1,), (0,))


def test_a_growing_list_is_repeated_by_a_number_on_its_left():
    """JAX would multiply its elements."""

    def f(n):
        items = []
        items.append(n)
        items.append(2)
        return n * items

    agrees_when_compiled(f, (3,), (0,))
