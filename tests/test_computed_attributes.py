"""Attributes that a function reads by a name that it computes, or through code of a descriptor's, are compared at each call."""

import dis
import operator
import types
import weakref

import jax.numpy as jnp
import pytest

import autograph as ag
from autograph.runtime.code.code_names import patterns_of

X = jnp.float32(2)


class Layers:
    def __init__(self):
        self.layer0, self.layer1, self.other, self.names = 1.0, 2.0, 5.0, ["layer0"]


def of_an_f_string(layers, x):
    for k in range(2):
        x = x * getattr(layers, f"layer{k}")
    return x


def of_a_sum(layers, x):
    for k in range(2):
        x = x * getattr(layers, "layer" + str(k), None)
    return x


def of_a_format(layers, x):
    return operator.attrgetter("layer%d" % (x.ndim + 1))(layers) * x  # noqa: UP031


def of_names_in_a_list(layers, x):
    for name in (*layers.names, "layer1"):
        if hasattr(layers, name):
            x = x * getattr(layers, name)
    return x


def by_a_chosen_name(layers, x):
    return x * getattr(layers, "layer0" if x.ndim else "layer1")


@pytest.mark.parametrize(
    "plain",
    [of_an_f_string, of_a_sum, of_a_format, of_names_in_a_list, by_a_chosen_name],
    ids=lambda each: each.__name__,
)
def test_attributes_of_computed_names(plain):
    layers = Layers()
    staged = ag.function(lambda x: plain(layers, x))
    assert staged(X) == plain(layers, X)
    layers.layer1 = 7.0
    assert staged(X) == plain(layers, X) == 14
    assert staged(X) == plain(layers, X) and staged.experimental_get_tracing_count() == 2


def test_attributes_that_no_computed_name_may_be_are_not_compared():
    layers = Layers()
    staged = ag.function(lambda x: of_an_f_string(layers, x))
    staged(X)
    layers.other = 9.0
    staged(X)
    assert staged.experimental_get_tracing_count() == 1


def test_globals_of_a_module_by_a_computed_name():
    settings = types.ModuleType("settings")
    settings.rate = 2.0
    staged = ag.function(lambda x, name: x * getattr(settings, name))
    assert staged(X, "rate") == 4
    settings.rate = 3.0
    assert staged(X, "rate") == 6


def test_a_method_that_computes_names_and_assigns_attributes_is_traced_once():
    class Model:
        def __init__(self):
            self.layer0, self.calls, self.last = 2.0, 0, None

        @ag.function
        def apply(self, x, k):
            self.calls += 1
            self.last = k
            return x * getattr(self, f"layer{k}") * getattr(self, "layer" if k else "layer0")

    model = Model()
    assert [float(model.apply(X, 0)) for _ in range(4)] == [8.0] * 4
    assert model.apply.experimental_get_tracing_count() <= 2


class OfOneName:
    def __get__(self, owner, kind):
        return self if owner is None else owner._held * 2

    def __set__(self, owner, value):
        owner._held = value + 1


class OfItsName:
    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, owner, kind):
        return self if owner is None else getattr(owner, self.name)

    def __set__(self, owner, value):
        setattr(owner, self.name, value)


class InTheNamespace:
    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, owner, kind):
        return self if owner is None else owner.__dict__[self.name]

    def __set__(self, owner, value):
        owner.__dict__[self.name] = value


class ByObject:
    def __init__(self):
        self.values = weakref.WeakKeyDictionary()

    def __get__(self, owner, kind):
        return self if owner is None else self.values[owner]

    def __set__(self, owner, value):
        self.values[owner] = value


@pytest.mark.parametrize("descriptor", [OfOneName, OfItsName, InTheNamespace, ByObject], ids=lambda each: each.__name__)
@pytest.mark.parametrize("is_method", [True, False], ids=["method", "argument"])
def test_what_a_descriptor_reads(descriptor, is_method):
    class Holder:
        rate = descriptor()

        def __init__(self):
            self.rate = 1.0

        def apply(self, x):
            return x * self.rate if x > 0 else x

    holder = Holder()
    staged = ag.function(holder.apply) if is_method else ag.function(lambda x, each=holder: Holder.apply(each, x))
    assert staged(X) == holder.apply(X)
    holder.rate = 7.0
    assert staged(X) == holder.apply(X) != X


def test_what_a_descriptor_holds_and_what_a_metaclass_computes():
    class Constant:
        def __init__(self, value):
            self.value = value

        def __get__(self, owner, kind):
            return self.value

    class Meta(type):
        @property
        def factor(cls):
            return cls._factor

    constant = Constant(1.0)

    class Holder(metaclass=Meta):
        rate = constant
        _factor = 1.0

    holder = Holder()
    staged = ag.function(lambda x: x * holder.rate * Holder.factor)
    assert staged(X) == 2
    constant.value = 3.0
    assert staged(X) == 6
    Holder._factor = 2.0
    assert staged(X) == 12


def names_written_out(a, b):
    found = getattr(a, "x"), getattr(a.y[b], "x", None), operator.attrgetter("x")(a), object.__getattribute__(a, "x")  # noqa: B009
    return found, hasattr(a, "x") and getattr(a, "x", getattr(a, "y", 3))


@pytest.mark.parametrize(
    ("code", "patterns"),
    [
        (names_written_out, []),
        (lambda a, b: getattr(a, b), [()]),
        (lambda a, b: getattr(a, f"x{b}_{a['y']}z"), [("x", "_", "z")]),
        (lambda a, b: getattr(a.y, "x" + b, None), [("x",)]),
        (lambda a, b: getattr(a, "x" if b else "y"), [()]),
        (lambda a, b: map(getattr, a, b), [()]),
        (lambda a, b: operator.methodcaller(b, "x")(a), [()]),
    ],
    ids=["constants", "any", "f-string", "sum", "chosen", "function", "methodcaller"],
)
def test_what_computed_names_contain(code, patterns):
    assert list(patterns_of(list(dis.get_instructions(code)))) == patterns
