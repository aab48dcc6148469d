"""Functions of NumPy's that call functions of the user's: `np.vectorize`, `np.piecewise`, `np.apply_along_axis`."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests.agreement import differences

X = np.array([0.5, -1, 2, 0.25, -0.5, 1.5, -2, 0.75], np.float32)
M = np.arange(12, dtype=np.float32).reshape(3, 4) - 5


def of_each(x):
    def halved(v):
        if v > 0:
            return v / 2
        return v - 1

    return np.vectorize(halved)(x)


@np.vectorize
def divisor(a, b):
    while b:
        a, b = b, a % b
    return a


def divisors(a, b):
    return divisor(a, b), divisor(a, 12), divisor(a[0], b[0])


def several_results(m):
    return np.vectorize(lambda v, k: (v * k, v if v > k else k), otypes=[np.float32, np.float32])(m, 2.0)


def counting(m):
    count = 0

    def above(v):
        nonlocal count
        if v > 1:
            count += 1
        return v - 1

    return np.vectorize(above, otypes=[np.float32])(m), count


def pieces(x):
    return np.piecewise(x, [x < 0, (x >= 0) & (x < 0.5)], [lambda v: -v, 0.25, lambda v: v**2])


def pieces_with_arguments(x):
    return np.piecewise(x, [x > 1, x > 0], [lambda v, s: v * s, lambda v, s: v + s, -1], x[0])


def pieces_by_their_own_means(x):
    return np.piecewise(x, x < 0, [lambda v: v - v.min(), lambda v: v - v.mean()])


def rows(m):
    def shares(row):
        total = row.sum()
        if total > 0:
            return row / total
        return row * 0

    return np.apply_along_axis(shares, 1, m), np.apply_along_axis(shares, 0, m)


def results_of_other_shapes(m):
    return (
        np.apply_along_axis(lambda row: row[0] if row[0] > 0 else row[-1], -1, m),
        np.apply_along_axis(np.outer, 1, m, np.arange(2.0, dtype=np.float32)),
        np.apply_along_axis(np.diag, 0, m),
        np.apply_along_axis(np.convolve, 1, m, np.ones(2, np.float32), mode="same"),
    )


PROGRAMS = [
    (of_each, (X,)),
    (divisors, (np.array([12, 18, 7]), np.array([8, 12, 21]))),
    (several_results, (M,)),
    (counting, (M,)),
    (pieces, (X,)),
    (pieces_with_arguments, (X,)),
    (pieces_with_arguments, (np.array([3, 2, 0, -4]),)),
    (pieces_by_their_own_means, (X,)),
    (pieces_by_their_own_means, (np.abs(X),)),  # the first function is called with nothing
    (rows, (M,)),
    (results_of_other_shapes, (M,)),
]


@pytest.mark.parametrize(("program", "given"), PROGRAMS, ids=lambda each: getattr(each, "__name__", "of"))
@pytest.mark.parametrize("compiled", [ag.function, lambda f: jax.jit(ag.convert(f))], ids=["function", "jit"])
def test_like_numpy(program, given, compiled):
    found = compiled(program)(*map(jnp.asarray, given))
    assert list(differences(program(*given), found, widens=True)) == []


def test_their_derivatives():
    def total(x):
        return jnp.sum(np.piecewise(x, [x < 0, x >= 0], [lambda v: v**2, lambda v: 3 * v]) + of_each(x))

    found = jax.grad(ag.convert(total))(jnp.asarray(X))
    np.testing.assert_allclose(found, np.where(X < 0, 2 * X + 1, 3.5))


def test_outside_a_trace_they_are_numpys():
    assert all(isinstance(part, np.ndarray) for part in ag.convert(rows)(M))
    assert isinstance(ag.convert(of_each)(X), np.ndarray)


def test_other_forms_of_vectorize_are_refused():
    with pytest.raises(ag.StagingError, match="`numpy.vectorize` with `signature`"):
        ag.function(lambda x: np.vectorize(lambda v: v.sum(), signature="(n)->()")(x))(jnp.asarray(M))


def masked(x):
    m = x.reshape(4, 2)
    return (
        np.compress([True, False, True], x),
        np.compress(np.array([0, 1], bool), m, axis=1),
        np.extract([True, False, True], x),
    )


def masked_by_lists(x):
    return np.compress([v > 0 for v in x], x).sum(), np.extract([v > 0 for v in x], x).sum()


def chosen(x):
    return np.choose((x > 0).astype(int), [x, -x]), np.choose((x > 1).astype(int), (x, 0.0), mode="wrap")


@pytest.mark.parametrize("program", [masked, masked_by_lists, chosen])
def test_masks_and_choices_given_as_lists(program):
    for compiled in (ag.function(program), jax.jit(ag.convert(program))):
        assert list(differences(program(X), compiled(jnp.asarray(X)), widens=True)) == []
