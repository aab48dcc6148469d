"""NumPy's functions and `math` on traced values."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests import staged


def reductions(x):
    return np.sum(x), np.mean(x, axis=0), np.maximum(x, 0.5), np.linalg.norm(x), np.any(x > 1)


def constructors(x):
    return np.array([x[0], x[1] * 2]), np.stack([x, x]), np.zeros_like(x), np.concatenate([x, np.ones(2, x.dtype)])


def control_flow(x):
    total = np.float32(0)
    for v in x:
        if np.abs(v) > 0.5:
            total += np.sqrt(np.abs(v))
    return total


def clipped(x):
    positive = x[x > 0]
    of_traced_length = np.clip(positive, a_max=2, a_min=1).sum(), np.clip(positive, 0, 2).sum()
    return np.clip(x, a_min=0, a_max=2), np.clip(x, 0, a_max=None), np.clip(a=x, min=0, max=1), of_traced_length


def untraced(x):
    weights = np.hanning(5)
    return x.sum() * weights.max() + np.prod([2, 3])


@pytest.mark.parametrize("program", [reductions, constructors, control_flow, clipped, untraced])
def test_numpy_functions_take_traced_arrays(program):
    x = np.array([0.25, -1.5, 3.0], np.float32)
    wanted = program(x)
    for found in (ag.function(program)(jnp.asarray(x)), jax.jit(ag.convert(program))(x)):
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6), found, wanted)
    mapped = jax.jit(jax.vmap(ag.convert(program)))(jnp.stack([x, x]))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a[1], b, rtol=1e-6), mapped, wanted)


def test_numpy_functions_differentiate():
    gradient = jax.grad(ag.convert(lambda x: np.sum(np.sin(x) ** 2)))(jnp.array([0.3, 0.4]))
    np.testing.assert_allclose(gradient, np.sin(2 * np.array([0.3, 0.4])), rtol=1e-5)


def test_numpy_outside_a_trace_is_numpy():
    converted = ag.convert(reductions)
    x = np.array([0.25, 2.0])
    assert all(isinstance(part, np.ndarray | np.generic) for part in converted(x))
    assert isinstance(ag.convert(lambda: np.random.default_rng(0).normal(size=2))(), np.ndarray)


MATH = [
    *(
        getattr(math, name)
        for name in "sqrt exp log log2 log10 log1p expm1 sin cos tan asin acos atan sinh cosh tanh".split()
    ),
    *(
        getattr(math, name)
        for name in "floor ceil trunc fabs degrees radians erf erfc gamma lgamma isnan isfinite".split()
    ),
]


@pytest.mark.parametrize("function", MATH, ids=lambda f: f.__name__)
def test_math_functions_take_traced_scalars(function):
    staged = ag.function(lambda x: function(x))
    for x in (0.3, 0.75):
        found = staged(jnp.asarray(x))
        np.testing.assert_allclose(found, function(x), rtol=2e-5)
        assert np.asarray(found).dtype.kind == np.asarray(function(x)).dtype.kind


def test_math_functions_of_two_arguments():
    def both(x, y):
        return math.hypot(x, y), math.atan2(x, y), math.pow(x, y), math.log(x, 3), math.fmod(y, x), math.copysign(x, -y)

    found = ag.function(both)(jnp.asarray(0.3), jnp.asarray(2))
    np.testing.assert_allclose(found, both(0.3, 2), rtol=1e-5)
    closeness = ag.function(lambda x: (math.isclose(x, 1.0), math.isclose(x, 1.0, abs_tol=0.2), math.gcd(12, 18)))
    assert [bool(part) for part in closeness(jnp.asarray(1.1))[:2]] == [False, True]


def test_the_remainder_to_the_nearest_multiple():
    staged = jax.jit(ag.convert(lambda x, y: math.remainder(x, y)))
    for x in (0.0, 1.0, 1.5, 2.5, -2.5, 4.5, -4.5, 7.5, -7.5, 5.0, 1e7):
        for y in (3.0, -3.0, 1.0, 0.75, math.inf):
            assert float(staged(x, y)) == math.remainder(x, y), (x, y)


def kept(x):
    found = []
    for v in x:
        if v > 0:
            found.append(v)
    return found


OF_LISTS = {
    "mean": np.mean,
    "minimum": np.min,
    "product": np.prod,
    "all": np.all,
    "median": np.median,
    "deviations": lambda v: (np.std(v), np.var(v, ddof=1)),
    "sorted": lambda v: (np.sort(v), np.argsort(v)),
    "elementwise": lambda v: np.sqrt(v) + np.square(v),
    "two lists": lambda v: np.maximum(v, v[::-1]) - np.dot(v, v),
    "by keyword": lambda v: np.cumsum(a=v),
    "sizes": lambda v: (np.size(v), np.shape(v)),
    "rows": lambda v: np.mean([[a, 2 * a] for a in v], axis=0),
    "tables": lambda v: (
        np.array([(a, (a + 1, 2)[0]) for a in v]),
        np.concatenate([[[a, 1.0], [2, a]] for a in v[:1]]),
    ),
    "percentile": lambda v: np.percentile(v, 40),
    "repeated": lambda v: np.tile(np.flip(v), 2),
    "reduced in a list": lambda v: (np.mean([v, v]), np.max([v, v], axis=1)),
}


@pytest.mark.parametrize("name", OF_LISTS)
def test_lists_of_traced_length_are_arrays_of_as_many(name):
    function = OF_LISTS[name]
    compiled = ag.function(lambda x: function(kept(x)))
    for x in ([0.25, -1.5, 3.0, 0.5, -2.0], [1.0, 2.0, 3.0, 4.0, 0.5]):
        wanted, found = function(kept(np.array(x))), compiled(jnp.array(x))
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5), found, wanted)


@pytest.mark.parametrize(
    "function",
    [lambda v: np.add.reduce(v), lambda v: jnp.mean(v), lambda v: np.ones(5) * v],
)
def test_no_padding_takes_part_in_what_does_not_know_the_length(function):
    with pytest.raises((ag.StagingError, TypeError)):
        ag.function(lambda x: function(kept(x)))(jnp.array([0.25, -1.5, 3.0, 0.5, -2.0]))


OF_PYTHONS_LISTS = {
    "concatenate": lambda m: np.concatenate((m, [[5], [6]]), axis=1),
    "stacks": lambda m: (np.stack(m), np.vstack(m), np.hstack((m[0], m[1])), np.dstack((m, m))),
    "column_stack": lambda m: np.column_stack((m[0], m[1])),
    "by keyword": lambda m: np.average(m[0], weights=m[1]),
    "polyfit": lambda m: np.polyfit([1, 2], m[0], 1),
}


@pytest.mark.parametrize("name", OF_PYTHONS_LISTS)
def test_pythons_lists_are_arrays(name):
    function, rows = OF_PYTHONS_LISTS[name], [[1, 4], [3, 2]]
    found = ag.function(function)([[jnp.int32(v) for v in row] for row in rows])
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5), found, function(rows))


def item_written(x):
    p = np.ones(3, np.float32)
    y = p * x
    p[1] = 100.0
    return y + x * p


def column_written(x):
    p = np.ones((3, 4), np.float32)
    y = p[:, 1] * x
    p[1, 1] = 100.0
    return y


def added_to(x):
    p = np.ones(3, np.float32)
    y = np.stack([p, x])
    p += 4
    z = np.stack([p, x])
    p[:] = 0
    return y + z


def filled(x):
    p = np.ones(3, np.float32)
    y = p - x
    p.fill(7)
    return y


def output(x):
    p, rows = np.ones(3, np.float32), np.ones((3, 3), np.float32)
    y = p * x
    np.exp(p, out=p)
    z = rows @ x
    np.fill_diagonal(rows, 5)
    return y + z * p


def view_written(x):
    p = np.arange(9, dtype=np.float32).reshape(3, 3)
    first = p[0]
    y = p @ x
    first += 3
    p.T[1] = 0
    return y + p[0]


def scratch(x):
    row, total = np.zeros(3, np.float32), 0.0
    for i in range(3):
        row[:] = [i, i + 1, i + 2]
        if x[0] > i:
            total = total + (x * row).sum()
        row *= 2
        total = total + (x * row).sum()
    return total


class Filter:
    def __init__(self):
        self.gain = np.ones(3, np.float32)

    def step(self, x):
        y = self.gain * x
        self.gain *= 0.5
        self.gain[0] = 0
        return y


def filter_steps(x):
    f, total = Filter(), 0.0
    for _ in range(3):
        total = total + f.step(x)
    return total


WRITTEN = [item_written, column_written, added_to, filled, output, view_written, scratch, filter_steps]


@pytest.mark.parametrize("f", WRITTEN, ids=lambda f: f.__name__)
def test_arrays_are_computed_with_as_they_were_before_they_are_written(f):
    x = np.array([1.5, 2.0, -3.0], np.float32)
    expected = f(x)
    np.testing.assert_allclose(ag.function(f)(x), expected, rtol=1e-5)
    np.testing.assert_allclose(jax.jit(ag.convert(f))(x), expected, rtol=1e-5)
    np.testing.assert_allclose(jax.vmap(ag.convert(f))(np.stack([x, x]))[1], expected, rtol=1e-5)

    def slopes(g):
        return jax.grad(lambda v: jnp.sum(g(v) ** 2))(jnp.asarray(x))

    steps = np.eye(3, dtype=np.float32) * 0.125  # squares of linear functions: central differences are exact
    differences = [(np.sum(f(x + step) ** 2) - np.sum(f(x - step) ** 2)) * 4 for step in steps]
    np.testing.assert_allclose(slopes(ag.convert(f)), differences, rtol=1e-2, atol=0.1)
    np.testing.assert_allclose(jax.jit(slopes, static_argnums=0)(ag.convert(f)), differences, rtol=1e-2, atol=0.1)
    np.testing.assert_allclose(slopes(ag.function(f)), differences, rtol=1e-2, atol=0.1)


def ufunc_to_output(x):
    a = np.zeros(3, np.float32)
    np.multiply(np.ones(3, np.float32), x, out=a)
    return a


def ufunc_to_third(x):
    a = np.zeros(3, np.float32)
    np.add(a, x, a)
    return a


def reduction_to_output(x):
    a = np.zeros(3, np.float32)
    np.sum(np.ones((2, 3), np.float32) * x, axis=0, out=a)
    return a


def product_to_output(x):
    a, b = np.ones((2, 2), np.float32), np.zeros((2, 2), np.float32)
    np.dot(a * x, a, out=b)
    return b


def diagonal(x):
    a = np.zeros((2, 2), np.float32)
    np.fill_diagonal(a, x)
    return a


def fill(x):
    a = np.zeros(3, np.float32)
    a.fill(x)
    return a


@pytest.mark.parametrize("f", [ufunc_to_output, ufunc_to_third, reduction_to_output, product_to_output, diagonal, fill])
def test_a_numpy_function_writes_traced_values_in_place(f):
    expected = f(np.float32(2))
    for compiled in (ag.function(f), jax.jit(ag.convert(f))):
        for _ in range(2):
            np.testing.assert_allclose(compiled(jnp.float32(2)), expected)


def written_to_items(x):
    a = np.zeros(3, np.float32)
    a[...] = np.multiply(np.ones(3, np.float32), x)
    return a


def test_the_items_of_an_array_are_written_instead():
    np.testing.assert_allclose(ag.function(written_to_items)(jnp.float32(2)), written_to_items(np.float32(2)))


OF_TUPLES = {
    "argmin": lambda x, y: np.argmin((x, y)),
    "a pair beside numbers": lambda x, y: (
        np.dot((x, y), (1, 2)),
        np.interp(x, (0, 1), (0, y)),
        np.average((x, y), weights=(1, 3)),
    ),
    "rows": lambda x, y: (np.linalg.solve(((x, 1), (0, y)), (1, 2)), np.cross((x, y, 0), (0, 0, 1))),
    "axes stay axes": lambda x, y: (np.sum(((x, y), (y, x)), axis=(0, 1)), np.full((2, 2), x)),
    "searches": lambda x, y: (np.unique((x, y, x)), np.nonzero((x > 0, y > 0)), np.flatnonzero([x > 0, y > 0])),
    "choices": lambda x, y: (np.where((x > 0, y > 0), (1, 2), (3, 4)), np.searchsorted((0, 1, 2), x)),
    "r_ and c_": lambda x, y: (np.r_[x, y, 1.5], np.c_[[x, y], [1, 2]], np.r_[0:2, x]),
}


@pytest.mark.parametrize("name", OF_TUPLES)
def test_pythons_tuples_are_arrays(name):
    function = OF_TUPLES[name]
    for pair in ((0.5, -2.0), (-1.0, 3.0)):
        found = staged.function(function)(*map(jnp.float32, pair))
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5), found, function(*pair))


OF_ARRAYS = {
    "sorts of a kind": lambda x: (
        np.argsort(-x, kind="stable"),
        np.sort(x, kind="mergesort"),
        x.argsort(kind="stable"),
    ),
    "methods": lambda x: (x.nonzero(), x.take([0, 1]), x.repeat([1] * len(x)), x.searchsorted([1, 2])),
    "designs": lambda x: (np.c_[np.ones(len(x)), x, x**2], np.r_[0, x], np.c_[x]),
    "counts": lambda x: (np.bincount(x), np.bincount(x, minlength=9), np.bincount(x, weights=x * 0.5)),
    "counts of some": lambda x: (np.bincount(x[x > 0]), np.flatnonzero(np.bincount(x[x > 9])), len(np.bincount(x))),
    "runs": lambda x: run_lengths(x),
    "joined": lambda x: (np.r_[x[x > 1], 5], np.c_[x[x > 1], x[x > 1]]),
}


def run_lengths(x):
    starts = np.concatenate(([0], np.flatnonzero(np.diff(x)) + 1))
    lengths = np.diff(np.append(starts, len(x)))
    return x[starts], lengths, np.repeat(x[starts], lengths)


@pytest.mark.parametrize("name", OF_ARRAYS)
@pytest.mark.parametrize("numbers", [[1, 1, 2, 2, 0, 3], [4, 0, 0], [0]], ids=str)
def test_functions_of_integers_are_numpys(name, numbers):
    function = OF_ARRAYS[name]
    wanted = function(np.array(numbers + [2]))
    found = ag.function(function)(jnp.array(numbers + [2]))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5), found, wanted)


def test_negative_numbers_are_not_counted():
    with pytest.raises(ValueError, match="must have no negative elements"):
        ag.function(lambda x: np.bincount(x))(jnp.array([1, -1]))


def places_of_positive(x):
    found, total = [], 0.0
    for (i, j), v in np.ndenumerate(x):
        if v > 0:
            found.append((i, j))
            total += v * i
    return found, total


def largest_place(x):
    return (
        max(np.ndenumerate(x), key=lambda pair: pair[1]),
        [v for (i,), v in np.ndenumerate(x[0]) if v > 0],
        list(np.ndenumerate(x[0, 0])),
    )


def pairs(x):
    total = 0.0
    for v in np.nditer(x, order="C"):
        if v > 0:
            total += v
    for a, b in np.nditer([x[0], x[1]]):
        total += a * b
    return total


@pytest.mark.parametrize("function", [places_of_positive, largest_place, pairs])
def test_loops_over_elements(function):
    for rows in ([[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]], [[-1.0], [-2.0]]):
        x = np.array(rows, np.float32)
        found = staged.function(function)(jnp.asarray(x))
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5), found, function(x))
    mapped = jax.vmap(ag.convert(pairs))(jnp.stack([x, 2 * x]))
    np.testing.assert_allclose(mapped, [pairs(x), pairs(2 * x)], rtol=1e-5)


@pytest.mark.parametrize("options", [{}, {"op_flags": ["readwrite"], "order": "C"}], ids=["order", "writes"])
def test_nditer_in_the_order_of_the_memory_is_refused(options):
    def total(x):
        found = 0.0
        for v in np.nditer(x, **options):
            found = found + v
        return found

    with pytest.raises(ag.StagingError, match=r"np\.nditer\(x, order='C'\)"):
        ag.function(total)(jnp.ones((2, 2)))
