"""Keys of dicts, and attributes of objects, that only some iterations set or delete: Python's answers and errors."""

from __future__ import annotations

import jax.numpy as jnp
import pytest

import autograph as ag
from tests.test_keys_by_path import Box, outcome

LOOPS = []


def loop(function):
    LOOPS.append(function)
    return function


@loop
def attribute_first_set_in_an_iteration(x, n):
    box = Box()
    for i in range(n):
        if i == 0:
            box.most = x[0]
        else:
            box.most = max(box.most, x[i])
    return box.most


@loop
def keys_of_a_while(x, n):
    d = {"t": 0.0}
    i = 0
    while i < n:
        if "m" in d:
            d["m"] = max(d["m"], x[i])
        else:
            d["m"] = x[i]
        d["t"] += x[i]
        i += 1
    return d


@loop
def two_keys_of_a_for(x, n):
    d = {}
    for i in range(n):
        if x[i] > 1:
            d["big"] = x[i]
        else:
            d["small"] = d.get("small", 0.0) + x[i]
    return d.get("big", -1.0), d.get("small", -1.0), len(d)


@loop
def deleted_in_a_loop(x, n):
    d = {"a": 1.0, "b": 2.0}
    for i in range(n):
        if x[i] > 3 and "a" in d:
            del d["a"]
    return d, len(d)


@loop
def attribute_deleted_in_a_loop(x, n):
    box = Box()
    box.gone = 1.0
    for i in range(n):
        if x[i] > 3 and hasattr(box, "gone"):
            del box.gone
    return getattr(box, "gone", -5.0)


@loop
def nested_loops(x, n):
    total = 0.0
    for v in x:
        d = {}
        if v > 1:
            d["k"] = v
        for j in range(n):
            if "k" not in d:
                d["k"] = j * 0.5
            else:
                d["k"] += 1
        total += d.get("k", 0.0)
    return total


@loop
def errors_of_a_loop(x, n):
    d = {}
    for i in range(n):
        if x[i] > 1:
            d["k"] = x[i]
        try:
            d["k"] += 1
        except KeyError:
            d["miss"] = d.get("miss", 0) + 1
    return d.get("k", -1.0), d.get("miss", 0)


@loop
def last_of_a_loop(x, n):
    d = {}
    for i in range(n):
        d["last"] = x[i]
    return d["last"]


@pytest.mark.parametrize("n", [0, 1, 3])
@pytest.mark.parametrize("function", LOOPS, ids=lambda function: function.__name__)
def test_loops(function, n):
    x = jnp.array([1.0, 5.0, 2.0])
    assert outcome(ag.function(function), x, jnp.array(n)) == outcome(function, x, jnp.array(n))
