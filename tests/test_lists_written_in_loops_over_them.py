"""Loops over lists that their bodies write to: Python's loop goes over what the list has when each iteration begins."""

import jax
import jax.numpy as jnp
import pytest

import autograph as ag


def becomes_an_array(n):
    items, total = [1, 2, 3], 0
    for v in items:
        total += v
        items[n % 3] = v + 5
    return total


def under_a_condition(n):
    items = [1, 2]
    if n > 0:
        items.append(3)
    total = 0
    for v in items:
        total += v
        if v < n:
            items[-1] = items[-1] + 5
    return total


def of_traced_length(n):
    items, total = [2 * k for k in range(n)], 0
    for v in items:
        total += v
        items[n // 2] = 100
    return total


def enumerated(n):
    items, total = [2 * k for k in range(n)], 0
    for k, v in enumerate(items):
        total += k * v
        items[n - 1] = 50
    return total


def at_the_same_place(n):
    items, total = [2 * k for k in range(n)], 0
    for k, v in enumerate(items):
        items[k] = v * v
        total += items[k]
    return total


def of_a_copy(n):
    items, total = [1, 2, 3], 0
    for v in list(items):
        total += v
        if v < n:
            items.append(v)
    return total + len(items)


def rebound(n):
    items, total = [2 * k for k in range(n)], 0
    for v in items:
        total += v
        items = items + [1]
    return total + len(items)


PROGRAMS = [becomes_an_array, under_a_condition, of_traced_length, enumerated, at_the_same_place, of_a_copy, rebound]


@pytest.mark.parametrize("f", PROGRAMS)
def test_items_are_those_that_the_list_has_then(f):
    staged = ag.function(f)
    for n in (5, 2, 4):
        assert staged(jnp.int32(n)) == f(n)


@pytest.mark.parametrize("f", [becomes_an_array, under_a_condition])
def test_they_are_in_transforms(f):
    assert jax.jit(ag.convert(f))(5) == f(5)
    assert jax.vmap(ag.convert(f))(jnp.array([5, 2])).tolist() == [f(5), f(2)]


def appended(n):
    items, total = [1, 2, 3], 0
    for v in items:
        total += v
        if v < n and len(items) < 6:
            items.append(v + 3)
    return total


def removed(n):
    items, total = [2 * k for k in range(n)], 0
    for v in items:
        total += v
        if v == 2:
            items.remove(4)
    return total


def appended_by_index(n):
    items, total = [2 * k for k in range(n)], 0
    for k, v in enumerate(items):
        total += k * v
        if v == 2:
            items.append(4)
    return total


def appended_in_a_generator(n):
    items = [1, 2, 3]

    def each():
        for v in items:
            yield v
            if v < n and len(items) < 6:
                items.append(v + 3)

    return sum(each())


def appended_by_a_function(n):
    items = [1, 2, 3]

    def push(v):
        if v < n and len(items) < 6:
            items.append(v + 3)
        return v

    return sum([push(v) for v in items])


def appended_while_mapped(n):
    items, total = [1, 2, 3, 4], 0
    for v in map(lambda v: 2 * v, items):
        if v == n:
            items.append(5)
        total += v
    return total


@pytest.mark.parametrize(
    "f",
    [appended, removed, appended_by_index, appended_in_a_generator, appended_by_a_function, appended_while_mapped],
)
def test_a_change_of_its_length_is_refused(f):
    with pytest.raises(ag.StagingError, match="makes longer or shorter at run time"):
        ag.function(f)(jnp.int32(4))
