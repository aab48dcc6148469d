"""Keys of dicts, and elements of sets, that are None, or a sentinel, on some paths."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag

MISSING = object()


def found_in_dicts(x):
    v = None
    if x > 0:
        v = 2
    known = {None: 1, 2: 20, 3: 30}
    return known[v], known.get(v, 5), v in known, v in known.keys(), v in {None: 1}.keys(), {2: 7}.get(v, 5)


def found_in_a_dict_by_path(x):
    v = None
    if x > 0:
        v = 2
    known = {None: 1, 2: 20}
    if x > 1:
        known[3] = 5
    return v in known, known.get(v, 7), known.get(3, 0)


def a_key_that_is_not_there(x):
    v = None
    if x > 0:
        v = 2
    known = {2: 20, 3: 30}
    try:
        found = known[v]
    except KeyError:
        found = -1
    return found, v in known


def a_string_or_none(x):
    v = None
    if x > 0:
        v = "a"
    known = {None: 1, "a": 20}
    return known[v], known.get(v, 3), v in known, v in ("a", "b"), v in {"a": 1}


def a_sentinel(x):
    v = MISSING
    if x > 0:
        v = 2
    known = {MISSING: 1, 2: 20}
    return known[v], known.get(v, 3), v in known


def a_tuple_or_none(x):
    v = None
    if x > 0:
        v = (2, 3)
    known = {None: 1, (2, 3): 20}
    return known[v], v in known, known.get(v)


def items_written(x):
    v = None
    if x > 0:
        v = 2
    known = {None: 1.0, 2: 20.0}
    known[v] += 1.5
    known[v] = known[v] * 2
    return known[None], known[2]


def counted_in_a_loop(x):
    counts, last = {}, None
    for k in range(4):
        counts[last] = counts.get(last, 0) + 1
        if x > k:
            last = k % 2
    return counts[None], counts.get(0, 0), counts.get(1, 0), len(counts)


def set_by_default_and_popped(x):
    v = None
    if x > 0:
        v = 2
    known, others = {2: 20}, {2: 20, None: 4}
    known.setdefault(v, 4)
    return len(known), others.pop(v), len(others)


def added_to_a_set(x):
    v = None
    if x > 0:
        v = 1.5
    seen = set()
    seen.add(v)
    seen.add(None)
    return len(seen), v in seen, len({v, None, 2}), len(set([v, v, 3]))


def discarded(x):
    v = w = None
    if x > 0:
        v = 1.5
    seen = {0.5}
    if v is not None:
        seen.add(v)
    if x > 1:
        w = 1.5
    seen.add(w)
    seen.discard(None)
    return len(seen), w in seen, 0.5 in seen, None in seen


PROGRAMS = [
    *(found_in_dicts, found_in_a_dict_by_path, a_key_that_is_not_there, a_string_or_none, a_sentinel, a_tuple_or_none),
    *(items_written, counted_in_a_loop, set_by_default_and_popped, added_to_a_set, discarded),
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_as_python(program):
    compiled = ag.function(program)
    for x in (2.0, 1.0, -1.0):
        found, wanted = compiled(jnp.float32(x)), program(x)
        assert [float(each) for each in found] == [float(each) for each in wanted]


@pytest.mark.parametrize("program", [found_in_dicts, a_string_or_none, items_written, added_to_a_set])
def test_in_a_batch(program):
    xs = np.array([2.0, -1.0, 1.0], np.float32)
    found = jax.vmap(ag.convert(lambda x: [value * 1.0 for value in program(x)]))(xs)
    np.testing.assert_array_equal(np.stack(found, 1), [[float(each) for each in program(x)] for x in xs])
