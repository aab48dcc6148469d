"""NumPy arrays from outside that an `ag.function` writes in place, by any of the names that lead to them."""

from __future__ import annotations

import types

import jax
import numpy as np
import pytest

import autograph as ag


class Model:
    def __init__(self):
        self.weights, self.bias = np.ones(2, np.float32), np.zeros(2, np.float32)
        self.parameters = [self.weights, self.bias]
        self.by_name = {"weights": self.weights}
        self.pair = (self.weights, self.bias)
        self.lengths = types.SimpleNamespace(seen=np.zeros(2, np.float32))
        self.velocity, self.rate = np.zeros(2, np.float32), 0.5
        self.front, self.back = np.zeros(2, np.float32), np.ones(2, np.float32)

    def update(self, x):
        w = self.weights
        w[0] -= x[0]


model = Model()
table = np.ones((2, 2), np.float32)


def of_a_global(x):
    t = table
    t[0] += x
    return table.sum()


def a_row(x):
    row = table[1]
    row *= x
    return table.sum()


def in_a_method(x):
    model.update(x)
    return model.weights[0]


def of_a_list(x):
    for p in model.parameters:
        p -= x
    return model.weights.sum() + model.bias.sum()


def of_a_list_in_a_branch(x):
    if x[0] > 1:
        for p in model.parameters:
            p[0] = x[0]
    return model.weights.sum()


def of_a_dict(x):
    w = model.by_name["weights"]
    w -= 0.5 * x
    return model.weights.sum()


def of_a_tuple(x):
    w, b = model.pair
    w -= x
    b[1] = w[0]
    return model.weights.sum() + model.parameters[1].sum()


def by_its_attribute(x):
    model.weights -= x
    return model.parameters[0].sum()


def given_to_a_function(x):
    def put(a, v):
        a[:] = v

    put(model.lengths.seen, 2 * x)
    return model.lengths.seen.sum()


def with_known_numbers(x):
    model.bias[0] += 1
    table[0] += 1
    model.weights[0] += x[0]
    return model.bias.sum() + table.sum()


def bound_anew(x):
    w = model.weights
    w -= x
    model.weights = 2 * w
    return model.parameters[0].sum()


def trained(x):
    """Velocities are bound anew, weights are written in place, by a rate that is one of several."""
    model.velocity = 0.5 * model.velocity + x
    norm = np.sqrt((model.velocity**2).sum())
    scale = 1.0
    if norm > 1.5:
        scale = 1.0 / norm
    for p in model.parameters:
        p -= model.rate * scale * model.velocity
    v = model.velocity
    v *= 0.5
    model.rate *= 0.5
    return model.weights.sum()


def by_functions_of_numpy(x):
    np.add(table, x, out=table)
    np.add.at(model.bias, [0, 0], x)
    table[0].sort()
    np.copyto(model.weights, x, where=x > 1)
    return table.sum()


def exchanged(x):
    np.add(model.front, x, out=model.front)
    if x[0] > 1:
        model.front, model.back = model.back, model.front
    front = model.front
    front[0] = 5
    return model.front.sum() - model.back.sum()


PROGRAMS = (
    of_a_global, a_row, in_a_method, of_a_list, of_a_list_in_a_branch, of_a_dict, of_a_tuple, by_its_attribute, given_to_a_function,
    with_known_numbers, bound_anew, trained, by_functions_of_numpy, exchanged,
)  # fmt: skip


def left():
    arrays = [
        table,
        model.weights,
        model.bias,
        *model.parameters,
        *model.by_name.values(),
        *model.pair,
        model.lengths.seen,
    ]
    arrays += model.velocity, model.rate, model.front, model.back
    return [np.asarray(each).tolist() for each in arrays], model.pair[0] is model.parameters[0]


def run(program):
    global model, table
    model, table = Model(), np.ones((2, 2), np.float32)
    found = []
    for k in (1.0, 2.0, 3.0):
        found.append((float(program(np.float32([k, 2]))), left()))
        model.bias[1] += 1  # what is outside changes between calls, too
    return found


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_all_names_see_what_a_call_writes(program):
    assert run(ag.function(program)) == run(program)


@pytest.mark.parametrize("program", [of_a_global, in_a_method])
def test_a_bare_jit_refuses_it(program):
    before = left()
    with pytest.raises(ag.StagingError, match=r"is written in \w+, which runs under a transform such as jax.jit"):
        jax.jit(ag.convert(program))(np.float32([1, 2]))
    assert left() == before


def test_a_concrete_function_refuses_it():
    before = left()
    with pytest.raises(ag.StagingError, match=r"'table' is written in place, and exists beyond this call"):
        ag.function(of_a_global).get_concrete_function(np.float32([1, 2]))
    assert left() == before


def test_a_view_that_is_held_outside_is_refused():
    class Grid:
        def __init__(self):
            self.cells = np.zeros((2, 2), np.float32)
            self.first = self.cells[0]

    grid = Grid()

    @ag.function
    def f(x):
        grid.first[0] = x
        return grid.cells.sum()

    with pytest.raises(ag.StagingError, match=r"shares memory with another array from outside \(.*cells.*first"):
        f(np.float32(1))
    assert grid.cells.sum() == 0
