"""Writes that no statement of the program shows: by properties, special methods, managers and library code."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag


def agrees(function, *values):
    """Staged under every set of options, the function must return what plain Python returns."""
    for value in values or (1.5, -1.5):
        expected = function(jnp.float32(value))
        for features in ((), ag.Feature.LISTS):
            staged = ag.function(function, experimental_autograph_options=features or None)
            found = staged(jnp.float32(value))
            assert jax.tree.structure(found) == jax.tree.structure(expected)
            jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6), found, expected)


class Box:
    def __init__(self):
        self.v = 0.0


class Reads:
    """Counts how often it is read."""

    def __init__(self):
        self.n = 0

    @property
    def now(self):
        self.n += 1
        return 1.0


def test_a_property_writes_before_the_block_does():
    def f(x):
        o, y = Reads(), 0.0
        if x > 0:
            y = o.now
            o.n += 5
        return o.n + y

    agrees(f)


@ag.convert
def add_one(box):
    box.v = box.v + 1


@ag.convert(recursive=False)
def add_two(box):
    box.v = box.v + 2


@pytest.mark.parametrize("helper", [add_one, add_two])
def test_a_helper_that_is_converted_by_itself(helper):
    def f(x):
        o = Box()
        if x > 0:
            helper(o)
        for _ in ag.range(3):
            helper(o)
        return o.v

    agrees(f)


class Span:
    def __init__(self):
        self.entered = self.left = 0

    def __enter__(self):
        if self.entered < 100:
            self.entered += 1
        return self

    def __exit__(self, *error):
        if self.left < 100:
            self.left += 2
        return False


def test_a_manager_that_an_expression_chooses():
    def f(x):
        o, p, k = Span(), Span(), 1
        for _ in ag.range(3):
            with o if k > 0 else p:
                x = x + 1
        return x, o.entered, o.left, p.entered

    agrees(f)


def test_a_manager_entered_by_the_name_that_its_with_gives_it():
    def f(x):
        o = Span()
        for _ in ag.range(3):
            with o as w, w:
                x = x + 1
        return x, o.entered, o.left

    agrees(f)
