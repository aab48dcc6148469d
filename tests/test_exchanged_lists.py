"""Lists that iterations exchange and lengthen: the room of one serves what another leaves in its place."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag

X = np.array([1, 5, 3, 2, 4, 1, 7, 3])


def turned_by_a_condition(x):
    a, b, c = [1], [2, 2], [3, 3, 3]
    for v in x:
        if v > 2:
            a, b, c = b, c, a
        a.append(v)
    return a, b, c


def lengthened_before(x):
    a, b = [], []
    b.append(2)
    for v in x:
        a, b = b, a
        a = a + [v]
    return a, b


def three_turned(x):
    a, b, c = [1], [2, 2], [3, 3, 3]
    for v in x:
        a, b, c = b, c, a
        a = a + [v]
    return a, b, c


def one_longer_and_one_shorter(x):
    a, b = [1], [2, 2]
    for v in x:
        a, b = b, a
        a = [*a, v]
        b = b[1:]
    return a, b


def of_a_dict(x):
    d = {"a": [1], "b": [2, 2, 2]}
    for v in x:
        if v > 2:
            d["a"], d["b"] = d["b"], d["a"]
        d["b"].append(v)
    return d["a"], d["b"]


class Pair:
    pass


def of_an_object(x):
    pair = Pair()
    pair.one = [1]
    pair.other = [2, 2]
    for v in x:
        if v > 2:
            pair.one, pair.other = pair.other, pair.one
        pair.one = pair.one + [v]
    return pair.one, pair.other


def through_a_tuple(x):
    a, b = [1], [2, 2]
    for v in x:
        pair = (b, a)
        a, b = pair
        b.append(v)
    return a, b


def in_a_nest(x):
    a, b = [1], [2, 2, 2]
    for v in x:
        for w in x[:2]:
            a, b = b, a
            a.append(w + v)
            if len(b) > 3:
                b.pop()
    return a, b


def of_lists_of_traced_length(x):
    a, b = [1], []
    for v in x:
        if v > 2:
            b.append(v)
        else:
            a.append(v)
    for _ in x:
        a, b = b, a
    return a, b


def filtered_after_each(x):
    xs = []
    if x[0] > 0:
        xs.append(x[0])
    for v in x:
        xs.append(v)
        xs = [each for each in xs if each > 1]
    return xs, xs[-1]


def replaced_after_two_more(x):
    a, b, total = [1], [7, 8, 9], 0
    count = x[0] % 3
    for v in x:
        a.append(v)
        a.append(v + 1)
        total = total + a[-1]
        a = b[:count]
    return a, [total]


def of_which_one_begins_without_room(x):
    a, b = [], []
    last = 2
    for i in range(3):
        for k in range(3):
            a, b = b, a
            for each in reversed(a):
                last = each - last
            if x[0] < 2:
                b = a[:k]
            if k % 2 == 1:
                a.append(k)
    return a, b, [last]


PROGRAMS = [
    turned_by_a_condition, lengthened_before, three_turned, one_longer_and_one_shorter, of_a_dict, of_an_object, through_a_tuple,
    in_a_nest, of_lists_of_traced_length, filtered_after_each, replaced_after_two_more,
    of_which_one_begins_without_room,
]  # fmt: skip


def plain(value):
    return [plain(each) for each in value] if isinstance(value, list | tuple) else int(value)


@pytest.mark.parametrize("wrap", [ag.function, lambda f: jax.jit(ag.convert(f))], ids=["function", "jit"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_exchanged_lists_hold_what_pythons_do(program, wrap):
    staged = wrap(program)
    for x in (X, X[::-1].copy()):
        assert plain(staged(x)) == plain(program(x))


def lengthened_without_a_bound(x):
    a, b = [1], [2, 2]
    i = 0
    while i < x[0]:
        a, b = b, a
        a.append(i)
        i += 1
    return a, b


def test_a_loop_without_a_bound_is_run_again_with_more_room():
    x = np.array([300])
    assert plain(ag.function(lengthened_without_a_bound)(x)) == plain(lengthened_without_a_bound(x))
    with pytest.raises(ag.StagingError, match="appends to 'a'"):
        jax.jit(ag.convert(lengthened_without_a_bound))(x)


def weighted(x):
    a, b = [1.0], [2.0, 2.0]
    for v in x:
        if v > 2:
            a, b = b, a
        a.append(v * v)
    total, weight = 0.0, 1.0
    for v in a:
        total += weight * v
        weight += 1
    return total


def test_derivatives_and_batches():
    x = jnp.array([1.0, 3.0, 1.5, 5.0])
    batch = jnp.stack([x, x[::-1]])
    totals = jax.vmap(ag.convert(weighted))(batch)
    np.testing.assert_allclose(totals, [weighted(each) for each in np.asarray(batch)], rtol=1e-6)
    found = jax.grad(ag.convert(weighted))(x)
    steps = np.eye(4) * 1e-3
    expected = [(weighted(np.asarray(x) + step) - weighted(np.asarray(x) - step)) / 2e-3 for step in steps]
    np.testing.assert_allclose(found, expected, rtol=1e-2, atol=1e-1)
