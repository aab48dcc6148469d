"""Writes under a condition: after the conditional while a program is traced, in its branches where a loop is lowered for a CPU."""

from __future__ import annotations

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag

VALUES = np.array([5, 2, 9, 1, 7, 3, 8, 4], np.float32)


def bubble(x):
    for i in ag.range(8):
        for j in ag.range(7 - i):
            if x[j] > x[j + 1]:
                x[j], x[j + 1] = x[j + 1], x[j]
    return x


def bubble_of_known_length(x):
    for _ in ag.range(8):
        for j in ag.range(7):
            if x[j] > x[j + 1]:
                t = x[j]
                x[j] = x[j + 1]
                x[j + 1] = t
    return x


def counted(x):
    swaps, last = 0, -1
    for i in ag.range(8):
        for j in ag.range(7 - i):
            if x[j] > x[j + 1]:
                x[j], x[j + 1] = x[j + 1], x[j]
                swaps += 1
                last = j
    return x, swaps, last


def either_way(x):
    for i in ag.range(1, 8):
        k = i
        while k > 0:
            if x[k - 1] > x[k]:
                x[k - 1], x[k] = x[k], x[k - 1]
            else:
                x[k] += np.float32(0.3)
            k -= 1
    return x


def two_arrays(x):
    y = x * 0
    for i in ag.range(8):
        for j in ag.range(7 - i):
            if x[j] > x[j + 1]:
                x[j], x[j + 1] = x[j + 1], x[j]
                y[j] = y[j] + 1
                y[j + 1] = y[j] * 2
    return x, y


def read_afterwards(x):
    total = np.float32(0)
    for i in ag.range(8):
        for j in ag.range(7 - i):
            before = x[j]
            if x[j] > x[j + 1]:
                x[j], x[j + 1] = x[j + 1], x[j]
            total += before - x[j]
    return x, total


def rows(x):
    grid = x.reshape(4, 2)
    for i in ag.range(4):
        for j in ag.range(3 - i):
            if grid[j, 0] > grid[j + 1, 0]:
                first = grid[j] + 0
                grid[j] = grid[j + 1]
                grid[j + 1] = first
    return grid


PROGRAMS = {
    each.__name__: each
    for each in (bubble, bubble_of_known_length, counted, either_way, two_arrays, read_afterwards, rows)
}


def agree(found, expected):
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(np.asarray(one), other, rtol=1e-5)


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_batches_and_derivatives(name):
    program = PROGRAMS[name]
    converted = ag.convert(program)
    agree(jax.jit(converted)(VALUES), program(VALUES.copy()))
    lanes = jax.jit(jax.vmap(converted))(np.stack([VALUES, VALUES[::-1]]))
    for k, values in enumerate((VALUES, VALUES[::-1])):
        agree(jax.tree.map(lambda lane: lane[k], lanes), program(values.copy()))  # noqa: B023

    def total(x):
        return (jax.tree.leaves(converted(x))[0].reshape(-1) * jnp.arange(8.0)).sum()

    def plain_total(x):
        return (np.asarray(jax.tree.leaves(program(x))[0]).reshape(-1) * np.arange(8.0)).sum()

    slopes = jax.jit(jax.grad(total))(VALUES)
    for k in range(8):
        ends = []
        for step in (0.03, -0.03):
            moved = VALUES.astype(np.float64)
            moved[k] += step
            ends.append(plain_total(moved))
        np.testing.assert_allclose(slopes[k], (ends[0] - ends[1]) / 0.06, rtol=1e-4)


def depths_of_writes(text):
    """How deep the writes of a program stand, by the indentation of its text: a body of a branch is deeper than that of a loop."""
    return [len(line) - len(line.lstrip()) for line in text.splitlines() if "stablehlo.scatter" in line]


@pytest.mark.parametrize("name", ["bubble", "bubble_of_known_length", "counted", "two_arrays"])
def test_a_cpu_writes_in_the_branch_and_a_tpu_after_it(name):
    traced = jax.jit(ag.convert(PROGRAMS[name])).trace(VALUES)
    on_cpu, on_tpu = (depths_of_writes(traced.lower(lowering_platforms=(each,)).as_text()) for each in ("cpu", "tpu"))
    assert len(on_cpu) == len(on_tpu) and sum(on_cpu) > sum(on_tpu)


def test_an_array_that_is_read_after_its_write_by_another_name():
    @ag.convert
    def both(x, y):
        for i in ag.range(8):
            for j in ag.range(7 - i):
                old = x
                if x[j] > x[j + 1]:
                    x[j] = x[j + 1] * 0.5
                y = y + old[j] * x
        return x, y

    def plainly(x, y):
        for i in range(8):
            for j in range(7 - i):
                old = x
                if x[j] > x[j + 1]:
                    x[j] = x[j + 1] * np.float32(0.5)
                y = y + old[j] * x
        return x, y

    agree(jax.jit(both)(VALUES, VALUES * 0), plainly(VALUES.copy(), VALUES * 0))


def test_a_program_for_several_platforms():
    exported = jax.export.export(jax.jit(ag.convert(counted)), platforms=["cpu", "cuda", "tpu"])(VALUES)
    agree(exported.call(VALUES), counted(VALUES.copy()))
