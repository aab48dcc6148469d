"""Helpers that are under a transform already, `jax.jit` say, when converted code calls them: converted, and still under it."""

from __future__ import annotations

import functools
import warnings

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

import autograph as ag


def settled(x, k=2):
    """Plain Python, which each test compares with."""
    while x.sum() > 10 * k:
        x = x / 2
    if x.sum() > 3:
        return x + 1
    return x


def loss(x):
    return (settled(x) ** 2).sum()


def converted(transform):
    """A transform in place of which the converted function is known to be right."""
    return transform(ag.convert(settled))


jitted = jax.jit(settled)
HELPERS = {
    "jit": jitted,
    "jit, static by number": jax.jit(settled, static_argnums=1),
    "jit, donated": jax.jit(settled, donate_argnums=0),
    "jit, inline": jax.jit(settled, inline=True),
    "jit of a partial": jax.jit(functools.partial(settled, k=2)),
    "jit of jit": jax.jit(jitted),
    "checkpoint": jax.checkpoint(settled),
    "checkpoint with a policy": jax.checkpoint(settled, policy=jax.checkpoint_policies.dots_saveable),
    "named_call": jax.named_call(settled),
    "filter_jit": eqx.filter_jit(settled),
    "filter_jit, donated": eqx.filter_jit(settled, donate="all"),
    "nnx.jit": nnx.jit(settled),
    "nnx.remat": nnx.remat(settled),
}
XS = [jnp.array([1.0, 2.0, 30.0]), jnp.array([0.5, 0.5, 0.5]), jnp.array([2.0, 1.0, 1.0])]


@pytest.mark.parametrize("name", HELPERS)
def test_python_control_flow_in_it_is_staged(name):
    helper = HELPERS[name]

    @ag.function
    def run(x):
        if x.sum() > 2:
            return helper(x * 1) + helper(x + 1)
        return helper(x * 1)

    for x in XS:
        wanted = settled(x) + settled(x + 1) if x.sum() > 2 else settled(x)
        assert np.array_equal(run(x), wanted)
        assert np.array_equal(ag.convert(run.python_function)(x), wanted)


def test_static_arguments_stay_static():
    power = jax.jit(lambda x, n: x**n if n > 2 or x.sum() > 4 else -x, static_argnums=1)
    named = jax.jit(settled, static_argnames="k")
    for x in XS:
        assert np.array_equal(ag.function(lambda x: power(x, 2))(x), x**2 if x.sum() > 4 else -x)
        assert np.array_equal(ag.function(lambda x: power(x, 3))(x), x**3)
        assert np.array_equal(ag.function(lambda x: named(x, k=1))(x), settled(x, 1))


TRANSFORMS = {
    "vmap": jax.vmap,
    "vmap, axis 1": functools.partial(jax.vmap, in_axes=1, out_axes=1),
    "filter_vmap": eqx.filter_vmap,
}
DERIVATIVES = {
    "grad": jax.grad,
    "value_and_grad": jax.value_and_grad,
    "jacfwd": jax.jacfwd,
    "jacrev": jax.jacrev,
    "hessian": jax.hessian,
    "filter_grad": eqx.filter_grad,
    "filter_value_and_grad": eqx.filter_value_and_grad,
    "nnx.grad": nnx.grad,
    "jit of vmap of value_and_grad of checkpoint": lambda f: (
        lambda x: jax.jit(jax.vmap(jax.value_and_grad(jax.checkpoint(f))))(x[None])
    ),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_mapped(name):
    helper, rows = TRANSFORMS[name](settled), jnp.stack(XS)
    assert np.array_equal(ag.function(lambda x: helper(x))(rows), converted(TRANSFORMS[name])(rows))


@pytest.mark.parametrize("name", DERIVATIVES)
def test_differentiated(name):
    transform = DERIVATIVES[name]
    helper = transform(loss)
    for x in XS:
        found, wanted = ag.function(lambda x: helper(x))(x), transform(ag.convert(loss))(x)
        assert jax.tree.all(jax.tree.map(np.allclose, found, wanted))


def test_nested_transforms_are_all_kept():
    helper = jax.jit(jax.vmap(jax.value_and_grad(jax.checkpoint(loss))))
    found = ag.function(lambda x: helper(x))(jnp.stack(XS))
    wanted = jax.vmap(jax.value_and_grad(ag.convert(loss)))(jnp.stack(XS))
    assert jax.tree.all(jax.tree.map(np.allclose, found, wanted))
    text = str(jax.make_jaxpr(ag.convert(lambda x: helper(x)))(jnp.stack(XS)))
    assert "name=loss" in text and "checkpoint" in text or "remat" in text


def test_its_own_compilation_is_kept_and_it_is_traced_once():
    traces = []

    def noted(x):
        traces.append("once")
        return settled(x)

    helper = jax.jit(noted)

    run = ag.function(lambda x: helper(x) + helper(x * 2) + helper(x + 1))
    with warnings.catch_warnings(action="ignore"):  # that the append happens once
        run(XS[0])
    assert traces == ["once"]
    helper = jax.jit(settled)
    text = str(jax.make_jaxpr(ag.convert(lambda x: helper(x) + helper(x + 1)))(XS[0]))
    assert text.count("name=settled") == 2
    for options in ({"inline": True}, {"keep_unused": True}):
        helper, known = jax.jit(settled, **options), jax.jit(ag.convert(settled), **options)
        kept = ["name=settled" in str(jax.make_jaxpr(f)(XS[0])) for f in (ag.convert(lambda x: helper(x)), known)]
        assert kept[0] == kept[1]


@jax.custom_vjp
def doubled(x):
    if x.sum() > 3:
        return x * 2
    return x


def doubled_fwd(x):
    return doubled(x), x


def doubled_bwd(x, g):
    if x.sum() > 3:
        return (g * 100,)
    return (g,)


doubled.defvjp(doubled_fwd, doubled_bwd)


@jax.custom_jvp
def tripled(x):
    if x.sum() > 3:
        return x * 3
    return x


@tripled.defjvp
def tripled_jvp(primals, tangents):
    (x,), (t,) = primals, tangents
    return tripled(x), t * 7 if x.sum() > 3 else t


@functools.partial(jax.custom_jvp, nondiff_argnums=(1,))
def scaled(x, k):
    return x * k if x.sum() > 3 else x


scaled.defjvp(lambda k, primals, tangents: (scaled(*primals, k), tangents[0] * 11 * k))


@jax.custom_jvp
def by_arguments(x):
    return x * 5 if x.sum() > 3 else x


by_arguments.defjvps(lambda t, y, x: t * 13 if x.sum() > 3 else t)


@pytest.mark.parametrize(
    ("helper", "factor", "slope", "low"),
    [
        (doubled, 2, 100, 1),
        (tripled, 3, 7, 1),
        (lambda x: scaled(x, 4), 4, 44, 44),
        (by_arguments, 5, 13, 1),
        (jax.jit(doubled), 2, 100, 1),
    ],
)
def test_derivatives_of_its_own(helper, factor, slope, low):
    run = ag.function(lambda x: helper(x))
    assert np.array_equal(run(XS[0]), XS[0] * factor) and np.array_equal(run(XS[1]), XS[1])
    gradient = ag.function(lambda x: jax.grad(lambda y: helper(y).sum())(x))
    assert gradient(XS[0]).tolist() == jax.grad(lambda x: run(x).sum())(XS[0]).tolist() == [slope] * 3
    assert gradient(XS[1]).tolist() == [low] * 3


class Model:
    @functools.partial(jax.jit, static_argnums=0)
    def __call__(self, x):
        return settled(x)

    @functools.partial(jax.jit, static_argnums=0)
    def step(self, x):
        return self(x) if x.sum() > 3 else x

    @eqx.filter_jit
    def filtered(self, x):
        return settled(x)


class Layer(eqx.Module):
    weight: jax.Array

    @eqx.filter_jit
    def __call__(self, x):
        return settled(x) * self.weight

    @jax.jit
    def jitted(self, x):
        return settled(x) * self.weight

    def plain(self, x):
        return settled(x) * self.weight


model, layer = Model(), Layer(jnp.float32(2))


@pytest.mark.parametrize(
    ("helper", "factor"),
    [
        (model, 1),
        (lambda x: model.step(x) if x.sum() > 3 else settled(x), 1),
        (lambda x: model.filtered(x), 1),
        (lambda x: layer(x), 2),
        (lambda x: layer.jitted(x), 2),
        (lambda x: layer.plain(x), 2),
        (eqx.filter_jit(layer.plain), 2),
        (lambda x: jax.vmap(layer)(x[None])[0], 2),
        (lambda x, mapped=jax.vmap(layer.plain): mapped(x[None])[0], 2),
    ],
)
def test_methods_and_objects(helper, factor):
    run = ag.function(lambda x: helper(x))
    for x in XS:
        assert np.array_equal(run(x), settled(x) * factor)


def test_variables_are_read_at_their_present_values():
    rate = ag.Variable(1.0)

    @jax.jit
    def helper(x):
        if x > 2:
            return x * rate
        return x

    @ag.function
    def run(x):
        total = 0.0
        for i in ag.range(3):
            if x > i:
                total = total + helper(x)
        rate.assign_add(1.0)
        return total

    assert [float(run(jnp.float32(3))) for _ in range(2)] == [9, 18]


def test_exceptions_reach_the_caller():
    @jax.jit
    def helper(x):
        if x < 0:
            raise ValueError(f"negative")  # noqa: F541
        return x * 2

    run, mapped = ag.function(lambda x: helper(x) + helper(x - 1)), ag.function(lambda xs: jax.vmap(helper)(xs))
    assert float(run(jnp.float32(3))) == 10 and mapped(jnp.arange(3.0)).tolist() == [0, 2, 4]
    with pytest.raises(ValueError, match="negative"):
        run(jnp.float32(0.5))
    with pytest.raises(ValueError, match="negative"):
        mapped(jnp.array([1.0, -1.0]))

    @ag.function
    def caught(x):
        y = helper(x + 5)
        try:
            y = helper(x)  # traced already, where no handler was
        except ValueError:
            y = x - 100
        return y

    assert [float(caught(jnp.float32(x))) for x in (1, -1)] == [2, -101]
    with pytest.raises(ValueError, match="negative"):
        caught(jnp.float32(-6))


def test_lists_of_traced_length_have_the_room_of_each_caller():
    @jax.jit
    def helper(x):
        out = []
        while x > 1:
            out.append(x)
            x = x / 2
        return jnp.stack(out).sum()

    once, twice = ag.function(lambda x: helper(x)), ag.function(lambda x: helper(x) + helper(x))
    for x in (4.0, 2.0**100):
        wanted = sum(x / 2**k for k in range(200) if x / 2**k > 1)
        assert float(once(jnp.float32(x))) == wanted and float(twice(jnp.float32(x))) == 2 * wanted


class Counter:
    def __init__(self):
        self.total = 0.0


@pytest.mark.parametrize("transform", [jax.jit, jax.checkpoint, eqx.filter_jit])
def test_writes_to_what_is_outside_are_refused(transform):
    counter, found = Counter(), []

    def add(x):
        counter.total = counter.total + x
        return x

    def note(x):
        found.append(x)
        return x

    for helper, name in ((transform(add), "Counter.total"), (transform(note), "'found'")):

        @ag.function
        def once(x, helper=helper):
            helper(x)
            return counter.total

        @ag.function
        def in_a_loop(x, helper=helper):
            for _ in ag.range(3):
                helper(x)
            return counter.total

        for run in (once, in_a_loop):
            with pytest.raises(ag.StagingError, match=f"{name}.*is written in .*under a transform"):
                run(jnp.float32(1))
    assert counter.total == 0 and found == []


def test_writes_to_what_it_makes_itself_are_its_own():
    @jax.jit
    def helper(x):
        values, made = [], Counter()
        made.total = x
        for i in range(3):
            if x > i:
                values.append(x)
                made.total = made.total + 1
        return made.total + len(values)

    def run(x):
        for _ in ag.range(2):
            x = helper(x)
        return x

    def plainly(x):
        for _ in range(2):
            x = x + 2 * sum(x > i for i in range(3))
        return x

    assert float(ag.function(run)(jnp.float32(1.5))) == plainly(1.5)


def test_a_decorator_under_the_transform_is_kept():
    def shifted(f):
        @functools.wraps(f)
        def call(x):
            if x.sum() > 3:
                return f(x) + 100
            return f(x)

        return call

    for transform in (jax.jit, jax.checkpoint, jax.named_call, eqx.filter_jit, nnx.jit):
        helper = transform(shifted(settled))
        assert np.array_equal(ag.function(lambda x, helper=helper: helper(x))(XS[0]), settled(XS[0]) + 100)


def test_what_is_marked_stays_as_it_is():
    @jax.jit
    @ag.do_not_convert
    def marked(x):
        return x if x.sum() > 3 else -x

    with pytest.raises(ag.StagingError, match="was not converted"):
        ag.function(lambda x: marked(x))(XS[0])
    with pytest.raises(ag.StagingError, match="was not converted"):
        jax.jit(ag.convert(lambda x: jitted(x), recursive=False))(XS[0])


def test_what_wraps_no_function_of_the_users_stays_itself():
    made = ag.operators.transformed
    for helper in (jax.jit(jnp.sin), jax.vmap(jnp.cos), jax.nn.relu, jax.jit(ag.convert(settled)), jnp.linalg.norm):
        assert made.of(helper) is helper
    again = made.of(jitted)
    assert again is not jitted and made.of(jitted) is again


def test_an_object_of_a_library_is_converted_itself():
    helper = eqx.filter_vmap(lambda x: settled(x))
    for x in (jnp.array([[1.0, 2.0, 30.0]]), jnp.array([[0.5, 0.5, 0.5]])):
        np.testing.assert_allclose(jax.jit(ag.convert(helper))(x)[0], settled(x[0]))
