# ruff: noqa: F821, F841 - ruff does not know of iterations
"""Variables that a staged loop's first iteration binds and later ones read."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag


def differences(n):
    x, total = 0, 0
    while x < n:
        if x > 0:
            total += x * x - last
        last = x * x
        x += 1
    return total


def with_augmented_assignment(n):
    x = 0.0
    while x < n:
        if x > 2:
            x += last
        last = 0.5
        x += 1
    return x


def until_a_break(n):
    k, best = 0, 0
    while True:
        if k > 0 and k * 7 % 5 > previous:
            best += k
        previous = k * 7 % 5
        k += 1
        if k >= n:
            break
    return best


def with_a_return(n):
    k = 0
    while k < n:
        if k > 0:
            if previous > 9:
                return k
        previous = k * k
        k += 1
    return -k


def nested(n):
    total = 0
    i = 0
    while i < n:
        j = 0
        while j < i:
            if j > 0:
                total += inner
            inner = i + j
            j += 1
        if i > 0:
            total += outer
        outer = i * 3
        i += 1
    return total


def a_test_that_binds(n):
    k, total = 0, 0
    while (k := k + 1) < n:
        if k > 1:
            total += last
        last = k * 2
    return total


def in_a_for(n):
    total = 0
    for x in ag.range(n):
        if x > 0:
            total += last
        last = x * x
    return total


def an_array(n):
    k, total = 0, jnp.zeros(3)
    while k < n:
        if k > 0:
            total = total + row
        row = jnp.arange(3.0) * k
        k += 1
    return total.sum()


PROGRAMS = [
    differences,
    with_augmented_assignment,
    until_a_break,
    with_a_return,
    a_test_that_binds,
    in_a_for,
    an_array,
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs(program):
    wanted = [program(n) for n in range(7)]
    for transformed in (ag.function(program), jax.jit(ag.convert(program))):
        np.testing.assert_array_equal([transformed(jnp.int32(n)) for n in range(7)], wanted)
    lanes = jax.jit(jax.vmap(ag.convert(program)))(jnp.arange(7))
    np.testing.assert_array_equal(lanes, wanted)


def test_in_a_loop_that_may_have_bound_it_before():
    compiled = ag.function(nested)
    np.testing.assert_array_equal([compiled(jnp.int32(n)) for n in range(7)], [nested(n) for n in range(7)])
    with pytest.raises(ag.StagingError, match="'inner' may be undefined"):  # jax.jit cannot deliver Python's error
        jax.jit(ag.convert(nested))(3)


def test_gradients():
    def f(x, n):
        k = 0
        while k < n:
            if k > 0:
                x = x * last
            last = jnp.sin(x) + 1
            k += 1
        return x

    for n in range(4):
        wanted = jax.grad(f)(0.7, n)
        np.testing.assert_allclose(jax.jit(jax.grad(ag.convert(f)))(0.7, n), wanted, rtol=1e-5)


def test_a_read_before_any_value_is_pythons_error():
    def f(n):
        k = 0
        while k < n:
            k += later
            later = 1
        return k

    assert int(ag.function(f)(jnp.int32(0))) == 0
    with pytest.raises(UnboundLocalError, match="later"):
        ag.function(f)(jnp.int32(3))


class _Disc:
    def __init__(self, radius):
        self.radius = radius


class _Side:
    def __init__(self, length):
        self.length = length


def test_an_inner_loop_remembers_variables_that_it_binds_first():
    def f(w):
        shape, total = _Disc(1), 0
        for _ in range(sum(w) % 5):
            for v in w:
                match (shape, v):
                    case [_Disc(radius=r), 1]:
                        total += r
                    case [_Side(length=n), k] if n > k:
                        total -= 1
                    case [_, k]:
                        total += k
                if v > 3:
                    break
        return total

    w = [0, 4, 3]
    assert int(ag.function(f)(jnp.array(w))) == f(w)
