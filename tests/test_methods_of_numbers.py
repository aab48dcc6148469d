"""Methods and attributes of Python's numbers that arrays lack, of traced numbers: Python's result."""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import pytest

import autograph as ag


def bits(n):
    count = 0
    while n:
        count += n.bit_length() * 10 + n.bit_count()
        n //= 2
    return count


def of_integers(n):
    return n.bit_length(), n.bit_count(), n.numerator, n.denominator, (n > 2).bit_length()


def of_floats(x):
    return x.is_integer(), (x / 2).is_integer()


def in_a_branch(n):
    return n.bit_length() if n > 2 else -n.bit_count()


@pytest.mark.parametrize(
    "f, values",
    [
        (bits, [13, 0, 255]),
        (of_integers, [9, -8, 0, 2**31 - 1, -(2**31)]),
        (of_floats, [3.0, 3.5, 4.0, float("inf"), float("nan")]),
        (in_a_branch, [9, 1, -7]),
    ],
)
def test_traced_numbers_have_what_pythons_have(f, values):
    expected = [f(value) for value in values]
    for transform in (ag.function, lambda f: jax.jit(ag.convert(f))):
        found = [jax.tree.map(lambda leaf: leaf.item(), transform(f)(jnp.array(value))) for value in values]
        assert found == expected
    batch = jax.vmap(ag.convert(f))(jnp.array(values))
    assert [jax.tree.map(lambda leaf: leaf[k].item(), batch) for k in range(len(values))] == expected  # noqa: B023


def test_a_float_has_no_bits():
    with pytest.raises(AttributeError, match="bit_length"):
        ag.function(lambda x: x.bit_length())(jnp.float32(1.0))


def test_a_class_may_have_such_a_method():
    class Word:
        def bit_length(self):
            return 3

    assert int(ag.function(lambda n: n.bit_length() + Word().bit_length())(jnp.int32(4))) == 6


@pytest.mark.parametrize("made", [itertools.combinations, itertools.permutations])
def test_a_traced_size_of_tuples_is_refused(made):
    def f(xs, r):
        return sum(1 for _ in made(xs, r))

    with pytest.raises(ag.StagingError, match=f"{made.__name__}` is given a traced number: how many items"):
        ag.function(f)([*map(jnp.array, [1, 2, 3])], jnp.int32(2))
