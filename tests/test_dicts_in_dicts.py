"""Dicts, sets and deques in a dict that are selected by a traced key and written."""

from __future__ import annotations

import collections

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests import staged


def plain(value):
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, dict):
        return type(value).__name__, {plain(key): plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple | collections.deque):
        return [plain(part) for part in value]
    return {plain(part) for part in value} if isinstance(value, set) else value


def dicts(k, w):
    found = {0: {}, 1: {}}
    found[k][w] = 1
    return found, found[0].get(2, 0), found[1].get(2, 0)


def tables(k, w):
    counts = {0: {0: 0, 1: 0, 2: 0}, 1: {0: 5, 1: 6, 2: 7}}
    counts[k][w] += 1
    return counts


def sets(k, w):
    seen = {0: set(), 1: set()}
    for n in range(w):
        if n not in seen[(k + n) % 2]:
            seen[k].add(n)
    return seen, len(seen[k])


def default_dicts(k, w):
    counts = {0: collections.defaultdict(int), 1: collections.defaultdict(int)}
    counts[k][w] += 1
    return counts[0][2], counts[1][2], counts[k]


def ordered_dicts(k, w):
    rows = {0: collections.OrderedDict(), 1: collections.OrderedDict()}
    rows[k][w] = 1
    return rows


def of_names(k, w):
    found = {0: {}, 1: {}}
    one, other = found[k], found[0]
    one[w] = 1
    one[w + 1] = 3
    found[1 - k][0] = 9
    return found, len(one), other, w in found[k]


def default_of_defaults(k, w):
    found = collections.defaultdict(lambda: collections.defaultdict(int))
    for place, item in [(0, 1), (1, 1), (0, 2)]:
        found[(place + k) % 3][item * w] += 1
    return sum(found[k].values()), len(found), {key: dict(part) for key, part in found.items()}


def counters(k, w):
    found = collections.defaultdict(collections.Counter)
    for n in range(4):
        found[(k + n) % 2][w + n] += n
    return found[0][2], {key: dict(part) for key, part in found.items()}


def default_of_dicts(k, w):
    found = collections.defaultdict(dict)
    found[k][w] = 1
    return len(found[0]), len(found[1])


def set_by_default(k, w):
    found = {}
    found.setdefault(k, {})[w] = 1
    found.setdefault(k + 1, {})[w] = 2
    return found, len(found), found[1].get(2, 0)


def deques(k, w):
    found = collections.defaultdict(collections.deque)
    found[k].append(w)
    found[k + 1].appendleft(w)
    return len(found), found[k]


PROGRAMS = (dicts, tables, sets, default_dicts, ordered_dicts, of_names, default_of_defaults, counters)
PROGRAMS += (default_of_dicts, set_by_default, deques)
ARGUMENTS = ((1, 2), (0, 1), (1, 0), (0, 2))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_what_a_traced_key_selects_is_written_in_place(program):
    for args in ARGUMENTS:
        found = staged.function(program)(*map(jnp.asarray, args))
        assert plain(found) == plain(program(*args)), args


@pytest.mark.parametrize("program", [default_dicts, default_of_dicts, counters], ids=lambda program: program.__name__)
def test_each_row_of_a_batch_writes_its_own(program):
    def f(k, w):
        return [program(k, w)[0]]

    lanes = jax.vmap(ag.function(f))(*np.array(ARGUMENTS).T)
    for row, args in enumerate(ARGUMENTS):
        assert [leaf[row].tolist() for leaf in lanes] == f(*args)


def test_a_key_that_is_missing_raises():
    def f(k, w):
        found = {0: {}, 1: {}}
        found[k][w] = 1
        return found

    with pytest.raises(KeyError):
        ag.function(f)(jnp.int32(7), jnp.int32(1))
