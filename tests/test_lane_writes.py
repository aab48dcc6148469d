"""Loops that are mapped and write an element of each lane's array: as elements, which a TPU writes all at once."""

from __future__ import annotations

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag

ROWS = np.array([[4.0, 1.0, 3.0, 2.0], [1.0, 2.0, 3.0, 4.0], [9.0, 7.0, 5.0, 6.0]], np.float32)


def sink(x):
    """Exchange the last element with larger ones before it."""
    j = len(x) - 1
    key = x[j]
    while j > 0 and x[j - 1] > key:
        x[j] = x[j - 1]
        j -= 1
    x[j] = key
    return x


def sink_in_a_table(x):
    table = np.stack([x, x * 2.0]) if isinstance(x, np.ndarray) else jnp.stack([x, x * 2.0])
    j = len(x) - 1
    while j > 0 and table[0, j] > 1.0:
        table[1, j - 1] = table[0, j] * table[1, j]
        j -= 1
    return table


def sink_where_larger(x):
    total, j = x[0] * 0.0, len(x) - 1
    while j > 0 and total < 9.0:
        if x[j - 1] > x[j]:
            x[j] = x[j - 1]
            total += x[j]
        j -= 1
    return x, total


PROGRAMS = (sink, sink_in_a_table, sink_where_larger)


def mapped(program):
    return ag.function(lambda rows: jax.vmap(ag.convert(program))(rows))


@pytest.mark.parametrize("program", PROGRAMS)
def test_each_lane_writes_what_python_does(program):
    expected = [program(row.copy()) for row in ROWS]
    rows = jax.tree.map(lambda *each: np.stack(each), *expected)
    jax.tree.map(np.testing.assert_array_equal, mapped(program)(jnp.array(ROWS)), rows)


@pytest.mark.parametrize("program", PROGRAMS)
def test_no_lane_writes_a_block_of_one_element(program):
    text = mapped(program).lower(jnp.array(ROWS)).as_text()
    loops = text[text.index("stablehlo.while") :]
    assert "stablehlo.scatter" in loops
    assert not re.search(r"update_window_dims = \[\d[^>]* input_batching_dims", loops)


def test_the_gradient_of_mapped_writes():
    def loss(x):
        return jnp.sum(ag.convert(sink_in_a_table)(x)[1] ** 2)

    by_lane = jax.grad(lambda rows: jnp.sum(jax.vmap(loss)(rows)))(jnp.array(ROWS))
    for row, found in zip(ROWS, by_lane, strict=True):
        np.testing.assert_allclose(found, jax.grad(loss)(jnp.array(row)), rtol=1e-6)
