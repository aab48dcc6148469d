"""Functions that a converted one defines, under transforms that trace them once for many calls."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import pytest

import autograph as ag
from autograph.runtime.heap.object_graph import Reached


class Count:
    n = 0


def of_an_attribute(xs):
    count = Count()

    @jax.jit
    def counted(x):
        count.n = count.n + 1
        return x

    for x in xs:
        counted(x)
    return count.n


def of_a_variable(xs):
    n = 0

    @jax.jit
    def counted(x):
        nonlocal n
        n += 1
        return x

    for x in xs:
        if x > 0:
            counted(x)
    return n


def of_a_list(xs):
    seen = []
    counted = jax.jit(lambda x: (seen.append(1), x)[1])
    for x in xs:
        counted(x)
    return len(seen)


@pytest.mark.parametrize(
    "function", [of_an_attribute, of_a_variable, of_a_list], ids=lambda function: function.__name__
)
def test_what_a_function_writes_that_is_jitted_where_it_is_defined(function):
    """The second trace of the loop's body finds the trace that JAX keeps: a write of the first would be lost."""
    with pytest.raises(ag.StagingError, match="runs under a transform"):
        ag.function(function)(jnp.array([1.0, 2.0, 3.0]))


KEEPING = {
    "checkpoint": jax.checkpoint,
    "checkpoint with options": functools.partial(jax.checkpoint, prevent_cse=False),
    "jit of checkpoint": lambda f: jax.jit(jax.checkpoint(f)),
    "grad of checkpoint": lambda f: jax.grad(jax.checkpoint(f)),
    "checkpoint of partial": lambda f: jax.checkpoint(functools.partial(f)),
    "jit of partial": lambda f: jax.jit(functools.partial(f)),
    "jit of grad": lambda f: jax.jit(jax.grad(f)),
    "jit of vmap": lambda f: lambda x, made=jax.jit(jax.vmap(f)): made(x[None])[0],
    "checkpoint of vmap": lambda f: lambda x, made=jax.checkpoint(jax.vmap(f)): made(x[None])[0],
}


def writes_an_attribute(count):
    def counted(x):
        count.n = count.n + 1
        return x * 2

    return counted


def writes_a_list(count):
    seen = []
    count.n = seen

    def counted(x):
        seen.append(1)
        return x * 2

    return counted


@pytest.mark.parametrize("writes", [writes_an_attribute, writes_a_list], ids=lambda function: function.__name__)
@pytest.mark.parametrize("name", KEEPING)
def test_every_transform_that_keeps_traces_refuses_writes(name, writes):
    def f(xs):
        count, total = Count(), 0.0
        counted = KEEPING[name](writes(count))
        for x in xs:
            if x > 0:
                total += counted(x)
        return count.n

    with pytest.raises(ag.StagingError, match="runs under a transform"):
        ag.function(f)(jnp.array([1.0, -1.0, 2.0]))


@pytest.mark.parametrize("name", KEEPING)
def test_what_keeps_traces_may_wrap_what_writes_nothing(name):
    def f(xs):
        total = 0.0

        def cubed(x):
            parts = [x]
            parts.append(x * x)
            return parts[0] * parts[1] if x > 0 else -x

        made = KEEPING[name](cubed)
        for x in xs:
            if x > 1:
                total += made(x)
        return total

    def g(xs):
        cubed, total = KEEPING[name](lambda x: x * x * x), 0.0
        for x in xs:
            total += cubed(x) if x > 1 else 0.0
        return total

    xs = jnp.array([1.0, -1.0, 2.0, 3.0])
    assert ag.function(f)(xs) == jax.jit(ag.convert(f))(xs) == g(xs)


def test_a_name_is_not_looked_for_in_all_that_has_been_converted():
    assert ag.operators.converter not in Reached([("ag__", ag.operators)])


def test_derivatives_run_their_function_at_each_trace():
    def f(xs):
        count, total = Count(), 0.0

        def squared(x):
            count.n = count.n + 1
            return x * x

        for x in xs:
            if x > 0:
                total += jax.grad(squared)(x)
        return count.n, total

    xs = jnp.array([1.0, -1.0, 2.0])
    assert [float(part) for part in ag.function(f)(xs)] == [float(part) for part in f(xs)]


def test_what_is_jitted_where_it_is_defined_may_write_to_what_it_makes():
    def f(xs):
        @jax.jit
        def doubled(x):
            parts = [x]
            parts.append(x)
            return parts[0] + parts[1]

        total = 0.0
        for x in xs:
            total += doubled(x)
        return total

    xs = jnp.array([1.0, -1.0, 2.0])
    assert ag.function(f)(xs) == f(xs)
