"""Datasets in comprehensions, generator expressions and builtins, where their elements decide how many there are."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag

Data = ag.Dataset

PROGRAMS = {
    "scan": lambda n: [v for v in Data.range(5).scan(n, lambda s, x: (s + x, s * x))],
    "filter": lambda n: [v * v for v in Data.range(9).filter(lambda x: x > n)],
    "take_while, a condition": lambda n: [v for v in Data.range(9).take_while(lambda x: x < 3 * n) if v % 2 == 0],
    "a traced size": lambda n: [v + n for v in Data.range(n)],
    "two datasets": lambda n: [[w for w in Data.range(4).filter(lambda x: x > v)] for v in Data.range(3)],
    "two clauses": lambda n: [v * w for v in Data.range(4).filter(lambda x: x > n) for w in range(2)],
    "tuples": lambda n: [a - b for a, b in Data.zip(Data.range(4), Data.range(5)).filter(lambda a, b: a >= n)],
    "enumerate": lambda n: [k * v for k, v in enumerate(Data.range(9).filter(lambda x: x > n), 2)],
    "list, tuple": lambda n: (list(Data.range(9).filter(lambda x: x > n)), tuple(Data.range(n))),
    "sum, max": lambda n: (sum(Data.range(9).filter(lambda x: x > n)), max(Data.range(n + 1))),
    "any, all": lambda n: (
        any(v > 7 for v in Data.range(9).filter(lambda x: x > n)),
        all(v > 7 for v in Data.range(9).filter(lambda x: x > n)),
    ),
    "sorted, in": lambda n: (sorted(Data.range(9).filter(lambda x: x > n), reverse=True), 1 in Data.range(n)),
    "batches": lambda n: [b.sum() for b in Data.range(9).filter(lambda x: x > n).batch(3, drop_remainder=True)],
}


def numbers(found):
    return jax.tree.map(lambda leaf: np.asarray(leaf).tolist(), found)


@pytest.mark.parametrize("name", PROGRAMS)
def test_their_elements_are_those_that_python_has(name):
    program = PROGRAMS[name]
    compiled = ag.function(program)
    for n in (1, 3):
        assert numbers(compiled(jnp.array(n))) == numbers(program(n))


def test_a_comprehension_reads_a_dataset_that_is_an_argument():
    @ag.function
    def squares(data, n):
        total = 0
        for _ in range(n):
            total += sum([v * v for v in data])
        return total

    assert squares(Data.range(5).filter(lambda x: x > 2), jnp.array(2)) == 2 * (9 + 16)
