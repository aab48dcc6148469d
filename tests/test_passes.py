"""The passes over staged statements: each changes what XLA makes of a program, and none its results."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from autograph.backends.xla.optimize import passes


def collatz(n):
    steps = 0
    while n > 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


def bubble_sort(values):
    for i in range(len(values)):
        for j in range(len(values) - 1 - i):
            if values[j] > values[j + 1]:
                values[j], values[j + 1] = values[j + 1], values[j]
    return values


def sieve(n, flags):
    p = 2
    while p * p <= n:
        if flags[p]:
            for m in range(p * p, n + 1, p):
                flags[m] = False
        p += 1
    return flags


def bisect(x, low, high):
    found = False
    while not found and high - low > 1e-4:
        middle = (low + high) / 2
        if middle * middle == x:
            found = True
        elif middle * middle < x:
            low = middle
        else:
            high = middle
    return low, found


def positive(values, out):
    count = 0
    for value in values:
        if value > 0:
            out[count] = value
            count += 1
    return out, count


def gate(samples, out):
    level = np.float32(0)
    for i in ag.range(5):
        level = level * 0.5 + samples[i]
        if level > 2:
            out[i] = level
    return out


def clipped(samples, out):
    for i in ag.range(5):
        if samples[i] > 2:
            out[i] = samples[i]
    return out


def steps(x, z):
    """Inner conditionals that are selects already are one operation a result, and too many for the outer one to be a select."""
    if x > 0:
        for k in range(5):
            if z > k:
                x += 1
                z += 2
    return x, z


def table(values):
    n = len(values)
    rows = [[0.0] * n for _ in range(n)]
    for i in range(1, n):
        for j in range(1, n):
            rows[i][j] = max(rows[i - 1][j], rows[i][j - 1]) + values[i] * values[j]
    return rows[-1][-1]


def written_twice(values, weights):
    n = len(values)
    best = [0] * n
    for i in range(1, n):
        best[i] = best[i - 1]
        if weights[i] > 0:
            best[i] = max(best[i], best[i - 1] + values[i])
    return best[-1]


PROGRAMS = {
    "written_twice": (written_twice, lambda: (np.arange(20, dtype=np.float32), np.arange(20, dtype=np.int32) % 3)),
    "table": (table, lambda: (np.arange(20, dtype=np.float32),)),
    "steps": (steps, lambda: (np.int32(1), np.int32(2))),
    "clipped": (clipped, lambda: (np.array([3, -1, 4, -1, 5], np.float32), np.zeros(5, np.float32))),
    "gate": (gate, lambda: (np.array([3, -1, 4, -1, 5], np.float32), np.zeros(5, np.float32))),
    "positive": (positive, lambda: (np.array([3, -1, 4, -1, 5], np.int32), np.zeros(5, np.int32))),
    "collatz": (collatz, lambda: (np.int32(27),)),
    "bubble_sort": (bubble_sort, lambda: (np.array([5, 2, 9, 1, 7, 3], np.int32),)),
    "sieve": (sieve, lambda: (np.int32(50), np.ones(51, bool))),
    "bisect": (bisect, lambda: (np.float32(2), np.float32(0), np.float32(2))),
}


@pytest.mark.parametrize("left_out", [None, *range(len(passes.PASSES))])
@pytest.mark.parametrize("name", PROGRAMS)
def test_no_pass_changes_a_result(monkeypatch, name, left_out):
    program, operands = PROGRAMS[name]
    kept = tuple(each for k, each in enumerate(passes.PASSES) if k != left_out)
    monkeypatch.setattr(passes, "PASSES", kept)
    found = jax.jit(ag.convert(program))(*map(jnp.asarray, operands()))
    expected = program(*operands())
    jax.tree.map(lambda a, b: np.testing.assert_allclose(np.asarray(a), b, rtol=1e-6), found, expected)


def lowered():
    """What XLA is given of each program."""
    return {
        name: jax.jit(ag.convert(program)).lower(*map(jnp.asarray, operands())).as_text()
        for name, (program, operands) in PROGRAMS.items()
    }


@pytest.fixture(scope="module")
def with_all_passes():
    return lowered()


@pytest.mark.parametrize("left_out", range(len(passes.PASSES)))
def test_each_pass_does_something(monkeypatch, with_all_passes, left_out):
    monkeypatch.setattr(passes, "PASSES", tuple(each for k, each in enumerate(passes.PASSES) if k != left_out))
    assert lowered() != with_all_passes


def test_each_pass_has_its_reason():
    assert all(len(each.reason) > 40 and "." in each.reason for each in passes.PASSES)
