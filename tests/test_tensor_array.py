"""`ag.TensorArray`: filled element by element, in and out of staged statements."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag


def same(found, expected):
    np.testing.assert_array_equal(np.asarray(found), np.asarray(expected))


def test_outside_functions():
    ta = ag.TensorArray(jnp.float32, size=3)
    filled = ta.write(0, 1).write(jnp.array(2), 3.0)
    same(filled.stack(), [1, 0, 3])
    same(filled.read(2), 3)
    assert filled.size() == len(filled) == 3 and ta.element_shape is None and filled.element_shape == ()
    same(filled.gather([2, 0]), [3, 1])
    same(filled.scatter([0, 1], jnp.array([7.0, 8.0])).stack(), [7, 8, 3])
    same(ta.unstack(jnp.arange(6.0).reshape(3, 2)).concat(), jnp.arange(6.0))
    same(ta.split(jnp.arange(6.0), [2, 2, 2]).read(1), [2, 3])


def test_it_grows():
    ta = ag.TensorArray(jnp.int32, dynamic_size=True)
    for i in range(7):
        ta = ta.write(i, i * i)
    same(ta.stack(), np.arange(7) ** 2)
    same(ta.write(9, 1).stack(), [*(np.arange(7) ** 2), 0, 0, 1])
    assert ta.size() == 7
    same(ag.TensorArray(jnp.int32, dynamic_size=True).scatter([2, 0], jnp.array([5, 6])).stack(), [6, 0, 5])


def test_refusals():
    ta = ag.TensorArray(jnp.int32, size=2)
    with pytest.raises(IndexError, match="write at index 2 of a TensorArray of at most 2"):
        ta.write(2, 1)
    with pytest.raises(IndexError):
        ta.write(-1, 1)
    with pytest.raises(IndexError, match="read at index 5"):
        ta.write(0, 1).read(5)
    with pytest.raises(ValueError, match="int32 is written a value of float32"):
        ta.write(0, jnp.array(1.5))
    with pytest.raises(ValueError, match="element of shape"):
        ta.write(0, 1).write(1, jnp.array([1, 2]))
    with pytest.raises(ValueError, match="Nothing has been written"):
        ta.stack()
    with pytest.raises(ValueError, match="needs a size"):
        ag.TensorArray(jnp.int32)
    with pytest.raises(ValueError, match="size=-1"):
        ag.TensorArray(jnp.float32, -1)
    with pytest.raises(ValueError, match="max_size=-3"):
        ag.TensorArray(jnp.float32, dynamic_size=True, max_size=-3)
    with pytest.raises(IndexError):
        ag.TensorArray(jnp.int32, dynamic_size=True, max_size=3).write(3, 1)
    with pytest.raises(ValueError, match="of one shape"):
        ag.TensorArray(jnp.int32, size=2).split(jnp.arange(3), [1, 2])
    for make in (lambda: ta.unstack(3), lambda: ta.split(3, [1])):
        with pytest.raises(ValueError, match="a first axis"):
            make()


@pytest.mark.parametrize("index", [3, -1])
def test_elements_that_are_not_there(index):
    ta = ag.TensorArray(jnp.int32, dynamic_size=True)
    for k in range(3):
        ta = ta.write(k, k + 5)  # with room for a fourth
    for read in (lambda: ta.read(index), lambda: ta.gather([0, index])):
        for run in (read, jax.jit(read)):
            with pytest.raises(IndexError, match=f"read at index {index} of a TensorArray with 3 elements"):
                run()


@pytest.mark.parametrize("make_range", [range, ag.range])
def test_line_5(make_range):
    @ag.function
    def f(x):
        ta = ag.TensorArray(jnp.int32, size=0, dynamic_size=True)
        for i in make_range(len(x)):
            ta = ta.write(i, x[i] + 1)
        return ta.stack()

    same(f(jnp.array([1, 2, 3])), [2, 3, 4])
    same(f(jnp.array([5, 6])), [6, 7])


def test_line_5_with_a_symbolic_length():
    @ag.function(input_signature=[ag.TensorSpec([None], jnp.int32)])
    def f(x):
        ta = ag.TensorArray(jnp.int32, size=0, dynamic_size=True)
        for i in ag.range(len(x)):
            ta = ta.write(i, x[i] + 1)
        return ta.stack()

    same(f(jnp.array([1, 2, 3])), [2, 3, 4])
    same(f(jnp.array([5, 6])), [6, 7])
    assert f.experimental_get_tracing_count() == 1


@pytest.mark.parametrize("arguments", [{"size": 4}, {"size": 4, "element_shape": (2,)}])
def test_in_a_staged_loop(arguments):
    @ag.function
    def f(x):
        ta = ag.TensorArray(jnp.float32, **arguments)
        for i in ag.range(len(x)):
            if x[i, 0] > 0:
                ta = ta.write(i, x[i])
        return ta.stack()

    x = jnp.array([[1.0, 2.0], [-1.0, 5.0], [3.0, 4.0]])
    same(f(x), [[1, 2], [0, 0], [3, 4], [0, 0]])


def test_in_a_while_loop():
    @ag.function
    def f(n):
        ta = ag.TensorArray(jnp.int32, dynamic_size=True, max_size=10)
        i = 0
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            ta = ta.write(i, n)
            i += 1
        return ta

    ta = f(jnp.array(6))
    same(ta.stack(), [3, 10, 5, 16, 8, 4, 2, 1])
    assert int(ta.size()) == 8


def test_a_loop_without_a_bound_needs_max_size():
    @ag.function
    def f(n):
        ta = ag.TensorArray(jnp.int32, dynamic_size=True, element_shape=())
        while n != 1:
            ta = ta.write(ta.size(), n)
            n -= 1
        return ta

    with pytest.raises(ag.StagingError, match="max_size"):
        f(jnp.array(5))


def test_two_loops_and_nested_loops():
    @ag.function
    def f(x):
        ta = ag.TensorArray(jnp.int32, dynamic_size=True)
        for i in ag.range(3):
            ta = ta.write(i, x)
        for i in ag.range(3):
            ta = ta.write(i, ta.read(i) + i)
        for i in ag.range(2):
            ta = ta.write(3 + i, 9)
        return ta.stack(), ta.size()

    stacked, size = f(jnp.array(5))
    same(stacked, [5, 6, 7, 9, 9])
    assert int(size) == 5

    @ag.function
    def g(x):
        ta = ag.TensorArray(jnp.int32, size=6)
        for i in ag.range(2):
            for j in ag.range(3):
                ta = ta.write(i * 3 + j, x + i * 10 + j)
        return ta.stack()

    same(g(jnp.array(0)), [0, 1, 2, 10, 11, 12])


def test_a_first_write_in_one_branch():
    @ag.function
    def f(x):
        ta = ag.TensorArray(jnp.float32, size=2)
        if x > 0:
            ta = ta.write(0, x)
        return ta.write(1, 7.0).stack()

    same(f(jnp.array(3.0)), [3, 7])
    same(f(jnp.array(-3.0)), [0, 7])


def test_derivatives_and_vmap():
    @ag.convert
    def f(x):
        ta = ag.TensorArray(jnp.float32, size=0, dynamic_size=True)
        for i in ag.range(3):
            ta = ta.write(i, x ** (i + 1))
        return ta.stack().sum()

    close = np.testing.assert_allclose
    close(jax.grad(f)(2.0), 1 + 4 + 12, rtol=1e-5)
    close(jax.grad(ag.function(f))(2.0), 1 + 4 + 12, rtol=1e-5)
    close(jax.vmap(f)(jnp.array([1.0, 2.0])), [3, 14], rtol=1e-5)
    close(jax.jit(jax.grad(f))(2.0), 17, rtol=1e-5)


@pytest.mark.parametrize("x", [[1, 2, 3], [1, -2, 3], [-1, 2, 3]])
def test_a_second_loop_after_one_that_may_end_early(x):
    def f(x):
        ta = ag.TensorArray(jnp.int32, dynamic_size=True, element_shape=())
        for i in ag.range(3):
            if x[i] < 0:
                break
            ta = ta.write(i, x[i])
        for _ in ag.range(2):
            ta = ta.write(ta.size(), 9)
        return ta

    ta = ag.function(f)(jnp.array(x))
    expected = f(jnp.array(x)).stack()
    same(ta.stack()[: int(ta.size())], expected)


def test_a_nested_loop_that_grows_it():
    @ag.function
    def f(x):
        ta = ag.TensorArray(jnp.int32, dynamic_size=True)
        for i in ag.range(3):
            for j in ag.range(2):
                ta = ta.write(ta.size(), x[i] + j)
        return ta.stack()

    same(f(jnp.array([1, 2, 3])), [1, 2, 2, 3, 3, 4])


@pytest.mark.parametrize("index", [lambda i, ta: 2 * i, lambda i, ta: ta.size()])
def test_a_write_under_a_condition(index):
    def program(loop, x, **options):
        ta = ag.TensorArray(jnp.float32, size=0, dynamic_size=True, **options)
        for i in loop:
            if x > i - 1:
                ta = ta.write(index(i, ta), x + i)
        return ta.stack()

    expected = program(range(3), np.float32(1.0))
    for loop in (lambda: range(3), lambda: ag.range(3)):
        same(ag.function(lambda x, loop=loop: program(loop(), x))(jnp.float32(1.0)), expected)
    for loop in (lambda: range(3), lambda: ag.range(3)):
        same(ag.function(lambda x, loop=loop: program(loop(), x, max_size=9))(jnp.float32(1.0)), expected)
