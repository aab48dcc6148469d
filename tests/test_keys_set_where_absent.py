"""Keys and attributes that a program sets where they are absent: after that they are there, on every path."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

import autograph as ag
from tests.test_keys_by_path import Box


def kept_once(x):
    memo = {}
    if x > 0:
        memo["v"] = x
    if "v" not in memo:
        memo["v"] = -x
    return memo["v"], len(memo)


def kept_by_a_helper(x):
    memo = {}

    def get(key):
        if key not in memo:
            memo[key] = x * 2
        return memo[key]

    if x > 0:
        get("a")
    return get("a") + get("b"), "a" in memo


def kept_in_an_else(x):
    memo = {}
    if x > 0:
        memo["v"] = x
    if "v" in memo:
        memo["v"] += 1
    else:
        memo["v"] = -x
    return memo["v"]


def kept_in_an_attribute(x):
    box = Box()
    if x > 0:
        box.v = x
    if not hasattr(box, "v"):
        box.v = 3.0
    return box.v


def kept_in_iterations(x):
    memo, total = {}, 0.0
    for k in range(5):
        if x * k > 1:
            if "v" not in memo:
                memo["v"] = x * k
            total += memo["v"]
    return total, len(memo)


@pytest.mark.parametrize(
    "program", [kept_once, kept_by_a_helper, kept_in_an_else, kept_in_an_attribute, kept_in_iterations]
)
def test_what_is_set_where_it_is_absent_is_there_in_programs_that_cannot_raise(program):
    for x in (2.0, -3.0, 0.1):
        wanted = jax.tree.map(float, program(x))
        for run in (ag.function(program), jax.jit(ag.convert(program))):
            assert jax.tree.map(float, run(jnp.float32(x))) == pytest.approx(wanted)
    mapped = jax.jit(jax.vmap(ag.convert(program)))(jnp.array([2.0, -3.0]))
    assert jax.tree.map(lambda v: float(v[1]), mapped) == pytest.approx(jax.tree.map(float, program(-3.0)))
