"""Generators that are left where they yield, in a `try`: what runs after the call is not in it."""

from __future__ import annotations

import gc

import jax
import jax.numpy as jnp
import pytest

import autograph as ag


def squared(x):
    return x**2 / x


def of_squares(x):
    total = 0.0
    for v in [x, x + 1]:
        total += squared(v)
    return total


def caught(x):
    try:
        if x > 9:
            raise ValueError
    except ValueError:
        return 0.0
    return x


@pytest.mark.parametrize("transform", [lambda f: jax.jit(ag.convert(f)), ag.function], ids=["jit", "function"])
def test_a_generator_that_is_left_in_a_try_says_nothing_of_later_calls(transform):
    def numbers(x):
        for k in range(3):
            try:
                yield x * k
            except ArithmeticError:
                yield -1.0

    def f(x):
        total = 0.0
        try:
            for v in numbers(x):
                total += v
                1 / 0  # noqa: B018
        except ZeroDivisionError as error:
            kept.append(error)  # whose traceback holds the generator
            return total - 100.0
        return total

    kept = []
    assert float(transform(f)(jnp.array(2.0))) == -100.0
    for other in (lambda f: jax.jit(ag.convert(f)), ag.function, lambda f: jax.jit(jax.grad(ag.convert(f)))):
        other(of_squares)(jnp.array(2.0))
        assert float(other(caught)(jnp.array(1.0))) == 1.0
    kept.clear()
    gc.collect()
    assert float(transform(caught)(jnp.array(10.0))) == 0.0
