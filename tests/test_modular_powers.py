"""``pow(base, exp, mod)`` of traced integers: Python's result and errors."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests import staged

LARGEST = 2**31 - 1
CASES = [
    (5, 13, 7), (-5, 3, 7), (3, 0, 1), (0, 0, 5), (7, 5, -13), (2, -1, 7), (-3, -5, -LARGEST),
    (123456789, 987654321, LARGEST), (LARGEST, LARGEST, LARGEST - 1), (1_000_000, -77, LARGEST), (2, 31, 65535), (3, -2, 1),
]  # fmt: skip


def power(a, b, m):
    return pow(a, b, m)


@pytest.mark.parametrize("case", CASES)
def test_all_are_traced(case):
    given = tuple(map(jnp.array, case))
    assert int(ag.function(power)(*given)) == power(*case)
    assert int(jax.jit(ag.convert(power))(*given)) == power(*case)


def test_they_are_mapped():
    given = tuple(map(jnp.array, zip(*CASES, strict=True)))
    assert jax.vmap(ag.convert(power))(*given).tolist() == [pow(*case) for case in CASES]


def test_some_are_pythons():
    def f(a, b):
        return (
            pow(a, b, 7),
            pow(3, b, 46_341),
            pow(a, 10**20, 13),
            pow(a, -3, 1_000_003),
            pow(a, b, True),
            pow(a, True, 10),
        )

    for a, b in ((5, 13), (-4, 0), (LARGEST, LARGEST)):
        assert tuple(map(int, staged.function(f)(jnp.array(a), jnp.array(b)))) == f(a, b)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "uint32", "int16"])
def test_a_base_of_another_type(dtype):
    """Their products do not fit these."""
    found = ag.function(lambda a: pow(a, 5, 101))(jnp.array(100, dtype))
    assert int(found) == pow(100, 5, 101)


def test_errors():
    f = ag.function(power)
    for case, text in (
        ((4, -1, 8), "base is not invertible for the given modulus"),
        ((2, 3, 0), "pow.. 3rd argument cannot be 0"),
    ):
        for error_of in (power, lambda *given: f(*map(jnp.array, given))):
            with pytest.raises(ValueError, match=text):
                error_of(*case)
    for case in ((2.0, 3, 5), (2, 3.0, 5)):
        for error_of in (power, lambda *given: f(*map(jnp.array, given))):
            with pytest.raises(TypeError, match="unless all arguments are integers"):
                error_of(*case)
    with pytest.raises(ag.StagingError, match="does not fit the integers of the program, which have 32 bits"):
        ag.function(lambda a: pow(a, 2, 10**12))(jnp.array(3))
    with pytest.raises(ag.StagingError, match="uint32 does not fit the integers of the program"):
        f(2, 3, jnp.array(2**32 - 5, jnp.uint32))


def test_an_error_is_handled():
    @ag.function
    def f(a, m):
        try:
            return pow(a, -1, m)
        except ValueError:
            return -1

    assert [int(f(jnp.array(a), jnp.array(8))) for a in (3, 4)] == [pow(3, -1, 8), -1]


def test_random_ones():
    draw = np.random.default_rng(0).integers(-(2**31) + 1, 2**31, (200, 3))
    cases = [(int(a), abs(int(b)), int(m)) for a, b, m in draw]
    found = jax.vmap(ag.convert(power))(*map(jnp.array, zip(*cases, strict=True)))
    assert found.tolist() == [pow(*case) for case in cases]
