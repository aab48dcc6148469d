"""Keys and attributes that a program sets where they are absent: after that they are there, on every path."""

from __future__ import annotations

from collections import defaultdict

import jax
import jax.numpy as jnp
import pytest

import autograph as ag
from tests import staged
from tests.test_keys_by_path import Box


def kept_once(x):
    memo = {}
    if x > 0:
        memo["v"] = x
    if "v" not in memo:
        memo["v"] = -x
    return memo["v"], len(memo)


def kept_by_a_helper(x):
    memo = {}

    def get(key):
        if key not in memo:
            memo[key] = x * 2
        return memo[key]

    if x > 0:
        get("a")
    return get("a") + get("b"), "a" in memo


def kept_in_an_else(x):
    memo = {}
    if x > 0:
        memo["v"] = x
    if "v" in memo:
        memo["v"] += 1
    else:
        memo["v"] = -x
    return memo["v"]


def kept_in_an_attribute(x):
    box = Box()
    if x > 0:
        box.v = x
    if not hasattr(box, "v"):
        box.v = 3.0
    return box.v


def kept_in_iterations(x):
    memo, total = {}, 0.0
    for k in range(5):
        if x * k > 1:
            if "v" not in memo:
                memo["v"] = x * k
            total += memo["v"]
    return total, len(memo)


def read_in_a_branch(x):
    counts = defaultdict(int)
    total = 0
    if x > 0:
        total += counts[1]
    return total, len(counts)


def read_in_iterations(x):
    lists = defaultdict(list)
    lengths = 0
    for _ in range(jnp.int32(abs(x))):
        lengths += len(lists) + len(lists["a"])
    return lengths, len(lists)


class Squares(dict):
    def __missing__(self, key):
        self[key] = key * key
        return self[key]


def read_from_a_class_with_its_own_default(x):
    squares = Squares()
    total = 0
    if x > 0:
        total += squares[3]
    return total, len(squares)


@pytest.mark.parametrize(
    "program",
    [
        kept_once,
        kept_by_a_helper,
        kept_in_an_else,
        kept_in_an_attribute,
        kept_in_iterations,
        read_in_a_branch,
        read_in_iterations,
        read_from_a_class_with_its_own_default,
    ],
)
def test_what_is_set_where_it_is_absent_is_there_in_programs_that_cannot_raise(program):
    for x in (2.0, -3.0, 0.1):
        wanted = jax.tree.map(float, program(x))
        for run in (staged.function(program), staged.jitted(program)):
            assert jax.tree.map(float, run(jnp.float32(x))) == pytest.approx(wanted)
    mapped = jax.jit(jax.vmap(ag.convert(program)))(jnp.array([2.0, -3.0]))
    assert jax.tree.map(lambda v: float(v[1]), mapped) == pytest.approx(jax.tree.map(float, program(-3.0)))


def appended_by_two_conditions(x):
    lists = defaultdict(list)
    if x > 0:
        lists["a"].append(1)
    if x > 1:
        lists["a"].append(2)
        lists["b"].append(3)
    return len(lists), sum(lists["a"]), len(lists["b"])


def appended_in_iterations(x):
    groups = {}
    for k in range(9):
        if jnp.sin(x * k) > 0:
            groups.setdefault(k % 2, []).append(k)
    return len(groups), sum(len(groups[k]) for k in groups)


def appended_by_a_factory_of_its_own(x):
    groups = defaultdict(lambda: [])
    for k in range(9):
        if jnp.sin(x * k) > 0:
            groups[k % 3].append(x * k)
    return len(groups[0]), len(groups[1]), sum(groups[2])


def made_before_the_condition(x):
    lists = defaultdict(list)
    first = lists["a"]
    if x > 0:
        first.append(x)
    return len(lists["a"]), sum(first)


@pytest.mark.parametrize(
    "program",
    [
        appended_by_two_conditions,
        appended_in_iterations,
        appended_by_a_factory_of_its_own,
        made_before_the_condition,
    ],
)
def test_lists_that_are_set_where_they_are_absent_grow_by_conditions(program):
    for x in (2.0, 0.1):
        found = staged.function(program)(jnp.float32(x))
        assert jax.tree.map(float, found) == pytest.approx(jax.tree.map(float, program(x)), rel=1e-4)
