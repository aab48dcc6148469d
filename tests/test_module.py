"""`ag.Module`: the Variables of an object, found by walking it."""

from __future__ import annotations

from collections import namedtuple

import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag


class Dense(ag.Module):
    def __init__(self, inputs, outputs, name):
        self.w = ag.Variable(jnp.ones((inputs, outputs)), name=f"{name}.w")
        self.b = ag.Variable(jnp.zeros(outputs), name=f"{name}.b")

    def __call__(self, x):
        return x @ self.w + self.b


Pair = namedtuple("Pair", "left right")


class Network(ag.Module):
    def __init__(self):
        self.second = Dense(3, 1, "second")
        self.first = Dense(2, 3, "first")
        self.pair = Pair(Dense(1, 1, "left"), [self.first])
        self.table = {"b": ag.Variable(0, trainable=False, name="count"), "a": self.second}
        self.me = self
        self.other = object()

    @ag.function
    def __call__(self, x):
        self.table["b"].assign_add(1)
        return self.second(self.first(x))


def test_variables_in_a_stable_order_each_once():
    network = Network()
    names = [v.name for v in network.variables]
    assert names == ["first.b", "first.w", "left.b", "left.w", "second.b", "second.w", "count"]
    assert [v.name for v in network.trainable_variables] == names[:-1]
    assert [v.name for v in Network().variables] == names


def test_submodules():
    network = Network()
    assert network.submodules == (network.first, network.pair.left, network.second)
    assert network.first.submodules == ()


def test_slots_and_late_variables():
    class Late(ag.Module):
        __slots__ = ("v",)

        def __init__(self):
            self.v = None

        @ag.function
        def __call__(self, x):
            if self.v is None:
                self.v = ag.Variable(jnp.ones_like(x))
            return self.v + x

    late = Late()
    assert late.variables == ()
    late(jnp.ones(2))
    assert len(late.variables) == 1


def test_modules_in_functions():
    network = Network()
    np.testing.assert_array_equal(network(jnp.ones((1, 2))), [[6.0]])
    assert int(network.table["b"]) == 1

    @ag.function
    def call(module, x):
        return module(x)

    call(network, jnp.ones((1, 2)))
    assert int(network.table["b"]) == 2


def test_a_name_by_the_class_or_given():
    class HTTPDecoder2Layer(ag.Module):
        pass

    class Named(ag.Module):
        def __init__(self, name=None):
            super().__init__(name=name)
            self.v = ag.Variable(1.0, name=f"{self.name}/v")

    class Own(ag.Module):
        def __init__(self):
            self.name = "my own"

    assert [HTTPDecoder2Layer().name, Named().v.name, Named("left").v.name] == [
        "http_decoder2_layer",
        "named/v",
        "left/v",
    ]
    assert Own().name == "my own" and Named("left").variables[0].name == "left/v"
    for bad in ("a b", "", 3):
        with pytest.raises(ValueError, match="name of a module must be an identifier"):
            Named(bad)


class Scale(ag.Module):
    def __init__(self, by):
        self.by = ag.Variable(by)
        self.calls = ag.Variable(0)

    def __call__(self, x):
        self.calls.assign_add(1)
        return x * self.by


def test_a_module_that_a_condition_selects():
    def run(modules, x, k):
        first = modules[0] if x > 0 else modules[1]
        if x > 1:
            second = modules[1]
        else:
            second = first
        return first(x), second(x), modules[k](x), first.by * 2

    for x, k in ((2.0, 1), (-1.0, 0), (0.5, 1)):
        found, wanted = [Scale(2.0), Scale(3.0)], [Scale(2.0), Scale(3.0)]
        results = ag.function(lambda x, k, modules=found: run(modules, x, k))(jnp.array(x), jnp.array(k))
        assert [float(each) for each in results] == [float(each) for each in run(wanted, x, k)]
        assert [int(each.calls) for each in found] == [int(each.calls) for each in wanted]
