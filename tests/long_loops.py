"""What tests of long loops share: whether one became a staged loop, and whether results are Python's."""

import warnings

import jax
import numpy as np
import pytest

import autograph as ag
from tests.jaxprs import Counts


def is_one_loop(function, *arguments):
    """Whether the loop became one `scan`, with no warning; nothing else of it may be left."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        counts = Counts(ag.convert(function), *arguments)
    return counts.scans == 1 and counts.total < 100


def stays_python(function, *arguments, why, wanted=None):
    """Check that the loop is unrolled, with a warning that gives the reason, and that results are Python's, or what is wanted."""
    with pytest.warns(ag.StagingWarning, match=rf"(?s)test_unrolled_loops.py:\d+: for .*its body \d+ times.*{why}"):
        found = ag.function(function)(*arguments)
    agree(function(*arguments) if wanted is None else wanted, found)


def agree(wanted, found):
    assert jax.tree.structure(wanted) == jax.tree.structure(found)
    for left, right in zip(jax.tree.leaves(wanted), jax.tree.leaves(found)):
        assert np.asarray(left).dtype.kind == np.asarray(right).dtype.kind
        np.testing.assert_allclose(left, right, rtol=2e-5)
