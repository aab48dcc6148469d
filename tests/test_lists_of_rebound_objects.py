"""Lists that an object holds which a staged loop binds again: methods that append and return their object."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

import autograph as ag


class Collected:
    def __init__(self):
        self.items = []

    def push(self, v):
        self.items.append(v)
        return self


def pushed(xs):
    d = first = Collected()
    for v in xs:
        d = d.push(v * v)
    return d.items, len(first.items)


@pytest.mark.parametrize("size", [0, 3, 100])
def test_a_method_that_appends_and_returns_its_object(size):
    xs = jnp.arange(float(size))
    (items, count), (expected, expected_count) = ag.function(pushed)(xs), pushed(xs)
    assert count == expected_count
    assert list(map(float, items)) == list(map(float, expected))


def test_a_method_that_appends_and_returns_its_object_under_transforms():
    total = ag.convert(lambda xs: sum(pushed(xs)[0]))
    xs = jnp.array([1.0, 2.0, 3.0])
    assert float(jax.jit(total)(xs)) == 14
    assert jax.grad(total)(xs).tolist() == [2.0, 4.0, 6.0]
    assert jax.vmap(total)(jnp.stack([xs, 2 * xs])).tolist() == [14.0, 56.0]
