"""The quick way to a program: of dataclasses, and of programs that raise, run out of room, or change their arguments."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

import autograph as ag
from tests.dispatched import Plain, Slotted, number_of_halves, root


@pytest.mark.parametrize("kind", [Plain, Slotted])
def test_dataclasses_on_the_quick_way(kind):
    """What their fields hold is told apart, nested too, and what more an object holds, or less."""

    def scaled(pair):
        if isinstance(pair.by, kind):
            return scaled(pair.by) + pair.values
        return pair.values * (getattr(pair, "more", 1) if pair.by is None else pair.by)

    def with_more():
        pair = kind(x, None)
        if kind is Plain:
            pair.more = 7
        return pair

    def without():
        pair = kind(x)
        del pair.by
        return pair

    x = jnp.ones(2)
    made = [
        lambda: kind(x), lambda: kind(x, 3), lambda: kind(x, x), lambda: kind(1.5, x), lambda: kind(x, kind(x, 3)),
        lambda: kind(x, None), with_more, lambda: kind(np.ones(2, np.float32), 3), lambda: kind(x, kind(x)),
    ]  # fmt: skip
    f, choose = ag.function(scaled), random.Random(0)
    for make in choose.choices(made, k=100):
        np.testing.assert_array_equal(f(make()), scaled(make()))
    if kind is Slotted:
        with pytest.raises(AttributeError):
            f(without())
    else:
        assert f(without()).tolist() == [2, 2]  # the class has it
    assert f(kind(x, 3)).tolist() == [3, 3]


def test_objects_with_an_equality_of_their_own_on_the_quick_way():
    """Which of them are one program's is left to that; what is read of each is compared."""

    class Scale:
        def __init__(self, name, by):
            self.name, self.by = name, by

        def __eq__(self, other):
            return self.name == other.name

        def __hash__(self):
            return hash(self.name)

    f, x = ag.function(lambda scale, x: x * scale.by), jnp.ones(2)
    one, equal = Scale("a", 2), Scale("a", 3)
    for _ in range(3):
        assert f(one, x).tolist() == [2, 2] and f(equal, x).tolist() == [3, 3]
    one.by = 5
    assert f(one, x).tolist() == [5, 5] and f(equal, x).tolist() == [3, 3]


def test_parameters_named_as_what_the_quick_way_calls():
    f, x = ag.function(lambda set, map, type, len: len[1] * set + map[0] * type["a"]), jnp.ones(2)
    for _ in range(3):
        assert f(2.0, [x], {"a": x}, {1: x}).tolist() == [3, 3]


def test_an_exception_on_the_quick_way():
    """It is Python's, shows no frame of ours, leaves Variables as they were, and the next call as it would be."""
    count = ag.Variable(0.0)

    def counted(x):
        count.assign_add(1.0)
        return root(x)

    for f in (ag.function(root), ag.function(counted)):
        f(jnp.ones(2)), f(jnp.ones(2))
        before = float(count.value)
        for _ in range(2):
            with pytest.raises(ValueError, match="no root of -2.0") as caught:
                f(-jnp.ones(2))
            assert {Path(entry.path).parent for entry in caught.traceback} == {Path(__file__).parent}
        assert float(count.value) == before
        assert f(4 * jnp.ones(2)).tolist() == [2, 2]
    assert float(count.value) == 3


def test_calls_that_change_their_arguments_go_to_the_compiled_function_of_jax():
    """What a trace has ended with an exception, as the first of a function that writes to its arguments, JAX calls slowly."""

    def increase(a, items):
        a[0] += 1
        items.append(a[0])

    f, a, items, seen = ag.function(increase), np.zeros(3, np.float32), [], []
    for _ in range(3):
        f(a, []), f(a, items[:1])

    sys.setprofile(lambda frame, *_: seen.append(frame.f_code.co_name))
    try:
        f(a, items)
    finally:
        sys.setprofile(None)
    assert "cache_miss" not in seen and a[0] == 7 and len(items) == 1


def test_a_list_outgrows_its_room_on_the_quick_way():
    """The program is compiled with more, whether the call is one of a function around it or not."""
    f = ag.function(number_of_halves)
    around = ag.function(lambda x: f(x) + f(jnp.ones(1)))
    for power in (3, 3, 100, 3, 90):
        for g in (f, around, f):
            assert g(jnp.float32([2.0**power])) == power


def test_objects_of_flax_on_the_quick_way():
    """Each module is its own, with its state; what its methods read of it is compared, and new variables are found."""

    class Block(nnx.Module):
        def __init__(self, scale):
            self.weights = nnx.Param(jnp.full(2, scale))
            self.count = nnx.BatchStat(jnp.float32(0.0))
            self.dropout = nnx.Dropout(0.5, rngs=nnx.Rngs(0))
            self.power = 1

        def __call__(self, x):
            self.count[...] = self.count[...] + 1
            return self.dropout(x * self.weights[...] ** self.power)

    def applied(blocks, x):
        return sum(block(x) for block in blocks["all"])

    one, other, x = Block(2.0), Block(3.0), jnp.ones(2)
    for block in (one, other):
        block.eval()
    f = ag.function(applied)
    for calls in range(1, 5):
        assert f({"all": [one]}, x).tolist() == [2, 2] and f({"all": [other]}, x).tolist() == [3, 3]
        assert (float(one.count[...]), float(other.count[...])) == (calls, calls)
    one.power = 3
    assert f({"all": [one]}, x).tolist() == [8, 8]
    one.weights[...] = jnp.ones(2)
    assert f({"all": [one]}, x).tolist() == [1, 1]
    one.weights = nnx.Param(jnp.full(2, 2.0))
    assert f({"all": [one]}, x).tolist() == [8, 8] and f({"all": [one, other]}, x).tolist() == [11, 11]
    one.train()
    assert any(0 in f({"all": [one]}, x).tolist() for _ in range(20))
    one.eval()
    assert f({"all": [one]}, x).tolist() == [8, 8]


def test_calls_of_nnx_jit_between_them_ask_for_no_trace():
    model, x = nnx.Linear(2, 2, rngs=nnx.Rngs(0)), jnp.ones(2)
    f, jitted = ag.function(lambda model, x: model(x)), nnx.jit(lambda model, x: model(x))
    for _ in range(3):
        np.testing.assert_allclose(f(model, x), jitted(model, x), rtol=1e-6)
    assert f.experimental_get_tracing_count() == 1
