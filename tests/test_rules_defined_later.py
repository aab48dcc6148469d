"""Rules of `jax.custom_jvp` and `jax.custom_vjp` that are defined after the conversion, or again."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag

close = np.testing.assert_allclose


def absolute(x):
    if x > 0:
        return x
    return -x


def as_jvp(f, slope):
    @f.defjvp
    def rule(primals, tangents):
        (x,), (t,) = primals, tangents
        if x > 0:
            return f(x), slope * t
        return f(x), -2 * slope * t


def as_jvps(f, slope):
    def rule(t, _, x):
        if x > 0:
            return slope * t
        return -2 * slope * t

    f.defjvps(rule)


def as_vjp(f, slope):
    def forward(x):
        return f(x), x

    def backward(x, upstream):
        if x > 0:
            return (slope * upstream,)
        return (-2 * slope * upstream,)

    f.defvjp(forward, backward)


RULES = [(jax.custom_jvp, as_jvp), (jax.custom_jvp, as_jvps), (jax.custom_vjp, as_vjp)]


@pytest.mark.parametrize(("custom", "define"), RULES, ids=lambda each: each.__name__)
@pytest.mark.parametrize("transform", [lambda g: g, jax.jit, ag.function], ids=["plain", "jit", "function"])
def test_rules_are_defined_after_the_conversion_and_again(transform, custom, define):
    f = ag.convert(custom(absolute))
    assert f.__name__ == "absolute"
    with pytest.raises(AttributeError, match="No (JVP|VJP) defined for custom_(jvp|vjp) function absolute"):
        f(3.0)
    for slope in (7.0, 5.0):
        define(f, slope)
        gradient = transform(jax.grad(lambda x: f(x) + 0.0))
        close([gradient(jnp.array(x)) for x in (3.0, -3.0)], [slope, -2 * slope])
        close([transform(lambda x: f(x))(jnp.array(x)) for x in (3.0, -3.0)], [3.0, 3.0])


@pytest.mark.parametrize(("custom", "define"), RULES, ids=lambda each: each.__name__)
def test_rules_of_the_original_are_those_of_what_was_converted_before(custom, define):
    original = custom(absolute)
    f = ag.convert(original)
    for slope in (7.0, 5.0):
        define(original, slope)
        close([jax.jit(jax.grad(f))(x) for x in (3.0, -3.0)], [slope, -2 * slope])
        close([jax.grad(ag.convert(original))(x) for x in (3.0, -3.0)], [slope, -2 * slope])


@pytest.mark.parametrize("custom", [jax.custom_jvp, jax.custom_vjp])
@pytest.mark.parametrize("form", [ag.convert, ag.function, lambda f: ag.function(lambda x: f(x))])
def test_a_function_without_its_rules_is_missed_as_outside(form, custom):
    with pytest.raises(AttributeError, match="No (JVP|VJP) defined for custom_(jvp|vjp) function absolute"):
        form(custom(absolute))(3.0)
