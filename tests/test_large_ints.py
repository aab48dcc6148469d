"""Python ints that no integer of JAX's holds."""

import sys

import jax
import jax.numpy as jnp
import pytest

import autograph as ag


def too_large_in_arithmetic(x):
    return x + 3_000_000_000


def too_large_in_a_branch(x):
    k = 2**40
    if x > 0:
        return x * k
    return x


def too_large_as_a_result(x):
    if x > 0:
        return 3_000_000_000
    return 1


def too_large_in_a_loop(x):
    h = 5381
    while x > 0:
        h = h * 33 + 3_000_000_000
        x = x - 1
    return h


@pytest.mark.parametrize(
    "program",
    [too_large_in_arithmetic, too_large_in_a_branch, too_large_as_a_result, too_large_in_a_loop],
    ids=lambda program: program.__name__,
)
def test_ints_that_no_array_holds_are_refused_with_the_line(program):
    lines = {too_large_in_a_branch: ("return x \\* k", 2**40), too_large_as_a_result: ("if x > 0:", 3_000_000_000)}
    line, number = lines.get(program, (".*3_000_000_000", 3_000_000_000))
    text = rf"{__file__}:\d+: {line}\n  The Python int {number} .*does not fit int32.*\n.*jax_enable_x64"
    for transform in (ag.function, lambda f: jax.jit(ag.convert(f))):
        with pytest.raises(ag.StagingError, match=text):
            transform(program)(jnp.int32(3))


def test_ints_that_no_array_holds_stay_pythons():
    @ag.function
    def f(x, k):
        return x + k % 10, k

    found = f(jnp.int32(1), 2**40)
    assert (int(found[0]), found[1]) == (7, 2**40)


def compared_with_ints_beyond(n):
    count = 0
    while n < 10**12 and count < 5:
        count += 1
        if n >= -(2**35):
            n += 1
    return n, count, n == 2**40, n != 2**40, -(10**18) < n, sys.maxsize <= n


def test_traced_integers_are_compared_with_ints_that_no_array_holds():
    for transform in (
        ag.function,
        lambda f: jax.jit(ag.convert(f)),
        lambda f: lambda n: one_of_batch(ag.convert(f), n),
    ):
        found = jax.tree.map(lambda leaf: leaf.item(), transform(compared_with_ints_beyond)(jnp.int32(3)))
        assert found == compared_with_ints_beyond(3)
    rows = ag.function(lambda x: x < 2**40)(jnp.arange(3))
    assert rows.tolist() == [True, True, True]


def one_of_batch(f, n):
    return jax.tree.map(lambda leaf: leaf[0], jax.vmap(f)(jnp.stack([n, n])))
