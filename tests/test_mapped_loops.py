"""Loops in which no iteration reads what another computes: the results of plain Python, without a loop."""

from __future__ import annotations

import copy

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests.jaxprs import Counts

N = 7
NUMBERS = np.array([0.5, -1.25, 2.0, 0.75, -0.25, 1.5, 3.0], np.float32)
START = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], np.float32)


def clipped(x, out):
    for i in ag.range(N):
        if abs(x[i]) > 1:
            out[i] = x[i]
    return out


def both_ways(x, out):
    for i in ag.range(N):
        if x[i] > 1:
            out[i] = np.float32(2) * x[i]
        elif x[i] > 0:
            out[i] += x[i]
        else:
            out[i] = 0.0
    return out


def neighbours(x, out):
    for i in ag.range(1, N - 1):
        out[i] = 0.25 * x[i - 1] + 0.5 * x[i] + 0.25 * x[i + 1]
    return out


def last_ones(x, out):
    y = x[0]
    for i in ag.range(N):
        y = x[i] * x[i]
        out[i] = y + i
    return out, y, i


def two_arrays(x, out):
    for i in ag.range(N - 1, -1, -1):
        out[i] = x[i] - out[i]
        x[i] = 2 * x[i]
    return x, out


def cells(x, out):
    grid = x[:6].reshape(3, 2)
    made = out[:6].reshape(3, 2).copy()
    for i in ag.range(3):
        for j in ag.range(2):
            made[i, j] = grid[i, j] * i + j
    return made


def cells_under_a_condition(x, out):
    grid = x[:6].reshape(3, 2)
    made = out[:6].reshape(3, 2).copy()
    for i in ag.range(3):
        for j in ag.range(2):
            if grid[i, j] > 0:
                made[i, j] = grid[i, j] * i + j
    return made  # the loop over rows is left: it does not know where in the array a condition leads


MAPPED = {each.__name__: each for each in (clipped, both_ways, neighbours, last_ones, two_arrays, cells)}


def with_a_memory(x, out):
    level = np.float32(0)
    for i in ag.range(N):
        level = 0.5 * level + x[i]
        out[i] = level
    return out


def last_large_one(x, out):
    found = np.float32(0)
    for i in ag.range(N):
        out[i] = x[i] + 1
        if x[i] > 1:
            found = x[i]
    return out, found


def delayed(x, out):
    before = np.float32(0)
    for i in ag.range(N):
        out[i] = before
        before = x[i]
    return out


def looked_up(x, out):
    for i in ag.range(N):
        out[i] = x[(3 * i) % N]
    return out


def long_branches(x, out):
    for i in ag.range(N):
        y = x[i]
        if y > 1:
            for _ in range(8):
                y = abs(y) ** np.float32(0.75)
        out[i] = y
    return out


def products(x, out):
    weights = np.outer(x, x)
    for i in ag.range(N):
        out[i] = (weights[i] * x).sum()
    return out


def printing(x, out):
    for i in ag.range(N):
        out[i] = 2 * x[i]
        ag.print(i)
    return out


LOOPS = {
    each.__name__: each
    for each in (
        cells_under_a_condition,
        with_a_memory,
        last_large_one,
        delayed,
        looked_up,
        long_branches,
        products,
        printing,
    )
}


@pytest.mark.parametrize("name", MAPPED)
def test_no_loop_is_left(name):
    assert Counts(ag.convert(MAPPED[name]), NUMBERS, START).loops == 0


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_is_left(name):
    assert Counts(ag.convert(LOOPS[name]), NUMBERS, START).loops >= 1


@pytest.mark.parametrize("name", {**MAPPED, **LOOPS})
def test_results_are_those_of_python(name, capfd):
    program = {**MAPPED, **LOOPS}[name]
    found = jax.jit(ag.convert(program))(NUMBERS, START)
    agree(found, program(*copy.deepcopy((NUMBERS, START))))
    jax.effects_barrier()
    capfd.readouterr()


@pytest.mark.parametrize("name", MAPPED)
def test_batches_and_derivatives(name):
    program = MAPPED[name]
    converted = ag.convert(program)

    def total(x, out):
        return sum(jnp.sum(jnp.sin(result)) for result in jax.tree.leaves(converted(x, out)))

    lanes = jax.jit(jax.vmap(converted))(*(jnp.stack([each, each[::-1]]) for each in (NUMBERS, START)))
    for k, operands in enumerate([(NUMBERS, START), (NUMBERS[::-1], START[::-1])]):
        agree(jax.tree.map(lambda lane: lane[k], lanes), program(*copy.deepcopy(operands)))  # noqa: B023
    gradient = jax.jit(jax.grad(total, (0, 1)))(NUMBERS, START)
    for number, (slopes, operand) in enumerate(zip(gradient, (NUMBERS, START), strict=True)):
        for place in range(N):
            ends = []
            for step in (1e-3, -1e-3):
                moved = [NUMBERS.astype(np.float64), START.astype(np.float64)]
                moved[number] = operand.astype(np.float64)
                moved[number][place] += step
                ends.append(sum(np.sin(np.asarray(r)).sum() for r in jax.tree.leaves(program(*moved))))
            np.testing.assert_allclose(slopes[place], (ends[0] - ends[1]) / 2e-3, rtol=2e-3, atol=2e-3)


def test_a_branch_that_is_not_taken_is_not_in_a_derivative():
    @ag.convert
    def roots(x, out):
        for i in ag.range(N):
            if x[i] > 0:
                out[i] = jnp.sqrt(x[i])
        return out

    assert Counts(roots, NUMBERS, START).loops == 0
    slopes = jax.grad(lambda x: roots(x, START).sum())(jnp.asarray(NUMBERS))
    positive = NUMBERS > 0
    agree(slopes, np.where(positive, 0.5 / np.sqrt(np.where(positive, NUMBERS, 1)), 0))


def test_variables_and_errors_beside_rows():
    total = ag.Variable(0.0)

    @ag.function
    def summed(x):
        out = jnp.zeros_like(x)
        for i in ag.range(N):
            out[i] = 2 * x[i]
            total.assign_add(x[i])
        return out

    agree(summed(NUMBERS), 2 * NUMBERS)
    agree(total.numpy(), NUMBERS.sum())

    @ag.function
    def checked(x):
        out = jnp.zeros_like(x)
        for i in ag.range(N):
            if x[i] > 2.5:
                raise ValueError("too large")
            out[i] = 2 * x[i]
        return out

    agree(checked(NUMBERS - 1), 2 * (NUMBERS - 1))
    with pytest.raises(ValueError, match="too large"):
        checked(NUMBERS)


def test_lists_and_tensor_arrays():
    @ag.convert
    def doubled(x):
        made = []
        for v in x:
            made.append(2 * v)
        array = ag.TensorArray(jnp.float32, size=N)
        for i in ag.range(N):
            array = array.write(i, x[i] + 1)
        return jnp.stack(made), array.stack()

    assert Counts(doubled, NUMBERS).loops == 0
    agree(jax.jit(doubled)(NUMBERS), (2 * NUMBERS, NUMBERS + 1))


def test_one_iteration_and_none():
    @ag.convert
    def scaled(x, out):
        k = -1
        for k in ag.range(x.shape[0]):
            out[k] = 3 * x[k]
        return out, k

    for n in (0, 1):
        agree(jax.jit(scaled)(NUMBERS[:n], START[:n]), (3 * NUMBERS[:n], n - 1))


def test_sizes_that_are_symbols():
    @ag.function(input_signature=[ag.TensorSpec([None], jnp.float32)])
    def scaled(x):
        out = jnp.zeros_like(x)
        for k in range(x.shape[0]):
            out[k] = 3 * x[k]
        return out

    for n in (1, 4):
        agree(scaled(NUMBERS[:n]), 3 * NUMBERS[:n])


def agree(found, expected, tolerance=1e-5):
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(np.asarray(one), other, rtol=tolerance, atol=tolerance)
