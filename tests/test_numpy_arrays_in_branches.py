"""NumPy arrays that the function makes, written in place in staged statements, as NumPy writes them."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests import staged


def reflected(v, k):
    q = np.eye(3)
    if v[0] > 0:
        q[:, 1:] -= np.outer(q[:, 1:] @ v[1:], v[1:])
    return q


def parts(v, k):
    q = np.eye(3)
    if v[0] > 0:
        q[1] += v
        q[0] *= 3
        q[1:] += 1
        q[v > 1] -= 1
        q[[0, 2]] -= 1
    return q


def whole(v, k):
    q = np.zeros(3)
    r = q
    if v[0] > 0:
        q += 2
    for i in range(3):
        if v[i] > 2:
            q *= 2
    return q, r


def in_a_loop(v, k):
    q = np.zeros((3, 3))
    counts = {"n": np.zeros(3)}
    for i in range(3):
        if v[i] > 1:
            continue
        q[i] += v[i]
        counts["n"][i:] += 1
        counts["n"][k] -= 5
    while q[0, 0] < 4:
        q[0] += 1
        q[1, :2] *= 2
        q[:, 2] -= 1
    return q, counts


def to_outputs(v, k):
    c, f, i = np.zeros(3), np.zeros(2), np.zeros(2)
    d = c
    if v[0] > 0:
        np.add(c, 1, out=c)
        np.multiply(c, 3, c)
        np.sqrt(c, out=c, where=c > 1)
        np.modf(np.array([1.5, 2.25]), f, i)
    return c, d, f, i


class Model:
    def __init__(self):
        self.w = np.ones((2, 3))
        self.n = np.zeros(2, int)

    def step(self, v):
        if v[0] > 0:
            self.w[0] += v
            self.n[:1] += 1
        else:
            self.w[1, 1:] -= v[1:]
            self.n[1:] |= 2
        return self.w.sum()


def in_a_method(v, k):
    model = Model()
    return model.step(v), model.step(-v), model.w, model.n


def rows_swapped(v, k):
    order = np.arange(3)
    if v[0] > 0:
        order[[k, 1]] = order[[1, k]]
    order[[k, 0]] += 5
    return order, order[[k, k]]


def lists_in_indices(v, k):
    q = np.arange(9).reshape(3, 3)
    read = q[[k, 0], [0, 1]], q[[0, k]], q[:, [k, 0]], q[[v[0] > 0, False, True]][-1], q[[k], :], q[k, [0, 1]]
    q[[k, 0], [0, 1]] = 7
    q[:, [k, 0]] += 1
    q[[k, 0], :] = q[[0, k], :]
    q[[v[0] > 0, False, True]] = 0
    return read, q


PROGRAMS = [reflected, parts, whole, in_a_loop, to_outputs, in_a_method, rows_swapped, lists_in_indices]
CASES = [([1.0, 2.0, 3.0], 2), ([-1.0, 2.0, 3.0], 1)]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize(("v", "k"), CASES)
def test_the_same_as_plain_python(program, v, k):
    v = np.array(v, np.float32)
    wanted = program(v, k)
    compiled = staged.function(program)
    for found in (compiled(jnp.asarray(v), jnp.int32(k)), compiled(v, jnp.int32(k))):
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5), found, wanted)
    under_jit = staged.jitted(program)
    found = under_jit(v, k)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5), found, wanted)


def test_gradients_of_what_a_branch_writes():
    gradient = jax.grad(lambda v: jnp.sum(ag.convert(reflected)(v, 0) ** 2))
    v = np.array([1.0, 2.0, 3.0])
    steps = np.eye(3) * 1e-3
    wanted = [(np.sum(reflected(v + s, 0) ** 2) - np.sum(reflected(v - s, 0) ** 2)) / 2e-3 for s in steps]
    np.testing.assert_allclose(gradient(jnp.asarray(v, jnp.float32)), wanted, rtol=1e-2, atol=1e-2)
    np.testing.assert_allclose(gradient(jnp.array([-1.0, 2.0, 3.0])), np.zeros(3))


def half_added(q):
    if q[0] > 0:
        q[1:] += 0.5
    return q


def part_divided(q):
    q[:2] /= 2
    return q


def chosen_scaled(q):
    q[q > 3] *= 0.5
    return q


def of_its_own(q):
    counts = np.zeros(3, int)
    if q[0] > 0:
        counts[1:] += 0.5
    return counts


@pytest.mark.parametrize("program", [half_added, part_divided, chosen_scaled, of_its_own], ids=lambda f: f.__name__)
def test_a_part_of_integers_takes_no_fractions(program):
    for function in (program, ag.function(program)):
        with pytest.raises(TypeError, match="Cannot cast ufunc"):
            function(np.array([3, 4, 5]))
    np.testing.assert_allclose(ag.function(program)(np.array([-3.0, 4.0, 5.0])), program(np.array([-3.0, 4.0, 5.0])))


def test_one_integer_takes_the_whole_part():
    def program(q):
        q[0] += 0.5
        q[1] /= 2
        return q

    np.testing.assert_array_equal(ag.function(program)(np.array([3, 4, 5])), program(np.array([3, 4, 5])))
