"""Displays that an object is given when it is made, whose lists methods or statements make longer under traced conditions."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from tests.agreement import agrees_when_compiled
from tests.outcomes import agrees_when_transformed

X, Y = np.array([3.0, 1.0, 2.5, 0.5, 4.0]), np.array([0.25, 2.0, -3.0, 1.5, 2.0])


class Holder:
    def __init__(self, start, name="x"):
        self.kept = start
        self.name = name


class Graph:
    def __init__(self, *, edges):
        self.edges = edges

    def add(self, a, b):
        self.edges[a].append(b)


@dataclasses.dataclass
class Table:
    rows: list
    by_name: dict


def weighted(numbers):
    total = 0.0
    for n in numbers:
        total = 2 * total + n
    return total


def in_an_attribute(x):
    holder = Holder([1.0])
    for v in x:
        if v > 1:
            holder.kept.append(v)
    return weighted(holder.kept)


def in_dicts(x):
    holder = Holder({"a": {"xs": [1.0]}})
    for v in x:
        if v > 1:
            holder.kept["a"]["xs"].append(v)
    return weighted(holder.kept["a"]["xs"])


def in_lists(x):
    holder = Holder([[1.0], [2.0, 3.0]], "y")
    for v in x:
        if v > 1:
            holder.kept[0].append(v)
        else:
            holder.kept[1].append(v)
    return weighted(holder.kept[0]), weighted(holder.kept[1])


def by_a_method(x):
    graph = Graph(edges={"a": [1.0], "b": []})
    for v in x:
        graph.add("a" if v > 1 else "b", v)
    return weighted(graph.edges["a"]), weighted(graph.edges["b"])


def of_a_dataclass(x):
    table = Table([[0.0]], {"k": [1.0]})
    for v in x:
        if v > 1:
            table.rows[0].append(v)
        else:
            table.by_name["k"] += [v]
    return weighted(table.rows[0]), weighted(table.by_name["k"])


def of_an_object_in_a_dict(x):
    objects = {"o": Holder([[1.0], [2.0]])}
    for v in x:
        if v > 1:
            objects["o"].kept[0].append(v)
    return weighted(objects["o"].kept[0]), weighted(objects["o"].kept[1])


def of_a_variable(x):
    first = [1.0, 2.0]
    holder = Holder(first)
    for v in x:
        if v > 1:
            holder.kept.append(v)
    return weighted(first), len(first)


def in_a_helper(x):
    def add(to, v):
        to.kept["xs"].append(v)

    holder = Holder({"xs": [0.0]})
    for v in x:
        if v > 1:
            add(holder, v)
    return weighted(holder.kept["xs"])


PROGRAMS = [
    in_an_attribute, in_dicts, in_lists, by_a_method, of_a_dataclass, of_an_object_in_a_dict, of_a_variable, in_a_helper,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_like_plain_python(program):
    agrees_when_compiled(program, (X,), (Y,))
    agrees_when_transformed(program, X, beside=Y)
