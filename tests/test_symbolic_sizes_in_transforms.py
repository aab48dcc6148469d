"""Functions with symbolic dimensions, called from other functions and under JAX's transforms: one trace serves all sizes there, too."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from autograph.backends.xla import jax_compat
from autograph.backends.xla.compared_sizes import EqualityWatch
from autograph.backends.xla.known_sizes import OpaqueError, is_known_for, with_known_sizes

SIZES = (1, 2, 4)  # of its own, and two of the trace that serves all others
TRACES = {"count": 0}


@ag.do_not_convert
def count_trace():
    TRACES["count"] += 1


def positive_squares(x):
    count_trace()
    total = 0.0
    for value in x:
        if value > 0:
            total = total + value * value
    while total > 10:
        total = total / 2
    return total * len(x)


def smooth_rows(x):
    """Operations whose parameters hold sizes, and some that have derivatives of their own."""
    count_trace()
    rows = jnp.concatenate([jax.nn.relu(x), jnp.cumsum(x)[1:], jnp.pad(x, 1), x[::-1]]).reshape(-1, 1)
    _, sums = jax.lax.scan(lambda carry, value: (carry + value, carry * value), 0.0, x)
    again = jax.checkpoint(lambda u: jnp.sin(u) * u)(x)
    return (rows * rows).sum() + (sums * again * jax.nn.softmax(x) / x.shape[0]).sum() + (jnp.outer(x, x) @ x).sum()


def root(value):
    return jnp.sqrt(value) if value > 0 else -value


def mapped_branches(x):
    count_trace()
    square = jnp.stack([x, -x + 0.25])
    return jax.vmap(root)(x).sum() + jax.vmap(jax.vmap(root))(square).sum()


def inner_gradient(x):
    count_trace()

    def loss(w):
        total = 0.0
        for value in x:
            if value > 0:
                total = total + (value - w) ** 2 * value
        return total

    return jax.grad(loss)(0.5) + jax.jvp(loss, (0.25,), (1.0,))[1]


def numbers(size):
    return jnp.asarray(np.arange(size, dtype=np.float32) - 1.5)


def batch(size):
    return jnp.asarray(np.stack([numbers(size), numbers(size) + 2.25]))


TRANSFORMS = {
    "call": lambda f: lambda size: f(numbers(size)),
    "function": lambda f: lambda size: ag.function(lambda x: f(x) + 1)(numbers(size)),
    "loop": lambda f: lambda size: ag.function(thrice)(f, numbers(size)),
    "jit": lambda f: lambda size: jax.jit(f)(numbers(size)),
    "vmap": lambda f: lambda size: jax.vmap(f)(batch(size)),
    "grad": lambda f: lambda size: jax.grad(f)(numbers(size)),
    "jvp": lambda f: lambda size: jax.jvp(f, (numbers(size),), (jnp.ones(size),)),
    "jit of vmap of grad": lambda f: lambda size: jax.jit(jax.vmap(jax.grad(f)))(batch(size)),
    "grad of vmap": lambda f: lambda size: jax.grad(lambda x: jax.vmap(f)(x).sum())(batch(size)),
    "jvp of grad": lambda f: lambda size: jax.jvp(jax.grad(f), (numbers(size),), (jnp.ones(size),)),
    "grad of function": lambda f: lambda size: jax.grad(ag.function(lambda x: f(x) * 2))(numbers(size)),
}


def thrice(f, x):
    total = 0.0
    for _ in ag.range(3):
        total = total + f(x)
    return total


# Outer functions have a trace for each size.
pytestmark = pytest.mark.filterwarnings("ignore::autograph.StagingWarning")


@pytest.mark.parametrize(
    "body,transform",
    [
        *((positive_squares, transform) for transform in TRANSFORMS),
        *(
            (body, how)
            for body in (smooth_rows, mapped_branches, inner_gradient)
            for how in ("function", "vmap", "grad")
        ),
    ],
)
def test_two_traces_serve_all_sizes(body, transform):
    opened = TRANSFORMS[transform](ag.function(body, reduce_retracing=True))
    expected = TRANSFORMS[transform](jax.jit(ag.convert(body)))
    TRACES["count"] = 0
    found = [opened(size) for size in SIZES]
    assert TRACES["count"] == 2
    check_close((found[0], found[-1]), (expected(1), expected(4)))


def test_a_comparison_with_a_size_of_another_trace_keeps_the_trace():
    (other,) = jax.export.symbolic_shape("_d0")

    @ag.do_not_convert
    def look_up(size):  # as a cache does, whose keys may have the same hash
        assert size != other

    def doubled(x):
        count_trace()
        look_up(x.shape[0])
        return x * 2

    f = ag.function(doubled, reduce_retracing=True)
    TRACES["count"] = 0
    for size in SIZES:
        assert (f(numbers(size)) == numbers(size) * 2).all()
    assert TRACES["count"] == 2


@dataclasses.dataclass(frozen=True)
class Axis:
    size: object


def test_dataclasses_that_hold_sizes_are_compared_by_who_asks():
    (size,) = jax.export.symbolic_shape("n")

    def ask():
        return Axis(size) == Axis(2)

    with EqualityWatch() as watch:
        ask()
    with pytest.raises(ValueError, match="whether n equals 2 depends on the size"):
        watch.check()
    ask.__code__ = ask.__code__.replace(co_filename=jax.__file__)  # a cache, whose keys share a part of their hashes
    with EqualityWatch() as watch:
        ask()
    watch.check()


def check_close(found, expected):
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=2e-4, atol=1e-5), found, expected)


def test_all_kinds_of_calls_share_the_traces():
    f = ag.function(positive_squares, reduce_retracing=True)
    outer = ag.function(lambda x: f(x))
    TRACES["count"] = 0
    for size in SIZES:
        x = numbers(size)
        assert f(x) == outer(x) == jax.vmap(f)(x[None])[0]
        assert (jax.grad(f)(x) == jax.grad(outer)(x)).all()
    assert TRACES["count"] == f.experimental_get_tracing_count() == 2


@pytest.mark.parametrize("transform", ["function", "vmap", "grad"])
def test_an_input_signature_is_one_trace(transform):
    opened = TRANSFORMS[transform](ag.function(positive_squares, [ag.TensorSpec([None])]))
    expected = TRANSFORMS[transform](jax.jit(ag.convert(positive_squares)))
    TRACES["count"] = 0
    found = [opened(size) for size in SIZES]
    assert TRACES["count"] == 1
    check_close(found[-1], expected(4))


def test_an_outer_function_with_symbolic_sizes_of_its_own():
    doubled = [jnp.concatenate([numbers(size), numbers(size)]) for size in SIZES]
    expected = [float(positive_squares(numbers(len(x) // 2)) + positive_squares(x)) for x in doubled]
    f = ag.function(positive_squares, reduce_retracing=True)
    outer = ag.function(lambda x: f(x) + f(jnp.concatenate([x, x])), reduce_retracing=True)
    np.testing.assert_allclose([outer(numbers(size)) for size in SIZES], expected, rtol=1e-5)
    assert outer.experimental_get_tracing_count() == f.experimental_get_tracing_count() == 2


class Sums(ag.Module):
    def __init__(self):
        self.total = None

    @ag.function(reduce_retracing=True)
    def add(self, x):
        count_trace()
        if self.total is None:
            self.total = ag.Variable(jnp.zeros(()))
        for value in x:
            if value > 0:
                self.total.assign_add(value)
        return self.total * len(x)


def test_variables_that_the_inner_function_makes_and_writes():
    sums = Sums()
    outer = ag.function(lambda x: sums.add(x) + 1)
    TRACES["count"] = 0
    total = 0.0
    for size in SIZES:
        x = numbers(size)
        total += sum(max(float(value), 0.0) for value in x)
        np.testing.assert_allclose(outer(x), total * size + 1, rtol=1e-6)
        np.testing.assert_allclose(sums.total.numpy(), total, rtol=1e-6)
    assert TRACES["count"] <= 3  # the first is made again once the Variable is there


def test_an_exception_reaches_the_caller_of_the_outer_function():
    @ag.function(reduce_retracing=True)
    def checked(x):
        for value in x:
            if value > 2:
                raise ValueError("too large")
        return x.sum()

    outer = ag.function(lambda x: checked(x) * 2)
    assert [float(outer(jnp.arange(float(size)))) for size in range(1, 4)] == [0, 2, 6]
    with pytest.raises(ValueError, match="too large"):
        outer(jnp.arange(4.0))
    assert float(outer(jnp.zeros(5))) == 0 and checked.experimental_get_tracing_count() == 2


def test_a_derivative_that_cannot_be_looked_into_is_traced_for_each_size():
    @ag.custom_gradient
    def square(x):
        return x**2, lambda upstream: upstream * 3 * jnp.ones_like(x)

    f = ag.function(lambda x: square(x).sum(), reduce_retracing=True)
    outer = ag.function(lambda x: f(x))
    for size in SIZES:
        assert jax.grad(outer)(jnp.ones(size)).tolist() == [3] * size
        assert float(f(jnp.full(size, 2.0))) == 4 * size


def test_a_program_for_known_sizes_has_no_others():
    (n,) = jax.export.symbolic_shape("n")
    program = jax.make_jaxpr(lambda x: (jnp.arange(n) * x.shape[0], x[1:], n * 2))(
        jax.ShapeDtypeStruct((n, 3), np.float32)
    )
    known = with_known_sizes(program, {"n": 4})
    assert [aval.shape for aval in known.out_avals] == [(4,), (3, 3), ()]
    assert not any(map(jax_compat.is_symbolic_size, jax_compat.all_equations(known.jaxpr)))
    results = jax_compat.replay(known, jnp.ones((4, 3)))
    assert results[0].tolist() == [0, 4, 8, 12] and int(results[2]) == 8
    doubled = with_known_sizes(program, {"n": n + n})
    assert doubled.out_avals[1].shape == (2 * n - 1, 3)


def test_what_may_hold_sizes_unseen_is_refused():
    @jax.custom_vjp
    def f(x):
        return x

    f.defvjp(lambda x: (x, None), lambda _, ct: (ct,))
    (n,) = jax.export.symbolic_shape("n")
    program = jax.make_jaxpr(f)(jax.ShapeDtypeStruct((n,), np.float32))
    assert not is_known_for(program, {"n": 2})
    with pytest.raises(OpaqueError, match="nobody can tell what"):
        with_known_sizes(program, {"n": 2})
