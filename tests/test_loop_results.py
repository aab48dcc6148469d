"""What the iterations of a staged loop may leave in a variable that they find something else in: None, nothing, other objects."""

from __future__ import annotations

import collections
import dataclasses
import inspect
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests import staged

Pair = collections.namedtuple("Pair", "a b")


@dataclasses.dataclass
class Node:
    value: Any
    next: Any = None


@dataclasses.dataclass
class Flags:
    present: Any
    value: Any
    use: Any


def made_in_the_loop(n):
    for i in range(n):
        node = Node(i)
    return node.value


def made_in_the_loop_inside_a_tuple(n):
    for i in range(n):
        found = (Node(i), {"k": Node(i * 2.0)})
    return found[0].value, found[1]["k"].value


def written_before_it_is_read(n):
    for i in range(n):
        node = Node(i)
        if i == 1:
            node.next = Node(7)
    return node.value, node.next is None


def the_last_or_none(n):
    last = None
    for i in range(n):
        if i % 2 == 1:
            last = Node(i)
    return -1 if last is None else last.value


def the_best_and_where(n):
    best = None
    for i in range(n):
        value = (i * 7) % 5
        if best is None or value > best.value:
            best = Node(value, i)
    return (-1, -1) if best is None else (best.value, best.next)


def the_one_before(n):
    node = Node(0.0)
    for i in range(n):
        node = Node(node.value + 1, Node(node.value))
    return node.value, node.next.value


def an_attribute_deeper(n):
    tree = Node(1.0, Node(None))
    for i in range(n):
        tree.next.value = Node(i)
    return tree.next.value.value


def attributes_of_the_names_that_an_optional_has(n):
    found = None
    for i in range(n):
        if i % 2 == 1:
            found = Flags(i, i * 2, i * 3)
    if found is None:
        return -1
    found.use += 1
    return found.present + found.value + found.use


def written_without_asking(n):
    found = None
    for i in range(n + 1):
        found = Node(i)
    found.value = found.value + 10
    found.value += 1
    return found.value


def made_once_then_written(n):
    tree = Node(0, None)
    for i in range(n):
        if tree.next is None:
            tree.next = Node(i)
        else:
            tree.next.value = tree.next.value + i
    return tree.next.value


def exchanged(n):
    p, q = Node(0.0), Node(1.0)
    for i in range(n):
        p, q = q, p
        p = Node(p.value + i)
    return p.value, q.value


def none_inside_a_dict(n):
    d = {"best": None, "count": 0}
    for i in range(n):
        if i % 3 == 1:
            d = {"count": d["count"] + 1, "best": i * 1.0}
    return -1.0 if d["best"] is None else d["best"] * 1.0, d["count"]


def none_inside_a_named_tuple(n):
    pair = Pair(None, 0)
    while pair.b < n:
        pair = Pair(pair.b, pair.b + 1)
    return -1 if pair.a is None else pair.a


def none_again(n):
    held = (1, 2.0)
    for i in range(n):
        if i % 2 == 1:
            held = None
        else:
            held = (i, i * 0.5)
    return -1 if held is None else held[0]


def keys_in_another_order(n):
    d = {"a": 0, "b": 1.0}
    for i in range(n):
        d = {"b": d["a"] * 2.0, "a": d["a"] + i}
    return d["a"], d["b"]


def in_nested_loops(n):
    best = None
    for i in range(n):
        for j in range(n):
            if best is None:
                best = Node(i * j, j)
            elif i * j > best.value:
                best = Node(i * j, i)
    return best.value, best.next


def named_after_the_loop(n):
    kept = Node(5)
    for i in range(n):
        kept = kept
        other = kept
    return other.value


PROGRAMS = [
    made_in_the_loop,
    made_in_the_loop_inside_a_tuple,
    written_before_it_is_read,
    the_last_or_none,
    the_best_and_where,
    the_one_before,
    an_attribute_deeper,
    attributes_of_the_names_that_an_optional_has,
    written_without_asking,
    made_once_then_written,
    exchanged,
    none_inside_a_dict,
    none_inside_a_named_tuple,
    none_again,
    keys_in_another_order,
    in_nested_loops,
    named_after_the_loop,
]


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("n", [1, 2, 5])
def test_what_iterations_leave_is_what_python_leaves(program, n):
    wanted = jax.tree.leaves(program(n))
    found = staged.function(program)(jnp.asarray(n))
    np.testing.assert_allclose(np.array(jax.tree.leaves(found), float), np.array(wanted, float), rtol=1e-6)


@pytest.mark.parametrize("program", [the_last_or_none, the_best_and_where, none_inside_a_dict, exchanged])
def test_transforms_keep_it(program):
    for n in (2, 5):
        wanted = np.array(jax.tree.leaves(program(n)), float)
        found = staged.jitted(program)(n)
        np.testing.assert_allclose(np.array(jax.tree.leaves(found), float), wanted, rtol=1e-6)
        found = jax.tree.map(lambda v: v[1], jax.vmap(ag.convert(program))(jnp.array([1, n])))
        np.testing.assert_allclose(np.array(jax.tree.leaves(found), float), wanted, rtol=1e-6)


def test_the_attributes_of_objects_made_in_a_loop_differentiate():
    @ag.convert
    def energy(x, n):
        best = None
        for i in range(n):
            node = Node(x * i, x)
            if best is None or node.value > best.value:
                best = node
        return 0.0 if best is None else best.value * best.next

    assert float(jax.jit(jax.grad(energy))(3.0, 4)) == float(jax.grad(lambda x: 3 * x * x)(3.0))


@pytest.mark.parametrize("program", [made_in_the_loop, made_in_the_loop_inside_a_tuple])
def test_no_iteration_leaves_the_variable_unbound(program):
    with pytest.raises(UnboundLocalError):
        ag.function(program)(jnp.asarray(0))


def differing(n):
    a, b, c = jnp.zeros(2), range(2), 0
    while c < n:
        a = jnp.concatenate([a, a])  # makes
        b, c = "t", c + 1
    return a, b, c


def test_all_that_differs_is_named_with_both_sides_and_their_lines():
    with pytest.raises(ag.StagingError) as caught:
        ag.function(differing)(jnp.asarray(3))
    lines, first = inspect.getsourcelines(differing)
    (line,) = [first + k for k, text in enumerate(lines) if "# makes" in text]
    assert f"""  'a' and 'b' change type in this staged loop.
    a
    before the loop:     float32[2]
    after one iteration: float32[4]  ({__file__}:{line})
    b
    before the loop:     range(0, 2)
    after one iteration: 't'
  Give them the same shape and structure before the loop as its iterations leave them with.""" in str(caught.value)


def paired(n):
    best, i = None, 0
    while i < n:
        best = (i, best)
        i += 1
    return best[0]


def test_a_value_that_grows_inside_itself_is_refused_by_name():
    with pytest.raises(ag.StagingError) as caught:
        ag.function(paired)(jnp.asarray(3))
    message = str(caught.value)
    assert "reach no fixed point: each iteration wraps the value of 'best' in another container" in message
    assert "after one iteration: (~int32[], None)" in message and "after two: " in message
    assert "append results to a list, or write them into an array" in message


@pytest.mark.parametrize("n", [jnp.asarray(3), jnp.zeros(4)], ids=["traced", "known"])
def test_before_the_loop_is_what_was_there_before_it(n):
    def run(n):
        t, best = (), None
        for i in range(n) if n.shape == () else n:
            t = (i, t)
            best = i
        return t, best

    with pytest.raises(ag.StagingError) as caught:
        ag.function(run)(n)
    message = str(caught.value)
    assert "'t' changes type in this staged loop" in message
    assert "before the loop:     ()\n" in message and "branches" not in message


def test_what_differs_after_a_first_iteration_that_finds_none_is_said_of_the_others():
    def run(xs):
        best = None
        for x in xs:
            best = jnp.ones(2) * x if best is None else jnp.concatenate([best, best])
        return best

    with pytest.raises(ag.StagingError, match=r"(?s)'best' changes type.*float32\[2\].*float32\[4\]"):
        ag.function(run)(jnp.zeros(4))
