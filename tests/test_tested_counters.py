"""What a loop's test says of its counters is left out of its body, and nothing else."""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from autograph.backends.xla import jax_compat
from autograph.backends.xla.optimize.bounds import bounds_of_type
from autograph.backends.xla.optimize.narrowing import where_true


def operations_in_loops(function, *operands):
    program = jax.make_jaxpr(ag.convert(function))(*operands)
    return {
        jax_compat.name_of(equation)
        for loop in program.jaxpr.eqns
        for inner in jax_compat.inner_programs(loop)
        for equation in jax_compat.all_equations(inner)
    }


CONDITIONS = {
    "less": lambda a, b: a < 2,
    "from the right": lambda a, b: 2 >= a,
    "of two": lambda a, b: a < b,
    "both": lambda a, b: (a > -1) & (b <= a),
    "neither": lambda a, b: ~((a > 0) | (b > 0)),
    "either": lambda a, b: (a > 1) | (b < 0),
    "equal": lambda a, b: (a == b) & (b != 2) & (a >= 0),
    "not equal": lambda a, b: (a != -3) & (b != 3) & (a != 0),
    "a number": lambda a, b: a.astype(bool) & (b > 1),
    "negated": lambda a, b: ~(a < b) & ~(b == -3),
    "never": lambda a, b: (a > 1) & (a < -1) & (b > 0),
    "of sums": lambda a, b: a + 1 < b,
    "one after the other": lambda a, b: jnp.where(a >= 0, b > a, False) & jnp.where(b > 2, False, a != 3),
    "or one after the other": lambda a, b: ~jnp.where(a >= 2, True, b > 1),
    "chosen": lambda a, b: jnp.where(a > 0, b > 1, b < 0),
    "nested": lambda a, b: (((a <= b) & (b <= 1)) & ~(a > 0)) & (True & (b > -2)),
}


@pytest.mark.parametrize("name", CONDITIONS)
def test_numbers_are_within_what_a_condition_says(name):
    numbers = range(-3, 4)
    condition = CONDITIONS[name]
    jaxpr = jax.make_jaxpr(condition)(jnp.int8(0), jnp.int8(0)).jaxpr

    def bounds_of(atom):
        if jax_compat.is_literal(atom):
            return int(atom.val), int(atom.val)
        return (-3, 3) if atom in jaxpr.invars else bounds_of_type(atom.aval)

    found = where_true(jaxpr.outvars[0], jaxpr.eqns, bounds_of)
    held = [pair for pair in itertools.product(numbers, numbers) if bool(condition(*map(jnp.int8, pair)))]
    for k, variable in enumerate(jaxpr.invars):
        low, high = found.get(variable, (-3, 3))
        assert all(low <= pair[k] <= high for pair in held)


def stepping(x, n):
    i, total = 0, 0.0
    while i < len(x) and n > 0:
        if x[i] > 3.0:
            i += 2
        else:
            i += 1
        total += x[i - 1] * i
        n -= 1
    return total, i, n


def emptied(x, n):
    waiting = [n, n + 1, n + 2]
    total = 0.0
    while waiting:
        k = waiting.pop()
        total += x[k]
        if k > 2:
            waiting.append(k - 2)
    return total, len(waiting)


def flagged(x, n):
    i, is_done, total = n, False, 0.0
    while not is_done:
        if is_done:
            total += 1000.0
        total += x[i]
        i += 1
        is_done = i >= len(x) or total > 7.0
    return total, i


def of_few_bits(x, n):
    k = np.int8(100) + np.int8(n)
    total = 0
    while k > 0:
        k = k - np.int8(9)
        if k < 0:
            total += 100
        total += 1
    return total, k


def backwards(x, n):
    i = len(x) - 1
    while i >= 0 and x[i] > n:
        x[i] = x[i] - 1.0
        i -= 1
    return x, i


def in_a_list(x, n):
    names = [0] * 10
    while n < 10:
        names[n] = names[n - 1] + 1
        n += 3
    return names


X = np.array([1.0, 5.0, 0.5, 4.0, 2.0, 3.5, 6.0, 1.5], np.float32)
PROGRAMS = [stepping, emptied, flagged, of_few_bits, backwards, in_a_list]


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_programs_agree_with_python(program, n):
    wanted = program(X.copy(), np.int32(n))
    for run in (ag.function(program), jax.jit(ag.convert(program))):
        found = run(jnp.asarray(X), jnp.int32(n))
        for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-6)


@pytest.mark.parametrize("program", [stepping, flagged, of_few_bits])
def test_batches_agree_with_python(program):
    """Lanes whose own test has failed go on with the others, and nothing of it is kept."""
    numbers = np.arange(4, dtype=np.int32)
    found = jax.vmap(ag.convert(program), (None, 0))(jnp.asarray(X), numbers)
    for k, n in enumerate(numbers):
        for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(program(X.copy(), n)), strict=True):
            np.testing.assert_allclose(one[k], other, rtol=1e-6)


def test_gradients():
    found = jax.grad(lambda x: ag.convert(stepping)(x, jnp.int32(4))[0])(jnp.asarray(X))
    np.testing.assert_allclose(found, [1.0, 0.0, 3.0, 0.0, 5.0, 0.0, 7.0, 0.0])


@pytest.mark.parametrize("program", [stepping, backwards])
def test_an_index_that_the_test_compares_is_not_compared_again(program):
    (loop,) = jax.make_jaxpr(ag.convert(program))(jnp.asarray(X), jnp.int32(2)).jaxpr.eqns
    body = loop.params["program"].body.jaxpr
    assert not {"lt", "ge"} & {jax_compat.name_of(equation) for equation in jax_compat.all_equations(body)}


def test_what_the_test_does_not_say_is_compared():
    def program(x, n):
        total = 0.0
        while n != 5:
            total += x[n]
            n += 1
        return total

    assert "select_n" in operations_in_loops(program, jnp.asarray(X), jnp.int32(0))
    assert float(ag.function(program)(jnp.asarray(X), jnp.int32(-2))) == program(X, -2)
