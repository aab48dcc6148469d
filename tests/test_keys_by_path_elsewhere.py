"""Dicts of which only some paths have set a key, read by functions of a file that sets none: Python's answer, or an error."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests.key_readers import READERS
from tests.test_keys_by_path import VALUES, outcome

REFUSED = {
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


def test_vmap_agrees():
    f = given_to(lambda d: len(set(d) | frozenset(d)))
    assert jax.vmap(ag.convert(f))(jnp.array(VALUES)).tolist() == [f(value) for value in VALUES]


def trained(x, y):
    """`jax.tree.map` sorts the keys that the first iteration has in another order."""
    params = {"w": 0.0, "b": 0.0}
    velocity = [{"w": 0.0, "b": 0.0}]

    def loss(params):
        return jnp.mean((params["w"] * x + params["b"] - y) ** 2)

    before = jnp.inf
    for step in range(80):
        value, slopes = jax.value_and_grad(loss)(params)
        if value > 2.0:
            slopes = {"w": slopes["w"] / 2, "b": slopes["b"]}
        velocity = jax.tree.map(lambda v, g: 0.5 * v + g if abs(g) < 5 else v, velocity, [slopes])
        params = jax.tree.map(lambda p, v: p - 0.1 * v, params, velocity[0])
        if before - value < 1e-4:
            break
        before = value
    return params, velocity, step, jax.jit(loss)(params)


def test_what_jax_flattens_is_in_its_order():
    x, y = jnp.array([0.0, 1.0, 2.0]), jnp.array([1.0, 3.0, 4.5])
    expected = trained(x, y)
    found = ag.function(trained)(x, y)  # a loop that is unrolled would warn, which is an error here
    assert 1 < int(found[2]) == expected[2] < 79
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4), found, expected)


def test_the_order_of_keys_as_other_code_may_read_it():
    def moved(x):
        d = {"w": x, "b": 2 * x}
        if x > 0:
            d = {"b": x, "w": 3 * x}
        return d

    def first(x):
        return jax.tree.map(lambda d: list(d.values())[0], [moved(x)], is_leaf=lambda part: isinstance(part, dict))

    for f in (first, lambda x: ag.do_not_convert(lambda d: list(d)[0])(moved(x))):
        with pytest.raises(ag.StagingError, match="The order of a dict's keys is read"):
            ag.function(f)(jnp.array(1.0))
