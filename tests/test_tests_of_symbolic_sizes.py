"""Code that asks how large an array with a symbolic size is, and functions of Python that go over it: one trace serves all sizes."""

from __future__ import annotations

import functools
import itertools
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag

SEVERAL = [ag.TensorSpec([None])]


def larger(x):
    if len(x) > 3:
        return x.sum()
    return x.sum() * 2


def equal(x):
    if len(x) == 3:
        return x.sum()
    elif x.shape[0] >= 5:
        return x.prod()
    return x.sum() * 2


def of_a_shape(x):
    return x.sum() if x.shape == (3,) else x[0]


def of_a_variable(x):
    n = len(x)
    if n < 4 and x[0] > 0:
        return n
    return n // 2


def one_of_two_values(x):
    return 0.0 if len(x) < 2 else x[1]


def unequal_in_a_loop(x):
    total = 0.0
    for k in range(len(x)):
        if k != len(x) - 1 and len(x) != 2:
            total += x[k]
    return total


TESTS = [larger, equal, of_a_shape, of_a_variable, one_of_two_values, unequal_in_a_loop]


def reduced(x):
    return functools.reduce(lambda a, b: a * 2 + b, x)


def first_and_last(*values):
    return values[0] + values[-1] * len(values)


def unpacked(x):
    return first_and_last(*x)


def neighbours(x):
    total = 0.0
    for a, b in zip(x, x[1:]):  # noqa: B905, RUF007
        total += a * b
    return total


def differences(x):
    return [a - b for a, b in zip(x[1:], x)]  # noqa: B905


def from_the_second(x):
    total, last = 0.0, -1.0
    for v in x[1:]:
        total, last = total + v, v
    return total, last


def bound_from_the_second(x):
    for v in x[1:]:
        last = v
    return last


def accumulated(x):
    return list(itertools.accumulate(x))


def pairs(x):
    return [a * b for a, b in itertools.pairwise(x)]


def repeated(x):
    doubled = [0] * len(x)
    for i in range(len(x)):
        doubled[i] = x[i] * 2
    return doubled


def repeated_in_turn(x):
    values = [1, 2.5] * len(x)
    values[0] = x[0]
    return values, len(values)


def flags(x):
    large = [False] * len(x)
    for i in range(len(x)):
        if x[i] > 2:
            large[i] = True
    return sum(large)


FUNCTIONS = [
    reduced,
    unpacked,
    neighbours,
    differences,
    from_the_second,
    bound_from_the_second,
    accumulated,
    pairs,
    repeated,
    repeated_in_turn,
    flags,
]


def outcome(f, x):
    try:
        found = f(x)
    except UnboundLocalError as error:
        return type(error)
    return jax.tree.map(lambda leaf: np.asarray(leaf, np.float32).tolist(), found)


@pytest.mark.parametrize("f", [*TESTS, *FUNCTIONS], ids=lambda f: f.__name__)
def test_one_trace_serves_all_sizes(f):
    g = ag.function(f, SEVERAL)
    for n in (3, 1, 2, 4, 5, 6):
        x = np.arange(1, n + 1, dtype=np.float32)
        assert outcome(g, jnp.array(x)) == outcome(f, x), n
    assert g.experimental_get_tracing_count() == 1


def test_gradients_of_what_depends_on_the_size():
    def f(x):
        return neighbours(x) if len(x) > 2 else larger(x)

    gradient = jax.grad(ag.function(f, SEVERAL))
    np.testing.assert_allclose(gradient(jnp.array([1.0, 2.0, 3.0])), [2.0, 4.0, 2.0])
    np.testing.assert_allclose(gradient(jnp.array([1.0, 2.0])), [2.0, 2.0])


def of_other_shapes(x):
    while len(x) > 3:
        x = x[:3]
    return x.sum()


@ag.do_not_convert
def unconverted(x):
    return x.sum() if x.shape[0] == 3 else x.sum() * 2


def in_code_that_is_not_converted(x):
    return unconverted(x) + 0.0


@pytest.mark.parametrize(
    ("f", "said"),
    [
        (of_other_shapes, "while len(x) > 3:\n  'x' changes type in this staged loop."),
        (in_code_that_is_not_converted, "whether _d0 equals 3 depends on the size ("),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_what_needs_the_size_is_traced_for_each_and_the_warning_says_why(f, said):
    g = ag.function(f, SEVERAL)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for n in (3, 1, 4, 5):
            x = np.arange(1, n + 1, dtype=np.float32)
            assert outcome(g, jnp.array(x)) == outcome(f, x), n
    assert said in str(caught[0].message)
