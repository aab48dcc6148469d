"""A copy of a list, a slice of it, or a sum of lists, may come to grow; the list itself stays as it is."""

from __future__ import annotations

import copy

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag


def removed_from_a_slice(xs, k):
    left = xs[:]
    left.remove(k)
    return left, xs


def appended_to_the_end_of_it(xs, k):
    last = xs[1:]
    if k > 2:
        last.append(k)
    return last, len(last), xs


def appended_to_a_copy(xs, k):
    longer = xs.copy()
    for v in range(3):
        if k > 2:
            longer.append(v * k)
    return longer, xs


def inserted_and_deleted(xs, k):
    own = [1.0, 2.0, 3.0]
    deep, back = copy.deepcopy(own), own[::-1]
    if k > 2:
        deep.insert(0, k)
        back.pop()
    else:
        del back[0]
    return own, deep, back, xs


def extended_in_a_while(xs, k):
    history = copy.copy(xs)
    while k < 6:
        history.append(k)
        k = k + 1
    return history, xs


def begun_again_with_a_copy(xs, k):
    best = []
    for v in xs:
        tried = best[:]
        tried.append(v)
        if v >= k:
            best = tried
    return best


def appended_to_a_sum(xs, k):
    tail = [4.0, 5.0]
    both = xs + tail
    if k > 2:
        both.append(k)
    more = tail + both + xs
    for v in range(3):
        if k > v:
            more.insert(0, v * k)
    return both, more, xs, tail


PROGRAMS = [
    appended_to_a_sum,
    removed_from_a_slice,
    appended_to_the_end_of_it,
    appended_to_a_copy,
    inserted_and_deleted,
    extended_in_a_while,
    begun_again_with_a_copy,
]


def same(found, wanted):
    assert jax.tree.structure(found) == jax.tree.structure(wanted)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(one, other)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_programs(program):
    made = ag.function(program)
    for k in (1.0, 3.0):
        same(made([1.0, 2.0, 3.0], jnp.float32(k)), program([1.0, 2.0, 3.0], k))


@pytest.mark.parametrize(
    "program", [appended_to_the_end_of_it, appended_to_a_copy, appended_to_a_sum], ids=lambda program: program.__name__
)
def test_under_transforms(program):
    def total(xs, k):
        return sum(program(xs, k)[0])

    ks = jnp.asarray([1.0, 3.0, 4.0])
    xs = [1.0, 2.0, 3.0]
    mapped = jax.jit(jax.vmap(ag.convert(total), in_axes=(None, 0)))(xs, ks)
    np.testing.assert_allclose(mapped, [total(xs, float(k)) for k in ks])
    slope = jax.grad(ag.function(total), argnums=1)(xs, jnp.float32(3.0))
    np.testing.assert_allclose(slope, total(xs, 4.0) - total(xs, 3.0))


def test_slices_of_arrays_are_views():
    def shifted(x, k):
        x = x[1:]
        x += k
        y = x[:]
        y[k] = 5
        return x, y

    found = ag.function(shifted)(jnp.arange(4), jnp.asarray(1))
    for one, other in zip(found, shifted(np.arange(4), 1), strict=True):
        np.testing.assert_array_equal(one, other)
