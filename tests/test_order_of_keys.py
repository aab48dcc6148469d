"""The order of a dict's keys where paths, or a loop, set them in another order."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

import autograph as ag
from tests import staged
from tests.agreement import differences


def by_path(x):
    table = {}
    if x > 0:
        table["a"] = x
        table["b"] = 1
    else:
        table["b"] = 2
        table["a"] = x
    return table


def iterated(x):
    table, found = by_path(x), 0
    for k in table:
        found = found * 10 + table[k]
    for k, v in table.items():
        found = found * 10 + v + len(k)
    return found


def doubled(x):
    table = {k: 2 * v for k, v in by_path(x).items()}
    return list(table.values())


def inverted(x):
    table = {}
    if x > 0:
        table[1] = 5
        table[2] = x
    else:
        table[2] = x
        table[1] = 6
    names = {v: k for k, v in table.items()}
    return names[x], [k for k in table]


def of_lists(x):
    table = {}
    if x > 0:
        table["a"] = [x]
        table["b"] = [1, 2]
    else:
        table["b"] = [x]
        table["a"] = [1, 2]
    return [v for v in table.values()]


def of_texts(x):
    table = {}
    if x > 0:
        table["a"] = "one"
        table["b"] = "two"
    else:
        table["b"] = "three"
        table["a"] = "one"
    return [k + v for k, v in table.items()]


def of_an_object(x):
    class Box:
        pass

    box = Box()
    box.held = by_path(x)
    del box.held["a"]
    box.held["c"] = 5
    return [v for v in box.held.values()]


@pytest.mark.parametrize("f", [iterated, doubled, inverted, of_lists, of_texts, of_an_object])
def test_an_order_that_differs_by_path(f):
    for x in (3, -3):
        assert list(differences(f(x), staged.function(f)(jnp.array(x)))) == []


def sorted_by_key(x):
    table = {"c": 1.5}
    if x > 0:
        table["a"] = x
        table["b"] = 1
    else:
        table["b"] = 2
        table["a"] = x
    return len(sorted(table)), [table[k] for k in sorted(table, reverse=True) if k != "b"], "b" in sorted(table.keys())


def sorted_items(x):
    table = {}
    if x > 0:
        table[2] = x
        table[1] = 2.5
    elif x < 0:
        table[1] = 3.5
        table[2] = x
    found = 0.0
    for k, v in sorted(table.items(), reverse=True):
        found = found * 10 + k * v
    return found


@pytest.mark.parametrize("f", [sorted_by_key, sorted_items])
def test_sorted_keys_need_no_order(f):
    for x in (3, -3, 0):
        assert list(differences(f(x), staged.function(f)(jnp.array(x)))) == []
        assert list(differences(f(x), staged.jitted(f)(jnp.array(x)))) == []


def last_of_some_paths(x):
    table = {1: 7, 2: [x]}
    del table[1]
    if x > 0:
        table[3] = [x, 5]
    key, value = table.popitem()
    value.append(4)
    return key, value, table


def all_taken(x):
    table, found = {}, 0
    table["a"] = 1
    if x > 0:
        table["bb"] = x
    if x > 3:
        del table["a"]
    while table:
        key, value = table.popitem()
        found = found * 10 + value + len(key)
    return found


def taken_where_there_may_be_none(x):
    table = {}
    if x > 0:
        table[1] = x
    try:
        return table.popitem()
    except KeyError:
        return 0, -1


@pytest.mark.parametrize("f", [last_of_some_paths, all_taken, taken_where_there_may_be_none])
def test_the_last_key_of_which_only_some_paths_have_set_it(f):
    compiled = ag.function(f)
    for x in (3, -3, 5):
        assert list(differences(f(x), compiled(jnp.array(x)))) == []


def step(params, x):
    slopes = jax.grad(lambda p: (p["w"] * x + p["b"] - 3.0 * x - 1.0) ** 2)(params)
    return jax.tree.map(lambda p, slope: p - 0.1 * slope, params, slopes)


def trained(xs):
    params = {"w": 0.0, "b": 0.0}
    for x in xs:
        params = step(params, x)
    norm = 0.0
    for k in params:
        norm = norm * 2 + params[k]
    return norm, list(params.values()), sorted(params.items())[0][1]


def trained_until(xs):
    state, best = {"params": {"w": 1.0, "b": 0.0}, "count": 0}, 100.0
    for x in xs:
        state = {"params": step(state["params"], x), "count": state["count"] + 1}
        if state["params"]["w"] > 2:
            break
        best = min(best, state["params"]["b"])
    return [2 * v for v in state["params"].values()], best, state["count"]


@pytest.mark.parametrize("f", [trained, trained_until])
def test_the_order_after_a_loop_is_that_of_its_last_iteration(f):
    for xs in ([1.0, 2.0, 0.5], [-1.0, -2.0, 0.25]):
        wanted, given = f(xs), jnp.array(xs)
        assert list(differences(wanted, staged.function(f)(given))) == []
        assert list(differences(wanted, staged.jitted(f)(given))) == []


def test_an_order_that_only_the_number_of_iterations_tells_is_refused():
    def f(n, x):
        params = {"w": 1.0, "b": 0.0}
        while n > 0:
            params = step(params, x)
            n -= 1
        return list(params)

    with pytest.raises(ag.StagingError, match="The order of a dict's keys is read here"):
        ag.function(f)(jnp.array(2), 1.0)
