"""Arrays stacked from a number of elements that only run time knows: their padding takes part in no result."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag

X = jnp.array([[3.0, 1, 4, 1, 5, 9, 2, 6], [-3.0, -1, -4, 8, -5, -9, -2, 7], [3.0, 3, 3, 3, 3, 3, 3, 3]])


def above_two(x):
    kept = []
    for v in x:
        if v > 2:
            kept.append(v)
    return jnp.stack(kept)


def rows_above_two(x):
    kept = []
    for v in x:
        if v > 2:
            kept.append(jnp.array([v, -v, 2 * v]))
    return jnp.stack(kept)


def functions(x):
    s = above_two(x)
    whole = jnp.stack([v for v in x])
    return [f(s) for f in (jnp.sum, jnp.mean, jnp.min, jnp.max, jnp.prod, jnp.std, jnp.argmin)], jnp.mean(whole)


def methods(x):
    s = above_two(x)
    return (
        s.mean(),
        s.min(),
        s.max(),
        s.argmax(),
        s.var(ddof=1),
        s.prod(),
        (s > 3).any(),
        (s > 3).all(),
        s.dot(s),
        s.sum(),
    )


def arithmetic(x):
    s = above_two(x)
    return (
        (s * 2 + 1).mean(),
        (2 / s).sum(),
        (-s).min(),
        abs(-s).max(),
        (s - s.mean()).sum() + 1,
        (s**2 @ s),
        (s * s).mean(),
    )


def items(x):
    s = above_two(x)
    return s[0], s[-1], len(s), s.shape[0], s[1:].sum(), s[::-1][0]


def looped(x):
    total = 0.0
    for k, v in enumerate(above_two(x)):
        total += v * k
    return total


def rows(x):
    s = rows_above_two(x)
    return s.mean(0), s.mean(), s.sum(1).max(), s[:, 1].min(), s[0], s.max(axis=1).sum(), s.std(axis=0)


def tensor_array(x):
    array, i = ag.TensorArray(jnp.float32, size=0, dynamic_size=True), 0
    for v in x:
        if v > 4:
            break
        array = array.write(i, v)
        i += 1
    s = array.stack()
    return jnp.min(s), jnp.mean(s), s.sum()


PROGRAMS = [functions, methods, arithmetic, items, looped, rows, tensor_array]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_like_python(program):
    wanted = [program(x) for x in X]
    for wrap in (ag.function, lambda f: jax.jit(ag.convert(f))):
        staged = wrap(program)
        for x, expected in zip(X, wanted, strict=True):
            jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5), staged(x), expected)
    found = jax.jit(jax.vmap(ag.convert(program)))(X)
    for k, expected in enumerate(wanted):
        jax.tree.map(lambda a, b, k=k: np.testing.assert_allclose(a[k], b, rtol=1e-5), found, expected)


def exact(x):
    s = above_two(x)
    return s, s * 2, s / s.sum(), s[1:], s.sort(), s.cumsum(), rows_above_two(x), {"whole": s > 3}


def test_function_returns_them_exact():
    staged = ag.function(exact)
    for x in X:
        for found, wanted in zip(jax.tree.leaves(staged(x)), jax.tree.leaves(exact(x)), strict=True):
            assert isinstance(found, jax.Array) and found.shape == wanted.shape
            np.testing.assert_allclose(found, wanted, rtol=1e-5)
    assert staged.experimental_get_tracing_count() == 1


def test_jit_returns_what_reads_as_the_exact_array():
    staged = jax.jit(ag.convert(above_two))
    for x in X:
        found, wanted = staged(x), above_two(x)
        np.testing.assert_array_equal(np.asarray(found), wanted)
        assert found.shape == wanted.shape and len(found) == len(wanted) and found.mean() == wanted.mean()
        np.testing.assert_allclose(jnp.sin(found.resolve()), jnp.sin(wanted))


def test_gradients():
    def loss(x, function=above_two):
        s = function(x)
        return (s**2).mean() + s.max()

    np.testing.assert_allclose(
        jax.grad(lambda x: loss(x, ag.convert(above_two)))(X[0]), jax.grad(loss)(X[0]), rtol=1e-5
    )


REFUSED = {
    "an unknown function": (lambda s: jnp.fft.fft(s), "`fft`"),
    "a function of another library": (lambda s: jax.scipy.signal.detrend(s), "`detrend`"),
    "a second axis": (lambda s: s[None, :], "an index of this kind"),
    "pairs": (lambda s: s[:, None] * s, "more dimensions"),
    "an array of matrices": (lambda s: jnp.array([s[:, None], s[:, None]]), "along the first axis of the result"),
    "a method": (lambda s: s.argpartition(2), "`.argpartition`"),
}


@pytest.mark.parametrize(("use", "what"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_leave_the_padding_out_is_refused(use, what):
    @ag.function
    def f(x):
        return use(above_two(x))

    with pytest.raises(ag.StagingError, match="The length of this array is known only when the program runs") as caught:
        f(X[0])
    text = str(caught.value)
    assert "test_padded_arrays.py" in text and what in text and "jnp.where(mask, x, 0)" in text


def test_lengths_that_differ_raise_as_numpy_does():
    @ag.function
    def f(x):
        return above_two(x) + jnp.ones(8)

    assert f(X[2]).tolist() == [4.0] * 8
    with pytest.raises(ValueError, match=r"could not be broadcast together with shapes \(5,\) \(8,\)"):
        f(X[0])


def test_of_nothing():
    @ag.function
    def f(x):
        s = above_two(x)
        return s, s.sum(), len(s)

    s, total, length = f(jnp.zeros(4))
    assert s.shape == (0,) and total == 0 and length == 0
