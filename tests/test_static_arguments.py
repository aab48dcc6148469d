"""Arguments of an `ag.function` that are static, or given away, as `jax.jit`'s ``static_argnums`` and ``donate_argnums``."""

from __future__ import annotations

import dataclasses
import enum

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag


def counted(**options):
    """A function with two arguments, compiled, and the list that each trace of it lengthens."""
    traces = []

    def scaled(x, by):
        traces.append(by)
        if x.sum() > 0:
            x = x * (by if isinstance(by, int | float | np.generic) else len(by))
        return x

    return ag.function(scaled, **options), traces


X = jnp.array([1.0, 2.0])


@pytest.mark.parametrize("options", [{"static_argnums": 1}, {"static_argnums": (-1,)}, {"static_argnames": "by"}])
def test_a_static_argument_is_one_however_it_is_given(options):
    f, traces = counted(**options)
    np.testing.assert_array_equal(f(X, 3), [3, 6])
    np.testing.assert_array_equal(f(X, by=3), [3, 6])
    np.testing.assert_array_equal(f(by=3, x=X), [3, 6])
    assert traces == [3]
    f(X, 4)
    assert traces == [3, 4]


def test_a_numpy_scalar_is_a_value_of_the_program():
    f, traces = counted(static_argnames=["by"])
    for _ in range(2):
        np.testing.assert_array_equal(f(X, np.float32(3)), [3, 6])
    f(X, np.float64(3))
    assert [type(by) for by in traces] == [np.float32, np.float64]


def test_tuples_are_told_apart_by_the_types_of_their_items():
    f, traces = counted(static_argnums=1)
    for by in [(1, 2), (1, 2), (1.0, 2), (True, 2), ((1,), 2), ((1.0,), 2)]:
        np.testing.assert_array_equal(f(X, by), [2, 4])
    assert len(traces) == 5


class Mode(enum.Enum):
    UP = 1
    DOWN = 2


@dataclasses.dataclass(frozen=True)
class Settings:
    rate: float
    mode: Mode = Mode.UP


def test_a_frozen_dataclass_is_told_apart_by_equality():
    traces = []

    @ag.function(static_argnames=("settings",))
    def step(x, *, settings):
        traces.append(settings)
        return x + settings.rate if settings.mode is Mode.UP else x - settings.rate

    assert float(step(jnp.array(1.0), settings=Settings(0.5))) == 1.5
    assert float(step(jnp.array(1.0), settings=Settings(0.5))) == 1.5
    assert float(step(jnp.array(1.0), settings=Settings(0.5, Mode.DOWN))) == 0.5
    assert len(traces) == 2


class Polynomial:
    def __init__(self, *coefficients):
        self.coefficients = coefficients

    @ag.function(static_argnums=(0, 2))
    def value(self, x, terms):
        total = jnp.zeros_like(x)
        for k in range(terms):
            total += self.coefficients[k] * x**k
        return total


def test_a_method_may_name_its_instance():
    one, other = Polynomial(1.0, 2.0, 3.0), Polynomial(4.0, 5.0, 6.0)
    assert float(one.value(jnp.array(2.0), 2)) == 5
    assert float(one.value(jnp.array(2.0), 3)) == 17
    assert float(other.value(jnp.array(2.0), terms=2)) == 14


def test_what_takes_any_number_of_arguments():
    @ag.function(static_argnums=2, static_argnames="mode")
    def f(x, *more, **named):
        return x + more[0] * len(more[1]) + {"a": 1, "b": 2}[named["mode"]]

    assert float(f(jnp.array(1.0), jnp.array(2.0), "xyz", mode="a")) == 8
    assert float(f(jnp.array(1.0), jnp.array(2.0), ("x",), mode="b")) == 5


def test_an_attribute_of_a_static_object_is_read_at_each_call():
    class Box:
        n = 2

    @ag.function(static_argnums=1)
    def f(x, box):
        return x * box.n

    box = Box()
    assert float(f(jnp.array(1.0), box)) == 2
    box.n = 5
    assert float(f(jnp.array(1.0), box)) == 5


@pytest.mark.parametrize("value", [[1, 2], {"a": 1}, np.ones(2), jnp.ones(2)])
def test_a_value_without_a_hash_is_refused(value):
    f, _ = counted(static_argnums=1)
    with pytest.raises(ValueError, match="static argument `by` is not hashable"):
        f(X, value)


def test_a_traced_value_is_refused():
    f, _ = counted(static_argnums=1)
    with pytest.raises(ValueError, match="static argument `by` is not hashable"):
        jax.jit(lambda x: f(X, x))(1.0)


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"static_argnums": 2}, ValueError, "static_argnums names argument 2 of a function that takes 2"),
        ({"donate_argnums": -3}, ValueError, "donate_argnums names argument -3"),
        ({"static_argnames": "size"}, ValueError, "static_argnames names 'size'"),
        ({"static_argnums": "x"}, TypeError, "static_argnums must be an int or a sequence of ints"),
        ({"static_argnames": 1}, TypeError, "static_argnames must be a string or a sequence of strings"),
        ({"static_argnums": 0, "donate_argnums": (1, 0)}, ValueError, "`x` is static and donated"),
        ({"static_argnums": 1, "input_signature": [ag.TensorSpec([2])]}, TypeError, "input_signature"),
    ],
)
def test_options_that_cannot_be_meant(options, error, text):
    with pytest.raises(error, match=text):
        counted(**options)


def test_in_a_program_of_another_and_in_a_batch():
    f, traces = counted(static_argnums=1)
    rows = jnp.array([[1.0, 2.0], [-1.0, -2.0]])
    np.testing.assert_array_equal(jax.vmap(lambda row: f(row, 3))(rows), [[3, 6], [-1, -2]])
    assert jax.grad(lambda x: f(x, 3).sum())(X).tolist() == [3, 3]
    assert ag.function(lambda x: f(x, (1, 2)))(X).tolist() == [2, 4]
    assert traces[0] == 3


def test_a_concrete_function_takes_the_arrays_alone_or_all():
    f = ag.function(lambda x, by: x * by, static_argnums=1)
    concrete = f.get_concrete_function(ag.TensorSpec([2]), np.float32(3))
    assert concrete(X).tolist() == concrete(X, np.float32(3)).tolist() == [3, 6]
    assert concrete is f.get_concrete_function(X, by=np.float32(3))
    with pytest.raises(ag.InvalidArgumentError):
        concrete(X, np.float32(4))


def test_what_is_given_away_is_used_up():
    @ag.function(donate_argnums=0)
    def step(state, x):
        return {"w": state["w"] + x, "n": state["n"] + 1}

    state = {"w": jnp.zeros(3), "n": jnp.array(0)}
    first = state["w"]
    for _ in range(3):
        state = step(state, jnp.ones(3))
    assert state["w"].tolist() == [3, 3, 3] and int(state["n"]) == 3
    assert first.is_deleted()
    kept = jnp.ones(3)
    step(state, kept)
    assert not kept.is_deleted()


def test_a_variable_beside_what_is_given_away():
    count = ag.Variable(0)

    @ag.function(donate_argnums=(1,), donate_variables=True)
    def step(by, x):
        count.assign_add(1)
        return x + by * count

    x = jnp.zeros(2)
    for _ in range(3):
        x = step(1.0, x)
    assert x.tolist() == [6, 6] and int(count.value) == 3


def test_a_list_without_a_bound_needs_its_arguments_again():
    @ag.function(donate_argnums=0)
    def halvings(x):
        out = []
        while x > 1:
            x = x / 2
            out.append(x)
        return len(out), x

    with pytest.raises(ag.StagingError, match=r"(?s)are donated \(donate_argnums\).*set_loop_options\(maximum_length"):
        halvings(jnp.array(9.0))
