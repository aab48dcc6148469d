"""Operators, properties and other methods that Python calls by itself, of users' classes: staged as any function."""

from __future__ import annotations

import collections.abc
import functools
import typing

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests import staged
from tests.agreement import differences


class Vec:
    def __init__(self, x):
        self.x = x

    def __add__(self, other):
        if not isinstance(other, Vec):
            return NotImplemented
        if other.x > 0:
            return Vec(self.x + other.x)
        return Vec(self.x)

    def __radd__(self, other):
        return Vec(other - self.x if self.x > 0 else other)

    def __iadd__(self, other):
        if self.x > 1:
            self.x = self.x + 10
        return self

    def __matmul__(self, other):
        return self.x * other.x  # no control flow: stays an operator

    def __neg__(self):
        return Vec(-self.x if self.x > 0 else self.x)

    def __abs__(self):
        return Vec(self.x if self.x > 0 else -self.x)

    def __lt__(self, other):
        return self.x < other.x if self.x > 0 else False

    def __eq__(self, other):
        return self.x == other.x if self.x > 0 else False

    __hash__ = None

    def __bool__(self):
        return self.x > 2

    def __len__(self):
        return 3 if self.x > 0 else 2

    def __float__(self):
        return self.x if self.x > 0 else 0.0

    def __getitem__(self, key):
        if self.x > key:
            return self.x
        return key

    def __delitem__(self, key):
        if self.x > key:
            self.x = self.x - key

    def __contains__(self, value):
        return value < self.x if value > 0 else False

    def __iter__(self):
        for k in range(2):
            yield self.x * k if self.x > 1 else 0.0

    @property
    def size(self):
        if self.x > 1:
            return self.x * 2
        return 0.0

    @functools.cached_property
    def big(self):
        return self.x * 3 if self.x > 1 else 0.0


class Longer(Vec):
    def __radd__(self, other):
        return Vec(self.x * 100 if self.x > 0 else 7.0)

    @property
    def size(self):
        return super().size + 1 if self.x > 0 else 5.0


class Steps:
    """An iterator with a known number of items."""

    def __init__(self, x):
        self.x, self.k = x, 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.k == 3:
            raise StopIteration
        self.k += 1
        return self.x if self.x > self.k else -self.x


class Endless(Steps):
    def __next__(self):
        if self.x > 3:
            raise StopIteration
        self.x += 1
        return self.x


def sums(x):
    a, b = Vec(x), Vec(1.5)
    c = a + b
    d = 2.0 + a
    a += b
    return c.x, d.x, a.x, (b + Longer(x)).x, (Longer(x) + b).x


def unary(x):
    return (-Vec(x)).x, abs(Vec(x)).x, Vec(x) @ Vec(2.0), float(Vec(x)), abs(x), -x


def comparisons(x):
    a, b = Vec(x), Vec(1.5)
    return a < b, a > b, a == b, a != b, not a, (1.0 if a and b else 0.0), a < b < Vec(3.0), 1.0 < x <= 2.0


def containers(x):
    a = Vec(x)
    total = 0.0
    for v in a:
        total = total + v
    first = a[0], a[5], 1.0 in a, 1.0 not in a, len(a)
    del a[1]
    return first, a.x, total


def truth(x):
    n = 0
    a = Vec(x)
    while a:
        a.x = a.x - 1
        n += 1
    if Vec(x):
        n += 10
    assert Vec(5.0)
    return n, bool(a)


def properties(x):
    a = Vec(x)
    a.x += a.size
    return a.size, a.big, a.big, Longer(x).size


def in_a_loop(x):
    a, total = Vec(x), 0.0
    for _ in ag.range(3):
        total += (a + Vec(1.0)).x if a < Vec(40.0) else a.size
        a += Vec(x)
    return a.x, total


def iterators(x):
    total = 0.0
    for v in Steps(x):
        total += v
    return total


def plain_values(x):
    names = ["a"] + ["b"]
    names += ["c"]
    return x + 1, -x, len(names), "a" + "b" == "ab", [1] < [2], {"k": x}["k"], names[0] == "a"


PROGRAMS = [sums, unary, comparisons, containers, truth, properties, in_a_loop, iterators, plain_values]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("x", [3.0, -1.0, 0.5, 1.75])
def test_like_plain_python(program, x):
    wanted = program(x)
    assert list(differences(wanted, staged.function(program)(jnp.float32(x)), widens=True)) == []
    assert list(differences(wanted, staged.jitted(program)(x), widens=True)) == []
    assert list(differences(wanted, ag.convert(program)(x))) == []
    lanes = staged.mapped(program)(jnp.full(2, x))
    assert list(differences(wanted, jax.tree.map(lambda leaf: leaf[0], lanes), widens=True)) == []


def test_only_what_has_control_flow_becomes_a_call():
    def f(a, b):
        return (a + b) * 2 - a.real @ b.size

    text = ag.to_code(f)
    assert "return ag__.operate('+', a, b) * 2 - a.real @ ag__.get_attr(b, 'size')" in text


def test_operators_of_what_is_no_users_object_raise_as_in_python():
    for f in (lambda: Vec(1.0) + 1, lambda: Vec(1.0) < 2, lambda: [] + Vec(1.0), lambda: -"a"):
        with pytest.raises((TypeError, AttributeError)) as wanted:
            f()
        with pytest.raises(type(wanted.value)) as found:
            ag.convert(f)()
        assert str(found.value) == str(wanted.value)


def test_a_methods_answer_that_is_none():
    class Odd:
        def __bool__(self):
            return 1 if self is not None else 0

        def __iter__(self):
            return [1] if self is not None else []

    def loops():
        for _ in Odd():
            pass

    for f, text in ((lambda: not Odd(), "__bool__ should return bool"), (loops, "non-iterator of type 'list'")):
        with pytest.raises(TypeError, match=text):
            ag.convert(f)()


def test_an_iterator_that_ends_under_a_traced_condition():
    def f(x):
        total = 0.0
        for v in Endless(x):
            total += v
        return total

    made = ag.function(f)
    for x in (0.5, 2.0, 3.5):
        assert ag.convert(f)(x) == f(x) == float(made(jnp.float32(x)))


def test_a_method_of_a_class_that_conversion_could_not_see_is_named():
    def power(self, other):
        return other if other > 0 else self

    hidden = type("Hidden", (), {"__pow__": power, "__module__": "elsewhere"})()
    with pytest.raises(ag.StagingError) as caught:
        jax.jit(ag.convert(lambda h, x: h**x), static_argnums=0)(hidden, 1.0)
    note = str(caught.value)
    assert "power was not converted" in note and "return other if other > 0" in note
    assert "call it by name" in note


@functools.lru_cache
def table(n):
    return jnp.arange(n) * 2.0


@functools.lru_cache(maxsize=None)
def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


@functools.cache
def relu(x):
    if x > 0:
        return x
    return 0.0


class Weights:
    @functools.lru_cache  # noqa: B019
    def clipped(self, x):
        return x if x > 0 else -x

    @functools.singledispatchmethod
    def scaled(self, value):
        return 1.0

    @scaled.register(jax.Array)
    def _(self, value):
        if value > 0:
            return value * 3
        return value


@functools.singledispatch
def kind(value):
    return -1.0


@kind.register(jax.Array)
def _(value):
    if value > 1:
        return value * 10
    return value


@kind.register
def _(value: str):
    return 5.0


@functools.singledispatch
def of_floats(value):
    return -1.0


@of_floats.register
def _(value: float):
    return value


def test_cached_functions():
    def f(x):
        return table(3) + fibonacci(30) + relu(x), Weights().clipped(x)

    for x in (2.0, -2.0):
        wanted = np.arange(3) * 2.0 + 832040 + max(x, 0.0), abs(x)
        for found in (jax.jit(ag.convert(f))(x), ag.function(f)(jnp.float32(x))):
            jax.tree.map(np.testing.assert_allclose, found, wanted)
    assert not isinstance(table(3), jax.core.Tracer) and ag.convert(relu)(2.0) == 2.0


@functools.lru_cache
def factorial(n):
    if n < 0:
        raise ValueError("not below zero")
    return 1 if n < 2 else n * factorial(n - 1)


def test_a_cached_function_that_is_compiled_itself():
    compiled = ag.function(factorial)
    assert int(compiled(jnp.int32(5))) == 120 and compiled(4) == 24
    with pytest.raises(ValueError, match="not below zero"):
        compiled(jnp.int32(-1))
    assert int(jax.jit(ag.convert(Weights().clipped))(-2)) == 2
    assert "ag__.if_stmt" in ag.to_code(relu)
    converted = ag.convert(factorial)
    converted.cache_clear()
    assert converted(3) == 6 and converted.cache_info().currsize == 3


def test_a_cached_function_that_reads_a_traced_value_is_refused():
    class Holder:
        value = 0.0

    @functools.cache
    def read():
        return Holder.value * 2

    def f(x):
        Holder.value = x
        try:
            return read()
        finally:
            Holder.value = 0.0

    with pytest.raises(ag.StagingError, match="Pass the value as an argument"):
        jax.jit(ag.convert(f))(1.0)


def test_a_cached_function_made_inside_goes_with_its_maker():
    def f(x):
        @functools.cache
        def doubled():
            return x * 2

        return doubled() + doubled()

    assert jax.jit(ag.convert(f))(1.5) == 6.0 == f(1.5)


def test_a_cached_function_made_inside_computes_again_what_a_block_has_computed():
    def f(x):
        @functools.cache
        def times(k):
            return k * x

        total = 0.0
        if x > 0:
            total = times(2)
        for k in range(int(x)):
            total += times(3) + times(k)
        return total, times(2), times(3)

    for x in (3.0, -3.0):
        assert jax.tree.map(float, jax.jit(ag.convert(f))(x)) == f(x)
        assert jax.tree.map(float, ag.function(f)(jnp.array(x))) == f(x)


def test_single_dispatch():
    def f(x):
        return kind(x), kind("a"), kind((1,)), Weights().scaled(x), Weights().scaled("b")

    for x in (2.0, -2.0):
        wanted = (x * 10 if x > 1 else x), 5.0, -1.0, (x * 3 if x > 0 else x), 1.0
        assert jax.tree.map(float, jax.jit(ag.convert(f))(x)) == wanted
        assert jax.tree.map(float, ag.function(f)(jnp.float32(x))) == wanted
    with pytest.raises(ag.StagingError, match=r"registered for float, but not for jax.Array"):
        jax.jit(ag.convert(lambda x: of_floats(x)))(1.0)
    assert ag.convert(lambda x: of_floats(x))(1.5) == 1.5


def flat_by_class(nested):
    found = []
    for each in nested:
        if isinstance(each, str | collections.abc.Iterable):
            found += flat_by_class(each)
        else:
            found.append(each)
    return found


def flat_by_method(nested):
    found = []
    for each in nested:
        found += flat_by_method(each) if hasattr(each, "__iter__") else [each]
    return found


@pytest.mark.parametrize("flat", [flat_by_class, flat_by_method])
def test_a_traced_number_is_no_container(flat):
    nested = [1, [2, (3, [4])], 5]
    assert [int(v) for v in ag.function(flat)(jax.tree.map(jnp.int32, nested))] == flat(nested)


def test_a_traced_array_is_a_container():
    def f(x):
        classes = collections.abc.Iterable, collections.abc.Sized, typing.Iterable, (int, collections.abc.Collection)
        return [isinstance(x, kind) for kind in classes], hasattr(x, "__len__"), isinstance(x[0], classes[3][1])

    assert jax.tree.map(bool, ag.function(f)(jnp.arange(3))) == ([True] * 4, True, False)
