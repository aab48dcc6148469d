"""Builtins, and functions of `math` and NumPy, take a Variable for its value, as they do outside of a function."""

from __future__ import annotations

import math

import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag

A, B = ag.Variable(1.5, name="a"), ag.Variable(2.25, name="b")
TWO = ag.Variable(2, name="two")
ROW = ag.Variable([3.0, 1.0], name="row")


def written(index):
    items = [1, 2, 3]
    items[index] = 9
    return items


def counted(count):
    total = 0
    for k in ag.range(count):
        total += k + 1
    for k in range(count, count + 2):
        total += k
    return total


PROGRAMS = {
    "int": lambda: int(B) + 1,
    "float": lambda: float(TWO) / 4,
    "round": lambda: round(B),
    "range": lambda: list(range(TWO)),
    "a loop over a range": lambda: counted(TWO),
    "all": lambda: (all([A, B]), all([A, B * 0])),
    "in": lambda: (A in [B, A], A in (B,), B in [1.0, 2.25]),
    "an index": lambda: ([10, 20, 30][TWO], [ROW.value, ROW * 2][TWO - 1]),
    "a written index": lambda: written(TWO),
    "a slice": lambda: (jnp.arange(5)[:TWO], [4, 5, 6][TWO:]),
    "math": lambda: (math.sqrt(B), math.floor(B)),
    "NumPy": lambda: (np.sum(ROW), np.maximum(A, B), np.stack([A, B])),
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_a_variable_is_its_value(program):
    found, wanted = ag.function(program)(), program()
    assert type(found) is type(wanted) or not isinstance(wanted, tuple | list)
    for one, other in zip(
        *(value if type(value) in (tuple, list) else [value] for value in (found, wanted)), strict=True
    ):
        np.testing.assert_allclose(np.asarray(one, float), np.asarray(other, float), rtol=1e-6)


def test_what_has_no_meaning_in_a_function_says_so():
    with pytest.raises(ag.StagingError, match=r"`numpy\(\)` needs the value of a traced array"):
        ag.function(lambda: A.numpy())()
