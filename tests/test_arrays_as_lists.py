"""`tolist` and `item` of arrays of which only the run knows the elements: nested lists of numbers, and one number."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests import staged
from tests.agreement import differences

INPUTS = (np.array([3, -1, 2], np.int32), np.array([-2, 0, 5], np.int32))


def counted_down(xs):
    n, g = xs[0], np.zeros(5, dtype=int)
    while n > 0:
        new = g.copy()
        new[0] = n
        g = new
        n -= 1
    return g.tolist()


def written(xs):
    z = np.zeros((2, 3))
    z[0, 1] = xs[0]
    return z.tolist(), z[0].tolist(), z.T.tolist(), z[0, 1].tolist(), z[0, 1].item(), z.item(1), z.item((0, 1))


def of_values(xs):
    rows = np.array([xs, xs * 2]).tolist()
    rows[0].append(xs[1])
    rows.append([7])
    return rows, sum(rows[1]), max(rows[0]), sorted(xs.tolist()), rows[0][0] / 2, 3 in rows[0]


def items(xs):
    found = []
    for k in range(len(xs)):
        if xs[k].item() > 0:
            found.append(xs.item(k))
    return found, xs.sum().item(), (xs > 0).tolist(), (xs[0] > 0).item()


def of_traced_length(xs):
    found = xs[xs > 0].tolist()
    found.append(9)
    return found, np.nonzero(xs)[0].tolist()


def as_arguments(xs):
    a, b, c = xs.tolist()
    return a if b > c else [c, *xs.tolist()][xs[2].item() % 2]


PROGRAMS = (counted_down, written, of_values, items, of_traced_length, as_arguments)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_the_elements_of_an_array_are_numbers(program):
    for xs in INPUTS:
        assert not list(differences(program(xs), staged.function(program)(jnp.asarray(xs))))


@pytest.mark.parametrize("program", [counted_down, written, of_values, as_arguments], ids=lambda each: each.__name__)
def test_the_elements_of_an_array_are_numbers_under_jax(program):
    for xs in INPUTS:
        assert not list(differences(program(xs), staged.jitted(program)(xs)))
    lanes = staged.mapped(program)(np.array(INPUTS))
    for k, xs in enumerate(INPUTS):
        assert not list(differences(program(xs), jax.tree.map(lambda leaf, k=k: leaf[k], lanes)))


def test_a_number_of_an_array_has_pythons_type():
    def halves(x):
        return x.item() / 2, x.tolist() * 300

    found = ag.function(halves)(jnp.int8(101))
    assert found == (50.5, 30300)


def test_a_gradient_passes_through_the_numbers():
    def total(xs):
        return sum(x * x for x in xs.tolist()) + xs[0].item()

    assert jax.grad(ag.convert(total))(jnp.array([1.0, 2.0])).tolist() == [3.0, 4.0]


def test_the_item_of_several_is_an_error_of_pythons():
    with pytest.raises(ValueError, match="can only convert an array of size 1 to a Python scalar"):
        ag.function(lambda xs: xs.item())(jnp.arange(3))
