"""What the gradient of a loop keeps of its iterations: no more than it needs, and in batches for each lane."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests.jaxprs import equations


def network(w, x, k):
    return jnp.tanh(w @ x + 0.1)


def with_its_number(w, x, k):
    return jnp.sin(w @ x) / (k + 1.0) + jnp.cos(k * 0.1) * x


def near_a_nan(w, x, k):
    return jnp.sqrt(jnp.abs(w @ x) + 1.31 - k * 0.01)


def affine(w, x, k):
    return 0.9 * x + w.sum()


BODIES = [network, with_its_number, near_a_nan, affine]


def loop(body, checkpoints=None):
    @ag.convert
    def run(w, x, n):
        k = 0
        while k < n:
            ag.set_loop_options(checkpoints=checkpoints)
            x = body(w, x, k)
            k += 1
        return x.sum()

    return run


def plain(body):
    def run(w, x, n):
        for k in range(int(n)):
            x = body(w, x, k)
        return x.sum()

    return run


RANDOM = np.random.default_rng(0)
W = RANDOM.normal(size=(4, 4)) / 2
X = RANDOM.normal(size=(5, 4))
N = np.array([0, 3, 70, 1, 130])


def gradients_one_by_one(body, w, xs, ns):
    found = [jax.grad(plain(body), (0, 1))(jnp.asarray(w), jnp.asarray(x), n) for x, n in zip(xs, ns)]
    return jax.tree.map(lambda *parts: jnp.stack(parts), *found)


def assert_close(found, wanted):
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-9)


@pytest.fixture(autouse=True)
def _in_double_precision():
    with jax.enable_x64(True):
        yield


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("checkpoints", [None, 8])
def test_lanes_that_end_by_themselves(body, checkpoints):
    f = loop(body, checkpoints)
    wanted = gradients_one_by_one(body, W, X, N)
    assert_close(jax.jit(jax.vmap(jax.grad(f, (0, 1)), (None, 0, 0)))(W, X, N), wanted)
    over_lanes = jax.jit(jax.grad(lambda w, x: jax.vmap(f, (None, 0, 0))(w, x, N).sum(), (0, 1)))
    assert_close(over_lanes(W, X), (wanted[0].sum(0), wanted[1]))


@pytest.mark.parametrize("body", BODIES)
def test_lanes_that_run_as_often(body):
    f = jax.grad(loop(body), (0, 1))
    assert_close(jax.jit(jax.vmap(f, (None, 0, None)))(W, X, 70), gradients_one_by_one(body, W, X, [70] * 5))


@pytest.mark.parametrize("body", [network, with_its_number])
@pytest.mark.parametrize("inner", [0, None])
def test_batches_of_batches(body, inner):
    xs, ns = np.stack([X, X / 2]), np.stack([N, N[::-1]])
    if inner is None:
        ns = np.array([2, 90])
    wanted = [gradients_one_by_one(body, W, x, np.broadcast_to(n, 5)) for x, n in zip(xs, ns)]
    f = jax.vmap(jax.vmap(jax.grad(loop(body, 8), (0, 1)), (None, 0, inner)), (None, 0, 0))
    assert_close(jax.jit(f)(W, xs, ns), jax.tree.map(lambda *parts: jnp.stack(parts), *wanted))


def test_lanes_of_a_conditional_that_some_do_not_take():
    f = loop(near_a_nan)
    taken = np.array([1, 0, 1, 0, 1])

    def either(x, n, c):
        return jax.lax.cond(c > 0, lambda: f(W, x, n), lambda: 2 * x.sum())

    found = jax.jit(jax.vmap(jax.grad(either)))(X, N, taken)
    _, wanted = gradients_one_by_one(near_a_nan, W, X, N)
    assert_close(found, jnp.where(taken[:, None] > 0, wanted, 2.0))


@pytest.mark.parametrize("body", [network, with_its_number])
def test_derivatives_of_batches_of_gradients(body):
    f = loop(body)
    moved = jax.jit(lambda x: jax.jvp(lambda x: jax.vmap(jax.grad(f, 1), (None, 0, 0))(W, x, N), (x,), (x,))[1])(X)
    pushed = [jax.jvp(lambda x: jax.grad(plain(body), 1)(jnp.asarray(W), x, n), (x,), (x,))[1] for x, n in zip(X, N)]  # noqa: B023
    assert_close(moved, jnp.stack(pushed))


def bounded(body):
    @ag.convert
    def run(w, x, n):
        k = 0
        while k < n:
            ag.set_loop_options(maximum_iterations=100)
            x = body(w, x, k)
            k += 1
        return x.sum()

    return run


def compiled(f):
    return jax.jit(jax.grad(f, (0, 1))).lower(W, X[0], 50).compile()


def test_products_are_not_computed_again():
    dots = len(re.findall(r" dot\(|__onednn|custom-call.*dot", compiled(bounded(network)).as_text()))
    assert dots == 2, "one forward, one back"


def rows_of(f):
    jaxpr = jax.make_jaxpr(jax.grad(f, (0, 1)))(W, X[0], 50)
    (record,) = [each for each, _ in equations(jaxpr.jaxpr) if each.primitive.name == "while_recorded"]
    return [
        variable.aval.shape[1:] for variable in record.outvars if variable.aval.ndim and variable.aval.shape[0] == 100
    ]


def chaotic(w, x, k):
    return x + 0.01 * (x * w[0] - x * x)


def test_what_is_kept():
    assert rows_of(bounded(network)) == [(4,), (4,)]  # the state, and what tanh gave
    assert rows_of(bounded(chaotic)) == [(4,)]  # arithmetic is done again
    assert rows_of(bounded(affine)) == []
    assert rows_of(bounded(near_a_nan)) == [(4,), (), (4,), (4,)]  # the number too: the body reads it


def test_a_number_that_only_the_test_needs_is_not_kept():
    assert () not in rows_of(bounded(network))
