"""Messages name functions, arguments and containers as the user does."""

import collections

import jax.numpy as jnp
import pytest

import autograph as ag


class Store:
    def __init__(self):
        self.rows = [1.0]
        self.table = {"k": [2.0]}

    def add(self, v):
        if v > 0:
            self.rows.append({"v": v})


def in_a_dict(x):
    state = dict(rows=[x])
    if x > 0:
        state["rows"].append({"x": x})
    return x


@ag.do_not_convert
def made_elsewhere(x):
    return collections.deque([x])


def a_deque(x):
    queue = made_elsewhere(x)
    if x > 0:
        queue.append({"x": x})
    return x


def in_an_attribute_by_a_method(x):
    store = Store()
    store.add(x)
    return x


def in_a_dict_in_an_attribute(x):
    store = Store()
    if x > 0:
        store.table["k"].append(["text"])
    return x


@pytest.mark.parametrize(
    ("program", "name"),
    [
        (in_a_dict, "state['rows']"),
        (a_deque, "queue"),
        (in_an_attribute_by_a_method, "self.rows"),
        (in_a_dict_in_an_attribute, "store.table['k']"),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_containers_are_called_as_the_program_calls_them(program, name):
    with pytest.raises(ag.StagingError) as caught:
        ag.function(program)(jnp.float32(1.0))
    assert repr(name) in str(caught.value)


@ag.do_not_convert
def unconverted(v):
    return 1 if v > 0 else 2


def test_jax_names_the_users_function_and_argument():
    @ag.function
    def scaled(x, params, *, k=1):
        return x * unconverted(params["w"]) * k

    with pytest.raises(ag.StagingError) as caught:
        scaled(jnp.float32(1.0), {"w": jnp.float32(2.0)})
    text = str(caught.value.__cause__)
    assert f"the function scaled at {__file__}" in text and "the argument params_w" in text


def test_jax_names_the_users_branch():
    @ag.function
    def f(x):
        if x > 0:
            return unconverted(x)
        return x

    with pytest.raises(ag.StagingError, match="unconverted was not converted") as caught:
        f(jnp.float32(1.0))
    assert f"the function f at {__file__}" in str(caught.value.__cause__)


@pytest.mark.parametrize("given", ["a", None, {}, [1, None]], ids=str)
def test_what_cannot_be_added_is_refused_by_the_name_of_the_variable(given):
    v = ag.Variable(jnp.zeros(2), name="weights")
    adds = [lambda: v.assign_add(given), lambda: v.assign_sub(given), lambda: v[:].assign_add(given)]
    for add in (*adds, ag.function(lambda: v.assign_add(given))):
        with pytest.raises((TypeError, ValueError), match=r"'weights' holds float32\[2\]"):
            add()
    assert v.numpy().tolist() == [0.0, 0.0]
