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


def of_a_conditional(n):
    return 1000 if n > 2 else jnp.int8(3)


def of_branches(n):
    if n > 2:
        c = jnp.uint8(7)
    else:
        c = -1
    return c


def of_a_float(n):
    return 1e6 if n > 2 else jnp.float16(2)


def before_a_loop(n):
    c = 300
    for i in range(n):
        c = jnp.uint8(i)
    return c


def in_a_loop(n):
    c = jnp.int8(3)
    while c < n:
        c = 1000
    return c


def in_a_dict(n):
    held = {"a": 1000} if n > 2 else {"a": jnp.int8(1)}
    return held["a"]


@pytest.mark.parametrize(
    "program",
    [of_a_conditional, of_branches, of_a_float, before_a_loop, in_a_loop, in_a_dict],
    ids=lambda f: f.__name__,
)
def test_a_number_that_the_dtype_of_the_other_path_cannot_hold(program):
    wanted = [float(program(n)) for n in (0, 3, 5)]
    for run in (ag.function(program), jax.jit(ag.convert(program))):
        assert [float(run(jnp.int32(n))) for n in (0, 3, 5)] == wanted
    assert jax.vmap(ag.convert(program))(jnp.array([0, 3, 5])).tolist() == wanted


def test_a_number_that_fits_takes_the_dtype_of_the_other_path():
    for number, other in ((5, jnp.int8(3)), (0.5, jnp.float16(2)), (7, jnp.float32(1))):
        found = ag.function(lambda n, number=number, other=other: number if n > 2 else other)(jnp.int32(3))
        assert found.dtype == other.dtype
