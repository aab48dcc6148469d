"""`itertools` on what is known only at run time: generators with traced ends, traced predicates and bounds."""

from __future__ import annotations

import copy
import itertools
import operator

import jax
import jax.numpy as jnp
import pytest

import autograph as ag
from tests import staged
from tests.agreement import differences


def up_to(n):
    k = 0
    while k < n:
        yield k
        k += 1


def test_itertools_over_generators():
    def f(n):
        return (
            list(itertools.accumulate(up_to(n))),
            list(itertools.accumulate(up_to(n), lambda a, b: 2 * a + b, initial=1)),
            [a * b for a, b in itertools.pairwise(up_to(n))],
            list(itertools.starmap(lambda a, b: a - b, ((k, k * k) for k in up_to(n)))),
            list(itertools.dropwhile(lambda v: v < 2, up_to(n))),
            list(itertools.filterfalse(lambda v: v % 2, up_to(n))),
            list(itertools.filterfalse(None, up_to(n))),
        )

    compiled = ag.function(f)
    for n in (0, 1, 4):
        assert list(differences(f(n), compiled(jnp.array(n)))) == []


def test_itertools_over_lists_by_traced_predicates_and_bounds():
    def f(n):
        values = [n, n + 1, 3, 2 * n]
        return (
            list(itertools.takewhile(lambda v: v < 5, values)),
            list(itertools.dropwhile(lambda v: v < 5, values)),
            list(itertools.filterfalse(lambda v: v < 5, values)),
            list(itertools.islice(values, n)),
            sum(itertools.islice(range(10), 1, n)),
        )

    compiled = ag.function(f)
    for n in (0, 2, 4):
        assert list(differences(f(n), compiled(jnp.array(n)))) == []
    with pytest.raises(ValueError, match="islice"):
        compiled(jnp.array(-1))
    with pytest.raises(ag.StagingError, match="ValueError depends on a traced condition"):
        jax.jit(ag.convert(f))(2)


def test_arguments_by_keyword():
    def f(n):
        return (
            list(itertools.repeat(object=n, times=2)),
            list(itertools.repeat(object=3, times=n)),
            sum(itertools.repeat(n, times=n)),
            list(itertools.islice(itertools.count(start=n, step=2), 3)),
            list(itertools.accumulate(iterable=[n, 2], initial=n)),
            copy.copy(x=[n, 4])[0],
        )

    for n in (0, 3):
        assert list(differences(f(n), staged.function(f)(jnp.array(n)))) == []


def accumulated(k):
    def doubled(a, b):
        return a * 2 + b

    total = 0
    for v in itertools.accumulate(range(4), max if k > 0 else operator.add):
        total = total * 3 + v
    return (
        list(itertools.accumulate([1, 2, 3], max if k > 0 else operator.add)),
        list(itertools.accumulate([1, k, 3], initial=5, func=doubled if k > 1 else operator.mul)),
        next(itertools.accumulate([4, k], [max, operator.sub][k > 0])),
        total,
    )


def mapped_and_grouped(k):
    return (
        list(itertools.starmap(pow if k > 0 else operator.sub, [(1, 2), (k, 3)])),
        sum(key * sum(group) for key, group in itertools.groupby([1, 1, 2, 3], operator.neg if k > 0 else abs)),
    )


def selected(k):
    def is_small(v):
        return v < 2

    def is_smaller_than_both(v):
        return v < k + 2

    test = is_small if k > 0 else is_smaller_than_both
    return (
        sum(itertools.takewhile(test, [1, 2, 3])),
        sum(itertools.dropwhile(test, [1, 2, 3])),
        sum(itertools.filterfalse(test, [1, 2, 3])),
    )


@pytest.mark.parametrize("program", [accumulated, mapped_and_grouped, selected])
def test_functions_that_a_condition_chooses(program):
    for k in (-2, 1, 2):
        assert list(differences(program(k), staged.function(program)(jnp.array(k)))) == []
        assert list(differences(program(k), staged.jitted(program)(jnp.array(k)))) == []
    found = jax.vmap(ag.convert(program))(jnp.array([-2, 2]))
    assert list(differences(program(2), jax.tree.map(lambda leaf: leaf[1], found))) == []
