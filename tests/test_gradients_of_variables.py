"""Derivatives through loops that read and write Variables, of every kind that there is for them."""

import gc
import re
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag

X, W = 0.9, 1.2
XS = np.array([0.9, 0.55, 1.7])
STEP = 1e-5


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


def real(x):
    return jnp.asarray(x, jnp.float64)


def plain(x, w):
    """What the programs below compute."""
    while abs(x) > 0.05:
        x = x * np.cos(w * x) * 0.6
    return x * w


def differences(f, *point):
    """Central differences in each argument."""
    columns = []
    for k in range(len(point)):
        up, down = list(point), list(point)
        up[k], down[k] = point[k] + STEP, point[k] - STEP
        columns.append((np.array(f(*up)) - np.array(f(*down))) / (2 * STEP))
    return np.stack(columns, -1)


GRADIENT = differences(plain, X, W)


def plain_gradient(x, w):
    return np.array(jax.grad(lambda x, w: unrolled(x, w), (0, 1))(real(x), real(w)))


def unrolled(x, w):
    while abs(x) > 0.05:
        x = x * jnp.cos(w * x) * 0.6
    return x * w


HESSIAN_TOLERANCE = 1e-6


def close(found, wanted, tolerance=1e-7):
    np.testing.assert_allclose(np.array(found), wanted, rtol=tolerance, atol=tolerance)


@pytest.fixture
def writes():
    """A function that keeps its state in a Variable, and counts in another."""
    state, count = ag.Variable(real(0.0), name="state"), ag.Variable(0)

    def f(x, w):
        state.assign(x)
        while abs(state) > 0.05:
            state.assign(state * jnp.cos(w * state) * 0.6)
            count.assign_add(1)
        return state * w

    f.state, f.count = state, count
    return f


@pytest.fixture
def reads():
    """A function of its argument and of a Variable that a loop reads."""
    weight = ag.Variable(real(W), name="weight")

    def f(x):
        while abs(x) > 0.05:
            x = x * jnp.cos(weight * x) * 0.6
        return x * weight

    f.weight = weight
    return f


@pytest.fixture
def loss(writes):
    """A function of two Variables, that writes two more."""
    x, w = ag.Variable(real(X)), ag.Variable(real(W))

    def f():
        return writes(x.value, w.value)

    f.variables = [x, w]
    return f


def everywhere(f):
    """A transformed function, run as it is and inside a Function."""
    return [f, ag.function(f)]


def test_the_oracle():
    close(plain_gradient(X, W), GRADIENT)


def test_by_variables(loss):
    for value_and_grad in everywhere(ag.value_and_grad(loss, loss.variables)):
        value, gradient = value_and_grad()
        close(value, plain(X, W))
        close(gradient, GRADIENT)


def test_what_was_written_stays(loss, writes):
    steps = 0
    x = X
    while abs(x) > 0.05:
        x, steps = x * np.cos(W * x) * 0.6, steps + 1
    for k, gradient in enumerate(everywhere(ag.grad(loss, loss.variables))):
        gradient()
        close(writes.state, x)
        assert int(writes.count) == steps * (k + 1)


def test_gradient_of_gradient_by_variables(loss):
    wanted = differences(plain_gradient, X, W)
    for k in range(2):
        row = ag.grad(lambda k=k: ag.grad(loss, loss.variables)()[k], loss.variables)
        for gradient in everywhere(row):
            close(gradient(), wanted[k], HESSIAN_TOLERANCE)


def test_by_variables_that_are_only_read(reads):
    value, (slope,) = ag.function(ag.value_and_grad(reads))(real(X))
    close([value, slope], [plain(X, W), GRADIENT[1]])


def test_gradient_tape(writes):
    @ag.function
    def f(x, w):
        with ag.GradientTape() as tape:
            tape.watch([x, w])
            value = writes(x, w)
        return tape.gradient(value, [x, w])

    close(f(real(X), real(W)), GRADIENT)


ONCE = {
    "grad": lambda f: jax.grad(f, (0, 1)),
    "vjp": lambda f: lambda x, w: jax.vjp(f, x, w)[1](real(1.0)),
    "jvp": lambda f: lambda x, w: jax.jvp(f, (x, w), (x, w))[1],
    "linearize": lambda f: lambda x, w: jax.linearize(f, x, w)[1](x, w),
}


@pytest.mark.parametrize("name", ONCE)
def test_of_a_function_that_writes(writes, name):
    wanted = GRADIENT if name in ("grad", "vjp") else GRADIENT @ [X, W]
    for transformed in everywhere(ONCE[name](ag.function(writes))):
        close(transformed(real(X), real(W)), wanted)


OF_READS = {
    "grad": (lambda f: jax.grad(f), lambda: GRADIENT[0]),
    "jvp": (lambda f: lambda x: jax.jvp(f, (x,), (x,))[1], lambda: GRADIENT[0] * X),
    "hessian": (jax.hessian, lambda: differences(plain_gradient, X, W)[0, 0]),
    "grad of grad": (lambda f: jax.grad(jax.grad(f)), lambda: differences(plain_gradient, X, W)[0, 0]),
    "jacfwd": (jax.jacfwd, lambda: GRADIENT[0]),
    "jacrev": (jax.jacrev, lambda: GRADIENT[0]),
}


@pytest.mark.parametrize("name", OF_READS)
def test_of_a_function_that_reads(reads, name):
    transform, wanted = OF_READS[name]
    for transformed in everywhere(transform(ag.function(reads))):
        close(transformed(real(X)), wanted(), HESSIAN_TOLERANCE)


def test_batches_of_a_function_that_reads(reads):
    wanted = [plain_gradient(x, W)[0] for x in XS]
    f = ag.function(reads)
    for transformed in everywhere(jax.vmap(jax.grad(f))):
        close(transformed(real(XS)), wanted)
    for transformed in everywhere(jax.grad(lambda xs: jax.vmap(f)(xs).sum())):
        close(transformed(real(XS)), wanted)
    by_weight = ag.grad(lambda: jax.vmap(f)(real(XS)).sum(), reads.weight)
    for transformed in everywhere(by_weight):
        close(transformed(), sum(plain_gradient(x, W)[1] for x in XS))


def test_checkpoint_of_a_function_that_reads(reads):
    f = ag.function(lambda x: jax.grad(jax.checkpoint(reads))(x))
    close(f(real(X)), GRADIENT[0])


REFUSED = {
    "a batch": (lambda f: jax.vmap(jax.grad(f), (0, None)), "written inside jax.vmap"),
    "a hessian": (lambda f: lambda xs, w: jax.hessian(f)(xs[0], w), "written inside jax.vmap"),
    "a gradient of a gradient": (
        lambda f: lambda xs, w: jax.grad(jax.grad(f))(xs[0], w),
        "being differentiated more than once",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_written_variable_cannot_be_in(writes, name):
    transform, message = REFUSED[name]
    before = float(writes.state)
    for transformed in everywhere(transform(ag.function(writes))):
        with pytest.raises(ag.StagingError, match=re.escape(message)):
            transformed(real(XS), real(W))
    assert float(writes.state) == before


@pytest.mark.parametrize("differentiate", [ag.value_and_grad, ag.grad])
@pytest.mark.parametrize("is_inside", [False, True])
def test_differentiating_keeps_no_variable_alive(differentiate, is_inside):
    def run():
        weight = ag.Variable(jnp.ones(3))
        step = differentiate(lambda: (weight * 2.0).sum())
        for _ in range(2):
            (ag.function(step) if is_inside else step)()
        return weakref.ref(weight)

    gc.collect()
    gc.disable()
    try:
        assert run()() is None
    finally:
        gc.enable()


def test_nothing_to_differentiate_is_an_error():
    count, fixed = ag.Variable(1), ag.Variable(1.0, trainable=False)
    for f in (lambda x: 3.0, lambda x: x * 2.0, lambda x: count * x, lambda x: fixed * x):
        for run in (ag.grad(f), ag.value_and_grad(f), ag.function(lambda x, f=f: ag.grad(f)(x))):
            with pytest.raises(ValueError, match=r"<lambda> reads no trainable Variable .* argnums=0"):
                run(jnp.float32(2.0))


def test_results_that_have_no_gradient_are_named():
    for f, what in (
        (lambda x: x * jnp.ones(3), r"float\d+\[3\]"),
        (lambda x: None, "NoneType"),
        (lambda x: "a", "str"),
        (lambda x: 3, r"int\d+\[\]"),
    ):
        with pytest.raises(TypeError, match=rf"must return a scalar of a floating-point dtype; got {what}"):
            ag.grad(f, argnums=0)(jnp.float32(2.0))
