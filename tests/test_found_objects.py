"""Objects that a search finds, an operator returns or a ``try`` keeps are those that were there: writes are seen by all names."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests.found_object_programs import PROGRAMS, lists_by_or, one_if_or_the_other
from tests.outcomes import agree

INPUTS = [np.array([0.5, 1.0, 2.0], np.float32), np.array([-0.5, -1.0, -2.0], np.float32)]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_as_in_python(program):
    runs = [ag.function(program)]
    # As far as is known, a truth value might be asked for an attribute, an item or its length.
    if program not in (one_if_or_the_other, lists_by_or):
        runs.append(jax.jit(ag.convert(program)))
    for run in runs:
        for x in INPUTS:
            agree(program(x), run(jnp.asarray(x)))


@pytest.mark.parametrize(
    "program", [each for each in PROGRAMS[::4] if each is not lists_by_or], ids=lambda program: program.__name__
)
def test_under_vmap(program):
    rows = jax.vmap(ag.convert(program))(jnp.stack(INPUTS))
    for k, x in enumerate(INPUTS):
        agree(program(x), jax.tree.map(lambda leaf: leaf[k], rows))  # noqa: B023 (called at once)
