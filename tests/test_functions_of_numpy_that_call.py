"""Functions of NumPy's that call functions of the user's: `np.vectorize`, `np.piecewise`, `np.apply_along_axis`."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

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


def compressed(x):
    return x.compress(np.array([True, False, True])), x.reshape(2, 4).compress(np.array([0, 1], bool), axis=0)


def compressed_by_traced(x):
    return x.compress(x > 0)


def windows(x):
    m = x.reshape(2, 4)
    return (
        np.lib.stride_tricks.sliding_window_view(x, 3),
        np.lib.stride_tricks.sliding_window_view(m, (2, 2)),
        np.lib.stride_tricks.sliding_window_view(m, 2, axis=-1).max(axis=-1),
        sliding_window_view(x, window_shape=(2, 2), axis=(0, 0)),
    )


def over_axes(x):
    m = x.reshape(2, 4)
    return np.apply_over_axes(np.sum, m, [0, 1]), np.apply_over_axes(lambda a, axis: a.max(axis, keepdims=True), m, -1)


def from_iterators(x):
    return (
        np.fromiter((v * 2 for v in x), np.float32),
        np.fromiter([v for v in x], dtype=np.int32, count=3),
        np.fromiter((v for v in x if v > 0), np.float32).sum(),
    )


@pytest.mark.parametrize("program", [compressed, compressed_by_traced, windows, over_axes, from_iterators])
def test_other_functions_that_go_over_parts(program):
    forms = [ag.function(program), *([] if program is compressed_by_traced else [jax.jit(ag.convert(program))])]
    for compiled in forms:  # a bare jax.jit returns an object in place of an array of traced length
        assert list(differences(program(X), compiled(jnp.asarray(X)), widens=True)) == []


def test_windows_of_an_array_that_is_written_are_refused():
    def written_after(a):
        w = sliding_window_view(a, 2)
        a[0] = 5.0
        return w.sum()

    with pytest.raises(ag.StagingError, match="`sliding_window_view` of an array that is written in place"):
        ag.function(written_after)(X.copy())

    def of_a_copy(a):
        w = sliding_window_view(a.copy(), 2)
        a[0] = 5.0
        return w.sum()

    np.testing.assert_allclose(ag.function(of_a_copy)(X.copy()), of_a_copy(X.copy()))


def test_errors_of_windows_and_iterators():
    for f, text in (
        (lambda x: sliding_window_view(x, 9), "window shape cannot be larger"),
        (lambda x: np.fromiter(list(x), np.float32, 9), "iterator too short"),
    ):
        for form in (f, ag.function(f)):
            with pytest.raises(ValueError, match=text):
                form(X)
