"""A `functools.cached_property` of arrays, first read in a traced function: its object keeps what Python's would."""

import functools

import jax
import jax.numpy as jnp
import pytest

import autograph as ag

X = jnp.float32(2)


class Scaled:
    def __init__(self, weights=(3.0, 4.0)):
        self.weights = jnp.array(weights)
        self.offset = ag.Variable(2.0)

    @functools.cached_property
    def norm(self):
        return jnp.sqrt((self.weights**2).sum())

    @functools.cached_property
    def doubled(self):
        return self.offset * 2

    def apply(self, x):
        return x / self.norm

    def shifted(self, x):
        return x + self.doubled


def test_the_object_keeps_an_array():
    scaled = Scaled()
    staged = ag.function(scaled.apply)
    assert staged(X) == scaled.norm * 0 + Scaled().apply(X) and scaled.norm == 5
    scaled.weights = jnp.zeros(2)  # which the property no longer reads, in Python either
    assert staged(X) == scaled.apply(X) and staged(jnp.ones(2)).shape == (2,)
    del scaled.norm
    scaled.weights = jnp.array([6.0, 8.0])
    assert staged(X) == X / 10 and scaled.norm == 10


@pytest.mark.parametrize(
    "transformed",
    [
        lambda f: jax.jit(ag.convert(f)),
        lambda f: jax.jit(ag.function(f)),
        lambda f: jax.grad(lambda x: ag.function(f)(x) * x / 2),
        lambda f: lambda x: jax.vmap(ag.function(f))(x[None])[0],
        lambda f: ag.function(f).get_concrete_function(X),
        lambda f: ag.function(lambda x: jax.lax.scan(lambda total, y: (total + f(y), None), 0.0, x[None])[0]),
    ],
    ids=["jit of convert", "jit of function", "grad", "vmap", "concrete", "scan"],
)
def test_the_object_keeps_an_array_under_transforms(transformed):
    scaled = Scaled()
    assert transformed(scaled.apply)(X) == Scaled().apply(X)
    assert scaled.norm == 5


def test_one_that_reads_a_variable_keeps_what_that_was():
    plain, scaled = Scaled(), Scaled()
    staged = ag.function(scaled.shifted)
    assert staged(X) == plain.shifted(X)
    for each in (plain, scaled):
        each.offset.assign(7.0)
    assert staged(X) == plain.shifted(X) == 6 and scaled.doubled == 4


def test_one_that_reads_a_variable_is_refused_under_jit():
    scaled = Scaled()
    with pytest.raises(ag.StagingError, match="'Scaled.doubled' is assigned"):
        jax.jit(ag.function(scaled.shifted))(X)
    assert "doubled" not in vars(scaled)


def test_variables_are_the_programs_where_jax_evaluates_constants():
    total = ag.Variable(2.0)

    @ag.function
    def f(x):
        with jax.ensure_compile_time_eval():
            doubled = total * 2
            total.assign(5.0)
            for _ in ag.range(3):
                total.assign_add(x)
        return x + doubled

    assert f(X) == 6 and total.numpy() == 11
    assert f(X) == 24 and total.numpy() == 11
