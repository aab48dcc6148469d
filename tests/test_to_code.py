"""`to_code`: the text of a converted function runs, and does what `convert` with the same options does."""

from __future__ import annotations

import ast

import jax
import jax.numpy as jnp
import pytest

import autograph as ag

kept: list = []


def keep(xs):
    for x in xs:
        if x > 0:
            kept.append(x)
    return xs.sum()


def double_if_positive(x):
    if x > 0:
        return helper(x)
    return x


def helper(x):
    if x > 1:
        return 2 * x
    return x


def of_text(f, **options):
    """The function that the text of a converted function defines."""
    scope = {name: value for name, value in globals().items() if not name.startswith("__")}
    exec(compile(ag.to_code(f, **options), "text.py", "exec"), scope)
    return scope[f.__name__]


def test_the_text_defines_the_converted_function():
    f = of_text(double_if_positive)
    assert [float(jax.jit(f)(x)) for x in (-1.0, 0.5, 3.0)] == [-1.0, 0.5, 6.0]


@pytest.mark.parametrize("feature", [ag.Feature.LISTS, ag.Feature.ALL])
def test_writes_to_outside_lists_are_those_of_the_features(feature):
    f = ag.function(of_text(keep, optional_features=feature), autograph=False)
    kept.clear()
    for xs in ([1.0, -2.0, 3.0], [4.0, 5.0, -6.0]):
        f(jnp.array(xs))
    assert [float(x) for x in kept] == [1.0, 3.0, 4.0, 5.0]


def test_without_recursion_called_functions_are_not_converted():
    f = of_text(double_if_positive, recursive=False)
    with pytest.raises(jax.errors.TracerBoolConversionError):
        jax.jit(f)(3.0)


@pytest.mark.parametrize(
    "options, first",
    [
        ({}, "from autograph import operators as ag__"),
        ({"optional_features": ag.Feature.NAME_SCOPES}, "from autograph import operators as ag__"),
        ({"recursive": False}, "from autograph import operators\nag__ = operators.with_options(recursive=False)"),
        (
            {"optional_features": [ag.Feature.LISTS]},
            "from autograph import Feature, operators\n"
            "ag__ = operators.with_options(optional_features=[Feature.LISTS])",
        ),
        (
            {"recursive": False, "optional_features": ag.Feature.ALL},
            "from autograph import Feature, operators\n"
            "ag__ = operators.with_options(recursive=False, optional_features=[Feature.LISTS])",
        ),
    ],
)
def test_the_text_begins_with_its_operators(options, first):
    text = ag.to_code(keep, **options)
    ast.parse(text)
    assert text.startswith(first + "\n\ndef keep(xs):")


def test_operators_with_options_are_those_that_convert_uses():
    assert ag.operators.with_options() is ag.operators
    lists = ag.operators.with_options(optional_features=[ag.Feature.LISTS])
    assert lists is not ag.operators and lists.with_options() is ag.operators
