"""What is decided for each platform when a program is lowered: the results are the same, and each gets its own form."""

from __future__ import annotations

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from autograph.backends.xla.optimize import platforms

Spec = jax.ShapeDtypeStruct
PLATFORMS = ("cpu", "cuda", "rocm", "tpu")


def sorted_once(values):
    """Writes under a condition, and reads what it wrote."""
    for j in ag.range(len(values) - 1):
        if values[j] > values[j + 1]:
            values[j], values[j + 1] = values[j + 1], values[j]
    return values


def halved(x):
    """A branch over more elements than a CPU has both of, and fewer than a vector register."""
    if x.sum() > 4:
        y = jnp.sqrt(abs(x) + 1) / 2
    else:
        y = x - 1
    return y


def large(x):
    if x.sum() > 4:
        y = jnp.sqrt(abs(x) + 1) / 2
    else:
        y = x - 1
    return y


def loop_in_a_branch(x):
    if x.sum() > 4:
        while x.sum() > 1:
            x = x / 2
    return x


FORMS = {  # by program, the platforms on which there is a conditional
    "sorted_once": (sorted_once, (6,), {"cpu", "cuda", "rocm"}),
    "halved": (halved, (100,), {"cpu"}),
    "large": (large, (5000,), set(PLATFORMS)),
    "loop_in_a_branch": (loop_in_a_branch, (3,), set(PLATFORMS)),
}


def conditionals(text):
    return text.count("stablehlo.case") + text.count('"stablehlo.if"') + text.count("stablehlo.if ")


@pytest.mark.parametrize("name", FORMS)
def test_each_platform_has_its_form(name):
    program, shape, where = FORMS[name]
    function = ag.function(program)
    for platform in PLATFORMS:
        text = function.lower(Spec(shape, jnp.float32), platforms=[platform]).as_text()
        assert bool(conditionals(text)) == (platform in where), platform


def test_a_program_for_several_platforms_has_the_form_of_each():
    function = ag.function(halved)
    x = Spec((100,), jnp.float32)
    one, both = (function.lower(x, platforms=p).as_text() for p in (["tpu"], ["cpu", "tpu"]))
    assert "_platform_index" in both and "stablehlo.select" in one and not conditionals(one)
    assert (one.count("stablehlo.sqrt"), both.count("stablehlo.sqrt")) == (1, 2)
    assert both.count("stablehlo.select") == 1 and conditionals(both) > conditionals(one)
    alike = ag.function(large).lower(Spec((5000,), jnp.float32), platforms=["cpu", "tpu"]).as_text()
    assert conditionals(alike) == 1  # one form, where platforms want the same


INPUTS = [[5, 2, 9, 1, 7, 3], [0.1, 0.2, 0.3, 0.0, 0.1, 0.2], [-9, -8, 0, 7, 8, 9]]


def sorted_rows(values):
    for j in range(len(values) - 1):
        if values[j] > values[j + 1]:
            values[j], values[j + 1] = values[j + 1], values[j]
    return values


@pytest.mark.parametrize("values", INPUTS, ids=range(len(INPUTS)))
@pytest.mark.parametrize("name", FORMS)
def test_an_exported_program_of_several_platforms_runs(name, values):
    program, *_ = FORMS[name]
    x = jnp.array(values)
    exported = jax.export.export(jax.jit(ag.convert(program)), platforms=["cpu", "tpu"])(x)
    np.testing.assert_array_equal(exported.call(x), ag.function(program)(x))


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("values", INPUTS, ids=range(len(INPUTS)))
@pytest.mark.parametrize("name", FORMS)
def test_no_choice_changes_a_result(monkeypatch, name, values, platform):
    program, *_ = FORMS[name]
    monkeypatch.setattr(platforms, "PLATFORMS", {"cpu": platforms.PLATFORMS[platform]})
    converted, x = ag.convert(program), jnp.array(values, jnp.float32)
    wanted = sorted_rows(np.array(values, np.float32)) if program is sorted_once else program(x)
    np.testing.assert_allclose(jax.jit(converted)(x), wanted, rtol=1e-6)
    rows = jnp.stack([x, -x, x * 0.01])
    mapped = jax.jit(jax.vmap(converted))(rows)
    for row, found in zip(rows, mapped):
        np.testing.assert_allclose(found, jax.jit(converted)(row), rtol=1e-6)
    gradient = jax.jit(jax.grad(lambda x: (converted(x) * jnp.arange(6.0)).sum()))(x)
    assert np.isfinite(gradient).all()
    if program is not sorted_once:
        np.testing.assert_allclose(gradient, jax.grad(lambda x: (program(x) * jnp.arange(6.0)).sum())(x), rtol=1e-5)


def test_a_platform_that_is_not_known_is_taken_for_a_cpu():
    assert platforms.conditionals_on("abacus") is platforms.PLATFORMS["cpu"]
    assert set(platforms.PLATFORMS) == set(PLATFORMS) and all(each.reason for each in platforms.PLATFORMS.values())
