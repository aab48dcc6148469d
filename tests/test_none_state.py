"""Variables that are None on some paths and a value on others."""

from __future__ import annotations

import contextlib
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests import staged
from tests.agreement import differences


def first_above(x, limit):
    where = None
    for i in range(len(x)):
        if x[i] > limit:
            where = i
            break
    if where is None:
        where = -1
    return where


def first_of_three_above(x, limit):
    found = None
    for v in (x[0], x[1] + 1, x[2]):
        if found is not None:
            break
        if v > limit:
            found = v
    return found


def pair_of_three_above(x, limit):
    found = None
    for v in (x[0], x[1] + 1, x[2]):
        if found is not None:
            break
        if v > limit:
            found = v, limit
    return 0.0 if found is None else found[0] + found[1]


def last_above(x, limit):
    where = None
    for i in range(len(x)):
        if x[i] > limit:
            where = i
    return -1 if where is None else where


def best_above(x, limit):
    best = None
    for v in x:
        if v > limit and (best is None or v < best):
            best = v
    return best


def nested_ifs(x, limit):
    best = None
    for v in x:
        if v > limit:
            if best is None:
                best = v
            elif v > best:
                best = v
    if best is not None and best > 2:
        best = best * 10
    return best


def in_a_while(x, limit):
    found = None
    i = 0
    while i < 4 and found is None:
        if x[i] > limit:
            found = x[i]
        i += 1
    return found


def one_branch(x, limit):
    y = None
    if x[0] > limit:
        y = x[0] * 2
    if y is None:
        return x.sum()
    return y + 1


def reset_to_none(x, limit):
    previous = x[0]
    total = 0.0
    for v in x:
        if previous is not None:
            total += previous
        if v > limit:
            previous = None
        else:
            previous = v
    return total


def find(x, limit):
    for i in range(len(x)):
        if x[i] > limit:
            return i, x[i]
    return None


def result_of_a_helper(x, limit):
    found = find(x, limit)
    if found is None:
        return jnp.float32(-1.0)
    i, v = found
    return v * 10 + i


def pairs(x, limit):
    best = None
    for i, v in enumerate(x):
        if v > limit:
            if best is None or v > best[1]:
                best = (i, v)
    if not (best is not None):
        return (-1, 0.0)
    return best


def default_by_or(x, limit):
    y = None
    if x[0] > limit:
        y = x[1]
    return (y or 7.0) + 1


def truth(x, limit):
    y = None
    if x[0] > limit:
        y = x[1]
    if y:
        return y
    return x[2]


class Tracker:
    def __init__(self):
        self.best = None

    def see(self, v):
        if self.best is None or v > self.best:
            self.best = v


def attribute(x, limit):
    tracker = Tracker()
    for v in x:
        if v > limit:
            tracker.see(v)
    return tracker.best


def early_return(x, limit):
    y = None
    if x[0] > limit:
        y = x[0]
    if y is None:
        return -1.0
    z = y * 2
    if z > 4:
        return z
    return y


def compared_with_equals(x, limit):
    y = None
    if x[0] > limit:
        y = x[0]
    return y == x[0], y != x[0]


def conditional_expression(x, limit):
    y = x[0] if x[0] > limit else None
    z = 0.0 if y is None else y
    return z + 1


def as_argument(x, limit):
    def shifted(v, by=None):
        if by is None:
            by = 100.0
        return v + by

    by = None
    if x[0] > limit:
        by = x[1]
    return shifted(x[0], by)


class Held:
    def __init__(self, value):
        self.value = value


class Large(Held):
    def __bool__(self):
        return bool(self.value > 2)


def objects_by_or(x, limit):
    found = large = values = None
    if x[0] > limit:
        found, large, values = Held(x[1]), Large(x[0]), [x[2], x[3]]
    one, other, rest = found or Held(7.0), large or Large(8.0), values or [9.0]
    one.value += 1.0
    both = (found and large) or other
    return one.value, other.value, both.value, rest[0], len(rest), 1 if found else 2, not large


def set_by_a_function(x, limit):
    found = None

    def note(v):
        nonlocal found
        found = v
        return v > limit

    for v in x:
        if note(v):
            break
    return found


PROGRAMS = [
    objects_by_or, set_by_a_function,
    first_above, first_of_three_above, pair_of_three_above, last_above, best_above, nested_ifs, in_a_while, one_branch,
    reset_to_none, result_of_a_helper,
    pairs, default_by_or, truth, attribute, early_return, compared_with_equals, conditional_expression, as_argument,
]  # fmt: skip
ROWS = [[1.0, 2.0, 2.5, 3.0], [-1.0, 2.0, -3.0, 4.0], [3.0, 0.0, 2.0, -2.0], [2.5, 4.0, 1.0, 2.0]]
LIMITS = [0.5, 2.0, 3.5, 10.0]
CASES = [(row, limit) for row in ROWS for limit in LIMITS]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_like_plain_python(program):
    runs = ag.function(program), jax.jit(ag.convert(program))
    for row, limit in CASES:
        arguments = jnp.array(row), jnp.float32(limit)
        wanted = program(*arguments)
        for run in runs:
            assert list(differences(wanted, run(*arguments), widens=True)) == []
    assert runs[0].experimental_get_tracing_count() == 1


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_under_vmap(program):
    x, limits = jnp.array([row for row, _ in CASES]), jnp.array([limit for _, limit in CASES])
    found = jax.jit(jax.vmap(ag.convert(program)))(x, limits)
    for k in range(len(CASES)):
        wanted = program(x[k], limits[k])
        assert list(differences(wanted, jax.tree.map(lambda leaf, k=k: leaf[k], found), widens=True)) == []


def unasked(x):
    y = None
    if x > 0:
        y = x
    return y + 1


def test_use_of_none_raises_at_run_time():
    f = ag.function(unasked)
    assert f(jnp.float32(2.0)) == 3.0
    with pytest.raises(TypeError, match="None was used where a value is needed"):
        f(jnp.float32(-1.0))


def test_use_that_cannot_be_checked_is_refused():
    with pytest.raises(ag.StagingError) as caught:
        jax.jit(ag.convert(unasked))(jnp.float32(2.0))
    text = str(caught.value)
    assert "test_none_state.py" in text and "may be None" in text and "Test `is None` first" in text


def test_gradient_of_a_value_that_may_be_none():
    def f(x):
        best = None
        for v in x:
            if v > 0 and (best is None or v > best):
                best = v
        return 0.0 if best is None else best * best

    np.testing.assert_allclose(jax.grad(ag.convert(f))(jnp.array([1.0, 3.0, -2.0])), [0.0, 6.0, 0.0])


def test_none_stays_pythons_outside_of_a_trace():
    assert ag.convert(first_above)(np.array([1.0, 2.0]), 5.0) == -1
    assert ag.convert(find)([1.0], 5.0) is None


def test_none_or_a_text_bound_on_the_one_path_that_goes_on():
    def f(x):
        for _ in ag.range(3):
            if x > 5:
                with contextlib.nullcontext():
                    break
            elif x > 0:
                best, name = None, "up"
            else:
                continue
            x = x + (len(name) if best is None else 7)
        return x

    compiled = ag.function(f)
    for x in (6.0, 0.5, -1.0):
        assert compiled(jnp.float32(x)) == f(x)
        assert staged.jitted(f)(x) == f(x)


def test_none_bound_on_one_path_only_is_refused_where_the_other_reads_it():
    def only(x):
        if x > 0:
            best = None
        return 1 if best is None else 2

    def joined_later(x):
        if x > 0:
            best = None
        if x > 1:
            best = 3.0
        return best

    for f in (only, joined_later):
        with pytest.raises(ag.StagingError, match="'best' may be undefined here"):
            ag.function(f)(jnp.float32(2.0))


class Found(NamedTuple):
    number: int
    value: float


def first_pair(a, t):
    for i in range(len(a)):
        for j in range(i + 1, len(a)):
            if a[i] + a[j] == t:
                return i, j
    return None, None


def either_place(a, t):
    if t > 9:
        return a[0], None
    return None, a[1]


def in_a_named_tuple(a, t):
    found = Found(1, a[0]) if t > 9 else Found(2, None)
    if found.value is None:
        return -found.number
    return found.value * found.number


def in_nested_tuples(a, t):
    if t > 20:
        r = (1, (a[0], None), 3.0)
    elif t > 9:
        r = (2, (None, a[1]), 4.0)
    else:
        r = (3, (None, None), 5.0)
    return r


def asked_by_a_caller(a, t):
    i, j = first_pair(a, t)
    if i is None or j is None:
        return -1
    return i * 10 + j


def best_so_far(a, t):
    best = (None, None)
    for i, v in enumerate(a):
        if v < t and (best[0] is None or v > best[0]):
            best = (v, i)
    return best


@pytest.mark.parametrize("t", [9, 5, 18, 22, -5])
@pytest.mark.parametrize(
    "f", [first_pair, either_place, in_a_named_tuple, in_nested_tuples, asked_by_a_caller, best_so_far]
)
def test_none_in_a_tuple_on_one_path(f, t):
    a = np.array([2, 7, 11, 15], np.int32)
    wanted = f(a, t)
    lanes = staged.mapped(f)(jnp.stack([a, a]), jnp.array([t, t]))
    for found in (staged.function(f)(jnp.asarray(a), t), jax.tree.map(lambda leaf: leaf[1], lanes)):
        assert not list(differences(wanted, found))


def last_of(x):
    last = None
    for v in x:
        last = v
    return last


def smoothed(x):
    state = None
    for v in x:
        state = (v, v) if state is None else (state[0] * 0.5 + v, v)
    return state


@pytest.mark.parametrize("f", [last_of, smoothed])
def test_none_before_a_loop_that_surely_runs_is_a_value_after_it(f):
    x = jnp.array([1.0, 2.0, 4.0])
    found = jax.jit(ag.convert(f))(x)
    assert not any(isinstance(leaf, ag.Optional) for leaf in jax.tree.leaves(found, is_leaf=lambda v: v is not found))
    assert not isinstance(found, ag.Optional)
    assert list(differences(f(x), found)) == []


def test_another_shape_after_none_is_named_as_a_change_of_the_loop():
    def f(x):
        out = None
        for v in x:
            out = v[None] if out is None else jnp.concatenate([out, v[None]])
        return out

    with pytest.raises(ag.StagingError, match="'out' changes type in this staged loop"):
        ag.function(f)(jnp.arange(3.0))


@pytest.mark.parametrize("operation", [lambda q: q > None, lambda q: None < q])
def test_an_operation_that_none_does_not_have_raises_where_it_is_evaluated_only(operation):
    def f(x, y):
        q = None if x > y else 3
        if x + y < 0:
            return operation(q)
        return False

    g = ag.function(f)
    assert g(jnp.array(1), jnp.array(2)) == f(1, 2)
    assert g(jnp.array(2), jnp.array(1)) == f(2, 1)
    for x, y in [(-2, -1), (-1, -2)]:
        with pytest.raises(TypeError):
            f(x, y)
        with pytest.raises(TypeError):
            g(jnp.array(x), jnp.array(y))
