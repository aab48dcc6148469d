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


def test_lists_of_an_object_further_on_that_an_iteration_chooses():
    class Node:
        def __init__(self, value, following):
            self.items = [value]
            self.following = following

    def program(n):
        first = Node(7, Node(4, Node(1, Node(0, None))))
        last, count = first.following.following.following, 0
        for k in ag.range(5):
            first.following.following.items.append(k)
            if len(last.items) > 2:
                count += last.items.pop()
            if k == n:
                last = first.following
        return count, sum(first.following.following.items), len(last.items)

    made = ag.function(program)
    for n in (0, 1, 3, 9):
        assert tuple(map(int, made(jnp.asarray(n)))) == program(n)
