"""Writes to slices with a step, and their deletion, of lists of which the length, a bound or the step is traced."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests.agreement import agrees_when_compiled


def sieve(x, n):
    is_prime = [True] * 30
    for i in range(2, n + 1):
        if is_prime[i]:
            is_prime[i * i :: i] = [False] * len(is_prime[i * i :: i])
    return is_prime


def sieve_up_to_the_root(x, n):
    is_prime = [True] * 30
    i = 2
    while i * i < 30:
        if is_prime[i]:
            is_prime[i * i : 30 : i] = [False] * len(range(i * i, 30, i))
        i += 1
    return [i for i, prime in enumerate(is_prime) if prime]


def every_step_th(x, n):
    values = list(range(8))
    values[::n] = [-k for k in values[::n]]
    values[n::-1] = values[: n + 1]
    return values


def of_a_list_of_traced_length(x, n):
    values = [v for v in x if v > 0]
    values[::2] = [0.5] * len(values[::2])
    values[::-1] = values[:]
    values[1::n] = [v * 10 for v in values[1::n]]
    return values


def reversed_up_to(x, n):
    values = [x[0], x[1], x[2], x[3], x[4]]
    values[:n] = reversed(values[:n])
    return values


def deleted(x, n):
    values, others = [v for v in x if v > 0], [x[0], x[1], x[2], x[3], x[4]]
    again, rows, none = [v for v in x if v > 0], [[v] for v in x if v > 0], [v for v in x if v > 99]
    del values[::2]
    del others[n:0:-2]
    del again[1::n]
    del rows[::-2]
    del none[::2]
    rows.append([n])
    rows[0][0] += 1
    return values, len(values), others, again, rows, none


X, Y = np.array([1.0, -2.0, 3.0, -4.0, 5.0]), np.array([3.0, 1.0, 4.0, 2.0, 2.0])


@pytest.mark.parametrize(
    "program", [sieve, sieve_up_to_the_root, every_step_th, of_a_list_of_traced_length, reversed_up_to, deleted]
)
def test_writes_to_slices(program):
    agrees_when_compiled(program, (X, 2), (Y, 3), (Y, 5))


def two_in_every_step_th(n):
    values = [1, 2, 3, 4, 5]
    values[::n] = [9, 8]
    return values


def test_another_number_of_values_raises_as_python_does():
    compiled = ag.function(two_in_every_step_th)
    assert [int(v) for v in compiled(jnp.array(3))] == two_in_every_step_th(3)
    for n in (2, -2, 5):
        with pytest.raises(ValueError) as wanted:
            two_in_every_step_th(n)
        with pytest.raises(ValueError, match=str(wanted.value)):
            jax.block_until_ready(compiled(jnp.array(n)))
    with pytest.raises(ValueError, match="a slice with a step of 1, known at run time only, takes 5 elements, not 2"):
        jax.block_until_ready(compiled(jnp.array(1)))


def test_lists_in_a_list_are_refused():
    def f(n):
        rows = [[0, 1], [2, 3], [4, 5]]
        rows[::n] = [[6, 7], [8, 9]]
        return rows

    with pytest.raises(ag.StagingError, match=r"test_list_slices_with_steps\.py:\d+.*\n.*to a slice with a step"):
        ag.function(f)(jnp.array(2))


def test_batches_and_derivatives():
    def f(x, n):
        values = [x[0], x[1], x[2], x[3], x[4]]
        values[n::-1] = values[0 : n + 1]
        return values[0] * 2 + values[1] * 3

    def batch(xs, ns):
        return jax.vmap(ag.convert(f))(xs, ns)

    found = ag.function(batch)(jnp.array([X, Y]), jnp.array([1, 2]))
    np.testing.assert_allclose(found, [f(X, 1), f(Y, 2)])
    gradient = ag.function(lambda x, n: jax.grad(f)(x, n))(jnp.array(X), jnp.array(2))
    np.testing.assert_allclose(gradient, [0.0, 3.0, 2.0, 0.0, 0.0])
