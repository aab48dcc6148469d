"""Objects that a traced condition selected, as keys of dicts and elements of sets."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

import autograph as ag
from tests import staged


class Place:
    def __init__(self, cost):
        self.cost = cost


def exchanged(x):
    """One of two objects, and both."""
    a, b = Place(1), Place(2)
    places = [a, b]
    if x > 0:
        places[0], places[1] = places[1], places[0]
    return places[0], a, b


def asked_for_a_key(x):
    n, a, b = exchanged(x)
    held = {a: 10, b: 20}
    return n in held, n not in held, n in {a: 1}, n in {a: 1}.keys(), n in {b}


def another_key(x):
    n, a, b = exchanged(x)
    c = Place(n.cost)
    held = {c: 1}
    held[c] += x
    return held[c], held.get(c), c in held, {c: 1, a: 2}[c], held.get(a, 5)


@pytest.mark.parametrize("program", [asked_for_a_key, another_key])
@pytest.mark.parametrize("x", [3, -3])
def test_objects_as_keys(program, x):
    assert jax.tree.map(int, staged.function(program)(jnp.int32(x))) == jax.tree.map(int, program(x))


KEYED = {
    "read": lambda n, a, held: held[n],
    "get": lambda n, a, held: held.get(n),
    "pop": lambda n, a, held: held.pop(n),
    "setdefault": lambda n, a, held: held.setdefault(n, 3),
    "add": lambda n, a, held: {a}.add(n),
    "discard": lambda n, a, held: {a}.discard(n),
    "set": lambda n, a, held: len({n, a}),
    "dict": lambda n, a, held: len({n: 1, a: 2}),
}


def written(x):
    n, a, b = exchanged(x)
    held = {a: 10, b: 20}
    held[n] = 5
    return held[a], held[b]


def deleted(x):
    n, a, b = exchanged(x)
    held = {a: 10, b: 20}
    del held[n]
    return len(held), a in held, b in held


def by_key(name):
    def f(x):
        n, a, b = exchanged(x)
        return KEYED[name](n, a, {a: 10, b: 20})

    return f


RUNNING = {"written": written, "deleted": deleted} | {
    name: by_key(name) for name in KEYED if name not in ("add", "discard")
}


@pytest.mark.parametrize("name", RUNNING)
@pytest.mark.parametrize("x", [3, -3])
def test_an_object_that_may_be_one_of_the_keys(name, x):
    program = RUNNING[name]
    assert jax.tree.map(int, ag.function(program)(jnp.int32(x))) == jax.tree.map(int, program(x))


def after_a_print(program):
    def f(x):
        ag.print("start")
        return program(x)

    return f


REFUSED = {name: jax.jit(ag.convert(after_a_print(program))) for name, program in RUNNING.items()} | {
    name: ag.function(by_key(name)) for name in ("add", "discard")
}


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_where_the_program_cannot_be_traced_again(name):
    with pytest.raises(ag.StagingError, match="which of the others it is equal to is known only at run time"):
        REFUSED[name](jnp.int32(3))


class Counted:
    """Counts the calls of its ``__hash__``."""

    def __init__(self):
        self.count = 0

    def __hash__(self):
        self.count += 1
        return 7


def test_a_key_is_hashed_once_each_time():
    def counts(x):
        key, held = Counted(), {0: x}
        held[key] = x
        held.setdefault(key, [])
        del held[key]
        held.setdefault(key, [])
        return key.count, len(held)

    assert ag.convert(counts)(1) == counts(1) == (4, 2)
    assert ag.function(counts)(jnp.array(1)) == (4, 2)


@pytest.mark.parametrize("container", [{1, 2}, {1: 2}, frozenset([1])])
def test_what_has_no_hash_is_in_no_set(container):
    def has(x):
        return [x] in container, (x, [2]) in container

    for given in (1, jnp.array(1)):
        with pytest.raises(TypeError, match="unhashable type: 'list'"):
            staged.function(has)(given)
