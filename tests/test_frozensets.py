"""Frozensets of elements that only run time knows, and displays of sets with stars."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

import autograph as ag
from tests import staged
from tests.agreement import differences


def read(xs, k):
    s = frozenset(xs)
    return len(s), sum(s), max(s), sorted(s), k in s, bool(s), s == set(xs), s <= {1, 2, 3, 5}


def combined(xs, k):
    s, t = frozenset(xs), frozenset([k, 2])
    return len(s | t), sorted(s & t), sorted(s - t), sorted(s ^ {k}), s.isdisjoint(t), len(s.union([k + 7], t))


def of_one_branch(xs, k):
    s = frozenset()
    if k > 1:
        s = frozenset(xs)
    return len(s), sorted(s)


def grown(xs, k):
    s = frozenset()
    for v in xs:
        if v > k:
            s = s | {v}
    return s


def rebound(xs, k):
    s = t = frozenset(xs)
    s |= {k + 50}
    return len(s), len(t), s > t


def of_a_generator(xs, k):
    return len(frozenset(v for v in xs if v > k)), frozenset(v % 2 for v in xs)


def known_and_traced(xs, k):
    s = frozenset([1, 2, 3])
    return (
        s.union(xs),
        s.difference(xs),
        s & set(xs),
        set(xs) | s,
        k in s,
        frozenset.union(s, xs),
        set.union(set(xs), {k}),
    )


def unions(xs, k):
    return set.union(*[set(xs), {k}]), frozenset.intersection(*map(frozenset, (xs, [k, 1])))


def classes(xs, k):
    s = frozenset(xs)
    found = {k} & s, s & {k}, s.copy() is s, frozenset(s) is s
    return (
        [isinstance(each, frozenset) for each in (s, *found[:2])],
        type(s) is frozenset,
        found[2:],
        isinstance(s, set),
    )


def kept(xs, k):
    held = {"a": frozenset(xs), "b": frozenset([k])}
    return held["a"] & held["b"], held


def displayed(xs, k):
    s, t = set(xs), frozenset([k, 2])
    return {*s, *t}, len({*xs, 3, *{1, 2}}), {*s} | {k}


def added(xs, k):
    total = k
    for v in frozenset(xs):
        total += v
    return total


PROGRAMS = [
    read,
    combined,
    of_one_branch,
    grown,
    rebound,
    of_a_generator,
    known_and_traced,
    unions,
    classes,
    kept,
    displayed,
    added,
]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_they_are_as_in_python(f):
    calls = [([5, 3, 5, 2], 1), ([1, 1, 1, 1], 2), ([2, 4, 3, 9], 3)]
    expected = [f(*call) for call in calls]
    compiled = ag.function(f)
    for (xs, k), value in zip(calls, expected, strict=True):
        assert list(differences(value, compiled([*map(jnp.array, xs)], jnp.array(k)))) == []


def test_they_run_under_a_bare_jit_and_vmap():
    def f(xs, k):
        s, t = frozenset(xs), frozenset([k, 2])
        if k in s:
            t = s | t
        return len(s), sum(s - t), max({*s, *t}), s <= t

    calls = [([5, 3, 5, 2], 3), ([1, 1, 1, 1], 2), ([2, 4, 3, 9], 3)]
    expected = [f(*call) for call in calls]
    for (xs, k), value in zip(calls, expected, strict=True):
        assert list(differences(value, staged.jitted(f)([*map(jnp.array, xs)], jnp.array(k)))) == []
    batch = jax.vmap(ag.convert(f))([*jnp.array([xs for xs, _ in calls]).T], jnp.array([k for _, k in calls]))
    for number, value in enumerate(expected):
        assert list(differences(value, jax.tree.map(lambda leaf: leaf[number], batch))) == []  # noqa: B023


@pytest.mark.parametrize(
    "name", ["add", "discard", "remove", "update", "pop", "clear", "difference_update", "symmetric_difference_update"]
)
def test_there_is_no_method_that_writes(name):
    def f(x):
        return getattr(frozenset([x, x + 1]), name)(1)

    for run in (f, ag.function(f)):
        with pytest.raises(AttributeError, match=f"'frozenset' object has no attribute '{name}'"):
            run(jnp.array(1) if run is not f else 1)


def test_as_a_key_it_is_refused():
    def f(x):
        return {frozenset([x, x + 1]): 1}

    with pytest.raises(
        ag.StagingError,
        match=r"A frozenset, some elements of which are traced, is used as a key(.|\n)*tuple\(sorted\(s\)\)",
    ):
        ag.function(f)(jnp.array(1))
