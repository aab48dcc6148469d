"""`ag.custom_gradient`, `ag.recompute_grad`, `ag.stop_gradient`, and gradients by arguments, in combination."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag


def close(found, expected):
    jax.tree.map(lambda a, b: np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-5), found, expected)


@ag.custom_gradient
def log1pexp(x):
    e = jnp.exp(x)

    def grad(upstream):
        return upstream * (1 - 1 / (1 + e))

    return jnp.log(1 + e), grad


WAYS = {
    "grad": lambda f: jax.grad(ag.convert(f)),
    "jit of grad": lambda f: jax.jit(jax.grad(ag.convert(f))),
    "function of grad": lambda f: ag.function(lambda x: jax.grad(ag.convert(f))(x)),
    "argnums": lambda f: ag.grad(f, argnums=0),
    "argnums in a function": lambda f: ag.function(lambda x: ag.grad(f, argnums=0)(x)),
    "vmap": lambda f: lambda x: jax.vmap(jax.grad(ag.convert(f)))(x[None])[0],
    "recomputed": lambda f: jax.grad(ag.recompute_grad(f)),
    "recomputed in a function": lambda f: ag.function(lambda x: jax.grad(ag.recompute_grad(f))(x)),
}


def tape_of(f):
    def slope(x):
        with ag.GradientTape() as tape:
            y = f(x)
        return tape.gradient(y, x)

    return slope


WAYS["tape"] = tape_of
WAYS["tape in a function"] = lambda f: ag.function(tape_of(f))


@pytest.fixture(params=WAYS)
def slope(request):
    return WAYS[request.param]


def test_a_gradient_of_its_own(slope):
    close(slope(lambda x: log1pexp(x) * 2)(jnp.array(100.0)), 2.0)
    close(log1pexp(1.0), np.log1p(np.e))
    assert np.isnan(jax.grad(lambda x: jnp.exp(x) / (1 + jnp.exp(x)))(100.0))  # what it is for


def test_in_staged_branches_and_loops(slope):
    def f(x):
        y = 0.0
        for i in ag.range(4):
            if x * i > 1:
                y = y + log1pexp(x * i)
            else:
                y = y - x * i
        while y < 20:
            y = y + log1pexp(y) * x
        return y

    def plain(x):
        y = 0.0
        for i in range(4):
            y = y + jnp.logaddexp(0.0, x * i) if x * i > 1 else y - x * i
        while y < 20:
            y = y + jnp.logaddexp(0.0, y) * x
        return y

    close(slope(f)(jnp.array(0.7)), jax.grad(plain)(0.7))


def test_branches_and_loops_inside():
    @ag.custom_gradient
    def power(x, n):
        y = 1.0
        while n > 0:
            y = y * x
            n = n - 1

        def grad(upstream):
            total = 0.0
            for _ in ag.range(3):
                if upstream > 0:
                    total = total + upstream * y
                else:
                    total = total - upstream
            return total, None

        return y, grad

    for way in (lambda f: f, jax.jit, ag.function):
        close(way(jax.grad(power))(jnp.array(2.0), jnp.array(3)), 24.0)
        close(way(jax.grad(lambda x, n: -power(x, n)))(jnp.array(2.0), jnp.array(3)), 3.0)
    close(jax.vmap(jax.grad(power))(jnp.array([2.0, 3.0]), jnp.array([1, 2])), [6.0, 27.0])


def test_several_arguments_and_results():
    @ag.custom_gradient
    def both(x, pair, scale=1.0, name="unused"):
        a, b = pair

        def grad(by_sum, by_product):
            return [by_sum * 2, by_product * 3, None]

        return {"sum": (x + a) * scale, "product": x * b}, grad

    def f(x, a, b):
        made = both(x, (a, b), scale=2.0)
        return made["sum"] + 10 * made["product"]

    # the leaves of a dict are in the order of its keys: the product, then the sum
    close(jax.grad(f, (0, 1, 2))(1.0, 2.0, 3.0), (20.0, 3.0, 0.0))
    close(f(1.0, 2.0, 3.0), 36.0)


def test_variables_that_it_reads_and_writes():
    w, calls = ag.Variable([1.0, 2.0]), ag.Variable(0, trainable=False)

    @ag.custom_gradient
    def scaled(x):
        calls.assign_add(1)

        def grad(upstream, variables):
            assert len(variables) == 1 and variables[0] is w
            return upstream * 100, [upstream * x * 10]

        return w * x, grad

    def loss(x):
        return scaled(x).sum()

    def by_tape(x):
        with ag.GradientTape() as tape:
            y = loss(x)
        return tape.gradient(y, x), tape.gradient(y, w)

    x = jnp.array([3.0, 4.0])
    both = lambda x: ag.grad(loss, w, argnums=0)(x)
    for f in (both, ag.function(both)):
        close(f(x), ([100.0, 100.0], [30.0, 40.0]))
    assert int(calls.numpy()) == 2

    def persistent(x):
        with ag.GradientTape(persistent=True) as tape:
            y = loss(x)
        return tape.gradient(y, x), tape.gradient(y, w)

    for f in (persistent, ag.function(persistent)):
        close(f(x), ([100.0, 100.0], [30.0, 40.0]))
    assert int(calls.numpy()) == 4
    with pytest.raises(TypeError, match=r"reads the Variable.*`variables`"):
        ag.custom_gradient(lambda x: (w * x, lambda upstream: upstream))(x)


def test_a_variable_that_the_gradient_reads():
    limit = ag.Variable(1.0, trainable=False)

    @ag.custom_gradient
    def clipped(x):
        return x, lambda upstream: jnp.clip(upstream, -limit, limit)

    f = ag.function(jax.grad(lambda x: 5 * clipped(x)))
    close(f(2.0), 1.0)
    limit.assign(3.0)
    close(f(2.0), 3.0)
    assert f.experimental_get_tracing_count() == 1


def test_an_exception_inside():
    @ag.custom_gradient
    def root(x):
        if x < 0:
            raise ValueError(f"negative: {x}")
        return jnp.sqrt(x), lambda upstream: upstream

    f = ag.function(lambda x: ag.grad(root, argnums=0)(x))
    close(f(jnp.array(4.0)), 1.0)
    with pytest.raises(ValueError, match="negative: -1.0"):
        f(jnp.array(-1.0))
    recomputed = ag.function(lambda x: ag.grad(ag.recompute_grad(lambda x: root(x) * x), argnums=0)(x))
    close(recomputed(jnp.array(4.0)), 6.0)
    with pytest.raises(ValueError, match="negative: -1.0"):
        recomputed(jnp.array(-1.0))


def test_methods_and_their_variables():
    class Layer(ag.Module):
        def __init__(self):
            self.w = ag.Variable(3.0)
            self.seen = ag.Variable(0, trainable=False)

        @ag.recompute_grad
        def __call__(self, x):
            self.seen.assign_add(1)
            for _ in ag.range(2):
                x = jnp.sin(x * self.w) if x > 0 else x
            return x

    layer, x = Layer(), jnp.array(0.3)
    expected = jax.value_and_grad(lambda w, x: jnp.sin(jnp.sin(x * w) * w), (0, 1))(3.0, 0.3)
    both = lambda x: ag.value_and_grad(layer, layer.w, argnums=0)(x)
    for f in (both, ag.function(both)):
        value, (by_x, by_w) = f(x)
        close((value, (by_w, by_x)), expected)
    assert int(layer.seen.numpy()) == 2


def test_recomputing_keeps_only_the_arguments():
    def f(x):
        return jnp.sin(jnp.sin(jnp.sin(x))).sum()

    def kept(f):
        return len(jax.tree.leaves(jax.vjp(f, jnp.ones(5))[1]))

    assert kept(ag.recompute_grad(f)) < kept(f)
    close(jax.grad(ag.recompute_grad(f))(jnp.ones(5)), jax.grad(f)(jnp.ones(5)))
    close(jax.hessian(ag.recompute_grad(f))(jnp.ones(2)), jax.hessian(f)(jnp.ones(2)))


def test_stop_gradient(slope):
    w = ag.Variable(3.0)
    close(slope(lambda x: x * ag.stop_gradient(x) + ag.stop_gradient({"a": x * 2, "b": 1})["a"])(jnp.array(5.0)), 5.0)
    with ag.GradientTape() as tape:
        y = w * ag.stop_gradient(w)
    close(tape.gradient(y, w), 3.0)
    assert float(ag.stop_gradient({"w": w})["w"]) == 3.0
    assert ag.stop_gradient(jnp.array(2)).dtype == jnp.int32


@pytest.mark.parametrize("way", [lambda f: f, ag.function])
def test_gradients_by_arguments(way):
    w = ag.Variable(2.0)

    def f(x, pair, *, power=2):
        return w * x**power * pair["a"] + pair["b"].sum()

    x, pair = jnp.array(3.0), {"a": jnp.array(5.0), "b": jnp.ones(2)}
    by_pair = {"a": 18.0, "b": [1.0, 1.0]}
    run = lambda **options: way(lambda x, pair: ag.grad(f, **options)(x, pair))(x, pair)
    close(run(argnums=0), 60.0)
    close(run(argnums=(1, 0)), (by_pair, 60.0))
    close(run(argnums=-1), by_pair)
    close(run(argnums=[0]), (60.0,))
    close(run(variables=[w], argnums=0), (60.0, [45.0]))
    close(run(), [45.0])
    close(way(lambda x: ag.value_and_grad(lambda x: (x * w, x), argnums=0, has_aux=True)(x))(x), ((6.0, 3.0), 2.0))
    close(way(lambda x: ag.grad(lambda x: x**3, argnums=0)(x))(2.0), 12.0)
    second = ag.grad(ag.grad(lambda x: x**3 * w, argnums=0), argnums=0)
    close(way(lambda x: second(x))(x), 36.0)


def test_what_is_refused():
    f = lambda x, n=1: x * n
    w = ag.Variable(1.0)
    for make, kind, message in (
        (lambda: ag.grad(f, argnums="x"), TypeError, "argnums must be an int"),
        (lambda: ag.grad(f, argnums=1)(2.0), ValueError, "argument 1 of .* called with 1 by position"),
        (lambda: ag.grad(f, argnums=(0, -2))(2.0, 1.0), ValueError, "twice"),
        (lambda: ag.grad(f, argnums=0)(2), TypeError, "int, which has no gradient"),
        (lambda: ag.grad(f, argnums=0)(jnp.array(2)), TypeError, "int32, which has no gradient"),
        (lambda: ag.grad(f, argnums=0)(w), TypeError, "one of the `variables`"),
        (lambda: ag.custom_gradient(3), TypeError, "custom_gradient takes a function"),
        (lambda: ag.custom_gradient(lambda x: x)(1.0), TypeError, "must return a pair"),
        (lambda: ag.custom_gradient(lambda x, y: (x, lambda u: u))(1.0, 2.0), TypeError, "has 2 arguments.*returns 1"),
        (
            lambda: ag.custom_gradient(lambda x: (x, lambda u: jnp.ones(3)))(1.0),
            TypeError,
            r"shape \(\) has shape \(3,\)",
        ),
    ):
        with pytest.raises(kind, match=message):
            make()

    @ag.custom_gradient
    def writes(x):
        def grad(upstream):
            w.assign(upstream)
            return upstream

        return x, grad

    with pytest.raises(ag.StagingError, match=r"(?s)test_custom_derivatives.*writes a Variable"):
        ag.function(lambda x: writes(x))(1.0)


@jax.custom_vjp
def bounded_slope(x, low, high):
    return x


def bounded_slope_bwd(bounds, g):
    low, high = bounds
    if g < low:
        g = low
    elif g > high:
        g = high
    return g, None, None


bounded_slope.defvjp(lambda x, low, high: (x, (low, high)), bounded_slope_bwd)


@pytest.mark.parametrize("x, slope", [(2.0, 1.0), (-3.0, -1.0), (0.25, 0.5)])
def test_branches_of_a_rule_return_constants_of_the_call(x, slope):
    def f(x):
        y = bounded_slope(x, -1.0, 1.0)
        return y * y if y > 0 else -2 * y

    assert ag.function(jax.grad(ag.convert(f)))(jnp.array(x)) == slope
    assert jax.jit(jax.grad(ag.convert(f)))(x) == slope


def rule_of_a_choice(x, dx):
    """Values and tangents come of one statement."""
    if x > 1:
        return capped(x), 2 * dx * x
    return capped(x), jnp.cos(x) * dx


def rule_of_a_loop(x, dx):
    y, dy, n = capped(x), dx * (2 * x if x > 1 else jnp.cos(x)), 0
    while n < 8 and abs(y) > 0:
        y, dy, n = y * 1.0, dy * 1.0, n + 1
    return y, dy


def rule_of_choices_in_a_loop(x, dx):
    y, dy = capped(x), 0.0 * dx
    for k in ag.range(4):
        if x > 1:
            dy += dx * x / 2
        elif k < 1:
            dy = jnp.cos(x) * dx
        else:
            y = y + 0.0
    return y, dy


@jax.custom_jvp
def capped(x):
    return jnp.where(x > 1, x * x, jnp.sin(x))


@pytest.mark.parametrize("rule", [rule_of_a_choice, rule_of_a_loop, rule_of_choices_in_a_loop])
def test_the_rule_of_a_jvp_in_statements(rule):
    converted = ag.convert(rule)
    f = capped
    f.defjvp(lambda primals, tangents: converted(*primals, *tangents))
    xs = jnp.array([2.0, 0.5, -3.0])
    slopes, second = np.array([4.0, np.cos(0.5), np.cos(3.0)]), np.array([2.0, -np.sin(0.5), np.sin(3.0)])
    in_rows = lambda x: jax.lax.scan(lambda c, _: (f(c), c), x, None, length=1)[0]
    each = lambda g: jnp.stack([g(x) for x in xs])
    for made in (f, in_rows, jax.checkpoint(f)):
        slope = jax.grad(made)
        close(jax.vmap(slope)(xs), slopes)
        close(each(jax.jit(slope)), slopes)
        close(each(jax.jit(lambda x, made=made: jax.linearize(made, x)[1](3.0))), 3 * slopes)
        close(jax.jit(jax.vmap(jax.grad(slope)))(xs), second)


def test_the_transpose_of_statements():
    def f(n, y):
        while n > 0:
            y, n = (2 * y if n > 1 else y), n - 1
        return y, n

    transposed = lambda n: jax.linear_transpose(lambda y: ag.convert(f)(n, y)[0], 3.0)(1.0)
    close([jax.jit(transposed)(n) for n in (0, 1, 3)], [(1.0,), (1.0,), (4.0,)])


def test_what_is_no_affine_function_has_no_transpose():
    def f(x, y):
        while abs(y) > 1:
            y = y * y / 4
        return x + y

    with pytest.raises(NotImplementedError, match="while"):
        jax.linear_transpose(lambda y: ag.convert(f)(0.0, y), 3.0)(1.0)


@jax.custom_jvp
def ramp_of_jvp(x):
    if x > 0:
        return 2 * x
    return -x


@ramp_of_jvp.defjvp
def ramp_rule(primals, tangents):
    (x,), (t,) = primals, tangents
    slope = 10.0 if x > 0 else 20.0
    return ramp_of_jvp(x), slope * t


@jax.custom_vjp
def ramp_of_vjp(x):
    if x > 0:
        return 2 * x
    return -x


def ramp_forward(x):
    if x > 0:
        return ramp_of_vjp(x), 10.0
    return ramp_of_vjp(x), 20.0


def ramp_backward(slope, upstream):
    if upstream > 0:
        return (slope * upstream,)
    return (upstream,)


ramp_of_vjp.defvjp(ramp_forward, ramp_backward)


@pytest.mark.parametrize("ramp", [ramp_of_jvp, ramp_of_vjp], ids=["custom_jvp", "custom_vjp"])
@pytest.mark.parametrize(
    "grad",
    [
        lambda f: jax.grad(ag.convert(f)),
        lambda f: jax.jit(jax.grad(ag.convert(f))),
        lambda f: lambda x: jax.vmap(jax.grad(ag.to_graph(f)))(x[None])[0],
        lambda f: ag.function(jax.grad(f)),
    ],
    ids=["grad", "jit of grad", "vmap of grad", "function of grad"],
)
def test_the_rules_of_what_is_converted_branch(grad, ramp):
    close([grad(ramp)(jnp.array(x)) for x in (3.0, -3.0)], [10.0, 20.0])
    close([ag.convert(ramp)(x) for x in (3.0, -3.0)], [6.0, 3.0])
