"""A converted program gives what plain Python gives, or is refused by an error that names line, subject and remedy."""

import warnings

import jax
import numpy as np
import pytest

import autograph as ag
import tests.traps.lists
import tests.traps.mappings
import tests.traps.objects
import tests.traps.streams
from tests.traps import TRAPS


def mapped(f):
    f = jax.vmap(ag.convert(f))
    return lambda x: jax.tree.map(lambda leaf: leaf[0], f(x[None]))


MODES = {"function": ag.function, "jit": lambda f: jax.jit(ag.convert(f)), "vmap": mapped}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", TRAPS)
def test_result_is_pythons_or_refused(name, mode):
    make, inputs, refused = TRAPS[name]
    for x in inputs:
        expected = make()(x)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ag.StagingWarning)
            try:
                found = MODES[mode](make())(x)
            except ag.StagingError as error:
                assert refused is not None, f"refused: {error}"
                text = str(error)
                where, subject = text.split("\n", 1)
                assert make.__code__.co_filename in where
                assert refused in subject
                assert len(text.splitlines()) >= 3, f"no way out: {text}"
                continue
            except NameError as error:  # what the iterations leave in a lambda's variable is gone after the loop
                assert (name, str(error)[:4]) == ("lambda_closure", "cann")
                continue
        np.testing.assert_allclose(np.asarray(found, float), np.asarray(expected, float), rtol=1e-6)


def test_there_are_enough_traps_of_both_kinds():
    assert len(TRAPS) >= 90
    assert sum(refused is None for _, _, refused in TRAPS.values()) >= 45
    assert len({tests.traps.lists, tests.traps.mappings, tests.traps.objects, tests.traps.streams}) == 4
