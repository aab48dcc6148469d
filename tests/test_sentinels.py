"""An ``object()`` that a program compares by `is`, where other paths have a value."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

import autograph as ag
from tests import staged

MISSING, OTHER = object(), object()


def doubled(x):
    return x * 2 if x > 0 else MISSING


def first_above(xs, least, default=MISSING):
    for x in xs:
        if x > least:
            return x
    if default is MISSING:
        return -1
    return default


class Cached:
    def __init__(self, x):
        self.x, self.cache = x, MISSING

    def value(self):
        if self.cache is MISSING:
            self.cache = self.x * 3
        return self.cache


def asked(x):
    v = doubled(x)
    w = None if x > 5 else v
    return v is MISSING, v is not MISSING, v is None, v is OTHER, w is None, w is MISSING, w


def compared(x):
    v = doubled(x)
    return v == MISSING, v != MISSING, v == 4, v != 4, v == None, v == OTHER, v in (MISSING, 4)  # noqa: E711


def true(x):
    v = doubled(x)
    return bool(v), not v, 1 if v else 2, v or 7, v and 7


def of_class(x):
    v = doubled(x)
    return type(v) is object, type(v) is str, isinstance(v, str), isinstance(v, type(None))


def or_none(x):
    v = MISSING if x > 0 else None
    return v is MISSING, v is None, bool(v), v


def or_other(x):
    v = MISSING if x > 0 else (OTHER if x > -3 else x)
    return v is MISSING, v is OTHER, v


def or_text(x):
    v = MISSING if x > 0 else "text"
    return v is MISSING, v == "text", v


def or_list(x):
    v = MISSING if x > 0 else [x, 1]
    if v is MISSING:
        return 0
    v.append(x)
    return sum(v)


def narrowed(x):
    v = doubled(x)
    if v is MISSING or v > 3:
        return 1
    return v + 1


def in_a_dict(x):
    d = {"a": MISSING}
    if x > 0:
        d["a"] = x
    if x > 1:
        d["b"] = MISSING
    return d["a"] is MISSING, d.get("b") is MISSING, d.get("b", OTHER) is OTHER, d.get("c", MISSING) is MISSING, d


def in_an_attribute(x):
    cached = Cached(x)
    if x > 0:
        cached.value()
    return cached.cache is MISSING, cached.value(), cached.cache is MISSING


def in_a_tuple(x):
    a, b = (doubled(x), "a") if x < 3 else (1, "b")
    return a is MISSING, b


def indexed(xs):
    v = [MISSING, 1, 2, 3, MISSING][xs[0]]
    return v is MISSING, v


def counted(xs):
    missing = object()
    counts = {}
    for x in xs:
        found = counts.get(x, missing)
        counts[x] = 1 if found is missing else found + 1
    return counts


def greatest(xs):
    best = MISSING
    for x in xs:
        if best is MISSING or x > best:
            best = x
    return best, best is MISSING


def growing(xs):
    last, out = MISSING, []
    for x in xs:
        if last is not MISSING and x > last:
            out.append(x)
        last = x
    return out, last


def lost_again(xs):
    last = MISSING
    for x in xs:
        last = MISSING if x > 2 else x
    return last, last is MISSING


def in_a_list(xs):
    out = []
    for x in xs:
        if x != 9:
            out.append(MISSING if x > 2 else x)
    return [v is MISSING for v in out], MISSING in out, [v for v in out if v is not MISSING]


def memo(xs):
    table, n = [MISSING] * 4, 0
    for x in xs:
        if table[x] is MISSING:
            table[x] = x * 10
            n += 1
    return n, [v is MISSING for v in table]


def taken(xs):
    it, total = iter(xs), 0
    while (x := next(it, MISSING)) is not MISSING:
        total = total * 10 + x
    return (
        total,
        next((x for x in xs if x > 2), MISSING) is MISSING,
        max((x for x in xs if x > 2), default=MISSING) is MISSING,
    )


def defaults(xs):
    return first_above(xs, 2), first_above(xs, 2, 7), first_above(xs, 2, default=xs[0])


NUMBERS = (
    asked, compared, true, of_class, or_none, or_other, or_text, or_list, narrowed, in_a_dict, in_an_attribute, in_a_tuple,
)  # fmt: skip
LISTS = (indexed, counted, greatest, growing, lost_again, in_a_list, memo, taken, defaults)


def same(found, wanted):
    assert jax.tree.structure(found) == jax.tree.structure(wanted), (found, wanted)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        assert one is other if type(other) is object else one == other, (found, wanted)


@pytest.mark.parametrize("program", NUMBERS, ids=lambda program: program.__name__)
def test_a_value_or_a_sentinel(program):
    made = ag.function(program)
    for x in (2, -2, 9, -4):
        same(made(jnp.int32(x)), program(x))


@pytest.mark.parametrize("program", LISTS, ids=lambda program: program.__name__)
def test_a_value_or_a_sentinel_of_iterations(program):
    made = ag.function(program)
    for xs in ([1, 2, 3], [3, 1, 1], [0, 1, 1], [2, 3, 3]):
        same(made(jnp.array(xs)), program(xs))


def test_a_batch_of_values_and_sentinels():
    def f(x):
        v = doubled(x)
        return -1 if v is MISSING else v

    xs = [2, -2, 0, 5]
    assert (
        jax.vmap(ag.convert(f))(jnp.array(xs)).tolist()
        == jax.jit(jax.vmap(ag.convert(f)))(jnp.array(xs)).tolist()
        == [f(x) for x in xs]
    )


def test_a_bare_jit_returns_an_optional_that_resolves_to_the_sentinel():
    made = jax.jit(ag.convert(doubled))
    assert made(jnp.int32(-1)).resolve() is MISSING
    assert made(jnp.int32(2)).resolve() == 4


def test_use_of_a_sentinel_raises():
    with pytest.raises(TypeError, match="an object\\(\\) was used where a value is needed"):
        ag.function(lambda x: doubled(x) + 1)(jnp.int32(-1))
    with pytest.raises(ag.StagingError, match=r"may be an object\(\): one path(.|\n)*Test `is that object` first"):
        jax.jit(ag.convert(lambda x: doubled(x) + 1))(jnp.int32(-1))


def test_an_object_that_each_iteration_makes_is_refused():
    def f(xs):
        found = 0
        for x in xs:
            made = object()
            if x > 1:
                found = made
        return found == 0

    with pytest.raises(ag.StagingError, match="'found'"):
        ag.function(f)(jnp.array([1, 2]))


def test_the_class_of_what_may_be_none():
    def f(x):
        v = x if x > 0 else None
        return type(v) is type(None), type(v) is str, type(v).__name__ == "NoneType"

    for x in (1, -1):
        same(staged.function(f)(jnp.int32(x)), f(x))
