"""`jax_debug_nans` and `jax_debug_infs`: a call raises where a result has one, each time, with the user's line."""

from __future__ import annotations

import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag


def logarithm(x):
    y = jnp.log(x)  # here
    return y + 1


def logarithm_or_error(x):
    if x > 100:
        raise ValueError("large")
    return jnp.log(x)  # here


def in_a_branch(x):
    y = jnp.sqrt(x) if x > 10 else x * 2
    if y < 5:
        y = jnp.log(y)  # here
    return y


def in_a_loop(x):
    y = x
    while y > -10:  # here
        y = jnp.log(y) if y < 3 else y - 1
    return y


class Averaged:
    """Python's line is one of a method, and a Variable is assigned before it."""

    def __init__(self):
        self.count = ag.Variable(0.0)

    def __call__(self, x):
        self.count.assign_add(1.0)
        return self.log(x) / self.count

    def log(self, x):
        return jnp.log(x)  # here


def line_of(function):
    lines, first = inspect.getsourcelines(function)
    return first + next(k for k, line in enumerate(lines) if line.endswith("# here\n"))


@pytest.fixture(autouse=True)
def looks_for_nan():
    with jax.debug_nans(
        True
    ):  # of this thread: the setting of the process does nothing after some of JAX's functions have run
        yield


PROGRAMS = [logarithm, logarithm_or_error, in_a_branch, in_a_loop]


def jitted(program):
    return jax.jit(ag.convert(program))


@pytest.mark.parametrize(
    ("program", "wrap"),
    [(p, w) for p in PROGRAMS for w in (ag.function, jitted) if (p, w) != (logarithm_or_error, jitted)],
)
def test_a_call_raises_each_time(program, wrap):
    compiled, bare = wrap(program), jax.jit(lambda x: jnp.log(x))
    for _ in range(3):
        if program is not in_a_loop:  # which ends with NaN
            np.testing.assert_allclose(compiled(jnp.float32(1.5)), program(jnp.float32(1.5)), rtol=1e-6)
        with pytest.raises(FloatingPointError, match="invalid value"):
            compiled(jnp.float32(-1.5))
        with pytest.raises(FloatingPointError):
            bare(jnp.float32(-1.0))  # JAX still looks at others


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_error_names_the_line(program):
    with pytest.raises(FloatingPointError, match=rf"{__file__}:{line_of(program)}:\d+ "):
        ag.function(program)(jnp.float32(-1.5))


def test_variables_keep_their_values():
    averaged = Averaged()
    compiled = ag.function(averaged.__call__)
    assert float(compiled(jnp.float32(1.0))) == 0
    for _ in range(2):
        with pytest.raises(FloatingPointError, match=rf"{__file__}:{line_of(Averaged.log)}:"):
            compiled(jnp.float32(-1.0))
        assert float(averaged.count.value) == 1
    assert float(compiled(jnp.float32(jnp.e))) == 0.5


def test_gradients():
    slope = ag.function(lambda x: jax.grad(lambda v: jnp.sqrt(v))(x) * x)
    assert float(slope(jnp.float32(4.0))) == 1
    with pytest.raises(FloatingPointError):
        slope(jnp.float32(0.0))


def test_infinities():
    with jax.debug_infs(True):
        inverse = ag.function(lambda x: jnp.exp(x) if x > 50 else x)
        assert float(inverse(jnp.float32(2.0))) == 2
        for _ in range(2):
            with pytest.raises(FloatingPointError, match=r"invalid value \(inf\) encountered in exp"):
                inverse(jnp.float32(100.0))
