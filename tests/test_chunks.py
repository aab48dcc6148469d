"""Loops over whole arrays that end by `any` or `all`: a few iterations between tests give what each by itself gives."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from autograph.backends.xla.while_ad import chunks

POINTS = np.random.default_rng(0).uniform(-2, 1, 24).astype(np.float32), np.linspace(-1, 1, 24, dtype=np.float32)


@pytest.fixture(autouse=True)
def small_arrays_too(monkeypatch):
    monkeypatch.setattr(chunks, "CHUNKS_FROM", 2)


@pytest.fixture
def forms(monkeypatch):
    """For each loop that is lowered, whether it runs in chunks."""
    found = []
    original = chunks.chunked

    def noted(*args):
        made = original(*args)
        found.append(isinstance(made, chunks.Chunks))
        return made

    monkeypatch.setattr("autograph.backends.xla.while_ad.program.chunked", noted)
    return found


def escape(xp, cr, ci, limit):
    """A mask that is carried, computed from what else is."""
    zr, zi = xp.zeros_like(cr), xp.zeros_like(ci)
    counts = xp.zeros(cr.shape, xp.int32)
    inside = zr * zr + zi * zi <= 4.0
    k = 0
    while k < limit and inside.any():
        new = xp.where(inside, zr * zr - zi * zi + cr, zr)
        zi = xp.where(inside, 2.0 * zr * zi + ci, zi)
        zr = new
        inside = zr * zr + zi * zi <= 4.0
        counts = counts + inside
        k += 1
    return counts, k


def until_all(xp, x, step, limit):
    """A mask that the test computes, and `all`."""
    k = 0
    while not (x >= 9.0).all() and k < limit:
        x = xp.where(x >= 9.0, x, x + step)
        k += 2
    return x, k


def masked_writes(xp, x, step, limit):
    k = 0
    total = 0.5
    while (x < 9.0).any():
        x[x < 9.0] += 1.0
        k += 1
        total = total * 0.5 + k
    return x, k, total


def with_a_late_start(xp, x, step, limit):
    """The mask is not what the body makes of it: false where the first iteration makes it true."""
    active = x > 100.0
    active = xp.where(xp.arange(len(x)) == 0, True, active)
    k = 0
    while active.any() and k < 40:
        x = xp.where(active, x + 1.0, x)
        active = x < 5.0
        k += 1
    return x, k, active


def that_goes_on_past_the_end(xp, x, step, limit):
    k = 0
    while (x < 9.0).any():
        x = x + 1.0
        k += 1
    return x, k


def that_counts_in_an_array(xp, x, step, limit):
    passes = xp.zeros_like(x)
    while (x < 9.0).any():
        x = xp.where(x < 9.0, x + 1.0, x)
        passes = passes + 1.0
    return x, passes


def with_neighbours(xp, x, step, limit):
    while (x < 9.0).any():
        x = xp.where(x < 9.0, x + 1.0 + 0.001 * xp.roll(x, 1), x)
    return x


def by_two_masks(xp, x, step, limit):
    while (x < 9.0).any() or (x < 3.0).any():
        x = xp.where(x < 9.0, x + 1.0, x)
    return x


def whose_mask_counts(xp, x, step, limit):
    """The mask depends on the number of the iteration."""
    k = 0
    while (x < 9.0 + k * 0.1).any() and k < 30:
        x = xp.where(x < 9.0 + k * 0.1, x + 1.0, x)
        k += 1
    return x, k


IN_CHUNKS = [until_all, masked_writes, with_a_late_start]
ONE_BY_ONE = [
    that_goes_on_past_the_end,
    that_counts_in_an_array,
    with_neighbours,
    by_two_masks,
    whose_mask_counts,
]
NUMBERS = np.array([-5.0, 3.0, 8.5, 12.0], np.float32)


def agree(found, wanted, rtol=1e-5):
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(a, b, rtol=rtol)


@pytest.mark.parametrize("limit", [0, 1, 7, 8, 9, 16, 30])
def test_a_picture(limit, forms):
    staged = ag.function(lambda cr, ci, limit: escape(jnp, cr, ci, limit))
    agree(staged(*map(jnp.array, POINTS), jnp.int32(limit)), escape(np, *POINTS, limit))
    assert forms == [True]


@pytest.mark.parametrize("program", [*IN_CHUNKS, *ONE_BY_ONE])
@pytest.mark.parametrize("least", [-3.0, 1.5, 8.0, 20.0])
def test_results_are_those_of_one_test_each(program, least, forms):
    x = NUMBERS + np.float32(least)
    staged = ag.function(lambda x, step, limit: program(jnp, x, step, limit))
    agree(staged(jnp.array(x), jnp.float32(1.0), jnp.int32(15)), program(np, x.copy(), np.float32(1.0), 15))
    assert forms == [program in IN_CHUNKS]


@pytest.mark.parametrize("first", range(20))
def test_the_count_is_right_wherever_in_a_chunk_a_loop_ends(first):
    staged = ag.function(lambda x: until_all(jnp, x, 1.0, 1000))
    x = np.array([9.0 - first, 9.0], np.float32)
    found = staged(jnp.array(x))
    agree(found, until_all(np, x, np.float32(1.0), 1000))
    assert int(found[1]) == 2 * first


def newton(a):
    x = a
    steps = 0
    while abs(x * x - a) > 1e-5 * a:
        x = 0.5 * (x + a / x)
        steps += 1
    return x, steps


def collatz(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


@pytest.mark.parametrize(
    "program, values",
    [(newton, np.array([0.5, 2.0, 30.0, 1.0], np.float32)), (collatz, np.array([1, 7, 27, 6], np.int32))],
)
def test_a_batch_of_loops_that_end_by_themselves(program, values, forms):
    found = jax.jit(jax.vmap(ag.convert(program)))(jnp.array(values))
    wanted = [program(value) for value in values]
    agree(found, tuple(map(np.array, zip(*wanted, strict=True))) if program is newton else np.array(wanted))
    assert forms == [True]


def test_derivatives():
    staged = ag.convert(newton)
    values = jnp.array([0.5, 2.0, 30.0])
    wanted = 0.5 / np.sqrt(values)
    agree(jax.vmap(jax.grad(lambda a: staged(a)[0]))(values), wanted, 1e-4)
    agree(jax.grad(lambda a: jax.vmap(staged)(a)[0].sum())(values), wanted, 1e-4)
    agree(jax.jvp(lambda a: jax.vmap(staged)(a)[0], (values,), (jnp.ones(3),))[1], wanted, 1e-4)


def test_a_loop_in_a_loop():
    def nested(x):
        total = 0.0
        for k in range(3):
            y, steps = until_all(jnp, x - k, 1.0, 50)
            total = total + y.sum() + steps
        return total

    def plain(x):
        return sum(float((y := until_all(np, x - k, 1.0, 50))[0].sum()) + y[1] for k in range(3))

    np.testing.assert_allclose(ag.function(nested)(jnp.array(NUMBERS)), plain(NUMBERS), rtol=1e-6)


def test_each_platform_has_its_form():
    staged = jax.jit(ag.convert(lambda x: until_all(jnp, x, 1.0, 50)))
    loops = {
        platforms: staged.trace(jnp.array(NUMBERS))
        .lower(lowering_platforms=platforms)
        .as_text()
        .count("stablehlo.while")
        for platforms in [("cpu",), ("tpu",), ("cpu", "cuda"), ("cpu", "tpu")]
    }
    assert loops == {("cpu",): 2, ("tpu",): 1, ("cpu", "cuda"): 2, ("cpu", "tpu"): 3}


def test_a_program_exported_for_several_platforms_runs():
    staged = jax.jit(ag.convert(lambda x: until_all(jnp, x, 1.0, 50)))
    exported = jax.export.export(staged, platforms=["cpu", "cuda", "tpu"])(jnp.array(NUMBERS))
    agree(exported.call(jnp.array(NUMBERS)), until_all(np, NUMBERS, np.float32(1.0), 50))


def test_sizes_that_only_the_run_knows(forms):
    staged = jax.jit(ag.convert(lambda x: until_all(jnp, x, 1.0, 50)))
    shape = jax.ShapeDtypeStruct(jax.export.symbolic_shape("n"), jnp.float32)
    exported = jax.export.export(staged)(shape)
    agree(exported.call(jnp.array(NUMBERS)), until_all(np, NUMBERS, np.float32(1.0), 50))
    assert forms == [False]


def test_small_arrays_have_a_test_each(monkeypatch, forms):
    monkeypatch.setattr(chunks, "CHUNKS_FROM", 100)
    staged = ag.function(lambda x: until_all(jnp, x, 1.0, 50))
    agree(staged(jnp.array(NUMBERS)), until_all(np, NUMBERS, np.float32(1.0), 50))
    assert forms == [False]
