"""Tuples that staged loops lengthen, or that differ in length by path."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests import staged
from tests.agreement import differences


def positive(xs):
    found = ()
    for x in xs:
        if x > 0:
            found = found + (x,)
    return found, len(found), sum(found), found[1:], 4 in found


def digits(xs):
    n, found = xs[0] + 10, ()
    while n > 0:
        found = (n % 2, *found)
        n = n // 2
    return found


def appended(xs):
    found, k = (7,), 0
    while k < xs[0]:
        found += ((k, k * 0.5)[0],)
        k += 1
    return found, found[-1], max(found), [2 * v for v in found]


def pairs(xs):
    found = ()
    for k, x in enumerate(xs):
        if x > 1:
            found += ((k, x),)
    return found, [a * b for a, b in found], dict(found)


def by_path(xs):
    found = (1, 2) if xs[0] > 2 else (xs[1], 2, 3)
    more = ()
    if xs[1] > 0:
        more = (xs[1],)
    return found, more, found + more


def longest_run(xs):
    best, run = (), ()
    for x in xs:
        if x > 0:
            run = run + (x,)
            if len(run) > len(best):
                best = run
        else:
            run = ()
    return best


def starts_again(xs):
    found, lengths = (), []
    for x in xs:
        for k in range(x):
            found = found + (k,)
        lengths.append(len(found))
        found = (x,)
    return found, lengths


def kept_sorted(xs):
    found = ()
    for x in xs:
        found = tuple(sorted((*found, x)))
    return found


def one_replaced(xs):
    found = (0, 0, 0)
    for k, x in enumerate(xs):
        found = found[: k % 3] + (x,) + found[k % 3 + 1 :]
    return found


class Path:
    def __init__(self):
        self.steps = ()

    def add(self, step):
        self.steps = (*self.steps, step)


def of_an_object(xs):
    path = Path()
    for x in xs:
        if x > 1:
            path.add(x)
    return path.steps


def may_be_none(xs):
    found = None
    for x in xs:
        if x > 3:
            found = (x, x + 1)
    return found


PROGRAMS = [
    *(positive, digits, appended, pairs, by_path, longest_run, starts_again, kept_sorted, one_replaced, of_an_object),
    may_be_none,
]
EXAMPLES = ([3, -1, 4, 5, 2], [1, 2, -3, -4, 6], [5, -2, -2, 4, 4])


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_as_python(program):
    compiled = ag.function(program)
    for xs in EXAMPLES:
        assert list(differences(program(xs), compiled(jnp.array(xs)))) == []


def test_a_number_of_items_that_is_not_there_raises():
    def f(xs):
        found = ()
        for x in xs:
            if x > 3:
                found += (x,)
        a, b = found
        return a - b

    compiled = ag.function(f)
    assert int(compiled(jnp.array(EXAMPLES[0]))) == -1
    with pytest.raises(ValueError, match="not enough values to unpack"):
        jax.block_until_ready(compiled(jnp.array(EXAMPLES[1])))


def test_under_transforms_of_jax():
    def f(xs):
        found = ()
        for x in xs:
            if x > 0:
                found = found + (x * x,)
        return sum(found) + found[-1]

    rows = np.array(EXAMPLES, np.float32)
    wanted = [f(row) for row in rows]
    assert jax.vmap(jax.jit(ag.convert(f)))(rows).tolist() == wanted
    assert jax.grad(ag.convert(f))(rows[0]).tolist() == [6.0, 0.0, 8.0, 10.0, 8.0]


@pytest.mark.parametrize(
    ("program", "words"),
    [
        (lambda xs: (1, [2]) if xs[0] > 0 else (1, {2: 3}), "different types"),
        (lambda xs: (1, [2]) if xs[0] > 0 else (1, 2, 3), "different types"),
        (lambda xs: {(1,) if xs[0] > 0 else (1, 2): 3}, "its hash is known only at run time"),
    ],
)
def test_what_stays_refused(program, words):
    with pytest.raises(ag.StagingError, match=words):
        ag.function(program)(jnp.array(EXAMPLES[0]))


def text_and_number(n):
    if n == 0:
        return "0", str(n)
    return "1", str(n), 3


def in_bases(n):
    if n > 3:
        return "0", bin(n), hex(n)
    return str(n), bin(n), hex(n), n == 2


def number_first(n):
    if n > 3:
        return 7, "a", str(n)
    return str(n), "b"


def of_floats(n):
    if n > 3:
        return "a", f"{n / 4:.1f}"
    if n > 1:
        return f"{n / 4:.2f}", str(n), n
    return "b", "c", "d", n


@pytest.mark.parametrize(
    "program", [text_and_number, in_bases, number_first, of_floats], ids=lambda program: program.__name__
)
def test_tuples_of_several_lengths_mix_texts_and_numbers(program):
    for n in (0, 2, 3, 6):
        found = staged.function(program)(jnp.array(n))
        assert found == program(n), (found, program(n))
