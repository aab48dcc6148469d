"""Derivatives of every kind through every staged loop.

The oracle is plain Python differentiated eagerly, which finite differences confirm.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests.gradient_programs import PROGRAMS, newton

X, W = 0.9, 1.2
XS = np.array([0.9, 0.55, 1.7, 2.3])  # numbers of iterations differ
STEP = 1e-5


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


@pytest.fixture(params=PROGRAMS, ids=lambda program: program.__name__)
def program(request):
    return request.param


def real(x):
    return jnp.asarray(x, jnp.float64)


@functools.cache
def plain_gradient(program, x, w):
    """Of the plain program: eager differentiation runs Python on concrete values, with nothing staged."""
    return np.array(jax.grad(program, (0, 1))(real(x), real(w)))


@functools.cache
def plain_hessian(program, x, w):
    columns = [
        plain_gradient(program, x + STEP, w) - plain_gradient(program, x - STEP, w),
        plain_gradient(program, x, w + STEP) - plain_gradient(program, x, w - STEP),
    ]
    return np.stack(columns, 1) / (2 * STEP)


def close(found, wanted, tolerance=1e-9):
    np.testing.assert_allclose(np.array(found), wanted, rtol=tolerance, atol=tolerance)


def run(transform, *arguments):
    """Compiled in haste: it is the compiling that takes the time here."""
    hasty = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}
    return jax.jit(transform, compiler_options=hasty)(*map(real, arguments))


def test_the_oracle(program):
    """Eager gradients agree with finite differences, so no program jumps where it is tried."""
    for x in XS:
        slopes = [
            program(real(x + STEP), real(W)) - program(real(x - STEP), real(W)),
            program(real(x), real(W + STEP)) - program(real(x), real(W - STEP)),
        ]
        close(np.array(slopes) / (2 * STEP), plain_gradient(program, x, W), 1e-6)


def test_forward_mode(program):
    found = run(lambda x, w: jax.jvp(ag.convert(program), (x, w), (real(1.0), real(-2.0))), X, W)
    close(found[0], program(real(X), real(W)))
    close(found[1], plain_gradient(program, X, W) @ [1.0, -2.0])


def test_reverse_mode(program):
    close(run(jax.grad(ag.convert(program), (0, 1)), X, W), plain_gradient(program, X, W))


def test_vmap_of_gradient(program):
    found = run(jax.vmap(jax.grad(ag.convert(program), (0, 1)), (0, None)), XS, W)
    close(np.stack(found, 1), [plain_gradient(program, x, W) for x in XS])


def test_gradient_of_vmap(program):
    def total(xs, w):
        return jax.vmap(ag.convert(program), (0, None))(xs, w).sum()

    found = run(jax.grad(total, (0, 1)), XS, W)
    wanted = np.array([plain_gradient(program, x, W) for x in XS])
    close(found[0], wanted[:, 0])
    close(found[1], wanted[:, 1].sum())


# What a transform makes of a gradient depends on its loops, and takes seconds to compile: each kind of loop once.
FEW = [
    p
    for p in PROGRAMS
    if p.__name__ in ("no_bound", "nested_twice", "branch_in_loop", "writes_an_array", "loop_in_callee")
]


@pytest.mark.parametrize("few", FEW, ids=lambda program: program.__name__)
def test_hessian(few):
    """Forward over reverse."""
    close(run(jax.hessian(ag.convert(few), (0, 1)), X, W), plain_hessian(few, X, W), 1e-6)


@pytest.mark.parametrize("few", FEW, ids=lambda program: program.__name__)
def test_checkpoint(few):
    found = run(jax.grad(jax.checkpoint(ag.convert(few)), (0, 1)), X, W)
    close(found, plain_gradient(few, X, W))


@pytest.mark.parametrize("few", FEW, ids=lambda program: program.__name__)
def test_export(few):
    gradient = jax.jit(jax.grad(ag.convert(few), (0, 1)))
    exported = jax.export.export(gradient)(real(X), real(W))
    close(exported.call(real(X), real(W)), plain_gradient(few, X, W))


@pytest.mark.parametrize("few", FEW, ids=lambda program: program.__name__)
@pytest.mark.parametrize(
    "transform",
    [
        lambda f: jax.jacfwd(jax.jacfwd(f, (0, 1)), (0, 1)),
        lambda f: jax.jacrev(jax.jacfwd(f, (0, 1)), (0, 1)),
        lambda f: jax.jacrev(jax.jacrev(f, (0, 1)), (0, 1)),
        lambda f: jax.hessian(jax.checkpoint(f), (0, 1)),
        lambda f: jax.jacrev(jax.jacrev(jax.checkpoint(f), (0, 1)), (0, 1)),
    ],
    ids=["forward-forward", "reverse-forward", "reverse-reverse", "hessian-checkpoint", "reverse-reverse-checkpoint"],
)
def test_second_derivatives(few, transform):
    close(run(transform(ag.convert(few)), X, W), plain_hessian(few, X, W), 1e-6)


@pytest.mark.parametrize("few", FEW, ids=lambda program: program.__name__)
def test_second_derivatives_in_batches(few):
    found = run(jax.vmap(jax.hessian(ag.convert(few), (0, 1)), (0, None)), XS, W)
    wanted = np.array([plain_hessian(few, x, W) for x in XS])
    close(np.moveaxis(np.array(found), 2, 0), wanted, 1e-6)

    def total(xs, w):
        return jax.vmap(ag.convert(few), (0, None))(xs, w).sum()

    (xx, xw), (_, ww) = run(jax.jacrev(jax.grad(total, (0, 1)), (0, 1)), XS, W)
    close(xx, np.diag(wanted[:, 0, 0]), 1e-6)
    close(xw, wanted[:, 0, 1], 1e-6)
    close(ww, wanted[:, 1, 1].sum(), 1e-6)


@pytest.mark.parametrize("few", FEW, ids=lambda program: program.__name__)
def test_linearize_and_its_transpose(few):
    def f(x, w):
        value, push = jax.linearize(ag.convert(few), x, w)
        return value, push(x, w), jax.linear_transpose(push, x, w)(real(1.0))

    value, pushed, pulled = run(f, X, W)
    close(value, few(real(X), real(W)))
    close(pushed, plain_gradient(few, X, W) @ [X, W])
    close(pulled, plain_gradient(few, X, W))


@pytest.mark.parametrize("few", FEW, ids=lambda program: program.__name__)
def test_in_a_scan(few):
    def carry_on(f, x, w):
        def step(carry, v):
            carry = 0.5 * f(carry + v, w)
            return carry, carry

        return jax.lax.scan(step, x, real(XS[:3]))[1].sum()

    def by_hand(x, w):
        total = 0.0
        for v in XS[:3]:
            x = 0.5 * few(x + v, w)
            total = total + x
        return total

    wanted = jax.grad(by_hand, (0, 1))(real(X), real(W))
    for f in (ag.convert(few), jax.checkpoint(ag.convert(few))):
        close(run(jax.grad(lambda x, w: carry_on(f, x, w), (0, 1)), X, W), wanted)
        close(run(jax.grad(jax.checkpoint(lambda x, w: carry_on(f, x, w)), (0, 1)), X, W), wanted)


def test_closed_form():
    """y = w x^(1/3) by Newton's iteration."""
    root = X ** (1 / 3)
    close(run(jax.grad(ag.convert(newton), (0, 1)), X, W), [W * root / (3 * X), root], 1e-8)
    hessian = [[-2 * W * root / (9 * X * X), root / (3 * X)], [root / (3 * X), 0]]
    close(run(jax.hessian(ag.convert(newton), (0, 1)), X, W), hessian, 1e-6)


def test_third_derivative():
    third = jax.grad(jax.grad(jax.grad(ag.convert(newton))))
    close(run(third, X, W), W * (1 / 3) * (-2 / 3) * (-5 / 3) * X ** (-8 / 3), 1e-6)
