"""NumPy arrays of which a traced condition chooses one, or a part of one: what is written to it is where Python writes it."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests.chosen_array_programs import PROGRAMS, best_row, longest, row_or_copy
from tests.outcomes import agree

TABLE = np.arange(12.0, dtype=np.float32).reshape(4, 3)
NUMBERS = [np.float32(1.5), np.float32(-1.0)]


def of_a_copy(program):
    return lambda m, c: program(np.array(m), c)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_results_and_the_argument(program):
    compiled = ag.function(program)
    for c in NUMBERS:
        pythons, mine = TABLE.copy(), TABLE.copy()
        agree(program(pythons, c), compiled(mine, jnp.asarray(c)))
        agree(pythons, mine)


# `longest` divides by a number of the arguments, which is JAX's there: `x /= v` binds `x` anew.
@pytest.mark.parametrize(
    "program", [each for each in PROGRAMS[::3] if each is not longest], ids=lambda each: each.__name__
)
def test_under_jit_and_vmap(program):
    converted = ag.convert(of_a_copy(program))
    wanted = [program(TABLE.copy(), c) for c in NUMBERS]
    for c, want in zip(NUMBERS, wanted, strict=True):
        agree(want, jax.jit(converted)(TABLE, c))
    rows = jax.vmap(converted, (None, 0))(TABLE, jnp.asarray(NUMBERS))
    for k, want in enumerate(wanted):
        agree(want, jax.tree.map(lambda leaf: leaf[k], rows))  # noqa: B023 (called at once)


def test_gradients():
    def loss(m, c):
        best, written = best_row(np.array(m), c)
        return (best**2).sum() + written[0, 1] ** 3

    found = jax.grad(ag.convert(loss))(TABLE, 1.5)
    wanted = np.zeros_like(TABLE)
    wanted[3, 1:] = 2 * TABLE[3, 1:]
    wanted[0, 1] = 3 * TABLE[0, 1] ** 2
    agree(wanted, found)


def test_in_methods_of_objects_that_keep_the_table():
    class Table:
        def __init__(self, m):
            self.m = m

        def chosen(self, c):
            return self.m[0] if c > 0 else self.m[-1]

        def write(self, c):
            row = self.chosen(c)
            row[1] = c
            return self.m * 1

    def program(m, c):
        return Table(m).write(c), m

    for c in NUMBERS:
        pythons, mine = TABLE.copy(), TABLE.copy()
        agree(program(pythons, c), ag.function(program)(mine, jnp.asarray(c)))
        agree(pythons, mine)


def test_arrays_of_two_shapes_are_refused_by_their_types():
    def program(m, c):
        part = m[1:] if c > 0 else m[:2]
        part[0] = 1
        return m

    with pytest.raises(ag.StagingError, match=r"if true: +float32\[3,3\]"):
        ag.function(program)(TABLE.copy(), jnp.float32(1))


def test_an_update_of_what_may_be_an_array_of_jaxs_is_refused():
    def program(m, c):
        row = m[0] if c > 0 else jax.nn.relu(jnp.ones(3))
        row += 1
        return m

    with pytest.raises(ag.StagingError, match="one of NumPy's, which is written, and one of JAX's, which is not"):
        ag.function(program)(TABLE.copy(), jnp.float32(1))


def test_where_the_trace_cannot_be_made_again_the_copy_is_named():
    def program(m, c):
        ag.print("begin", c)
        return row_or_copy(np.array(m), c)

    with pytest.raises(ag.StagingError, match=r"copy the part|through autograph.function"):
        jax.jit(ag.convert(program))(TABLE, 1.0)


def test_a_part_beside_what_is_no_array_is_named_in_the_refusal():
    def program(m, c):
        row = m[0] if c > 0 else [1.0]
        m[1] = 0
        return row

    with pytest.raises(ag.StagingError, match=r"if true: +a part float32\[3\] of an array"):
        ag.function(program)(TABLE.copy(), jnp.float32(1))
