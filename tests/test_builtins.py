"""Python's builtins on traced values and on iterables that give them, compared with plain Python."""

import operator
from collections import OrderedDict

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests import staged


def over_generators(x):
    ys = [v * 2 if v > 1 else v for v in [x, x + 1]]
    return any(v > 3 for v in ys), all(v > 3 for v in ys), max(v for v in ys), min(*ys), sum(v for v in ys)


def with_plain_values(x):
    return any([x > 5, True]), all([x > 5, False]), any([]), all(()), any([x > 0, 0]), all([x > 0, 1])


def numbers(x):
    return int(x), float(x), bool(x), abs(x), round(x), max(x, 2.0), min(x, 2.0), divmod(x, 2.0)


@pytest.mark.parametrize("function", [over_generators, with_plain_values, numbers])
@pytest.mark.parametrize("x", [1.0, 3.5, -2.5])
def test_like_plain_python(function, x):
    expected = function(x)
    for run in (ag.convert(function), staged.jitted(function), lambda x: staged.function(function)(jnp.float32(x))):
        jax.tree.map(np.testing.assert_allclose, run(x), expected)


def test_membership():
    def f(x, xs):
        return x in xs, x not in [1, 2], x in (1, x + 1), x in range(0, 10, 2)

    xs = jnp.array([4, 5])
    for x in (1, 4, 5):
        expected = (x in (4, 5), x not in [1, 2], x in (1, x + 1), x in range(0, 10, 2))
        assert tuple(map(bool, staged.jitted(f)(x, xs))) == expected


@pytest.mark.parametrize(
    "f", [lambda x: float(x) * x, lambda x: abs(complex(x, x * x)) * complex(x).real], ids=["float", "complex"]
)
def test_derivatives_pass_conversions(f):
    """Of a value that `jax.grad` alone traces, and knows, as well as of one that `jax.jit` traces."""
    x, h = 3.5, 1e-4
    slope = (f(x + h) - f(x - h)) / (2 * h)
    for way in (lambda g: g, jax.jit, ag.function):
        np.testing.assert_allclose(way(jax.grad(ag.convert(f)))(jnp.float32(x)), slope, rtol=1e-5)
        np.testing.assert_allclose(way(jax.vmap(jax.grad(ag.convert(f))))(jnp.float32([x])), [slope], rtol=1e-5)


def test_enumerate_counts_from_an_integer():
    def f(x, start):
        total = 0.0
        for i, v in enumerate(x, start):
            total += i * v
        return total

    assert ag.function(f)(jnp.arange(3.0), jnp.array(2)) == 11
    for start in (1.5, jnp.array(1.5)):
        with pytest.raises(TypeError, match="'float' object cannot be interpreted as an integer"):
            staged.function(f)(jnp.arange(3.0), start)


def dicts_of_keywords(x):
    return (
        dict(self=x, args=2),
        dict([("a", x)], self=3),
        dict({"a": 4}, b=x),
        dict(zip("ab", (x, 2), strict=True), c=3),
    )


def ordered_dicts_of_keywords(x):
    return OrderedDict(self=x), OrderedDict([("a", x)], self=3)


@pytest.mark.parametrize("function", [dicts_of_keywords, ordered_dicts_of_keywords])
def test_dicts_of_keywords(function):
    assert ag.convert(function)(1) == function(1)
    assert ag.function(function)(jnp.array(1)) == function(1)


def test_a_class_that_type_makes_is_of_the_module_that_calls_it():
    def made(x):
        point = type("Point", (), {"x": x})
        return point.__module__, point.__qualname__, point.x

    assert ag.convert(made)(1) == ag.function(made)(1) == made(1)


@pytest.mark.parametrize("value", [2.5, -3.14159, 1234.5678, 25, -25, 12345, 150])
def test_numbers_are_rounded_to_a_traced_number_of_digits(value):
    f = ag.function(lambda x, digits: round(x, digits))
    for digits in range(-3, 3):
        found = f(jnp.asarray(value), jnp.int32(digits))
        assert found.dtype == jnp.asarray(value).dtype
        np.testing.assert_allclose(found, round(value, digits), rtol=1e-5)
        assert float(ag.function(lambda digits: round(value, digits))(jnp.int32(digits))) == pytest.approx(
            round(value, digits), rel=1e-5
        )


def test_truth_functions_of_operator_take_traced_values():
    f = ag.function(lambda x: (operator.truth(x), operator.not_(x), list(map(operator.not_, [x, x - x]))))
    found = jax.tree.map(bool, f(jnp.float32(2.0)))
    assert found == (True, False, [False, True])
