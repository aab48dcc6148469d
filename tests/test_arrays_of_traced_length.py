"""Arrays whose length is known only at run time: ``x[x > 0]``, ``x[:n]``, ``jnp.nonzero(c)``, ``jnp.arange(n)`` and their uses."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests.agreement import agrees_when_compiled, differences
from tests.masked_programs import PROGRAMS

X = np.array([3.0, -1, 4, 1, -5, 9, 2, -6, 0])
NOTHING = np.array([-3.0, -1, 0])


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program[0].__name__)
def test_like_numpy(program):
    agrees_when_compiled(*program)


# In every mode.


def summary(x):
    m = x > 0
    z, w = x[m], jnp.arange(len(x))[m]
    return jnp.sum(z * w), jnp.median(z), z.max() - z.min(), jnp.sort(z)[0], len(z), (z[1:] - z[:-1]).sum()


def test_under_every_transform():
    rows = jnp.stack([jnp.asarray(X), -jnp.asarray(X), jnp.asarray(X) * 2])
    wanted = [summary(x) for x in rows]
    for run in (ag.function(summary), jax.jit(ag.convert(summary))):
        for x, expected in zip(rows, wanted, strict=True):
            assert list(differences(expected, run(x), widens=True)) == []
    for run in (jax.vmap(ag.convert(summary)), jax.jit(jax.vmap(ag.convert(summary))), jax.vmap(ag.function(summary))):
        found = run(rows)
        for k, expected in enumerate(wanted):
            assert list(differences(expected, jax.tree.map(lambda a, k=k: a[k], found), widens=True)) == []


def positive(x):
    return jnp.where(x > 0, x, 1.0)


GRADIENTS = {
    "mean": (lambda x: jnp.mean(x[x > 0] ** 2), lambda x: jnp.sum(jnp.where(x > 0, x**2, 0)) / jnp.sum(x > 0)),
    "logarithm": (lambda x: jnp.sum(jnp.log(x[x > 0])), lambda x: jnp.sum(jnp.where(x > 0, jnp.log(positive(x)), 0))),
    "largest": (lambda x: jnp.max(x[x < 5]), lambda x: jnp.max(jnp.where(x < 5, x, -jnp.inf))),
    "deviation": (lambda x: jnp.std(x[x > 0]), lambda x: jnp.std(x, where=x > 0)),
    "sorted": (
        lambda x: jnp.sum(jnp.sort(x[x > 0]) * jnp.arange(5)),
        lambda x: jnp.sum(jnp.sort(jnp.where(x > 0, x, jnp.inf))[:5] * jnp.arange(5)),
    ),
    "norm": (lambda x: jnp.linalg.norm(x[x > 0]), lambda x: jnp.sqrt(jnp.sum(jnp.where(x > 0, x, 0) ** 2))),
    "slice": (lambda x: jnp.sum(x[: jnp.sum(x > 0).astype(int)] ** 2), lambda x: jnp.sum(x[:5] ** 2)),
}


@pytest.mark.parametrize(("function", "by_hand"), GRADIENTS.values(), ids=GRADIENTS)
def test_gradients(function, by_hand):
    x = jnp.asarray(X)
    for run in (ag.convert(function), ag.function(function)):
        np.testing.assert_allclose(jax.grad(run)(x), jax.grad(by_hand)(x), rtol=1e-5, atol=1e-6)


def test_gradients_of_nothing_are_zero():
    for function in (
        lambda x: jnp.sum(jnp.log(x[x > 0])),
        lambda x: jnp.sum(1 / x[x > 0]),
        lambda x: jnp.sum(x[x > 0]),
    ):
        np.testing.assert_array_equal(jax.grad(ag.convert(function))(jnp.asarray(NOTHING)), np.zeros(3))


# Nothing.


def test_of_nothing():
    def f(x):
        z = x[x > 0]
        return z, z.sum(), z.prod(), z.any(), z.all(), len(z), z.mean(), np.median(z), np.sort(z), np.cumsum(z), z[::-1]

    found = ag.function(f)(jnp.asarray(NOTHING))
    with np.errstate(all="ignore"), pytest.warns(RuntimeWarning):
        wanted = f(NOTHING)
    assert list(differences(wanted, found)) == []


@pytest.mark.parametrize("reduce", [np.max, np.min, np.argmax, np.argmin, max, min, np.ptp], ids=lambda f: f.__name__)
def test_of_nothing_there_is_no_greatest(reduce):
    @ag.function
    def f(x):
        return reduce(x[x > 0])

    with pytest.raises(ValueError):
        f(jnp.asarray(NOTHING))
    assert f(jnp.asarray(X)) == reduce(X[X > 0])


# State.


def test_as_state_of_loops_and_branches():
    def f(x):
        z = x
        rounds = 0
        while len(z) > 1:
            z = z[z > z.min()]
            rounds += 1
        if x[0] > 0:
            kept = x[x > 1]
        else:
            kept = x
        return z, rounds, kept, {"pair": (kept[:2], kept * 2)}

    agrees_when_compiled(f, (X,), (-X,), (np.arange(9.0),))


def test_known_and_traced_lengths_meet_in_a_branch():
    def f(x, n):
        y = x[:n] if n > 2 else np.zeros(3)
        for v in x[:2]:
            if v > 0:
                y = y[y < v]
        return y, y.sum()

    agrees_when_compiled(f, (X, np.array(5)), (X, np.array(1)))


def test_rows_of_a_matrix():
    def f(x):
        rows = np.stack([x, x**2, np.ones(len(x))], axis=1)
        kept = rows[rows[:, 0] > 0]
        return kept, kept.sum(0), kept.mean(axis=1), kept[:, 1].max(), kept @ np.ones(3), kept.T @ kept, kept[:, 1:][-1]

    agrees_when_compiled(f, (X,), (-X,))


def path(x, n):
    points, place = [], x[0]
    for k in range(n):
        place = place * 0.5 + x[k]
        points.append([place, place * k])
    return points


TRANSPOSES = {
    "returned": lambda x, n: np.array(path(x, n)).T,
    "unpacked": lambda x, n: [column * 2 for column in np.array(path(x, n)).T],
    "stacked as columns": lambda x, n: (np.column_stack(path(x, n)), np.stack(path(x, n), axis=1)),
    "transposed twice": lambda x, n: np.transpose(np.array(path(x, n)).T) - 1,
    "indexed": lambda x, n: [(p[0], p[1, 2], p[:, -1], p[:1], p[1, 1:]) for p in [np.array(path(x, n)).T]],
    "in arithmetic": lambda x, n: [
        (p * np.array([[1.0], [2.0]]), 1 - p / (p[0] + 9), -abs(p) > 1, p + p) for p in [np.array(path(x, n)).T]
    ],
    "in functions": lambda x, n: [(np.sqrt(abs(p)), np.where(p > 1, p, 0)) for p in [np.array(path(x, n)).T]],
    "reduced": lambda x, n: [
        (p.sum(), p.mean(axis=1), p.max(axis=0), p.std(axis=-1), np.min(p, axis=1), p.shape[0], len(p))
        for p in [np.array(path(x, n)).T]
    ],
    "centred": lambda x, n: [(p - p.mean(axis=1, keepdims=True)) @ p.T for p in [np.array(path(x, n)).T]],
}


@pytest.mark.parametrize("use", TRANSPOSES)
def test_the_transpose_of_a_matrix(use):
    agrees_when_compiled(TRANSPOSES[use], (X, np.array(5)), (X, np.array(8)))


def test_a_transpose_in_loops_and_branches():
    def f(x, n):
        p = np.array(path(x, n)).T
        if x[0] > 2:
            p = p * 2
        for k in range(n):
            p = p + k
        return p, p[:, :2]

    agrees_when_compiled(f, (X, np.array(5)), (-X, np.array(3)))


def test_a_transpose_under_every_transform():
    def f(x):
        rows = jnp.stack([x, x**2], axis=1)
        return rows[rows[:, 0] > 0].T

    def product(x):
        a, b = f(x)
        return jnp.sum(a * b)

    rows = np.stack([X, X[::-1], NOTHING.repeat(3) + 2])
    for transposes in (jax.vmap(ag.convert(f))(rows), jax.jit(jax.vmap(ag.convert(f)))(rows)):
        for k, row in enumerate(rows):
            np.testing.assert_array_equal(transposes[k], f(row))
    np.testing.assert_array_equal(np.asarray(jax.jit(ag.convert(f))(X)), f(X))
    np.testing.assert_allclose(jax.grad(ag.function(product))(X), np.where(X > 0, 3 * X**2, 0), rtol=1e-6)


USES_OF_LISTS = {
    "an array of two": lambda t, w: (np.array([t, w]), np.array((w, t), dtype=np.float32).T),
    "stacked": lambda t, w: (np.stack([t, w]), np.stack([t, w], axis=1), np.vstack((t, w)).T, np.column_stack([t, w])),
    "beside an array": lambda t, w: (np.column_stack([np.ones(len(t)), t]), np.vstack([t, np.array(w)])),
    "joined": lambda t, w: (np.concatenate([t, w, [1.0, 2.0]]), np.hstack([[0.0], t]), np.append(t, w)),
    "in functions": lambda t, w: (np.exp([t, w]), np.add(t, w), np.interp(np.array(t), t, w), np.dot(np.array(t), w)),
    "reduced": lambda t, w: (np.mean([t, w], axis=1), np.max([t, w]), np.linalg.norm([t, w], axis=0), np.cov([t, w])),
    "fitted": lambda t, w: (
        np.polyfit(t, w, 1),
        np.linalg.lstsq(np.vstack([t, np.ones(len(t))]).T, np.array(w), rcond=None)[0],
    ),
    "differentiated": lambda t, w: (np.gradient(w), np.gradient(w, t), np.gradient(np.array(w), 0.5)),
}


def two_lists(x, n):
    t, w, last = [], [], x[0]
    for k in range(n):
        last = last * 1.5
        t.append(last)
        w.append(last * x[k])
    return t, w


@pytest.mark.parametrize("use", USES_OF_LISTS)
def test_functions_of_numpy_take_several_lists(use):
    agrees_when_compiled(lambda x, n: USES_OF_LISTS[use](*two_lists(x, n)), (X, np.array(5)), (X, np.array(3)))


def test_functions_of_jax_take_several_lists():
    f = ag.function(lambda x, n: (jnp.array(two_lists(x, n)), jnp.asarray(list(two_lists(x, n))).T))
    rows, columns = f(jnp.asarray(X), jnp.array(4))
    np.testing.assert_allclose(rows, two_lists(X, 4))
    np.testing.assert_allclose(columns.T, rows)


def test_too_few_elements_for_a_gradient():
    f = ag.function(lambda x, n: np.gradient(x[:n]))
    with pytest.raises(ValueError, match="too small to calculate a numerical gradient"):
        f(X, jnp.array(1))
    np.testing.assert_allclose(f(X, jnp.array(2)), np.gradient(X[:2]))


@pytest.mark.parametrize(
    "use",
    [
        lambda p: p.tolist(),
        lambda p: p.ravel(),
        lambda p: p.at[0].set(1),
        lambda p: p[None],
        lambda p: jnp.sort(p, axis=1),
    ],
)
def test_what_a_transpose_is_not_for(use):
    with pytest.raises(
        ag.StagingError,
        match="The length of this array is known only when the program runs, and .* of (its|a) transpose",
    ):
        ag.function(lambda x, n: use(jnp.asarray(np.stack(path(x, n))).T))(X, jnp.array(3))


# Writes.


def test_writes():
    def f(x):
        y = x.copy()
        positive = y > 0
        y[positive] = y[positive] * 10
        y[x < 0] = -x[x < 0]
        places = np.flatnonzero(x > 2)
        y[places] += 1
        n = np.sum(positive)
        y[:n] = x[positive]
        z = x[x > 0]
        z[0] = 100.0
        z[1:] += 1
        z[z > 50] = 7
        return y, z

    agrees_when_compiled(f, (X,), (-X,))


def test_a_write_of_another_number_of_values_raises():
    @ag.function
    def f(x):
        y = x.copy()
        y[x > 0] = x[x < 0]
        return y

    assert f(jnp.array([1.0, -2.0])).tolist() == [-2.0, -2.0]
    with pytest.raises(ValueError, match="could not broadcast"):
        f(jnp.asarray(X))


# Room.


def test_sizes_without_a_bound_get_room_by_running_again():
    def f(n):
        return jnp.arange(n), jnp.zeros(n), jnp.linspace(0.0, 1.0, n), jnp.ones((n, 2)), jnp.repeat(jnp.arange(3), n)

    compiled = ag.function(f)
    for n in (3, 0, 64, 65, 300):
        assert list(differences(f(n), compiled(jnp.array(n)), widens=True)) == []


def test_a_size_without_a_bound_is_refused_where_nothing_can_run_again():
    def f(n):
        return jnp.arange(n).sum()

    with pytest.raises(
        ag.StagingError, match=r"`arange` creates an array of traced length.*\n.*jnp.arange\(100\)\[:n\]"
    ):
        jax.jit(ag.convert(f))(5)

    def bounded(n):
        return jnp.arange(100)[:n].sum()

    assert jax.jit(ag.convert(bounded))(5) == 10


def test_the_length_of_another_array_is_a_bound():
    def f(x):
        z = x[x > 0]
        return (jnp.arange(len(z)) * z).sum() + jnp.ones(z.shape).sum() + jnp.zeros_like(z).sum()

    assert jax.jit(ag.convert(f))(jnp.asarray(X)) == f(jnp.asarray(X))


# What only the run can tell.


def test_lengths_that_may_differ():
    def f(x):
        return x[x > 0] * x[x > 0]

    assert ag.function(f)(jnp.asarray(X)).tolist() == [9.0, 16.0, 1.0, 81.0, 4.0]
    with pytest.raises(
        ag.StagingError, match=r"test_arrays_of_traced_length.py.*\n.*lengths.*\n.*Assign the mask or the slice"
    ):
        jax.jit(ag.convert(f))(jnp.asarray(X))


def test_one_element_goes_with_many():
    def f(x):
        return x[x > 8] + x[x > 0], np.concatenate([x[x > 8], x[x < 0]])

    agrees_when_compiled(f, (X,))


def test_truth():
    @ag.function
    def f(x):
        return 1 if x[x > 3] else 2

    assert f(jnp.array([4.0, 1.0])) == 1
    with pytest.raises(ValueError, match="ambiguous"):
        f(jnp.array([4.0, 5.0]))


def test_check_bounds_counts_the_elements_there_are():
    @ag.function(check_bounds=True)
    def f(x, i):
        return x[x > 0][i]

    assert f(jnp.asarray(X), jnp.array(-1)) == 2.0
    with pytest.raises(IndexError):
        f(jnp.asarray(X), jnp.array(5))


def test_prints_show_the_elements_there_are(capfd):
    @ag.function
    def f(x):
        print(x[x > 2])
        return x

    f(jnp.asarray(X))
    jax.effects_barrier()
    assert capfd.readouterr().out.strip() in ("array([3., 4., 9.], dtype=float32)", "[3. 4. 9.]")


def test_comprehensions_and_lists_of_the_elements():
    @ag.function
    def f(x):
        z = x[x > 2]
        return [v * 2 for v in z], list(z), [v + k for k, v in enumerate(z) if v < 5], sorted(z, reverse=True), sum(z)

    assert f(jnp.asarray(X)) == ([6.0, 8.0, 18.0], [3.0, 4.0, 9.0], [3.0, 5.0], [9.0, 4.0, 3.0], 16.0)


def test_a_traced_dimension_other_than_the_first_is_refused():
    for body in (
        lambda x: x.reshape(3, 3)[:, x[:3] > 0],
        lambda x: x[x > 0][None],
        lambda x: jnp.stack([x.reshape(3, 3)[x[:3] > 0]] * 2),
    ):
        with pytest.raises(ag.StagingError, match="test_arrays_of_traced_length.py"):
            ag.function(body)(jnp.asarray(X))
