"""Loaded functions under JAX's transforms agree with the functions that were saved."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests.saved_models import loaded

Spec = ag.TensorSpec
X = jnp.array([1.0, 2.0, 3.0])


@ag.function(input_signature=[Spec([]), Spec([], jnp.int32), Spec(["n"])])
def newton(x, steps, weights):
    """A loop, a branch, an integer argument and an integer result."""
    y, count = x, 0
    while abs(y * y - x) > 1e-5 * x:
        y = (y + x / y) / 2
        count += 1
    for _ in range(steps):
        if y > 1:
            y = y * weights.sum()
    return {"y": y, "count": count, "all": weights * y}


@pytest.fixture(scope="module", name="saved")
def of_orders(tmp_path_factory):
    """The function, loaded, by the number of orders of derivatives that it was saved with."""
    return {k: loaded(newton, tmp_path_factory.mktemp(f"order{k}"), derivatives=k) for k in (0, 1, 2, 3)}


def agree(f, g, *arguments):
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=2e-4), f(*arguments), g(*arguments))


def of(function):
    return lambda x, weights: function(x, jnp.int32(2), weights)["all"]


def test_reverse_mode(saved):
    for again in (saved[1], saved[2]):
        agree(*(jax.jacrev(of(f), (0, 1)) for f in (again, newton)), 5.0, X)
        agree(*(jax.jit(jax.grad(lambda w, f=f: of(f)(5.0, w).sum())) for f in (again, newton)), X)
    with pytest.raises(
        ag.StagingError, match="newton was saved with derivatives of order 0, and is differentiated once"
    ):
        jax.grad(lambda w: of(saved[0])(5.0, w).sum())(X)


def test_forward_mode_takes_two_orders(saved):
    agree(*(jax.jacfwd(of(f), (0, 1)) for f in (saved[2], newton)), 5.0, X)
    agree(*(jax.jit(lambda w, f=f: jax.jvp(lambda w: of(f)(5.0, w), (w,), (w,))) for f in (saved[2], newton)), X)
    with pytest.raises(ag.StagingError, match=r"order 1, and is differentiated in forward mode.*\n.*derivatives=2"):
        jax.jacfwd(of(saved[1]))(5.0, X)


def test_second_derivatives(saved):
    def total(f):
        return lambda w: (of(f)(5.0, w) ** 2).sum()

    agree(jax.jacrev(jax.grad(total(saved[2]))), jax.hessian(total(newton)), X)
    agree(jax.hessian(total(saved[3])), jax.hessian(total(newton)), X)
    with pytest.raises(ag.StagingError, match=r"order 2, and is differentiated in forward mode.*\n.*derivatives=3"):
        jax.hessian(total(saved[2]))(X)
    with pytest.raises(ag.StagingError, match=r"order 2, and is differentiated once more.*\n.*derivatives=3"):
        jax.grad(lambda w: jax.grad(lambda w: jax.grad(total(saved[2]))(w).sum())(w).sum())(X)


def test_a_batch(saved):
    xs, weights = jnp.array([2.0, 9.0]), jnp.stack([X, X / 2])
    for axes in ((0, None, None), (None, None, 0), (0, None, 0)):
        arguments = [xs if axes[0] == 0 else xs[0], jnp.int32(1), weights if axes[2] == 0 else X]
        agree(*(jax.vmap(lambda x, n, w, f=f: f(x, n, w), axes) for f in (saved[0], newton)), *arguments)
    agree(*(jax.vmap(jax.grad(lambda x, w, f=f: of(f)(x, w).sum(), (0, 1))) for f in (saved[1], newton)), xs, weights)
    agree(*(jax.grad(lambda w, f=f: jax.vmap(of(f), (0, None))(xs, w).sum()) for f in (saved[1], newton)), X)
    agree(*(jax.vmap(jax.vmap(lambda x, f=f: of(f)(x, X))) for f in (saved[0], newton)), xs[:, None])


def test_in_a_compiled_function_that_maps_and_differentiates(saved):
    def step(f):
        @ag.function
        def total(xs, w):
            best = w
            for _ in range(3):
                slopes = jax.vmap(jax.grad(lambda x: of(f)(x, best).sum()))(xs)
                if slopes.sum() > 0:
                    best = best - 0.01 * slopes.mean()
            return best

        return total

    agree(step(saved[1]), step(newton), jnp.array([2.0, 9.0]), X)


def test_an_exception_in_a_batch(tmp_path):
    @ag.function(input_signature=[Spec([])])
    def root(x):
        if x < 0:
            raise ValueError(f"{x:.0f} has no root")
        return jnp.sqrt(x)

    again = loaded(root, tmp_path)
    mapped = ag.function(lambda xs: jax.vmap(lambda x: again(x))(xs))
    assert mapped(jnp.array([1.0, 4.0])).tolist() == [1, 2]
    with pytest.raises(ValueError, match="^-9 has no root$"):
        mapped(jnp.array([4.0, -9.0, -1.0]))


def test_what_was_loaded_keeps_its_derivatives_when_it_is_saved_again(saved, tmp_path):
    again = loaded(saved[2], tmp_path, derivatives=1)
    agree(*(jax.grad(lambda w, f=f: of(f)(5.0, w).sum()) for f in (again, newton)), X)
    with pytest.raises(ag.StagingError, match="derivatives of order 3"):
        loaded(saved[2], tmp_path, derivatives=3)
