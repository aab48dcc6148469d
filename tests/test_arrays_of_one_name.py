"""Arrays that one name leads to are values: a program that writes to such is traced once."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from autograph.runtime.tracing import births


def until_it_is_small(x):
    i = 0
    while jnp.abs(x).max() > 0.1:
        prev = x
        x -= 0.5 * x
        i += 1
    return x, prev, i


def filled(x):
    y = np.zeros(8)
    for i in range(8):
        y[i] = x[i % 3] * i
    return y


def averages_of_neighbours(g):
    n, m = g.shape
    new = g.copy()
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            new[i, j] = (g[i - 1, j] + g[i + 1, j] + g[i, j - 1] + g[i, j + 1]) / 4
    return new


def selection_sort(x):
    a = x.copy()
    for i in range(len(a)):
        k = i
        for j in range(i + 1, len(a)):
            if a[j] < a[k]:
                k = j
        t = a[i]
        a[i] = a[k]
        a[k] = t
    return a


def step(u, dt):
    v = u.copy()
    v[1:-1] = u[1:-1] + dt * (u[2:] - 2 * u[1:-1] + u[:-2])
    return v


def diffusion(u):
    for _ in range(10):
        u = step(u, 0.1)
    return u


def momentum(x):
    params = {"w": x, "b": x * 0}
    m = {k: jnp.zeros(3) for k in params}
    for i in range(5):
        for k in params:
            m[k] = 0.9 * m[k] + params[k]
            params[k] = params[k] - 0.1 * m[k]
    return params


def table(x):
    dp = np.zeros((4, 4))
    for i in range(4):
        for j in range(4):
            best = dp[i - 1, j] if i > 0 else 0.0
            if x[j % 3] > best:
                best = x[j % 3]
            dp[i][j] = best
    return dp


X = np.array([1.0, 2.0, 3.0], np.float32)
CASES = [
    (until_it_is_small, X),
    (filled, X),
    (averages_of_neighbours, np.arange(25.0, dtype=np.float32).reshape(5, 5)),
    (selection_sort, X[::-1]),
    (diffusion, np.arange(10.0, dtype=np.float32)),
    (momentum, X),
    (table, X),
]


@pytest.mark.parametrize("kind", [np.array, jnp.array], ids=["numpy", "jax"])
@pytest.mark.parametrize(("program", "given"), CASES, ids=lambda case: getattr(case, "__name__", "given"))
def test_no_trace_is_made_again(program, given, kind, monkeypatch):
    held = []

    def noted(self, *args):
        held.append(self)
        made(self, *args)

    made = births.ArraysHeld.__init__
    monkeypatch.setattr(births.ArraysHeld, "__init__", noted)
    result = ag.function(program)(kind(given))
    assert held == []
    try:
        expected = program(kind(given))
    except TypeError:  # Python does not write to items of JAX's arrays
        expected = program(np.array(given))
    for own, theirs in zip(jax.tree.leaves(result), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(own, theirs, rtol=1e-4, atol=1e-5)
