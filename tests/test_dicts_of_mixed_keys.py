"""Dicts whose keys cannot be sorted (texts beside numbers), in staged statements: JAX sorts the keys of dicts."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import pytest

import autograph as ag


def in_a_branch(x):
    table = {"a": x, 1: x * 2, None: 1.0}
    if x > 1:
        table["a"] = 5.0
    chosen = table if x > 0 else {"a": 1.0, 1: 2.0, None: 3.0}
    return chosen["a"] + table[1], sum(chosen.values())


def in_a_loop(x):
    table = {"a": x, 1: x * 2}
    for k in range(3):
        table[1] += k
        if table[1] > 4:
            break
    return table["a"] + table[1], len(table)


def in_a_try(x):
    table = {"a": x, 1: x * 2}
    try:
        if x > 1:
            table["b"] = x
        table["c"] = 1.0 / x
    except ZeroDivisionError:
        table[2] = 5.0
    return table["a"] + table[1], len(table), table.get(2, 0.0)


def in_a_try_whose_handler_takes_what_jax_would_raise(x):
    table = {"a": x, 1: x}
    try:
        if x > 1:
            table["a"] = 3.0
        table[1] = math.sqrt(x)
    except ValueError:
        return -1.0
    return table["a"] + table[1]


@pytest.mark.parametrize(
    "program", [in_a_branch, in_a_loop, in_a_try, in_a_try_whose_handler_takes_what_jax_would_raise]
)
def test_as_in_python(program):
    for x in (2.0, 0.0, -3.0):
        wanted = jax.tree.map(float, program(x))
        for run in (ag.function(program), jax.jit(ag.convert(program))):
            assert jax.tree.map(float, run(jnp.float32(x))) == pytest.approx(wanted)


def test_a_result_is_refused_in_words():
    for run in (ag.function(lambda x: {"a": x, 1: x}), jax.jit(ag.convert(lambda x: {"a": x, 1: x}))):
        with pytest.raises(ag.StagingError, match="A dict has keys of different types"):
            run(jnp.float32(1.0))


def test_what_is_refused_reaches_no_handler():
    def f(x):
        table = {"a": x, 1: {"b": x, 2: [x]}}
        k = 0
        try:
            while k < x:
                table[1][2][0] += 1
                k += 1
        except ValueError:
            return -1.0
        return table[1][2][0]

    with pytest.raises(ag.StagingError, match="A dict has keys of different types|sorting pytree dictionary keys"):
        ag.function(f)(jnp.float32(1.0))
