"""Functions that go over pytrees (`jax.tree.map`, `optax.tree.norm`) meet in a tree what Python would have there."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import autograph as ag


class Pair(NamedTuple):
    first: Any
    second: Any


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Layer:
    w: Any
    b: Any


def none_or_value(x):
    return None if x > 1 else x


def tree_of_none(x):
    return {"w": 3 * x, "b": [None if x > 1 else x]}


def named_tuple_of_none(x):
    return Pair(x, None if x > 1 else -x)


def dataclass_of_none(x):
    return Layer(None if x > 1 else -x, x)


def list_or_tuple(x):
    pair = (x, 2 * x)
    if x > 1:
        pair = [v / 2 for v in pair]
    return pair


def number_or_tuple(x):
    return {"a": x if x > 1 else (x, 2 * x), "b": x}


def twice_none(x):
    return [None if x > 1 else x, x, None if x < 3 else -x]


TREES = [
    none_or_value,
    tree_of_none,
    named_tuple_of_none,
    dataclass_of_none,
    list_or_tuple,
    number_or_tuple,
    twice_none,
]


def mapped(tree):
    return jax.tree.map(lambda v: 2 * v + 1, tree)


def mapped_to_zeros(tree):
    return jax.tree_util.tree_map(jnp.zeros_like, tree)


def mapped_with_itself(tree):
    return jax.tree.map(lambda v, w: v * w if v > 0 else w, {"one": tree}, {"one": tree})


def number_of_leaves(tree):
    return len(jax.tree.leaves(tree))


def sum_of_leaves(tree):
    return sum(jnp.sum(leaf) for leaf in jax.tree_util.tree_leaves(tree))


def reduced(tree):
    return jax.tree.reduce(lambda a, b: a + b, tree, 1.0)


def with_none_as_leaf(tree):
    return jax.tree.reduce(lambda a, b: a + (10.0 if b is None else b), tree, 0.0, is_leaf=lambda part: part is None)


def norm(tree):
    return optax.tree.norm(tree)


def updated(tree):
    return optax.apply_updates(tree, tree)


GOING_OVER = [
    *(mapped, mapped_to_zeros, mapped_with_itself, number_of_leaves, sum_of_leaves, reduced, with_none_as_leaf, norm),
    updated,
]


def agree(found, wanted):
    assert jax.tree.structure(found) == jax.tree.structure(wanted)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


@pytest.mark.parametrize("going_over", GOING_OVER)
@pytest.mark.parametrize("make", TREES)
def test_a_function_of_trees_meets_values_and_none(make, going_over):
    function = ag.function(lambda x: going_over(make(x)))
    for x in (0.5, 2.0, 4.0):
        agree(function(jnp.array(x)), going_over(make(jnp.array(x))))


@pytest.mark.parametrize("make", TREES)
def test_so_it_does_under_jit_vmap_and_grad(make):
    xs = jnp.array([0.5, 2.0, 4.0])

    def total(x):
        return sum_of_leaves(mapped_with_itself(make(x)))

    wanted = [jax.value_and_grad(lambda x: 1.0 * total(x))(x) for x in xs]
    converted = ag.convert(total)
    np.testing.assert_allclose([jax.jit(converted)(x) for x in xs], [value for value, _ in wanted])
    np.testing.assert_allclose(jax.vmap(converted)(xs), [value for value, _ in wanted])
    np.testing.assert_allclose(jax.vmap(jax.grad(converted))(xs), [slope for _, slope in wanted])


def test_texts_are_leaves():
    def kept(x):
        tree = {"name": "high" if x > 1 else "low", "at": f"{int(x)}", "x": x}
        return jax.tree.map(lambda v: v + "!" if isinstance(v, str) else 2 * v, tree), jax.tree.leaves(tree)

    function = ag.function(kept)
    for x in (0.0, 3.0):
        assert function(jnp.array(x)) == kept(x)


def test_what_the_function_does_in_python_it_does_where_there_is_a_value():
    total = ag.Variable(0.0)

    def visited(tree):
        def visit(v):
            if v < 0:
                raise ValueError("negative")
            total.assign_add(v)
            return v

        jax.tree.map(visit, tree)
        return total.value

    def program(x):
        return visited(tree_of_none(x))

    function = ag.function(program)
    assert [float(function(jnp.array(x))) for x in (0.5, 2.0)] == [2.0, 8.0]
    with pytest.raises(ValueError, match="negative"):
        function(jnp.array(-1.0))
    assert float(total.value) == 8.0


def kept_of(x):
    return [v for v in (x, 2 * x) if v > 1]


def by_key(x):
    found = {}
    found[int(x)] = x
    return found


def made_text(x):
    return {"text": f"{int(x)}"}


@pytest.mark.parametrize(
    ("going_over", "make", "words"),
    [
        (norm, kept_of, "whose length is traced"),
        (jax.tree_util.tree_leaves_with_path, kept_of, "whose length is traced"),
        (jax.tree.leaves, by_key, "a dict whose keys are traced"),
        (norm, by_key, "a dict whose keys are traced"),
        (norm, made_text, "a str of traced values"),
        (jax.tree.structure, tree_of_none, "return values of different types"),
        (norm, lambda x: [None if x > k else x for k in range(5)], "More than 4 values"),
    ],
    ids=[
        "norm_of_a_list",
        "paths_of_a_list",
        "leaves_of_a_dict",
        "norm_of_a_dict",
        "norm_of_a_text",
        "structure",
        "many",
    ],
)
def test_what_only_run_time_counts_is_refused(going_over, make, words):
    with pytest.raises(ag.StagingError, match=words):
        ag.function(lambda x: going_over(make(x)))(jnp.array(2.0))


def best_of_a_loop(n, x):
    best = None
    for k in range(n):
        tree = {"w": x * k, "b": jnp.ones(2)}
        if best is None or tree["w"] > best["w"]:
            best = tree
    return jax.tree.map(lambda a, b: a + b, best, {"w": 1.0, "b": x}), optax.apply_updates(best, best)


def two_of_one_condition(n, x):
    tree, other = [x, jnp.ones(2)], (2 * x, jnp.zeros(2))
    params = tree if n > 1 else other
    state = tree if n > 1 else other
    return jax.tree.map(lambda a, b: a - 2 * b, params, state)[1]


def handled(n, x):
    state = None
    for k in range(n):
        state = [x, x * k]
    try:
        return jax.tree.map(lambda a, b: a * b, state, [1.0, 2.0])[1]
    except ValueError:
        return -x


@pytest.mark.parametrize("program", [best_of_a_loop, two_of_one_condition, handled])
def test_trees_that_fit_on_some_paths_only(program):
    compiled = ag.function(program)
    for n in (3, 1):
        agree(compiled(jnp.array(n), jnp.array(2.0)), program(n, jnp.array(2.0)))


def test_where_trees_do_not_fit_the_error_of_jax_is_raised():
    for program in (best_of_a_loop, handled):
        compiled = ag.function(program)
        compiled(jnp.array(2), jnp.array(2.0))
        try:
            expected = program(0, jnp.array(2.0))
        except ValueError as error:
            with pytest.raises(ValueError, match=str(error).splitlines()[0].replace("(", r"\(")):
                compiled(jnp.array(0), jnp.array(2.0))
        else:
            agree(compiled(jnp.array(0), jnp.array(2.0)), expected)
