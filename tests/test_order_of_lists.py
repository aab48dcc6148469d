"""Order: of lists and tuples that differ in length, and of what is sorted in an order known only at run time."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests.order_programs import PROGRAMS
from tests.test_lengths_by_path import plain


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_a_function_returns_what_python_returns(program):
    staged = ag.function(program)
    for n in (5, 3, 8):
        assert plain(staged(jnp.int32(n))) == plain(program(n))


def compared(values):
    high = [v for v in values if v > 1]
    low = [v for v in values if v <= 1]
    few = sorted(high, reverse=values[0] > 2)[:2]
    return high < low, high >= few, (values[0], high) < (2.0, low), few > [1.5], [*few, values[1]] <= few


INPUTS = np.array([[3.0, -1.0, 2.5], [0.5, 2.5, -1.0], [-2.0, 0.0, 1.0], [2.0, 2.0, np.nan]], "f")


def test_under_jit_and_vmap():
    converted = ag.convert(compared)
    wanted = [compared(values.tolist()) for values in INPUTS]
    assert [tuple(map(bool, jax.jit(converted)(values))) for values in INPUTS] == wanted
    found = jax.jit(jax.vmap(converted))(INPUTS)
    assert [tuple(map(bool, each)) for each in zip(*found, strict=True)] == wanted
