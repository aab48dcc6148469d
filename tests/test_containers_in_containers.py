"""Lists and dicts that staged statements put into other lists and dicts, which functions around them hold."""

from __future__ import annotations

from collections import defaultdict

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads

import autograph as ag
from tests.agreement import differences


class Holder:
    def __init__(self, held):
        self.held = held


def put_by_a_function(xs):
    found = {}

    def put(v):
        made = [v * 2, 1.0]
        found["new"] = made
        made[0] = v * 3

    if xs[0] > 0:
        put(xs[0])
    return len(found), found.get("new", [0.0, 0.0])


def replaced_on_one_path(xs):
    found = {"old": {"k": 5.0}}

    def put(v):
        made = {"k": 1.0}
        found["old"] = made
        made["k"] = v * 3

    if xs[0] > 0:
        put(xs[0])
    return found


def replaced_on_both(xs):
    rows = [[1.0, 2.0], [3.0, 4.0]]

    def put(i, v):
        rows[i] = [v, v + 1]
        rows[i][1] += 1

    if xs[0] > 0:
        put(0, xs[0])
    else:
        put(1, xs[1])
    rows[0][0] += 1
    return rows


def written_by_its_other_name(xs):
    one = [1.0]
    found = {}

    def put():
        found["a"] = one

    if xs[0] > 0:
        put()
    one[0] = 3.0
    return one, found.get("a", [0.0])


def exchanged(xs):
    one, other = [1.0], [2.0]
    found = {"a": one, "b": other}

    def swap():
        found["a"], found["b"] = found["b"], found["a"]

    if xs[0] > 0:
        swap()
    found["a"][0] = 7.0
    return found, one, other


def written_before_it_is_replaced(xs):
    one = [1.0]
    found = {"a": one}

    def replace():
        found["a"][0] = 5.0
        found["a"] = [9.0]
        found["a"][0] += xs[1]

    if xs[0] > 0:
        replace()
    one[0] += 1.0
    return found, one


def replaced_by_iterations(xs):
    found = {7: [5.0]}

    def put(v):
        made = [1.0]
        found[7] = made
        made[0] = 3.0 * v

    for x in xs:
        put(x)
    return found


def set_by_iterations(xs):
    found = {}

    def put(v):
        found[7] = [v]
        found[7][0] += 1.0

    for x in xs:
        put(x)
    return found


def best_in_nested_loops(xs):
    holder = Holder({"at": [-9.0, 0.0], "n": 0})

    def put(v):
        if v > holder.held["at"][0]:
            holder.held["at"] = [v, 2 * v]
        holder.held["n"] += 1

    for x in xs:
        for y in xs:
            put(x + y)
    return holder.held


def row_replaced_in_a_closure(xs):
    rows = []
    rows.append([0.0, 0.0])
    rows.append([1.0, 1.0])

    def put(v):
        rows[0] = [v, 1.0]
        rows[0][0] += 1.0

    for x in xs:
        if x > 0:
            put(x)
    return rows


def made_by_a_factory(xs):
    found = defaultdict(lambda: [1.0])
    if xs[0] > 0:
        found["a"].append(xs[1])
    found["b"].append(2.0)
    return len(found["a"]), sum(found["a"]), found["b"]


def made_by_a_factory_in_iterations(xs):
    found = defaultdict(lambda: [1.0])
    for x in xs:
        if x > 0:
            found["a"].append(x)
    return len(found["a"]), sum(found["a"]), sum(found["b"])


def kept_by_its_factory(xs):
    kept = []

    def make():
        kept.append(0.0)
        return kept

    found = defaultdict(make)
    if xs[0] > 0:
        found["a"].append(xs[1])
    found["a"].append(2.0)
    return sum(found["a"]), len(kept), sum(kept)


def by_default(xs):
    found = {}
    for x in xs:
        if x > 0:
            found.setdefault("a", []).append(x)
        else:
            found.setdefault("b", [5.0]).append(x)
    return len(found), len(found.get("a", [])), sum(found.get("b", [0.0]))


def default_with_another_name(xs):
    other = [5.0]
    found = {}
    if xs[0] > 0:
        found["a"] = [1.0]
    found.setdefault("a", other)[0] += xs[1]
    return found["a"], other


def by_default_in_a_while(xs):
    found, k = {}, 0
    while k < len(xs) and xs[k] > -1.5:
        found.setdefault("x", []).append(xs[k])
        k += 1
    return len(found), len(found.get("x", [])), sum(found.get("x", [0.0]))


def asked_first(xs):
    found = {}
    for x in xs:
        if x > 0:
            if "a" in found:
                found["a"].append(x)
            else:
                found["a"] = [x]
        else:
            if "b" not in found:
                found["b"] = []
            found["b"].append(x)
    return len(found.get("a", [])), sum(found.get("a", [0.0])), sum(found.get("b", [0.0]))


class Groups:
    def __init__(self):
        self.groups = {}

    def add(self, name, v):
        if name not in self.groups:
            self.groups[name] = []
        self.groups[name].append(v)


def in_an_attribute(xs):
    groups = Groups()
    for x in xs:
        if x > 0:
            groups.add("a", x)
        elif x < -1.5:
            groups.add("b", x)
        else:
            groups.add("c", x)
    held = groups.groups
    return len(held), sum(held.get("a", [0.0])), sum(held.get("b", [0.0])), len(held.get("c", []))


def by_a_chosen_key(xs):
    found = defaultdict(list)
    for k, x in enumerate(xs):
        key = "a" if x > 0 else "b"
        found[key].append(k)
    return len(found["a"]), sum(found["a"]), sum(found["b"])


def by_a_chosen_default(xs):
    found = {}
    for x in xs:
        found.setdefault("a" if x > 0 else "b", []).append(x)
    return len(found), sum(found.get("a", [0.0])), sum(found.get("b", [0.0]))


def arguments_that_see_the_key(xs):
    found = defaultdict(list)
    for x in xs:
        found["a" if x > 0 else "b"].append(len(found))
    return sum(found["a"]), sum(found["b"]), len(found)


def means_of_groups(xs):
    groups = defaultdict(list)
    for x in xs:
        groups["big" if abs(x) > 1 else "small"].append(x)
    return {name: sum(held) / len(held) for name, held in groups.items()}


def displays_in_displays(xs):
    found = {"low": {"xs": [1.0], "n": 0}, "high": {"xs": [2.0], "n": 0}}
    rows = [[[1.0], [2.0]], [[3.0], [4.0]]]
    for v in xs:
        if v > 0:
            found["high"]["xs"].append(v)
            found["high"]["n"] += 1
            rows[1][0].append(v * 2)
        else:
            found["low"]["xs"].append(-v)
    return sum(found["high"]["xs"]), len(found["low"]["xs"]), found["high"]["n"], sum(rows[1][0]), rows[0][1]


def displays_in_an_attribute(xs):
    holder = Holder(None)
    holder.held = {"a": {"xs": [0.5]}}
    for v in xs:
        if v > 0:
            holder.held["a"]["xs"].append(v)
    return sum(holder.held["a"]["xs"]), len(holder.held["a"]["xs"])


PROGRAMS = [
    displays_in_displays,
    displays_in_an_attribute,
    by_a_chosen_key,
    by_a_chosen_default,
    arguments_that_see_the_key,
    means_of_groups,
    put_by_a_function,
    replaced_on_one_path,
    replaced_on_both,
    written_by_its_other_name,
    exchanged,
    written_before_it_is_replaced,
    replaced_by_iterations,
    set_by_iterations,
    best_in_nested_loops,
    row_replaced_in_a_closure,
    made_by_a_factory,
    made_by_a_factory_in_iterations,
    kept_by_its_factory,
    by_default,
    default_with_another_name,
    by_default_in_a_while,
    asked_first,
    in_an_attribute,
]
UNBOUNDED = {by_default_in_a_while, means_of_groups}  # with lists, or keys, that a bare `jax.jit` cannot return
EXAMPLES = [np.array(xs, np.float32) for xs in ([1.0, -2.0, 3.0, 0.5, -1.0], [-1.0, 2.0, -3.0, 0.25, 5.0])]


@pytest.mark.parametrize("program", PROGRAMS)
def test_what_is_put_into_containers_is_there_as_in_python(program):
    compiled = [ag.function(program)] + ([] if program in UNBOUNDED else [jax.jit(ag.convert(program))])
    for xs in EXAMPLES:
        wanted = program(xs)
        for run in compiled:
            assert not list(differences(wanted, run(jnp.asarray(xs))))


@pytest.mark.parametrize("program", [replaced_on_both, written_before_it_is_replaced, made_by_a_factory])
def test_what_is_put_into_containers_is_there_in_each_row_and_in_derivatives(program):
    def number(xs):
        return sum(jnp.sum(jnp.asarray(leaf, float)) for leaf in jax.tree.leaves(ag.convert(program)(xs)[0]))

    if program is not made_by_a_factory:
        rows = jax.vmap(ag.convert(program))(jnp.asarray(EXAMPLES))
        for k, xs in enumerate(EXAMPLES):
            assert not list(differences(program(xs), jax.tree.map(lambda leaf, k=k: leaf[k], rows)))
    for xs in EXAMPLES:
        check_grads(number, (jnp.asarray(xs),), 1, ("rev",), rtol=1e-2, atol=1e-2)


def test_a_list_that_iterations_replace_and_another_name_refers_to_is_refused():
    def program(xs):
        one = [5.0]
        found = {7: one, 8: one}

        def put(v):
            found[7] = [v]

        for x in xs:
            put(x)
        found[8][0] += 1.0
        found[7][0] += 1.0
        return found

    with pytest.raises(ag.StagingError, match=r"found\[8\]\[0\] \+= 1.0[\s\S]*selected[\s\S]*Write to a copy"):
        ag.function(program)(jnp.asarray(EXAMPLES[0]))


class Edges:
    def __init__(self):
        self.held = {}

    def add(self, a, b, weight):
        for each in (a, b):
            if each not in self.held:
                self.held[each] = {}
        if a != b:
            self.held[a][b] = weight
            self.held[b][a] = weight


@pytest.mark.parametrize("places", [(1, 2), (0, 2), (1, 1)])
def test_empty_dicts_in_a_dict_of_traced_keys(places):
    def program(a, b, weight):
        edges = Edges()
        edges.add(a, b, weight)
        edges.add(0, b, weight + 1)
        return edges.held

    found = ag.function(program)(*map(jnp.int32, places), jnp.int32(3))
    assert jax.tree.map(int, found) == program(*places, 3)
