"""Lists, tuples and NumPy arrays that are read at a traced index."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag

TABLE = [2.0, 3.0, 5.0, 7.0]
NEXT_STATE = np.array([[1, 2], [2, 0], [0, 1]])
PAIRS = [(1, 0.5), (2, 1.5), (3, 2.5)]
NAMES = ["a", "b"]
STEPS = range(3, 20, 4)


def closure_table(n):
    return TABLE[n] + TABLE[n - 1] + TABLE[-1]


def machine(bits):
    state = 0
    for bit in bits:
        state = NEXT_STATE[state, bit]
    return state


def horner(n):
    coefficients = (1.0, -2.0, 0.5)
    total = 0.0
    for i in ag.range(3):
        total = total * n + coefficients[i]
    return total


def rows(n):
    table = np.arange(6.0, dtype=np.float32).reshape(3, 2)
    return table[n].sum() + table[n, 1] - table[1:, n // 2].sum() + table[..., None, n // 2][n, 0]


def pairs(n):
    count, weight = PAIRS[n]
    return count * weight


def offsets(n):
    return STEPS[n]


class Model:
    def __init__(self):
        self.gains = [1, 10, 100]

    def gain(self, n):
        if n > 0:
            return self.gains[n]
        return 0


def method(n):
    return Model().gain(n)


@pytest.mark.parametrize("program", [closure_table, horner, rows, pairs, offsets, method])
@pytest.mark.parametrize("n", [0, 1, 2])
def test_a_traced_index_reads_what_python_reads(program, n):
    wanted = program(n)
    for found in (
        ag.function(program)(jnp.asarray(n)),
        jax.jit(ag.convert(program))(n),
        jax.vmap(ag.convert(program))(jnp.array([0, n]))[1],
    ):
        np.testing.assert_allclose(found, wanted, rtol=1e-6)
        assert np.asarray(found).dtype.kind == np.asarray(wanted).dtype.kind


def test_a_state_machine_in_a_table():
    bits = np.array([0, 1, 1, 0, 1])
    assert int(ag.function(machine)(jnp.asarray(bits))) == machine(bits)


def test_numbers_of_a_list_stay_weak():
    @ag.function
    def scale(x, n):
        return x * TABLE[n]

    assert scale(jnp.ones(2, jnp.bfloat16), jnp.asarray(1)).dtype == jnp.bfloat16


def test_python_indices_read_the_very_objects():
    @ag.convert
    def read(names, key):
        return NAMES[key], names[key], {"k": names}[str("k")]

    names = [object(), object()]
    assert read(names, 1) == ("b", names[1], names)


@pytest.mark.parametrize("table", [NAMES, [1.0, jnp.ones(2)], {1: 2}, "abc", []])
def test_items_that_cannot_be_one_array_are_refused_in_words(table):
    def read(n):
        return table[n]

    with pytest.raises(
        ag.StagingError, match=rf"test_lookups.py:(?s:.*){type(table).__name__} is indexed by a traced value"
    ):
        ag.function(read)(jnp.asarray(0))


def test_what_needs_the_value_itself_says_where_and_what_to_do():
    def build(n):
        return "x".rjust(n)

    with pytest.raises(jax.errors.TracerIntegerConversionError) as error:
        ag.function(build)(jnp.asarray(2))
    assert any("test_lookups.py:" in note and "py_function" in note for note in error.value.__notes__)
