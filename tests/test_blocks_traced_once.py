"""A block of a statement is traced once: what a statement makes of its program is put together, and not traced again."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from autograph.backends.xla import jax_compat


@pytest.fixture
def traces(monkeypatch):
    """Counts the programs that are traced."""
    found: list[object] = []
    recorded = jax_compat.recorded
    monkeypatch.setattr(jax_compat, "recorded", lambda *args: [found.append(1), recorded(*args)][1])
    return found


def both_branches(x, y):
    if (x > 1.0).all():
        y = jnp.sin(y) * jnp.linspace(0.0, 1.0, 40)
    else:
        y = y - x
    return y


def loop(x, y):
    i = 0
    while i < 5 and x[0] < 100.0:
        x = x * 1.5 + y
        i = i + 1
    return x, i


def one_branch(x, y):
    if (x > 1.0).all():
        y = jnp.cumsum(y) * x
    return y


def small_test(x, y):
    i = 0
    while i < 5 and (x < 100.0).all():
        x = x * 1.5
        i = i + 1
    return x, i


@pytest.mark.parametrize(
    ("function", "size", "count"), [(both_branches, 40, 2), (loop, 40, 3), (one_branch, 40, 1), (small_test, 3, 2)]
)
def test_each_block_is_traced_once(function, size, count, traces):
    x, y = jnp.linspace(1.1, 2.0, size), jnp.linspace(-1.0, 1.0, size)
    wanted = function(x, y)
    found = jax.jit(ag.convert(function))(x, y)
    assert len(traces) == count  # of a loop: its test, the second operand of that, its body
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


def test_a_large_array_is_reduced_only_where_python_would():
    def positive(x, flag):
        return flag and (x > 0).all()

    assert "cond" in str(jax.make_jaxpr(ag.convert(positive))(jnp.ones(1000), jnp.array(True)))
    assert "cond" not in str(jax.make_jaxpr(ag.convert(positive))(jnp.ones(9), jnp.array(True)))


def test_an_operand_that_raises_is_evaluated_where_python_does():
    def largest(x, some):
        return some and x.max() > 0

    with pytest.raises(ValueError, match="zero-size"):
        ag.convert(largest)(jnp.ones(0), True)
    assert not ag.convert(largest)(jnp.ones(0), False)
    with pytest.raises(ValueError, match="zero-size"):
        jax.jit(ag.convert(largest))(jnp.ones(0), jnp.array(True))


def constants(x):
    sign, zero, count, kind = 1.0, 0.0, 1, True
    if (x > 0).any():
        sign, zero, count, kind = jnp.cumsum(x)[0], jnp.cumsum(x)[1], jnp.cumsum(jnp.ones(40, int))[3], x[0] > 5
    else:
        sign, zero, count, kind = -1.0, -0.0, 7, False
    return sign, zero, count, kind


def shared(x, y):
    w = x * 2
    if (x > 0).any():
        a, b, c = w, y, jnp.cumsum(w)
    else:
        a, b, c = y, w, jnp.cumsum(y)
    return a, b, c


def unchanged(x, y):
    n, w, i = 3, y * 2, 0
    while i < 10 and x[0] < 50.0:
        x = x * n + w[::-1]
        i = i + 1
    return x, n, w


def unused(x, y):
    extra = y
    while x[0] < 50.0:
        extra = jnp.sin(x) + y
        z = jnp.cumsum(extra)
        x = x * 2 + z[0] * 0
    return x


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("function", [shared, unchanged, unused])
def test_values_around_blocks(function, sign):
    x, y = sign * jnp.linspace(1.0, 2.0, 40), jnp.linspace(3.0, 4.0, 40)
    if function is not shared:
        x = abs(x)
    wanted, converted = function(x, y), ag.convert(function)
    for run in (converted, jax.jit(converted), lambda x, y: jax.vmap(converted)(x[None], y[None])):
        for one, other in zip(jax.tree.leaves(run(x, y)), jax.tree.leaves(wanted), strict=True):
            np.testing.assert_allclose(np.reshape(one, np.shape(other)), other, rtol=1e-6)


def test_constants_of_branches():
    found = jax.jit(ag.convert(constants))(-jnp.ones(40))
    assert [float(each) for each in found] == [-1.0, 0.0, 7.0, 0.0]
    assert math.copysign(1.0, float(found[1])) == -1.0
    assert found[2].dtype == jnp.cumsum(jnp.ones(40, int)).dtype and found[3].dtype == bool


@pytest.mark.parametrize("function", [shared, unused])
def test_derivatives_of_what_is_put_together(function):
    x, y = jnp.linspace(1.0, 2.0, 40), jnp.linspace(3.0, 4.0, 40)

    def total(f):
        return lambda x, y: sum(map(jnp.sum, jax.tree.leaves(f(x, y))))

    found = jax.grad(total(ag.convert(function)), argnums=(0, 1))(x, y)
    wanted = jax.grad(total(function), argnums=(0, 1))(x, y)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)
