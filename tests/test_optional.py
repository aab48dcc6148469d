"""`Optional`, which a bare ``jax.jit`` gives where Python may give None: what a caller asks it."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag


@ag.convert
def first_above(x, limit):
    for i in range(len(x)):
        if x[i] > limit:
            return i


X = jnp.array([1.0, 5.0, 9.0])


def test_a_value_is_told_and_given():
    found = jax.jit(first_above)(X, 4.0)
    assert bool(found.has_value())
    assert int(found.get_value()) == 1


def test_none_is_told_and_refused():
    found = jax.jit(first_above)(X, 10.0)
    assert not found.has_value()
    with pytest.raises(TypeError, match="is None"):
        found.get_value()


def test_of_a_batch_each_row_is_told():
    found = jax.vmap(jax.jit(first_above), (None, 0))(X, jnp.array([0.0, 4.0, 10.0]))
    np.testing.assert_array_equal(found.has_value(), [True, True, False])
    with pytest.raises(TypeError, match="some rows"):
        found.get_value()
    for use in (np.asarray, lambda rows: rows + 1, lambda rows: rows[0]):
        with pytest.raises(TypeError, match="some rows"):
            use(found)
    full = jax.vmap(jax.jit(first_above), (None, 0))(X, jnp.array([0.0, 4.0]))
    np.testing.assert_array_equal(full.get_value(), [0, 1])
    np.testing.assert_array_equal(full + 1, [1, 2])


@pytest.mark.parametrize("limit", [4.0, 10.0])
def test_a_function_asks_it_inside_a_trace(limit):
    @ag.function
    def found_or(x, limit):
        place = jax.jit(first_above)(x, limit)
        if place.has_value():
            return place.get_value() * 10
        return -1

    assert int(found_or(X, jnp.float32(limit))) == {4.0: 10, 10.0: -1}[limit]


def test_none_asked_for_its_value_raises_at_run_time():
    @ag.function
    def found(x, limit):
        return jax.jit(first_above)(x, limit).get_value()

    assert int(found(X, jnp.float32(4.0))) == 1
    with pytest.raises(TypeError):
        found(X, jnp.float32(10.0))


def test_names_of_attributes_are_those_of_the_objects_that_it_may_hold():
    class Node:
        def __init__(self, value, present, rest):
            self.value, self.present, self.rest = value, present, rest

    def total(limit):
        node = Node(1, 2, Node(3, 4, Node(5, 6, Node(7, 8, None))))
        found = 0
        while node is not None and found < limit:
            found += node.value * node.present
            node = node.rest
        return found

    assert [int(ag.function(total)(jnp.array(limit))) for limit in (1, 40, 1000)] == [2, 44, 100]
