"""Truth values of a loop that are said to be alike are so after any number of iterations."""

from __future__ import annotations

import random
import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from autograph.backends.base import LeafType, Output
from autograph.backends.xla.congruence import alike

BOOL = LeafType((), np.dtype(bool))
COUNT = 4
OPERATIONS = {
    "select": lambda p, a, b: jax.lax.select_n(p, a, b),
    "not": lambda p, a, b: ~a,
    "and": lambda p, a, b: a & b,
    "or": lambda p, a, b: a | b,
    "xor": lambda p, a, b: a ^ b,
    "true": lambda p, a, b: jnp.bool_(True),
    "same": lambda p, a, b: a,
    "where": lambda p, a, b: jnp.where(p, True, a),
    "nowhere": lambda p, a, b: jnp.where(p, a, False),
    "loop": lambda p, a, b: jax.lax.fori_loop(0, 2, lambda _, c: (c[1] | p, c[0] | p), (a, b))[0],
    "scan": lambda p, a, b: jax.lax.scan(lambda c, _: ((c[0] & p, ~c[1]), None), (a, b), length=3)[0][1],
}


def body(seed):
    """An iteration of truth values, and what changes from one to the next."""
    choose = random.Random(seed)
    steps = [(choose.choice(list(OPERATIONS)), *choose.choices(range(30), k=3)) for _ in range(choose.randint(2, 7))]
    left = choose.choices(range(30), k=COUNT)

    def iteration(*values):
        *carry, _, p, q = values
        known = [*carry, p, q]
        for name, *places in steps:
            known.append(OPERATIONS[name](*(known[place % len(known)] for place in places)))
        return [known[-1 - place % min(len(known), 5)] for place in left]

    return iteration


def spec_of(iteration, start):
    program = jax.make_jaxpr(iteration)(*[True] * COUNT, 0, True, True)
    return types.SimpleNamespace(
        body=types.SimpleNamespace(program=program),
        carry=[(value, BOOL) for value in start],
        inputs=COUNT,
        results=[Output(k, BOOL) for k in range(COUNT)],
    )


@pytest.mark.parametrize("seed", range(60))
def test_groups_hold(seed):
    choose = random.Random(-1 - seed)
    iteration = body(seed)
    run = jax.jit(iteration)
    start = choose.choices([True, False], k=COUNT)
    groups = alike(spec_of(iteration, start))
    for _ in range(6):
        values = start
        for _ in range(4):
            for group in groups:
                assert len({bool(values[k]) == truth for k, truth in group.items()}) == 1
            values = run(*values, 0, *choose.choices([True, False], k=2))


def test_a_flag_and_its_opposite():
    def iteration(found, missing, other, bound, _, p, q):
        return (
            jnp.where(p, True, found),
            jnp.where(p, False, missing),
            jnp.where(q, True, other),
            jnp.where(p, True, bound),
        )

    (group,) = alike(spec_of(iteration, [False, True, False, False]))
    assert group in ({0: True, 1: False, 3: True}, {0: False, 1: True, 3: False})
    assert not any(0 in group for group in alike(spec_of(iteration, [False, False, True, True])))
