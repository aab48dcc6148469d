"""Lists of the elements of a set that only run time knows: what does not depend on their order is Python's, the rest is refused."""

from __future__ import annotations

import bisect
import collections
import functools
import heapq
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests import staged
from tests.agreement import differences


def distinct(xs):
    return sorted(list(set(xs)))


def counted(xs):
    items = list(set(xs))
    return (
        len(items),
        sum(items),
        max(items),
        min(items),
        3 in items,
        items.count(5),
        bool(items),
        isinstance(items, list),
    )


def sorted_in_place(xs):
    items = list(set(xs))
    items.sort(reverse=True)
    if xs[0] > 2:
        items.append(9)
    return items


def sorted_in_a_loop(xs):
    total = 0
    for x in xs:
        items = list(set(xs))
        items.sort()
        total += items[-1] - x + bisect.bisect_left(items, 3)
    return total


def listed_again(xs):
    items = list(set(xs))
    others = list(items)
    others.sort()
    return others[0], set(items), len(others)


def median(items):
    ordered = sorted(items)
    return ordered[len(ordered) // 2]


def given_to_a_function(xs):
    return median(list(set(xs)))


def comprehensions(xs):
    return sorted([v * v for v in set(xs)]), len([v for v in set(xs) if xs.count(v) > 1]), len({v % 2 for v in set(xs)})


def generators(xs):
    items = set(xs)
    return (
        sum(v * 2 for v in items),
        all(v > 0 for v in items),
        any(v > 4 for v in items),
        max(v % 4 for v in items if v != 3),
        min((v for v in items if v > 90), default=-1),
        sorted(v * v for v in items if v > 2),
    )


PROGRAMS = [
    distinct,
    counted,
    sorted_in_place,
    sorted_in_a_loop,
    listed_again,
    given_to_a_function,
    comprehensions,
    generators,
]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("xs", [[5, 3, 5, 2], [1, 1, 1, 1]])
def test_what_needs_no_order_is_pythons(f, xs):
    if f is generators and xs[0] == 1:
        xs = [7, 7, 1, 1]
    assert list(differences(f(xs), staged.function(f)([*map(jnp.array, xs)]))) == []


@pytest.mark.parametrize("f", [counted, sorted_in_a_loop, given_to_a_function])
def test_under_transforms(f):
    rows = jnp.array([[5, 3, 5, 2], [1, 1, 9, 1]])
    expected = [f(row.tolist()) for row in rows]
    assert list(differences(expected[0], jax.jit(ag.convert(f))(rows[0]))) == []
    found = jax.vmap(ag.convert(f))(rows)
    for k in range(2):
        assert (
            list(differences(expected[k], jax.tree.map(lambda leaf: leaf[k] if jnp.ndim(leaf) else leaf, found))) == []
        )  # noqa: B023


ORDERED = [
    lambda items: items[0],
    lambda items: items[1:],
    lambda items: [1, *items],
    lambda items: [1] + items,
    lambda items: items + [1],
    lambda items: items * 2,
    lambda items: items == [2, 3, 5],
    lambda items: list(enumerate(items)),
    lambda items: list(zip(items, items, strict=True)),
    lambda items: list(map(lambda v: v + 1, items)),
    lambda items: max(items, key=lambda v: v % 2),
    lambda items: items.index(3),
    lambda items: items.pop(),
    lambda items: items.reverse(),
    lambda items: items.sort(key=lambda v: v % 2),
    lambda items: next(iter(items)),
    lambda items: str(items),
    lambda items: f"{items}",
    lambda items: print(items),
    lambda items: "".join([str(v) for v in items]),
    lambda items: list({v: 1 for v in items}),
    lambda items: {"a": items},
    lambda items: tuple(items),
    lambda items: jnp.array(items),
    lambda items: np.mean(items),
    lambda items: np.sort(items),
    lambda items: print(*items),
    lambda items: max(*items),
    lambda items: functools.reduce(lambda a, b: 2 * a + b, items),
    lambda items: list(itertools.accumulate(items)),
    lambda items: list(itertools.combinations(items, 2)),
    lambda items: collections.deque(items),
    lambda items: list(dict.fromkeys(items)),
    lambda items: heapq.heapify(items),
    lambda items: (items, 1)[0][0],
    lambda items: items.copy()[0],
    lambda items: [v + 1 for v in items],
    lambda items: items,
]


@pytest.mark.parametrize("use", ORDERED)
def test_what_depends_on_the_order_is_refused(use):
    def program(xs):
        return use(list(set(xs)))

    for transform in (ag.function, lambda f: jax.jit(ag.convert(f))):
        with pytest.raises(ag.StagingError, match="order of a set.*\n.*sorted"):
            transform(program)(jnp.array([3, 5, 2, 3]))


def test_what_is_done_for_each_element_is_refused():
    def program(xs):
        seen = []

        def note(v):
            seen.append(v)
            return v

        return sum(note(v) for v in set(xs)), seen

    with pytest.raises(ag.StagingError, match="Something is done here for each element, in the order of a set"):
        ag.function(program)(jnp.array([3, 5, 2, 3]))


def test_a_list_of_a_set_is_sorted_where_it_is_made():
    def program(xs):
        items = list(set(xs))
        if len(items) > 2:
            items.sort()
        return items

    with pytest.raises(ag.StagingError, match="was made before"):
        ag.function(program)(jnp.array([3, 5, 2, 3]))


def test_extension_by_a_list_of_a_set_is_refused():
    def program(xs):
        items = [1]
        items.extend(list(set(xs)))
        return items

    with pytest.raises(ag.StagingError, match="order of a set"):
        ag.function(program)(jnp.array([3, 5, 2, 3]))
