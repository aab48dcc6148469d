"""No value of a trace is alive when the trace ends, as `jax.checking_leaks` sees it."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

import autograph as ag
from tests.corpus import all_programs

# JAX forgets what it has compiled while it checks, so each takes a second or more: every twelfth program.
PROGRAMS = [program for program in all_programs()[::12] if "function" not in program.refused]
pytestmark = pytest.mark.filterwarnings("ignore:(?s).*this loop was unrolled")


@pytest.fixture(autouse=True)
def _checking():
    with jax.checking_leaks():
        yield


def one():
    return jnp.float32(1)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_programs(program):
    arguments = [
        argument if k in program.static_positions else jax.tree.map(jnp.asarray, argument)
        for k, argument in enumerate(program.examples[0])
    ]
    ag.function(program.function)(*arguments)


def test_the_check_finds_a_leak():
    kept = []
    with pytest.raises(Exception, match="Leaked"):
        jax.jit(lambda x: kept.append(x) or x)(one())


def test_a_plain_function_several_shapes_and_a_second_call():
    f = ag.function(lambda x: x + 1)
    assert float(f(one())) == 2 and float(f(one())) == 2 and f(jnp.ones(2)).tolist() == [2, 2]


def test_variables_methods_and_objects():
    class Model:
        def __init__(self):
            self.v, self.w = ag.Variable(1.0), jnp.float32(2)

        @ag.function
        def __call__(self, x):
            if x > 0:
                self.v.assign_add(x)
            return self.v * self.w

    model = Model()
    assert float(model(one())) == 4 and float(model(one())) == 6


def test_a_function_within_a_function():
    inner = ag.function(lambda x: x * 2)
    outer = ag.function(lambda x: inner(x) + inner(x + 1))
    assert float(outer(one())) == 6


def test_gradients():
    v = ag.Variable(3.0)
    f = ag.function(lambda x: ag.value_and_grad(lambda: v * v * x)())
    value, (slope,) = f(one())
    assert (float(value), float(slope)) == (9, 6)

    @ag.function
    def taped(x):
        with ag.GradientTape() as tape:
            tape.watch(x)
            y = x * x
        return tape.gradient(y, x)

    assert float(taped(one())) == 2

    @ag.function
    def halved(x):
        while x > 1:
            x = x / 2
        return x

    assert float(jax.grad(halved)(jnp.float32(4))) == 0.25


def test_errors_at_run_time():
    @ag.function
    def f(x):
        if x < 0:
            raise ValueError(f"negative: {x}")
        return x

    assert float(f(one())) == 1
    with pytest.raises(ValueError, match="negative"):
        f(-one())


def test_a_dataset():
    data = ag.Dataset.range(5)

    @ag.function
    def total(x):
        for k in data:
            x += k
        return x

    assert float(total(one())) == 11


def test_a_trace_that_fails():
    @ag.function
    def f(x):
        if x > 0:
            x = x @ jnp.ones((2, 3))
        return x

    with pytest.raises((TypeError, ValueError), match="rank|dimension|matmul"):
        f(one())
