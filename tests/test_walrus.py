"""Assignment expressions in tests that are traced, compared with plain Python."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests import staged


def in_a_while_test(x):
    while (y := x * 2) < 100:
        x = y + 1
    return x, y


def after_and(x):
    y = 0.0
    if x > 0 and (y := x * 2) > 4:
        x = x + y
    return x, y


def after_or(x):
    y = -1.0
    if x > 3 or (y := x + 1) > 2:
        x = x - y
    return x, y


def loop_with_break(x):
    i = 0
    while (i := i + 1) < 10:
        x = x * 1.5
        if x > 20:
            break
    return x, i


def loop_with_a_traced_rest(x):
    i = 0
    while (i := i + 1) < 6 and x < 50:
        x = x * 2
    return x, i


def in_a_conditional_expression(x):
    y = 0.0
    z = (y := x + 1) if x > 0 else (y := x - 1)
    return y, z


@pytest.mark.parametrize("x", [1.5, 3.0, 0.75, 40.0])
@pytest.mark.parametrize(
    "function",
    [in_a_while_test, after_and, after_or, loop_with_break, loop_with_a_traced_rest, in_a_conditional_expression],
)
def test_like_plain_python(function, x):
    expected = function(x)
    assert ag.convert(function)(x) == expected
    for run in (staged.jitted(function), lambda x: staged.function(function)(jnp.float32(x))):
        jax.tree.map(np.testing.assert_allclose, run(x), expected)
