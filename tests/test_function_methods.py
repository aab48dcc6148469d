"""Decorated methods: a `Function` for each instance, gone when that is; and how long programs live."""

from __future__ import annotations

import abc
import copy
import dataclasses
import gc
import inspect
import sys
import weakref

import jax
import jax.numpy as jnp
import pytest

import autograph as ag


class Scale:
    def __init__(self, k):
        self.k = k

    @ag.function
    def by(self, x, n=1):
        if x > 0:
            return x * self.k * n
        return x

    @ag.function
    @staticmethod
    def outer_static(x):
        return x + 1

    @staticmethod
    @ag.function
    def inner_static(x):
        return x + 2

    @ag.function
    @classmethod
    def outer_class(cls, x):
        return x, cls.__name__

    @classmethod
    @ag.function
    def inner_class(cls, x):
        return x, cls.__name__


class Twice(Scale):
    @ag.function
    def by(self, x, n=1):
        return super().by(x, n=n) * 2


def test_each_instance_has_its_own_results_and_traces():
    a, b = Scale(2), Scale(3)
    one = jnp.array(1.0)
    assert [float(m.by(one)) for m in (a, b, a, b)] == [2, 3, 2, 3]
    assert a.by == a.by and a.by != b.by and len({a.by, a.by, b.by}) == 2
    assert a.by.experimental_get_tracing_count() == 1
    assert float(a.by(one, n=4)) == 8 and float(a.by(jnp.array(-1.0))) == -1
    assert Scale.by.experimental_get_tracing_count() == 0
    assert float(Scale.by(b, one)) == 3
    assert a.by.python_function.__self__ is a and a.by.__name__ == "by"
    assert list(inspect.signature(a.by).parameters) == ["x", "n"]


def test_a_subclass_and_super():
    assert float(Twice(2).by(jnp.array(1.0))) == 4


@pytest.mark.parametrize("name,added", [("outer_static", 1), ("inner_static", 2)])
def test_static_methods(name, added):
    for owner in (Scale, Scale(1)):
        assert float(getattr(owner, name)(jnp.array(1.0))) == 1 + added


@pytest.mark.parametrize("name", ["outer_class", "inner_class"])
def test_class_methods(name):
    for _ in range(2):
        assert getattr(Scale, name)(1) == (1, "Scale")
        assert getattr(Twice(1), name)(1) == (1, "Twice")
    # From 3.13 on, `classmethod` binds what it wraps as a plain function: its attributes are those of the unbound one.
    owner = (Scale,) if sys.version_info >= (3, 13) else ()
    assert Scale.outer_class.get_concrete_function(*owner, 1).name == "outer_class"


def test_dropping_an_instance_frees_it_and_its_traces():
    a = Scale(2)
    a.by(jnp.array(1.0))
    program = weakref.ref(next(iter(a.by._cache._entries.values())).program)
    bound, instance = weakref.ref(a.by), weakref.ref(a)
    del a
    gc.collect()
    assert instance() is None and bound() is None and program() is None
    assert all(reference() is not None for reference in Scale.by._bound._references.values())
    assert Scale.by._bound.made.keys() == Scale.by._bound._references.keys()


def test_it_is_freed_when_it_holds_its_own_function_too():
    class Model:
        def __init__(self):
            self.step = ag.function(self._step)
            self.again = self.twice  # the bound Function, an attribute of its own instance

        def _step(self, x):
            return x + 1

        @ag.function
        def twice(self, x):
            return self._step(self._step(x))

    model = Model()
    assert float(model.step(jnp.array(1.0))) == 2 and float(model.twice(jnp.array(1.0))) == 3
    watch = weakref.ref(model)
    del model
    gc.collect()
    assert watch() is None


class Slotted:
    __slots__ = ("k",)

    def __init__(self, k):
        self.k = k

    @ag.function
    def by(self, x):
        return x * self.k


class EqualNoHash:
    def __init__(self, k):
        self.k = k

    def __eq__(self, other):
        return True

    __hash__ = None

    @ag.function
    def by(self, x):
        return x * self.k


@dataclasses.dataclass(slots=True)
class Record:
    k: int

    @ag.function
    def by(self, x):
        return x * self.k


@pytest.mark.parametrize("kind", [Slotted, EqualNoHash, Record])
def test_instances_that_are_awkward_to_hold(kind):
    instances = [kind(k) for k in range(5)]
    for _ in range(2):
        assert [float(m.by(jnp.array(1.0))) for m in instances] == [0, 1, 2, 3, 4]
    assert all(m.by.experimental_get_tracing_count() == 1 for m in instances)


def test_instances_that_cannot_be_held_weakly_are_held_in_bounded_number():
    class Small:
        __slots__ = ("k",)

        def by(self, x):
            return x * self.k

    Small.by = ag.function(Small.by, cache_limit=4)
    for k in range(10):
        small = Small()
        small.k = k
        assert float(small.by(jnp.array(1.0))) == k
    assert len(Small.__dict__["by"]._bound.made) <= 4


def test_an_abstract_method_and_a_wrapper_of_an_instance_attribute():
    class Base(abc.ABC):
        @abc.abstractmethod
        def f(self, x): ...

        @ag.function
        def run(self, x):
            return self.f(x)

    class Child(Base):
        def f(self, x):
            return x if x > 0 else -x

    assert float(Child().run(jnp.array(-3.0))) == 3


def test_copies_of_an_instance_have_their_own():
    a = Scale(2)
    a.stored = ag.function(lambda x: x + 1)
    a.by(jnp.array(1.0))
    b = copy.deepcopy(a)
    b.k = 5
    assert float(b.by(jnp.array(1.0))) == 5 and float(a.by(jnp.array(1.0))) == 2
    assert float(b.stored(jnp.array(1.0))) == 2


def test_the_cache_is_bounded_and_warns_once():
    f = ag.function(lambda x, n: x + n, cache_limit=4)
    with pytest.warns(ag.StagingWarning) as caught:
        for n in range(12):
            assert float(f(jnp.array(0.0), n)) == n
            assert float(f(jnp.array(0.0), 0)) == 0  # in use, and so it stays
    told = [str(w.message) for w in caught]
    assert sum("as many as its cache_limit" in text for text in told) == 1
    assert len(f._cache) == 4 and f.experimental_get_tracing_count() == 12
    assert len(f._concrete) <= 4


@pytest.mark.filterwarnings("ignore::autograph.StagingWarning")
def test_what_was_dropped_is_freed():
    f = ag.function(lambda x, n: x + n, cache_limit=3)
    f(jnp.array(0.0), 0)
    program = weakref.ref(next(iter(f._cache._entries.values())).program)
    for n in range(1, 8):
        f(jnp.array(0.0), n)
    gc.collect()
    assert program() is None


def test_clear_cache_forgets_everything():
    f = ag.function(lambda x: x + 1)
    f(jnp.ones(2))
    f.clear_cache()
    assert f.experimental_get_tracing_count() == 0 and f.pretty_printed_concrete_signatures() == ""
    assert f(jnp.ones(2)).tolist() == [2, 2] and f.experimental_get_tracing_count() == 1


def test_a_failed_trace_leaves_nothing():
    def f(x, fail):
        if fail:
            raise KeyError("no")
        return x

    g = ag.function(f)
    for _ in range(2):
        with pytest.raises(KeyError):
            g(jnp.ones(2), True)
    assert g(jnp.ones(2), False).tolist() == [1, 1]
    assert g.pretty_printed_concrete_signatures(verbose=False) == "f(x, fail=False)"


def test_composes_with_transforms():
    f = ag.function(lambda x, n: x**n if n > 1 else x)
    x = jnp.arange(3.0)
    assert jax.jit(lambda x: f(x, 2))(x).tolist() == [0, 1, 4]
    assert jax.vmap(lambda x: f(x, 2))(x).tolist() == [0, 1, 4]
    assert jax.grad(lambda x: f(x, 2).sum())(x).tolist() == [0, 2, 4]


def test_of_several_instances_each_finds_its_own_while_others_come_and_go():
    class Scale:
        def __init__(self, by):
            self.by = by

        @ag.function
        def of(self, x):
            return x * self.by

    first, second = Scale(2.0), Scale(3.0)
    x = jnp.array(1.0)
    found = [float(each.of(x)) for each in (first, second, first, second, first)]
    assert found == [2.0, 3.0, 2.0, 3.0, 2.0]
    program = weakref.ref(next(iter(second.of._cache._entries.values())).program)
    del second  # that a function was bound to last
    gc.collect()
    assert program() is None
    third = Scale(4.0)
    assert [float(each.of(x)) for each in (first, third, first)] == [2.0, 4.0, 2.0]
    Scale.of.clear_cache()
    assert [float(each.of(x)) for each in (third, first, third)] == [4.0, 2.0, 4.0]
    assert Scale.of is Scale.__dict__["of"]
