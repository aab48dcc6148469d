"""Dicts that a comprehension makes over a list of traced length, whose values are lists, dicts or objects that are written later."""

from __future__ import annotations

import jax.numpy as jnp
import pytest

import autograph as ag
from tests.agreement import differences


class Group:
    def __init__(self, key):
        self.key = key
        self.places = []


def of_lists(xs):
    kept = [v for v in xs if v > 1]
    places = {v: [v] for v in kept}
    for k, v in enumerate(xs):
        if v > 1:
            places[v].append(k)
    return places, [sum(places[v]) for v in kept]


def of_sorted_elements(xs):
    places = {v: [] for v in sorted(set(xs))}
    for k, v in enumerate(xs):
        places[v].append(k)
    return [len(places[v]) for v in xs], list(places)


def of_dicts(xs):
    counts = {v: {"first": k, "places": []} for k, v in enumerate(xs) if v > 1}
    for k, v in enumerate(xs):
        if v > 1:
            counts[v]["first"] += k
            counts[v]["places"].append(k)
    return [(counts[v]["first"], counts[v]["places"]) for v in xs if v > 1]


def of_objects(xs):
    groups = {v: Group(v) for v in xs if v > 1}
    for k, v in enumerate(xs):
        if v in groups:
            groups[v].places.append(k)
            groups[v].key += 1
    return [(groups[v].key, len(groups[v].places)) for v in xs if v > 1]


@pytest.mark.parametrize("program", [of_lists, of_sorted_elements, of_dicts, of_objects])
def test_values_may_be_written(program):
    compiled = ag.function(program)
    for row in ([1, 2, 3, 2], [1, 1, 1, 1], [5, 2, 5, 5]):
        given = [*map(jnp.int32, row)]
        assert list(differences(program(row), compiled(given))) == []


def one_for_all(xs):
    shared = []
    places = {v: shared for v in xs if v > 1}  # noqa: C420
    for k, v in enumerate(xs):
        places[v].append(k)
    return shared


def of_another_list(xs):
    kept = [v for v in xs if v > 1]
    rows = [[v] for v in kept]
    places = {v: row for v, row in zip(kept, rows, strict=True)}
    for k, v in enumerate(xs):
        places[v].append(k)
    return rows


def of_another_dict(xs):
    places = {v: [v] for v in xs if v > 1}
    others = {v: row for v, row in places.items()}
    for k, v in enumerate(xs):
        others[v].append(k)
    return places


def kept_elsewhere(xs):
    rows = []

    def made(v):
        row = [v]
        rows.append(row)
        return row

    places = {v: made(v) for v in xs if v > 1}
    for k, v in enumerate(xs):
        places[v].append(k)
    return rows


@pytest.mark.parametrize("program", [one_for_all, of_another_list, of_another_dict, kept_elsewhere])
def test_values_that_others_have_are_not(program):
    with pytest.raises(ag.StagingError, match="may be in two places of a list"):
        ag.function(program)([*map(jnp.int32, [5, 2, 5, 5])])
