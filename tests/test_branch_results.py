"""What a staged branch may leave in a variable, where the other leaves something else: values, None, nothing, objects."""

from __future__ import annotations

import collections
import dataclasses
import inspect
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import autograph as ag
from tests.outcomes import agrees_when_transformed

Pair = collections.namedtuple("Pair", "a b")


@dataclasses.dataclass
class Node:
    value: Any
    next: Any = None


def object_or_none(x):
    y = None
    if x > 0:
        y = Node(x, Node(x * 2))
    return -1.0 if y is None else y.value + y.next.value


def none_inside_containers(x):
    d = {"a": None, "b": [1.0, None]}
    if x > 0:
        d = {"a": x, "b": [2.0, x]}
    return d["a"] is None, d["b"][1] is None, d["b"][0]


def object_that_is_written_after(x):
    if x > 0:
        o = Node(x)
    else:
        o = None
    if o is not None:
        o.value = o.value * 3
    return 0.0 if o is None else o.value


def named_tuples_of_values_and_none(x):
    t = Pair(None, 1)
    if x > 0:
        t = Pair(x, None)
    r = 0.0
    if t.a is not None:
        r += t.a
    if t.b is not None:
        r += t.b * 10
    return r


def one_of_two_objects_or_none(x):
    best, o, p = None, Node(1.0), Node(2.0)
    if x > 0:
        best = o
    if x > 1:
        best = p
    return 0.0 if best is None else best.value


def an_object_from_before_is_itself(x):
    best, o = None, Node(1.0)
    if x > 0:
        best = o
    o.value = 7.0
    return 0.0 if best is None else best.value


def it_is_written_through_the_other_name(x):
    best, o = None, Node(1.0)
    if x > 0:
        best = o
    if best is not None:
        best.value = 7.0
    return o.value


def an_item_that_was_none(x):
    items = [None] * 3
    if x > 0:
        items[1] = x
    if items[1] is None:
        return -1.0
    return items[1] * 1.0


def none_for_a_key(x):
    if x > 0:
        d = {"k": x}
    else:
        d = {"k": None}
    found = d.get("k")
    return 0.0 if found is None else found


def tuples_appended(x):
    out = []
    if x > 0:
        out.append((x, None))
    else:
        out.append((None, x))
    a, b = out[0]
    r = 0.0
    if a is not None:
        r = a
    if b is not None:
        r = b
    return r


def a_subtree_where_there_was_none(x):
    tree = Node(1.0, Node(2.0, None))
    if x > 0:
        tree.next.next = Node(x)
    found = tree.next.next
    r = 0.0
    if found is not None:
        r = found.value
    return r


def keys_in_another_order(x):
    if x > 0:
        d = {"a": x, "b": [1.0]}
    else:
        d = {"b": [x], "a": 2.0}
    return d["a"] + d["b"][0]


def replaced_or_written(x):
    t = Node(0, Node(1.0))
    if x > 0:
        t.next = Node(x)
    else:
        t.next.value = 7.0
    return t.next.value


def written_further_inside(x):
    d = {"a": Node(Node({"k": [1.0, 2.0]}))}
    if x > 0:
        d["a"].value.value["k"][1] = 9.0
    else:
        d["a"] = Node(Node({"k": [x, 4.0]}))
    return d["a"].value.value["k"]


def replaced_or_written_as_an_item(x):
    items = [Node(1.0), Node(2.0)]
    if x > 0:
        items[0] = Node(x)
    else:
        items[0].value = 5.0
    return items[0].value


def replaced_or_appended_to(x):
    held, other = [], []
    held.append(1.0)
    other.append(x)
    t = Node(0, Node(held))
    if x > 0:
        t.next = Node(other)
    else:
        t.next.value.append(7.0)
        t.next.value[0] = 6.0
    return t.next.value[0], t.next.value[-1], len(t.next.value)


def replaced_or_first_filled(x):
    held, other = [], []
    other.append(x)
    t = Node(0, Node(held))
    if x > 0:
        t.next = Node(other)
    else:
        t.next.value.append(7.0)
    return t.next.value[0], len(t.next.value)


def replaced_or_written_in_an_ordered_dict(x):
    t = Node(0, Node(collections.OrderedDict(b=1.0, a=[2.0])))
    if x > 0:
        t.next = Node(collections.OrderedDict(b=x, a=[x]))
    else:
        t.next.value["b"] = 7.0
        t.next.value["a"][0] = 8.0
    return t.next.value["b"], t.next.value["a"][0]


def replaced_or_counted(x):
    counts, others = collections.defaultdict(int, b=1, a=2), collections.defaultdict(int, b=5, a=6)
    t = Node(0, Node(counts))
    if x > 0:
        t.next = Node(others)
    else:
        t.next.value["b"] += 7
    return t.next.value["b"], t.next.value["a"]


def replaced_or_added_to_a_counter(x):
    t = Node(collections.Counter(b=1))
    if x > 0:
        t.value = collections.Counter(b=5)
    else:
        t.value["b"] += 7
    return t.value["b"], t.value["c"]


def in_a_list_and_a_variable(x):
    found = []
    if x > 0:
        p = Node(x)
    else:
        p = Node(0.0)
    found.append(p)
    p.value = 5.0
    return found[0].value


def put_into_a_list_by_both(x):
    found = []
    if x > 0:
        p = Node(x)
        found.append(p)
    else:
        p = Node(0.0)
        found.append(p)
    p.value = 5.0
    return found[0].value


PROGRAMS = [
    object_or_none,
    none_inside_containers,
    object_that_is_written_after,
    named_tuples_of_values_and_none,
    one_of_two_objects_or_none,
    an_object_from_before_is_itself,
    it_is_written_through_the_other_name,
    an_item_that_was_none,
    none_for_a_key,
    tuples_appended,
    a_subtree_where_there_was_none,
    keys_in_another_order,
    replaced_or_written,
    written_further_inside,
    replaced_or_written_as_an_item,
    replaced_or_appended_to,
    replaced_or_first_filled,
    replaced_or_written_in_an_ordered_dict,
    replaced_or_counted,
    replaced_or_added_to_a_counter,
    in_a_list_and_a_variable,
    put_into_a_list_by_both,
]


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("x", [-1.0, 0.5, 2.0])
def test_what_branches_leave_is_what_python_leaves(program, x):
    agrees_when_transformed(program, x, beside=0.0)


def object_on_one_path(x):
    if x > 0:
        p = Node(x)
    return p.value


def unbound_on_one_path_before_a_raise(x):
    if x > 0:
        y = x
    if x < -5:
        raise ValueError("too small")
    return y


@pytest.mark.parametrize("program", [object_on_one_path, unbound_on_one_path_before_a_raise])
def test_a_variable_that_one_path_leaves_unbound_raises_where_python_does(program):
    made = ag.function(program)
    assert float(made(jnp.asarray(2.0))) == 2.0
    with pytest.raises(UnboundLocalError):
        made(jnp.asarray(-1.0))


def test_where_that_cannot_be_raised_it_is_refused():
    with pytest.raises(ag.StagingError, match="'p' may be undefined here: only one branch binds it"):
        jax.jit(ag.convert(object_on_one_path))(2.0)


def differing(x):
    a, c, e = (1.0, 2), 2.5, {"k": 1}
    if x > 0:
        a, c = (1.0, range(3)), {1}
        e = {"k": jnp.zeros(3)}  # makes
    return a, c, e


def test_all_that_differs_is_named_with_both_sides_and_their_lines():
    with pytest.raises(ag.StagingError) as caught:
        ag.function(differing)(jnp.asarray(1.0))
    lines, first = inspect.getsourcelines(differing)
    (line,) = [first + k for k, text in enumerate(lines) if "# makes" in text]
    assert f"""  The branches of this statement leave 'a[1]', 'c' and "e['k']" with different types, and its test is traced.
    a[1]
    if true:  range(0, 3)
    if false: 2
    c
    if true:  {{1}}
    if false: 2.5
    e['k']
    if true:  float32[3]  ({__file__}:{line})
    if false: 1
""" in str(caught.value)
