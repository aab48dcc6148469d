"""A list from before nested loops that a name, an attribute or a dict is bound to in them: it holds what it held after them."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

from tests import staged


class Shelf:
    def __init__(self, first):
        self.items = [first]


def a_name(w):
    bound, given = [1], []
    for _ in w:
        for _ in w:
            bound = given
    return len(bound), sum(bound), len(given)


def an_attribute(w):
    shelf, given = Shelf(1), [2, 3]
    for _ in w:
        for _ in w:
            shelf.items = given
    return len(shelf.items), sum(shelf.items), given


def an_item(w):
    table, given = {"k": [1]}, []
    for _ in w:
        for _ in w:
            table["k"] = given
    return sum(table["k"]), len(table["k"])


def by_path(w):
    bound, given = [1], [4, 5]
    for i in w:
        for j in w:
            if j > 2:
                bound = given
        if i > 4:
            bound = [7, 8, 9]
    return sum(bound), len(bound), given


@pytest.mark.parametrize("program", [a_name, an_attribute, an_item, by_path])
def test_it_is_read_after_them(program):
    for numbers in ([-2, 3, 5], [1, 2], [9]):
        assert staged.function(program)(jnp.array(numbers)) == program(np.array(numbers))
