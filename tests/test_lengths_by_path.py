"""Lists whose length depends on the path: displays, slices, and what they are made into."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests.length_programs import FLAT, NESTED, UNBOUNDED, longer_display

INPUTS = np.array(
    [[3.0, -1.0, 2.5, 0.5, 4.0, 1.5], [0.5, 2.5, -1.0, 3.0, 1.0, 0.0], [-2.0, 0.0, 1.0, 1.5, 6.0, 5.0]], "f"
)
WEIGHTS = np.arange(1.0, 40.0)


def plain(value):
    """With Python's numbers for arrays, so that the structure and the values are compared at once."""
    if isinstance(value, list | tuple):
        return type(value)(map(plain, value))
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    return value if isinstance(value, str) or value is None else round(float(value), 4)


def weighed(program):
    """A number that tells a list of numbers from others."""

    def known(values):
        total, k = 0.0, 0
        for v in program(values):
            total += WEIGHTS[k] * v
            k += 1
        return total + 100.0 * k

    return known


@pytest.mark.parametrize("program", [*FLAT, *UNBOUNDED, *NESTED], ids=lambda f: f.__name__)
def test_a_function_returns_the_very_list(program):
    staged = ag.function(program)
    for values in INPUTS:
        assert plain(staged(jnp.asarray(values))) == plain(program(values.tolist()))


@pytest.mark.parametrize("program", FLAT, ids=lambda f: f.__name__)
def test_under_jit_vmap_and_grad(program):
    known = weighed(program)
    converted = ag.convert(known)
    wanted = [float(known(values.tolist())) for values in INPUTS]
    compiled = jax.jit(converted)
    np.testing.assert_allclose([float(compiled(values)) for values in INPUTS], wanted, rtol=1e-5)
    np.testing.assert_allclose(jax.jit(jax.vmap(converted))(INPUTS), wanted, rtol=1e-5)
    slopes = jax.jit(jax.grad(converted))
    for values in INPUTS[:2] + [0.1, -0.1, 0.13, 0.12, -0.14, 0.15]:
        quotients = [
            (known((values.astype("d") + step).tolist()) - known((values.astype("d") - step).tolist())) / 2e-3
            for step in np.eye(len(values)) * 1e-3
        ]
        np.testing.assert_allclose(slopes(values), quotients, atol=1e-3)


def test_a_list_that_the_function_has_not_made_keeps_its_length():
    def written(values, xs):
        if values[0] > 1:
            xs.append(values[0])
        return xs

    def held(values, xs):
        pair = (xs, 1.0)
        if values[0] > 1:
            pair[0].append(values[0])
        return pair

    for program in (written, held):
        with pytest.raises(ag.StagingError, match="The length of a list argument depends on a traced value"):
            jax.jit(ag.convert(program))(INPUTS[0], [1.0])


def test_elements_that_have_no_kind_in_common_are_refused():
    def mixed(values):
        return [values[0]] if values[0] > 1 else [values, values]

    with pytest.raises(ag.StagingError, match="different shapes"):
        ag.function(mixed)(INPUTS[0])


def test_code_shows_where_lists_may_differ():
    assert "ag__.new_list([ag__.get_item(values, 0)])" in ag.to_code(longer_display)
