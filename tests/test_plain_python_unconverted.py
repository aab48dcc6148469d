"""Calls of converted functions with plain values run the code as it is written; whatever could meet an array does not."""

from __future__ import annotations

import builtins
import functools
import math
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag

SCALE = 3
ARRAY = jnp.arange(3.0)
PAIR = (1, 2)
TABLE = [1, 2, 3]


def run(f, *args, **kwargs):
    """The result of the converted function, and whether code ran that conversion has made."""
    converted, ran = ag.convert(f), []

    def watch(frame, event, _):
        if event == "call" and "ag__" in frame.f_code.co_freevars:
            ran.append(frame.f_code.co_name)

    sys.setprofile(watch)
    try:
        return converted(*args, **kwargs), bool(ran)
    finally:
        sys.setprofile(None)


def collatz(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def half(n):
    return n // 2


def deeper(n, step=1, *rest, last=None):
    found = []
    for k in range(n):
        if k % 2:
            found.append(half(k) * SCALE + step)
    return sorted(found), sum(k for k in PAIR), math.sqrt(n), rest, last


def scaled(x):
    if x > 0:
        return x * ARRAY
    return x


def through(x):
    return scaled(x)


def reads_a_list(n):
    return TABLE[n] if n < 3 else 0


def makes_a_function(limit):
    def clip(x):
        if x > limit:
            x = limit
        return x

    return clip


def shows(n):
    if n > 0:
        print(n)
    return n


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (collatz, (27,)),
        (reads_a_list, (2,)),
        (deeper, (9,)),
        (deeper, (9, 2, "a", [1, {"b": (2.5, None)}])),
        (lambda xs: [x * 2 for x in xs if x > 1], ([1, 2, 3],)),
        (lambda d: {k: max(v) for k, v in d.items()}, ({"a": [1, 5]},)),
    ],
)
def test_plain_values_run_the_code_as_it_is_written(f, args):
    result, is_rewritten = run(f, *args)
    assert result == f(*args) and not is_rewritten


def ring(first):
    """A list that holds itself, at any depth."""
    first.append([first, [first, first]])
    return first


@pytest.mark.parametrize("rows", [[[1, 2]] * 3000, [[1, 2], [1, 2]] + [[3]] * 9, ring([1]), [ring([1]), ring([2])]])
def test_values_that_occur_more_than_once_are_looked_at_once(rows):
    assert run(len, rows) == (len(rows), False)
    assert run(lambda rows: len(rows), rows) == (len(rows), False)


@pytest.mark.parametrize("last", [jnp.ones(2), [jnp.ones(2)]])
def test_an_array_is_found_behind_values_that_occur_more_than_once(last):
    for rows in ([[1, 2]] * 5 + [[last]], ring([last]), [[1, 2], [[[last]]], [1, 2]]):
        assert run(lambda rows: len(rows), rows)[1]


def test_no_value_is_asked_for_its_id(monkeypatch):
    asked, ask = [], id
    rows = [[k, [k]] for k in range(100)]
    converted = ag.convert(lambda rows: len(rows))
    converted(rows)
    with monkeypatch.context() as patched:  # each call is an event for audit hooks
        patched.setattr(builtins, "id", lambda value: asked.append(value) or ask(value))
        assert converted(rows) == 100
    assert not any(row in asked for row in rows)


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (collatz, (np.int32(27),)),
        (collatz, (jnp.int32(27),)),
        (scaled, (2,)),
        (through, (2,)),
        (lambda x: x.max() if len(x) else 0, (np.ones(2),)),
        (lambda xs: [x for x in xs if x is not None], ([jnp.ones(2)],)),
        (lambda xs: xs[0] if xs else 0, ([[[jnp.ones(1)]]],)),
        (shows, (2,)),
    ],
)
def test_whatever_could_meet_an_array_is_rewritten(f, args):
    result, is_rewritten = run(f, *args)
    assert is_rewritten
    jax.tree.map(np.testing.assert_array_equal, result, f(*args))


def test_a_function_that_is_made_is_a_converted_one():
    clip = ag.convert(makes_a_function)(2.0)
    assert jax.jit(clip)(3.0) == 2.0


def test_in_a_trace_plain_values_are_staged_as_before():
    def f(n):
        total = 0
        for k in ag.range(n):
            total += k
        return total

    converted = ag.convert(f)
    assert converted(4) == 6
    assert "scan" in str(jax.make_jaxpr(lambda: converted(4))())
    assert jax.jit(ag.convert(collatz))(27) == collatz(27)
    assert ag.function(collatz)(jnp.int32(27)) == collatz(27)


def test_what_is_read_may_change(monkeypatch):
    converted = ag.convert(deeper)
    assert converted(4) == deeper(4)
    monkeypatch.setattr(sys.modules[__name__], "SCALE", 5)
    assert converted(4) == deeper(4) and converted(4)[0] == [1, 6]
    monkeypatch.setattr(sys.modules[__name__], "half", lambda k: k)
    assert converted(4) == deeper(4)
    monkeypatch.setattr(sys.modules[__name__], "half", lambda k: jnp.where(jnp.array(k) > 2, 2, 1) if k > 0 else 0)
    assert [int(each) for each in converted(4)[0]] == [6, 11]


def test_a_variable_of_the_function_around_may_become_an_array():
    offset = 1

    def f(n):
        while n < 10:
            n = n * 2 + offset
        return n

    converted = ag.convert(f)
    assert converted(1) == f(1) and not run(f, 1)[1]
    offset = jnp.array(2)
    assert converted(1) == f(1) and run(f, 1)[1]


def test_errors_are_pythons():
    def f(n):
        if n < 0:
            raise ValueError(f"{n} is negative")
        return [1, 2][n]

    converted = ag.convert(f)
    for n in (-1, 5):
        with pytest.raises(Exception) as expected:
            f(n)
        with pytest.raises(type(expected.value), match=str(expected.value)) as found:
            converted(n)
        own = [entry.path for entry in found.traceback]
        assert not any("runtime" in str(path) for path in own)


def test_decorated_functions_that_call_themselves_and_each_other():
    @ag.convert
    def even(n):
        return True if n == 0 else odd(n - 1)

    @ag.convert
    def odd(n):
        return False if n == 0 else even(n - 1)

    assert even(10) and not even(7)
    assert jax.jit(lambda x: jnp.where(even(4), x, 0))(1) == 1


def test_a_partial_and_a_method_with_plain_values():
    class Counter:
        def __init__(self):
            self.weights = jnp.ones(2)

        def count(self, n):
            return self.weights * n if n > 1 else self.weights

    assert ag.convert(functools.partial(deeper, 4))() == deeper(4)
    assert ag.convert(Counter().count)(3).tolist() == [3, 3]
