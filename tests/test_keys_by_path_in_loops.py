"""Keys of dicts, and attributes of objects, that only some iterations set or delete: Python's answers and errors."""

from __future__ import annotations

import collections

import jax.numpy as jnp
import pytest

import autograph as ag
from tests import staged
from tests.agreement import differences
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
    assert outcome(staged.function(function), x, jnp.array(n)) == outcome(function, x, jnp.array(n))


def counted_by_kind(x, n):
    counts, totals = {}, collections.defaultdict(float)
    for i in range(n):
        if x[i] < 0:
            kind = "negative"
        else:
            kind = "positive"
        counts[kind] = counts.get(kind, 0) + 1
        if x[i] < 2:
            totals["small"] += x[i]
        else:
            totals["large"] += x[i]
    return counts, {"all": dict(totals)}


def lists_first_set_at_a_key_of_a_path(x, n):
    groups = {}
    for i in range(n):
        kind = "negative" if x[i] < 0 else "positive"
        if kind in groups:
            groups[kind].append(x[i])
        else:
            groups[kind] = [x[i]]
    return groups


def lists_made_where_a_key_of_a_path_is_missing(x, n):
    groups = {}
    for i in range(n):
        kind = "negative" if x[i] < 0 else "positive"
        if kind not in groups:
            groups[kind] = []
        groups[kind].append(x[i])
    return groups


def lists_set_anew_at_a_key_of_a_path(x, n):
    last = {"negative": [0.0], "positive": [1.0]}
    for i in range(n):
        kind = "negative" if x[i] < 0 else "positive"
        if x[i] > 2:
            last[kind] = [x[i]]
        else:
            last[kind].append(x[i])
    return last


@pytest.mark.parametrize(
    "function",
    [
        lists_first_set_at_a_key_of_a_path,
        lists_made_where_a_key_of_a_path_is_missing,
        lists_set_anew_at_a_key_of_a_path,
    ],
    ids=lambda function: function.__name__,
)
@pytest.mark.parametrize("count", [int, jnp.asarray], ids=["unrolled", "staged"])
def test_a_list_at_a_key_of_a_path_is_not_that_at_another(function, count):
    compiled = ag.function(function)
    for x in ([1.0, -1.0, 3.0, -2.0], [3.0, 1.0, 1.0, 4.0], [-1.0, -2.0, -3.0, 5.0]):
        found = compiled(jnp.array(x), count(4))
        assert {k: [float(v) for v in vs] for k, vs in found.items()} == function(x, 4)


def test_one_list_at_two_keys_of_a_path_is_refused():
    def f(x, n):
        groups = {"negative": [0.0], "positive": [1.0]}
        for i in range(n):
            kind = "negative" if x[i] < 0 else "positive"
            other = "negative" if x[i] < 2 else "positive"
            new = [x[i]]
            groups[kind] = new
            groups[other] = new
            groups["negative"].append(1.0)
        return groups

    with pytest.raises(ag.StagingError, match="writes a list.* that a traced condition selected"):
        ag.function(f)(jnp.array([1.0, -1.0]), jnp.array(2))


@pytest.mark.parametrize("x", [[1.0, -1.0, 3.0], [3.0, 1.0, 1.0], [-1.0, -2.0, -3.0]])
def test_a_dict_is_returned_whatever_the_order_of_its_keys_is(x):
    """As all dicts that are returned, with sorted keys where the paths differ in their order."""
    found = ag.function(counted_by_kind)(jnp.array(x), 3)
    assert found == counted_by_kind(x, 3)


def test_an_ordered_dict_whose_order_only_run_time_knows():
    def f(x):
        counts = collections.OrderedDict()
        for v in x:
            kind = "negative" if v < 0 else "positive"
            counts[kind] = counts.get(kind, 0) + 1
        return counts

    for xs in ([1.0, -1.0], [-1.0, 1.0], [2.0, 2.0]):
        found = staged.function(f)(jnp.array(xs))
        assert type(found) is collections.OrderedDict and found == f(xs)


def grouped_by_an_exception(xs):
    groups, misses = {}, 0
    for v in xs:
        key = "even" if v % 2 == 0 else "odd" if v > 2 else "one"
        try:
            groups[key].append(v)
        except KeyError:
            groups[key] = [v]
            misses += 1
    return groups, misses, list(groups)


def counted_by_an_exception(xs):
    counts = {}
    for v in xs:
        key = ("even", v % 3) if v % 2 == 0 else ("odd", v % 3)
        try:
            counts[key] += 1
        except KeyError:
            counts[key] = 1
    return sum(counts.values()), len(counts)


class Groups:
    def __init__(self):
        self.held = {}

    def add(self, v):
        key = "even" if v % 2 == 0 else "odd"
        try:
            self.held[key].append(v)
        except KeyError:
            self.held[key] = [v]


def grouped_by_an_object(xs):
    groups = Groups()
    for v in xs:
        groups.add(v)
    return groups.held


@pytest.mark.parametrize("f", [grouped_by_an_exception, counted_by_an_exception, grouped_by_an_object])
@pytest.mark.parametrize("xs", [[1, 2, 3, 4], [2, 4, 6, 1], [2, 4, 6, 8]])
def test_a_handler_sets_a_key_that_differs_by_iteration(f, xs):
    assert list(differences(f(xs), staged.function(f)(jnp.array(xs)))) == []


@pytest.mark.parametrize("x", [3, -3])
def test_a_handler_waits_for_a_key_that_differs_by_path(x):
    def f(x):
        held = {}
        held["n"] = 2
        try:
            found = held["n" if x > 0 else "m"]
        except KeyError:
            found = -1
        held["text"] = "t"
        return found, [x] * held["n"], len(held), held["text"]

    assert list(differences(f(x), ag.function(f)(jnp.array(x)))) == []
