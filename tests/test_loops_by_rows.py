"""Loops that read and write arrays at their index: the results of plain Python, and bodies that see elements only."""

from __future__ import annotations

import copy

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from autograph.backends.xla import jax_compat
from autograph.backends.xla.jax_compat import Kind
from autograph.backends.xla.optimize.progressions import Progression, Vectors, one, result_of

N = 6
NUMBERS = np.array([0.5, -1.25, 2.0, 0.75, -0.25, 1.5], np.float32)
START = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], np.float32)
GRID = np.arange(12, dtype=np.float32).reshape(4, 3) - 5.5
FILLED = np.full((4, 3), 0.25, np.float32)


def gate(x, out):
    level = np.float32(0)
    for i in ag.range(N):
        level = 0.5 * level + 0.5 * abs(x[i])
        if level > 0.8:
            out[i] = x[i]
    return out


def three_paths(x, out):
    for i in ag.range(N):
        if x[i] > 0:
            out[i] = x[i]
            if x[i] > 1:
                out[i] = 2 * out[i]
        elif x[i] < -1:
            out[i] -= 1
        else:
            out[i] *= 3
    return out


def skipping(x, out):
    for i in ag.range(N):
        if x[i] < 0:
            continue
        out[i] = x[i]
    return out


def read_again(x, out):
    total = np.float32(0)
    for i in ag.range(N):
        out[i] = out[i] + x[i]
        out[i] *= 2
        total += out[i]
    return out, total


def backwards(x, out):
    for i in ag.range(N - 1, -1, -1):
        out[i] = x[N - 1 - i] + x[-1 - i]
    return out


def every_second(x, out):
    for i in ag.range(1, N, 2):
        if x[i] > 0:
            out[i] = x[i - 1] + x[i]
    return out


def part(x, out):
    for i in ag.range(3):
        out[i + 2] = x[i + 1] * 2
    return out


def counted_by_hand(x, out):
    k = 0
    for v in x:
        out[k] = v * v
        k += 1
    return out


def whole_array_too(x, out):
    for i in ag.range(N):
        out[i] = x[i] - x.max()
    return out


def cells(x, out):
    for i in ag.range(4):
        for j in ag.range(3):
            if x[i, j] > 0:
                out[i, j] = x[i, j] * i + j
    return out


def rows(x, out):
    for i in ag.range(4):
        out[i] = x[3 - i] * 2
    return out


def columns(x, out):
    for j in ag.range(3):
        for i in ag.range(4):
            out[i, j] += x[i, j]
    return out


BY_ROWS = {
    each.__name__: (each, (NUMBERS, START))
    for each in (
        gate,
        three_paths,
        skipping,
        read_again,
        backwards,
        every_second,
        part,
        counted_by_hand,
        whole_array_too,
    )
} | {each.__name__: (each, (GRID, FILLED)) for each in (cells, rows, columns)}


def neighbours(x, out):
    for i in ag.range(1, N):
        out[i] = out[i - 1] + x[i]
    return out


def exchanged(x, out):
    for i in ag.range(N):
        x[i], out[i] = out[i], x[i]
        x, out = out, x
    return x, out


def compacted(x, out):
    k = 0
    for i in ag.range(N):
        if x[i] > 0:
            out[k] = x[i]
            k += 1
    return out


def first_element_too(x, out):
    for i in ag.range(N):
        out[i] = out[i] + out[0] + x[i]
    return out


def sometimes_beyond(x, out):
    for i in ag.range(N):
        if i + 2 < N:
            out[i + 2] = x[i]
    return out


def bubbling(x, out):
    for i in ag.range(N - 1):
        if x[i] > x[i + 1]:
            x[i], x[i + 1] = x[i + 1], x[i]
    return x, out


WHOLE = {
    each.__name__: (each, (NUMBERS, START))
    for each in (neighbours, exchanged, compacted, first_element_too, sometimes_beyond, bubbling)
}


@pytest.mark.parametrize("name", ["three_paths", "read_again", "every_second", "counted_by_hand", "cells", "columns"])
def test_results_batches_and_derivatives(name):
    program, operands = BY_ROWS[name]
    batch = [np.stack([operand, operand[::-1]]) for operand in operands]
    converted = ag.convert(program)

    def total(x, out):
        return sum(jnp.sum(jnp.sin(result)) for result in jax.tree.leaves(converted(x, out)))

    @jax.jit
    def everything(operands, batch):
        return converted(*operands), jax.vmap(converted)(*batch), jax.grad(total, (0, 1))(*operands)

    found, lanes, gradient = everything(*jax.tree.map(jnp.asarray, (operands, tuple(batch))))
    agree(found, program(*copy.deepcopy(operands)))
    for k in range(2):
        agree(jax.tree.map(lambda lane: lane[k], lanes), program(*(operand[k].copy() for operand in batch)))  # noqa: B023

    def plain(operands):
        results = program(*operands)
        return sum(np.sin(result).sum() for result in jax.tree.leaves(results))

    agree(gradient, slopes(plain, operands), tolerance=1e-3)


def slopes(f, operands, step=1e-4):
    """The derivatives of a function of NumPy arrays, by differences."""
    found = []
    for number, operand in enumerate(operands):
        slope = np.zeros(operand.shape)
        for place in np.ndindex(operand.shape):
            ends = []
            for sign in (1, -1):
                moved = [np.array(each, np.float64) for each in operands]
                moved[number][place] += sign * step
                ends.append(f(moved))
            slope[place] = (ends[0] - ends[1]) / (2 * step)
        found.append(slope)
    return tuple(found)


def agree(found, expected, tolerance=1e-5):
    for one_found, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(np.asarray(one_found), other, rtol=tolerance, atol=tolerance)


def loops(f, *operands):
    """The bodies of a program's loops, innermost last."""
    program = jax.make_jaxpr(ag.convert(f))(*map(jnp.asarray, operands))
    found = [each for each in jax_compat.all_equations(program.jaxpr) if jax_compat.kind(each) is Kind.SCAN]
    return [jax_compat.scan_of(each) for each in found]


def carried_ranks(scans):
    return {
        len(var.aval.shape)
        for scan in scans
        for var in scan.body.jaxpr.invars[scan.consts : scan.consts + scan.carried]
    }


def places(scans):
    """How many slices and writes at computed places the innermost loop has."""
    names = ("dynamic_slice", "dynamic_update_slice", "scatter", "scatter-add")
    return sum(jax_compat.name_of(each) in names for each in jax_compat.all_equations(scans[-1].body.jaxpr))


@pytest.mark.parametrize("name", BY_ROWS)
def test_a_body_sees_elements_and_carries_no_array(name):
    program, operands = BY_ROWS[name]
    found = loops(program, *operands)
    assert carried_ranks(found) <= {0}
    assert not found or places(found) == 0  # one that carries nothing is no loop at all: tests/test_mapped_loops.py
    agree(jax.jit(ag.convert(program))(*operands), program(*copy.deepcopy(operands)))


@pytest.mark.parametrize("name", WHOLE)
def test_an_array_that_iterations_share_is_carried(name):
    program, operands = WHOLE[name]
    assert 1 in carried_ranks(loops(program, *operands))
    agree(jax.jit(ag.convert(program))(*operands), program(*copy.deepcopy(operands)))


def test_lists_and_tensor_arrays_are_scanned_too():
    def listed(x):
        out = []
        for i in ag.range(N):
            if x[i] > 0:
                out.append(x[i])
            else:
                out.append(-x[i])
        return out

    def appended(x):
        out = []
        for v in x:
            out.append(v * 2)
        return out

    def written(x):
        array = ag.TensorArray(jnp.float32, N)
        for i in ag.range(N):
            array = array.write(i, x[i] + 1)
        return array.stack()

    for program, expected in ((listed, abs(NUMBERS)), (appended, NUMBERS * 2), (written, NUMBERS + 1)):
        assert carried_ranks(loops(program, NUMBERS)) <= {0}, program.__name__
        agree(list(jax.jit(ag.convert(program))(NUMBERS)), list(expected))


def test_a_row_that_the_run_chooses():
    def f(grid, r):
        for j in ag.range(3):
            grid[r, j] += 1
            grid[r, j] = grid[r, j] * 2
        return grid

    found = loops(f, GRID, np.int32(2))
    assert not found or places(found) == 0
    compiled = jax.jit(ag.convert(f))
    for r in (2, 0, -1):
        agree(compiled(GRID, r), f(GRID.copy(), r))
    for r in (4, -5):  # JAX leaves out what is written out of range
        agree(compiled(GRID, r), GRID)


def test_a_branch_that_is_seldom_taken_is_given_no_large_row():
    def f(table, wanted):
        found = jnp.zeros(2000)
        for i in ag.range(5):
            if i == wanted:
                found = jnp.sin(table[i])
        return found

    table = jnp.ones((5, 2000))
    (scan,) = loops(f, table, jnp.int32(3))
    slices = scan.body.jaxpr.invars[scan.consts + scan.carried :]
    assert all(var.aval.shape == () for var in slices)
    agree(jax.jit(ag.convert(f))(table, 3), np.sin(np.ones(2000)))


def test_a_gradient_adds_to_no_whole_array():
    def f(x):
        total = 0.0
        for i in ag.range(N):
            total = total * 0.5 + x[i] * x[i]
        return total

    gradient = jax.make_jaxpr(jax.grad(ag.convert(f)))(jnp.ones(N))
    scans = [each for each in jax_compat.all_equations(gradient.jaxpr) if jax_compat.kind(each) is Kind.SCAN]
    inner = [each for scan in map(jax_compat.scan_of, scans) for each in jax_compat.all_equations(scan.body.jaxpr)]
    assert scans and all(var.aval.size == 1 for equation in inner for var in equation.outvars)
    assert all(var.aval.shape == () for var in scans[0].outvars)  # what it keeps of an iteration is x itself


def test_state_goes_beside_rows():
    count = ag.Variable(0)

    @ag.function
    def f(x, out):
        for i in ag.range(N):
            if x[i] > 0:
                count.assign_add(1)
                out[i] = x[i]
        return out

    agree(f(jnp.asarray(NUMBERS), jnp.asarray(START)), np.where(NUMBERS > 0, NUMBERS, START))
    assert int(count) == int((NUMBERS > 0).sum())


def equation(f, *operands):
    (found,) = jax.make_jaxpr(f)(*operands).jaxpr.eqns
    return found


def test_what_is_known_of_integers():
    index, three = one(Progression(0, 1)), one(Progression(3))
    k = np.int32(0)
    assert result_of(equation(jax.lax.add, k, k), [index, three], 10) == one(Progression(3, 1))
    assert result_of(equation(jax.lax.mul, k, k), [index, three], 10) == one(Progression(0, 3))
    assert result_of(equation(jax.lax.mul, k, k), [index, index], 10) is None
    assert result_of(equation(jax.lax.lt, k, k), [index, three], 3) == one(Progression(1))
    assert result_of(equation(jax.lax.lt, k, k), [index, three], 4) is None
    small = equation(jax.lax.mul, np.int8(0), np.int8(0))
    assert result_of(small, [index, one(Progression(100))], 2) == one(Progression(0, 100))
    assert result_of(small, [index, one(Progression(100))], 3) is None
    chosen = result_of(equation(jax.lax.select, np.bool_(True), k, k), [None, index, three], 10)
    assert isinstance(chosen, Vectors) and chosen.only is None and len(chosen.found) == 2


def test_large_arrays_are_not_followed_element_by_element():
    k = np.int32(0)
    pair = result_of(equation(lambda k: jax.lax.broadcast(k, (2,)), k), [one(Progression(3))], 10)
    assert pair is not None and pair.only == (Progression(3), Progression(3))
    assert result_of(equation(lambda k: jax.lax.broadcast(k, (10**9,)), k), [one(Progression(3))], 10) is None
