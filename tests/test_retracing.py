"""Retracing made visible: counts, reasons, and the warning."""

from __future__ import annotations

import dataclasses
import enum
import warnings

import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag


class Mode(enum.Enum):
    A = 1
    B = 2


@dataclasses.dataclass
class Config:
    rate: float
    layers: list


class Thing:
    def __repr__(self):
        return "<Thing>"


def reasons(f, *calls):
    """The reasons of the last trace."""
    compiled = ag.function(f)
    for call in calls:
        compiled(*call)
    text = compiled.explain_retraces()
    return [
        line.strip() for line in text.partition(f"Trace {compiled.experimental_get_tracing_count()}:\n")[2].splitlines()
    ]


def power(x, n):
    return x**n if isinstance(n, (int, float)) else x


X = jnp.ones(2)


def test_a_python_number():
    assert reasons(power, (X, 3), (X, 4)) == ["argument 2 `n`: Python int 3 → 4; pass it as an array, `jnp.asarray(n)`"]
    assert reasons(power, (X, 3), (X, 3.0)) == [
        "argument 2 `n`: Python int 3 → Python float 3.0; pass it as an array, `jnp.asarray(n)`"
    ]
    assert reasons(power, (X, jnp.asarray(3)), (X, 4))[0].startswith(
        "argument 2 `n`: int32[] → Python int 4; pass it as an array"
    )
    assert reasons(power, (X, 4), (X, jnp.asarray(3)))[0] == (
        "argument 2 `n`: Python int 4 → int32[]; pass it as an array each time, `jnp.asarray(n)`"
    )


@pytest.mark.parametrize(
    "first,second,text",
    [
        (jnp.ones(2), jnp.ones(3), "float32[2] → float32[3]; leave the size open: `reduce_retracing=True`"),
        (jnp.ones(2), jnp.ones((2, 1)), "float32[2] → float32[2,1]; each rank is a graph of its own"),
        (jnp.ones(2), jnp.ones(2, jnp.int32), "float32[2] → int32[2]; pass one dtype, `x.astype(...)`"),
        (jnp.asarray(1.0), jnp.ones(()), "weak float32[] → float32[]; make it in one way"),
        ("a", "b", "Python str 'a' → 'b'; each value is a graph of its own"),
        (Mode.A, Mode.B, "Mode <Mode.A: 1> → Mode <Mode.B: 2>"),
        (
            [X, X],
            [X, X, X],
            "[float32[2], float32[2]] → [float32[2], float32[2], float32[2]]; each structure is a graph",
        ),
        ([X], (X,), "[float32[2]] → (float32[2],); keep one structure"),
        (X, None, "float32[2] → None"),
        (Thing(), Thing(), "pass the same one each time, or give its class __eq__ and __hash__"),
    ],
)
def test_other_differences(first, second, text):
    found = reasons(lambda x: 0, (first,), (second,))
    assert len(found) == 1 and found[0].startswith("argument 1 `x`: ") and text in found[0]


def test_within_a_structure():
    assert reasons(lambda t: 0, ({"a": [X, 1], "b": X},), ({"a": [X, 2], "b": jnp.ones(3)},)) == [
        "argument 1 `t['a'][1]`: Python int 1 → 2; pass it as an array, `jnp.asarray(t['a'][1])`",
        "argument 1 `t['b']`: float32[2] → float32[3]; leave the size open: `reduce_retracing=True`, or "
        "`ag.TensorSpec` with None in an input_signature",
    ]
    assert reasons(lambda c: 0, (Config(0.1, [1]),), (Config(0.2, [1]),)) == [
        "argument 1 `c.rate`: Python float 0.1 → 0.2; pass it as an array, `jnp.asarray(c.rate)`"
    ]


def test_keywords_and_numbers_of_arguments():
    def f(x, *rest, flag=True):
        return x

    g = ag.function(f)
    g(X)
    g(X, 1)
    g(X, flag=False)
    text = g.explain_retraces()
    assert "`rest[0]`: left out → given" in text and "`flag`: Python bool True → False" in text


def test_the_nearest_trace_is_what_it_is_compared_with():
    calls = [(X, 1), (jnp.ones(3), 2), (X, 2)]
    assert reasons(power, *calls) != [] and len(reasons(power, *calls)) == 1
    f = ag.function(power)
    for call in calls:
        f(*call)
    assert f.explain_retraces().count("Trace ") == 2


def test_nothing_to_explain():
    f = ag.function(power)
    assert "not at all" in f.explain_retraces()
    f(X, 1), f(X, 1)
    assert "once" in f.explain_retraces() and f.experimental_get_tracing_count() == 1


def test_the_warning_comes_once_with_the_reason():
    f = ag.function(power)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for n in range(5):
            f(X, n)
    with pytest.warns(ag.StagingWarning) as caught:
        for n in range(5, 40):
            f(X, n)
    texts = [str(w.message) for w in caught]
    assert len(texts) == 1
    assert "power was traced 6 times within 10 calls" in texts[0]
    assert "argument 2 `n`: Python int 4 → 5; pass it as an array, `jnp.asarray(n)`" in texts[0]
    assert caught[0].filename == __file__ and "f(X, n)" in texts[0]


def test_traces_far_apart_are_none_to_warn_of():
    f = ag.function(power)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for n in range(12):
            for _ in range(3):
                f(X, n)
    assert f.experimental_get_tracing_count() == 12


def test_each_instance_is_counted_by_itself():
    class Model:
        @ag.function
        def f(self, x):
            return x

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for model in [Model() for _ in range(10)]:
            model.f(X)


def test_asking_for_concrete_functions_is_no_call():
    f = ag.function(power)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for n in range(10):
            f.get_concrete_function(X, n)
    assert f.experimental_get_tracing_count() == 10


@pytest.mark.filterwarnings("ignore::autograph.StagingWarning")
def test_the_log_is_bounded():
    f = ag.function(lambda x, n: x, cache_limit=2)
    for n in range(120):
        f(X, n)
    text = f.explain_retraces()
    assert "traced 120 times" in text and "no longer remembered" in text and len(text.splitlines()) < 250


def test_a_dropped_program_says_so():
    f = ag.function(lambda x: x)
    f(X)
    f.clear_cache()
    f(X)
    assert "once" in f.explain_retraces()


def test_captured_values():
    k = 1
    array = np.ones(2)
    f = ag.function(lambda x: x * k + array)
    f(X)
    k = 2
    f(X)
    array = np.zeros(2)
    f(X)
    text = f.explain_retraces()
    assert "captured `k`: Python int 1 → 2; pass it as an argument, as an array if it is a number" in text
    assert "captured `array`" in text


def test_traces_that_fail_are_not_counted():
    @ag.function
    def f(x):
        if x.ndim:
            raise ValueError("a scalar is needed")
        return x

    for _ in range(8):  # a warning would be an error here
        with pytest.raises(ValueError, match="a scalar is needed"):
            f(jnp.ones(2))
    assert f.experimental_get_tracing_count() == 0
    f(jnp.array(1.0))
    assert f.experimental_get_tracing_count() == 1
    assert f.explain_retraces() == "f was traced once: nothing was retraced."
