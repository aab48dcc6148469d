"""Python's numbers stay that in lists, dicts, texts and functions of traced length: `isinstance`, and the promotion with arrays, tell."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests.number_programs import OF_N, as_arrays, counted, of_arrays, times_an_array


@pytest.mark.parametrize("program", OF_N, ids=lambda each: each.__name__)
def test_the_classes_of_numbers_are_pythons(program):
    assert list(map(int, ag.function(program)(jnp.int32(7)))) == list(map(int, program(7)))


def test_elements_of_arrays_are_no_numbers_of_pythons():
    xs = jnp.array([3.0, 1.0, 2.0])
    found = list(map(int, ag.function(of_arrays)(xs)))
    assert found == [0, 0, 0, 0, 0, 0, 1]
    assert found[2:] == of_arrays(xs)[2:]  # a list of both sorts is of one type


@pytest.mark.parametrize("dtype", ["int8", "float16", "bfloat16", "float32"])
def test_they_take_the_dtype_of_an_array(dtype):
    """As Python's numbers do: ``xs[0] * array`` is of the array's dtype."""
    array = jnp.ones(2, dtype)
    found, expected = ag.function(times_an_array)(jnp.int32(4), array), times_an_array(4, array)
    assert jax.tree.map(lambda each: each.dtype, found) == jax.tree.map(lambda each: each.dtype, expected)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(np.float32(one), np.float32(other), rtol=1e-2)


def test_arrays_made_of_them_are_of_a_dtype_of_their_own():
    values, is_float32 = ag.function(as_arrays)(jnp.int32(4))
    assert values.dtype == as_arrays(4)[0].dtype == jnp.float32 and bool(is_float32)


def test_under_a_bare_jit_and_vmap():
    def program(n):
        xs = [0] * 4
        for k in range(n):
            xs[k % 4] = k
        return isinstance(xs[n % 4], int), xs[n % 4] * jnp.ones((), jnp.float16)

    is_int, value = jax.jit(ag.convert(program))(7)
    assert is_int and value.dtype == jnp.float16 and value == 3
    assert ag.function(lambda x: isinstance(len(x[x > 1]), int))(jnp.arange(4))
    are_int, values = jax.vmap(ag.convert(program))(jnp.array([5, 7]))
    assert are_int.all() and values.dtype == jnp.float16 and values.tolist() == [1, 3]


def test_a_list_that_a_recursive_function_returns():
    def digits(n):
        return digits(n // 10) + [n % 10] if n > 0 else []

    def program(n):
        return [isinstance(digits(int(n))[0], int), digits(int(n))[0] * jnp.ones((), jnp.int8)]

    is_int, value = ag.function(program)(jnp.int32(407))
    assert is_int and value.dtype == jnp.int8 and value == 4


def test_a_bound_of_few_bits():
    """The items of a range are ints of Python's, whatever the dtype of its bounds is."""

    def program(n):
        total = 0
        for k in range(n):
            total += k * 100
        return total, len(counted(n)) * 100

    assert [int(each) for each in ag.function(program)(jnp.int8(20))] == [19000, 2000]


@pytest.mark.parametrize("dtype", ["int4", "uint4"])
def test_a_loop_over_integers_of_four_bits_keeps_them(dtype):
    def added(x, n):
        total = x * 0
        for _ in range(n):
            if (x > 1).any():
                total = total + x
            else:
                total = total - x
        return total

    x = jnp.array([1, 2], dtype)
    found = jax.jit(ag.convert(added))(x, jnp.array(2))
    assert found.dtype == dtype and found.tolist() == added(x, 2).tolist()
