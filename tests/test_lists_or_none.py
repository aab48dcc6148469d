"""Lists of traced length that only iterations make: variables that are None, or unbound, before the loop."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

import autograph as ag
from tests.test_elements_of_lists import plain, shape_of

N, XS = jnp.array(132312), jnp.array([1, 1, 3, 2, 2, 5, 1])


def sliced(xs):
    last = None
    items = []
    for v in xs:
        items.append(v)
        if v > 2:
            last = items[:]
    return last, items


def copied_and_begun_again(xs):
    last = None
    items = []
    for v in xs:
        items.append(v)
        if v > 2:
            last = list(items)
            items = []
    return last, items


def kept_and_begun_again(xs):
    last = None
    items = []
    for v in xs:
        items.append(v)
        if v > 2:
            last = items
            items = []
    return last, items


def of_known_length(xs):
    last = None
    for v in xs:
        pair = [v]
        if v > 0:
            pair.append(v)
        last = pair
    return last


def longest_run(xs):
    longest = None
    run = []
    for v in xs:
        if run and run[-1] > v:
            run = []
        run.append(v)
        if longest is None or len(run) > len(longest):
            longest = list(run)
    return longest


def sliced_in_a_while(n):
    last = None
    digits = []
    while n > 0:
        digits.append(n % 10)
        if n % 10 == 3:
            last = digits[:]
        n //= 10
    return last, digits


def cleared_in_a_while(n):
    last = None
    digits = []
    while n > 0:
        digits.append(n % 10)
        if n % 10 == 3:
            last = digits[:]
            digits.clear()
        n //= 10
    return last, digits


def unbound_before(n):
    digits = []
    while n > 0:
        digits.append(n % 10)
        if n % 10 == 3:
            last = digits[:]
        n //= 10
    return last


def lengthened_in_a_second_loop(xs):
    longer = None
    for v in xs:
        if longer is None:
            longer = [v]
        elif v > 1:
            longer.append(v)
    for v in xs:
        if longer is not None and v < 5:
            longer.append(v + 10)
    return longer


def begun_in_a_loop_inside_and_lengthened_outside(xs):
    longer = None
    for v in xs[:3]:
        for w in xs:
            if longer is None:
                longer = [w]
            elif w > v:
                longer.append(w)
        if v > 1 and longer is not None:
            longer.append(v - 20)
    for v in xs:
        if v > 0 and longer is not None:
            longer.append(v)
    return longer


def rows_lengthened_in_a_second_loop(xs):
    rows = None
    for v in xs:
        if rows is None:
            rows = [[v]]
        rows[-1].append(v)
        rows.append([v, v])
    for v in xs:
        rows[0].append(v)
        rows.append([v])
    return rows


OF_XS = [sliced, copied_and_begun_again, kept_and_begun_again, of_known_length, longest_run]
OF_XS += [lengthened_in_a_second_loop, begun_in_a_loop_inside_and_lengthened_outside, rows_lengthened_in_a_second_loop]
OF_N = [sliced_in_a_while, cleared_in_a_while, unbound_before]


@pytest.mark.parametrize(("program", "argument"), [(f, XS) for f in OF_XS] + [(f, N) for f in OF_N])
def test_programs_agree_with_python(program, argument):
    assert shape_of(ag.function(program)(argument)) == shape_of(program(plain(argument)))


def test_none_after_all():
    none = jnp.zeros_like(XS)
    assert shape_of(ag.function(copied_and_begun_again)(none)) == shape_of(copied_and_begun_again(plain(none)))


@pytest.mark.parametrize("program", OF_XS)
def test_the_number_of_iterations_bounds_them_under_jit(program):
    def size(xs):
        found = program(xs)
        last = found[0] if isinstance(found, tuple) else found
        return -1 if last is None else len(last)

    assert jax.jit(ag.convert(size))(XS) == size(plain(XS))
