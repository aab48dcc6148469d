"""Dicts of which only some paths have set a key, read by functions of a file that sets none: Python's answer, or an error."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

import autograph as ag
from tests.key_readers import READERS
from tests.test_keys_by_path import VALUES, outcome

REFUSED = {
    "a_starred_tuple",
    "sets",
    "matched",
    "added_to_a_list",
    "attributes",
}


def given_to(read):
    def f(x):
        d = {"a": 1.0}
        if x > 0:
            d["k"] = x
        return read(d)

    return f


@pytest.mark.parametrize("read", READERS, ids=lambda function: function.__name__)
def test_python_and_the_program_agree(read):
    f = given_to(read)
    made = ag.function(f)
    if read.__name__ in REFUSED:
        with pytest.raises(
            ag.StagingError, match="only some paths|one path of a traced condition|elements of different structure"
        ):
            made(jnp.array(1.0))
        return
    for value in VALUES:
        x = jnp.array(value)
        try:
            expected = outcome(f, x)
        except ValueError:
            continue
        assert outcome(made, x) == expected


def test_vmap_refuses_the_same():
    f = given_to(lambda d: len(set(d) | {*d}))
    with pytest.raises(ag.StagingError, match="only some paths"):
        jax.vmap(ag.convert(f))(jnp.array(VALUES))
