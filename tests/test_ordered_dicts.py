"""`OrderedDict`, and the first keys of dicts, where only the run knows the keys."""

from __future__ import annotations

from collections import OrderedDict

import jax
import jax.numpy as jnp
import pytest

import autograph as ag
from tests.agreement import agrees_when_compiled


def counted(xs):
    counts = OrderedDict()
    for x in xs:
        counts[x % 3] = counts.get(x % 3, 0) + 1
    return list(counts), list(counts.items()), counts


class Cache:
    def __init__(self, size):
        self.size = size
        self.data = OrderedDict()

    def get(self, key):
        if key not in self.data:
            return -1
        self.data.move_to_end(key)
        return self.data[key]

    def put(self, key, value):
        if key in self.data:
            self.data.move_to_end(key)
        self.data[key] = value
        if len(self.data) > self.size:
            self.data.popitem(last=False)


def least_recently_used(xs):
    cache, found = Cache(2), []
    for x in xs:
        found.append(cache.get(x))
        cache.put(x, 10 * x)
    return found, list(cache.data)


def oldest_dropped(xs):
    cache = {}
    for x in xs:
        if x in cache:
            cache[x] = cache.pop(x)
        else:
            cache[x] = x
            if len(cache) > 2:
                oldest = next(iter(cache))
                del cache[oldest]
    return list(cache)


def both_ends(xs):
    sums = OrderedDict([(9, 0)])
    for x in xs:
        sums[x] = sums.get(x, 0) + x
    sums.move_to_end(xs[2], last=False)
    return sums.popitem(), sums.popitem(False), sums.popitem(last=True), list(sums), sums == {1: 2}


def first_ones(xs):
    kept = {}
    for x in xs:
        kept[x] = 2 * x
    keys = iter(kept)
    first = next(keys), next(keys)
    return first, [key for key in keys], next(iter(kept.values())), next(iter(kept.items()))


PROGRAMS = [counted, least_recently_used, oldest_dropped, both_ends, first_ones]
EXAMPLES = ([3, 1, 4, 3, 2, 1, 3], [1, 1, 2, 3, 2, 4, 4], [5, 6, 7, 5, 6, 7, 5])


def as_numbers(value):
    if isinstance(value, dict):
        return type(value)((key, as_numbers(part)) for key, part in value.items())
    return type(value)(map(as_numbers, value)) if isinstance(value, list | tuple) else int(value)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_as_python(program):
    compiled = ag.function(program)
    for xs in EXAMPLES:
        assert as_numbers(compiled(jnp.array(xs))) == program(xs)


def test_in_batches():
    def hits(xs):
        return sum(each > 0 for each in least_recently_used(xs)[0])

    assert jax.vmap(ag.function(hits))(jnp.array(EXAMPLES)).tolist() == [hits(xs) for xs in EXAMPLES]


def test_a_key_that_is_not_there():
    def f(x):
        kept = OrderedDict()
        kept[x] = 1
        kept.move_to_end(x + 1)
        return kept

    with pytest.raises(KeyError):
        jax.block_until_ready(ag.function(f)(jnp.array(1)))


def test_methods_that_other_dicts_do_not_have():
    def f(x):
        kept = {x: 1}
        kept.move_to_end(x)
        return kept

    with pytest.raises(AttributeError, match="move_to_end"):
        ag.function(f)(jnp.array(1))
    with pytest.raises(TypeError, match="popitem"):
        ag.function(lambda x: {x: 1}.popitem(last=False))(jnp.array(1))


def popped_or_default(x):
    found = OrderedDict()
    if x > 2:
        found[0] = x
    taken = found.pop(0, 3)
    found[1] = taken
    found[0] = x
    return taken, list(found.items())


def removed_or_not(x):
    found = OrderedDict(a=1, b=2)
    if x > 2:
        del found["a"]
    if "a" in found:
        del found["a"]
    found["c"] = x
    return list(found.items())


@pytest.mark.parametrize("program", [popped_or_default, removed_or_not])
def test_keys_that_a_path_has_set_or_deleted_leave_the_order(program):
    agrees_when_compiled(program, (1,), (6,))


class Recent(OrderedDict):
    pass


def test_a_dict_of_a_class_of_the_users_is_returned_in_its_order():
    def recent(x):
        made = Recent()
        made["b"] = x
        made["a"] = 2 * x
        return made

    found = ag.function(recent)(jnp.array(2))
    assert type(found) is Recent and [(key, int(value)) for key, value in found.items()] == [("b", 2), ("a", 4)]
    found.move_to_end("b")
    assert list(found) == ["a", "b"]
