"""Lists whose length a staged loop changes and asks for: what it decides is Python's, in every iteration."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests.list_programs import (
    PROGRAMS,
    Counter,
    fibonacci,
    flushed_at_three,
    sliding_window,
    sum_from_the_third_on,
    two_groups,
)

INPUTS = jnp.array([[3.0, 1, 4, 1, 5, 9, 2, 6], [9.0, 8, 7, 6, 5, 4, 3, 2], [1.0, 1, 1, 1, 5, 5, 5, 5]])


def numbers(result):
    """The numbers in a result, lists of traced length as Python's."""
    leaves = jax.tree.leaves(result, is_leaf=lambda part: hasattr(part, "resolve") or isinstance(part, list))
    parts = [part.resolve() if hasattr(part, "resolve") else part for part in leaves]
    return [np.asarray(jnp.asarray(part), float).ravel().tolist() for part in parts]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("wrap", [ag.function, lambda f: jax.jit(ag.convert(f))], ids=["function", "jit"])
def test_like_python(program, wrap):
    staged = wrap(program)
    for values in INPUTS:
        wanted, found = numbers(program(values)), numbers(staged(values))
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5)


def without_the_first(values):
    xs = []
    for value in values:
        xs.append(value)
        if len(xs) > 2:
            xs = xs[1:]
    return xs


def without_the_first_in_a_nest(values):
    xs = [values[0]]
    for value in values:
        for other in ag.range(3):
            xs.append(value + other)
            if len(xs) > 3:
                xs = xs[1:]
    return xs


def every_second(values):
    xs = [values[0]]
    for value in values:
        xs.append(value)
        xs = xs[:-1] if value > 4 else xs[1:]
        xs.append(value)
        xs.append(-value)
        xs = xs[::2]
    return xs


def backwards(values):
    xs = []
    for value in values:
        xs.append(value)
        if value > 4:
            xs = xs[::-1]
    return xs


def extended_by_what_is_large(values):
    xs = []
    for value in values:
        large = []
        if value > 4:
            large.append(value)
        xs += large
    return xs


def joined_with_what_was_large(values):
    xs, large = [], []
    for value in values:
        if value > 4:
            large.append(value)
        xs = xs + large
    return xs


def kept_by_a_comprehension(values):
    xs = []
    for value in values:
        xs.append(value)
        xs = [each for each in xs if each > 2]
    return xs


SHORTENED = [
    without_the_first, without_the_first_in_a_nest, every_second, backwards, extended_by_what_is_large,
    joined_with_what_was_large, kept_by_a_comprehension,
]  # fmt: skip


@pytest.mark.parametrize("program", SHORTENED, ids=lambda f: f.__name__)
@pytest.mark.parametrize("wrap", [ag.function, lambda f: jax.jit(ag.convert(f))], ids=["function", "jit"])
def test_the_length_of_what_slices_and_other_lists_are_put_into(program, wrap):
    def known(values):
        xs = program(values)
        return len(xs), sum(xs)

    staged = wrap(known)
    for values in INPUTS:
        np.testing.assert_allclose(np.array(staged(values)), np.array(known(np.asarray(values))), rtol=1e-5)


@pytest.mark.parametrize("program", SHORTENED, ids=lambda f: f.__name__)
def test_what_slices_and_other_lists_are_put_into_comes_back(program):
    staged = ag.function(program)
    for values in INPUTS:
        assert [float(value) for value in staged(values)] == program(np.asarray(values).tolist())


@pytest.mark.parametrize("program", [sliding_window, sum_from_the_third_on, flushed_at_three, two_groups, fibonacci])
def test_under_vmap_and_grad(program):
    converted = ag.convert(program)
    wanted = [numbers(program(values)) for values in INPUTS]
    found = jax.vmap(converted)(INPUTS)
    for k, one in enumerate(wanted):
        np.testing.assert_allclose(
            [np.asarray(leaf[k], float) for leaf in jax.tree.leaves(found)], np.concatenate(one), rtol=1e-5
        )

    def first(values, function=program):
        return jnp.sum(jax.tree.leaves(function(values))[0] * 1.0)

    def compiled(values):
        return first(values, converted)

    np.testing.assert_allclose(jax.grad(compiled)(INPUTS[0]), jax.grad(first)(INPUTS[0]), rtol=1e-5)


TRACES = 0


@ag.do_not_convert
def count():
    global TRACES
    TRACES += 1


def appended(x):
    out = []
    for a in x:
        count()
        out.append(a * len(out))
    return sum(out), len(out)


def appended_in_two(x):
    out = []
    for _ in x:
        for b in x:
            count()
            out.append(b * len(out))
    return sum(out), len(out)


def appended_in_three(x):
    out = []
    for _ in x:
        for _ in x:
            for c in x:
                count()
                out.append(c * len(out))
    return sum(out), len(out)


def appended_in_four(x):
    out = []
    for _ in x:
        for _ in x:
            for _ in x:
                for d in x:
                    count()
                    out.append(d * len(out))
    return sum(out), len(out)


def unread(x):
    out = []
    for _ in x:
        for _ in x:
            for c in x:
                count()
                out.append(c)
    return sum(out), len(out)


def counts_in_a_dict(x):
    table = {"n": 0, "sum": 0.0}
    for _ in x:
        for _ in x:
            for c in x:
                count()
                table["n"] += 1
                table["sum"] += c
    return table


def counts_in_an_object(x):
    table = Counter()
    table.total = 0.0
    for _ in x:
        for _ in x:
            for c in x:
                count()
                table.k += 1
                table.total = table.total + c
    return table.k, table.total


def widened(x):
    total = 0
    for _ in x:
        for _ in x:
            for c in x:
                count()
                total += c
    return total


@pytest.mark.parametrize(
    "program",
    [
        appended,
        appended_in_two,
        appended_in_three,
        appended_in_four,
        unread,
        counts_in_a_dict,
        counts_in_an_object,
        widened,
    ],
    ids=lambda f: f.__name__,
)
def test_a_body_is_traced_twice_at_most_however_deep(program):
    global TRACES
    x = jnp.array([1.0, 2.0, 3.0])
    wanted = program(x)
    TRACES = 0
    found = ag.function(program)(x)
    assert TRACES <= 2
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5), found, wanted)


def test_the_length_of_a_list_argument():
    def f(x, items):
        late = 0.0
        for v in x:
            if len(items) > 3:
                late += v
            items.append(v)
        return late

    wanted = f(INPUTS[0], [0.0])
    np.testing.assert_allclose(jax.jit(ag.convert(f))(INPUTS[0], [0.0]), wanted)
    items = [0.0]
    np.testing.assert_allclose(ag.function(f)(INPUTS[0], items), wanted)
    assert len(items) == 1 + len(INPUTS[0])


def test_the_length_after_loops_of_known_length_is_known():
    def f(x):
        out = []
        for _ in x:
            for b in x:
                if len(out) > 3:
                    out[-1] = b
                out.append(b)
        return jnp.zeros(len(out))

    assert jax.jit(ag.convert(f))(INPUTS[0]).shape == (64,)


def test_pytree_functions_refuse_a_list_of_traced_length():
    @ag.function
    def f(x):
        kept = []
        for v in x:
            if v > 2:
                kept.append(v)
        return jax.tree.map(lambda v: v * 2, kept)

    with pytest.raises(ag.StagingError, match="whose length is traced"):
        f(INPUTS[0])


def test_two_lists_of_an_inner_loop_one_of_which_it_binds_anew():
    def f(n, v):
        kept, others, total = [], [n], 1
        for _ in ag.range(4):
            for i, _ in enumerate(v):
                if kept:
                    total += kept[-1]
                if len(kept) == 2:
                    others.append(i - total % 5)
                kept.insert(0, i)
                kept.append(total)
                if len(kept) > 3:
                    kept = kept[-3:]
        return len(kept), sum(kept), total, len(others)

    n, v = jnp.array(3), jnp.array([0.5, 1.5, 2.5])
    for run in (ag.function(f), jax.jit(ag.convert(f))):
        assert tuple(map(int, run(n, v))) == tuple(map(int, f(n, v)))


@pytest.mark.parametrize("kind", [bytes, bytearray])
def test_bytes_of_traced_number_are_refused(kind):
    def digits(n):
        found = []
        while n > 0:
            found.append(n % 256)
            n //= 256
        return kind(found)

    with pytest.raises(ag.StagingError, match="needs the number of these items here"):
        ag.function(digits)(jnp.int32(300))
    assert ag.function(lambda x: (kind(2), kind("a", "utf8"), kind()))(1.0) == (kind(2), kind("a", "utf8"), kind())
