"""Sets whose elements only run time knows: each program is compared with plain Python."""

from __future__ import annotations

import functools
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests import sets


def plain(value):
    return jax.tree.map(lambda part: np.asarray(part).tolist() if hasattr(part, "shape") else part, value)


compiled = functools.cache(ag.function)  # one for all arguments of a program


@pytest.mark.parametrize("program, args", sets.PROGRAMS, ids=lambda value: getattr(value, "__name__", ""))
def test_a_program_agrees_with_python(program, args):
    expected = program(*args)
    assert plain(compiled(program)(*map(jnp.array, args))) == expected


@functools.cache
def jitted(program):
    return jax.jit(ag.convert(program))


@pytest.mark.parametrize("program, args", sets.BOUNDED, ids=lambda value: getattr(value, "__name__", ""))
def test_a_bare_jit_agrees_too(program, args):
    expected = program(*args)
    assert plain(jitted(program)(*map(jnp.array, args))) == expected


def test_each_row_of_a_batch_has_its_own():
    rows = [[1, 1, 1], [1, 2, 1], [1, 2, 3]]
    for made in (ag.convert(sets.distinct), ag.function(sets.distinct)):
        assert jax.vmap(made)(jnp.array(rows)).tolist() == [sets.distinct(row) for row in rows]


@pytest.mark.parametrize("x", [2.0, 3.0])
def test_gradients(x):
    def total(x):
        return sum({x, 2 * x, x * x})

    expected = 3.0 if x == 2 else 3 + 2 * x  # two are equal at 2
    for made in (ag.convert(total), ag.function(total)):
        assert jax.grad(made)(x) == expected


ORDERED = [
    lambda s: list(s),
    lambda s: tuple(s),
    lambda s: [v + 1 for v in s],
    lambda s: next(iter(s)),
    lambda s: s.pop(),
    lambda s: list(enumerate(s)),
    lambda s: list(zip(s, s, strict=True)),
    lambda s: min(s, key=lambda v: v % 2),
    lambda s: sorted(s, key=lambda v: v % 2),
    lambda s: list({v: 1 for v in s}),
]


@pytest.mark.parametrize("use", ORDERED)
def test_the_order_is_refused(use):
    def program(xs):
        return use(set(xs))

    with pytest.raises(ag.StagingError, match="order of a set.*\n.*sorted"):
        ag.function(program)(jnp.array([3, 1, 3]))


def test_an_unpacking_is_refused():
    def program(xs):
        a, b = set(xs)
        return a - b

    with pytest.raises(ag.StagingError, match="order of a set"):
        ag.function(program)(jnp.array([3, 1, 3]))


def test_a_missing_element_raises():
    def program(xs):
        seen = set(xs)
        seen.remove(7)
        return len(seen)

    assert ag.function(program)(jnp.array([7, 1])) == 1
    with pytest.raises(KeyError, match="7"):
        ag.function(program)(jnp.array([3, 1]))
    with pytest.raises(ag.StagingError, match=r"a bare jax\.jit"):
        jax.jit(ag.convert(program))(jnp.array([3, 1]))


def test_a_set_and_a_list_are_not_selected():
    def program(x):
        return {x} if x > 0 else [x]

    with pytest.raises(ag.StagingError, match="different types"):
        ag.function(program)(jnp.array(1))


def test_arrays_are_no_elements():
    def program(xs):
        seen = {xs[0]}
        seen.add(xs)
        return seen

    with pytest.raises((TypeError, ag.StagingError), match="unhashable|its value is known only at run time"):
        ag.function(program)(jnp.array([3, 1]))


def test_a_set_from_outside_is_left_alone_under_a_transform():
    known = {1}

    def program(x):
        known.add(x)
        return len(known)

    with pytest.raises(ag.StagingError, match="not made in converted code"):
        jax.jit(ag.convert(program))(jnp.array(3))
    assert known == {1}


def test_what_has_printed_is_not_traced_again():
    def program(xs):
        ag.print("start")
        return sets.distinct(xs)

    with pytest.raises(ag.StagingError, match=r"has printed.*\n.*autograph\.function"):
        jax.jit(ag.convert(program))(jnp.array([3, 1]))


def test_it_prints_once_in_a_function(capfd):
    def program(xs):
        ag.print("start")
        return sets.distinct(xs)

    made = ag.function(program)
    assert made(jnp.array([3, 1, 3])) == 2
    jax.effects_barrier()
    assert capfd.readouterr().out == "start\n"
    assert made.experimental_get_tracing_count() == 1


def test_a_variable_is_written_once():
    count = ag.Variable(0)

    @ag.function
    def program(xs):
        count.assign_add(1)
        seen = set()
        for v in xs:
            seen.add(v)
        count.assign_add(len(seen))

    program(jnp.array([3, 1, 3]))
    assert count.value == 3


def test_known_elements_stay_in_pythons_set():
    found = []

    def program(x):
        seen, hits = set(), 0
        for k in range(2000):
            seen.add(k)
        for k in range(2000):
            if k in seen:
                hits += 1
        found.append(type(seen))
        return x + hits

    begun = time.perf_counter()
    assert ag.function(program)(jnp.array(0)) == 2000
    assert time.perf_counter() - begun < 10
    assert found == [set]


def display_with_stars(n):
    squares = [k * k for k in range(n)]
    found = {1, *squares, 100, *range(2)}
    return len(found), 4 in found, sorted(found)


def test_displays_with_lists_of_traced_length():
    for n in (3, 0, 5):
        assert plain(compiled(display_with_stars)(jnp.array(n))) == display_with_stars(n)
